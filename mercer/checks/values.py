"""Columns whose values are odd: numbers that stand for missing ones, constants, duplicates."""

from __future__ import annotations

import re

import numpy as np

from mercer._words import count, listing, short_number
from mercer.checks.finding import Finding
from mercer.checks.view import NUMERIC, View, is_missing, level_codes, n_values
from mercer.tables.columns import Column

NINES = re.compile(r"-9|-?99+|-?9+\.9+")
FEWEST_TIMES = 3  # that a stand-in for missing values occurs
FEWEST_SHARE = 0.005  # of the rows that it stands in
FEWEST_OTHERS = 10  # different values beside it
FAR_DEVIATIONS = 1.0  # distance from the nearest other value, in standard deviations of the others
VERY_FAR = 1.5  # the same for 0, which is an ordinary number elsewhere


def check_sentinels(view: View) -> list[Finding]:
    """Return numbers such as −999 that stand for a missing value."""
    found = [(c.name, v) for c in view.columns if c.form == "number" for v in _sentinels(c)]
    by_value: dict[float, list[str]] = {}
    for name, value in found:
        by_value.setdefault(value, []).append(name)
    return [_stands_for_missing(value, names, view) for value, names in by_value.items()]


def _stands_for_missing(value: float, names: list[str], view: View) -> Finding:
    times = [int((c.values == value).sum()) for c in view.columns if c.name in names]
    number = short_number(value)
    sentence = (
        f"{number} occurs {count(sum(times), 'time')} in {listing(names)}, far from all other "
        f"values: it looks like a sign for a missing value and is taken as a number"
    )
    advice = f"to read it as missing, --na={number}" if value else "make it an empty cell"
    return Finding("sentinel", "warning" if value else "note", tuple(names), sentence, advice)


def _sentinels(column: Column) -> list[float]:
    """Return the smallest and the largest value where they look like a sign."""
    known = column.values[~is_missing(column)]
    if not len(known):
        return []
    return [v for v in {float(known.min()), float(known.max())} if _is_sentinel(v, known)]


def _is_sentinel(value: float, known: np.ndarray) -> bool:
    others = known[known != value]
    if not _is_sign(value, others) or len(np.unique(others)) < FEWEST_OTHERS:
        return False
    often = len(known) - len(others) >= max(FEWEST_TIMES, FEWEST_SHARE * len(known))
    gap, spread = float(np.abs(others - value).min()), float(others.std())
    return often and gap >= (FAR_DEVIATIONS if value else VERY_FAR) * spread


def _is_sign(value: float, others: np.ndarray) -> bool:
    """Whether people write this number for a missing one: nines, or −1 or 0 below the others."""
    nines = NINES.fullmatch(f"{value:.10g}") is not None
    return nines or (value in (-1.0, 0.0) and len(others) > 0 and float(others.min()) > 0.0)


# ---------------------------------------------------------------- constants and duplicates
def check_constants(view: View) -> list[Finding]:
    """Return the columns that are the same in every row."""
    if view.shape[0] > len(view):
        return []  # a rare value may not be in the sample
    names = [c.name for c in view.columns if n_values(c) == 0 or _is_constant(c)]
    if not names:
        return []
    verb = "has the same value, or none, in every row" if len(names) == 1 else _CONSTANT
    advice = "nothing need be done"
    left_out = "left out of the features"
    return [Finding("constant", "note", tuple(names), f"{listing(names)} {verb}", advice, left_out)]


_CONSTANT = "have the same value, or none, in every row"


def _is_constant(column: Column) -> bool:
    return n_values(column) == 1 and not is_missing(column).any()


def check_duplicates(view: View) -> list[Finding]:
    """Return the columns that say the same as another one, value by value."""
    first: dict[bytes, str] = {}
    pairs: list[tuple[str, str]] = []
    for column in view.features:
        key = _signature(column)
        pairs += [(column.name, first[key])] if key in first else []
        first.setdefault(key, column.name)
    return [_same(pairs)] if pairs else []


def _signature(column: Column) -> bytes:
    """Return bytes that are equal for columns with equal numbers, or with the same partition."""
    if column.form in NUMERIC:
        return b"number" + (column.values + 0.0).tobytes()
    return b"levels" + _by_appearance(level_codes(column)).tobytes()


def _by_appearance(codes: np.ndarray) -> np.ndarray:
    """Return codes numbered in the order in which they occur."""
    _, first, places = np.unique(codes, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[places]


def _same(pairs: list[tuple[str, str]]) -> Finding:
    names = tuple(name for name, _ in pairs)
    told = ", ".join(f"{name!r} is {other!r} again" for name, other in pairs[:3])
    more = f" and {len(pairs) - 3} more" if len(pairs) > 3 else ""
    advice = " ".join(f"--ignore {name!r}" for name in names[:3])
    return Finding("duplicate column", "note", names, f"{told}{more}", f"{advice} loses nothing")
