"""A preconditioner from some rows of a Gram matrix: partial Cholesky with random pivots."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from mercer._array import ranges
from mercer._floats import EPS
from mercer.gram import Gram
from mercer.solvers._scaled import ScaledSystem

PIVOTS = 100  # rows that are chosen at once
MOST = 2000  # rows; more cost longer than the products they save
SHARE = 4  # arrays of n × rank values that live at the same time


class Nystrom:
    """S = (U diag(s) Uᵀ + λ + tail on the rest)^-½, up to a factor, near (P D K D P + λ)^-½.

    Parameters
    ----------
    K : Gram
        The training matrix.
    system : ScaledSystem
        Weights and the projection.
    lam : float
        λ ≥ 0.
    budget : int
        Bytes for the rows and what is made of them.
    """

    def __init__(self, K: Gram, system: ScaledSystem, lam: float, budget: int):
        n = K.shape[0]
        rank = int(min(MOST, n, budget // (SHARE * 8 * n)))
        F = partial_cholesky(K, rank) * system.root[:, None]
        Q, R = np.linalg.qr(system.project(F.T).T)
        left, sizes, _ = np.linalg.svd(R)
        kept = sizes > len(sizes) * EPS * sizes.max(initial=0.0)
        for part in ranges(n, 4096):
            Q[part] = Q[part] @ left
        self.U, values = Q[:, kept], sizes[kept] ** 2
        self.largest = float(values.max(initial=0.0))
        # if every row of K is in the span, what is left is λ alone
        tail = values.min() if len(values) and len(values) == rank < n else 0.0
        floor = max(lam + tail, EPS * self.largest)
        self._shrink = np.sqrt(floor / (values + lam)) if len(values) else values

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return S X."""
        return X + self.U @ ((self._shrink - 1.0)[:, None] * (self.U.T @ X))

    def undo(self, X: np.ndarray) -> np.ndarray:
        """Return S⁻¹ X."""
        return X + self.U @ ((1.0 / self._shrink - 1.0)[:, None] * (self.U.T @ X))


def partial_cholesky(K: Gram, rank: int) -> np.ndarray:
    """Return F of shape (n, r), r ≤ rank, with F Fᵀ ≈ K and equal to K on the chosen rows.

    Rows are drawn with probabilities as large as what is not yet explained of them (Chen, Epperly,
    Tropp and Webber, "Randomly pivoted Cholesky"); the same ones in every run.
    """
    n = K.shape[0]
    F, r = np.zeros((n, rank)), 0
    rest = np.maximum(K.diagonal().astype(np.float64), 0.0)
    enough = n * EPS * float(rest.sum())
    random = np.random.default_rng(0)
    while r < rank and rest.sum() > enough:
        draw = random.choice(n, min(PIVOTS, rank - r), p=rest / rest.sum())
        rows = np.unique(draw)
        G = K.rows(rows).T - F[:, :r] @ F[rows, :r].T  # (n, b): what is not explained yet
        values, V = eigh((G[rows] + G[rows].T) / 2.0)
        kept = values > len(rows) * EPS * max(values.max(), enough)
        new = (G @ V[:, kept]) / np.sqrt(values[kept])
        F[:, r : r + new.shape[1]] = new
        r += new.shape[1]
        rest = np.maximum(rest - np.einsum("ij,ij->i", new, new), 0.0)
        rest[rows] = 0.0
    return F[:, :r]
