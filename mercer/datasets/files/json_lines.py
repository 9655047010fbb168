"""JSON: one object a line, or one list of objects."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from mercer._words import with_literal_names
from mercer.datasets.files.data import (
    DataError,
    FileTable,
    plain,
    polars,
    regroup,
)
from mercer.datasets.files.dialect import Dialect
from mercer.datasets.files.source import HEAD_BYTES, Source, as_utf8
from mercer.datasets.files.words import lacking

LARGE_BLOCK, SMALL_BLOCK = 2**26, 2**23  # bytes

DEEPEST = 16
"""Levels of brackets that are left to polars, whose memory doubles with each."""

EXACT = (1, 35)
"""From this version on polars loses no value of a column of mixed types, and no wrong line."""


def read(source: Source, dialect: Dialect | None = None) -> FileTable:
    """Read a whole file."""
    missing = dialect.missing if dialect else ()
    return FileTable(lacking(polars().concat(_frames(source, LARGE_BLOCK, None)), missing))


def batches(
    source: Source, rows: int, dialect: Dialect | None = None, block: int = SMALL_BLOCK
) -> Iterator[Any]:
    """Yield the rows of a file of any size, all with the same types."""
    dialect = dialect or Dialect()
    frames = _frames(source, block, dialect.schema)
    yield from regroup((lacking(frame, dialect.missing) for frame in frames), rows)


def _frames(source: Source, size: int, schema: Mapping[str, Any] | None) -> Iterator[Any]:
    """Read twice unless the types are known or all is in one block."""
    source.refuse_binary()
    with _within_python(source):
        whole = _whole(source)
    if whole is not None:
        whole = with_literal_names(whole)
        return iter([_fit(whole, _some(schema or dict(whole.schema), source))])
    types = _some(dict(schema) if schema else _types(source, size), source)
    return (_fit(frame, types) for frame in _blocks(source, size))


def _some(types: Mapping[str, Any], source: Source) -> Mapping[str, Any]:
    if not types:
        raise DataError(f"{source.name} has objects without a name in them: no column to read")
    return types


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


# ---------------------------------------------------------------- one value
def _whole(source: Source) -> Any:
    """Return the table of a file that is one list of objects, or one object of columns."""
    start = next(source.text_blocks(HEAD_BYTES), b"").lstrip()
    if not (start.startswith(b"[") or (start.startswith(b"{") and source.ending == ".json")):
        return None
    try:
        value = json.loads(as_utf8(b"".join(source.text_blocks(LARGE_BLOCK))))
    except json.JSONDecodeError as error:
        if start.startswith(b"{"):
            return None  # an object a line: read as such
        raise DataError(
            f"{source.name}: line {error.lineno} is not JSON ({error.msg}): get the file again"
        ) from None
    return _from_rows(value, source) if isinstance(value, list) else _from_columns(value)


def _from_rows(rows: list[Any], source: Source) -> Any:
    strange = next((i for i, row in enumerate(rows, start=1) if not isinstance(row, dict)), None)
    if strange is not None:
        raise DataError(f"{source.name}: entry {strange} of the list is not an object {{…}}")
    if not rows:
        raise DataError(f"{source.name} is an empty list: give a file with rows")
    return _table(rows)


def _from_columns(value: dict[str, Any]) -> Any:
    """Return the columns of ``{"a": [1, 2]}`` or ``{"a": {"0": 1, "1": 2}}``, if it is that."""
    columns = [list(c.values()) if isinstance(c, dict) else c for c in value.values()]
    are_lists = all(isinstance(column, list) for column in columns)
    if not columns or not are_lists or len({len(column) for column in columns}) != 1:
        return None
    return polars().DataFrame([_column(n, c) for n, c in zip(value, columns, strict=True)])


# ---------------------------------------------------------------- blocks
def _blocks(source: Source, size: int) -> Iterator[Any]:
    rest, line = b"", 0
    for block in source.text_blocks(size):
        text, newline, rest = (rest + block).rpartition(b"\n")
        if text.strip():
            yield with_literal_names(_frame(as_utf8(text), source, line))
        line += (text + newline).count(b"\n")
    if rest.strip():
        yield with_literal_names(_frame(as_utf8(rest), source, line))


def _frame(text: bytes, source: Source, line: int) -> Any:
    """Read with polars, or slowly where it refuses: that finds the line that is wrong."""
    pl = polars()
    is_exact = tuple(int(part) for part in pl.__version__.split(".")[:2]) >= EXACT
    if not is_exact or _depth(text) > DEEPEST:
        return _slowly(text, source, line)
    try:
        return plain(pl.read_ndjson(text, infer_schema_length=None))
    except pl.exceptions.PolarsError:
        return _slowly(text, source, line)


def _depth(text: bytes) -> int:
    """Return how deeply the brackets of a line are nested at most; those in strings count too."""
    codes = np.frombuffer(text + b"\n", np.uint8)
    level = np.cumsum(_STEP[codes], dtype=np.int32)
    ends = np.flatnonzero(codes == ord("\n"))
    starts = np.append(0, ends[:-1] + 1)
    before = np.append(0, level[ends[:-1]])
    return int((np.maximum.reduceat(level, starts) - before).max())


_STEP = np.zeros(256, np.int8)
_STEP[[*b"[{"]], _STEP[[*b"]}"]] = 1, -1


def _slowly(text: bytes, source: Source, line: int) -> Any:
    numbered = enumerate(text.decode().split("\n"), start=line + 1)
    with _within_python(source):
        rows = [_object(words, source, number) for number, words in numbered if words.strip()]
        return _table(rows)


@contextmanager
def _within_python(source: Source) -> Iterator[None]:
    """Say in one line what Python does not read: brackets without end, a number too long."""
    try:
        yield
    except RecursionError:
        raise DataError(f"{source.name} has brackets that are nested too deeply") from None
    except DataError:
        raise
    except (ValueError, OverflowError) as error:
        raise DataError(f"{source.name} cannot be read ({error})") from None


def _table(rows: list[dict[str, Any]]) -> Any:
    names = list(dict.fromkeys(name for row in rows for name in row))
    return polars().DataFrame([_column(n, [row.get(n) for row in rows]) for n in names])


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
        whole = all(v is None or (type(v) is int and -(2**63) <= v < 2**63) for v in values)
        numbers = values if whole else [None if v is None else float(v) for v in values]
        return pl.Series(name, numbers, dtype=pl.Int64 if whole else pl.Float64)
    if types in ({str}, {bool}):
        return pl.Series(name, values)
    texts = [v if v is None or isinstance(v, str) else json.dumps(v) for v in values]
    return pl.Series(name, texts, dtype=pl.String)
