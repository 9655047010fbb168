"""The M step of EM for Gaussian mixtures, exact even where a variance rests on its floor."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from mercer.bayes._e_step import Expected
from mercer.bayes._mixture import Mixture


class Shape(NamedTuple):
    """The family of covariances, and the floor below which no variance may fall.

    For covariances Σ ⪰ floor · I the maximum of −log det Σ − tr(Σ⁻¹S) is S with its eigenvalues
    lifted to the floor: the M step stays exact, and the likelihood monotone.
    """

    kind: str  # "full", "tied", "diagonal" or "spherical"
    floor: float

    @property
    def diagonal(self) -> bool:
        """Whether covariances are diagonal."""
        return self.kind in ("diagonal", "spherical")

    def maximise(self, expected: Expected) -> Mixture:
        """Return the parameters of largest expected likelihood."""
        counts = expected.counts
        weights = counts / counts.sum()
        if self.diagonal:
            return self._diagonal(expected, weights)
        return self._dense(expected, weights)

    def _diagonal(self, expected: Expected, weights: np.ndarray) -> Mixture:
        old, T = expected.mixture, expected.moments
        used, counts = _used(expected.counts)
        moves = np.where(used[:, None], T[:, :-1, 1] / counts[:, None], 0.0)
        spread = np.where(used[:, None], T[:, :-1, 0] / counts[:, None] - moves**2, 1.0)
        variances = spread * old.factors**2
        if self.kind == "spherical":
            variances[:] = variances.mean(axis=1, keepdims=True)
        floored = (variances < self.floor).sum(axis=1)
        factors = np.sqrt(np.maximum(variances, self.floor))
        return Mixture(weights, old.means + old.factors * moves, factors, floored)

    def _dense(self, expected: Expected, weights: np.ndarray) -> Mixture:
        old, T = expected.mixture, expected.moments
        used, counts = _used(expected.counts)
        d = old.means.shape[1]
        moves = np.where(used[:, None], T[:, :d, d] / counts[:, None], 0.0)
        spread = T[:, :d, :d] / counts[:, None, None] - moves[:, :, None] * moves[:, None, :]
        spread[~used] = np.eye(d)
        means = old.means + np.einsum("kij,kj->ki", old.factors, moves)
        covariances = old.factors @ spread @ old.factors.transpose(0, 2, 1)
        if self.kind == "tied":
            covariances = np.einsum("k,kij->ij", weights, covariances)[None]
        factors, floored = lifted_factors(covariances, self.floor)
        k = len(weights)
        factors, floored = np.broadcast_to(factors, (k, d, d)), np.broadcast_to(floored, k)
        return Mixture(weights, means, factors, floored)

    def n_parameters(self, k: int, d: int) -> int:
        """Return how many numbers k components in d dimensions have."""
        spread = {
            "full": k * d * (d + 1) // 2,
            "tied": d * (d + 1) // 2,
            "diagonal": k * d,
            "spherical": k,
        }
        return spread[self.kind] + k * d + k - 1


def _used(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which components have rows, and what to divide by."""
    used = counts > 0.0
    return used, np.where(used, counts, 1.0)


def lifted_factors(covariances: np.ndarray, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """Return Cholesky factors with all eigenvalues at least ``floor``, and how many were lifted."""
    eye = np.eye(covariances.shape[1])
    try:  # most often nothing is to be lifted, and this is the cheapest way to know
        np.linalg.cholesky(covariances - floor * eye)
        return np.linalg.cholesky(covariances), np.zeros(len(covariances), np.intp)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariances)
    lifted = np.sqrt(np.maximum(values, floor))
    # VΛVᵀ = (VΛ½)(VΛ½)ᵀ, and the triangular factor of (VΛ½)ᵀ never forms the square
    R = np.asarray(np.linalg.qr(lifted[:, :, None] * vectors.transpose(0, 2, 1), mode="r"))
    signs = np.where(np.diagonal(R, 0, 1, 2) < 0, -1.0, 1.0)
    factors = np.swapaxes(R * signs[:, :, None], 1, 2)
    return factors, (values < floor).sum(axis=1)


def step_size(old: Mixture, new: Mixture) -> float:
    """Return how far a step moves: the largest natural gradient of the mean log-likelihood.

    In units of each component it is w′ − w, w′L⁻¹(μ′ − μ) and ½w′(L⁻¹Σ′L⁻ᵀ − I).
    """
    worst = float(np.abs(new.weights - old.weights).max())
    for c, share in enumerate(new.weights):
        L, move, spread = old.factors[c], new.means[c] - old.means[c], new.factors[c]
        if old.diagonal:
            change = (spread / L) ** 2 - 1.0
            move = move / L
        else:
            half = solve_triangular(L, spread, lower=True, check_finite=False)
            change = half @ half.T - np.eye(len(move))
            move = solve_triangular(L, move, lower=True, check_finite=False)
        worst = max(worst, share * float(np.linalg.norm(move)))
        worst = max(worst, 0.5 * share * float(np.linalg.norm(change)))
    return worst
