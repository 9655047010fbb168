"""What machines share: the Gram matrix, limits, support vectors, the sum, several classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from mercer._array import parse_memory, take
from mercer._clock import OutOfTimeError
from mercer._estimator import KeptRows, ProvedEstimator
from mercer._floats import DOUBLE
from mercer._labels import class_codes, class_factors, labels_of, one_or_all
from mercer._limits import Limits
from mercer._sklearn import Interval
from mercer._state import Attribute, Floats, Integers, Labels, ShapeOf
from mercer.gram import Gram, gram
from mercer.gram.sums import weighted_sums
from mercer.kernels import Linear
from mercer.kernels.base import INDEFINITE, UNKNOWN
from mercer.kernels.rounding import sum_error
from mercer.kernels.sample import Sample
from mercer.machines._expansion import KernelExpansion
from mercer.result import Certificate, Solution, Status
from mercer.solvers import only_stationary

TOLERANCE = 1e-4  # of the spread of f over support vectors: the error that float32 may have
CLEAR_ERRORS = 16  # errors: values that are not so far from 0 are computed in float64
SPREAD_ROWS = 256  # support vectors that show the spread of f

Values = Callable[[Sample, Any], np.ndarray]


class MarginEstimator(KernelExpansion):
    """A sum over support vectors, f(x) = Σᵢ βᵢ k(x, xᵢ) + b, from a margin problem."""

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "shape_fit_": ShapeOf("rows"),
        "support_": Integers("support", below="rows"),
        "support_vectors_": KeptRows("support"),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="left"), None],
    }

    tol: float
    max_iter: int
    time_limit: float | None
    memory: Any

    _single_from = 10**7  # kernel values of a prediction that are worth float32
    _single_signs_from = 10**6  # where only signs are asked for

    @property
    def _budget(self) -> int:
        """Half for K, half for what the solver keeps."""
        return parse_memory(self.memory) // 2

    def _limits(self) -> Limits:
        return Limits.of(self.max_iter, self.time_limit, self._budget)

    def _gram(self, sample: Sample, purpose: str = "margin", **options: Any) -> Gram:
        """Return the training matrix."""
        return gram(self.kernel_, sample, purpose=purpose, memory=self._budget, **options)

    def _gram_in_time(self, sample: Sample, limits: Limits) -> Gram:
        """Return the training matrix in float64, held only if there is time to compute it."""
        try:
            with limits.for_matrix():
                return self._gram(sample, "direct")
        except OutOfTimeError:
            return self._gram(sample, storage="blocked", dtype=DOUBLE)

    def _accept(self, solution: Solution) -> None:
        """Keep the proof; with an indefinite kernel a stationary point is all that is shown."""
        found = solution.certificate
        if self.kernel_.definiteness == UNKNOWN:
            note = "taken for granted: nothing is known of the kernel's definiteness"
            found = found.with_parts(convexity=note)
            solution = replace(solution, certificate=found)
        if self.kernel_.definiteness == INDEFINITE and solution.status.ok:
            proof = only_stationary(found, repr(self.kernel_))
            solution = replace(solution, certificate=proof, status=Status.INDEFINITE)
        super()._accept(solution)

    def _keep_support(self, sample: Sample, support: np.ndarray) -> None:
        """Store the support vectors; of a precomputed kernel only their numbers are needed."""
        self.support_ = support.astype(np.int32)
        self.shape_fit_ = (len(sample), *getattr(sample.data, "shape", (0,))[1:])
        self.support_vectors_ = take(sample.data, support[:0] if self._pairwise else support)

    def _support_sample(self) -> Sample:
        return self._kept(self.support_vectors_, self.support_, self.shape_fit_[0])

    def _expansion(self) -> tuple[Sample, np.ndarray]:
        return self._support_sample(), np.atleast_2d(self.dual_coef_).T

    def _sums(
        self, X: Any, weights: np.ndarray, offset: Any, only_signs: bool = False
    ) -> np.ndarray:
        """Return k(X, support vectors) @ weights + offset, shape (m, t)."""
        return self._sums_of(self._new_rows(X), weights, offset, only_signs)

    def _sums_of(
        self, rows: Sample, weights: np.ndarray, offset: Any, only_signs: bool = False
    ) -> np.ndarray:
        support = self._support_sample()
        values = lambda some, dtype: self._weighted(some, support, weights, dtype) + offset  # noqa: E731
        error_of = lambda: self._error(rows, support, weights)  # noqa: E731
        return self._settled(values, rows, support, error_of, only_signs)

    def _weighted(
        self, rows: Sample, support: Sample, weights: np.ndarray, dtype: Any = DOUBLE
    ) -> np.ndarray:
        if not len(support):
            return np.zeros((len(rows), weights.shape[1]))
        if type(self.kernel_) is Linear:  # w·x needs no kernel values
            coef = support.rows(DOUBLE).T @ weights
            return rows.rows(DOUBLE) @ coef + self.kernel_.bias * weights.sum(axis=0)
        return weighted_sums(self.kernel_, rows, support, weights, dtype)

    def _error(self, rows: Sample, support: Sample, weights: np.ndarray) -> float:
        return sum_error(self.kernel_, rows, support, weights)

    def _settled(
        self,
        values: Values,
        rows: Sample,
        support: Sample,
        error_of: Callable[[], float],
        only_signs: bool = False,
    ) -> np.ndarray:
        """Return values(rows, dtype) in float32 where they are many and that is exact enough.

        It is where the error, estimated from the sizes of all that is summed, is below 1e-4 of the
        spread of the values; signs that it might change are then settled in float64. So an answer
        does not depend on how many rows are asked for at once. If only signs are asked for, these
        are settled, and that is enough.
        """
        worth_it = self._single_signs_from if only_signs else self._single_from
        if len(rows) * len(support) < worth_it or not np.isfinite(error := error_of()):
            return values(rows, np.float64)
        if not only_signs and not error <= TOLERANCE * self._least_spread(values, support):
            return values(rows, np.float64)
        found = values(rows, np.float32)
        unclear = np.flatnonzero((np.abs(found) < CLEAR_ERRORS * error).any(axis=1))
        if len(unclear):
            found[unclear] = values(rows[unclear], np.float64)
        return found

    @staticmethod
    def _least_spread(values: Values, support: Sample) -> float:
        """Return the standard deviation of f over support vectors; of several f the smallest."""
        some = np.unique(np.linspace(0, len(support) - 1, SPREAD_ROWS).astype(np.intp))
        return float(values(support[some], np.float64).std(axis=0).min())

    def _values_of(self, rows: Sample, support: Sample) -> Gram:
        """Return k(rows, support vectors), computed when it is used."""
        return gram(self.kernel_, rows, support, storage="blocked", dtype=np.float64)


class RiskEstimator(MarginEstimator):
    """f = Σ αᵢ k(·, xᵢ) minimises Σ wℓ + λ‖f‖²: a column of coefficients for each output."""

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "dual_coef_": Floats("support", "outputs?"),
        "intercept_": Floats("outputs?"),
        "n_iter_": Integers(),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **MarginEstimator._parameter_constraints,
        "lam": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
    }

    lam: float
    fit_intercept: bool

    def _keep(self, sample: Sample, used: np.ndarray, solution: Solution) -> None:
        """Store α, of which rows without a part are left out, b and the proof."""
        support = np.flatnonzero(solution.value.any(axis=1))
        self._keep_support(sample, used[support])
        coefs, single = solution.value[support], solution.value.shape[1] == 1
        self.dual_coef_ = coefs[:, 0] if single else coefs
        self.intercept_ = float(solution.intercept[0]) if single else solution.intercept
        self.n_iter_ = max(1, int(solution.stats["steps"]))
        self._accept(solution)

    @property
    def coef_(self) -> np.ndarray:
        """Weights w of f(x) = w·x + b, for the linear kernel: (d,), or a row for each output."""
        check_is_fitted(self)
        coefs = np.atleast_2d(self.dual_coef_.T)
        w = self._linear_weights(coefs, self.support_vectors_)
        return w if hasattr(self, "classes_") else w[0]

    def _outputs(self, X: Any) -> np.ndarray:
        """Return f(x) + b, shape (m, t)."""
        check_is_fitted(self)
        return self._sums(X, self._columns, self.intercept_)

    @property
    def _columns(self) -> np.ndarray:
        return self.dual_coef_.reshape(len(self.support_), np.size(self.intercept_))

    def _expansion(self) -> tuple[Sample, np.ndarray]:
        return self._support_sample(), self._columns

    def _decision(self, X: Any) -> np.ndarray:
        return one_or_all(self._outputs(X), self.classes_)


def used_rows(sample: Sample, weight: np.ndarray) -> tuple[Sample, np.ndarray]:
    """Return the rows whose weight is not 0, and their numbers."""
    used = np.flatnonzero(weight)
    return (sample if len(used) == len(sample) else sample[used]), used


# -------------------------------------------------------------------- classes
def weighted_classes(
    y: np.ndarray, weight: np.ndarray, class_weight: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the classes, the number of each label's class, and weights times the classes'."""
    classes, codes = class_codes(y)
    return classes, codes, weight * class_factors(class_weight, classes, codes, weight)[codes]


