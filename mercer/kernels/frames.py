"""Rows of a frame or of an array with columns of any kind, in a plain form."""

from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._array import boxed
from mercer._words import listing

ALL = slice(None)
KINDS = ("number", "category")

Name = str | int


@dataclass(frozen=True)
class Columns:
    """Columns of equal length, by name; those of an array are numbered.

    Numbers are arrays of numbers in which NaN is missing, all else is objects and None is missing.
    """

    names: tuple[Name, ...]
    arrays: tuple[np.ndarray, ...]
    selected: tuple[tuple[Callable[[Any], Any], tuple[Name, ...]], ...] = ()
    """What functions have chosen of the frame: they cannot be asked again."""

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.arrays[0]), len(self.arrays)

    @property
    def ndim(self) -> int:
        return 2

    @property
    def dtype(self) -> np.dtype:
        """float32 if all columns are, else float64."""
        single = all(array.dtype == np.float32 for array in self.arrays)
        return np.dtype(np.float32 if single else np.float64)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Columns:
        return Columns(self.names, tuple(array[rows] for array in self.arrays), self.selected)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows."""
        return zip(*self.arrays, strict=True)

    def column(self, name: Name) -> np.ndarray:
        """Return the cells of one column."""
        return self.arrays[self.names.index(name)]

    def only(self, names: Iterable[Name]) -> Columns:
        """Return some of the columns, in this order, as a copy that no one else changes."""
        names = tuple(names)
        return Columns(names, tuple(self.column(name).copy() for name in names))

    def of_kind(self, kind: str) -> tuple[Name, ...]:
        """Return the names of the columns of numbers, or of all others."""
        return tuple(
            name
            for name, array in zip(self.names, self.arrays, strict=True)
            if is_number(array) == (kind == "number")
        )


def is_number(array: np.ndarray) -> bool:
    """Return whether a column holds numbers; truths are categories."""
    return array.dtype.kind in "iuf"


def is_missing(array: np.ndarray) -> np.ndarray:
    """Return which cells of a column are missing."""
    if array.dtype.kind == "O":
        return np.array([cell is None for cell in array], dtype=bool)
    if array.dtype.kind in "mM":
        return np.isnat(array)
    return np.isnan(array) if array.dtype.kind == "f" else np.zeros(len(array), dtype=bool)


# ---------------------------------------------------------------- which columns
def chosen_names(columns: Any, table: Any) -> tuple[Name, ...]:
    """Return the names of the columns that a name, a list, a slice or a selector means."""
    names = column_names(table)
    if isinstance(columns, str) and columns in KINDS and columns not in names:
        return _of_kind(columns, table)
    if isinstance(columns, slice):
        return names[_positions(columns, names)]
    if callable(columns):
        return _selected(columns, table)
    several = list(columns) if isinstance(columns, (list, tuple, np.ndarray)) else [columns]
    return tuple(_name(column, names) for column in several)


def column_names(table: Any) -> tuple[Name, ...]:
    """Return the names of the columns of a table; of a sparse matrix their numbers."""
    return table.names if isinstance(table, Columns) else tuple(range(table.shape[1]))


def _of_kind(kind: str, table: Any) -> tuple[Name, ...]:
    if sp.issparse(table):
        return column_names(table) if kind == "number" else ()
    return table.of_kind(kind)


def _positions(columns: slice, names: Sequence[Name]) -> slice:
    """Return a slice of positions; one of names includes its end, as in pandas."""
    ends = [columns.start, columns.stop]
    found = [names.index(_name(end, names)) if isinstance(end, str) else end for end in ends]
    if isinstance(columns.stop, str):
        found[1] += 1
    return slice(found[0], found[1], columns.step)


def _selected(columns: Callable[[Any], Any], table: Any) -> tuple[Name, ...]:
    for selector, names in getattr(table, "selected", ()):
        if _are_alike(selector, columns):
            return names
    raise TypeError(
        f"columns are chosen by the function {columns!r}, which needs a frame of pandas or polars"
    )


def _are_alike(one: Any, other: Any) -> bool:
    """Return whether two selectors choose the same: a copy does what its original does."""
    return one is other or (
        type(one) is type(other) and bool(vars(one)) and vars(one) == vars(other)
    )


def _name(column: Any, names: Sequence[Name]) -> Name:
    if isinstance(column, str):
        if column in names:
            return column
        raise ValueError(_lacking([column], names, "the table"))
    if type(column) is int or isinstance(column, np.integer):
        if column in names:  # of an array, of which some columns may have been left out
            return int(column)
        if -len(names) <= column < len(names):
            return names[int(column)]
        raise ValueError(
            f"column {column} was asked for, but there are only {len(names)}, numbered from 0"
        )
    raise TypeError(
        f"columns must be a name, a number, a list of these, a slice, 'number', 'category' or a "
        f"function of the frame; got {column!r}"
    )


def _lacking(missing: Sequence[Name], names: Sequence[Name], owner: str) -> str:
    if not any(isinstance(name, str) for name in names):
        return (
            f"column {missing[0]!r} was asked for by name, but the columns have no names: pass a "
            f"frame of pandas or polars, and give every part of the kernel its columns by .on(...)"
        )
    what = "columns" if len(missing) > 1 else "column"
    return f"{owner} has no {what} {_shown(missing)}; its columns are {_shown(names)}"


def _shown(names: Sequence[Name]) -> str:
    return listing([str(name) for name in names], most=12)


# ---------------------------------------------------------------- from what is given
def as_columns(X: Any, name: str, read: Sequence[Any] = ()) -> Any:
    """Return X as columns of plain arrays (sparse ones as CSR), or say what is wrong with it.

    ``read`` is what kernels choose of them: names that are not there are an error, and functions
    are asked while the frame is at hand.
    """
    if isinstance(X, Columns):
        return X
    table = X.tocsr() if sp.issparse(X) else _columns(X, name)
    _require_names(read, table, name)
    functions = [choice for choice in read if callable(choice)]
    if not functions or not hasattr(X, "columns"):
        return table
    asked = ((f, chosen_names(list(f(X)), table)) for f in functions)
    return Columns(table.names, table.arrays, tuple(asked))


def _require_names(read: Sequence[Any], table: Any, name: str) -> None:
    names = column_names(table)
    lists = (choice if isinstance(choice, (list, tuple)) else [choice] for choice in read)
    wanted = [c for choice in lists for c in choice if isinstance(c, str)]
    lacking = [c for c in dict.fromkeys(wanted) if c not in (*names, *KINDS)]
    if lacking:
        raise ValueError(_lacking(lacking, names, name))


def _columns(X: Any, name: str) -> Columns:
    library, kind = type(X).__module__.split(".")[0], type(X).__name__
    if kind == "LazyFrame":
        raise TypeError(
            f"{name} is a LazyFrame, whose rows are not computed yet: pass {name}.collect()"
        )
    if library in ("pandas", "polars"):
        X = X.to_frame() if kind == "Series" else X
        names, arrays = _frame(X, library, name)
    else:
        names, arrays = _array(X, name)
    if not arrays or not len(arrays[0]):
        raise ValueError(f"{name} must have at least one row and one column; got an empty table")
    return Columns(names, arrays)


def _frame(X: Any, library: str, name: str) -> tuple[tuple[Name, ...], tuple[np.ndarray, ...]]:
    names = tuple(str(column) for column in X.columns)
    column, times = Counter(names).most_common(1)[0] if names else ("", 0)
    if times > 1:
        raise ValueError(f"{name} has {times} columns named {column!r}: give them different names")
    if library == "polars":
        return names, tuple(_polars(X.to_series(i)) for i in range(len(names)))
    return names, tuple(_pandas(X.iloc[:, i]) for i in range(len(names)))


def _polars(series: Any) -> np.ndarray:
    import polars as pl

    if series.dtype in (pl.Categorical, pl.Enum):
        return _objects(series.cast(pl.String).to_numpy())
    if series.dtype == pl.Decimal:
        series = series.cast(pl.Float64)
    array = series.to_numpy()
    return _objects(array) if array.dtype.kind == "O" else array


def _pandas(series: Any) -> np.ndarray:
    import pandas as pd

    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _objects(series.to_numpy(dtype=object))
    if isinstance(dtype, np.dtype) and dtype.kind != "O":
        return series.to_numpy()
    if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype):
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    return _numbers_if_all_are(_objects(series.to_numpy(dtype=object)))


def _array(X: Any, name: str) -> tuple[tuple[Name, ...], tuple[np.ndarray, ...]]:
    """Return the columns of a 2-D array or a list of rows; cells alone are one column."""
    if isinstance(X, (str, bytes, dict)) or not hasattr(X, "__len__"):
        raise TypeError(f"{name} must be a frame or an array with columns; got {type(X).__name__}")
    table = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
    if table.ndim not in (1, 2):
        raise ValueError(f"{name} must have rows and columns; got the shape {table.shape}")
    table = table[:, None] if table.ndim == 1 else table
    columns = tuple(np.ascontiguousarray(column) for column in table.T)
    if table.dtype.kind in "OUS":
        columns = tuple(_numbers_if_all_are(_objects(column)) for column in columns)
    return tuple(range(len(columns))), columns


def _objects(cells: np.ndarray) -> np.ndarray:
    """Return cells as objects; whatever says that one is missing becomes None."""
    plain = cells.astype(object).tolist()
    return boxed([None if says_missing(cell) else cell for cell in plain])


def says_missing(cell: Any) -> bool:
    """Tell whether a cell is None, NaN, or what pandas has for them."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(cell, (float, np.floating)) and cell != cell


