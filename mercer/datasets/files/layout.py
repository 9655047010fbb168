"""How delimited text is laid out: its records, its separator, its quotes, its header.

Where records end and how many fields they have is found in array operations. A quote opens and
closes: with the quotes counted from the start, a newline or a separator is outside of quotes where
the count is even. Doubled quotes count twice and change nothing.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Any, Literal, NamedTuple

import numpy as np

from mercer._words import literal
from mercer.datasets.files.data import DataError
from mercer.datasets.files.sizes import refuse_columns
from mercer.datasets.files.source import as_utf8
from mercer.datasets.files.words import MISSING, is_number

SEPARATORS = "\t;,|"
"""What may separate fields; the earlier one is taken where two would do."""

SAMPLE = 2**16  # bytes
SAMPLE_ROWS = 200

NEWLINE, RETURN, QUOTE = 10, 13, 34
WHITE = np.frombuffer(b" \t\n\r\f\v", np.uint8)

Quoting = Literal["quoted", "literal", "lenient"]


@dataclass(frozen=True)
class Layout:
    """What is needed to read the text: with it every block is read alike."""

    separator: str
    quoting: Quoting
    has_header: bool
    names: list[str]


def layout_of(text: bytes, complete: bool, separator: str | None = None) -> Layout:
    """Tell the layout from the beginning of a text; ``complete`` if that is all of it."""
    sample = as_utf8(text[: _sample_end(text)]).decode()
    separator = separator or _separator(sample)
    quoting = _quoting(text, separator, complete)
    rows = _rows(sample, separator, quoting)
    header = looks_like_header(rows)
    names = rows[0] if header else [""] * len(rows[0] if rows else [""])
    refuse_columns(len(names), "the file")
    return Layout(separator, quoting, header, clear_names([_COMMENT.sub("", n) for n in names]))


def _sample_end(text: bytes) -> int:
    """Cut at the end of a line, so that the last row of the sample is whole."""
    if len(text) <= SAMPLE:
        return len(text)
    return text.rfind(b"\n", 0, SAMPLE) + 1 or text.find(b"\n") + 1 or len(text)


# ---------------------------------------------------------------- what stands above the table
class Preamble(NamedTuple):
    """How many lines stand above the table, and the separator that they name."""

    lines: int
    separator: str | None


def preamble(text: bytes) -> Preamble:
    """Return the lines with ``#`` in front, and the line ``sep=;`` of spreadsheets.

    The last line with ``#`` belongs to the table if it names the columns and the next one does not.
    """
    lines = as_utf8(text[: _sample_end(text)]).decode().split("\n")
    if named := _NAMED_SEPARATOR.fullmatch(lines[0].strip()):
        return Preamble(1, named[1])
    above = list(takewhile(lambda line: not line.strip() or line.startswith("#"), lines))
    last = max((i for i, line in enumerate(above) if line.startswith("#")), default=None)
    if last is None or len(above) == len(lines):
        return Preamble(0, None)
    return Preamble(last if _names_columns(lines[last:]) else last + 1, None)


def _names_columns(lines: list[str]) -> bool:
    sample = "\n".join(lines)
    rows = _rows(sample, _separator(sample), "quoted")
    is_even = len(rows) > 1 and len(rows[0]) == len(rows[1]) > 1
    return is_even and looks_like_header(rows) and not looks_like_header(rows[1:])


_NAMED_SEPARATOR = re.compile("sep=(.)", re.IGNORECASE)
_COMMENT = re.compile(r"^#+\s*(?=\S)")


# ---------------------------------------------------------------- separator and quotes
def _separator(sample: str) -> str:
    """Return the separator by which most rows have as many fields as the first one."""
    agreement = {s: _agreement(sample, s) for s in SEPARATORS}
    best = max(SEPARATORS, key=lambda s: agreement[s])  # the first of equals
    return best if agreement[best] > 0 else ","


def _agreement(sample: str, separator: str) -> float:
    try:
        rows = _rows(sample, separator, "quoted")
    except DataError:  # one field without end: it separates nothing
        return 0.0
    width = len(rows[0]) if rows else 0
    return sum(len(row) == width for row in rows) / len(rows) if width > 1 else 0.0


def _quoting(text: bytes, separator: str, complete: bool) -> Quoting:
    """Tell what quotes are: borders of fields, mere characters, or now the one, now the other.

    They are mere characters where all lines then have the same number of fields, and they cannot
    be borders or would run over the ends of such lines.
    """
    if b'"' not in text:
        return "quoted"
    is_even = _is_even(text[: whole_records(text, quoted=False)], separator)
    text = text if complete else text[: whole_records(text, quoted=True)]
    if not text or not is_well_quoted(text, separator):
        return "literal" if is_even else "lenient"
    runs_over = len(scan(text, separator, quoted=True).ends) < text.count(b"\n")
    return "literal" if is_even and runs_over else "quoted"


def _is_even(text: bytes, separator: str) -> bool:
    """Tell whether all lines have the same number of fields, more than one, quotes or not."""
    lines = scan(text, separator, quoted=False)
    width = int(lines.fields.max(initial=0))
    return width > 1 and first_ragged(text, lines, width) is None


def _rows(sample: str, separator: str, quoting: Quoting) -> list[list[str]]:
    found = []
    for row, _ in records(io.StringIO(sample, newline=""), separator, quoting):
        if any(cell.strip() for cell in row):
            found.append([unquoted(cell.strip()) for cell in row])
        if len(found) == SAMPLE_ROWS:
            break
    return found


LONGEST_FIELD = 131_072  # characters


class Record(NamedTuple):
    """The fields of a record, and the line on which it ends."""

    fields: list[str]
    line: int


def records(lines: Iterable[str], separator: str, quoting: Quoting) -> Iterator[Record]:
    """Yield what Python's own reader reads, which takes every quote as well as it can."""
    options: dict[str, Any] = {"skipinitialspace": True}
    if quoting == "literal":
        options = {"quoting": csv.QUOTE_NONE}
    rows = csv.reader(lines, delimiter=separator, **options)
    try:
        for row in rows:
            # the limit of Python's reader belongs to the process, and others may have raised it
            if max(map(len, row), default=0) > LONGEST_FIELD:
                raise csv.Error(f"field larger than field limit ({LONGEST_FIELD})")
            yield Record(row, rows.line_num)
    except csv.Error as error:
        raise DataError(f"line {rows.line_num} cannot be read ({error})") from None


