"""What a file, or a data set that ships with the library, gives: rows and targets, or an error."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer._words import MOST_NEAREST, count, hint, listing, nearest, short, with_literal_names

LONGEST_REASON = 160  # characters of what another library says


class DataError(ValueError):
    """A file, or a column of it, that cannot be used, and what to do about it."""


@dataclass(frozen=True, eq=False, repr=False)
class Data:
    """Rows, their targets, and where they come from.

    Attributes
    ----------
    X : polars.DataFrame, numpy.ndarray or scipy.sparse.csr_array of shape (n, d)
        The rows, without the target.
    y : numpy.ndarray of shape (n,) or None
        Numbers, strings or booleans. A missing target is NaN among numbers and None elsewhere.
    target : str or None
        The name of the target.
    feature_names : list of str
        The names of the columns of X.
    format : str
        What was read: a name of ``FORMATS``, or ``"scikit-learn"``.
    path : pathlib.Path or None
        The file.

    Examples
    --------
    >>> from mercer.datasets import load_iris
    >>> load_iris()
    Data(150 rows, 4 columns, target 'species')
    """

    X: Any
    y: np.ndarray | None
    target: str | None
    feature_names: list[str]
    format: str
    path: Path | None = None

    def __repr__(self) -> str:
        target = f", target {self.target!r}" if self.target is not None else ""
        rows, columns = self.X.shape
        return (
            f"Data({rows} row{'s' * (rows != 1)}, {columns} column{'s' * (columns != 1)}{target})"
        )


class FileTable(NamedTuple):
    """What a format gives: rows with all columns, or sparse rows with the targets beside them."""

    rows: Any
    target: str | None = None
    y: np.ndarray | None = None


def polars() -> Any:
    """Return the library that holds mixed tables, or say how to get it."""
    try:
        import polars
    except ImportError as error:
        raise ImportError(
            "tables are read with polars, which is not installed: pip install 'mercer[app]'"
        ) from error
    return polars


def split(table: FileTable, target: str | None, format: str, path: Path) -> Data:
    """Take the target out of a table."""
    target = table.target if target is None else target
    if sp.issparse(table.rows):
        return _sparse(table, target, format, path)
    names = list(table.rows.columns)
    if target is None:
        return Data(table.rows, None, None, names, format, path)
    if target not in names:
        raise unknown_column(target, names, path)
    if len(names) == 1:
        raise DataError(f"{target!r} is the only column of {str(path)!r}: nothing to learn from")
    X, y = table.rows.drop(target), as_target(table.rows[target])
    return Data(X, y, target, [name for name in names if name != target], format, path)


def _sparse(table: FileTable, target: str | None, format: str, path: Path) -> Data:
    if target != table.target:
        raise DataError(
            f"there is no column {target!r} in {str(path)!r}: svmlight files hold their target in "
            f"front of each row, under the name {table.target!r}"
        )
    return Data(table.rows, table.y, target, numbered("x", table.rows.shape[1]), format, path)


def numbered(letter: str, count: int) -> list[str]:
    """Return names for columns that have none."""
    return [f"{letter}{i}" for i in range(1, count + 1)]


# ---------------------------------------------------------------- targets
def as_target(column: Any) -> np.ndarray:
    """Return a column as numbers (missing: NaN), strings or booleans (missing: None)."""
    pl = polars()
    dtype = column.dtype
    if dtype.is_numeric():
        return _numbers(column)
    if dtype.is_temporal() or dtype.is_nested() or dtype == pl.Binary:
        raise DataError(
            f"the target {column.name!r} is of type {dtype}: "
            f"numbers, texts and booleans can be predicted"
        )
    return _words(column if dtype == pl.Boolean else column.cast(pl.String))


def _numbers(column: Any) -> np.ndarray:
    pl = polars()
    if column.dtype.is_decimal() or column.null_count():
        column = column.cast(pl.Float64)
    return np.array(column.to_numpy())  # a copy: what comes from polars may not be written to


def _words(column: Any) -> np.ndarray:
    values = column.to_list()
    if column.null_count():
        return np.array(values, dtype=object)
    return np.array(values)


# ---------------------------------------------------------------- batches
def regroup(parts: Iterable[Any], rows: int) -> Iterator[Any]:
    """Yield the rows of some frames in frames of the same length, but for the last one."""
    pl = polars()
    held: list[Any] = []
    for part in parts:
        held.append(part)
        while sum(frame.height for frame in held) >= rows:
            whole = pl.concat(held)
            yield whole.head(rows)
            held = [whole.slice(rows)]
    if held and (rest := pl.concat(held)).height:
        yield rest


# ---------------------------------------------------------------- columns of known types
def plain(frame: Any) -> Any:
    """Return decimals as numbers, lists and objects as JSON; refuse bytes; names are literal."""
    frame = with_literal_names(frame)
    return frame.with_columns([new for c in frame.get_columns() if (new := _plain(c)) is not c])


def typed(frame: Any) -> Any:
    """Return columns in which nothing was ever seen as text."""
    pl = polars()
    return frame.cast({pl.Null: pl.String})


def _plain(column: Any) -> Any:
    pl = polars()
    if column.dtype.is_nested():
        return _as_text(column)
    if column.dtype.is_decimal():
        return column.cast(pl.Float64)
    if column.dtype in (pl.Binary, pl.Object):
        raise DataError(f"column {column.name!r} holds bytes: leave it out of the file")
    return column


def _as_text(column: Any) -> Any:
    """Return lists and objects as their JSON: what can be done with them is not known here."""
    texts = [None if v is None else json.dumps(v, default=str) for v in column.to_list()]
    return polars().Series(column.name, texts, dtype=polars().String)


# ---------------------------------------------------------------- what is damaged
@contextmanager
def damage_told(what: str, advice: str) -> Iterator[None]:
    """Turn what other libraries raise on damaged bytes, which is no fixed list, into one line.

    A panic of compiled code is no `Exception`, and has no name that could be imported.
    """
    try:
        yield
    except (DataError, ImportError, MemoryError):
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        reason = short(" ".join(str(error).split()) or type(error).__name__, LONGEST_REASON)
        raise DataError(f"{what} ({reason}): {advice}") from None


# ---------------------------------------------------------------- what is not there
def missing_file(path: Path) -> DataError:
    """Return the error for a path where no file is, with the nearest names of the folder."""
    folder = path.parent
    if not folder.is_dir():
        return DataError(f"there is no folder {str(folder)!r}: check the path {str(path)!r}")
    names = sorted(entry.name for entry in folder.iterdir())
    return DataError(f"there is no file {str(path)!r}{_instead(path.name, names)}")


def unknown_column(name: str, columns: Sequence[str], path: Path | None = None) -> DataError:
    """Return the error for a column that is not there, with the nearest names."""
    where = f" of {str(path)!r}" if path is not None else ""
    among = count(len(columns), "column") + where
    wanted = short(name, 80)
    return DataError(f"there is no column {wanted!r} among the {among}: {hint(name, columns)}")


def _stem(name: str) -> str:
    return name.lstrip(".").partition(".")[0]


def _instead(name: str, names: Sequence[str]) -> str:
    stems = [_stem(other) for other in names]  # endings alike make no names alike
    pairs = list(zip(names, stems, strict=True))
    near = [other for like in nearest(_stem(name), stems) for other, stem in pairs if stem == like]
    if near:
        return f": did you mean {listing(near[:MOST_NEAREST], 'or')}?"
    if not names:
        return ": its folder is empty"
    shown = listing(names[:MOST_NEAREST], "or") + (" …" if len(names) > MOST_NEAREST else "")
    return f": its folder holds {shown}"
