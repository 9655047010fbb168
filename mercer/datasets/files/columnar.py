"""Parquet and Arrow: files that know the types of their columns."""

from __future__ import annotations

import glob
import io
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mercer.datasets.files.data import Table, polars
from mercer.datasets.files.errors import DataError
from mercer.datasets.files.plain import plain, typed
from mercer.datasets.files.source import Source

STREAM = b"\xff\xff\xff\xff"


def read(source: Source) -> Table:
    """Read a whole file."""
    frame = _try(source, lambda: _scan(source).collect())
    if not frame.height:
        raise DataError(f"{str(source.path)!r} has columns and no rows: give a file with rows")
    return Table(typed(plain(frame)))


def batches(source: Source, rows: int, schema: Mapping[str, Any] | None) -> Iterator[Any]:
    """Yield the rows of a file of any size; the types are those of the file."""
    lazy = _try(source, lambda: _scan(source))
    height = _try(source, lambda: lazy.select(polars().len()).collect().item())
    for start in range(0, height, rows):
        part = _try(source, lazy.slice(start, rows).collect)
        yield typed(plain(part))


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
            f"{str(source.path)!r} is damaged or in another format ({reason}): get it again, "
            f"or say format=…"
        ) from None
