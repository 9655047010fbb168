"""Rows of K computed when asked for and kept, least recently used out first."""

from __future__ import annotations

from threading import RLock
from typing import Any

import numpy as np

from mercer._array import allocate, ranges
from mercer.gram.base import Gram
from mercer.gram.combine import combine_rows, gather
from mercer.gram.storages import BlockedGram, compute
from mercer.kernels import Kernel
from mercer.kernels.sample import Sample
from mercer.kernels.tiles import TILE, fill_tiles


class CachedGram(BlockedGram):
    """Rows computed when asked for and kept, least recently used out first, within a budget.

    Columns may be split into groups (``edges``): of a row only the groups that were asked for are
    computed, so that a problem on two of many classes pays for their columns alone.
    """

    storage = "cached"

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
        self._rows = allocate((self.capacity, m), self.dtype, memory)  # pages are touched on use
        self._edges = np.array([0, m]) if edges is None else np.asarray(edges)
        self._filled = np.zeros((self.capacity, len(self._edges) - 1), bool)
        self._slot = np.full(n, -1)  # where a row lies, −1 if nowhere
        self._owner = np.full(self.capacity, -1)  # which row lies in a slot
        self._used = np.zeros(self.capacity, np.int64)  # when a slot was last asked for
        self._clock = self._n_taken = 0
        self._lock = RLock()

    def _block(self, rows: Any, columns: Any) -> np.ndarray:
        if isinstance(rows, slice) or not self._fits(rows):
            return super()._block(rows, columns)  # a sweep over all would only flush the cache
        with self._lock:
            slots = self._fetch(rows, columns)
            if isinstance(columns, slice):
                return self._rows[slots][:, columns]
            return gather(self._rows, slots, columns)

    def combine(self, rows: np.ndarray, weights: np.ndarray, columns: np.ndarray) -> np.ndarray:
        if not self._fits(rows):
            return super().combine(rows, weights, columns)
        with self._lock:
            return combine_rows(self._rows, self._fetch(rows, columns), weights, columns)

    def _fits(self, rows: np.ndarray) -> bool:
        return len(rows) <= self.capacity or len(np.unique(rows)) <= self.capacity

    def _fetch(self, rows: np.ndarray, columns: Any) -> np.ndarray:
        """Compute what is missing of these rows and columns; return the slots of the rows."""
        self._clock += 1
        distinct = np.unique(rows)
        self._give_slots(distinct)
        for group in self._groups(columns):
            missing = distinct[~self._filled[self._slot[distinct], group]]
            for chunk in ranges(len(missing), TILE):  # fresh values are a small part of the budget
                self._compute_group(missing[chunk], group)
        return self._slot[rows]

    def _give_slots(self, rows: np.ndarray) -> None:
        here = self._slot[rows]
        self._used[here[here >= 0]] = self._clock
        new = rows[here < 0]
        if not len(new):
            return
        slots = self._vacate(len(new))
        self._slot[new], self._owner[slots] = slots, new
        self._used[slots], self._filled[slots] = self._clock, False

    def _vacate(self, count: int) -> np.ndarray:
        """Return slots for new rows: never used ones in their order, then the longest unused."""
        fresh = np.arange(self._n_taken, min(self._n_taken + count, self.capacity))
        self._n_taken += len(fresh)
        if len(fresh) == count:
            return fresh
        used = self._used.copy()
        used[fresh] = self._clock
        oldest = np.argpartition(used, count - len(fresh) - 1)[: count - len(fresh)]
        self._slot[self._owner[oldest]] = -1
        return np.concatenate([fresh, oldest])

    def _groups(self, columns: Any) -> np.ndarray:
        if isinstance(columns, slice):
            columns = np.arange(self.shape[1])[columns]
        return np.unique(np.searchsorted(self._edges, columns, side="right") - 1)

    def _compute_group(self, rows: np.ndarray, group: int) -> None:
        columns = slice(self._edges[group], self._edges[group + 1])
        slots = self._slot[rows]
        Y = self.Y if len(self._edges) == 2 else self.Y[columns]
        if slots[-1] - slots[0] == len(slots) - 1 and np.all(np.diff(slots) == 1):
            fill_tiles(self.kernel, self.X[rows], Y, self._rows[slots[0] : slots[-1] + 1, columns])
        else:
            self._rows[slots, columns] = compute(self.kernel, self.X[rows], Y, self.dtype)
        self._filled[slots, group] = True

    def restrict(self, rows: Any, columns: Any = None) -> Gram:
        return Gram.restrict(self, rows, columns)  # read through the rows that are here already

    @property
    def nbytes(self) -> int:
        widths = np.diff(self._edges)
        return int((self._filled[self._owner >= 0] @ widths).sum()) * self.dtype.itemsize
