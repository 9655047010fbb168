"""How people write dates: 2024-01-31, 31.01.2024, 1/31/24, 31 Jan 2024, each with a time or not.

Whether the day or the month stands first is decided over all values of a column.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mercer.tables.numerals import FIRST_LOOK

DAY_FIRST, MONTH_FIRST, BY_VALUE = "day", "month", ""
"""What stands first in a column; ``""`` where no column was seen, and each value has to tell."""

NAMED = "named"  # a month with a name may stand anywhere

_NAMES = "jan feb mar/mär/mrz apr may/mai jun jul aug sep oct/okt nov dec/dez"
_MONTHS = {name: i for i, names in enumerate(_NAMES.split(), 1) for name in names.split("/")}
_TIME = r"(?:[T,\s]+(?P<h>\d{1,2}):(?P<m>\d{2})(?::(?P<s>\d{2})(?:[.,]\d+)?)?\s*(?P<half>[ap]m)?)?"
_YEAR = r"(?P<y>\d{4}|\d{2})"
_DAY, _NAME = r"(?P<a>\d{1,2})", r"(?P<b>[a-zä]{3,9})"
_NUMBERS = re.compile(rf"{_DAY}(?P<sep>[./-])(?P<b>\d{{1,2}})(?P=sep){_YEAR}{_TIME}", re.I)
_DAY_NAME = re.compile(rf"{_DAY}[.\s-]*{_NAME}[.,\s-]*{_YEAR}{_TIME}", re.I)
_NAME_DAY = re.compile(rf"{_NAME}\.?\s+{_DAY}(?:,\s*|\s+){_YEAR}{_TIME}", re.I)
_YEAR_FIRST = re.compile(r"\d{4}(?:([./-])\d{1,2}(?:\1\d{1,2}(?:[T ].*)?)?)?")
LONGEST = 40
"""Characters of a text that may be a date: sentences are not looked at."""


class _Written(NamedTuple):
    """A date, what must stand first in it, and what is likely to."""

    match: re.Match[str]
    first: str
    likely: str = BY_VALUE


def parse_date(text: str, first: str = BY_VALUE) -> float:
    """Return the seconds since 1970 of a written date, or NaN.

    Examples
    --------
    >>> parse_date("02.01.1970") / 86400, parse_date("1/2/1970", MONTH_FIRST) / 86400
    (1.0, 1.0)
    """
    if text[:4].isdigit():
        return _iso(text)
    written = _written(text)
    if written is None:
        return np.nan
    if {written.first, first} == {DAY_FIRST, MONTH_FIRST}:
        return np.nan  # a column has one order: the 31st month is a mistake, not another order
    return _moment(written.match, written.first or first or written.likely)


def _written(text: str) -> _Written | None:
    """Return a date that begins with a day or a month, and which of them it must be."""
    if len(text) > LONGEST:
        return None
    if (match := _NUMBERS.fullmatch(text)) is not None:
        a, b = int(match["a"]), int(match["b"])
        must = DAY_FIRST if a > 12 else MONTH_FIRST if b > 12 else BY_VALUE
        return _Written(match, must, DAY_FIRST if match["sep"] == "." else BY_VALUE)
    match = _DAY_NAME.fullmatch(text) or _NAME_DAY.fullmatch(text)
    known = match is not None and match["b"][:3].lower() in _MONTHS
    return _Written(match, NAMED) if match is not None and known else None


def _moment(match: re.Match[str], first: str) -> float:
    if first == BY_VALUE:
        return np.nan
    a, b = int(match["a"]), match["b"]
    other = int(b) if b.isdigit() else _MONTHS[b[:3].lower()]
    day, month = (other, a) if first == MONTH_FIRST else (a, other)
    try:
        return seconds(dt.datetime(_year(match["y"]), month, day, *_clock(match)))
    except ValueError:
        return np.nan


def _year(digits: str) -> int:
    """Return a year; of two digits 69 is 1969 and 68 is 2068, as POSIX has it."""
    short = int(digits)
    return short if len(digits) == 4 else short + (1900 if short >= 69 else 2000)


def _clock(match: re.Match[str]) -> tuple[int, int, int]:
    hour, minute, second = (int(match[part] or 0) for part in "hms")
    if match["half"]:
        hour = hour % 12 + 12 * (match["half"].lower() == "pm")
    return hour, minute, second


def _iso(text: str) -> float:
    """Return the moment of 2024-05-31, 2024/5/31, 2024-05, 20240531 or 2024-05-31T12:30."""
    match = _YEAR_FIRST.fullmatch(text)
    if match is not None:
        day, space, time = text.replace("T", " ").partition(" ")
        parts = [*day.split(match[1] or "-"), "1", "1"][:3]
        text = "-".join(part.zfill(2) for part in parts) + space + time
    elif len(text) < 8:
        return np.nan
    try:
        return seconds(dt.datetime.fromisoformat(text))
    except ValueError:
        return np.nan


def seconds(value: Any) -> float:
    """Return the seconds since 1970 of a date of Python or NumPy."""
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        value = value.astimezone(dt.UTC).replace(tzinfo=None)
    return float(np.datetime64(value, "us").astype(np.int64)) / 1e6


# ---------------------------------------------------------------- columns
class Order(NamedTuple):
    """What stands first in a column; unsure where it could be the other."""

    first: str
    is_unsure: bool = False


def order(texts: Sequence[str]) -> Order:
    """Return what stands first in most of the dates that tell; where none does, the day."""
    for some in dict.fromkeys((1 + len(texts) // FIRST_LOOK, 1)):
        found = [written for t in texts[::some] if (written := _written(t)) is not None]
        votes = Counter(written.first for written in found)
        if votes[DAY_FIRST] or votes[MONTH_FIRST]:
            return Order(MONTH_FIRST if votes[MONTH_FIRST] > votes[DAY_FIRST] else DAY_FIRST)
    return Order(DAY_FIRST, is_unsure=any(not (w.first or w.likely) for w in found))
