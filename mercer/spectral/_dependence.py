"""How dependent some signals are: mutual information from nearest neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import digamma


def multi_information(S: Any, n_neighbors: int = 4) -> float:
    """Return Σᵢ H(sᵢ) − H(s) in nats, by Kraskov, Stögbauer and Grassberger's first estimator.

    I = ψ(k) + (m − 1) ψ(n) − Σᵢ mean ψ(nᵢ + 1), where nᵢ counts the samples whose i-th signal is
    nearer than the k-th neighbour in the maximum norm.

    Parameters
    ----------
    S : array of shape (n, m)
        Samples of m signals.
    n_neighbors : int, default=4
        k: more give less variance and more bias.
    """
    S = np.asarray(S, dtype=np.float64)
    n, m = S.shape
    if not 1 <= n_neighbors < n:
        raise ValueError(f"n_neighbors must lie in [1, {n - 1}], below the rows; got {n_neighbors}")
    if m < 2:
        return 0.0
    spread = S.std(axis=0)
    S = S / np.where(spread > 0.0, spread, 1.0)
    radius = cKDTree(S).query(S, k=n_neighbors + 1, p=np.inf)[0][:, -1]
    counts = sum(float(digamma(_within(s, radius) + 1).mean()) for s in S.T)
    return float(digamma(n_neighbors) + (m - 1) * digamma(n) - counts)


def _within(s: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Return how many other values lie strictly nearer than each one's radius."""
    ordered = np.sort(s)
    high = np.searchsorted(ordered, s + radius, side="left")
    low = np.searchsorted(ordered, s - radius, side="right")
    return np.maximum(high - low - 1, 0)
