"""Mutual information of signals in the feature spaces of a Gaussian kernel, at low rank.

With centred features F_i of each signal, C_ij = F_i F_jᵀ / n and D the diagonal blocks of C,

    J = −½ log det(C + λI) + ½ log det(D + λI) ≥ 0,

the mutual information of Gaussian vectors with the covariance C + λI (the regularised kernel
generalised variance of Bach and Jordan, 2002); 0 if no features of two signals are correlated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from mercer.spectral._rotations import Point

LEFT_OUT = 1e-12  # of a kernel value, by the features at most ...
MOST = 100  # ... unless they would be more than these


class Pivots(NamedTuple):
    """Values p whose kernel functions span the features φ(y) = L⁻¹ k(p, y), LLᵀ = k(p, p)."""

    places: np.ndarray  # (r,)
    factor: np.ndarray  # (r, r), lower triangular
    left_out: float  # the largest k(y, y) − |φ(y)|² of the values they were chosen from

    @classmethod
    def of(cls, values: np.ndarray, gamma: float) -> Pivots:
        """Choose places by pivoted incomplete Cholesky factorisation of the kernel matrix."""
        values = np.unique(values)
        rest = np.ones(len(values))
        rows: list[np.ndarray] = []
        chosen: list[int] = []
        while rest.max(initial=0.0) > LEFT_OUT and len(chosen) < min(MOST, len(values)):
            pivot = int(rest.argmax())
            row = np.exp(-gamma * (values - values[pivot]) ** 2)
            for earlier in rows:
                row -= earlier[pivot] * earlier
            row /= np.sqrt(rest[pivot])
            rest = rest - row**2
            rows.append(row)
            chosen.append(pivot)
        factor = np.tril(np.array(rows).reshape(len(rows), len(values))[:, chosen].T)
        return cls(values[chosen], factor, max(float(rest.max(initial=0.0)), 0.0))


class KernelContrast:
    """J of y = W z as an objective of rotations.

    Parameters
    ----------
    Z : array of shape (k, n)
        Whitened signals.
    gamma, lam : float
        γ of the kernel exp(−γ(y − y')²), and λ.
    around : array of shape (k, k)
        The rotation whose signals the pivots are chosen from; they stay while W moves.
    """

    def __init__(self, Z: np.ndarray, gamma: float, lam: float, around: np.ndarray):
        self.Z, self.gamma, self.lam = Z, gamma, lam
        self.pivots = Pivots.of((around @ Z).ravel(), gamma)

    def at(self, W: np.ndarray) -> Point:
        """Return J, and its derivatives by the angles."""
        if len(W) < 2:  # nothing to depend on
            return Point(0.0, np.zeros(W.shape), None)
        Y = W @ self.Z
        k, n = Y.shape
        gaps = Y.reshape(1, -1) - self.pivots.places[:, None]  # (r, k n)
        E = np.exp(-self.gamma * gaps**2)
        F = self._by_signal(solve_triangular(self.pivots.factor, E, lower=True), k)
        F = F - F.mean(axis=1, keepdims=True)
        J, P = _information((F @ F.T) / n, k, self.lam)
        slopes = self._by_pivot((P @ F) / -n, k)  # ∂J/∂F
        slopes = solve_triangular(self.pivots.factor, slopes, lower=True, trans="T")  # ∂J/∂E
        slopes *= gaps
        slopes *= E
        N = (-2.0 * self.gamma) * (slopes.sum(axis=0).reshape(k, n) @ Y.T)
        return Point(J, N - N.T, None)

    def settle(self, point: Point) -> Point:
        """Stay as it is."""
        return point

    def _by_signal(self, A: np.ndarray, k: int) -> np.ndarray:
        """Turn (r, k n) into (k r, n)."""
        r, n = len(A), A.shape[1] // k
        return A.reshape(r, k, n).transpose(1, 0, 2).reshape(k * r, n)

    def _by_pivot(self, A: np.ndarray, k: int) -> np.ndarray:
        """Turn (k r, n) into (r, k n)."""
        r, n = len(A) // k, A.shape[1]
        return A.reshape(k, r, n).transpose(1, 0, 2).reshape(r, k * n)


def _information(C: np.ndarray, k: int, lam: float) -> tuple[float, np.ndarray]:
    """Return J of a covariance in k blocks, and P = (C + λ)⁻¹ − (D + λ)⁻¹ = −2 ∂J/∂C."""
    size = len(C) // k
    C = C + lam * np.eye(len(C))
    log_det, P = _log_det_and_inverse(C)
    J = -0.5 * log_det
    for block in (slice(i * size, (i + 1) * size) for i in range(k)):
        log_det, inverse = _log_det_and_inverse(C[block, block])
        J += 0.5 * log_det
        P[block, block] -= inverse
    return J, P


def _log_det_and_inverse(A: np.ndarray) -> tuple[float, np.ndarray]:
    """Return log det A and its derivative by A, which is the inverse."""
    factor = cho_factor(A, lower=True, check_finite=False)
    log_det = 2.0 * float(np.log(np.diag(factor[0])).sum())
    return log_det, cho_solve(factor, np.eye(len(A)), check_finite=False)