def unquoted(cell: str) -> str:
    """Take the quotes off a field that has them on both sides."""
    return cell[1:-1] if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell


# ---------------------------------------------------------------- header
def looks_like_header(rows: list[list[str]]) -> bool:
    """Tell whether the first row names the columns.

    A word above numbers speaks for it; a number above numbers, and a word that comes again in its
    column, against it. Numbers that count up one by one (years, positions) are names as well.
    """
    if not rows:
        return False
    first, rest = rows[0], rows[1:]
    if _counts_up(first) and not (rest and all(_counts_up(row) for row in rest)):
        return True
    columns = [[row[j] for row in rest if j < len(row)] for j in range(len(first))]
    votes = sum(_vote(name, cells) for name, cells in zip(first, columns, strict=True))
    return votes >= 0 and not all(is_number(cell) for cell in first)


def _vote(name: str, cells: list[str]) -> int:
    known = [cell for cell in cells if cell not in MISSING]
    if not name:
        return 0
    if known and all(is_number(cell) for cell in known):
        return -1 if is_number(name) or name in MISSING else 1
    return -1 if name in known or is_number(name) else 0


def _counts_up(row: list[str]) -> bool:
    """Tell whether all but two cells at most are positions from 0 on, or the years of a span."""
    numbers = [int(cell) for cell in row if cell.isascii() and cell.isdigit()]
    if len(numbers) < max(3, len(row) - 2) or not (numbers[0] == 0 or 1800 <= numbers[0] <= 2100):
        return False
    return all(b == a + 1 for a, b in pairwise(numbers))


def clear_names(names: list[str]) -> list[str]:
    """Return names that are there and differ: ``column_3`` for none, ``age_2`` for a second age.

    None is a pattern to polars: ``(*)`` stands for ``*``.
    """
    clear: dict[str, None] = {}
    taken, numbers = {name.strip() for name in names}, Counter[str]()
    for position, name in enumerate(names, start=1):
        plain = literal(name.strip()) or f"column_{position}"
        number, new = numbers[plain], plain
        while new in clear or (number > 0 and new in taken):
            number += 1
            new = f"{plain}_{number + 1}"
        numbers[plain] = number
        clear[new] = None
    return list(clear)


