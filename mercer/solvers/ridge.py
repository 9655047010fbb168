"""The regularised linear system of kernel ridge regression, by Cholesky."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh
from scipy.linalg.lapack import dlange, dpocon

from mercer.certify import relative_residual
from mercer.gram import Gram, fresh_array
from mercer.result import Solution, Status


class _Factor(NamedTuple):
    solve: Callable[[np.ndarray], np.ndarray]
    condition: float
    definite: bool


def solve_ridge(
    K: Gram,
    Y: np.ndarray,
    ridge: np.ndarray,
    *,
    fit_intercept: bool = True,
    tolerance: float = 1e-8,
    memory: int | float | str | None = None,
) -> Solution:
    """Solve (K + diag(ridge)) α + 1bᵀ = Y with 1ᵀα = 0 (without intercept: b = 0).

    These are the optimality conditions of min Σᵢ wᵢ(yᵢ − f(xᵢ) − b)² + λ‖f‖² for ridge = λ/w.
    The factor is Cholesky's; where K + diag(ridge) is not positive definite, an eigendecomposition
    gives the solution of least norm.

    Parameters
    ----------
    K : Gram of shape (n, n)
        The training Gram matrix, float64.
    Y : array of shape (n, t)
        Targets of t problems that share the factor.
    ridge : array of shape (n,)
        The diagonal, λ divided by the sample weights.

    Returns
    -------
    Solution
        ``value`` has shape (n, t), ``intercept`` shape (t,).
    """
    factor = _factorise(K, ridge, memory)
    alpha, b = _solve_bordered(factor, Y, fit_intercept)
    residual = Y - b - (K @ alpha) - ridge[:, None] * alpha
    correction, db = _solve_bordered(factor, residual, fit_intercept)  # one step of refinement
    alpha, b = alpha + correction, b + db
    certificate = relative_residual(
        K,
        alpha,
        b,
        Y,
        ridge,
        condition=factor.condition,
        tolerance=tolerance,
        fit_intercept=fit_intercept,
    )
    return Solution(alpha, _status(factor, certificate.ok), certificate, intercept=b)


def _status(factor: _Factor, proved: bool) -> Status:
    if not factor.definite:
        return Status.INDEFINITE
    return Status.OPTIMAL if proved else Status.ILL_CONDITIONED


def _solve_bordered(
    factor: _Factor, Y: np.ndarray, fit_intercept: bool
) -> tuple[np.ndarray, np.ndarray]:
    if not fit_intercept:
        return factor.solve(Y), np.zeros(Y.shape[1])
    ones = np.ones((len(Y), 1))
    solved = factor.solve(np.hstack([ones, Y]))  # (n, 1 + t)
    u, V = solved[:, :1], solved[:, 1:]
    b = V.sum(axis=0) / u.sum()
    return V - u * b, b


def _factorise(K: Gram, ridge: np.ndarray, memory: Any) -> _Factor:
    A = _shifted(K, ridge, memory)
    norm = dlange("1", A.T)  # A is symmetric, and its transpose is in Fortran's order: no copy
    try:
        lower = cho_factor(A.T, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return _factorise_by_eigenvalues(_shifted(K, ridge, memory))
    reciprocal, _ = dpocon(lower[0], norm, uplo="L")
    condition = 1.0 / reciprocal if reciprocal > 0 else np.inf
    return _Factor(lambda B: cho_solve(lower, B, check_finite=False), condition, True)


def _shifted(K: Gram, ridge: np.ndarray, memory: Any) -> np.ndarray:
    A = fresh_array(K, memory)
    A[np.diag_indices_from(A)] += ridge
    return A


def _factorise_by_eigenvalues(A: np.ndarray) -> _Factor:
    values, V = eigh(A.T, overwrite_a=True, check_finite=False)
    size = np.abs(values)
    cutoff = len(values) * np.finfo(np.float64).eps * size.max(initial=0.0)
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=size > cutoff)
    condition = size.max() / size.min() if size.min() > 0 else np.inf
    definite = bool(values.min() >= -cutoff)
    return _Factor(lambda B: V @ (inverse[:, None] * (V.T @ B)), float(condition), definite)
