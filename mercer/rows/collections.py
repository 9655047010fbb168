"""Dask collections as rows: each partition is a part, computed when a block of it is read."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any

import numpy as np

from mercer.rows.parts import ArrayPart, FramePart
from mercer.rows.stored import RowsError, StoredPart

PARTITIONS_KEPT = 3  # partitions that are in memory: those that workers read, and the next


def is_dask(source: Any) -> bool:
    """Tell whether this is an array or a frame of Dask."""
    return hasattr(source, "__dask_graph__") and hasattr(source, "to_delayed")


class Computed:
    """The partitions that were computed last, as parts in memory."""

    def __init__(self, make: Callable[[Any, str], StoredPart]):
        self.make, self._lock = make, Lock()
        self._kept: OrderedDict[str, StoredPart] = OrderedDict()

    def part(self, delayed: Any, name: str) -> StoredPart:
        """Return a partition; the cluster or the threads of Dask compute it, if it is not here."""
        with self._lock:
            if delayed.key not in self._kept:
                self._kept[delayed.key] = self.make(delayed.compute(), name)
                while len(self._kept) > PARTITIONS_KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(delayed.key)
            return self._kept[delayed.key]


_supplied: ContextVar[dict[str, StoredPart] | None] = ContextVar("of a task", default=None)


@contextmanager
def supplied(part: StoredPart, data: Any) -> Iterator[None]:
    """Return a context in which a partition, which came to a worker as data, can be read there."""
    known = {part.key: part.make(data, part.name)} if isinstance(part, Partition) else {}
    token = _supplied.set(known)
    try:
        yield
    finally:
        _supplied.reset(token)


class Partition(StoredPart):
    """A partition of a Dask collection."""

    travels = True

    def __init__(self, delayed: Any, like: StoredPart, n: int, name: str, computed: Computed):
        super().__init__(name, n, like.dtype, like.columns, like.width)
        self.delayed, self._like, self._computed = delayed, like, computed
        self.key, self.make = delayed.key, computed.make

    def __getstate__(self) -> dict[str, Any]:
        # a worker gets the data by the graph
        return {**vars(self), "delayed": None, "_computed": None}

    def state(self) -> str:
        """Return the key of the partition: a collection never changes."""
        return f"{self.key} {self.n} rows"

    def require_numbers(self, columns: tuple[str, ...]) -> None:
        """Raise if a column holds no numbers."""
        self._like.require_numbers(columns)  # type: ignore[attr-defined]
        self.dtype = self._like.dtype

    def _part(self) -> StoredPart:
        part = (_supplied.get() or {}).get(self.key)
        if part is None:
            part = self._computed.part(self.delayed, self.name)
        part.dtype = self.dtype
        return part

    def read(self, rows: slice, columns: tuple[str, ...] | None) -> Any:
        """Return some rows."""
        return self._part().read(rows, columns)

    def values(self, rows: slice, column: str) -> np.ndarray:
        """Return some rows of one column."""
        return self._part().values(rows, column)

    def frame(self, rows: slice, columns: Sequence[str]) -> Any:
        """Return some rows as a frame."""
        return self._part().frame(rows, columns)


def partitions(source: Any, from_pandas: Callable[[Any, str], FramePart]) -> list[StoredPart]:
    """Return the partitions of an array or a frame; sizes that are not known are computed."""
    import dask

    make: Callable[[Any, str], StoredPart] = ArrayPart
    like: StoredPart
    if hasattr(source, "columns"):
        make, like = from_pandas, from_pandas(source._meta, "the collection")
        pieces = source.to_delayed()
    else:
        if source.ndim != 2:
            raise RowsError(f"rows must be a table (rows × columns); got shape {source.shape}")
        source = source.rechunk({1: -1})
        like = ArrayPart(source._meta.reshape(0, source.shape[1]))
        pieces = source.to_delayed().ravel().tolist()
    sizes = dask.compute(*[dask.delayed(len)(piece) for piece in pieces])
    computed = Computed(make)
    return [
        Partition(piece, like, n, f"partition {number}", computed)
        for number, (piece, n) in enumerate(zip(pieces, sizes, strict=True))
    ]
