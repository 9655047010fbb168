"""Kernel ridge regression, and classification by it."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.class_weight import compute_class_weight

from mercer._array import parse_memory
from mercer._estimator import KernelEstimator, class_codes
from mercer._sklearn import Interval, StrOptions
from mercer.gram import gram
from mercer.kernels.sample import Sample
from mercer.result import Solution
from mercer.solvers import solve_ridge
from mercer.solvers.ridge_loo import LooErrors, solve_ridge_loo
from mercer.solvers.ridge_path import check_lams


class RidgeEstimator(KernelEstimator):
    """What regression and classification share: the choice of λ, the solve, the sum."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "lam": [Interval(Real, 0, None, closed="left"), StrOptions({"loo"}), "array-like"],
        "fit_intercept": ["boolean"],
    }

    lam: Any
    fit_intercept: bool
    memory: Any

    def _targets(self, y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        """Return targets (n, t), weights, and whether y has one target without an axis for it."""
        raise NotImplementedError

    def _fit_targets(self, sample: Sample, Y: np.ndarray, weight: np.ndarray, flat: bool) -> None:
        """Solve for targets (n, t); ``flat`` drops the axis of the one target there is."""
        used = np.flatnonzero(weight)  # a row of weight 0 is no row
        rows = sample if len(used) == len(sample) else sample[used]
        solution = self._solve(rows, Y[used], weight[used])
        alpha = np.zeros_like(Y)
        alpha[used] = solution.value
        self.X_fit_ = sample.data
        self.dual_coef_ = alpha[:, 0] if flat else alpha
        self.intercept_ = float(solution.intercept[0]) if flat else solution.intercept
        self._weight, self._errors = weight, solution.state
        self.lam_ = float(self.lam) if self._errors is None else self._errors.best
        self.lams_ = np.array([self.lam_]) if self._errors is None else self._errors.lams
        self._accept(solution)

    def _solve(self, rows: Sample, Y: np.ndarray, weight: np.ndarray) -> Solution:
        budget = parse_memory(self.memory)
        offset = self.fit_intercept
        # half for K, half for its factor
        K = gram(self.kernel_, rows, memory=budget // 2, dtype=np.float64)
        if isinstance(self.lam, Real):
            ridge = float(self.lam) / weight
            return solve_ridge(K, Y, ridge, fit_intercept=offset, memory=budget)
        lams = None if isinstance(self.lam, str) else check_lams(self.lam, "lam")
        return solve_ridge_loo(K, Y, weight, lams, fit_intercept=offset, memory=budget)

    @property
    def loo_error_(self) -> np.ndarray:
        """Mean squared leave-one-out error of each λ that was tried."""
        return self._all_errors().loo

    @property
    def gcv_error_(self) -> np.ndarray:
        """Error of each λ by generalised cross-validation."""
        return self._all_errors().gcv

    def _all_errors(self) -> LooErrors:
        """Return the errors; those of one number cost more than its fit, so only if asked."""
        if not hasattr(self, "_errors"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        if self._errors is None:
            self._errors = self._errors_of_number()
        return self._errors

    def _errors_of_number(self) -> LooErrors:
        if self.lam_ == 0:
            raise AttributeError("there is no leave-one-out error for lam=0: use a small lam > 0")
        used = np.flatnonzero(self._weight)
        rows, weight = self.kernel_.sample(self.X_fit_)[used], self._weight[used]
        K = gram(self.kernel_, rows, memory=parse_memory(self.memory) // 2, dtype=np.float64)
        alpha = self.dual_coef_.reshape(len(self._weight), -1)[used]
        Y = K @ alpha + (self.lam_ / weight)[:, None] * alpha + self.intercept_
        offset = self.fit_intercept
        return solve_ridge_loo(K, Y, weight, np.array([self.lam_]), fit_intercept=offset).state

    def _values(self, X: Any) -> np.ndarray:
        """Return f(x) + b for new rows."""
        rows = self._new_rows(X)
        K = gram(self.kernel_, rows, self.X_fit_, storage="blocked", dtype=np.float64)
        return K @ self.dual_coef_ + self.intercept_


class KernelRidge(MultiOutputMixin, RegressorMixin, RidgeEstimator):
    """Kernel ridge regression: min over f and b of Σᵢ wᵢ(yᵢ − f(xᵢ) − b)² + λ‖f‖².

    f(x) = Σᵢ αᵢ k(x, xᵢ), with (K + λW⁻¹)α + b = y and Σα = 0. A matrix that does not fit into the
    byte budget is never formed: conjugate gradients solve the system by products with it.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        The kernel.
    lam : float, list of floats or "loo", default=1.0
        λ ≥ 0, the weight of ‖f‖². Of a list of λ > 0 the one with the smallest exact leave-one-out
        error is taken, all of them from one eigendecomposition. "loo" makes the list: 30 values,
        evenly in the logarithm, from 10⁻⁹ to 10 times the largest eigenvalue of the weighted,
        centred Gram matrix, and 10 more beyond a border at which the best lies.
    fit_intercept : bool, default=True
        Whether to fit the offset b, which is not penalised.
    memory : int, str or None, default=None
        The byte budget; None is half of the free memory.

    Attributes
    ----------
    dual_coef_ : array of shape (n,) or (n, n_targets)
        α.
    intercept_ : float or array of shape (n_targets,)
        b.
    lam_ : float
        The λ of this fit.
    lams_ : array of shape (n_lams,)
        All λ that were tried.
    loo_error_ : array of shape (n_lams,)
        Mean squared leave-one-out error of each λ, over rows (by their weights) and targets. For a
        number it is computed when first asked for: it costs more than the fit.
    gcv_error_ : array of shape (n_lams,)
        The same by generalised cross-validation: each row has the leverage of the average row.
    certificate_ : Certificate
        Relative residual of the linear system and a condition estimate.
    kernel_ : Kernel
        The kernel with data-dependent parameters made concrete.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> X = np.linspace(0, 3, 40)[:, None]
    >>> model = KernelRidge("rbf", lam=1e-3).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[1.5]]).round(2)
    array([1.])
    >>> model.certificate_.ok
    True
    >>> KernelRidge("rbf", lam=[1e-3, 1.0, 1e3]).fit(X, np.sin(X[:, 0])).lam_
    0.001
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        lam: Any = 1.0,
        fit_intercept: bool = True,
        memory: int | str | None = None,
    ):
        self.kernel = kernel
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.memory = memory

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRidge:
        """Fit the machine; ``y`` has shape (n,) or (n, n_targets)."""
        self._validate_params()
        sample, y, weight = self._fit_rows(X, y, sample_weight, multi_output=True, y_numeric=True)
        self._fit_targets(sample, *self._targets(np.asarray(y), weight))
        return self

    def _targets(self, y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        return y.astype(np.float64).reshape(len(y), -1), weight, y.ndim == 1

    def predict(self, X: Any) -> np.ndarray:
        """Return f(x) + b for new rows."""
        return self._values(X)


class KernelRidgeClassifier(ClassifierMixin, RidgeEstimator):
    """Classification by kernel ridge regression on targets ±1, each class against the rest.

    For each class the fit is min over f and b of Σᵢ wᵢ(±1 − f(xᵢ) − b)² + λ‖f‖²; the largest
    f(x) + b names the class. All classes share one decomposition and one λ.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        The kernel.
    lam : float, list of floats or "loo", default=1.0
        λ ≥ 0, or how it is chosen by the exact leave-one-out error, as in `KernelRidge`.
    fit_intercept : bool, default=True
        Whether to fit the offset b, which is not penalised.
    class_weight : dict, "balanced" or None, default=None
        Factors of the weights of each class.
    memory : int, str or None, default=None
        The byte budget; None is half of the free memory.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    dual_coef_, intercept_, lam_, lams_, loo_error_, gcv_error_, certificate_, kernel_
        As in `KernelRidge`, with a target for each class; of two classes there is one target.

    Examples
    --------
    >>> from mercer import KernelRidgeClassifier
    >>> model = KernelRidgeClassifier("linear", lam=0.1)
    >>> model.fit([[-1.0], [-0.5], [0.5], [1.0]], ["no", "no", "yes", "yes"]).predict([[0.7]])
    array(['yes'], dtype='<U3')
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RidgeEstimator._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        lam: Any = 1.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        memory: int | str | None = None,
    ):
        self.kernel = kernel
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.memory = memory

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRidgeClassifier:
        """Fit the machine to rows X and labels y."""
        self._validate_params()
        sample, y, weight = self._fit_rows(X, y, sample_weight)
        self._fit_targets(sample, *self._targets(y, weight))
        return self

    def _targets(self, y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        self.classes_, codes = class_codes(y)
        factors = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        binary = len(self.classes_) == 2
        named = np.array([1]) if binary else np.arange(len(self.classes_))
        Y = np.where(codes[:, None] == named, 1.0, -1.0)
        return Y, weight * factors[codes], binary

    def decision_function(self, X: Any) -> np.ndarray:
        """Return f(x) + b: shape (m,) for two classes (positive: the second), else (m, k)."""
        return self._values(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of new rows."""
        return self._labels(self._values(X))

    def _labels(self, values: np.ndarray) -> np.ndarray:
        """Return the labels that decision values stand for."""
        codes = (values > 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)
        return self.classes_[codes]
