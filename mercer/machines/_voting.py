"""What classifiers by margins of pairs of classes share: votes, probabilities, slack."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer._sklearn import StrOptions, _ovr_decision_function
from mercer._state import Attribute, Floats, Maybe
from mercer.kernels.sample import Sample
from mercer.kernels.tiles import block_differences
from mercer.machines._classifier import MarginClassifier
from mercer.machines._pairs import agree, couple_pairs, pair_rows, pair_sums, shares, sigmoid, votes

CALIBRATION_SHARE = 0.4  # of a time limit: probabilities need held-out fits
NO_SLOPES = (
    "this %(name)s was not fitted with probability=True: fit it again before you ask for "
    "probabilities"
)
ONE_BLOCK_VALUES = 2**19  # kernel values of a prediction that are computed at once


class VotingMachine(ClassifierMixin, MarginClassifier):
    """A classifier by margin problems of pairs of classes, or of each class against the rest."""

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "slopes_": Maybe(Floats("problems", 2)),
        "shifts_": Maybe(Floats("problems")),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **MarginClassifier._parameter_constraints,
        "probability": ["boolean"],
        "multiclass": [StrOptions({"ovo", "ovr"})],
        "decision_function_shape": [StrOptions({"ovo", "ovr"})],
        "break_ties": ["boolean"],
    }

    probability: bool
    decision_function_shape: str
    break_ties: bool = False

    # ------------------------------------------------------------ fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machine to rows X and labels y."""
        training, limits = self._prepare(X, y, sample_weight), self._limits()
        end = limits.deadline
        if self.probability and self.time_limit is not None:
            limits.deadline -= CALIBRATION_SHARE * self.time_limit
        self._finish(training, self._solve(training, limits))
        if self.probability:
            limits.deadline = end
            self.slopes_ = self._calibrate(training, limits)
            self.__dict__.pop("shifts_", None)  # of a model that was read from a file
        return self

    def _check_ties(self) -> None:
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError(
                "break_ties must be False when decision_function_shape is 'ovo': ties are broken "
                "by one value for each class, which only decision_function_shape='ovr' has"
            )

    # ------------------------------------------------------------ use
    def decision_function(self, X: Any) -> np.ndarray:
        """Return f(x) + b: shape (m,) for two classes, positive for ``classes_[1]``.

        Of several classes: a column for each class, or for each pair i < j (positive for i) with
        ``decision_function_shape="ovo"``.
        """
        return self._shaped(self._raw_decision(X))

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        """Return decision values of all problems in the shape that is asked for."""
        if len(self.classes_) == 2:
            return values[:, 0]
        if self._by_pairs and self.decision_function_shape == "ovr":
            return _ovr_decision_function(values < 0, -values, len(self.classes_))
        return values

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of new rows."""
        check_is_fitted(self)
        self._check_ties()
        return self._labels(self._raw_decision(X, only_signs=self._by_signs))

    def _labels(self, values: np.ndarray) -> np.ndarray:
        """Return the labels that decision values of all problems stand for."""
        return self.classes_[self._codes(values)]

    def _codes(self, values: np.ndarray) -> np.ndarray:
        if len(self.classes_) == 2:
            return (values[:, 0] > 0).astype(np.intp)
        if not self._by_pairs:
            return values.argmax(axis=1)
        if self.break_ties:
            return self._shaped(values).argmax(axis=1)
        return votes(values, self._problems()).argmax(axis=1)

    @available_if(lambda self: self.probability)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class probabilities, shape (m, n_classes); their argmax is ``predict``.

        Only those of LIBSVM, in a model from one of its files, may have another.
        """
        check_is_fitted(self, "slopes_", msg=NO_SLOPES)
        values, shifts = self._raw_decision(X), getattr(self, "shifts_", None)
        single = sigmoid(values, self.slopes_, shifts)
        if len(self.classes_) == 2:
            P = np.column_stack([1.0 - single[:, 0], single[:, 0]])
        elif self._by_pairs:
            P = couple_pairs(single, self._problems(), len(self.classes_))
        else:
            P = shares(single)
        return agree(P, self._codes(values)) if shifts is None else P

    @available_if(lambda self: self.probability)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @property
    def _by_signs(self) -> bool:
        """Whether labels depend on the signs of decision values alone, not on the largest."""
        return (self._by_pairs and not self.break_ties) or len(self.classes_) == 2

    def _raw_decision(self, X: Any, only_signs: bool = False) -> np.ndarray:
        """Return the decision values of all problems, shape (m, n_problems)."""
        return self._decisions(self._new_rows(X), only_signs)

    def _decisions(self, rows: Sample, only_signs: bool) -> np.ndarray:
        if not self._is_compact:
            return self._sums_of(rows, self.dual_coef_.T, self.intercept_, only_signs)
        support = self._support_sample()
        values = lambda some, dtype: self._pair_values(some, support, dtype)  # noqa: E731
        error_of = lambda: self._pair_error(rows, support)  # noqa: E731
        return self._settled(values, rows, support, error_of, only_signs)

    def _support_parts(self) -> list[slice]:
        """Return which support vectors belong to each class."""
        stops = np.cumsum(self.n_support_)
        both = zip(stops - self.n_support_, stops, strict=True)
        return [slice(int(start), int(stop)) for start, stop in both]

    def _pair_error(self, rows: Sample, support: Sample) -> float:
        """Return what float32 sums of two classes are off by at most."""
        parts = self._support_parts()
        errors = [self._error(rows, support[p], self.dual_coef_[:, p].T) for p in parts]
        return float(np.sqrt(2.0) * max(errors))

    def _pair_values(self, rows: Sample, support: Sample, dtype: Any) -> np.ndarray:
        return pair_sums(self._class_sums(rows, support, dtype), self._problems()) + self.intercept_

    def _class_sums(self, rows: Sample, support: Sample, dtype: Any) -> np.ndarray:
        """Return the sums over support vectors of each class, shape (m, k, k − 1)."""
        direct = block_differences(self.kernel_, rows, support, np.dtype(dtype))
        if direct is not None:
            return direct.sums_of_parts(self.dual_coef_.T, np.cumsum(self.n_support_))
        sums = np.empty((len(rows), len(self.classes_), len(self.classes_) - 1))
        whole = self._all_values(rows, support) if dtype == np.float64 else None
        for c, part in enumerate(self._support_parts()):
            weights = self.dual_coef_[:, part].T  # (n_c, k − 1)
            if whole is None:
                sums[:, c] = self._weighted(rows, support[part], weights, dtype)
            else:
                sums[:, c] = whole[:, part] @ weights
        return sums

    def _all_values(self, rows: Sample, support: Sample) -> np.ndarray | None:
        """Return k(rows, support) if it is small: the classes then share one block."""
        if not 0 < len(rows) * len(support) <= ONE_BLOCK_VALUES:
            return None
        return self._values_of(rows, support).toarray()

    @property
    def coef_(self) -> np.ndarray:
        """Weights w of f(x) = w·x + b, for the linear kernel; a row for each problem."""
        check_is_fitted(self)
        return self._linear_weights(self._problem_coefs(), self.support_vectors_)

    def _problem_coefs(self) -> np.ndarray:
        """Return the coefficients of each problem, shape (n_problems, n)."""
        if not self._is_compact:
            return self.dual_coef_
        return pair_rows(self.dual_coef_, self.n_support_, self._problems())

    def _expansion(self) -> tuple[Sample, np.ndarray]:
        return self._support_sample(), self._problem_coefs().T

    def slack(self, X: Any, y: Any) -> np.ndarray:
        """Return ξ = max(0, 1 − y(f(x) + b)): 0 outside the margin, in (0, 1] inside, > 1 wrong.

        Shape (n,) for two classes; else (n, n_problems), NaN where a point takes no part.
        """
        values = self._raw_decision(X)
        y = column_or_1d(y)
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown) or len(y) != len(values):
            raise ValueError(
                f"y must hold one of {self.classes_.tolist()} for each of {len(values)} rows; got "
                f"{len(y)} labels, of which {unknown.tolist()} are not known"
            )
        codes = np.searchsorted(self.classes_, y)
        xi = np.full(values.shape, np.nan)
        for column, f, (plus, minus) in zip(xi.T, values.T, self._problems(), strict=True):
            inside = (codes == plus) | (codes == minus) | (minus < 0)
            sign = np.where(codes == plus, 1.0, -1.0)
            column[inside] = np.maximum(0.0, 1.0 - sign * f)[inside]
        return xi[:, 0] if len(self.classes_) == 2 else xi
