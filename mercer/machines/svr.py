"""Support vector regression and novelty detection."""

from __future__ import annotations

from functools import cache
from numbers import Real
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from sklearn.base import OutlierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer._docstrings import described
from mercer._estimator import check_weights
from mercer._sklearn import Interval, StrOptions
from mercer._state import Attribute, Floats, Integers
from mercer.kernels.sample import Sample
from mercer.machines._margin import MarginEstimator
from mercer.machines._margin_span import SPAN, MarginInSpan
from mercer.margin import MarginProblem
from mercer.result import Status
from mercer.rows import as_rows
from mercer.solvers import MarginSolution, SmoState, solve_many, solve_margin

SHARED = {
    "kernel": """\
kernel : Kernel, str or callable, default="{kernel}"
    The kernel.
""",
    "end": """\
tol : float, default={tol}
    Relative duality gap and KKT violation (in units of y) at which the fit is done.
max_iter, time_limit, memory
    As for `SVC`.
""",
    **SPAN,
    "route": """\
route : {{"auto", "exact", "landmarks"}}, default="auto"
    "auto" is "exact" without landmarks, unless `Rows` are more than 50,000, or do not fit into
    memory.
""",
    "route_": """\
route_ : str
    The route of the fit.
""",
    "fitted": """\
support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_
    As in scikit-learn.
""",
}


