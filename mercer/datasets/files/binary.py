"""Files of bytes, which know the types of their columns: Parquet, Arrow, NumPy archives."""

from __future__ import annotations

import glob
import io
import math
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.lib import format as npy

from mercer._trial import first_fatal, is_fatal
from mercer._words import literal
from mercer.datasets.files.data import (
    DataError,
    FileTable,
    damage_told,
    numbered,
    plain,
    polars,
    typed,
)
from mercer.datasets.files.dialect import Dialect
from mercer.datasets.files.sizes import (
    refuse_bytes,
    refuse_columns,
    refuse_large_archive,
)
from mercer.datasets.files.source import Source
from mercer.datasets.files.words import lacking

STREAM = b"\xff\xff\xff\xff"
PLAIN = "biufUS"  # kinds of arrays that are read: numbers and texts
LEAST_CELL_BYTES = 1  # that a value of a column takes
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
TARGET = "y"  # the array of an archive that holds the targets


# ---------------------------------------------------------------- Parquet and Arrow
def read_columnar(source: Source, dialect: Dialect) -> FileTable:
    """Read a whole file of Parquet or Arrow."""
    lazy = _opened(source)
    _refuse_claims(lazy, source)
    frame = _try(source, lazy.collect)
    return FileTable(lacking(typed(plain(frame)), dialect.missing))


def columnar_batches(source: Source, rows: int, dialect: Dialect) -> Iterator[Any]:
    """Yield the rows of a file of any size; the types are those of the file."""
    lazy = _opened(source)
    height = _height(lazy, source)
    for start in range(0, height, rows):
        part = _try(source, lazy.slice(start, rows).collect)
        yield lacking(typed(plain(part)), dialect.missing)


def _height(lazy: Any, source: Source) -> int:
    height = int(_try(source, lambda: lazy.select(polars().len()).collect().item()))
    if not height:
        raise DataError(f"{source.name} has columns and no rows: give a file with rows")
    return height


def _refuse_claims(lazy: Any, source: Source) -> None:
    """Raise if the table is too large: a page of one repeated value may stand for any rows."""
    height, width = _height(lazy, source), len(_try(source, lazy.collect_schema))
    refuse_columns(width, source.name)
    refuse_bytes(LEAST_CELL_BYTES * height * width, source.name)


def _opened(source: Source) -> Any:
    """Open a file lazily, unless it ends the process that reads it."""
    pl = polars()
    if _is_fatal(source):
        raise DataError(
            f"{source.name} is damaged, or too large for the memory that is free (a process that "
            f"read it died): get it again, or give some of its rows"
        )
    return _try(source, lambda: _scan(source, pl))


def _kind(source: Source) -> str:
    if source.head.startswith(STREAM):
        return "stream"
    is_parquet = source.head.startswith(b"PAR1") or source.ending in (".parquet", ".pq")
    return "parquet" if is_parquet else "arrow"


def _is_fatal(source: Source) -> bool:
    kind = _kind(source)
    if source.compression or kind == "stream":
        return is_fatal(source.content(), kind)
    return first_fatal([source.path], kind) is not None


def _scan(source: Source, pl: Any) -> Any:
    """Open a file lazily; one that is packed or a stream has to be unpacked whole."""
    kind = _kind(source)
    if kind == "stream":
        return pl.read_ipc_stream(io.BytesIO(source.content())).lazy()
    # a path is a pattern to polars: what means something in patterns is escaped
    where = io.BytesIO(source.content()) if source.compression else glob.escape(str(source.path))
    return pl.scan_parquet(where) if kind == "parquet" else pl.scan_ipc(where)


def _try(source: Source, work: Callable[[], Any]) -> Any:
    what = f"{source.name} is damaged or in another format"
    with damage_told(what, "get it again, or say format=…"):
        return work()


# ---------------------------------------------------------------- archives of arrays
def read_npz(source: Source, dialect: Dialect) -> FileTable:
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
        return FileTable(frame)
    y = _target(arrays, X.shape[0], source)
    return FileTable(frame.with_columns(polars().Series(TARGET, y)), TARGET)


def _arrays(source: Source) -> dict[str, np.ndarray]:
    if not source.head.startswith(b"PK"):
        raise DataError(f"{source.name} is not a .npz archive, whatever its ending says")
    content = source.content()
    refuse_large_archive(content, source.name)
    with (
        damage_told(f"{source.name} is not a plain .npz archive", "save the arrays again"),
        zipfile.ZipFile(io.BytesIO(content)) as archive,
    ):
        members = [m for m in archive.infolist() if m.filename.endswith(".npy")]
        return {m.filename.removesuffix(".npy"): _array(archive, m) for m in members}


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    """Return an array that has as many bytes as its header claims."""
    with archive.open(member) as file:
        shape, _, dtype = _HEADERS[npy.read_magic(file)](file)
        claimed, held = math.prod(shape) * dtype.itemsize, member.file_size - file.tell()
    if claimed != held and not dtype.hasobject:
        raise ValueError(f"{member.filename} claims to be {shape}, and holds {held:,} bytes")
    with archive.open(member) as file:
        array = npy.read_array(file, allow_pickle=False)
    if dtype.kind == "U" and array.size and _codes(array).max() > sys.maxunicode:
        raise ValueError(f"{member.filename} holds numbers that are no characters")
    return array


def _codes(texts: np.ndarray) -> np.ndarray:
    """Return the codes of the characters of texts."""
    flat = np.ascontiguousarray(texts.reshape(-1))
    return flat.view(np.dtype(np.uint32).newbyteorder(texts.dtype.byteorder))


def _rows(X: np.ndarray, source: Source) -> np.ndarray:
    if X.ndim < 1 or X.size == 0 or X.dtype.kind not in PLAIN:
        raise DataError(
            f"X in {source.name} has shape {X.shape} and type {X.dtype}: "
            f"rows of numbers or strings are read"
        )
    refuse_columns(X.size // X.shape[0], source.name)
    return X.reshape(X.shape[0], -1)


def _column(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float32) if values.dtype == np.float16 else np.ascontiguousarray(values)


def _names(arrays: Mapping[str, np.ndarray], width: int, source: Source) -> list[str]:
    names = [literal(str(name)) for name in arrays.get("feature_names", np.array([])).ravel()]
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
    if y.shape != (n,) or y.dtype.kind not in PLAIN:
        raise DataError(
            f"y in {source.name} has shape {y.shape} and type {y.dtype}: numbers or strings of "
            f"shape ({n},) go with X"
        )
    if classes is None or y.dtype.kind not in "iu":
        return y
    if classes.ndim != 1 or classes.dtype.kind not in PLAIN:
        raise DataError(
            f"classes in {source.name} have shape {classes.shape} and type {classes.dtype}: a list "
            f"of names is read"
        )
    if y.min() < 0 or y.max() >= len(classes):
        raise DataError(
            f"y in {source.name} runs from {y.min()} to {y.max()}: the codes of "
            f"{len(classes)} classes run from 0 to {len(classes) - 1}"
        )
    return classes[y]
