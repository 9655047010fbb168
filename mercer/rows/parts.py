"""Parts of rows: arrays in memory or mapped from files, sparse matrices, tables in files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._words import with_literal_names
from mercer.rows.stored import RowsError, StoredPart

SAMPLED = 256  # rows by which an array in memory is known again


class ArrayPart(StoredPart):
    """Rows of an array or a CSR matrix; of a file that is mapped, ``path`` says which."""

    def __init__(self, X: Any, name: str = "rows", path: Path | None = None):
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise RowsError(
                f"{name} must be a table of numbers (rows × columns); got {X.dtype} values of "
                f"shape {X.shape}"
            )
        super().__init__(name, X.shape[0], X.dtype, None, X.shape[1])
        self._X, self._path = X, path
        self.travels = path is not None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_X": self._X if self._path is None else None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if self._path is not None:  # the file is mapped again where it is read
            self._X = np.load(self._path, mmap_mode="r", allow_pickle=False)

    def state(self) -> str:
        """Return the size and time of the file, or a digest of some rows."""
        if self._path is not None:
            return file_state(self._path)
        places = np.unique(np.linspace(0, max(self.n - 1, 0), SAMPLED).astype(np.intp))
        some = self._X[places[: self.n]]
        some = some.toarray() if sp.issparse(some) else np.ascontiguousarray(some)
        return f"{self._X.shape} {hashlib.sha256(some.tobytes()).hexdigest()}"

    def read(self, rows: slice, columns: tuple[str, ...] | None) -> Any:
        """Return some rows."""
        some = self._X[rows]
        some = some if some.dtype == self.dtype else some.astype(self.dtype)
        return some if sp.issparse(some) else np.ascontiguousarray(some)


class FramePart(StoredPart):
    """Rows of a table with named columns, by polars: a frame, a Parquet or an Arrow file."""

    keeps: Any = None

    def __init__(self, frame: Any, name: str, path: Path | None = None):
        import polars as pl

        with _reading(name):
            self._frame, self._path = with_literal_names(frame.lazy()), path
            self.schema = self._frame.collect_schema()
            n = self._frame.select(pl.len()).collect().item()
        names = tuple(self.schema.names())
        super().__init__(name, n, np.float64, names, len(names))
        self.travels = path is not None

    def state(self) -> str:
        """Return the size and time of the file; a frame cannot change."""
        return f"{self.n} rows" if self._path is None else file_state(self._path)

    def require_numbers(self, columns: tuple[str, ...]) -> None:
        """Raise if a column holds no numbers; learn the precision of those that do."""
        import polars as pl

        for name in columns:
            kind = self.schema[name]
            if not (kind.is_numeric() or kind == pl.Boolean):
                raise RowsError(
                    f"{self.name}: column {name!r} holds {kind}, not numbers; leave it out by "
                    f"columns=, or make numbers of it"
                )
        if all(self.schema[name] == pl.Float32 for name in columns):
            self.dtype = np.dtype(np.float32)

    def read(self, rows: slice, columns: tuple[str, ...] | None) -> np.ndarray:
        """Return some rows of numbers; missing values are NaN."""
        import polars as pl

        kind = pl.Float32 if self.dtype == np.float32 else pl.Float64
        picked = self._frame.select(pl.col(name).cast(kind) for name in columns or ())
        with _reading(self.name):
            return _cut(picked, rows).to_numpy(order="c")

    def frame(self, rows: slice, columns: Sequence[str]) -> Any:
        """Return some rows as a frame."""
        with _reading(self.name):
            return _cut(self._frame.select(columns), rows)

    def values(self, rows: slice, column: str) -> np.ndarray:
        """Return some rows of one column; missing values are None or NaN."""
        with _reading(self.name):
            y = _cut(self._frame.select(column), rows).to_series()
        if y.dtype.is_numeric():
            return y.to_numpy()
        return np.array(y.to_list(), dtype=None if not y.null_count() else object)


def _cut(frame: Any, rows: slice) -> Any:
    return frame.slice(rows.start, rows.stop - rows.start).collect()


def file_state(path: Path) -> str:
    """Return the size and time of a file, by which it is known again."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return "the file is gone"
    return f"{found.st_size} bytes, {found.st_mtime_ns}"


class _reading:  # noqa: N801 - a context manager
    """Says of which file an error of the reader is."""

    def __init__(self, name: str):
        self.name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        from polars.exceptions import PolarsError

        if isinstance(error, (PolarsError, OSError)):
            first = (str(error).strip() or kind.__name__).splitlines()[0]
            raise RowsError(f"{self.name} cannot be read: {first}") from error
