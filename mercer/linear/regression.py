"""Linear regression in three norms of the residuals."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from mercer._sklearn import StrOptions
from mercer.linear._base import LinearRegressor, Range, Rows, all_targets
from mercer.linear._least_squares import solve_least_squares
from mercer.linear._programs import Fit, fit_largest, fit_tube, prove_largest, prove_tube, status_of
from mercer.linear._sparse import SparseRows, is_large, solve_sparse, sparse_programs
from mercer.result import Certificate, Solution


class LinearRegression(MultiOutputMixin, RegressorMixin, LinearRegressor):
    """Linear regression: min over w and b of ‖y − Xw − b‖ in the norm ℓ2, ℓ1 or ℓ∞.

    - "l2", least squares: min Σ wᵢ rᵢ², by orthogonal factors; it estimates the mean.
    - "l1", least absolute errors: min Σ wᵢ |rᵢ|, a linear program; it estimates the median, and one
      outlier does not move it.
    - "linf", Chebyshev: min max |rᵢ|, a linear program; the largest error decides. Here a weight
      says only whether a row counts (> 0) or not.

    Where the columns of X do not determine w, the w of least norm is taken. A sparse X is made
    dense up to 2·10⁷ entries. A larger one stays sparse: "l2" goes by LSMR, the others by HiGHS, on
    columns of norm 1; there w is any minimiser, for "l2" that of least norm in these units.

    Parameters
    ----------
    norm : {"l2", "l1", "linf"}, default="l2"
        The norm of the residuals.
    fit_intercept : bool, default=True
        Whether to fit the offset b.

    Attributes
    ----------
    coef_ : array of shape (d,) or (n_targets, d)
        w.
    intercept_ : float or array of shape (n_targets,)
        b.
    rank_ : int or None
        The rank of the (centred, weighted) table; None of a large sparse one.
    certificate_ : Certificate
        "l2": the cosine of the residual and the columns; "l1" and "linf": primal, dual and duality
        gap, and whether the multipliers balance, Xᵀu = 0.

    Examples
    --------
    >>> from mercer import LinearRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 30.0]
    >>> LinearRegression().fit(X, y).coef_
    array([9.1])
    >>> model = LinearRegression(norm="l1").fit(X, y)
    >>> model.predict([[4.0]]).round(6), model.certificate_.ok
    (array([4.]), True)
    """

    accepts_sparse = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "norm": [StrOptions({"l2", "l1", "linf"})],
        "fit_intercept": ["boolean"],
    }

    def __init__(self, *, norm: str = "l2", fit_intercept: bool = True):
        self.norm = norm
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearRegression:
        """Fit the model; ``y`` has shape (n,) or (n, n_targets)."""
        X, y, weight = self._checked(X, y, sample_weight, several=True)
        if is_large(X):
            return self._fit_sparse(X, y, weight)
        rows = Rows.of(X, y, weight, self.fit_intercept)
        solution = solve_least_squares(rows) if self.norm == "l2" else self._program(rows)
        self.rank_ = solution.state.rank
        self._keep(rows, solution.value, solution.intercept)
        self._accept(solution)
        return self

    def _fit_sparse(self, X: Any, y: np.ndarray, weight: np.ndarray) -> LinearRegression:
        rows = SparseRows.of(X, y, weight, self.fit_intercept, scaled=True)
        if self.norm == "l2":
            solution = solve_sparse(rows)
        else:
            solution = all_targets(sparse_programs(rows, self.norm, self.fit_intercept))
        self.rank_ = None
        self._keep(rows, solution.value, solution.intercept)
        self._accept(solution)
        return self

    def _program(self, rows: Rows) -> Solution:
        basis = rows.basis()

        def solve(y: np.ndarray) -> Solution:
            route = _absolute if self.norm == "l1" else _largest
            fit, certificate = route(rows, basis, y, self.fit_intercept)
            return Solution(
                fit.coef, status_of(certificate, fit), certificate, fit.offset, state=basis
            )

        return all_targets([solve(y) for y in rows.Y.T])


def _absolute(rows: Rows, basis: Range, y: np.ndarray, intercept: bool) -> tuple[Fit, Certificate]:
    fit = fit_tube(rows, basis, y, 0.0, intercept)
    return fit, prove_tube(rows, y, 0.0, fit, intercept)


def _largest(rows: Rows, basis: Range, y: np.ndarray, intercept: bool) -> tuple[Fit, Certificate]:
    fit = fit_largest(basis, y, intercept)
    return fit, prove_largest(rows, y, fit, intercept)
