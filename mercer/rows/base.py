"""Rows: what is read in blocks again and again, whatever it is made of."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._array import as_index, format_bytes, largest_size, parse_memory, ranges
from mercer._words import count
from mercer.rows.stored import Chunk, RowsError, StoredPart, require_columns

BLOCK_BYTES = 2**24  # of a block of rows, where nobody asks for a number of rows


@dataclass(frozen=True)
class Block:
    """Some rows in a row of one part, which are read when they are asked for.

    Parameters
    ----------
    number : int
        Which block of the pass this is, from 0.
    start, stop : int
        The numbers of its rows among all rows.
    """

    number: int
    start: int
    stop: int
    _rows: Rows
    _part: int
    _offset: int  # of the part among all rows

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def part_number(self) -> int:
        """Which part it lies in."""
        return self._part

    @property
    def part(self) -> StoredPart:
        """The part that it lies in."""
        return self._rows._parts[self._part]

    @property
    def travels(self) -> bool:
        """Whether another process can read it."""
        return self.part.travels

    def read(self) -> Chunk:
        """Return the rows and their targets, checked."""
        return self._rows._read(self)

    def read_target(self) -> Any:
        """Return the targets alone, checked."""
        return self._rows._read_target(self)


class Rows:
    """Rows of numbers, with targets or without, that are read in blocks again and again.

    Made by `mercer.rows.open`.

    Attributes
    ----------
    n, n_columns : int
        Numbers of rows and columns (without the target).
    columns : tuple of str or None
        The names of the columns.
    dtype : dtype
        float32 if all numbers are, else float64.
    target : str or None
        The name of the target, if it is a column.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import rows
    >>> some = rows.open(np.arange(12.0).reshape(6, 2), target=np.arange(6))
    >>> some.n, some.n_columns
    (6, 2)
    >>> [len(block.read().X) for block in some.blocks(4)]
    [4, 2]
    >>> some.take([5, 0])
    array([[10., 11.],
           [ 0.,  1.]])
    """

    def __init__(
        self,
        parts: Sequence[StoredPart],
        columns: tuple[str, ...] | None,
        *,
        target: str | None = None,
        y: Any = None,
        mixed: bool = False,
        encoder: Any = None,
    ):
        self._parts, self._source, self.target, self._y = list(parts), columns, target, y
        self._mixed, self._encoder = mixed, encoder
        self.columns = columns if encoder is None else None
        self._states = [part.state() for part in self._parts]
        self._ends = np.cumsum([part.n for part in self._parts])
        self.n = int(self._ends[-1]) if len(self._ends) else 0
        self.n_columns = self._parts[0].width if columns is None else len(columns)
        self.dtype = np.result_type(*(part.dtype for part in self._parts))
        if encoder is not None:
            first = encoder.transform(self._parts[0].frame(slice(0, 1), columns or ()))
            self.n_columns, self.dtype = first.shape[1], np.dtype(np.float64)
        if y is not None and len(y) != self.n:
            raise RowsError(
                f"target must have one value for each of {self.n:,} rows; got {len(y):,} values"
            )

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        target = f", target {self.target!r}" if self.target is not None else ""
        parts = f" in {len(self._parts):,} parts" if len(self._parts) > 1 else ""
        size = f"{count(self.n, 'row')}{parts}, {count(self.n_columns, 'column')}"
        return f"Rows({size}, {self.dtype}{target})"

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.n, self.n_columns

    @property
    def has_target(self) -> bool:
        """Whether blocks come with targets."""
        return self._y is not None or self.target is not None

    @property
    def names(self) -> list[str]:
        """What the parts are called, in order."""
        return [part.name for part in self._parts]

    # ------------------------------------------------------------ reading
    def blocks(self, size: int | None = None) -> list[Block]:
        """Return blocks of at most so many rows that cover all rows, in order.

        A block lies in one part. None is as many rows as make 16 MB.
        """
        if size is None:
            size = max(1, BLOCK_BYTES // (self.dtype.itemsize * max(self.n_columns, 1)))
        if size < 1:
            raise ValueError(f"size must be at least 1; got {size!r}")
        cuts = [
            (number, offset, piece)
            for number, (part, offset) in enumerate(self._placed())
            for piece in ranges(part.n, size)
        ]
        return [
            Block(i, offset + piece.start, offset + piece.stop, self, number, offset)
            for i, (number, offset, piece) in enumerate(cuts)
        ]

    def _placed(self) -> list[tuple[StoredPart, int]]:
        return [(p, int(end) - p.n) for p, end in zip(self._parts, self._ends, strict=True)]

    def _read(self, block: Block) -> Chunk:
        part, offset = self._parts[block._part], block._offset
        rows = slice(block.start - offset, block.stop - offset)
        self._check_part(block._part)
        X = self._table(part, rows)
        if X.shape[0] != len(block):
            raise self._changed(part, f"{len(block):,} rows were expected, {X.shape[0]:,} came")
        if self._mixed and self._encoder is None:
            return Chunk(X, self._targets(part, rows, slice(block.start, block.stop)))
        X = X if X.dtype == self.dtype else X.astype(self.dtype)
        if not largest_size(X) < np.inf:
            raise self._not_finite(X, part, rows, f"block {block.number}")
        return Chunk(X, self._targets(part, rows, slice(block.start, block.stop)))

    def _table(self, part: StoredPart, rows: slice) -> Any:
        if not self._mixed:
            return part.read(rows, self._source)
        frame = part.frame(rows, self._source or ())
        return frame if self._encoder is None else self._encoder.transform(frame)

    def _read_target(self, block: Block) -> np.ndarray | None:
        self._check_part(block._part)
        part, offset = self._parts[block._part], block._offset
        rows = slice(block.start - offset, block.stop - offset)
        return self._targets(part, rows, slice(block.start, block.stop))

    def _targets(self, part: StoredPart, rows: slice, among_all: slice) -> np.ndarray | None:
        if self._y is not None:
            return np.asarray(self._y[among_all])
        if self.target is None:
            return None
        y = part.values(rows, self.target)
        missing = _missing(y)
        if missing.any():
            row = rows.start + int(missing.argmax())
            raise RowsError(f"{part.name}: the target {self.target!r} is missing in row {row:,}")
        return y

    def _not_finite(self, X: Any, part: StoredPart, rows: slice, where: str) -> RowsError:
        """Return what says which value is NaN or infinite."""
        if sp.issparse(X):
            place = int((~np.isfinite(X.data)).argmax())
            row = int(np.searchsorted(X.indptr, place, side="right")) - 1
            column = int(X.indices[place])
        else:
            row, column = map(int, np.argwhere(~np.isfinite(X))[0])
        value = "missing (NaN)" if np.isnan(X[row, column]) else "infinite"
        name = column if self.columns is None else repr(self.columns[column])
        return RowsError(
            f"{part.name}: column {name} of row {rows.start + row:,} is {value} ({where}); fill it "
            f"or leave the row out"
        )

    def read(self) -> Chunk:
        """Return all rows and their targets."""
        chunks = [block.read() for block in self.blocks()]
        y = np.concatenate([chunk.y for chunk in chunks]) if self.has_target else None
        return Chunk(_stacked([chunk.X for chunk in chunks]), y)

    def targets(self) -> np.ndarray:
        """Return the targets of all rows; the rows themselves are not read."""
        if not self.has_target:
            raise RowsError("these rows have no target: open them with target=")
        return np.concatenate([block.read_target() for block in self.blocks()])

    def in_memory(self, y: Any = None, owner: Any = None) -> tuple[Any, Any]:
        """Return all rows, as a frame if their columns have names, and targets: y, or their own.

        A text as y says that no targets are asked for, and comes back. An owner is an estimator,
        whose parameter ``memory`` must leave room for them.
        """
        self._require_room(owner)
        X, own = self.read()
        if self.columns is not None and isinstance(X, np.ndarray):
            import polars as pl

            X = pl.DataFrame(X, schema=list(self.columns))
        return X, own if y is None else y

    def _require_room(self, owner: Any) -> None:
        if self._encoder is None and self._mixed:
            return
        needed = self.dtype.itemsize * self.n * self.n_columns
        budget = parse_memory(getattr(owner, "memory", None))
        if owner is not None and needed > budget:
            raise MemoryError(
                f"{self!r} take {format_bytes(needed)}, the budget is {format_bytes(budget)}: "
                f"{type(owner).__name__} needs them in memory here; give it more by memory=, take "
                f"fewer rows, or landmarks= where it has them"
            )

    def take(self, index: Any) -> Any:
        """Return rows by their numbers, in the order that is asked for."""
        return self.take_both(index).X

    def take_both(self, index: Any) -> Chunk:
        """Return rows by their numbers, with their targets."""
        index = as_index(index, self.n, "index")
        wanted, back = np.unique(index, return_inverse=True)
        found = [
            self._picked(block, wanted[low:high] - block.start)
            for block in self.blocks()
            if (low := np.searchsorted(wanted, block.start))
            < (high := np.searchsorted(wanted, block.stop))
        ]
        if not found:
            return Chunk(np.empty((0, self.n_columns), self.dtype), None)
        X = _stacked([chunk.X for chunk in found])
        y = np.concatenate([chunk.y for chunk in found]) if self.has_target else None
        return Chunk(X[back], None if y is None else y[back])

    def _picked(self, block: Block, places: np.ndarray) -> Chunk:
        X, y = block.read()
        return Chunk(X[places], None if y is None else y[places])

    # ------------------------------------------------------------ other views
    def with_target(self, y: Any) -> Rows:
        """Return the same rows with these targets, one for each row; None leaves their own."""
        if y is None:
            return self
        y = np.asarray(y)
        return Rows(self._parts, self._source, y=y, mixed=self._mixed, encoder=self._encoder)

    def encoded(self, encoder: Any) -> Rows:
        """Return the same rows as numbers that a fitted transformer makes of them.

        Parameters
        ----------
        encoder : transformer
            Takes a polars frame, row by row, such as a fitted `mercer.TableEncoder`.
        """
        if not self._mixed:
            raise RowsError("rows of numbers need no encoder: open them with mixed=True")
        given: dict[str, Any] = {"target": self.target, "y": self._y, "mixed": True}
        return Rows(self._parts, self._source, encoder=encoder, **given)

    def select(self, columns: Sequence[str]) -> Rows:
        """Return the same rows with these columns, in this order."""
        if self.columns is None:
            raise RowsError(f"columns without names cannot be selected by name: {list(columns)}")
        for part in self._parts:
            require_columns(part, columns)
        given: dict[str, Any] = {"target": self.target, "y": self._y, "mixed": self._mixed}
        return Rows(self._parts, tuple(columns), **given)

    # ------------------------------------------------------------ the same in every pass
    def fingerprint(self) -> str:
        """Return what tells these rows from others: names, sizes, times, some of the values."""
        said = repr((self.names, self._states, self._source, str(self.dtype), self.target))
        digest = hashlib.sha256(said.encode())
        if self._y is not None:
            digest.update(_sampled(np.asarray(self._y)))
        if self._encoder is not None:
            some = self._encoder.transform(self._parts[0].frame(slice(0, 64), self._source or ()))
            digest.update((some.toarray() if sp.issparse(some) else some).tobytes())
        return digest.hexdigest()

    def check_unchanged(self) -> None:
        """Raise if rows are no longer those that were opened."""
        for number in range(len(self._parts)):
            self._check_part(number)

    def _check_part(self, number: int) -> None:
        part = self._parts[number]
        if part.state() != self._states[number]:
            raise self._changed(part, "it is not what it was when it was opened")

    @staticmethod
    def _changed(part: StoredPart, what: str) -> RowsError:
        return RowsError(f"{part.name} has changed between two passes: {what}; open the rows again")


def _stacked(pieces: list[Any]) -> Any:
    if hasattr(pieces[0], "vstack"):  # polars
        import polars as pl

        return pl.concat(pieces, how="vertical_relaxed")
    return sp.vstack(pieces, format="csr") if sp.issparse(pieces[0]) else np.vstack(pieces)


def _missing(y: np.ndarray) -> np.ndarray:
    if y.dtype.kind == "f":
        return ~np.isfinite(y)
    if y.dtype.kind == "O":
        return np.array([value is None or value != value for value in y.tolist()], bool)
    return np.zeros(len(y), bool)


def _sampled(values: np.ndarray, most: int = 4096) -> bytes:
    """Return some of the values, evenly spaced, as bytes."""
    places = np.unique(np.linspace(0, max(len(values) - 1, 0), most).astype(np.intp))
    some = values[places] if len(values) else values
    return repr(some.tolist()).encode() if some.dtype.kind == "O" else some.tobytes()
