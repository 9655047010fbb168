"""CSV and its relatives: fields between separators, a record a line.

The text is cut into blocks of whole records, each block is read as words by polars, and the words
become values by the kinds that all of the file agrees on (`words`).
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from mercer.datasets.files.data import DataError, FileTable, polars, regroup
from mercer.datasets.files.dialect import Dialect
from mercer.datasets.files.layout import (
    Layout,
    first_ragged,
    layout_of,
    line_of,
    preamble,
    records,
    scan,
    whole_records,
    without_blank_lines,
)
from mercer.datasets.files.source import HEAD_BYTES, Source, as_utf8
from mercer.datasets.files.words import convert, join_kinds, kinds_of, kinds_of_schema, tidy

WHOLE, BLOCK = 2**26, 2**23
"""Bytes of a file that is kept in memory while it is read, and of a block of a larger one."""

LONGEST_RECORD = 2**26


def read(
    source: Source, dialect: Dialect | None = None, whole: int = WHOLE, block: int = BLOCK
) -> FileTable:
    """Read a whole file."""
    source = source.keep(whole)
    size = whole if source.kept is not None else block
    text = _Text.of(source, dialect or Dialect(), size)
    if source.kept is not None:  # the words are still there when their kinds are known
        words = polars().concat(_words(text))
        return FileTable(values_of(words, text.dialect, str(source.path)))
    return FileTable(polars().concat(_values(text)))


def batches(
    source: Source, rows: int, dialect: Dialect | None = None, block: int = BLOCK
) -> Iterator[Any]:
    """Yield the rows of a file of any size, all with the same types."""
    yield from regroup(_values(_Text.of(source, dialect or Dialect(), block)), rows)


def values_of(words: Any, dialect: Dialect, place: str) -> Any:
    """Return tidy words as values of the kinds that they have, or that the schema says."""
    kinds = kinds_of(words, dialect.decimal) | _known_kinds(dialect)
    return convert(words, kinds, place, dialect.decimal)


def _known_kinds(dialect: Dialect) -> dict[str, str]:
    return kinds_of_schema(dialect.schema or {}) | dict.fromkeys(dialect.text, "text")


def _values(text: _Text) -> Iterator[Any]:
    """Read twice: once for the kinds of the columns, unless they are known, once for the values."""
    kinds, decimal = _known_kinds(text.dialect), text.dialect.decimal
    if not set(text.layout.names) <= set(kinds):
        kinds = join_kinds(kinds_of(w, decimal) for w in _words(text)) | kinds
    return (convert(w, kinds, str(text.source.path), decimal) for w in _words(text))


# ---------------------------------------------------------------- words
@dataclass(frozen=True)
class _Text:
    """A file to be read in blocks of so many bytes, without the lines above its table."""

    source: Source
    dialect: Dialect
    size: int
    above: int
    layout: Layout

    @classmethod
    def of(cls, source: Source, dialect: Dialect, size: int) -> _Text:
        """Look at the beginning of a file."""
        source.refuse_binary()
        above = preamble(next(source.text_blocks(HEAD_BYTES), b""))
        blocks = _below(source.text_blocks(size), above.lines)
        first, second = next(blocks, b""), next(blocks, None)
        ends = second is None and not first.endswith(b"\n")
        separator = dialect.separator or above.separator
        layout = layout_of(first + b"\n" * ends, second is None, separator)
        return cls(source, dialect, size, above.lines, layout)

    def blocks(self) -> Iterator[bytes]:
        """Yield the text of the table."""
        return _below(self.source.text_blocks(self.size), self.above)


def _below(blocks: Iterator[bytes], lines: int) -> Iterator[bytes]:
    """Leave out the first lines."""
    for block in blocks:
        while lines and block:
            block, lines = block.partition(b"\n")[2], lines - (b"\n" in block)
        if block:
            yield block


def _words(text: _Text) -> Iterator[Any]:
    """Yield frames of tidy words; at least one row in all."""
    read = _lenient if text.layout.quoting == "lenient" else _strict
    is_empty = True
    for frame in read(text):
        is_empty = is_empty and not frame.height
        yield tidy(frame, text.dialect.missing)
    if is_empty:
        what = "a header and no rows" if text.layout.has_header else "no rows"
        raise DataError(f"{text.source.name} has {what}: give a file with rows")


class _Block(NamedTuple):
    """Whole records, and how many lines of the file stand before them."""

    text: bytes
    line: int


def _strict(text: _Text) -> Iterator[Any]:
    layout = text.layout
    for number, block in enumerate(_blocks(text)):
        yield _block_words(block, layout, text.source, header=layout.has_header and number == 0)


def _blocks(file: _Text, longest: int = LONGEST_RECORD) -> Iterator[_Block]:
    rest, line, is_quoted = b"", file.above, file.layout.quoting == "quoted"
    for block in file.blocks():
        text = rest + block
        end = whole_records(text, is_quoted)
        if len(text) - end > max(longest, 2 * file.size):
            raise _never_closed(file.source, line + text.count(b"\n", 0, end) + 1)
        if end:
            yield _Block(as_utf8(text[:end]), line)
        line, rest = line + text.count(b"\n", 0, end), text[end:]
    if is_quoted and rest.count(b'"') % 2:
        raise _never_closed(file.source, line + 1)
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
def _lenient(text: _Text) -> Iterator[Any]:
    """Read with Python's own reader where quotes are now borders, now mere characters."""
    pl = polars()
    rows = _python_rows(text)
    if text.layout.has_header:
        next(rows)
    while part := list(islice(rows, 50_000)):
        schema = dict.fromkeys(text.layout.names, pl.String)
        yield pl.DataFrame(part, schema=schema, orient="row")


def _python_rows(text: _Text) -> Iterator[list[str]]:
    width = len(text.layout.names)
    for row, line in records(_lines(text), text.layout.separator, "quoted"):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != width:
            raise _wrong_length(text.source, text.above + line, len(row), width)
        yield row


def _lines(text: _Text) -> Iterator[str]:
    rest = b""
    for block in text.blocks():
        whole, newline, tail = (rest + block).rpartition(b"\n")
        yield from io.StringIO(as_utf8(whole + newline).decode(), newline="")
        rest = tail
    if rest:
        yield as_utf8(rest).decode()
