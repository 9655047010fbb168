"""CSV and its relatives: fields between separators, a record a line.

The text is cut into blocks of whole records, each block is read as words by polars, and the words
become values by the kinds that all of the file agrees on (`words`).
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from mercer.datasets.files.data import DataError, Table, polars, regroup
from mercer.datasets.files.layout import (
    Layout,
    first_ragged,
    layout_of,
    line_of,
    reader,
    scan,
    whole_records,
    without_blank_lines,
)
from mercer.datasets.files.source import Source, as_utf8
from mercer.datasets.files.words import convert, join_kinds, kinds_of, kinds_of_schema, tidy

WHOLE, BLOCK = 2**26, 2**23
"""Bytes of a file that is kept in memory while it is read, and of a block of a larger one."""

LONGEST_RECORD = 2**26


def read(source: Source, whole: int = WHOLE, block: int = BLOCK) -> Table:
    """Read a whole file."""
    source = source.keep(whole)
    layout = _layout(source, whole if source.kept is not None else block)
    if source.kept is not None:  # the words are still there when their kinds are known
        words = polars().concat(_words(source, layout, whole))
        return Table(convert(words, kinds_of(words), str(source.path)))
    return Table(polars().concat(_values(source, layout, block, None)))


def batches(
    source: Source, rows: int, schema: Mapping[str, Any] | None, block: int = BLOCK
) -> Iterator[Any]:
    """Yield the rows of a file of any size, all with the same types."""
    layout = _layout(source, block)
    yield from regroup(_values(source, layout, block, schema), rows)


def _values(
    source: Source, layout: Layout, size: int, schema: Mapping[str, Any] | None
) -> Iterator[Any]:
    """Read twice: once for the kinds of the columns, unless they are known, once for the values."""
    kinds = kinds_of_schema(schema or {})
    if not set(layout.names) <= set(kinds):
        kinds = join_kinds(kinds_of(w) for w in _words(source, layout, size)) | kinds
    return (convert(w, kinds, str(source.path)) for w in _words(source, layout, size))


# ---------------------------------------------------------------- words
def _layout(source: Source, size: int) -> Layout:
    source.refuse_binary()
    blocks = source.text_blocks(size)
    first, second = next(blocks, b""), next(blocks, None)
    ends = second is None and not first.endswith(b"\n")
    return layout_of(first + b"\n" * ends, complete=second is None)


def _words(source: Source, layout: Layout, size: int) -> Iterator[Any]:
    """Yield frames of tidy words; at least one row in all."""
    read = _lenient if layout.quoting == "lenient" else _strict
    is_empty = True
    for frame in read(source, layout, size):
        is_empty = is_empty and not frame.height
        yield tidy(frame)
    if is_empty:
        what = "a header and no rows" if layout.has_header else "no rows"
        raise DataError(f"{source.name} has {what}: give a file with rows")


class _Block(NamedTuple):
    """Whole records, and how many lines of the file stand before them."""

    text: bytes
    line: int


def _strict(source: Source, layout: Layout, size: int) -> Iterator[Any]:
    for number, block in enumerate(_blocks(source, layout, size)):
        yield _block_words(block, layout, source, header=layout.has_header and number == 0)


def _blocks(
    source: Source, layout: Layout, size: int, longest: int = LONGEST_RECORD
) -> Iterator[_Block]:
    rest, line = b"", 0
    for block in source.text_blocks(size):
        text = rest + block
        end = whole_records(text, layout.quoting == "quoted")
        if len(text) - end > max(longest, 2 * size):
            raise _never_closed(source, line + text.count(b"\n", 0, end) + 1)
        if end:
            yield _Block(as_utf8(text[:end]), line)
        line, rest = line + text.count(b"\n", 0, end), text[end:]
    if layout.quoting == "quoted" and rest.count(b'"') % 2:
        raise _never_closed(source, line + 1)
    if rest.strip():
        yield _Block(as_utf8(rest + b"\n"), line)


def _never_closed(source: Source, line: int) -> DataError:
    return DataError(f"{source.name}: the quote opened in line {line} is never closed")


def _block_words(block: _Block, layout: Layout, source: Source, header: bool) -> Any:
    pl = polars()
    schema = dict.fromkeys(layout.names, pl.String)
    text = _rows_only(block, layout, source, header)
    if not text:
        return pl.DataFrame(schema=schema)
    if layout.quoting == "quoted":
        return pl.read_csv(text, has_header=False, separator=layout.separator, schema=schema)
    frame = pl.read_csv(
        text, has_header=False, separator=layout.separator, schema=schema, quote_char=None
    )
    return frame.select(_without_quotes(pl))


def _rows_only(block: _Block, layout: Layout, source: Source, header: bool) -> bytes:
    """Leave out blank lines and the header; refuse rows of another length."""
    records = scan(block.text, layout.separator, layout.quoting == "quoted")
    wrong = first_ragged(block.text, records, len(layout.names))
    if wrong is not None:
        line = block.line + line_of(block.text, records, wrong) + 1
        raise _wrong_length(source, line, int(records.fields[wrong]), len(layout.names))
    return without_blank_lines(block.text, records, skip=int(header))


def _wrong_length(source: Source, line: int, got: int, wanted: int) -> DataError:
    return DataError(
        f"{source.name}: line {line} has {got} field{'s' * (got != 1)} where the first line "
        f"has {wanted}: mend the line, or check the separator"
    )


def _without_quotes(pl: Any) -> Any:
    cell = pl.all().str.strip_chars()
    quoted = cell.str.contains('^".*"$')
    return pl.when(quoted).then(cell.str.slice(1, cell.str.len_chars() - 2)).otherwise(cell)


# ---------------------------------------------------------------- the forgiving way
def _lenient(source: Source, layout: Layout, size: int) -> Iterator[Any]:
    """Read with Python's own reader where quotes are now borders, now mere characters."""
    pl = polars()
    rows = _python_rows(source, layout, size)
    if layout.has_header:
        next(rows)
    while part := list(islice(rows, 50_000)):
        yield pl.DataFrame(part, schema=dict.fromkeys(layout.names, pl.String), orient="row")


def _python_rows(source: Source, layout: Layout, size: int) -> Iterator[list[str]]:
    rows = reader(_lines(source, size), layout.separator, "quoted")
    for row in rows:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(layout.names):
            raise _wrong_length(source, rows.line_num, len(row), len(layout.names))
        yield row


def _lines(source: Source, size: int) -> Iterator[str]:
    rest = b""
    for block in source.text_blocks(size):
        whole, newline, tail = (rest + block).rpartition(b"\n")
        yield from io.StringIO(as_utf8(whole + newline).decode(), newline="")
        rest = tail
    if rest:
        yield as_utf8(rest).decode()
