"""Columns of files that know their types, made plain: numbers, text, booleans, dates."""

from __future__ import annotations

import json
from typing import Any

from mercer.datasets.files.data import polars
from mercer.datasets.files.errors import DataError


def plain(frame: Any) -> Any:
    """Return decimals as numbers, lists and objects as JSON; refuse bytes."""
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
