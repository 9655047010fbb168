"""A column of any table as NumPy arrays: numbers, or codes into its distinct texts."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from mercer.tables import moments, numerals

FLAGS = ["False", "True"]

TRUTHS = {"true": "True", "1": "True", "yes": "True", "false": "False", "0": "False", "no": "False"}

READABLE_SHARE = 0.95
"""Texts are numbers (or dates) if at least this share of them can be read as such."""

_NUMBERS = (int, float, np.number, Decimal, Fraction)
_NESTED = (list, dict, tuple, set, np.ndarray)


@dataclass(frozen=True)
class Column:
    """One column, read.

    ``form`` is "number" (float64, NaN is missing), "date" (seconds since 1970, NaN is missing),
    "text", "category" (declared as such) or "flag" (``values`` are codes into ``levels``, −1 is
    missing), or "nested".
    """

    name: str
    form: str
    values: np.ndarray
    levels: list[str]

    def __len__(self) -> int:
        return len(self.values)


def numbers(name: str, values: Any) -> Column:
    """Return a column of numbers."""
    return Column(name, "number", np.asarray(values, dtype=np.float64), [])


def dates(name: str, seconds: Any) -> Column:
    """Return a column of moments, in seconds since 1970."""
    return Column(name, "date", np.asarray(seconds, dtype=np.float64), [])


def flags(name: str, codes: Any) -> Column:
    """Return a column of truths: 0, 1, or −1 for missing."""
    return Column(name, "flag", np.asarray(codes, dtype=np.int64), FLAGS)


def nested(name: str, n_rows: int) -> Column:
    """Return a column whose values are themselves records, binary or lists of no numbers."""
    return Column(name, "nested", np.full(n_rows, np.nan), [])


def texts(name: str, codes: Any, levels: list[str], form: str = "text") -> Column:
    """Return a column of texts, without the blanks around them; an empty text is missing.

    The levels are those that occur, in alphabetical order.
    """
    codes = np.asarray(codes, dtype=np.int64)
    occurs = np.bincount(codes + 1, minlength=len(levels) + 1)[1:] > 0
    stripped = [level.strip() if o else "" for level, o in zip(levels, occurs, strict=True)]
    if "" not in stripped[:1] and all(a < b for a, b in pairwise(stripped)):
        return Column(name, form, codes, stripped)  # in order already, as most are
    distinct = sorted(set(stripped) - {""})
    place = {level: i for i, level in enumerate(distinct)} | {"": -1}
    new = np.array([place[level] for level in stripped] + [-1], dtype=np.int64)
    return Column(name, form, new[codes], distinct)


def from_objects(name: str, values: np.ndarray) -> Column:
    """Return a column of Python objects."""
    if values.dtype.kind in "US":
        return texts(name, *_factorised(values.astype(str).tolist()))
    here = np.array([not _is_missing(value) for value in values], dtype=bool)
    present = values[here]
    if _are(present, _NESTED):
        return _from_lists(name, here, present)
    if _are(present, (bool, np.bool_)):
        return flags(name, _spread(here, present.astype(np.int64), -1))
    if _are(present, _NUMBERS) or not here.any():
        return numbers(name, _spread(here, [float(value) for value in present], np.nan))
    if _are(present, (dt.timedelta,)):
        seconds = [value.total_seconds() for value in present]
        return numbers(name, _spread(here, seconds, np.nan))
    if _are(present, (dt.date, np.datetime64)):
        return dates(name, _spread(here, [moments.seconds(value) for value in present], np.nan))
    codes, levels = _factorised([label(value) for value in present])
    return texts(name, _spread(here, codes, -1), levels)


def _from_lists(name: str, here: np.ndarray, present: np.ndarray) -> Column:
    """Return series, lists of numbers, as their JSON; other nested values as such."""
    if not all(_is_list_of_numbers(value) for value in present):
        return nested(name, len(here))
    codes, levels = _factorised([as_json(value) for value in present])
    return texts(name, _spread(here, codes, -1), levels)


def _is_list_of_numbers(value: Any) -> bool:
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return value.ndim in (1, 2)
    if not isinstance(value, (list, tuple, np.ndarray)):
        return False
    inner = [one for one in value if not _is_missing(one)]
    numbers_ = all(isinstance(one, _NUMBERS) and not isinstance(one, bool) for one in inner)
    return numbers_ or all(_is_list_of_numbers(one) for one in inner)


def as_json(value: Any) -> str:
    """Return a list of numbers, or of lists of them, as JSON."""
    return json.dumps(value.tolist() if isinstance(value, np.ndarray) else value, default=_plain)


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else float(value)


def _factorised(values: list[str]) -> tuple[np.ndarray, list[str]]:
    """Return codes into the distinct texts; np.unique would make all as long as the longest."""
    place: dict[str, int] = {}
    codes = [place.setdefault(value, len(place)) for value in values]
    return np.array(codes, dtype=np.int64), list(place)


def _are(values: np.ndarray, kinds: tuple[type, ...]) -> bool:
    """Whether there are values and all are of these kinds."""
    found = {type(value) for value in values}
    return bool(found) and all(issubclass(kind, kinds) for kind in found)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating, Decimal, np.datetime64)) and value != value


def _spread(here: np.ndarray, present: Any, missing: float) -> np.ndarray:
    """Return the present values at their rows and ``missing`` at the others."""
    present = np.asarray(present)
    if len(present) == len(here):
        return present
    whole = np.full(len(here), missing, dtype=np.float64 if np.isnan(missing) else np.int64)
    whole[here] = present
    return whole


def label(value: Any) -> str:
    """Return a value as a text; whole numbers without a decimal point, bytes decoded."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


# ---------------------------------------------------------------- one form read as another
def as_numbers(column: Column, decimal: str = numerals.BY_VALUE) -> tuple[np.ndarray, int]:
    """Return a column as float64 (NaN: missing) and how many values could not be read."""
    if column.form == "number":
        return column.values, 0
    if column.form == "date":  # of which no number can be read
        return np.full(len(column), np.nan), int(np.isfinite(column.values).sum())
    return _by_level(column.values, column.levels, lambda level: _number(level, decimal))


def _number(level: str, decimal: str) -> float:
    return float(level == "True") if level in FLAGS else numerals.parse_number(level, decimal)


def as_seconds(column: Column, first: str = moments.BY_VALUE) -> tuple[np.ndarray, int]:
    """Return a column as seconds since 1970 and how many values could not be read.

    A number such as 20240131, or a year, is read as it is written.
    """
    if column.form == "date":
        return column.values, 0
    return _by_level(*as_codes(column), lambda level: moments.parse_date(level, first))


def as_codes(column: Column) -> tuple[np.ndarray, list[str]]:
    """Return a column as codes into its distinct values, written as texts."""
    if column.form in ("text", "category", "flag"):
        return column.values, column.levels
    here = np.isfinite(column.values)
    distinct, codes = np.unique(column.values[here], return_inverse=True)
    write = _write_date if column.form == "date" else label
    return _spread(here, codes.astype(np.int64), -1), [write(value) for value in distinct]


def _by_level(
    codes: np.ndarray, levels: list[str], parse: Callable[[str], float]
) -> tuple[np.ndarray, int]:
    """Return ``parse`` of every value, found once for each distinct one."""
    parsed = np.array([parse(level) for level in levels] + [np.nan])
    unread = np.isnan(parsed)
    unread[-1] = False
    unread[:-1] &= np.array([not numerals.is_blank(level) for level in levels], dtype=bool)
    return parsed[codes], int(unread[codes].sum())


def _write_date(seconds: float) -> str:
    return str(np.datetime64(int(seconds), "s"))
