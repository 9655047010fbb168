"""Rows that are nearly copies: measured again, noise added, rounded otherwise.

Where rows are made of others, the nearest few are far nearer than the next. In d dimensions a
neighbour is ten times nearer than the next one with a probability of 10⁻ᵈ, so that many such gaps
are no chance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer._words import count, percent
from mercer.checks.finding import Finding
from mercer.checks.view import View, is_missing, is_whole, n_values
from mercer.tables.columns import Column

FEWEST_ROWS = 30
FEWEST_COLUMNS = 3  # of numbers with many values
MANY_VALUES = 0.1  # different ones, as a share of the rows
FEWEST_VALUES = 20
ASKED = 200  # rows whose neighbours are looked for
NEIGHBOURS = 50
GAP = 10.0  # how many times farther the next neighbour is
NEAR = 0.1  # of the usual distance of two rows
SUSPICIOUS = 0.25  # share of the rows that have such a gap; real tables have up to 0.17
FARTHEST = 5.0  # spreads from the middle of a column, beyond which values are all alike


def check_near_copies(view: View) -> list[Finding]:
    """Return whether many rows are nearly the same as others."""
    columns = [c for c in view.features if _has_many_values(c)]
    if len(view) < FEWEST_ROWS or len(columns) < FEWEST_COLUMNS:
        return []
    share = share_with_near_copies(_in_spreads(columns), view.seed)
    if share < SUSPICIOUS:
        return []
    sentence = (
        f"about {percent(share, 0)} of the rows have others that are nearly the same in all "
        f"{count(len(columns), 'column')} of numbers, {GAP:.0f} times nearer than the next rows: "
        f"split at random they stand on both sides, and the score could not be believed"
    )
    advice = (
        "keep rows of one origin on one side, by --group and a column that names it, or remove "
        "all but one of them"
    )
    return [Finding("near copies", "leak", (), sentence, advice)]


def _has_many_values(column: Column) -> bool:
    """Whether a column holds quantities; whole numbers that are all different are names of rows."""
    n, fewest = n_values(column), max(MANY_VALUES * len(column), FEWEST_VALUES)
    return column.form == "number" and n >= fewest and not (n == len(column) and is_whole(column))


def _in_spreads(columns: Sequence[Column]) -> np.ndarray:
    """Return columns less their medians, in units of the middle 80 % of their values."""
    found = []
    for column in columns:
        here = ~is_missing(column)
        low, middle, high = np.quantile(column.values[here], [0.1, 0.5, 0.9])
        with np.errstate(over="ignore"):
            spread = high - low
        if not 0.0 < spread < np.inf:
            continue
        values = np.where(here, (np.where(here, column.values, middle) - middle) / spread, 0.0)
        found.append(np.clip(values, -FARTHEST, FARTHEST))
    return np.column_stack(found) if len(found) >= FEWEST_COLUMNS else np.zeros((0, 0))


def share_with_near_copies(Z: np.ndarray, seed: int) -> float:
    """Return the share of rows that have neighbours far nearer than the next ones."""
    n = len(Z)
    if n < FEWEST_ROWS:
        return 0.0
    rows = np.sort(np.random.default_rng(seed).permutation(n)[:ASKED])
    squares = (Z**2).sum(axis=1)
    far = squares[rows, None] + squares - 2.0 * (Z[rows] @ Z.T)
    far[np.arange(len(rows)), rows] = np.inf
    usual = float(np.sqrt(max(np.median(far[np.isfinite(far)]), 0.0)))  # squares cancel
    nearest = np.argpartition(far, min(NEIGHBOURS, n - 2), axis=1)[:, : NEIGHBOURS + 1]
    # of the difference itself: what is left of squares that cancel is rounding
    distance = np.sort(
        [np.linalg.norm(Z[near] - Z[row], axis=1) for row, near in zip(rows, nearest, strict=True)]
    )[:, : min(NEIGHBOURS + 1, n - 1)]
    inner, next_ = distance[:, :-1], distance[:, 1:]
    gaps = (inner > 0.0) & (inner <= NEAR * usual) & (next_ >= GAP * inner)
    return float(gaps.any(axis=1).mean())
