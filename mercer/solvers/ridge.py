"""The regularised linear system of kernel ridge regression."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh
from scipy.linalg.lapack import dlange, dpocon

from mercer._array import SMALL, parse_memory
from mercer._floats import EPS
from mercer.certify import relative_residual
from mercer.gram import Gram, fresh_array, require_finite
from mercer.result import Solution, Status
from mercer.solvers import _lapack
from mercer.solvers._factors import CholeskyForm, norm_of_symmetric
from mercer.solvers._scaled import ScaledSystem, refine, scaled_matrix
from mercer.solvers.ridge_cg import solve_ridge_cg

SINGLE_FROM = 1000  # points
STEPS = 8  # of refinement, before float32 is given up
GOAL = 0.01  # of the tolerance: how far the refinement goes before the proof


def solve_ridge(
    K: Gram,
    Y: np.ndarray,
    ridge: np.ndarray,
    *,
    fit_intercept: bool = True,
    tolerance: float = 1e-8,
    memory: int | float | str | None = None,
    single_from: int = SINGLE_FROM,
) -> Solution:
    """Solve (K + diag(ridge)) α + 1bᵀ = Y with 1ᵀα = 0 (without intercept: b = 0).

    These are the optimality conditions of min Σᵢ wᵢ(yᵢ − f(xᵢ) − b)² + λ‖f‖² for ridge = λ/w.
    The first of these that serves:

    1. conjugate gradients on products with K (`solve_ridge_cg`), if a factor does not fit into the
       budget;
    2. Cholesky in float32 and a few steps of refinement in float64, from 1,000 stored points on;
    3. Cholesky in float64;
    4. an eigendecomposition, where K + diag(ridge) is not positive definite, or singular to working
       precision: it gives the solution of least norm.

    Parameters
    ----------
    K : Gram of shape (n, n)
        The training Gram matrix, float64.
    Y : array of shape (n, t)
        Targets of t problems that share the factor.
    ridge : array of shape (n,)
        The diagonal, λ divided by the sample weights.
    single_from : int, default=1000
        The number of points from which on float32 is tried: below, float64 is as fast.

    Returns
    -------
    Solution
        ``value`` has shape (n, t), ``intercept`` shape (t,).
    """
    if not _fits(8 * len(Y) ** 2, memory):
        return solve_ridge_cg(
            K, Y, ridge, fit_intercept=fit_intercept, tolerance=tolerance, memory=memory
        )
    system = _System(K, Y, ridge, fit_intercept, tolerance)
    if len(Y) >= single_from and K.holds_array and ridge.min() > 0:
        refined = system.refined_from_single(memory)
        if refined is not None:
            return refined
    try:
        factor = _by_cholesky(system.matrix(memory), fit_intercept)
    except LinAlgError:  # not positive definite
        return system.solve(_by_eigenvalues(system.matrix(memory), fit_intercept))
    solution = system.solve(factor)
    if not solution.certificate.ok and factor.condition * len(Y) * EPS > 1.0:  # it is noise
        return system.solve(_by_eigenvalues(system.matrix(memory), fit_intercept))
    return solution


def _fits(needed: int, memory: Any) -> bool:
    if memory is None and needed < SMALL:  # not worth asking how much is free
        return True
    return needed <= parse_memory(memory)


class _Factor(NamedTuple):
    solve: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    """Takes targets, returns α and b."""

    condition: float
    definite: bool


class _System(NamedTuple):
    K: Gram
    Y: np.ndarray
    ridge: np.ndarray
    fit_intercept: bool
    tolerance: float

    def matrix(self, memory: Any) -> np.ndarray:
        """Return K + diag(ridge), to be written over."""
        A = fresh_array(self.K, memory)
        A[np.diag_indices_from(A)] += self.ridge
        return A

    def solve(self, factor: _Factor) -> Solution:
        alpha, b = factor.solve(self.Y)
        residual = self.Y - b - (self.K @ alpha) - self.ridge[:, None] * alpha
        correction, db = factor.solve(residual)  # one step of refinement
        alpha, b = alpha + correction, b + db
        certificate = relative_residual(
            self.K,
            alpha,
            b,
            self.Y,
            self.ridge,
            condition=factor.condition,
            tolerance=self.tolerance,
            fit_intercept=self.fit_intercept,
        )
        return Solution(alpha, _status(factor, certificate.ok), certificate, intercept=b)

    def refined_from_single(self, memory: Any) -> Solution | None:
        """Return the solution by a float32 factor, or None if that is too coarse."""
        K, lam = self.K.toarray(), float(self.ridge.min())
        stored = K.dtype == np.float64 and (K.flags.c_contiguous or K.flags.f_contiguous)
        product = partial(_lapack.matmul, K) if stored else self.K.__matmul__
        system = ScaledSystem(product, self.Y, lam / self.ridge, self.fit_intercept)
        require_finite(system.raw_apply(system.root[None]))
        A, s, _ = scaled_matrix(K, np.arange(len(K)), system, np.float32, memory=memory)
        norm = norm_of_symmetric(A) + s * lam
        factor = CholeskyForm(A, s * lam)
        X, done = refine(system, np.array([lam]), factor, goal=GOAL * self.tolerance, steps=STEPS)
        if not done.all():
            return None
        alpha, b, certificate = system.proved(
            self.K, X[0], self.ridge, condition=factor.condition(norm), tolerance=self.tolerance
        )
        if not certificate.ok:
            return None
        stats = {"factor": "float32"}
        return Solution(alpha, Status.OPTIMAL, certificate, intercept=b, stats=stats)


def _status(factor: _Factor, proved: bool) -> Status:
    if not factor.definite:
        return Status.INDEFINITE
    return Status.OPTIMAL if proved else Status.ILL_CONDITIONED


def _by_cholesky(A: np.ndarray, fit_intercept: bool) -> _Factor:
    norm = dlange("1", A.T)  # A is symmetric, and its transpose is in Fortran's order: no copy
    lower = cho_factor(A.T, lower=True, overwrite_a=True, check_finite=False)
    reciprocal, _ = dpocon(lower[0], norm, uplo="L")
    condition = 1.0 / reciprocal if reciprocal > 0 else np.inf

    def solve(Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if not fit_intercept:
            return cho_solve(lower, Y, check_finite=False), np.zeros(Y.shape[1])
        ones = np.ones((len(Y), 1))
        solved = cho_solve(lower, np.hstack([ones, Y]), check_finite=False)  # (n, 1 + t)
        u, V = solved[:, :1], solved[:, 1:]
        b = V.sum(axis=0) / u.sum()
        return V - u * b, b

    return _Factor(solve, condition, True)


def _by_eigenvalues(A: np.ndarray, fit_intercept: bool) -> _Factor:
    """Factor A; with an intercept H A H, which acts on the coefficients that sum to zero.

    From A α + b = y follow H A H α = H y and b = mean(y − A α), also where A is singular.
    """
    means = A.mean(axis=0)
    scale = np.abs(np.diagonal(A)).max()  # of what rounding acts on, before it is centred
    if fit_intercept:
        A -= means
        A -= A.mean(axis=1, keepdims=True)
    values, V = eigh(A.T, overwrite_a=True, check_finite=False)
    cutoff = len(values) * EPS * max(scale, np.abs(values).max())
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=np.abs(values) > cutoff)

    def solve(Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if not fit_intercept:
            return V @ (inverse[:, None] * (V.T @ Y)), np.zeros(Y.shape[1])
        alpha = V @ (inverse[:, None] * (V.T @ (Y - Y.mean(axis=0))))
        alpha -= alpha.mean(axis=0)
        return alpha, Y.mean(axis=0) - means @ alpha

    sizes = np.sort(np.abs(values))[int(fit_intercept) :]  # H A H has one zero of its own
    return _Factor(solve, _condition(sizes, cutoff), bool(values.min() >= -cutoff))


def _condition(sizes: np.ndarray, cutoff: float) -> float:
    if len(sizes) == 0:
        return 1.0
    return float(sizes[-1] / sizes[0]) if sizes[0] > cutoff else np.inf
