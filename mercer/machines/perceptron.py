"""The perceptron for any kernel."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from mercer._array import ranges
from mercer._estimator import ProvedEstimator
from mercer._labels import class_codes, labels_of, one_or_all
from mercer._random import seed_of
from mercer._sklearn import Interval
from mercer._state import Attribute, Floats, Integers, Labels, Maybe, Pointers, per_class
from mercer.kernels import Linear
from mercer.kernels.base import PSD
from mercer.kernels.sample import Sample
from mercer.machines._margin import (
    MarginEstimator,
    against_rest,
    merged,
)
from mercer.result import Solution
from mercer.solvers.perceptron import (
    ROWS_AHEAD,
    WORK,
    ColumnScores,
    History,
    PerceptronSolution,
    RowScores,
    solve_perceptron,
    vote,
)

BLOCK_VALUES = 2**20  # kernel values of new rows that vote together


class Perceptron(ClassifierMixin, MarginEstimator):
    """Rosenblatt's perceptron: f(x) = Σᵢ αᵢ yᵢ k(x, xᵢ) + b, where αᵢ counts the mistakes on xᵢ.

    Points are visited in epochs; one with y f(x) ≤ 0 adds y k(·, x) to f and y to b. It stops
    after an epoch without a mistake: the classes are separated. Novikoff's theorem bounds the
    updates by (R/ρ)², R² = max k(x, x) + 1 (without offset: + 0), for every margin ρ that some
    function of norm 1 has. Several classes are one against the rest. There are no sample weights:
    a repeated point is visited twice, which no factor of its update imitates.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="linear"
        The kernel; rows of its Gram matrix are computed for points that are mistaken, and none for
        the linear kernel.
    max_iter : int, default=1000
        Most epochs of each problem.
    fit_intercept : bool, default=True
        Whether there is an offset b.
    averaged : bool, default=False
        Whether the fitted function is the average over all visits, which is less shaky where
        classes overlap; it may be wrong on points that the last function has right.
    voted : bool, default=False
        Whether all functions on the way vote, each as often as it stood (Freund and Schapire):
        ``decision_function`` is Σ cₜ sign fₜ(x) / Σ cₜ, between −1 and 1. An answer costs as many
        steps as there were updates.
    shuffle : bool, default=True
        Whether each epoch takes the points in a new random order.
    random_state : int, RandomState instance or None, default=None
        Decides the orders.
    memory : int, str or None, default=None
        Byte budget of kernel rows; None is half of the free memory.
    time_limit : float or None, default=None
        Seconds for the whole fit; then what has been reached is kept, with a warning.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, intercept_, coef_
        As in `SVC`: a row of coefficients αᵢyᵢ for each problem; ``coef_`` for the linear kernel.
    certificate_ : Certificate
        That the last function has no mistake: ``updates`` and their ``bound`` (R/margin)²,
        ``margin`` ≤ the best margin ≤ ``margin_limit``, ``radius`` R; of several classes sums and
        worst values, and each problem's own in ``problems``.
    n_iter_ : int
        Epochs of the longest problem.
    vote_order_, votes_, vote_starts_ : arrays
        If ``voted``: the place in ``support_`` of each update, how many visits its function stood,
        and where the updates of each problem begin.

    Examples
    --------
    >>> from mercer import Perceptron
    >>> model = Perceptron("rbf", random_state=0).fit([[0.0], [1.0], [2.0]], ["in", "out", "in"])
    >>> model.predict([[0.1], [1.1]]).tolist(), model.certificate_.mistakes
    (['in', 'out'], 0)
    >>> model.certificate_.updates <= model.certificate_.bound
    True
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "classes_": Labels("classes"),
        "dual_coef_": Floats(per_class, "support"),
        "intercept_": Floats(per_class),
        "n_iter_": Integers(),
        "vote_starts_": Maybe(Pointers(per_class, into="votes")),
        "vote_order_": Maybe(Integers("votes", below="support")),
        "votes_": Maybe(Floats("votes")),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **MarginEstimator._parameter_constraints,
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "averaged": ["boolean"],
        "voted": ["boolean"],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: Any = "linear",
        *,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        averaged: bool = False,
        voted: bool = False,
        shuffle: bool = True,
        random_state: Any = None,
        memory: int | str | None = None,
        time_limit: float | None = None,
    ):
        self.kernel = kernel
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.averaged = averaged
        self.voted = voted
        self.shuffle = shuffle
        self.random_state = random_state
        self.memory = memory
        self.time_limit = time_limit

    # ------------------------------------------------------------ fit
    def fit(self, X: Any, y: Any) -> Perceptron:
        """Fit the machine to rows X and labels y."""
        self._validate_params()
        if self.averaged and self.voted:
            raise ValueError("averaged and voted must not both be True: choose one of them")
        sample, y, _ = self._fit_rows(X, y)
        self.classes_, codes = class_codes(y)
        solutions = self._solve(sample, codes)
        coefs = np.array([s.value for s in solutions])
        used = np.flatnonzero(coefs.any(axis=0))
        self._keep_support(sample, used)
        self.dual_coef_ = coefs[:, used]
        self.intercept_ = coefs.sum(axis=1) * self.fit_intercept
        self.n_iter_ = max(s.stats["epochs"] for s in solutions)
        if self.voted:
            self._keep_votes([s.history for s in solutions if s.history is not None])
        self._accept(merged(solutions, ", one against the rest", value=sum, badness=_badness))
        return self

    def _keep_votes(self, histories: list[History]) -> None:
        """Store the updates of all problems one after the other."""
        who = np.concatenate([history.who for history in histories])
        self.vote_order_ = np.searchsorted(self.support_, who)
        self.votes_ = np.concatenate([history.stood for history in histories]).astype(np.float64)
        self.vote_starts_ = np.cumsum([0, *(len(history.who) for history in histories)])

    def _solve(self, sample: Sample, codes: np.ndarray) -> list[PerceptronSolution]:
        scores, limits, n = self._scores(sample), self._limits(), len(codes)
        seed = seed_of(self.random_state)
        return [
            solve_perceptron(
                scores,
                sign,
                _orders(n, seed if self.shuffle else None),  # the same for each class
                limits=limits,
                averaged=self.averaged,
                history=self.voted,
                psd=self.kernel_.definiteness == PSD,
                about=f"{about}, {n} points",
            )
            for sign, about in against_rest(self.classes_, codes)
        ]

    def _scores(self, sample: Sample) -> ColumnScores | RowScores:
        """Choose how the scores of all points are kept."""
        offset = float(self.fit_intercept)
        if isinstance(self.kernel_, Linear):
            return ColumnScores(sample.data, offset + self.kernel_.bias)
        ahead = ROWS_AHEAD if self.kernel_.releases_gil else 1
        return RowScores(self._gram(sample, "rows"), offset, self._budget, ahead)

    def _accept(self, solution: Solution) -> None:
        # the proof needs no convexity: that the classes are separated can be seen
        ProvedEstimator._accept(self, solution)

    # ------------------------------------------------------------ use
    def decision_function(self, X: Any) -> np.ndarray:
        """Return f(x): shape (m,) for two classes, positive for ``classes_[1]``; else (m, k)."""
        rows = self._new_rows(X)
        if self.voted:
            values = self._vote(rows)
        elif isinstance(self.kernel_, Linear):
            offset = self.intercept_ + self.kernel_.bias * self.dual_coef_.sum(axis=1)
            values = np.asarray(rows.data @ self.coef_.T, dtype=np.float64) + offset
        else:
            K = self._values_of(rows, self._support_sample())
            values = K @ self.dual_coef_.T + self.intercept_
        return one_or_all(values, self.classes_)

    def _expansion(self) -> tuple[Sample, np.ndarray]:
        if self.voted:
            raise ValueError(
                "voted=True has no gradient and no formula, as votes jump; use averaged=True"
            )
        return super()._expansion()

    def _vote(self, rows: Sample) -> np.ndarray:
        """Return the share of votes for each problem less that against it, shape (m, problems)."""
        support = self._support_sample()
        K = self._values_of(rows, support)
        values = np.empty((len(rows), len(self.dual_coef_)))
        # few enough rows at once to look at the keyboard between them
        room = min(BLOCK_VALUES // len(support), int(WORK) // len(self.votes_))
        for block in ranges(len(rows), max(1, room)):
            part = K.rows(np.arange(block.start, block.stop))
            for c, updates in enumerate(map(slice, self.vote_starts_[:-1], self.vote_starts_[1:])):
                order, votes = self.vote_order_[updates], self.votes_[updates]
                sign = np.sign(self.dual_coef_[c])[order]
                vote(part, order, sign, votes, float(self.fit_intercept), values[block, c])
                values[block, c] /= max(votes.sum(), 1.0)
        return values

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of new rows."""
        return labels_of(self.decision_function(X), self.classes_)

    @property
    def coef_(self) -> np.ndarray:
        """Weights w of f(x) = w·x + b, for the linear kernel; a row for each problem."""
        check_is_fitted(self)
        return self._linear_weights(self.dual_coef_, self.support_vectors_)


def _badness(solution: PerceptronSolution) -> tuple[float, float]:
    return solution.certificate.value, -solution.margin


def _orders(n: int, seed: int | None) -> Callable[[], np.ndarray]:
    """Return what draws the order of the next epoch."""
    if seed is None:
        return lambda: np.arange(n)
    rng = np.random.default_rng(seed)
    return lambda: rng.permutation(n)
