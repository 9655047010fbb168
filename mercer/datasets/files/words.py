"""What the words of a text column mean: missing, numbers, booleans, dates, or text.

A column has one kind: the first of `KINDS` that all its words are. The kind of two parts of a
column follows from the kinds of the parts, so that a file read in parts gets the same kinds as a
file read at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

from mercer._words import short
from mercer.datasets.files.data import DataError, polars
from mercer.tables.numerals import parse_number

MISSING = ("", "NA", "N/A", "n/a", "#N/A", "?", "nan", "NaN", "null", "NULL", "None")
"""The words that stand for a missing value."""

KINDS = ("integer", "number", "boolean", "date", "time", "text")
TRIED_FIRST = 200  # words that are tried before all of them are

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?inf(inity)?", re.IGNORECASE)


def is_number(word: str) -> bool:
    """Tell whether a word is a number."""
    return _NUMBER.fullmatch(word) is not None


def tidy(frame: Any, missing: Sequence[str] = ()) -> Any:
    """Cut white space around words and make the words for missing values missing."""
    pl = polars()
    words = pl.all().str.strip_chars()
    return frame.select(pl.when(words.is_in([*MISSING, *missing]).not_()).then(words))


def lacking(frame: Any, missing: Sequence[str]) -> Any:
    """Return a frame in which these words, or numbers that they say, are missing."""
    if not missing:
        return frame
    pl = polars()
    numbers = [float(word) for word in missing if is_number(word)]
    by_word = pl.when(pl.col(pl.String).is_in(list(missing)).not_()).then(pl.col(pl.String))
    numeric = pl.selectors.numeric()
    by_number = pl.when(numeric.cast(pl.Float64).is_in(numbers).not_()).then(numeric)
    return frame.with_columns(by_word, by_number)


# ---------------------------------------------------------------- kinds
def kinds_of(frame: Any, decimal: str | None = None) -> dict[str, str]:
    """Return the kind of each column of tidy words; ``"empty"`` if all are missing."""
    return {column.name: _kind(column.drop_nulls(), decimal) for column in frame.get_columns()}


def _kind(words: Any, decimal: str | None) -> str:
    if not len(words):
        return "empty"
    few = words.head(TRIED_FIRST)
    return next(k for k in KINDS if _all_are(few, k, decimal) and _all_are(words, k, decimal))


def _all_are(words: Any, kind: str, decimal: str | None) -> bool:
    return _values(words, kind, decimal).null_count() == 0


def join_kinds(parts: Any) -> dict[str, str]:
    """Return the kinds of columns whose parts have these kinds."""
    return reduce(lambda a, b: {name: _join(a[name], b[name]) for name in a}, parts)


def _join(a: str, b: str) -> str:
    kinds = {a, b} - {"empty"}
    if len(kinds) < 2:
        return kinds.pop() if kinds else "empty"
    return "number" if kinds == {"integer", "number"} else "text"


def kinds_of_schema(schema: Mapping[str, Any]) -> dict[str, str]:
    """Return the kinds that columns of these types come from."""
    return {name: _kind_of_type(dtype) for name, dtype in schema.items()}


def _kind_of_type(dtype: Any) -> str:
    pl = polars()
    if dtype.is_integer():
        return "integer"
    if dtype.is_numeric():
        return "number"
    return {pl.Boolean: "boolean", pl.Date: "date", pl.Datetime: "time"}.get(
        dtype.base_type(), "text"
    )


# ---------------------------------------------------------------- values
def convert(frame: Any, kinds: Mapping[str, str], place: str, decimal: str | None = None) -> Any:
    """Return tidy words as values of their kinds; numbers among integers are numbers."""
    columns = [_converted(c, kinds[c.name], place, decimal) for c in frame.get_columns()]
    return polars().DataFrame(columns)


def _converted(words: Any, kind: str, place: str, decimal: str | None) -> Any:
    """Convert, or name the first word that does not fit."""
    for wider in (kind, "number") if kind == "integer" else (kind,):
        values = _values(words, wider, decimal)
        if values.null_count() == words.null_count():
            return values
    wrong = words.filter(values.is_null() & words.is_not_null())[0]
    where = f"{short(wrong, 80)!r} in column {short(words.name, 80)!r}"
    raise DataError(f"{place!r}: {where} is not a {_KIND_WORDS[kind]}")


_KIND_WORDS = {
    "integer": "number",
    "number": "number",
    "boolean": "truth value (true or false)",
    "date": "date (2024-01-31)",
    "time": "time (2024-01-31 12:00)",
}


def _boolean(words: Any) -> Any:
    pl = polars()
    truth = {"true": True, "false": False}
    return words.str.to_lowercase().replace_strict(truth, default=None, return_dtype=pl.Boolean)


def _time(words: Any) -> Any:
    plain = words.str.replace("T", " ", literal=True).str.strip_suffix("Z")
    exact = plain.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
    minutes = plain.str.to_datetime("%Y-%m-%d %H:%M", time_unit="us", strict=False)
    return exact.fill_null(minutes) if exact.null_count() else exact


def _values(words: Any, kind: str, decimal: str | None) -> Any:
    if decimal is not None and kind == "number":
        return _written(words, decimal)
    return _CONVERT[kind](words)


def _written(words: Any, decimal: str) -> Any:
    """Return numbers as people write them; of bounds (<0.1) it is to be said what they become."""
    pl = polars()
    distinct = [word for word in words.unique().to_list() if word and word[0] not in "<>≤≥"]
    read = {word: parse_number(word, decimal) for word in distinct}
    known = {word: value for word, value in read.items() if value == value}
    return words.replace_strict(known, default=None, return_dtype=pl.Float64)


_CONVERT: dict[str, Callable[[Any], Any]] = {
    "integer": lambda words: words.cast(polars().Int64, strict=False),
    "number": lambda words: words.cast(polars().Float64, strict=False),
    "boolean": _boolean,
    "date": lambda words: words.str.to_date("%Y-%m-%d", strict=False),
    "time": _time,
    "text": lambda words: words,
    "empty": lambda words: words,
}
