"""NumPy archives: X, y, and where known feature_names and classes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mercer.datasets.files.data import Table, numbered, polars, regroup
from mercer.datasets.files.errors import DataError
from mercer.datasets.files.source import Source

TARGET = "y"


def read(source: Source) -> Table:
    """Read an archive; rows of more than one axis are laid flat, codes become their classes."""
    arrays = _arrays(source)
    if "X" not in arrays:
        held = ", ".join(sorted(arrays)) or "nothing"
        raise DataError(f"{str(source.path)!r} has no array X (it has {held}): name the rows X")
    X = _rows(arrays["X"], source)
    names = _names(arrays, X.shape[1], source)
    frame = polars().DataFrame({name: _column(X[:, j]) for j, name in enumerate(names)})
    if TARGET not in arrays:
        return Table(frame)
    y = _target(arrays, X.shape[0], source)
    return Table(frame.with_columns(polars().Series(TARGET, y)), TARGET)


def batches(source: Source, rows: int, schema: Mapping[str, Any] | None) -> Iterator[Any]:
    """Yield the rows, with y as a column; the archive itself is read whole."""
    yield from regroup([read(source).rows], rows)


def _arrays(source: Source) -> dict[str, np.ndarray]:
    if not source.head.startswith(b"PK"):
        raise DataError(f"{str(source.path)!r} is not a .npz archive, whatever its ending says")
    try:
        with np.load(io.BytesIO(source.content()), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, OSError, zipfile.BadZipFile, KeyError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"{str(source.path)!r} is not a plain .npz archive ({reason})") from None


def _rows(X: np.ndarray, source: Source) -> np.ndarray:
    if X.ndim < 1 or X.size == 0 or X.dtype.kind not in "biufUS":
        raise DataError(
            f"X in {str(source.path)!r} has shape {X.shape} and type {X.dtype}: "
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
            f"{str(source.path)!r} has {len(names)} feature_names for {width} columns: "
            f"give each column its own name, other than {TARGET!r}"
        )
    return names


def _target(arrays: Mapping[str, np.ndarray], n: int, source: Source) -> np.ndarray:
    y, classes = arrays[TARGET], arrays.get("classes")
    if y.shape != (n,):
        raise DataError(f"y in {str(source.path)!r} has shape {y.shape}: ({n},) goes with X")
    if classes is None or y.dtype.kind not in "iu":
        return y
    if y.min() < 0 or y.max() >= len(classes):
        raise DataError(
            f"y in {str(source.path)!r} runs from {y.min()} to {y.max()}: the codes of "
            f"{len(classes)} classes run from 0 to {len(classes) - 1}"
        )
    return classes[y]
