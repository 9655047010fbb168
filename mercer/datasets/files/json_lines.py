"""JSON lines: one object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mercer.datasets.files.data import DataError, Table, plain, polars, regroup
from mercer.datasets.files.source import Source, as_utf8

LARGE_BLOCK, SMALL_BLOCK = 2**26, 2**23  # bytes

EXACT = (1, 35)
"""From this version on polars loses no value of a column of mixed types, and no wrong line."""


def read(source: Source) -> Table:
    """Read a whole file."""
    return Table(polars().concat(_frames(source, LARGE_BLOCK, None)))


def batches(
    source: Source, rows: int, schema: Mapping[str, Any] | None, block: int = SMALL_BLOCK
) -> Iterator[Any]:
    """Yield the rows of a file of any size, all with the same types."""
    yield from regroup(_frames(source, block, schema), rows)


def _frames(source: Source, size: int, schema: Mapping[str, Any] | None) -> Iterator[Any]:
    """Read twice unless the types are known or all is in one block."""
    source.refuse_binary()
    if source.head.lstrip().startswith(b"["):
        raise DataError(f"{source.name} is one JSON list: write one object a line instead")
    types = dict(schema) if schema else _types(source, size)
    return (_fit(frame, types) for frame in _blocks(source, size))


def _types(source: Source, size: int) -> dict[str, Any]:
    """Return the types that hold all values of the file."""
    types: dict[str, Any] = {}
    for frame in _blocks(source, size):
        types = _join(types, dict(frame.schema))
    return types


def _join(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    """Return types that hold the values of both: numbers, or text."""
    pl = polars()
    return {name: _wider(a.get(name, pl.Null), b.get(name, pl.Null)) for name in {**a, **b}}


def _wider(a: Any, b: Any) -> Any:
    pl = polars()
    if pl.Null in (a, b) or a == b:
        return b if a == pl.Null else a
    return pl.Float64 if a.is_numeric() and b.is_numeric() else pl.String


def _fit(frame: Any, types: Mapping[str, Any]) -> Any:
    """Give a frame these columns and types; text for what is nothing but missing."""
    pl = polars()
    types = {name: pl.String if dtype == pl.Null else dtype for name, dtype in types.items()}
    columns = [
        pl.col(name).cast(dtype) if name in frame.columns else pl.lit(None, dtype).alias(name)
        for name, dtype in types.items()
    ]
    return frame.select(columns)


# ---------------------------------------------------------------- blocks
def _blocks(source: Source, size: int) -> Iterator[Any]:
    rest, line = b"", 0
    for block in source.text_blocks(size):
        text, newline, rest = (rest + block).rpartition(b"\n")
        if text.strip():
            yield _frame(as_utf8(text), source, line)
        line += (text + newline).count(b"\n")
    if rest.strip():
        yield _frame(as_utf8(rest), source, line)


def _frame(text: bytes, source: Source, line: int) -> Any:
    """Read with polars, or slowly where it refuses: that finds the line that is wrong."""
    pl = polars()
    if tuple(int(part) for part in pl.__version__.split(".")[:2]) < EXACT:
        return _slowly(text, source, line)
    try:
        return plain(pl.read_ndjson(text, infer_schema_length=None))
    except pl.exceptions.PolarsError:
        return _slowly(text, source, line)


def _slowly(text: bytes, source: Source, line: int) -> Any:
    pl = polars()
    numbered = enumerate(text.decode().split("\n"), start=line + 1)
    rows = [_object(words, source, number) for number, words in numbered if words.strip()]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pl.DataFrame([_column(name, [row.get(name) for row in rows]) for name in names])


def _object(words: str, source: Source, line: int) -> dict[str, Any]:
    try:
        row = json.loads(words)
    except json.JSONDecodeError as error:
        raise DataError(f"{source.name}: line {line} is not JSON ({error.msg})") from None
    if not isinstance(row, dict):
        raise DataError(f"{source.name}: line {line} is not an object {{…}}")
    return row


def _column(name: str, values: list[Any]) -> Any:
    """Return values of one type as they are, numbers as numbers, and others as text."""
    pl = polars()
    types = {type(v) for v in values} - {type(None)}
    if not types:
        return pl.Series(name, values, dtype=pl.Null)
    if types <= {int, float}:
        return pl.Series(name, values, dtype=pl.Float64 if float in types else pl.Int64)
    if types in ({str}, {bool}):
        return pl.Series(name, values)
    texts = [v if v is None or isinstance(v, str) else json.dumps(v) for v in values]
    return pl.Series(name, texts, dtype=pl.String)
