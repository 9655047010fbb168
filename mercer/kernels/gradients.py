"""Gradients of sums of kernel values, tile by tile.

Each leaf of an expression says how its values change with its statistic (``slope``); nodes of the
algebra pass factors down by the rules of calculus. A radial kernel changes along x − y, a kernel of
the inner product along y: sums over centres are then products of matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._array import n_threads, ranges, run_tiles
from mercer.kernels import _loops
from mercer.kernels.metric import RowMap
from mercer.kernels.sample import Pair, Sample, dense

TILE = 496  # rows and centres of a tile
SERIAL = 2**22  # values × columns that are worth a second thread
DOUBLE = np.dtype(np.float64)


def add_gradients(kernel: Any, X: Sample, Y: Sample, coefs: np.ndarray) -> np.ndarray:
    """Return the gradients of Σⱼ cⱼ k(·, yⱼ) at the rows of X, shape (n, d, t)."""
    if X.is_sparse != Y.is_sparse:
        X, Y = (s.derive("dense", dense) for s in (X, Y))
    n, d, t = len(X), X.data.shape[1], coefs.shape[1]
    out = np.zeros((n, t, d))
    uses = kernel._uses()

    def fill(rows: slice, worker: int) -> None:
        for columns in ranges(len(Y), TILE):
            into = GradientSum(coefs[columns], out[rows])
            kernel._add_slopes(Pair(X[rows], Y[columns], uses, DOUBLE), None, into)

    threads = n_threads() if n * len(Y) * (d + 32) > SERIAL and kernel.releases_gil else 1
    run_tiles(fill, ranges(n, TILE if threads == 1 else min(TILE, -(-n // threads))), threads)
    return out.transpose(0, 2, 1)


class GradientSum:
    """Gradients at some rows, to which those of some centres are added.

    Parameters
    ----------
    coefs : array of shape (m, t)
        The coefficients of the centres.
    out : array of shape (n, t, d)
        The sum so far.
    """

    def __init__(self, coefs: np.ndarray, out: np.ndarray):
        self.coefs, self.out = np.ascontiguousarray(coefs, dtype=np.float64), out

    def add_toward(self, pair: Pair, slopes: np.ndarray) -> None:
        """Add Σⱼ slopesᵢⱼ cⱼ yⱼ: a kernel of the inner product changes along y."""
        self.out += self._weighted(slopes, dense(pair.Y.rows(DOUBLE)))

    def add_away(
        self, pair: Pair, slopes: np.ndarray, p: float = 2.0, mapping: RowMap | None = None
    ) -> None:
        """Add the gradients of a function of Σ|z − z'|ᵖ with these slopes; z = x F by a metric."""
        found = self._away(pair, slopes) if p == 2.0 else self._power(pair, slopes, p)
        self.out += found if mapping is None else mapping.back(found)

    def add_rows(self, rows: np.ndarray, values: np.ndarray) -> None:
        """Add Σⱼ valuesᵢⱼ cⱼ times a row of its own for each i."""
        self.out += (values @ self.coefs)[:, :, None] * rows[:, None, :]

    def _away(self, pair: Pair, slopes: np.ndarray) -> np.ndarray:
        """Return 2 Σⱼ slopesᵢⱼ cⱼ (xᵢ − yⱼ); a common offset is taken off before it cancels."""
        X, Y = (dense(s.shifted(DOUBLE, pair.Y).rows(DOUBLE)) for s in (pair.X, pair.Y))
        totals = slopes @ self.coefs
        return 2.0 * (totals[:, :, None] * X[:, None, :] - self._weighted(slopes, Y))

    def _weighted(self, slopes: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return Σⱼ slopesᵢⱼ cⱼ yⱼ of all t functions by one product, shape (n, t, d)."""
        m, t = self.coefs.shape
        weighted = (self.coefs[:, :, None] * rows[:, None, :]).reshape(m, -1)
        return (slopes @ weighted).reshape(len(slopes), t, -1)

    def _power(self, pair: Pair, slopes: np.ndarray, p: float) -> np.ndarray:
        X, Y = (np.ascontiguousarray(dense(s.rows(DOUBLE))) for s in (pair.X, pair.Y))
        found = np.zeros((len(X), self.coefs.shape[1], X.shape[1]))
        _loops.add_power_slopes(X, Y, slopes, self.coefs, p, found)
        return found
