"""Rows of K computed when asked for and kept, least recently used out first."""

from __future__ import annotations

from itertools import pairwise
from threading import RLock
from typing import Any

import numpy as np

from mercer._array import allocate, ranges
from mercer.gram.base import Gram
from mercer.gram.combine import combine_rows, gather_into
from mercer.gram.storages import BlockedGram, compute
from mercer.kernels import Kernel
from mercer.kernels.sample import Sample
from mercer.kernels.tiles import TILE, fill_tiles


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
        """Return slots for new rows: never used ones in their order, then the longest unused."""
        fresh = np.arange(self._n_taken, min(self._n_taken + count, self.capacity))
        if len(fresh) == count:
            return fresh
        used = self._used.copy()
        used[fresh] = clock
        more = count - len(fresh)
        return np.concatenate([fresh, np.argpartition(used, more - 1)[:more]])

    def claim(self, slots: np.ndarray, rows: np.ndarray, clock: int) -> None:
        """Note that slots now hold rows."""
        evicted = self._owner[slots]
        self.slot[evicted[evicted >= 0]] = -1
        self.slot[rows], self._owner[slots], self._used[slots] = slots, rows, clock
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
        self._lock = RLock()

    def _block(self, rows: Any, columns: Any) -> np.ndarray:
        if isinstance(rows, slice) or not self._fits(rows):
            return super()._block(rows, columns)  # a sweep over all would only flush the cache
        if isinstance(columns, slice):
            columns = np.arange(self.shape[1])[columns]
        out = np.empty((len(rows), len(columns)), self.dtype)
        with self._lock:
            for table, places in self._fetch(rows, columns):
                slots, inside = table.slot[rows], columns[places] - table.columns.start
                gather_into(table.values, slots, inside, places, out)
        return out

    def combine(self, rows: np.ndarray, weights: np.ndarray, columns: np.ndarray) -> np.ndarray:
        if not self._fits(rows):
            return super().combine(rows, weights, columns)
        out = np.empty(len(columns))
        with self._lock:
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
