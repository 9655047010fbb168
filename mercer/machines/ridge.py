"""Kernel ridge regression."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils._param_validation import Interval

from mercer._array import parse_memory
from mercer._estimator import KernelEstimator
from mercer.gram import gram
from mercer.solvers import solve_ridge


class KernelRidge(MultiOutputMixin, RegressorMixin, KernelEstimator):
    """Kernel ridge regression: min over f and b of Σᵢ wᵢ(yᵢ − f(xᵢ) − b)² + λ‖f‖².

    f(x) = Σᵢ αᵢ k(x, xᵢ), with (K + λW⁻¹)α + b = y and Σα = 0.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        The kernel.
    lam : float, default=1.0
        λ > 0, the weight of ‖f‖².
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
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "lam": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        lam: float = 1.0,
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
        self.X_fit_ = sample.data
        Y = np.asarray(y, dtype=np.float64).reshape(len(sample), -1)
        used = np.flatnonzero(weight)  # a row of weight 0 is no row
        budget = parse_memory(self.memory)
        # half for K, half for its factor
        rows = sample if len(used) == len(sample) else sample[used]
        K = gram(self.kernel_, rows, memory=budget // 2, dtype=np.float64)
        ridge = self.lam / weight[used]
        solution = solve_ridge(K, Y[used], ridge, fit_intercept=self.fit_intercept, memory=budget)
        alpha = np.zeros_like(Y)
        alpha[used] = solution.value
        self.dual_coef_ = alpha if y.ndim > 1 else alpha[:, 0]
        self.intercept_ = solution.intercept if y.ndim > 1 else float(solution.intercept[0])
        self._accept(solution)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return f(x) + b for new rows."""
        rows = self._new_rows(X)
        K = gram(self.kernel_, rows, self.X_fit_, storage="blocked", dtype=np.float64)
        return K @ self.dual_coef_ + self.intercept_