def require_weights(classes: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> None:
    """Raise if a class has only weights of zero."""
    counts = np.bincount(codes[weight > 0], minlength=len(classes))
    if not counts.all():
        label = classes.tolist()[int(counts.argmin())]
        raise ValueError(f"class {label!r} of y has only weights of zero")


def against_rest(classes: np.ndarray, codes: np.ndarray) -> list[tuple[np.ndarray, str]]:
    """Return targets ±1 and the name of each problem: of two classes one, else one a class."""
    positive = [1] if len(classes) == 2 else range(len(classes))
    return [(np.where(codes == c, 1.0, -1.0), f"{classes[c]} against the rest") for c in positive]


class AgainstRest(ClassifierMixin, ProvedEstimator):
    """A classifier by values: of two classes one, positive for the second, else one a class."""

    fitted_state: ClassVar[dict[str, Attribute]] = {"classes_": Labels("classes")}

    classes_: np.ndarray
    _values: Callable[[Any], np.ndarray]

    def decision_function(self, X: Any) -> np.ndarray:
        """Return f(x) + b: shape (m,) for two classes (positive: the second), else (m, k)."""
        return self._values(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of new rows."""
        return self._labels(self._values(X))

    def _labels(self, values: np.ndarray) -> np.ndarray:
        """Return the labels that decision values stand for."""
        return labels_of(values, self.classes_)


# -------------------------------------------------------------------- several problems as one
SUMMED = {
    *("primal", "dual", "gap", "n_free", "n_bounded", "checked", "steps"),
    *("updates", "mistakes", "bound", "last_epoch_mistakes"),
}


def _badness(solution: Solution) -> tuple[bool, float]:
    value = solution.certificate.value
    return bool(np.isnan(value)), value


def merged(
    solutions: Sequence[Any],
    about: str = "",
    *,
    value: Callable[[list[float]], float] = np.max,
    badness: Callable[[Any], Any] = _badness,
) -> Solution:
    """Return one solution whose proof speaks for all problems: sums, and the worst of the rest.

    A problem without a proof (NaN) leaves the whole without one. ``value`` makes one figure of
    theirs, ``badness`` says which problem is the worst.
    """
    if len(solutions) == 1:
        return solutions[0]
    proofs = [s.certificate for s in solutions]
    worst = max(solutions, key=badness).certificate
    every = {name: [c.parts.get(name) for c in proofs] for name in worst.parts}
    parts = {name: _merged_part(name, part, every[name]) for name, part in worst.parts.items()}
    parts["worst"] = worst.about
    parts["problems"] = [{"about": c.about, "value": c.value, **c.parts} for c in proofs]
    figure = value([c.value for c in proofs])
    status = next((s.status for s in solutions if not s.status.ok), Status.OPTIMAL)
    about = f"{len(solutions)} problems{about}"
    return Solution(None, status, Certificate(worst.kind, figure, worst.tolerance, about, parts))


def _merged_part(name: str, worst: Any, every: list[Any]) -> Any:
    if name in SUMMED:
        return sum(every)
    if name == "kkt":
        return {rule: np.max([kkt[rule] for kkt in every]) for rule in worst}
    return np.max(every) if name == "relative_gap" else worst
