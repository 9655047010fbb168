"""``mercer.rows.open``: rows from whatever there is."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._trial import first_fatal
from mercer.rows.base import Rows
from mercer.rows.collections import is_dask, partitions
from mercer.rows.parts import ArrayPart, FramePart
from mercer.rows.spill import Spill
from mercer.rows.stored import RowsError, StoredPart, require_columns

PATTERN = set("*?[")


def open(
    source: Any,
    target: Any = None,
    *,
    columns: Sequence[str] | None = None,
    mixed: bool = False,
    temporary: str | os.PathLike[str] | None = None,
) -> Rows:
    """Return rows that are read in blocks, from an array, a frame, files or folders.

    Parameters
    ----------
    source : array, sparse matrix, frame, Dask collection, path, glob, or list of these
        Rows. An array may be a memory map. Partitions of an array or a frame of Dask are computed
        when they are read, by its cluster if there is one. Files are Parquet (.parquet, .pq),
        Arrow (.arrow, .feather, .ipc), text (.csv, .tsv) and .npy; a folder stands for all such
        files in it, a text with ``*``, ``?`` or ``[`` for the files that match, sorted by name.
        Parts have the same columns; those with names may come in any order. Numbers of different
        precision become float64.
    target : str or array, default=None
        The name of the column to predict, which is then no column of the rows, or one value for
        each row.
    columns : list of str, default=None
        The columns to take; None: all but the target.
    mixed : bool, default=False
        Whether columns may hold what is no number. Blocks then are polars frames, and
        ``rows.encoded(encoder)`` makes numbers of them.
    temporary : path, default=None
        Where text is spilled to, parsed once, in a folder of its own that goes away with the rows.
        None: where the system keeps temporary files.

    Returns
    -------
    Rows
        With ``n``, ``n_columns``, ``columns``, ``dtype``, ``blocks()`` and ``take(index)``.

    Raises
    ------
    RowsError
        What is wrong and where: a file without a column, text among numbers, a file that does not
        read.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge, rows
    >>> X = np.linspace(0, 3, 400)[:, None]
    >>> some = rows.open(X, target=np.sin(X[:, 0]))
    >>> some
    Rows(400 rows, 1 column, float64)
    >>> model = KernelRidge(lam=1e-3, landmarks=20, random_state=0).fit(some)
    >>> model.predict(some).shape
    (400,)
    """
    if isinstance(source, Rows):
        return source if target is None else source.with_target(target)
    _require_harmless(source)
    parts = list(_parts(source, Spill(temporary)))
    if not parts or not sum(part.n for part in parts):
        raise RowsError(f"there are no rows in {_shown(source)}")
    name = target if isinstance(target, str) else None
    chosen = _columns_of(parts, columns, name, mixed)
    y = None if target is None or name is not None else np.asanyarray(target)
    return Rows([part for part in parts if part.n], chosen, target=name, y=y, mixed=mixed)


def as_rows(X: Any) -> Any:
    """Return a Dask collection as rows; all else is what it was."""
    return open(X) if is_dask(X) else X


def _columns_of(
    parts: list[StoredPart], columns: Sequence[str] | None, target: str | None, mixed: bool
) -> tuple[str, ...] | None:
    """Return the names of the columns, which every part has; None if they have no names."""
    first = parts[0]
    for part in parts:
        if (part.columns is None) != (first.columns is None):
            raise RowsError(f"{first.name} and {part.name}: one has named columns, one has not")
        if part.columns is None and part.width != first.width:
            raise RowsError(f"{part.name} has {part.width} columns, {first.name} has {first.width}")
    if first.columns is None:
        if target is not None or columns is not None or mixed:
            raise RowsError(
                f"{first.name} has columns without names; give the target as an array, one value "
                f"for each row; got {target!r}"
            )
        return None
    chosen = tuple(c for c in first.columns if c != target) if columns is None else tuple(columns)
    if not chosen:
        raise RowsError(f"{first.name} has no columns but the target {target!r}")
    wanted = (*chosen, target) if target is not None else chosen
    for part in parts:
        _require_alike(part, first, wanted, strict=columns is None)
        if not mixed:
            part.require_numbers(chosen)  # type: ignore[attr-defined]
    return chosen


def _require_alike(
    part: StoredPart, first: StoredPart, wanted: Sequence[str], strict: bool
) -> None:
    require_columns(part, wanted, "" if part is first else first.name)
    more = [c for c in part.columns or () if c not in wanted]
    if strict and more:
        raise RowsError(
            f"{part.name} has a column {more[0]!r} that {first.name} has not; name those to take "
            f"by columns="
        )


# ---------------------------------------------------------------- sources
def _require_harmless(source: Any) -> None:
    """Raise if one of the files would end the process that reads it."""
    paths = list(_paths(source))
    for reader, kind in BINARY.items():
        ours = [path for path in paths if READERS[path.suffix.lower()] is reader]
        if (fatal := first_fatal(ours, kind)) is not None:
            raise RowsError(
                f"{str(fatal)!r} cannot be read: it is damaged, or too large for the memory that "
                f"is free (a process that read it died)"
            )


def _paths(source: Any) -> Iterator[Path]:
    """Yield the files of a source."""
    if isinstance(source, (str, os.PathLike)):
        yield from files(os.fspath(source))
    elif isinstance(source, (list, tuple)):
        for piece in source:
            if isinstance(piece, (str, os.PathLike)):
                yield from files(os.fspath(piece))


def _parts(source: Any, spill: Spill) -> Iterator[StoredPart]:
    """Yield the parts of a source, in order."""
    if isinstance(source, (str, os.PathLike)):
        for path in files(os.fspath(source)):
            yield READERS[path.suffix.lower()](path, spill)
    elif isinstance(source, (list, tuple)) and source and all(map(_is_part, source)):
        for number, piece in enumerate(source):
            for part in _parts(piece, spill):
                part.name = f"part {number}" if part.name == "rows" else part.name
                yield part
    elif is_dask(source):
        yield from partitions(source, _from_pandas)
    elif sp.issparse(source):
        yield ArrayPart(source.tocsr())
    elif hasattr(source, "lazy") and hasattr(source, "height"):  # polars
        yield FramePart(source, "the frame")
    elif hasattr(source, "iloc") and hasattr(source, "columns"):  # pandas
        yield _from_pandas(source, "the frame")
    else:
        yield ArrayPart(source if isinstance(source, np.ndarray) else np.asarray(source))


def _is_part(piece: Any) -> bool:
    return isinstance(piece, (str, os.PathLike)) or getattr(piece, "ndim", 0) == 2


def _from_pandas(frame: Any, name: str) -> FramePart:
    import polars as pl

    columns = {str(column): frame[column].to_numpy() for column in frame.columns}
    return FramePart(pl.DataFrame(columns, nan_to_null=False), name)


def files(source: str) -> list[Path]:
    """Return the files that a path, a folder or a pattern stands for."""
    path = Path(source).expanduser()
    if path.is_dir():
        found = [p for p in sorted(path.rglob("*")) if _is_readable(p, path)]
    elif PATTERN & set(source) and not path.exists():
        found = [Path(p) for p in sorted(glob.glob(str(path), recursive=True))]
    else:
        found = [path]
    if not found:
        raise RowsError(f"no file of rows ({', '.join(READERS)}) is at {source!r}")
    for file in found:
        if not file.is_file():
            raise RowsError(f"there is no file {str(file)!r}")
        if file.suffix.lower() not in READERS:
            raise RowsError(f"{str(file)!r} is none of {', '.join(READERS)}")
    return found


def _is_readable(path: Path, folder: Path) -> bool:
    hidden = any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    return path.is_file() and not hidden and path.suffix.lower() in READERS


def _mapped(path: Path, spill: Spill) -> StoredPart:
    try:
        X = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise RowsError(f"{str(path)!r} cannot be read: {error}") from error
    return ArrayPart(X, repr(str(path)), path)


def _parquet(path: Path, spill: Spill) -> StoredPart:
    import polars as pl

    return FramePart(pl.scan_parquet(path, glob=False), repr(str(path)), path)


def _arrow(path: Path, spill: Spill) -> StoredPart:
    import polars as pl

    # a path is a pattern to polars: what means something in patterns is escaped
    return FramePart(pl.scan_ipc(glob.escape(str(path))), repr(str(path)), path)


def _text(path: Path, spill: Spill) -> StoredPart:
    import polars as pl

    part = FramePart(pl.scan_ipc(spill.parsed(path)), repr(str(path)), path)
    part.keeps = spill  # the copy is there for as long as the part is
    return part


READERS: dict[str, Callable[[Path, Spill], StoredPart]] = {
    ".parquet": _parquet,
    ".pq": _parquet,
    ".arrow": _arrow,
    ".feather": _arrow,
    ".ipc": _arrow,
    ".csv": _text,
    ".tsv": _text,
    ".npy": _mapped,
}

BINARY = {_parquet: "parquet", _arrow: "arrow"}
"""Readers that believe what a file says of its size, and what they read."""


def _shown(source: Any) -> str:
    return repr(source) if isinstance(source, (str, os.PathLike)) else type(source).__name__