class SingleMachine(MarginEstimator):
    """A machine with one problem: f(x) = Σᵢ βᵢ k(x, xᵢ) + b."""

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "dual_coef_": Floats(1, "support"),
        "intercept_": Floats(1),
        "n_support_": Integers(1),
        "n_iter_": Integers(),
    }

    def __init__(
        self, kernel: Any, tol: float, max_iter: int, time_limit: float | None, memory: Any
    ):
        self.kernel = kernel
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory = memory

    def _solve_one(
        self, sample: Sample, problem: MarginProblem, beta: np.ndarray | None = None
    ) -> None:
        """Solve one problem on all points, from a start β, and store the machine."""
        limits = self._limits()
        K, index = self._gram(sample), np.arange(len(sample))
        begun: MarginSolution | SmoState | None
        if beta is None:
            [begun] = solve_many(K, [(index, problem)], tol=self.tol, limits=limits)
        else:
            used = np.flatnonzero(beta)
            begun = SmoState(beta, problem.z - K.combine(used, beta[used], index))
        if isinstance(begun, MarginSolution):
            self._keep_machine(sample, begun)
            return
        solution = solve_margin(
            K,
            index,
            problem,
            tol=self.tol,
            limits=limits,
            start=begun,
            exact=cache(lambda: self._gram(sample, dtype=np.float64)),
        )
        if solution.status is Status.NOT_SEPARABLE:
            raise ValueError(
                f"C=inf requires every target to lie in the tube, but no function of "
                f"{self.kernel_!r} comes that close: choose a finite C or a larger epsilon"
            )
        self._keep_machine(sample, solution)

    def _keep_machine(self, sample: Sample, solution: MarginSolution) -> None:
        """Store support vectors, coefficients, the offset and the proof."""
        support = np.flatnonzero(solution.value)
        self._keep_support(sample, support)
        self.dual_coef_ = solution.value[support][None, :]
        self.intercept_ = np.array([solution.intercept])
        self.n_support_ = np.array([len(support)], dtype=np.int32)
        self.n_iter_ = solution.stats["steps"]
        self._accept(solution)

    @property
    def coef_(self) -> np.ndarray:
        """Weights w of f(x) = w·x + b, for the linear kernel, shape (1, d)."""
        return self._linear_weights(self.dual_coef_, self.support_vectors_)

    def _values(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self._sums(X, self.dual_coef_.T, self.intercept_)[:, 0]


class RegressionMachine(RegressorMixin, SingleMachine):
    """A machine whose function is the answer."""

    def predict(self, X: Any) -> np.ndarray:
        """Return f(x) + b for new rows."""
        return self._values(X)


@described(SHARED)
class SVR(MarginInSpan, RegressionMachine):
    """Support vector regression: min ½‖f‖² + C Σᵢ max(0, |yᵢ − f(xᵢ) − b| − ε).

    Parameters
    ----------
    [kernel]
    C : float, default=1.0
        Bound of the coefficients, C > 0; ``inf`` lets no target lie outside the tube.
    epsilon : float, default=0.1
        Half-width ε ≥ 0 of the tube in which errors cost nothing.
    [landmarks]
    [route]
    [end]
    [drawn]

    Attributes
    ----------
    [fitted]
    [route_]
    certificate_ : Certificate
        Duality gap and KKT conditions.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVR
    >>> X = np.linspace(0, 3, 40)[:, None]
    >>> model = SVR(C=10.0, epsilon=0.01).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.02), model.certificate_.ok
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **MarginEstimator._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="right")],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        **MarginInSpan._parameter_constraints,
        "route": [StrOptions({"auto", "exact", "landmarks"})],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        C: float = 1.0,
        epsilon: float = 0.1,
        landmarks: Any = None,
        route: str = "auto",
        tol: float = 1e-3,
        max_iter: int = -1,
        time_limit: float | None = None,
        random_state: Any = None,
        memory: Any = None,
        checkpoint: str | PathLike[str] | None = None,
    ):
        super().__init__(kernel, tol, max_iter, time_limit, memory)
        self.landmarks = landmarks
        self.route = route
        self.random_state = random_state
        self.checkpoint = checkpoint
        self.C = C
        self.epsilon = epsilon

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SVR:
        """Fit the machine to rows X and numbers y; with landmarks `Rows` come in blocks."""
        self._validate_params()
        X = as_rows(X)
        self.route_ = self._choose_route(X)
        if self.route_ == "landmarks":
            rows = self._blocks_of(X, y, y_numeric=True)
            weight = check_weights(sample_weight, rows.n)
            self._solve_one_in_span(rows, weight, self._problem(rows.targets(), weight))
            return self
        sample, y, weight = self._fit_rows(X, y, sample_weight, y_numeric=True)
        self._solve_one(sample, self._problem(y, weight))
        return self

    def _problem(self, y: Any, weight: np.ndarray) -> MarginProblem:
        bounds = np.zeros(len(weight))
        np.multiply(self.C, weight, out=bounds, where=weight > 0)  # inf · 0 is no bound
        return MarginProblem.regress(np.asarray(y, dtype=np.float64), bounds, self.epsilon)


@described(SHARED)
class OneClassSVM(MarginInSpan, OutlierMixin, SingleMachine):
    """One-class support vector machine: a region that holds all but a share ν of the points.

    min ½‖f‖² − νnρ + Σᵢ max(0, ρ − f(xᵢ)); a point is inside if f(x) ≥ ρ.

    Parameters
    ----------
    [kernel]
    nu : float, default=0.5
        ν in (0, 1]: at most this share lies outside, at least this share are support vectors.
    [landmarks]
    [route]
    tol, max_iter, time_limit, memory
        As for `SVC`.
    [drawn]

    Attributes
    ----------
    [route_]
    offset_ : float
        ρ; the decision function is f(x) − ρ.
    certificate_ : Certificate
        Duality gap and KKT conditions.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OneClassSVM
    >>> from mercer.kernels import RBF
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> OneClassSVM(RBF(gamma=0.1), nu=0.1).fit(X).predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "offset_": Floats(1),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **MarginEstimator._parameter_constraints,
        "nu": [Interval(Real, 0, 1, closed="right")],
        **MarginInSpan._parameter_constraints,
        "route": [StrOptions({"auto", "exact", "landmarks"})],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        nu: float = 0.5,
        landmarks: Any = None,
        route: str = "auto",
        tol: float = 1e-3,
        max_iter: int = -1,
        time_limit: float | None = None,
        random_state: Any = None,
        memory: Any = None,
        checkpoint: str | PathLike[str] | None = None,
    ):
        super().__init__(kernel, tol, max_iter, time_limit, memory)
        self.landmarks = landmarks
        self.route = route
        self.random_state = random_state
        self.checkpoint = checkpoint
        self.nu = nu

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> OneClassSVM:
        """Fit the region; ``y`` is not used. As in LIBSVM, Σβ = ν Σ weights."""
        self._validate_params()
        X = as_rows(X)
        self.route_ = self._choose_route(X)
        if self.route_ == "landmarks":
            rows = self._blocks_of(X)
            weight = check_weights(sample_weight, rows.n)
            self._solve_one_in_span(rows, weight, self._problem(weight))
        else:
            sample, _, weight = self._fit_rows(X, sample_weight=sample_weight)
            # fill the first points up to their bounds: a feasible start
            filled = np.minimum(np.cumsum(weight), self.nu * weight.sum())
            self._solve_one(sample, self._problem(weight), np.diff(filled, prepend=0.0))
        # support vectors on the boundary have f(x) = ρ up to rounding: they are inside
        self.intercept_ += 1e-9 * (1.0 + np.abs(self.intercept_))
        self.offset_ = -self.intercept_
        return self

    def _problem(self, weight: np.ndarray) -> MarginProblem:
        zero = np.zeros(len(weight))
        return MarginProblem(zero, zero, weight, 0.0, self.nu * float(weight.sum()))

    def decision_function(self, X: Any) -> np.ndarray:
        """Return f(x) − ρ: positive inside."""
        return self._values(X)

    def score_samples(self, X: Any) -> np.ndarray:
        """Return f(x), the unshifted score."""
        return self._values(X) + self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """Return 1 for points inside and −1 for points outside."""
        return np.where(self._values(X) >= 0, 1, -1)
