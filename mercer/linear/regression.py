"""Linear regression in three norms of the residuals."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.linalg import qr
from sklearn.base import MultiOutputMixin, RegressorMixin

from mercer._sklearn import StrOptions
from mercer._state import Attribute, Integers, Maybe
from mercer.linear._base import DenseDesign, LinearRegressor, Range, all_targets
from mercer.linear._programs import fit_largest, fit_tube, prove_largest, prove_tube, status_of
from mercer.linear._sparse import (
    DENSE_ENTRIES,
    SparseDesign,
    is_large,
    prove_least_squares,
    solve_sparse,
    sparse_programs,
)
from mercer.result import Solution, Status


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

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "rank_": Maybe(Integers()),
    }

    accepts_sparse = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "norm": [StrOptions({"l2", "l1", "linf"})],
        "fit_intercept": ["boolean"],
    }

    def __init__(self, *, norm: str = "l2", fit_intercept: bool = True):
        self.norm = norm
        self.fit_intercept = fit_intercept

    def _fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, dense: float = DENSE_ENTRIES
    ) -> Solution:
        X, y, weight = self._checked(X, y, sample_weight, several=True)
        design: DenseDesign | SparseDesign
        if is_large(X, dense):
            design = SparseDesign.of(X, y, weight, self.fit_intercept, scaled=True)
            solution, self.rank_ = self._solve_sparse(design), None
        else:
            design = DenseDesign.of(X, y, weight, self.fit_intercept)
            solution, self.rank_ = self._solve(design)
        self._keep(design, solution.value, solution.intercept)
        return solution

    def _solve(self, design: DenseDesign) -> tuple[Solution, int]:
        """Return the solution and the rank of the table."""
        if self.norm == "l2":
            return solve_least_squares(design)
        basis, solve = design.basis(), _absolute if self.norm == "l1" else _largest
        solutions = [solve(design, basis, y, self.fit_intercept) for y in design.Y.T]
        return all_targets(solutions), basis.rank

    def _solve_sparse(self, design: SparseDesign) -> Solution:
        if self.norm == "l2":
            return solve_sparse(design)
        return all_targets(sparse_programs(design, self.norm, self.fit_intercept))


def _absolute(design: DenseDesign, basis: Range, y: np.ndarray, intercept: bool) -> Solution:
    fit = fit_tube(design, basis, y, 0.0, intercept)
    proof = prove_tube(design, y, 0.0, fit, intercept)
    return Solution(fit.coef, status_of(proof, fit), proof, fit.offset)


def _largest(design: DenseDesign, basis: Range, y: np.ndarray, intercept: bool) -> Solution:
    fit = fit_largest(basis, y, intercept)
    proof = prove_largest(design, y, fit, intercept)
    return Solution(fit.coef, status_of(proof, fit), proof, fit.offset)


# ---------------------------------------------------------------- least squares
def solve_least_squares(design: DenseDesign) -> tuple[Solution, int]:
    """Minimise Σ w (y − Xc)²; of all minimisers the c of least norm, shape (d, t); and the rank."""
    X, Y = design.weighted()
    basis, target = _small(X, Y, design.subtracted)
    coef = basis.coef(basis.U.T @ target)
    norms = np.sqrt(np.einsum("ij,ij->j", X, X))
    parts = {"rank": basis.rank, "condition_estimate": basis.condition}
    certificate = prove_least_squares(X, Y, coef, norms, parts, f"{len(X)} rows")
    status = Status.OPTIMAL if certificate.ok else Status.ROUNDING
    return Solution(coef, status, certificate), basis.rank


def _small(X: np.ndarray, Y: np.ndarray, subtracted: np.ndarray) -> tuple[Range, np.ndarray]:
    """Return a table with the same products, and targets: of a tall one its triangle."""
    n, d = X.shape
    if n <= 2 * (d + Y.shape[1]):
        return Range.of(X, subtracted), Y
    # the triangle of [X Y] holds that of X and QᵀY: Q is never formed
    R = qr(np.hstack([X, Y]), mode="r", overwrite_a=True, check_finite=False)[0][:d]
    return Range.of(R[:, :d], subtracted), R[:, d:]
