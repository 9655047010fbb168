"""AdaBoost with decision stumps."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from mercer._estimator import FLOATS, WEIGHTED, ProvedEstimator, check_weights, validated
from mercer._floats import EPS
from mercer._labels import class_codes, difference_of_two, labels_of
from mercer._sklearn import Interval
from mercer._state import Attribute, Either, Floats, Integers, Labels
from mercer.boosting._stumps import SortedColumns, Stump, add_votes, weigh_again
from mercer.result import Certificate, Solution, Status

CHANCE = 1e-10  # an edge over chance of less is rounding


class AdaBoost(ClassifierMixin, ProvedEstimator):
    """AdaBoost: a weighted vote of decision stumps, each fitted to what the earlier ones miss.

    Round m takes a stump G_m, of weighted error ε_m, gives it the weight
    α_m = log((1 − ε_m)/ε_m) + log(k − 1) for k classes, and multiplies the weights of the rows
    that it misses by exp(α_m). A new row belongs to the class with the largest Σ_m α_m 1[G_m(x) =
    c]. With two classes the training error is at most Π_m 2√(ε_m(1 − ε_m)); with k it is at most
    Π_m (1 − ε_m + ε_m exp(α_m)) exp(−α_m/2).

    A stump splits one column at a threshold, and each side votes for its heaviest class. Of two
    classes it is the stump with the smallest ε_m. Of several, where a stump can name only two of
    them, it is the one with the smallest Gini impurity of its sides. The rounds end early if a
    stump makes no error, or if none is better than chance.

    Parameters
    ----------
    n_estimators : int, default=50
        Most rounds.
    learning_rate : float, default=1.0
        A factor of all α_m: smaller ones need more rounds.
    warm_start : bool, default=False
        Whether a fit keeps the stumps of the one before and adds rounds to them: on the same rows
        the outcome is that of all rounds at once.
    random_state : int, RandomState instance or None, default=None
        Not used: nothing is random, and of equal stumps the first column and the lowest threshold
        are taken. It is there for programs that set it everywhere.

    Attributes
    ----------
    classes_ : array of shape (k,)
        The labels.
    estimator_weights_, estimator_errors_ : array of shape (rounds,)
        α_m and ε_m. An error of 0 counts as 2e-16 in α.
    stump_columns_, stump_thresholds_ : array of shape (rounds,)
        Where x[column] ≤ threshold, the stump votes left. Column −1: it votes the same everywhere.
    stump_classes_ : array of shape (rounds, 2)
        Positions in ``classes_`` that the stump votes for, left and right.
    feature_importances_ : array of shape (d,)
        Shares of the columns in Σ α_m.
    certificate_ : Certificate
        That the training error is within the bound of the theorem; ``stopped`` says what ended the
        rounds.

    Examples
    --------
    >>> from mercer import AdaBoost
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["in", "out", "out", "in"]
    >>> model = AdaBoost(10).fit(X, y)
    >>> model.predict([[-1.0], [1.5], [9.0]]).tolist()
    ['in', 'out', 'in']
    >>> model.certificate_.training_error <= model.certificate_.bound
    True
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "classes_": Labels("classes"),
        "estimator_errors_": Floats("stumps"),
        "estimator_weights_": Floats("stumps"),
        "stump_columns_": Integers("stumps", least=-1, below="columns"),
        "stump_thresholds_": Floats("stumps"),
        "stump_classes_": Integers("stumps", 2, below="classes"),
        # zeros were integers once, and older files are read
        "feature_importances_": Either(Floats("columns"), Integers("columns")),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }

    classes_: np.ndarray

    def __init__(
        self,
        n_estimators: int = 50,
        *,
        learning_rate: float = 1.0,
        warm_start: bool = False,
        random_state: Any = None,
    ):
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.warm_start = warm_start
        self.random_state = random_state

    # ------------------------------------------------------------ fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> AdaBoost:
        """Fit the stumps to rows X with labels y."""
        self._validate_params()
        before = self._stumps() if self.warm_start and hasattr(self, "classes_") else []
        old = (self.n_features_in_, self.classes_.tolist()) if before else None
        X, y = validated(self, X, y, dtype=FLOATS, order="C")
        weight = check_weights(sample_weight, len(X))
        X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        self.classes_, codes = class_codes(y, among=WEIGHTED)
        if before:
            self._check_more(len(before), old, (X.shape[1], self.classes_.tolist()))
        share = weight / weight.max()
        sample = SortedColumns(X, codes, len(self.classes_))
        reason = self._boost(sample, share / share.sum(), before)
        self._accept(self._proved(sample, X, share / share.sum(), reason))
        return self

    def _stumps(self) -> list[Stump]:
        """Return the stumps of the last fit."""
        kept = zip(self.stump_columns_, self.stump_thresholds_, self.stump_classes_, strict=True)
        return [Stump(int(c), float(t), *map(int, sides)) for c, t, sides in kept]

    def _check_more(self, rounds: int, old: Any, new: Any) -> None:
        if old != new:
            raise ValueError(
                f"warm_start=True goes on with {old[0]} columns and the classes {old[1]}; got "
                f"{new[0]} columns and {new[1]}"
            )
        if rounds > self.n_estimators:
            raise ValueError(
                f"n_estimators must be at least {rounds}, the rounds so far, with "
                f"warm_start=True; got {self.n_estimators}"
            )

    def _boost(self, sample: SortedColumns, w: np.ndarray, before: list[Stump]) -> str:
        """Run the rounds, the first with known stumps, and keep all; return what ended them."""
        stumps: list[Stump] = []
        figures: list[tuple[float, float]] = []
        reason, w = "n_estimators", w.copy()
        while reason == "n_estimators" and len(stumps) < self.n_estimators:
            known = len(stumps) < len(before)
            stump = before[len(stumps)] if known else sample.best(w)
            error, alpha = self._weigh(sample, stump, w)
            if error == 0.0:
                reason = "a stump without error"
            elif error >= 1.0 - 1.0 / sample.n_classes - CHANCE:
                reason = "no stump better than chance"
                if stumps:
                    break
                alpha = 0.0
            stumps.append(stump)
            figures.append((error, alpha))
        self._keep(stumps, np.array(figures), sample)
        return reason

    def _weigh(self, sample: SortedColumns, stump: Stump, w: np.ndarray) -> tuple[float, float]:
        """Return ε and α of a stump, and give the rows their next weights."""
        x = sample.columns[max(stump.column, 0)]
        sides = (stump.threshold, stump.left, stump.right)
        return weigh_again(x, *sides, sample.codes, w, self.learning_rate, sample.n_classes, EPS)

    def _keep(self, stumps: list[Stump], figures: np.ndarray, sample: SortedColumns) -> None:
        self.estimator_errors_, self.estimator_weights_ = figures.T.copy()
        self.stump_columns_ = np.array([s.column for s in stumps])
        self.stump_thresholds_ = np.array([s.threshold for s in stumps])
        self.stump_classes_ = np.array([(s.left, s.right) for s in stumps])
        splits = self.stump_columns_ >= 0
        shares = np.bincount(
            self.stump_columns_[splits], self.estimator_weights_[splits], len(sample.columns)
        )
        total = float(shares.sum())
        self.feature_importances_ = shares / (total or 1.0)  # none split: zeros

    def _proved(
        self, sample: SortedColumns, X: np.ndarray, share: np.ndarray, reason: str
    ) -> Solution:
        """Run the kept stumps once more over the rows, and hold the theorem against the error."""
        bound = self._bound(sample, share.copy())
        wrong = self._votes(X).argmax(axis=1) != sample.codes
        error = float(share @ wrong)
        parts = {
            "training_error": error,
            "bound": bound,
            "rounds": len(self.estimator_weights_),
            "largest_stump_error": float(self.estimator_errors_.max()),
            "stopped": reason,
        }
        about = f"training error of {len(X)} rows, {len(self.classes_)} classes, ≤ the bound"
        if bound >= 1.0:
            about += "; the bound is not below one and says nothing"
        proof = Certificate("training error", error, min(bound, 1.0), about, parts)
        useless = not self.estimator_weights_.any()
        return Solution(None, Status.NO_BETTER_THAN_CHANCE if useless else Status.OPTIMAL, proof)

    def _bound(self, sample: SortedColumns, w: np.ndarray) -> float:
        """Return Π_m (1 − ε_m + ε_m exp(α_m)) exp(−α_m/2), with errors of the kept stumps."""
        logarithm = 0.0
        for stump, alpha in zip(self._stumps(), self.estimator_weights_, strict=True):
            if alpha == 0.0:
                break
            error, _ = self._weigh(sample, stump, w)
            logarithm += np.log1p(error * np.expm1(alpha)) - 0.5 * alpha
        # the sums above are of n rounded terms each
        return float(np.exp(logarithm)) * (1.0 + len(w) * EPS * len(self.estimator_weights_))

    # ------------------------------------------------------------ use
    def _votes(self, X: np.ndarray, stumps: slice = slice(None)) -> np.ndarray:
        votes = np.zeros((len(X), len(self.classes_)))
        self._add_votes(X, stumps, votes)
        return votes

    def _add_votes(self, X: np.ndarray, stumps: slice, votes: np.ndarray) -> None:
        add_votes(
            X,
            np.maximum(self.stump_columns_[stumps], 0),
            self.stump_thresholds_[stumps],
            self.stump_classes_[stumps],
            self.estimator_weights_[stumps],
            votes,
        )

    def _new_table(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return validated(self, X, reset=False, dtype=FLOATS, order="C")

    def decision_function(self, X: Any) -> np.ndarray:
        """Return Σ α_m G_m(x) with G_m = ±1, shape (m,), or the votes Σ α_m 1[G_m(x) = c], (m, k).

        Two classes have one number, positive for ``classes_[1]``.
        """
        return difference_of_two(self._votes(self._new_table(X)))

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of new rows."""
        return self._labels(self.decision_function(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return exp(votes of c) / Σ exp(votes), the probabilities that the loss aims at.

        They order the rows well but are too sure of themselves after many rounds.
        """
        return softmax(self._votes(self._new_table(X)), axis=1)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of `predict_proba`."""
        return log_softmax(self._votes(self._new_table(X)), axis=1)

    def _staged_votes(self, X: Any) -> Iterator[np.ndarray]:
        X = self._new_table(X)
        votes = np.zeros((len(X), len(self.classes_)))
        for m in range(len(self.estimator_weights_)):
            self._add_votes(X, slice(m, m + 1), votes)
            yield votes.copy()

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the decision function after each round."""
        yield from map(difference_of_two, self._staged_votes(X))

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the probabilities after each round."""
        for votes in self._staged_votes(X):
            yield softmax(votes, axis=1)

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Yield the share of right labels after each round."""
        for labels in self.staged_predict(X):
            yield accuracy_score(y, labels, sample_weight=sample_weight)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the labels after each round."""
        for values in self.staged_decision_function(X):
            yield self._labels(values)

    def _labels(self, values: np.ndarray) -> np.ndarray:
        return labels_of(values, self.classes_)
