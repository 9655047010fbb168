"""Support vector classification."""

from __future__ import annotations

from functools import cache
from itertools import combinations, pairwise
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _ovr_decision_function, check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer.gram import Gram
from mercer.kernels import Linear
from mercer.kernels.sample import Sample
from mercer.machines._margin import MarginEstimator
from mercer.machines._pairs import combined, pair_rows, store_pair, votes
from mercer.machines.probability import (
    agree,
    couple_pairs,
    fit_slopes,
    held_out_values,
    sigmoid,
)
from mercer.margin import MarginProblem
from mercer.result import Solution, Status
from mercer.solvers import Limits, SmoState, solve_margin


class _Training(NamedTuple):
    """Sorted training data: points of class c are ``edges[c]:edges[c+1]`` (or listed)."""

    K: Gram
    points: list[np.ndarray]  # positions of each class in K, increasing
    weight: np.ndarray  # of each position
    order: np.ndarray  # positions → rows of X
    sample: Sample
    edges: np.ndarray


class SVC(ClassifierMixin, MarginEstimator):
    """Support vector classifier: min ½‖f‖² + C Σᵢ max(0, 1 − yᵢ(f(xᵢ) + b)).

    Exact for every kernel, several classes from one shared Gram matrix, and a duality gap on the
    fitted model.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        The kernel.
    C : float, default=1.0
        Bound of the coefficients, C > 0; ``inf`` is the hard margin.
    lam : float or None, default=None
        λ > 0 of the form (1/n) Σ loss + λ‖f‖²; sets C = 1/(2nλ) in place of ``C``.
    tol : float, default=1e-3
        The fit is done when the relative duality gap and the violation of the KKT conditions by
        the worst pair of points (LIBSVM's rule) are both at most ``tol``.
    class_weight : dict, "balanced" or None, default=None
        Factors of C for each class.
    probability : bool, default=False
        Whether to calibrate ``predict_proba`` by 5-fold cross-validation on the same Gram matrix.
        The likeliest class is always the predicted one.
    multiclass : {"ovo", "ovr"}, default="ovo"
        One problem for each pair of classes, or for each class against the rest.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Of several classes: a column for each class or for each pair.
    max_iter : int, default=-1
        Most steps of each problem; −1 is no limit.
    time_limit : float or None, default=None
        Seconds for the whole fit; then the best so far is kept, with a warning.
    memory : int, str or None, default=None
        Byte budget; None is half of the free memory.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_
        As in scikit-learn.
    certificate_ : Certificate
        ``primal, dual, gap, relative_gap, kkt``, numbers of free and bounded vectors; for several
        classes sums and worst values, and each problem's own in ``problems``.
    margin_ : float or array
        1/‖f‖, the distance of the margin from the hyperplane, of each problem.
    n_iter_ : array
        Steps of each problem.

    Examples
    --------
    >>> from mercer import SVC
    >>> model = SVC("linear", C=10.0).fit([[-1.0], [-0.5], [0.5], [1.0]], [0, 0, 1, 1])
    >>> float(model.margin_.round(3)), model.certificate_.ok
    (0.5, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **MarginEstimator._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="right")],
        "lam": [Interval(Real, 0, None, closed="neither"), None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "probability": ["boolean"],
        "multiclass": [StrOptions({"ovo", "ovr"})],
        "decision_function_shape": [StrOptions({"ovo", "ovr"})],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        C: float = 1.0,
        lam: float | None = None,
        tol: float = 1e-3,
        class_weight: Any = None,
        probability: bool = False,
        multiclass: str = "ovo",
        decision_function_shape: str = "ovr",
        max_iter: int = -1,
        time_limit: float | None = None,
        memory: Any = None,
    ):
        self.kernel = kernel
        self.C = C
        self.lam = lam
        self.tol = tol
        self.class_weight = class_weight
        self.probability = probability
        self.multiclass = multiclass
        self.decision_function_shape = decision_function_shape
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory = memory

    # ------------------------------------------------------------ fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVC:
        """Fit the machine to rows X and labels y."""
        training, limits = self._prepare(X, y, sample_weight), self._limits()
        self._finish(training, self._solve(training, limits))
        if self.probability:
            self.slopes_ = self._calibrate(training, limits)
        return self

    def path(self, X: Any, y: Any, Cs: Any, sample_weight: Any = None) -> list[SVC]:
        """Return machines fitted for each C, each started from the one before, one Gram for all."""
        machines, starts, limits = [], None, self._limits()
        training, before = None, 1.0
        for C in Cs:
            machine = clone(self).set_params(C=float(C), lam=None)
            if training is None:
                training = machine._prepare(X, y, sample_weight)
            else:
                machine._share(machines[0])
                training = training._replace(weight=training.weight * (float(C) / before))
            solutions = machine._solve(training, limits, starts, float(C) / before)
            machine._finish(training, solutions)
            if self.probability:
                machine.slopes_ = machine._calibrate(training, limits)
            machines.append(machine)
            starts, before = [s.state for s in solutions], float(C)
        return machines

    def _share(self, other: SVC) -> None:
        for name in ("kernel_", "classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(other, name):
                setattr(self, name, getattr(other, name))

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> _Training:
        """Check the input, sort it by class, and set up the Gram matrix."""
        self._validate_params()
        sample, y, weight = self._fit_rows(X, y, sample_weight)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y must hold at least two classes; got 1 class: {self.classes_.tolist()}"
            )
        factors = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        C = self.C if self.lam is None else 1.0 / (2.0 * self.lam * weight.sum())
        bounds = C * weight * factors[codes] if np.isfinite(C) else np.where(weight > 0, C, 0.0)
        self._check_weights(codes, bounds)
        counts = np.bincount(codes)
        edges = np.concatenate([[0], np.cumsum(counts)])
        if self._pairwise:  # a given matrix stays where it is
            order = np.arange(len(codes))
            points = [np.flatnonzero(codes == c) for c in range(len(counts))]
        else:
            order = np.argsort(codes, kind="stable")
            points = [np.arange(a, b) for a, b in pairwise(edges)]
            sample = Sample(sample[order].data)
        K = self._gram(sample, edges, None if np.isfinite(C) else np.float64)
        return _Training(K, points, bounds[order], order, sample, edges)

    def _check_weights(self, codes: np.ndarray, bounds: np.ndarray) -> None:
        used = np.unique(codes[bounds > 0])
        if len(used) < len(self.classes_):
            missing = np.setdiff1d(np.arange(len(self.classes_)), used)
            raise ValueError(f"class {self.classes_[missing[0]]!r} has only weights of zero")

    def _problems(self) -> list[tuple[int, int]]:
        """Return the pairs (class of sign +1, class of sign −1); −1 stands for all others."""
        k = len(self.classes_)
        if k == 2:
            return [(1, 0)]
        if self.multiclass == "ovo":
            return list(combinations(range(k), 2))
        return [(c, -1) for c in range(k)]

    def _solve(
        self,
        training: _Training,
        limits: Limits,
        starts: list[SmoState] | None = None,
        ratio: float = 1.0,
    ) -> list[Solution]:
        """Solve all problems; ``starts`` hold the solutions for C / ratio."""
        solutions = []
        exact = cache(lambda: self._gram(training.sample, training.edges, np.float64))
        for number, (plus, minus) in enumerate(self._problems()):
            index, sign = self._points_of(training, plus, minus)
            problem = MarginProblem.classify(sign, training.weight[index])
            solutions.append(
                solve_margin(
                    training.K,
                    index,
                    problem,
                    tol=self.tol,
                    limits=limits,
                    start=None if starts is None else starts[number].scaled(sign, ratio),
                    exact=exact,
                    about=self._name(plus, minus),
                )
            )
            if solutions[-1].status is Status.NOT_SEPARABLE:
                raise ValueError(
                    f"C=inf asks for a hard margin, but the classes cannot be separated with "
                    f"{self.kernel_!r} ({self._name(plus, minus)}): choose a finite C"
                )
        return solutions

    def _calibrate(self, training: _Training, limits: Limits) -> np.ndarray:
        """Return the slopes of each problem's probabilities from held-out decision values."""
        slopes = []
        exact = cache(lambda: self._gram(training.sample, training.edges, np.float64))
        for plus, minus in self._problems():
            index, sign = self._points_of(training, plus, minus)
            weight = training.weight[index]
            held_out = held_out_values(training.K, index, sign, weight, self.tol, limits, exact)
            share = weight / max(float(weight[np.isfinite(weight)].max(initial=1.0)), 1e-300)
            slopes.append(fit_slopes(held_out, sign, np.where(np.isfinite(weight), share, 1.0)))
        return np.array(slopes)

    @staticmethod
    def _points_of(training: _Training, plus: int, minus: int) -> tuple[np.ndarray, np.ndarray]:
        if minus < 0:
            index = np.arange(len(training.order))
        else:
            index = np.sort(np.concatenate([training.points[plus], training.points[minus]]))
        sign = np.full(len(training.order), -1.0)
        sign[training.points[plus]] = 1.0
        return index, sign[index]

    def _name(self, plus: int, minus: int) -> str:
        rest = "the rest" if minus < 0 else self.classes_[minus]
        return f"{self.classes_[plus]} against {rest}"

    def _finish(self, training: _Training, solutions: list[Solution]) -> None:
        """Store the fitted machine."""
        n_rows = len(self.classes_) - 1 if self._by_pairs else len(solutions)
        coefs = np.zeros((n_rows, len(training.order)))
        for number, (plus, minus) in enumerate(self._problems()):
            row = np.zeros(len(training.order))
            row[self._points_of(training, plus, minus)[0]] = solutions[number].value
            if self._by_pairs:
                store_pair(coefs, row, training.points, plus, minus)
            else:
                coefs[number] = row
        used = np.flatnonzero(coefs.any(axis=0))
        code = np.empty(len(training.order), np.intp)
        for c, points in enumerate(training.points):
            code[points] = c
        used = used[np.argsort(code[used], kind="stable")]
        self.n_support_ = np.bincount(code[used], minlength=len(self.classes_)).astype(np.int32)
        self._keep_support(training.sample, used)
        self.support_ = training.order[used].astype(np.int32)
        self.dual_coef_ = coefs[:, used]
        self.intercept_ = np.array([s.intercept for s in solutions], dtype=np.float64)
        self.n_iter_ = np.array([s.state.steps for s in solutions])
        norms = np.array([s.certificate.squared_norm for s in solutions])
        margins = np.divide(
            1.0, np.sqrt(np.abs(norms)), out=np.full(len(norms), np.inf), where=norms > 0
        )
        self.margin_ = margins[0] if len(margins) == 1 else margins
        self._accept(combined(solutions))

    @property
    def _by_pairs(self) -> bool:
        return self.multiclass == "ovo" and len(self.classes_) > 2

    # ------------------------------------------------------------ use
    def decision_function(self, X: Any) -> np.ndarray:
        """Return f(x) + b: shape (m,) for two classes, positive for ``classes_[1]``.

        Of several classes: a column for each class, or for each pair i < j (positive for i) with
        ``decision_function_shape="ovo"``.
        """
        values = self._raw_decision(X)
        if len(self.classes_) == 2:
            return values[:, 0]
        if self._by_pairs and self.decision_function_shape == "ovr":
            return _ovr_decision_function(values < 0, -values, len(self.classes_))
        return values

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of new rows."""
        check_is_fitted(self)
        return self.classes_[self._codes(self._raw_decision(X))]

    def _codes(self, values: np.ndarray) -> np.ndarray:
        if len(self.classes_) == 2:
            return (values[:, 0] > 0).astype(np.intp)
        return (votes(values, self._problems()) if self._by_pairs else values).argmax(axis=1)

    @available_if(lambda self: self.probability)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class probabilities, shape (m, n_classes); their argmax is ``predict``."""
        values = self._raw_decision(X)
        single = sigmoid(values, self.slopes_)
        if len(self.classes_) == 2:
            P = np.column_stack([1.0 - single[:, 0], single[:, 0]])
        elif self._by_pairs:
            P = couple_pairs(single, self._problems(), len(self.classes_))
        else:
            P = single / np.maximum(single.sum(axis=1, keepdims=True), 1e-300)
        return agree(P, self._codes(values))

    @available_if(lambda self: self.probability)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _raw_decision(self, X: Any) -> np.ndarray:
        """Return the decision values of all problems, shape (m, n_problems)."""
        check_is_fitted(self)
        rows, support = self._new_rows(X), self._support_sample()
        if not self._by_pairs:
            return self._weighted(rows, support, self.dual_coef_.T) + self.intercept_
        values = np.tile(self.intercept_, (len(rows), 1))
        stops = np.cumsum(self.n_support_)
        for c, (start, stop) in enumerate(zip(stops - self.n_support_, stops, strict=True)):
            part = slice(int(start), int(stop))
            weights = self.dual_coef_[:, part].T  # (n_c, k − 1)
            sums = self._weighted(rows, support[part], weights)
            for number, (i, j) in enumerate(self._problems()):
                if c in (i, j):
                    values[:, number] += sums[:, j - 1 if c == i else i]
        return values

    @property
    def coef_(self) -> np.ndarray:
        """Weights w of f(x) = w·x + b, for the linear kernel; a row for each problem."""
        check_is_fitted(self)
        if not isinstance(self.kernel_, Linear):
            raise AttributeError("coef_ exists for the linear kernel only")
        coefs = self.dual_coef_
        if self._by_pairs:
            coefs = pair_rows(coefs, self.n_support_, self._problems())
        return coefs @ self.support_vectors_

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
