"""Parts of rows as they are stored, and what can be wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

SHOWN = 6  # names of columns in an error


class RowsError(ValueError):
    """What is wrong with rows, and where: the file, the row, the column."""


class Chunk(NamedTuple):
    """Rows in memory and their targets (None if there are none)."""

    X: Any
    y: Any


class StoredPart:
    """A piece of the rows that lies in one place: an array, a file.

    Parameters
    ----------
    name : str
        What errors call it.
    n : int
        The number of its rows.
    dtype : dtype
        The precision of its numbers.
    columns : tuple of str or None
        The names of all its columns, if they have names.
    width : int
        The number of its columns.
    """

    def __init__(self, name: str, n: int, dtype: Any, columns: tuple[str, ...] | None, width: int):
        self.name, self.n, self.columns, self.width = name, n, columns, width
        self.dtype = np.dtype(np.float32 if dtype == np.float32 else np.float64)

    travels = False
    """Whether another process can read it."""

    def state(self) -> str:
        """Return what is another text when the rows have changed."""
        raise NotImplementedError

    def read(self, rows: slice, columns: tuple[str, ...] | None) -> Any:
        """Return some rows of columns (None: all) as a table of numbers, dense or CSR."""
        raise NotImplementedError

    def values(self, rows: slice, column: str) -> np.ndarray:
        """Return some rows of one column, whatever it holds."""
        raise NotImplementedError

    def frame(self, rows: slice, columns: Sequence[str]) -> Any:
        """Return some rows of columns as a polars frame."""
        raise NotImplementedError


def require_columns(part: StoredPart, columns: Sequence[str], like: str = "") -> None:
    """Raise if a part lacks one of these columns."""
    known = part.columns or ()
    for name in columns:
        if name not in known:
            shown = ", ".join(map(repr, known[:SHOWN])) + (" …" if len(known) > SHOWN else "")
            also = f", which {like} has" if like else ""
            raise RowsError(f"{part.name} has no column {name!r}{also}; it has {shown}")
