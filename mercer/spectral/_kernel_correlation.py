"""The eigenproblem of kernel canonical correlations, by Cholesky factors."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular, svd

from mercer._floats import EPS
from mercer.gram import CenteredGram
from mercer.result import Certificate, Solution, Status
from mercer.solvers import symmetric_eigenpairs
from mercer.spectral._correlation import shared_signs
from mercer.spectral._pivoted import dual_coefficients, pivoted_factor

TOLERANCE = 1e-8
CORRELATED = 1e-7  # smaller correlations are rounding
SMALL = 400  # columns; a whole singular value decomposition is fast enough below
PROBE = 1e-6  # of a product with K: a factor that misses more shows that K is indefinite


def canonical_functions(
    K: CenteredGram, L: CenteredGram, k: int, lam: float, *, memory: Any = None
) -> Solution:
    """Solve L β = κ(K + r I)α, K α = κ(L + s I)β for the k largest κ, r = λ tr K and s = λ tr L.

    With K = GGᵀ (Cholesky with pivots, as many columns as K has rank), GᵀG + rI = RᵀR and
    T = GR⁻¹ the κ are the singular values of T_KᵀT_L: P, Q its vectors, Kα = TP and Lβ = TQ.
    Functions are scaled to αᵀK(K + rI)α = n − 1.

    Returns
    -------
    Solution
        ``value`` holds (α, β), each of shape (n, k); ``state`` the κ, falling.
    """
    x, y = _Side(K, lam, memory), _Side(L, lam, memory)
    P, kappa, Q = _leading_singular(x.T.T @ y.T, k)
    keep = kappa > CORRELATED
    kappa = kappa[keep]
    scale = np.sqrt(len(x.T) - 1)
    P, Q = scale * P[:, keep], scale * Q[:, keep]
    u, v = x.T @ P, y.T @ Q
    alpha, beta = x.coefficients(P, v / kappa), y.coefficients(Q, u / kappa)
    alpha, beta = shared_signs(alpha, beta)
    certificate = _proof(x, y, alpha, beta, kappa)
    return Solution((alpha, beta), _status(x, y, certificate), certificate, state=kappa)


class _Side:
    """One sample: its matrix, the ridge, and T with TTᵀ = K(K + rI)⁻¹."""

    def __init__(self, K: CenteredGram, lam: float, memory: Any):
        self.K = K
        self.trace = max(float(K.diagonal().sum()), 0.0)
        self.ridge = lam * self.trace
        G = pivoted_factor(K, memory)
        self.rank = G.shape[1]
        self.definite = _factor_holds(K, G, self.trace)
        S = G.T @ G
        S[np.diag_indices_from(S)] += self.ridge
        self._G, self._R = G, cholesky(S, check_finite=False) if self.rank else S
        self.T = _right_solve(G, self._R)

    def coefficients(self, P: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return α with Kα = TP and (K + rI)α = others, for Gᵀα = R⁻¹P."""
        w = solve_triangular(self._R, P, check_finite=False) if self.rank else P
        return dual_coefficients(self._G, w, self.ridge, others)


def _right_solve(G: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Return GR⁻¹."""
    return solve_triangular(R, G.T, trans="T", check_finite=False).T if R.size else G


def _factor_holds(K: CenteredGram, G: np.ndarray, trace: float) -> bool:
    probe = np.random.default_rng(0).standard_normal((len(G), 2))
    missed = np.linalg.norm(K @ probe - G @ (G.T @ probe))
    return bool(missed <= PROBE * max(trace, 0.0) * np.linalg.norm(probe) + _rounding(K))


def _rounding(K: CenteredGram) -> float:
    n = K.shape[0]
    return n * n * EPS * float(np.abs(K.base.diagonal()).max(initial=0.0))


def _leading_singular(M: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the k largest singular values of M and their vectors, as columns."""
    if min(M.shape) <= SMALL or k * 4 > min(M.shape):
        P, sizes, Qt = svd(M, full_matrices=False, check_finite=False)
        return P[:, :k], sizes[:k], Qt[:k].T
    if M.shape[0] > M.shape[1]:
        Q, sizes, P = _leading_singular(M.T, k)
        return P, sizes, Q
    solved = symmetric_eigenpairs(M @ M.T, k, tolerance=1e-12)
    P, sizes = solved.value, np.sqrt(np.maximum(solved.state, 0.0))
    Q = M.T @ P
    return P, sizes, Q / np.maximum(sizes, CORRELATED)


def _proof(
    x: _Side, y: _Side, alpha: np.ndarray, beta: np.ndarray, kappa: np.ndarray
) -> Certificate:
    """Prove both equations and that the functions are uncorrelated, by products with K and L.

    An equation counts as far as functions see it: its defect e is measured by
    eᵀK(K + rI)⁻¹e = ‖Tᵀe‖², in the unit of κ.
    """
    n = len(alpha)
    u, v = x.K @ alpha, y.K @ beta
    rights = (u + x.ridge * alpha, v + y.ridge * beta)
    residual = max(
        float(np.linalg.norm(side.T.T @ (left - right * kappa), axis=0).max(initial=0.0))
        for side, left, right in zip((x, y), (v, u), rights, strict=True)
    ) / np.sqrt(n - 1)
    skew = max(
        float(np.abs(own.T @ right / (n - 1) - np.eye(len(kappa))).max(initial=0.0))
        for own, right in zip((u, v), rights, strict=True)
    )
    parts = {
        "residual": residual,
        "orthogonality_error": skew,
        "rank_x": x.rank,
        "rank_y": y.rank,
        "ridge_x": x.ridge,
        "ridge_y": y.ridge,
        "storage": x.K.storage,
    }
    about = f"K_y β = κ (K_x + r) α, K_x α = κ (K_y + r) β for {len(kappa)} pairs on {n} points"
    return Certificate("eigen residual", max(residual, skew), TOLERANCE, about, parts)


def _status(x: _Side, y: _Side, certificate: Certificate) -> Status:
    if not (x.definite and y.definite):
        return Status.INDEFINITE
    return Status.OPTIMAL if certificate.ok else Status.ILL_CONDITIONED
