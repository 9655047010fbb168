"""Files of bytes, which know the types of their columns: Parquet, Arrow, NumPy archives."""

from __future__ import annotations

import glob
import io
import zipfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from mercer.datasets.files.data import DataError, Table, numbered, plain, polars, typed
from mercer.datasets.files.dialect import Dialect
from mercer.datasets.files.source import Source
from mercer.datasets.files.words import lacking

STREAM = b"\xff\xff\xff\xff"
TARGET = "y"  # the array of an archive that holds the targets


# ---------------------------------------------------------------- Parquet and Arrow
def read_columnar(source: Source, dialect: Dialect) -> Table:
    """Read a whole file of Parquet or Arrow."""
    frame = _try(source, lambda: _scan(source).collect())
    _refuse_empty(frame.height, source)
    return Table(lacking(typed(plain(frame)), dialect.missing))


def columnar_batches(source: Source, rows: int, dialect: Dialect) -> Iterator[Any]:
    """Yield the rows of a file of any size; the types are those of the file."""
    lazy = _try(source, lambda: _scan(source))
    height = _try(source, lambda: lazy.select(polars().len()).collect().item())
    _refuse_empty(height, source)
    for start in range(0, height, rows):
        part = _try(source, lazy.slice(start, rows).collect)
        yield lacking(typed(plain(part)), dialect.missing)


def _refuse_empty(height: int, source: Source) -> None:
    if not height:
        raise DataError(f"{source.name} has columns and no rows: give a file with rows")


def _scan(source: Source) -> Any:
    """Open a file lazily; one that is packed or a stream has to be unpacked whole."""
    pl = polars()
    if source.head.startswith(STREAM):
        return pl.read_ipc_stream(io.BytesIO(source.content())).lazy()
    # a path is a pattern to polars: what means something in patterns is escaped
    where = io.BytesIO(source.content()) if source.compression else glob.escape(str(source.path))
    is_parquet = source.head.startswith(b"PAR1") or source.ending in (".parquet", ".pq")
    return pl.scan_parquet(where) if is_parquet else pl.scan_ipc(where)


def _try(source: Source, work: Callable[[], Any]) -> Any:
    pl = polars()
    try:
        return work()
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise DataError(
            f"{source.name} is damaged or in another format ({reason}): get it again, "
            f"or say format=…"
        ) from None


# ---------------------------------------------------------------- archives of arrays
def read_npz(source: Source, dialect: Dialect) -> Table:
    """Read an archive; rows of more than one axis are laid flat, codes become their classes."""
    arrays = _arrays(source)
    if "X" not in arrays:
        held = ", ".join(sorted(arrays)) or "nothing"
        raise DataError(f"{source.name} has no array X (it has {held}): name the rows X")
    X = _rows(arrays["X"], source)
    names = _names(arrays, X.shape[1], source)
    frame = polars().DataFrame({name: _column(X[:, j]) for j, name in enumerate(names)})
    frame = lacking(frame, dialect.missing)
    if TARGET not in arrays:
        return Table(frame)
    y = _target(arrays, X.shape[0], source)
    return Table(frame.with_columns(polars().Series(TARGET, y)), TARGET)


def _arrays(source: Source) -> dict[str, np.ndarray]:
    if not source.head.startswith(b"PK"):
        raise DataError(f"{source.name} is not a .npz archive, whatever its ending says")
    try:
        with np.load(io.BytesIO(source.content()), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, OSError, zipfile.BadZipFile, KeyError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"{source.name} is not a plain .npz archive ({reason})") from None


def _rows(X: np.ndarray, source: Source) -> np.ndarray:
    if X.ndim < 1 or X.size == 0 or X.dtype.kind not in "biufUS":
        raise DataError(
            f"X in {source.name} has shape {X.shape} and type {X.dtype}: "
            f"rows of numbers or strings are read"
        )
    return X.reshape(X.shape[0], -1)


def _column(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float32) if values.dtype == np.float16 else np.ascontiguousarray(values)


def _names(arrays: Mapping[str, np.ndarray], width: int, source: Source) -> list[str]:
    names = [str(name) for name in arrays.get("feature_names", np.array([])).ravel()]
    if not names:
        return numbered("x", width)
    if len(names) != width or len(set(names)) != width or TARGET in names:
        raise DataError(
            f"{source.name} has {len(names)} feature_names for {width} columns: "
            f"give each column its own name, other than {TARGET!r}"
        )
    return names


def _target(arrays: Mapping[str, np.ndarray], n: int, source: Source) -> np.ndarray:
    y, classes = arrays[TARGET], arrays.get("classes")
    if y.shape != (n,):
        raise DataError(f"y in {source.name} has shape {y.shape}: ({n},) goes with X")
    if classes is None or y.dtype.kind not in "iu":
        return y
    if y.min() < 0 or y.max() >= len(classes):
        raise DataError(
            f"y in {source.name} runs from {y.min()} to {y.max()}: the codes of "
            f"{len(classes)} classes run from 0 to {len(classes) - 1}"
        )
    return classes[y]
