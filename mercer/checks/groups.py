"""Rows that belong together: several of one patient, one customer, one machine."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from mercer._words import count, fixed, listing
from mercer.checks.finding import Finding
from mercer.checks.view import NUMERIC, View, is_missing, is_whole, level_codes, n_values
from mercer.tables.columns import Column
from mercer.tables.kinds import names_rows

WHO = (
    "patient|subject|person|people|participant|user|customer|client|household|family|donor|animal"
    "|speaker|author|writer|session|device|machine|sensor|hospital|school|batch|plate|group|case"
)
WHO_NAME = re.compile(rf"(?:^|[_\-. ])(?:{WHO})(?:$|[_\-. ])", re.IGNORECASE)

FEWEST_GROUPS = 5  # with a name that says so
FEWEST_UNNAMED = 20  # without
FEWEST_ROWS = 30
CONSTANT = 0.99  # share of a column's variation that lies between groups
ALIKE_CORRELATION = 0.5  # the same, from which rows of a group are alike
SIMILAR_TARGET = 0.3
MOST_COLUMNS = 30  # that are tried, and that are looked at beside each
UNNAMED_COLUMNS = 2  # that must be constant within groups that have no such name


def check_groups(view: View) -> list[Finding]:
    """Return the column by which rows belong together, if one is suspected."""
    if len(view) < FEWEST_ROWS:
        return []
    possible = sorted(filter(_could_name, view.columns), key=lambda c: not _is_named(c))
    found = [f for column in possible[:MOST_COLUMNS] for f in _suspected(column, view)]
    return found[:1]


def _is_named(column: Column) -> bool:
    """Whether the name of a column is that of people or things."""
    return bool(WHO_NAME.search(column.name)) or names_rows(column.name)


def _could_name(column: Column) -> bool:
    """Whether a column has many values, most of them in several rows."""
    if column.form not in ("text", "category") and not is_whole(column):
        return False
    _, counts = np.unique(column.values[~is_missing(column)], return_counts=True)
    if len(counts) < FEWEST_GROUPS:
        return False
    return 2 * len(counts) <= len(column) and bool(np.median(counts) >= 2)


def _is_another_name(other: Column, column: Column) -> bool:
    """Whether a column is this one, or may be the same names written otherwise."""
    return other is column or (_could_name(other) and n_values(other) == n_values(column))


def _suspected(column: Column, view: View) -> Iterator[Finding]:
    codes = level_codes(column)
    named = _is_named(column)
    target = between(codes, view.y, view.task == "regress")
    if not named and (target < SIMILAR_TARGET or n_values(column) < FEWEST_UNNAMED):
        return
    beside = [c for c in view.features[:MOST_COLUMNS] if not _is_another_name(c, column)]
    others = {c.name: _between(codes, c) for c in beside}
    constant = [other for other, share in others.items() if share >= CONSTANT]
    alike = (
        target >= ALIKE_CORRELATION
        or constant
        or np.median([0.0, *others.values()]) >= ALIKE_CORRELATION
    )
    like_a_name = len(constant) >= max(UNNAMED_COLUMNS, len(others) / 2)
    if alike if named else like_a_name:
        yield _finding(column, constant, target, view)


def _finding(column: Column, constant: list[str], target: float, view: View) -> Finding:
    name, n = column.name, n_values(column)
    rows = count(len(view) / n, "row")
    alike = f"{view.target!r} is alike within them (correlation {fixed(target)})"
    if constant:
        alike = f"{listing(constant)} {'is' if len(constant) == 1 else 'are'} the same within them"
    sentence = (
        f"{name!r} has {n:,} values with about {rows} each, and {alike}: rows that belong together "
        f"stand in both parts of a random split, and the score says little about a new {name!r}"
    )
    advice = f"to keep rows of one {name!r} together, --group {name!r}"
    return Finding("group", "warning", (name,), sentence, advice)


# ---------------------------------------------------------------- variation between groups
def _between(codes: np.ndarray, column: Column) -> float:
    if column.form not in NUMERIC:
        return between(codes, level_codes(column), False)
    here = ~is_missing(column)
    return between(codes[here], column.values[here], True)


def between(codes: np.ndarray, values: np.ndarray, numbers: bool) -> float:
    """Return the share of the variation that lies between groups, corrected for chance.

    Of numbers the intraclass correlation (MSB − MSW) / (MSB + (m − 1) MSW); of levels how often two
    rows of a group agree, beyond how often any two do (κ).
    """
    groups, codes, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    n, k = len(codes), len(groups)
    if k < 2 or n <= k:
        return 0.0
    return _of_numbers(codes, values, sizes) if numbers else _of_levels(codes, values, sizes)


def _of_numbers(codes: np.ndarray, values: np.ndarray, sizes: np.ndarray) -> float:
    n, k = len(codes), len(sizes)
    scaled = values - values.mean()
    unit = float(np.abs(scaled).max())
    if unit == 0.0 or not np.isfinite(unit):
        return 0.0
    scaled = scaled / unit
    means = np.bincount(codes, scaled) / sizes
    within = float(((scaled - means[codes]) ** 2).sum()) / (n - k)
    among = float((sizes * means**2).sum()) / (k - 1)
    m = (n - float((sizes**2).sum()) / n) / (k - 1)
    total = among + (m - 1.0) * within
    return (among - within) / total if total > 0 else 0.0


def _of_levels(codes: np.ndarray, levels: np.ndarray, sizes: np.ndarray) -> float:
    n = len(codes)
    _, levels, totals = np.unique(levels, return_inverse=True, return_counts=True)
    _, cells = np.unique(codes * len(totals) + levels, return_counts=True)
    pairs = float((sizes * (sizes - 1.0)).sum())
    chance = float((totals * (totals - 1.0)).sum()) / (n * (n - 1.0))
    if pairs == 0.0 or chance >= 1.0:
        return 0.0
    agree = float((cells * (cells - 1.0)).sum()) / pairs
    return (agree - chance) / (1.0 - chance)
