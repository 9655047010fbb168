"""Where kernel values live: in an array, in a cache of rows, or nowhere (computed when asked)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from mercer._array import allocate, ranges, run_tiles
from mercer._scratch import scratch
from mercer._threads import ForkLock, one_blas_thread
from mercer.gram.base import ALL, Gram
from mercer.gram.combine import combine_rows, gather, gather_into
from mercer.gram.sums import TileSums, compute, sums_of, weighted_sums
from mercer.kernels import Kernel
from mercer.kernels.forward_error import largest_sum_error, value_error
from mercer.kernels.sample import Sample
from mercer.kernels.tiles import (
    TILE,
    Tile,
    count_workers,
    each_tile,
    fill_tiles,
    tile_grid,
    work_per_value,
)


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
        return gather(self._K, rows, columns)

    def toarray(self, memory: int | float | str | None = None) -> np.ndarray:
        """Return the array itself, not a copy."""
        return self._K

    def diagonal(self) -> np.ndarray:
        return np.diagonal(self._K).copy() if self.symmetric else self._source.diagonal()

    def _matmat(self, V: np.ndarray) -> np.ndarray:
        V = np.asarray(V, dtype=self.dtype)
        if V[:1].size > 1:
            return self._K @ V
        with one_blas_thread():  # at the speed of memory: two threads mostly wait, and spin
            return self._K @ V

    def _rmatmat(self, V: np.ndarray) -> np.ndarray:
        return self._K.T @ np.asarray(V, dtype=self.dtype)

    def combine(self, rows: np.ndarray, weights: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return combine_rows(self._K, rows, weights, columns)

    def error(self, rows: Any, weights: Any, columns: Any) -> float:
        return self._source.error(rows, weights, columns, direct=False)

    def value_error(self) -> float:
        return self._source.value_error(direct=False)

    def in_double(self) -> Gram:
        return self if self.dtype == np.float64 else self._source.in_double()

    @property
    def nbytes(self) -> int:
        return self._K.nbytes


class PrecomputedGram(DenseGram):
    """A matrix that the caller has computed; it is not copied."""

    storage = "precomputed"

    def in_double(self) -> Gram:
        return self


class BlockedGram(Gram):
    """Nothing stored: tiles are recomputed, several threads at once, and used while in cache."""

    storage = "blocked"
    keeps_rows = False

    def __init__(self, kernel: Kernel, X: Sample, Y: Sample, dtype: Any):
        super().__init__((len(X), len(Y)), dtype, X is Y)
        self.kernel, self.X, self.Y = kernel, X, Y
        self.work = work_per_value(X, kernel)

    def _block(self, rows: Any, columns: Any) -> np.ndarray:
        return compute(self.kernel, _view(self.X, rows), _view(self.Y, columns), self.dtype)

    def toarray(self, memory: int | float | str | None = None) -> np.ndarray:
        return compute(self.kernel, self.X, self.Y, self.dtype, memory)

    def among(self, points: np.ndarray) -> np.ndarray:
        X = self.X[points]  # one sample: half of the values serve both triangles
        return compute(self.kernel, X, X, self.dtype)

    def restrict(self, rows: Any, columns: Any = None) -> Gram:
        rows, columns = self._indices(rows, columns)
        X = self.X[rows]
        same = self.symmetric and np.array_equal(rows, columns)
        return BlockedGram(self.kernel, X, X if same else self.Y[columns], self.dtype)

    def combine(self, rows: np.ndarray, weights: np.ndarray, columns: np.ndarray) -> np.ndarray:
        if not self.kernel.symmetric:
            return super().combine(rows, weights, columns)
        Y = self.Y[columns]
        same = self.symmetric and np.array_equal(rows, columns)
        X = Y if same else self.X[rows]
        return sums_of(self.kernel, Y, X, weights[:, None], self.dtype)[:, 0]

    def error(self, rows: Any, weights: Any, columns: Any, direct: bool = True) -> float:
        return largest_sum_error(self.kernel, self.Y[columns], self.X[rows], weights, direct)

    def value_error(self, direct: bool = True) -> float:
        """Return how far a value may be off, relative to √(k(x, x) k(y, y))."""
        return value_error(self.kernel, self.X, self.Y, direct)

    def bounded_sums(self, rows: Any, weights: Any, columns: Any) -> np.ndarray:
        X, Y = self.Y[columns], self.X[rows]
        return weighted_sums(self.kernel, X, Y, weights[:, None], self.dtype)[:, 0]

    def diagonal(self) -> np.ndarray:
        return self.kernel.diagonal_of(self.X, self.dtype)

    def in_double(self) -> Gram:
        return BlockedGram(self.kernel, self.X, self.Y, np.float64)

    def _matmat(self, V: np.ndarray) -> np.ndarray:
        return sums_of(self.kernel, self.X, self.Y, V, self.dtype).astype(self.dtype, copy=False)

    def _rmatmat(self, V: np.ndarray) -> np.ndarray:
        if not self.kernel.symmetric:  # k(y, x) is another matrix
            return super()._rmatmat(V)
        return sums_of(self.kernel, self.Y, self.X, V, self.dtype).astype(self.dtype, copy=False)

    @property
    def nbytes(self) -> int:
        return 0


class _Table:
    """Some rows of K on a range of columns, least recently used out first."""

    def __init__(self, n_rows: int, columns: slice, capacity: int, dtype: Any, memory: int):
        self.columns, self.capacity = columns, capacity
        width = columns.stop - columns.start
        self.values = allocate((capacity, width), dtype, memory)  # pages are touched on use
        self.slot = np.full(n_rows, -1)  # where a row lies, −1 if nowhere
        self._owner = np.full(capacity, -1)  # which row lies in a slot
        self._used = np.zeros(capacity, np.int64)  # when a slot was last asked for
        self._n_taken = 0

    def touch(self, rows: np.ndarray, clock: int) -> np.ndarray:
        """Note that rows are asked for; return those that are not here."""
        here = self.slot[rows]
        self._used[here[here >= 0]] = clock
        return rows[here < 0]

    def vacate(self, count: int, clock: int) -> np.ndarray:
        """Return slots for new rows: never used ones in their order, then the longest unused.

        Whoever lay there is gone at once: Ctrl-C may come while new values are written over it.
        """
        slots = np.arange(self._n_taken, min(self._n_taken + count, self.capacity))
        if len(slots) < count:
            used = self._used.copy()
            used[slots] = clock
            more = count - len(slots)
            slots = np.concatenate([slots, np.argpartition(used, more - 1)[:more]])
        evicted = self._owner[slots]
        self.slot[evicted[evicted >= 0]] = -1
        return slots

    def claim(self, slots: np.ndarray, rows: np.ndarray, clock: int) -> None:
        """Note that slots now hold rows; who finds a row must find it among the owners."""
        self._owner[slots], self._used[slots] = rows, clock
        self.slot[rows] = slots
        self._n_taken = max(self._n_taken, int(slots.max()) + 1)

    @property
    def nbytes(self) -> int:
        return int(np.count_nonzero(self._owner >= 0)) * self.values[:1].nbytes


class CachedGram(BlockedGram):
    """Rows computed when asked for and kept, least recently used out first, within a budget.

    Columns may be split into groups (``edges``): of a row only the groups that were asked for are
    computed, so that a problem on two of many classes pays for their columns alone.
    """

    storage = "cached"
    keeps_rows = True

    def __init__(
        self,
        kernel: Kernel,
        X: Sample,
        Y: Sample,
        dtype: Any,
        memory: int,
        edges: np.ndarray | None = None,
    ):
        super().__init__(kernel, X, Y, dtype)
        n, m = self.shape
        self.capacity = min(n, memory // max(1, m * self.dtype.itemsize))
        if self.capacity < 1:
            raise ValueError("memory must hold at least one row of the Gram matrix")
        self._edges = np.array([0, m]) if edges is None else np.asarray(edges)
        groups = [slice(int(a), int(b)) for a, b in pairwise(self._edges)]
        self._tables = [_Table(n, g, self.capacity, self.dtype, memory) for g in groups]
        self._clock = 0
        self._lock = ForkLock()

    def _block(self, rows: Any, columns: Any) -> np.ndarray:
        if isinstance(rows, slice) or not self._fits(rows):
            return super()._block(rows, columns)  # a sweep over all would only flush the cache
        if isinstance(columns, slice):
            columns = np.arange(self.shape[1])[columns]
        out = np.empty((len(rows), len(columns)), self.dtype)
        with self._lock():
            for table, places in self._fetch(rows, columns):
                slots, inside = table.slot[rows], columns[places] - table.columns.start
                gather_into(table.values, slots, inside, places, out)
        return out

    def combine(self, rows: np.ndarray, weights: np.ndarray, columns: np.ndarray) -> np.ndarray:
        if not self._fits(rows):
            return super().combine(rows, weights, columns)
        out = np.empty(len(columns))
        with self._lock():
            for table, places in self._fetch(rows, columns):
                slots, inside = table.slot[rows], columns[places] - table.columns.start
                out[places] = combine_rows(table.values, slots, weights, inside)
        return out

    def _fits(self, rows: np.ndarray) -> bool:
        return len(rows) <= self.capacity or len(np.unique(rows)) <= self.capacity

    def _fetch(self, rows: np.ndarray, columns: np.ndarray) -> list[tuple[_Table, np.ndarray]]:
        """Compute what is missing; return the tables of these columns and the columns' places."""
        self._clock += 1
        distinct = np.unique(rows)
        group = np.searchsorted(self._edges, columns, side="right") - 1
        found = []
        for number in np.unique(group):
            table = self._tables[number]
            missing = table.touch(distinct, self._clock)
            for chunk in ranges(len(missing), TILE):  # fresh values are a small part of the budget
                self._load(table, missing[chunk])
            found.append((table, np.flatnonzero(group == number)))
        return found

    def _load(self, table: _Table, rows: np.ndarray) -> None:
        slots = table.vacate(len(rows), self._clock)
        X = self.X[rows]
        Y = self.Y if len(self._tables) == 1 else self.Y[table.columns]
        if np.all(np.diff(slots) == 1):
            fill_tiles(self.kernel, X, Y, table.values[slots[0] : slots[-1] + 1])
        else:
            table.values[slots] = compute(self.kernel, X, Y, self.dtype)
        table.claim(slots, rows, self._clock)

    def restrict(self, rows: Any, columns: Any = None) -> Gram:
        return Gram.restrict(self, rows, columns)  # read through the rows that are here already

    @property
    def nbytes(self) -> int:
        return sum(table.nbytes for table in self._tables)


