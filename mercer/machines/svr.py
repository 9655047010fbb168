"""Support vector regression and novelty detection."""

from __future__ import annotations

from functools import cache
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import OutlierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer._docstrings import described
from mercer._sklearn import Interval
from mercer._state import Attribute, Floats, Integers
from mercer.kernels.sample import Sample
from mercer.machines._margin import MarginEstimator
from mercer.margin import MarginProblem
from mercer.result import Status
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
                f"C=inf asks that every target lie in the tube, but no function of "
                f"{self.kernel_!r} comes so near: choose a finite C or a larger epsilon"
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
class SVR(RegressionMachine):
    """Support vector regression: min ½‖f‖² + C Σᵢ max(0, |yᵢ − f(xᵢ) − b| − ε).

    Parameters
    ----------
    [kernel]
    C : float, default=1.0
        Bound of the coefficients, C > 0; ``inf`` lets no target lie outside the tube.
    epsilon : float, default=0.1
        Half-width ε ≥ 0 of the tube in which errors cost nothing.
    [end]

    Attributes
    ----------
    [fitted]
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
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        C: float = 1.0,
        epsilon: float = 0.1,
        tol: float = 1e-3,
        max_iter: int = -1,
        time_limit: float | None = None,
        memory: Any = None,
    ):
        super().__init__(kernel, tol, max_iter, time_limit, memory)
        self.C = C
        self.epsilon = epsilon

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SVR:
        """Fit the machine to rows X and numbers y."""
        self._validate_params()
        sample, y, weight = self._fit_rows(X, y, sample_weight, y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        bounds = np.zeros(len(weight))
        np.multiply(self.C, weight, out=bounds, where=weight > 0)  # inf · 0 is no bound
        self._solve_one(sample, MarginProblem.regress(y, bounds, self.epsilon))
        return self


@described(SHARED)
class OneClassSVM(OutlierMixin, SingleMachine):
    """One-class support vector machine: a region that holds all but a share ν of the points.

    min ½‖f‖² − νnρ + Σᵢ max(0, ρ − f(xᵢ)); a point is inside if f(x) ≥ ρ.

    Parameters
    ----------
    [kernel]
    nu : float, default=0.5
        ν in (0, 1]: at most this share lies outside, at least this share are support vectors.
    tol, max_iter, time_limit, memory
        As for `SVC`.

    Attributes
    ----------
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
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        nu: float = 0.5,
        tol: float = 1e-3,
        max_iter: int = -1,
        time_limit: float | None = None,
        memory: Any = None,
    ):
        super().__init__(kernel, tol, max_iter, time_limit, memory)
        self.nu = nu

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> OneClassSVM:
        """Fit the region; ``y`` is not used. As in LIBSVM, Σβ = ν Σ weights."""
        self._validate_params()
        sample, _, weight = self._fit_rows(X, sample_weight=sample_weight)
        zero = np.zeros(len(sample))
        # fill the first points up to their bounds: a feasible start
        filled = np.minimum(np.cumsum(weight), self.nu * weight.sum())
        beta = np.diff(filled, prepend=0.0)
        total = self.nu * float(weight.sum())
        self._solve_one(sample, MarginProblem(zero, zero, weight, 0.0, total), beta)
        # support vectors on the boundary have f(x) = ρ up to rounding: they are inside
        self.intercept_ += 1e-9 * (1.0 + np.abs(self.intercept_))
        self.offset_ = -self.intercept_
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return f(x) − ρ: positive inside."""
        return self._values(X)

    def score_samples(self, X: Any) -> np.ndarray:
        """Return f(x), the unshifted score."""
        return self._values(X) + self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """Return 1 for points inside and −1 for points outside."""
        return np.where(self._values(X) >= 0, 1, -1)
