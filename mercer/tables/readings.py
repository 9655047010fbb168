"""How a column of texts is written, decided once over all of its values, and said in words."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import isnan
from typing import NamedTuple

import numpy as np

from mercer._words import count
from mercer.tables import moments, numerals
from mercer.tables.columns import Column, as_numbers, as_seconds

EXAMPLES = 500  # texts among which the one to show is looked for


class Reading(NamedTuple):
    """A column as numbers or seconds, and how it was read.

    ``how`` is what parsing new texts needs to know (the decimal sign, or what stands first),
    ``said`` what people should know.
    """

    values: np.ndarray
    unread: int
    how: str = ""
    said: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """The share of the values that are there which could be read."""
        n_read = len(self.values) - int(np.isnan(self.values).sum())
        return n_read / max(n_read + self.unread, 1)


def is_written(column: Column) -> bool:
    """Whether the values of a column came as texts."""
    return column.form in ("text", "category")


# ---------------------------------------------------------------- numbers
def number_reading(column: Column, decimal: str | None = None) -> Reading:
    """Return the numbers of a column and how they are written: found, unless it is known."""
    if not is_written(column):
        return Reading(*as_numbers(column))
    found = numerals.Notation(decimal) if decimal else numerals.notation(column.levels)
    values, unread = as_numbers(column, found.decimal)
    return Reading(values, unread, found.decimal, tuple(_number_words(column, found)))


def are_mostly_bounds(column: Column) -> bool:
    """Whether the numbers of a column are classes such as <50 and >50."""
    rows = sum(_rows_of(column, numerals.bounds(column.levels)).values())
    return rows > numerals.MOST_BOUNDS * int(np.sum(column.values >= 0))


def _number_words(column: Column, found: numerals.Notation) -> Iterator[str]:
    bounds = numerals.bounds(column.levels)
    odd = (text for text in column.levels if _is_odd(text, found) and text[0] not in "<>≤≥")
    if example := max(islice(odd, EXAMPLES), key=len, default=""):
        meant = numerals.parse_number(example, found.decimal)
        yield f"{column.name!r} is written like {example!r}: read as {meant:,.15g}"
    if found.is_unsure:
        yield f"{column.name!r}: three digits at the end are taken as thousands, not as decimals"
    if bounds:
        yield _such_as(column, bounds, "taken as the bound")
    yield from _blank_words(column)


def _is_odd(text: str, found: numerals.Notation) -> bool:
    """Whether a text is a number that Python would not read, or not so."""
    plain = numerals.as_float(text)
    return not isnan(value := numerals.parse_number(text, found.decimal)) and value != plain


# ---------------------------------------------------------------- dates
def date_reading(column: Column) -> Reading:
    """Return the moments of a column and how they are written."""
    if not is_written(column):
        return Reading(*as_seconds(column))
    found = moments.order(column.levels)
    values, unread = as_seconds(column, found.first)
    return Reading(values, unread, found.first, tuple(_date_words(column, found)))


def _date_words(column: Column, found: moments.Order) -> Iterator[str]:
    odd = (t for t in column.levels if not t[:4].isdigit() and _is_date(t, found.first))
    if example := next(odd, ""):
        stands = "is taken to stand" if found.is_unsure else "stands"
        yield f"{column.name!r} has dates such as {example!r}: the {found.first} {stands} first"
    yield from _blank_words(column)


def _is_date(text: str, first: str) -> bool:
    return not isnan(moments.parse_date(text, first))


# ---------------------------------------------------------------- words
def _blank_words(column: Column) -> Iterator[str]:
    blanks = [text for text in column.levels if numerals.is_blank(text)]
    if blanks:
        yield _such_as(column, blanks, "taken as missing")


def _such_as(column: Column, texts: list[str], taken: str) -> str:
    """Return how many values are such texts, with the most frequent one."""
    rows = _rows_of(column, texts)
    most = max(rows, key=lambda text: rows[text])
    like = f"({most!r})" if len(rows) == 1 else f"(such as {most!r})"
    return f"{count(sum(rows.values()), 'value')} in {column.name!r} {like} {taken}"


def _rows_of(column: Column, texts: list[str]) -> dict[str, int]:
    """Return how many rows have each of these texts."""
    wanted = set(texts)
    counts = np.bincount(column.values + 1, minlength=len(column.levels) + 1)[1:]
    return {t: int(n) for t, n in zip(column.levels, counts, strict=True) if t in wanted}