# ---------------------------------------------------------------- records
class Records(NamedTuple):
    """The start of each record, its end (behind the newline) and its number of fields."""

    starts: np.ndarray
    ends: np.ndarray
    fields: np.ndarray


def scan(text: bytes, separator: str, quoted: bool) -> Records:
    """Find the records of a text that ends with a newline."""
    codes = np.frombuffer(text, np.uint8)
    quotes = _quotes(codes) if quoted else None
    ends = _outside(np.flatnonzero(codes == NEWLINE), quotes)
    separators = _outside(np.flatnonzero(codes == ord(separator)), quotes)
    starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
    fields = 1 + np.diff(np.searchsorted(separators, ends), prepend=0)
    return Records(starts, ends + 1, fields)


def whole_records(text: bytes, quoted: bool) -> int:
    """Return how much of a text is whole records: the end of the last newline outside of quotes."""
    end = text.rfind(b"\n") + 1
    quotes = text.count(b'"', 0, end) if quoted else 0
    while quotes % 2:  # the last quote before the end is open: go back to the line before it
        start = text.rfind(b"\n", 0, text.rfind(b'"', 0, end)) + 1
        quotes -= text.count(b'"', start, end)
        end = start
    return end


def is_well_quoted(text: bytes, separator: str) -> bool:
    """Tell whether each quote opens at the start of a field and closes at its end, or is doubled.

    A text in which quotes are mere characters (``5" pipe``) fails this soon.
    """
    codes = np.frombuffer(text, np.uint8)
    quotes = _quotes(codes)
    if len(quotes) % 2:
        return False
    opens, closes = quotes[0::2], quotes[1::2]
    borders = np.array([ord(separator), NEWLINE, RETURN], np.uint8)
    doubled = closes[:-1] + 1 == opens[1:]
    starts = np.isin(codes[opens - 1], borders) | (opens == 0)
    stops = np.isin(codes[np.minimum(closes + 1, len(codes) - 1)], borders)
    starts[1:] |= doubled
    stops[:-1] |= doubled
    return bool(starts.all() and stops.all())


def _quotes(codes: np.ndarray) -> np.ndarray:
    return np.flatnonzero(codes == QUOTE)


def _outside(places: np.ndarray, quotes: np.ndarray | None) -> np.ndarray:
    """Keep the places that an even number of quotes stands before."""
    if quotes is None or not len(quotes):
        return places
    return places[np.searchsorted(quotes, places) % 2 == 0]


# ---------------------------------------------------------------- lines for people
def first_ragged(text: bytes, records: Records, width: int) -> int | None:
    """Return the first record with another number of fields, blank lines left out."""
    wrong = np.flatnonzero(records.fields != width)
    return next((int(i) for i in wrong if not _is_blank(text, records, int(i))), None)


def without_blank_lines(text: bytes, records: Records, skip: int = 0) -> bytes:
    """Leave out lines that hold white space only (they are no rows) and the first other ones."""
    blank = [int(i) for i in _maybe_blank(text, records) if _is_blank(text, records, int(i))]
    places = np.arange(min(len(blank) + skip, len(records.starts)))
    first = np.setdiff1d(places, blank)[:skip].tolist() if skip else []
    kept, position = [], 0
    for i in sorted(blank + first):
        kept.append(text[position : records.starts[i]])
        position = int(records.ends[i])
    return b"".join([*kept, text[position:]]) if kept else text


def _maybe_blank(text: bytes, records: Records) -> np.ndarray:
    """Return the records of one field that begin with white space."""
    codes = np.frombuffer(text, np.uint8)
    return np.flatnonzero((records.fields == 1) & np.isin(codes[records.starts], WHITE))


def _is_blank(text: bytes, records: Records, i: int) -> bool:
    return not text[records.starts[i] : records.ends[i]].strip()


def line_of(text: bytes, records: Records, i: int) -> int:
    """Return the number of the line on which a record begins, from 0."""
    return text.count(b"\n", 0, int(records.starts[i]))
