"""The rows that a report looks at: frames, arrays, sparse matrices and lists of objects alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

LONGEST_TEXT = 200

Shuffle = tuple[int, np.ndarray]
"""A column, and the rows that its values are taken from."""


class Rows:
    """Rows in the form the model was made for, with names for the columns and numbers for the rows.

    A child knows how its container is cut (`_cut`), how columns are replaced (`shuffled`), what a
    cell holds (`_cell`) and how much each column varies (`spreads`).
    """

    has_columns: ClassVar[bool] = True

    def __init__(self, data: Any, names: Sequence[str], numbers: np.ndarray):
        self.data, self.names, self.numbers = data, list(names), numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, index: np.ndarray) -> Self:
        """Return some of the rows; they keep their numbers."""
        return type(self)(self._cut(index), self.names, self.numbers[index])

    def texts(self, row: int, columns: Sequence[int]) -> dict[str, str]:
        """Return what stands in these columns of a row, for people."""
        return {self.names[j]: short(self._cell(row, j)) for j in columns}

    def _cut(self, index: np.ndarray) -> Any:
        return self.data[index]

    def _cell(self, row: int, column: int) -> Any:
        return self.data[row, column]

    def shuffled(self, shuffles: Sequence[Shuffle]) -> Any:
        """Return a copy of all rows for each shuffle, one below the other."""
        raise NotImplementedError

    def spreads(self) -> np.ndarray:
        """Return the variance of each column; of a text that of its indicators, 1 − Σ p²."""
        raise NotImplementedError

    def _stacked(self, shuffles: Sequence[Shuffle]) -> tuple[np.ndarray, dict[int, np.ndarray]]:
        """Return the rows of all copies, and for each shuffled column those of its values."""
        n = len(self)
        base = np.tile(np.arange(n), len(shuffles))
        sources: dict[int, np.ndarray] = {}
        for i, (column, order) in enumerate(shuffles):
            source = sources.setdefault(column, base.copy())
            source[i * n : (i + 1) * n] = order
        return base, sources


class ArrayRows(Rows):
    """Rows of a two-dimensional array."""

    def shuffled(self, shuffles: Sequence[Shuffle]) -> np.ndarray:
        base, sources = self._stacked(shuffles)
        copies = self.data[base]
        for column, source in sources.items():
            copies[:, column] = self.data[source, column]
        return copies

    def spreads(self) -> np.ndarray:
        return np.array([_spread(self.data[:, j]) for j in range(self.data.shape[1])])


class SparseRows(Rows):
    """Rows of a sparse matrix."""

    def shuffled(self, shuffles: Sequence[Shuffle]) -> Any:
        copies = [self._one(column, order) for column, order in shuffles]
        return sp.vstack(copies, format="csr")

    def _one(self, column: int, order: np.ndarray) -> Any:
        values = self.data[:, [column]].toarray()[:, 0]
        change = sp.coo_array(
            (values[order] - values, (np.arange(len(values)), np.full(len(values), column))),
            shape=self.data.shape,
        )
        changed = sp.csr_array(self.data) + change.tocsr()
        changed.eliminate_zeros()
        return type(self.data)(changed)

    def spreads(self) -> np.ndarray:
        largest = np.maximum(abs(self.data).max(axis=0).toarray().ravel(), 1e-300)
        scaled = sp.csr_array(self.data) @ sp.diags_array(1.0 / largest)
        variance = scaled.power(2).mean(axis=0) - np.asarray(scaled.mean(axis=0)) ** 2
        return np.maximum(np.asarray(variance).ravel(), 0.0) * np.minimum(largest, 1e150) ** 2


class PandasRows(Rows):
    """Rows of a pandas DataFrame."""

    def _cut(self, index: np.ndarray) -> Any:
        return self.data.iloc[index]

    def _cell(self, row: int, column: int) -> Any:
        return self.data.iat[row, column]

    def shuffled(self, shuffles: Sequence[Shuffle]) -> Any:
        base, sources = self._stacked(shuffles)
        copies = self.data.iloc[base].reset_index(drop=True)
        for column, source in sources.items():
            copies.isetitem(column, self.data.iloc[source, column].reset_index(drop=True))
        return copies

    def spreads(self) -> np.ndarray:
        return np.array([_spread(self.data.iloc[:, j]) for j in range(self.data.shape[1])])


class PolarsRows(Rows):
    """Rows of a polars DataFrame."""

    def shuffled(self, shuffles: Sequence[Shuffle]) -> Any:
        base, sources = self._stacked(shuffles)
        columns = [self.data[self.names[j]][source] for j, source in sources.items()]
        return self.data[base].with_columns(columns)

    def spreads(self) -> np.ndarray:
        return np.array([_spread(self.data[name]) for name in self.names])


class ObjectRows(Rows):
    """A list of objects: there are no columns, only the objects themselves."""

    has_columns = False

    def _cut(self, index: np.ndarray) -> list[Any]:
        return [self.data[i] for i in index]

    def _cell(self, row: int, column: int) -> Any:
        return self.data[row]


def as_rows(X: Any, *, names: Any = None, objects: bool = False) -> Rows:
    """Return X as rows; ``names`` are those of columns that have none of their own.

    ``objects`` says that the model is made for objects, not for tables.
    """
    if objects:
        return _objects(X)
    library = type(X).__module__.split(".")[0]
    if library in _FRAMES and getattr(X, "ndim", 2) == 2:
        return _FRAMES[library](X, [str(name) for name in X.columns], _row_numbers(X))
    if sp.issparse(X):
        return SparseRows(X.tocsr(), _names(names, X.shape[1]), np.arange(X.shape[0]))
    if _is_list_of_objects(X):
        return _objects(X)
    table = np.asarray(X)
    if table.ndim != 2:
        raise ValueError(
            f"X must be a frame, a table (rows × columns), a sparse matrix or a list of objects; "
            f"got {type(X).__name__} of shape {table.shape}"
        )
    return ArrayRows(table, _names(names, table.shape[1]), np.arange(len(table)))


_FRAMES: dict[str, type[Rows]] = {"pandas": PandasRows, "polars": PolarsRows}


def _objects(X: Any) -> ObjectRows:
    data = list(X) if not sp.issparse(X) else [X[[i]] for i in range(X.shape[0])]
    return ObjectRows(data, ["object"], np.arange(len(data)))


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


def _names(names: Any, count: int) -> list[str]:
    if names is not None and len(names) == count:
        return [str(name) for name in names]
    return [f"x{j}" for j in range(count)]


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
    return np.array([_is_missing(value) for value in array], bool)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and value != value


def _spread(column: Any) -> float:
    values = np.asarray(column)
    gone = missing(values)
    if values.dtype.kind in "biuf":
        known = values[~gone].astype(np.float64)
        unit = float(np.abs(known).max(initial=0.0))
        variance = float(np.var(known / unit)) * min(unit, 1e150) ** 2 if unit > 0 else 0.0
        return variance if not gone.any() else max(variance, _impurity(gone.astype(str)))
    return _impurity(np.where(gone, "", values.astype(str)))


def _impurity(values: np.ndarray) -> float:
    """Return 1 − Σ p² over the distinct values."""
    _, counts = np.unique(values, return_counts=True)
    return float(1.0 - ((counts / max(counts.sum(), 1)) ** 2).sum())


def short(value: Any) -> str:
    """Return a value as a short text."""
    if _is_missing(value):
        return "missing"
    if isinstance(value, (float, np.floating)):
        return f"{float(value):.4g}"
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    text = " ".join(str(value).split())
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
