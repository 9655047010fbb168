"""A centred Gram matrix as GGᵀ, by Cholesky with pivots: as many columns as it has rank."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cholesky, qr, solve_triangular

from mercer._floats import EPS
from mercer.gram import CenteredGram, fresh_array
from mercer.solvers.pivoted import pivoted_cholesky


def centered_factor(K: CenteredGram, memory: Any = None) -> np.ndarray:
    """Return G with K = GGᵀ up to rounding, shape (n, rank); its columns sum to 0."""
    noise = K.shape[0] * EPS * float(np.abs(K.base.diagonal()).max(initial=0.0))
    # K is symmetric: its transpose, in Fortran's order, needs no copy
    U, order = pivoted_cholesky(fresh_array(K, memory).T, noise, overwrite=True)
    G = np.empty(U.shape[::-1])
    G[order] = U.T
    G -= G.mean(axis=0)
    return G


class RidgedFactor:
    """G with K = GGᵀ, and the triangle R with RᵀR = GᵀG + ridge I."""

    def __init__(self, K: CenteredGram, ridge: float, memory: Any = None):
        self.G, self.ridge = centered_factor(K, memory), ridge
        S = self.G.T @ self.G
        S[np.diag_indices_from(S)] += ridge
        self.R = cholesky(S, overwrite_a=True, check_finite=False) if self.rank else S

    @property
    def rank(self) -> int:
        return self.G.shape[1]

    def solve(
        self, B: np.ndarray, *, transposed: bool = False, overwrite: bool = False
    ) -> np.ndarray:
        """Return R⁻¹B, or R⁻ᵀB; B in Fortran's order may be written over."""
        if not self.rank:
            return B
        way = {"trans": int(transposed), "overwrite_b": overwrite}
        return solve_triangular(self.R, B, **way, check_finite=False)

    def values(self, P: np.ndarray) -> np.ndarray:
        """Return T P for T = GR⁻¹, so that TTᵀ = K(K + ridge I)⁻¹."""
        return self.G @ self.solve(P)

    def seen(self, E: np.ndarray) -> np.ndarray:
        """Return TᵀE."""
        return self.solve((E.T @ self.G).T, transposed=True, overwrite=True)

    def coefficients(self, w: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return α with Gᵀα = w, for w that solves (GᵀG + ridge I) w = Gᵀ targets.

        Of a matrix of low rank it is the α of least norm; of any other α = (targets − Gw) / ridge,
        which rounding spoils where the ridge is very small.
        """
        if not self.rank:
            return np.zeros_like(targets)
        if 2 * self.rank <= len(self.G):
            Q, R = qr(self.G, mode="economic", check_finite=False)
            alpha = Q @ solve_triangular(R, w, trans="T", check_finite=False)
        else:
            alpha = (targets - self.G @ w) / self.ridge
        return alpha - alpha.mean(axis=0)
