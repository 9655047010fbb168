"""The E step of EM for Gaussian mixtures: one pass over the rows collects all that M needs.

That is T = Σ r (y, 1)(y, 1)ᵀ of each component, with the responsibilities r and rows y in units of
the component: the count, the move of the mean and the covariance. In these units the new mean is
near 0 and the new covariance near I, so that nothing cancels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer._array import run_tiles
from mercer.bayes._mixture import Mixture, Rows, Whitening

NEGLIGIBLE = 1e-20  # responsibility, relative to the weight of the component: lost in rounding
MOSTLY = (
    0.7  # of the rows of a block; with more a copy of those that count costs more than it saves
)


class Expected(NamedTuple):
    """What the E step found, in units of the components of ``mixture``."""

    mixture: Mixture
    moments: np.ndarray  # T: (k, d + 1, d + 1), or its diagonal and last column (k, d + 1, 2)

    @property
    def counts(self) -> np.ndarray:
        """The expected number of rows of each component."""
        return self.moments[:, -1, -1]


def expect(rows: Rows, mixture: Mixture) -> tuple[Expected, float]:
    """Return the moments of all components and Σ w log p(z)."""
    whiten = Whitening(mixture)
    k, size = whiten.shape
    blocks, workers = rows.blocks(k), rows.workers(k)
    moments = np.zeros((workers, k, size, size if whiten.dense else 2))
    total = np.zeros(workers)
    buffers = [whiten.buffer(rows) for _ in range(workers)]
    least = NEGLIGIBLE * mixture.weights
    add = _add_dense if whiten.dense else _add_diagonal

    def work(block: slice, worker: int) -> None:
        Y = whiten(rows.columns[:, block], buffers[worker])
        share, evidence = _responsibilities(whiten.log_joint(Y))
        weight = rows.weight[block]
        total[worker] += evidence @ weight
        share *= weight
        add(moments[worker], Y, share, least)

    run_tiles(work, blocks, workers)
    return Expected(mixture, moments.sum(axis=0)), float(total.sum())


def _responsibilities(logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return p(c | z), shape (k, b), and log p(z), from log p(c, z), which is overwritten."""
    largest = logs.max(axis=0)
    logs -= largest
    np.exp(logs, out=logs)
    sums = logs.sum(axis=0)
    logs /= sums
    return logs, largest + np.log(sums)


def _add_diagonal(T: np.ndarray, Y: np.ndarray, share: np.ndarray, least: np.ndarray) -> None:
    """Add the diagonal and the last column of Σ r (y, 1)(y, 1)ᵀ to T."""
    T[:, :, 1] += np.matmul(Y, share[:, :, None])[:, :, 0]
    Y *= Y
    T[:, :, 0] += np.matmul(Y, share[:, :, None])[:, :, 0]


def _add_dense(T: np.ndarray, Y: np.ndarray, share: np.ndarray, least: np.ndarray) -> None:
    """Add Σ r (y, 1)(y, 1)ᵀ to T."""
    kept = share > least[:, None]
    few = np.count_nonzero(kept, axis=1) < MOSTLY * share.shape[1]
    for c, (part, r) in enumerate(zip(Y, share, strict=True)):
        if few[c]:  # most rows belong to few components
            index = kept[c].nonzero()[0]
            part, r = part.take(index, axis=1), r[index]
        T[c] += (part * r) @ part.T
