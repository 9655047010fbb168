"""The rows that a report looks at, and their targets: frames, arrays and lists of objects alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from mercer._floats import LEAST_DIVISOR
from mercer._sklearn import _safe_indexing
from mercer._words import short, short_number
from mercer.kernels.frames import says_missing
from mercer.report._subject import Subject, one_column

LONGEST_TEXT = 200

Shuffle = tuple[int, np.ndarray]
"""A column, and the rows that its values are taken from."""


class TableRows:
    """Rows as the model takes them, with names for the columns and numbers for the rows.

    Here they are those of a two-dimensional array; a child knows what a cell of another container
    holds (`_cell`) and how its columns are replaced (`_replaced`).
    """

    has_columns: ClassVar[bool] = True

    def __init__(self, data: Any, names: Sequence[Any], numbers: np.ndarray):
        self.data, self.names, self.numbers = data, list(map(str, names)), numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, index: np.ndarray) -> Self:
        """Return some of the rows; they keep their numbers."""
        return type(self)(_safe_indexing(self.data, index), self.names, self.numbers[index])

    def texts(self, row: int, columns: Sequence[int]) -> dict[str, str]:
        """Return what stands in these columns of a row, for people."""
        return {self.names[j]: cell_text(self._cell(row, j)) for j in columns}

    def shuffled(self, shuffles: Sequence[Shuffle]) -> Any:
        """Return a copy of all rows for each shuffle, one below the other."""
        n = len(self)
        base = np.tile(np.arange(n), len(shuffles))
        sources: dict[int, np.ndarray] = {}
        for i, (column, order) in enumerate(shuffles):
            sources.setdefault(column, base.copy())[i * n : (i + 1) * n] = order
        return self._replaced(_safe_indexing(self.data, base), sources)

    def mixed(self, base: np.ndarray, sources: dict[int, np.ndarray]) -> Any:
        """Return rows ``base`` whose columns hold the values of other rows."""
        return self._replaced(_safe_indexing(self.data, base), sources)

    def cell(self, row: int, column: int) -> Any:
        """Return what stands in a column of a row."""
        return self._cell(row, column)

    def spreads(self) -> np.ndarray:
        """Return the variance of each column; of a text that of its indicators, 1 − Σ p²."""
        return np.array([_spread(self._column(j)) for j in range(len(self.names))])

    def _column(self, column: int) -> Any:
        return _safe_indexing(self.data, column, axis=1)

    def _cell(self, row: int, column: int) -> Any:
        return self.data[row, column]

    def _replaced(self, copies: Any, sources: dict[int, np.ndarray]) -> Any:
        """Return copies whose columns hold the values of other rows."""
        for column, source in sources.items():
            copies[:, column] = self.data[source, column]
        return copies


class SparseTableRows(TableRows):
    """Rows of a sparse matrix."""

    def shuffled(self, shuffles: Sequence[Shuffle]) -> Any:
        return sp.vstack([self._one(*shuffle) for shuffle in shuffles], format="csr")

    def _one(self, column: int, order: np.ndarray) -> Any:
        values = self.data[:, [column]].toarray()[:, 0]
        places = np.arange(len(values)), np.full(len(values), column)
        change = sp.coo_array((values[order] - values, places), shape=self.data.shape)
        changed = sp.csr_array(self.data) + change.tocsr()
        changed.eliminate_zeros()
        return type(self.data)(changed)

    def spreads(self) -> np.ndarray:
        largest = np.maximum(abs(self.data).max(axis=0).toarray().ravel(), LEAST_DIVISOR)
        scaled = sp.csr_array(self.data) @ sp.diags_array(1.0 / largest)
        variance = scaled.power(2).mean(axis=0) - np.asarray(scaled.mean(axis=0)) ** 2
        return np.maximum(np.asarray(variance).ravel(), 0.0) * np.minimum(largest, 1e150) ** 2


class PandasRows(TableRows):
    """Rows of a pandas DataFrame."""

    def _cell(self, row: int, column: int) -> Any:
        return self.data.iat[row, column]

    def _replaced(self, copies: Any, sources: dict[int, np.ndarray]) -> Any:
        copies = copies.reset_index(drop=True)
        for column, source in sources.items():
            copies.isetitem(column, self.data.iloc[source, column].reset_index(drop=True))
        return copies


class PolarsRows(TableRows):
    """Rows of a polars DataFrame."""

    def _replaced(self, copies: Any, sources: dict[int, np.ndarray]) -> Any:
        return copies.with_columns([self._column(j)[source] for j, source in sources.items()])


class ObjectRows(TableRows):
    """A list of objects: there are no columns, only the objects themselves."""

    has_columns = False

    def _cell(self, row: int, column: int) -> Any:
        return self.data[row]


Training = tuple[TableRows, np.ndarray]
"""Rows that a model was fitted to, and their targets."""

_FRAMES: dict[str, type[TableRows]] = {"pandas": PandasRows, "polars": PolarsRows}


def as_rows(X: Any, *, names: Any = None, objects: bool = False) -> TableRows:
    """Return X as rows; ``names`` are those of columns that have none of their own.

    ``objects`` says that the model is made for objects, not for tables.
    """
    library = type(X).__module__.split(".")[0]
    if objects or _is_list_of_objects(X):
        data = list(X) if not sp.issparse(X) else [X[[i]] for i in range(X.shape[0])]
        return ObjectRows(data, ["object"], np.arange(len(data)))
    if library in _FRAMES:
        return _FRAMES[library](X, X.columns, _row_numbers(X))
    table, kind = (X.tocsr(), SparseTableRows) if sp.issparse(X) else (np.asarray(X), TableRows)
    if table.ndim != 2:
        raise ValueError(
            f"X must be a frame, a table (rows × columns), a sparse matrix or a list of objects; "
            f"got {type(X).__name__} of shape {table.shape}"
        )
    n, d = table.shape
    named = names is not None and len(names) == d
    return kind(table, names if named else [f"x{j}" for j in range(d)], np.arange(n))


def _is_list_of_objects(X: Any) -> bool:
    if getattr(X, "ndim", None) == 1:  # a column of a frame, an array of objects
        return True
    return isinstance(X, (list, tuple)) and len(X) > 0 and isinstance(X[0], (str, bytes, dict))


def _row_numbers(frame: Any) -> np.ndarray:
    """Return the index of a frame where it is whole numbers, else 0, 1, …"""
    index = getattr(frame, "index", None)
    if index is not None and getattr(index, "dtype", np.dtype(object)).kind in "iu":
        return np.asarray(index)
    return np.arange(frame.shape[0])


# ---------------------------------------------------------------- targets
def rows_and_targets(
    subject: Subject, X: Any, y: Any, name: str, numbers: Any = None
) -> tuple[TableRows, np.ndarray, list[str]]:
    """Return the rows that have a target, their targets, and sentences about the others."""
    rows = as_rows(X, names=subject.column_names, objects=subject.takes_objects)
    targets = one_column(y)
    if targets.ndim != 1:
        raise ValueError(
            f"{name} must be one target for each row, shape (n,); got shape {targets.shape}"
        )
    if len(rows) != len(targets):
        raise ValueError(
            f"{name} must have one target for each row; got {len(targets)} for {len(rows)} rows"
        )
    if numbers is not None:
        rows.numbers = _checked_numbers(numbers, len(rows))
    gone = missing(targets)
    if gone.all():
        raise ValueError(f"{name} has no target: a report needs rows whose target is known")
    if not gone.any():
        return rows, _typed(targets, subject, name), []
    kept, note = np.flatnonzero(~gone), f"{gone.sum():,} rows without a target were left out"
    return rows.take(kept), _typed(targets[kept], subject, name), [note]


def _checked_numbers(numbers: Any, n: int) -> np.ndarray:
    found = np.asarray(numbers)
    if found.shape != (n,) or found.dtype.kind not in "iu":
        raise ValueError(
            f"row_numbers must be a whole number for each of the {n} rows; got {found.dtype} of "
            f"shape {found.shape}"
        )
    return found


def _typed(targets: np.ndarray, subject: Subject, name: str) -> np.ndarray:
    """Return numbers for a regression, and classes of one type."""
    if targets.dtype.kind == "O":
        targets = np.array(targets.tolist())
    numbers = targets.dtype.kind in "biuf"
    if subject.task == "regress":
        if not numbers:
            raise TypeError(f"{name} must be numbers for a regression; got {targets.dtype}")
        return targets.astype(np.float64)
    if numbers != (subject.classes.dtype.kind in "biuf"):
        raise TypeError(
            f"{name} must hold classes like those of the model, {subject.classes[:5].tolist()}; "
            f"got {targets[:5].tolist()}"
        )
    return targets


# ---------------------------------------------------------------- cells
def missing(values: Any) -> np.ndarray:
    """Tell which values are None or NaN."""
    array = np.asarray(values)
    if array.dtype.kind == "f":
        return np.isnan(array)
    if array.dtype.kind in "Mm":
        return np.isnat(array)
    if array.dtype.kind != "O":
        return np.zeros(len(array), bool)
    return np.array([says_missing(value) for value in array], bool)


def _spread(column: Any) -> float:
    values = np.asarray(column)
    gone = missing(values)
    if values.dtype.kind in "biuf":
        known = values[~gone].astype(np.float64)
        known = known[np.isfinite(known)]
        unit = float(np.abs(known).max(initial=0.0))
        variance = float(np.var(known / unit)) * min(unit, 1e150) ** 2 if unit > 0 else 0.0
        return variance if not gone.any() else max(variance, _impurity(gone.astype(str)))
    return _impurity(np.where(gone, "", np.array([str(value) for value in values])))


def _impurity(values: np.ndarray) -> float:
    """Return 1 − Σ p² over the distinct values."""
    _, counts = np.unique(values, return_counts=True)
    return float(1.0 - ((counts / max(counts.sum(), 1)) ** 2).sum())


def cell_text(value: Any) -> str:
    """Return a value as a short text."""
    if says_missing(value):
        return "missing"
    if isinstance(value, (float, np.floating)):
        return short_number(float(value))
    return short(
        value.decode(errors="replace") if isinstance(value, bytes) else value, LONGEST_TEXT
    )
