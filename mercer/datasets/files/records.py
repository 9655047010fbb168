"""Where the records of delimited text end and how many fields they have, in array operations.

A quote opens and closes: with the quotes counted from the start, a newline or a separator is
outside of quotes where the count is even. Doubled quotes count twice and change nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

NEWLINE, RETURN, QUOTE = 10, 13, 34
WHITE = np.frombuffer(b" \t\n\r\f\v", np.uint8)


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
    first = np.setdiff1d(np.arange(len(blank) + skip), blank)[:skip].tolist() if skip else []
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