def _numbers_if_all_are(cells: np.ndarray) -> np.ndarray:
    present = [cell for cell in cells if cell is not None]
    numbers = all(isinstance(c, Real) and not isinstance(c, (bool, np.bool_)) for c in present)
    if not numbers or not present:
        return cells
    return np.array([np.nan if cell is None else float(cell) for cell in cells])


# ---------------------------------------------------------------- numbers of columns
def numbers_of(table: Columns, names: Sequence[Name]) -> np.ndarray:
    """Return columns of numbers as a table, NaN where cells are missing."""
    columns = [_as_numbers(table.column(name), name) for name in names]
    single = all(column.dtype == np.float32 for column in columns)
    return np.column_stack(columns).astype(np.float32 if single else np.float64, order="C")


def _as_numbers(array: np.ndarray, name: Name) -> np.ndarray:
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind == "O" and all(c is None or isinstance(c, Real) for c in array):
        return np.array([np.nan if cell is None else float(cell) for cell in array])
    raise TypeError(f"column {name!r} must hold numbers for this kernel; {_found(array)}")


def _found(array: np.ndarray) -> str:
    if array.dtype.kind in "mM":
        return "it holds dates or times: make numbers of them, such as days since a first day"
    example = next(cell for cell in array if cell is not None and not isinstance(cell, Real))
    return f"it holds {reprlib.repr(example)}: Categorical, Ordinal and Gower take such cells"
