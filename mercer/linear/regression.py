"""Linear regression in three norms of the residuals."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.linalg import qr
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer._sklearn import StrOptions, _check_feature_names_in
from mercer._state import Attribute, Floats, Integers, Maybe, one_more
from mercer.linear._base import DenseDesign, LinearRegressor, Range, all_targets
from mercer.linear._inference import CoefficientTable, least_squares_errors
from mercer.linear._positive import solve_positive
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
    positive : bool, default=False
        Whether coefficients must be ≥ 0 (for "l2" only); the offset may have either sign. A sparse
        X is then made dense, if the memory allows it.

    Attributes
    ----------
    coef_ : array of shape (d,) or (n_targets, d)
        w.
    intercept_ : float or array of shape (n_targets,)
        b.
    rank_ : int or None
        The rank of the (centred, weighted) table; None of a large sparse one.
    standard_errors_, intercept_standard_errors_ : array
        "l2": standard errors of ``coef_`` and ``intercept_``, √(σ² diag (XᵀWX)⁻¹) with
        σ² = Σ w r² / (n − d − 1). Not there where the columns do not determine w or n is small.
    degrees_of_freedom_ : int or None
        Their degrees of freedom, n − d − 1.
    certificate_ : Certificate
        "l2": the cosine of the residual and the columns (of w ≥ 0 only where it points to a better
        one); "l1" and "linf": primal, dual and duality gap, and whether the multipliers balance,
        Xᵀu = 0.

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
        "degrees_of_freedom_": Maybe(Integers(least=1)),
        "_errors": Maybe(Floats(one_more("columns"), "errors")),
    }

    accepts_sparse = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "norm": [StrOptions({"l2", "l1", "linf"})],
        "fit_intercept": ["boolean"],
        "positive": ["boolean"],
    }

    def __init__(self, *, norm: str = "l2", fit_intercept: bool = True, positive: bool = False):
        self.norm = norm
        self.fit_intercept = fit_intercept
        self.positive = positive

    def _fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, dense: float = DENSE_ENTRIES
    ) -> Solution:
        X, y, weight = self._checked(X, y, sample_weight, several=True)
        if self.positive and self.norm != "l2":
            raise ValueError(f'positive=True needs norm="l2"; got norm={self.norm!r}')
        self.degrees_of_freedom_: int | None = None
        self._errors: np.ndarray | None = None
        design: DenseDesign | SparseDesign
        if is_large(X, dense) and not self.positive:
            design = SparseDesign.of(X, y, weight, self.fit_intercept, scaled=True)
            solution, self.rank_ = self._solve_sparse(design), None
        else:
            design = DenseDesign.of(X, y, weight, self.fit_intercept)
            solution, self.rank_ = self._solve(design)
        self._keep(design, solution.value, solution.intercept)
        return solution

    def _solve(self, design: DenseDesign) -> tuple[Solution, int]:
        """Return the solution and the rank of the table."""
        if self.positive:
            return solve_positive(design), design.basis().rank
        if self.norm == "l2":
            solution, basis, residual = solve_least_squares(design)
            known = least_squares_errors(design, basis, residual, self.fit_intercept)
            self._errors, self.degrees_of_freedom_ = known or (None, None)
            return solution, basis.rank
        basis, solve = design.basis(), _absolute if self.norm == "l1" else _largest
        solutions = [solve(design, basis, y, self.fit_intercept) for y in design.Y.T]
        return all_targets(solutions), basis.rank

    @property
    def standard_errors_(self) -> np.ndarray:
        """Standard errors of the coefficients, shaped as ``coef_``."""
        return self._known_errors()[:-1].T.reshape(self.coef_.shape)

    @property
    def intercept_standard_errors_(self) -> Any:
        """Standard errors of the intercepts, shaped as ``intercept_``."""
        errors = self._known_errors()[-1]
        return float(errors[0]) if self.coef_.ndim == 1 else errors

    def _known_errors(self) -> np.ndarray:
        if not hasattr(self, "_errors"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        if self._errors is None:
            raise AttributeError(
                'there are no standard errors: they are those of norm="l2" without positive=True, '
                "on a table that is not large and sparse, with independent columns and more rows "
                "than coefficients"
            )
        return self._errors

    def summary(self) -> CoefficientTable:
        """Return a table of coefficients, standard errors, t and p values; it prints itself.

        Its ``interval(level)`` returns confidence intervals.
        """
        check_is_fitted(self)
        names = [*_check_feature_names_in(self), *["intercept"] * self.fit_intercept]
        coef = np.column_stack([np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)])
        errors = self._known_errors().T
        if self.coef_.ndim == 2:
            names = [f"y{target}: {name}" for target in range(len(coef)) for name in names]
        m = self.n_features_in_ + self.fit_intercept
        degrees = float(self.degrees_of_freedom_ or 0)
        return CoefficientTable.of(names, coef[:, :m].ravel(), errors[:, :m].ravel(), degrees)

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
def solve_least_squares(design: DenseDesign) -> tuple[Solution, Range, np.ndarray]:
    """Minimise Σ w (y − Xc)²; return the c of least norm, shape (d, t), the range of X, y − Xc."""
    X, Y = design.weighted()
    basis, target = _small(X, Y, design.subtracted)
    coef = basis.coef(basis.U.T @ target)
    norms = np.sqrt(np.einsum("ij,ij->j", X, X))
    parts = {"rank": basis.rank, "condition_estimate": basis.condition}
    residual = Y - X @ coef
    certificate = prove_least_squares(X, Y, coef, residual, norms, parts, f"{len(X)} rows")
    status = Status.OPTIMAL if certificate.ok else Status.ROUNDING
    return Solution(coef, status, certificate), basis, residual


def _small(X: np.ndarray, Y: np.ndarray, subtracted: np.ndarray) -> tuple[Range, np.ndarray]:
    """Return a table with the same products, and targets: of a tall one its triangle."""
    n, d = X.shape
    if n <= 2 * (d + Y.shape[1]):
        return Range.of(X, subtracted), Y
    # the triangle of [X Y] holds that of X and QᵀY: Q is never formed
    R = qr(np.hstack([X, Y]), mode="r", overwrite_a=True, check_finite=False)[0][:d]
    return Range.of(R[:, :d], subtracted), R[:, d:]
