"""Where kernel values live: in an array, in a cache of rows, or nowhere (computed when asked)."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np

from mercer._array import allocate, ranges
from mercer.gram.base import ALL, Gram
from mercer.kernels import Kernel
from mercer.kernels.sample import Sample
from mercer.kernels.tiles import TILE, Tile, count_workers, each_tile, fill_tiles


class DenseGram(Gram):
    """All values in one array."""

    storage = "dense"
    holds_array = True

    def __init__(self, K: np.ndarray, source: BlockedGram):
        super().__init__(K.shape, K.dtype, source.symmetric)
        self._K, self._source = K, source

    def _block(self, rows: Any, columns: Any) -> np.ndarray:
        if isinstance(rows, slice) or isinstance(columns, slice):
            return self._K[rows, columns]
        return self._K[np.ix_(rows, columns)]

    def toarray(self, memory: int | float | str | None = None) -> np.ndarray:
        """Return the array itself, not a copy."""
        return self._K

    def diagonal(self) -> np.ndarray:
        return np.diagonal(self._K).copy() if self.symmetric else self._source.diagonal()

    def _matmat(self, V: np.ndarray) -> np.ndarray:
        return self._K @ np.asarray(V, dtype=self.dtype)

    def _rmatmat(self, V: np.ndarray) -> np.ndarray:
        return self._K.T @ np.asarray(V, dtype=self.dtype)

    @property
    def nbytes(self) -> int:
        return self._K.nbytes


class PrecomputedGram(DenseGram):
    """A matrix that the caller has computed; it is not copied."""

    storage = "precomputed"


class BlockedGram(Gram):
    """Nothing stored: tiles are recomputed, several threads at once, and used while in cache."""

    storage = "blocked"

    def __init__(self, kernel: Kernel, X: Sample, Y: Sample, dtype: Any):
        super().__init__((len(X), len(Y)), dtype, X is Y)
        self.kernel, self.X, self.Y = kernel, X, Y

    def _block(self, rows: Any, columns: Any) -> np.ndarray:
        return _compute(self.kernel, _view(self.X, rows), _view(self.Y, columns), self.dtype)

    def toarray(self, memory: int | float | str | None = None) -> np.ndarray:
        return _compute(self.kernel, self.X, self.Y, self.dtype, memory)

    def restrict(self, rows: Any, columns: Any = None) -> Gram:
        rows, columns = self._indices(rows, columns)
        X = self.X[rows]
        same = self.symmetric and np.array_equal(rows, columns)
        return BlockedGram(self.kernel, X, X if same else self.Y[columns], self.dtype)

    def diagonal(self) -> np.ndarray:
        return self.kernel.diagonal_of(self.X, self.dtype)

    def _matmat(self, V: np.ndarray) -> np.ndarray:
        return _product(self.kernel, self.X, self.Y, V, self.dtype)

    def _rmatmat(self, V: np.ndarray) -> np.ndarray:
        if self.symmetric:
            return self._matmat(V)
        return _product(self.kernel, self.Y, self.X, V, self.dtype)

    @property
    def nbytes(self) -> int:
        return 0


def _view(sample: Sample, index: Any) -> Sample:
    return sample if isinstance(index, slice) and index == ALL else sample[index]


def _compute(
    kernel: Kernel, X: Sample, Y: Sample, dtype: Any, memory: int | float | str | None = None
) -> np.ndarray:
    out = allocate((len(X), len(Y)), dtype, memory)
    fill_tiles(kernel, X, Y, out)
    return out


def _product(kernel: Kernel, X: Sample, Y: Sample, V: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return k(X, Y) V; of a symmetric matrix each tile serves its mirror image too."""
    V = np.ascontiguousarray(V, dtype=dtype)
    mirror = X is Y and kernel.symmetric
    # tiles of one worker add up in its own float64 sum: no race, and no loss over many tiles
    sums = np.zeros((count_workers(kernel, len(X) * len(Y)), len(X), V.shape[1]))

    def use(tile: Tile, values: np.ndarray, worker: int) -> None:
        rows, columns = tile
        sums[worker, rows] += values @ V[columns]
        if mirror and columns.start > rows.start:
            sums[worker, columns] += values.T @ V[rows]

    each_tile(kernel, X, Y, dtype, use, mirror)
    return sums.sum(axis=0).astype(dtype, copy=False)


class CachedGram(BlockedGram):
    """Rows computed when asked for and kept, least recently used out first, within a budget."""

    storage = "cached"

    def __init__(self, kernel: Kernel, X: Sample, Y: Sample, dtype: Any, memory: int):
        super().__init__(kernel, X, Y, dtype)
        n, m = self.shape
        self.capacity = min(n, memory // max(1, m * self.dtype.itemsize))
        if self.capacity < 1:
            raise ValueError("memory must hold at least one row of the Gram matrix")
        self._rows = allocate((self.capacity, m), self.dtype, memory)  # pages are touched on use
        self._slot = np.full(n, -1)  # where a row lies, −1 if nowhere
        self._owner = np.full(self.capacity, -1)  # which row lies in a slot
        self._used = np.zeros(self.capacity, np.int64)  # when a slot was last asked for
        self._clock = 0
        self._lock = Lock()

    def _block(self, rows: Any, columns: Any) -> np.ndarray:
        if isinstance(rows, slice):  # sweeps over all rows would only flush the cache
            return super()._block(rows, columns)
        if len(np.unique(rows)) > self.capacity:
            return super()._block(rows, columns)
        with self._lock:
            self._ensure(np.unique(rows))
            slots = self._slot[rows]
            if isinstance(columns, slice):
                return self._rows[slots][:, columns]
            return self._rows[np.ix_(slots, columns)]

    def _ensure(self, rows: np.ndarray) -> None:
        """Bring distinct rows into the cache."""
        self._clock += 1
        here = self._slot[rows]
        self._used[here[here >= 0]] = self._clock
        missing = rows[here < 0]
        for chunk in ranges(len(missing), TILE):  # the fresh rows are a small part of the budget
            self._load(missing[chunk])

    def _load(self, rows: np.ndarray) -> None:
        """Compute rows into the slots that were not asked for longest."""
        fresh = _compute(self.kernel, self.X[rows], self.Y, self.dtype)
        slots = np.argpartition(self._used, len(rows) - 1)[: len(rows)]
        self._slot[self._owner[slots][self._owner[slots] >= 0]] = -1
        self._rows[slots], self._owner[slots], self._used[slots] = fresh, rows, self._clock
        self._slot[rows] = slots

    def restrict(self, rows: Any, columns: Any = None) -> Gram:
        return Gram.restrict(self, rows, columns)  # read through the rows that are here already

    @property
    def nbytes(self) -> int:
        return int(np.count_nonzero(self._owner >= 0)) * self.shape[1] * self.dtype.itemsize