class TriangleGram(Gram):
    """The tiles on and above the diagonal of a symmetric matrix: half of the values, kept."""

    storage = "triangle"

    def __init__(self, source: BlockedGram):
        super().__init__(source.shape, source.dtype, True)
        self._source = source
        kernel, X = source.kernel, source.X
        self._workers = count_workers(kernel, X, X)
        tiles = tile_grid(len(X), len(X), True, self._workers)
        sizes = [(r.stop - r.start) * (c.stop - c.start) for r, c in tiles]
        self._values = scratch((sum(sizes),), self.dtype)
        ends = np.cumsum(sizes).tolist()
        self._places = {
            (rows.start, columns.start): slice(end - size, end)
            for (rows, columns), size, end in zip(tiles, sizes, ends, strict=True)
        }
        self._tiles = tiles
        each_tile(kernel, X, X, self.dtype, self._keep, True)

    @staticmethod
    def bytes_of(n: int, itemsize: int) -> int:
        """Return the bytes that n points take, at most."""
        return (n * n // 2 + n * TILE) * itemsize

    def _keep(self, tile: Tile, values: np.ndarray, worker: int) -> None:
        self._tile(tile)[...] = values

    def _tile(self, tile: Tile) -> np.ndarray:
        rows, columns = tile
        shape = rows.stop - rows.start, columns.stop - columns.start
        return self._values[self._places[rows.start, columns.start]].reshape(shape)

    def _matmat(self, V: np.ndarray) -> np.ndarray:
        V = np.ascontiguousarray(V, dtype=self.dtype)
        sums = TileSums(self.shape[0], V, self._workers, mirror=True)

        def use(tile: Tile, worker: int) -> None:
            sums.add(tile, self._tile(tile), worker)

        run_tiles(use, self._tiles, self._workers)
        return sums.total().astype(self.dtype, copy=False)

    def _block(self, rows: Any, columns: Any) -> np.ndarray:
        return self._source._block(rows, columns)

    def among(self, points: np.ndarray) -> np.ndarray:
        return self._source.among(points)

    def restrict(self, rows: Any, columns: Any = None) -> Gram:
        return self._source.restrict(rows, columns)

    def diagonal(self) -> np.ndarray:
        return self._source.diagonal()

    def in_double(self) -> Gram:
        return self._source.in_double()

    @property
    def nbytes(self) -> int:
        return self._values.nbytes


def _view(sample: Sample, index: Any) -> Sample:
    return sample if isinstance(index, slice) and index == ALL else sample[index]
