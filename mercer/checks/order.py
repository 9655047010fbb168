"""Rows that follow one another: in time, in a recording, or in a file sorted by its target."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from mercer._words import count, fixed, listing
from mercer.checks.finding import Finding
from mercer.checks.giveaway import recall_by_levels
from mercer.checks.view import View, correlation, is_missing, is_whole, ranks
from mercer.tables.columns import Column
from mercer.tables.kinds import identifies_rows, names_rows

ALIKE_CORRELATION = 0.5  # correlation with the row before, from which it matters
SURE_ERRORS = 4.0  # standard errors by which it must differ from 0
FEWEST_MOMENTS = 30
RUNS = 5  # stretches of one class, for each class: fewer are a file that is sorted by its target
BLOCKS = 32  # into which the file is cut to see whether the place of a row tells its class
SORTED = 0.9  # rank correlation, or recall, by the place of a row in the file

TIME_NAME = re.compile(r"(?:^|[_\-. ])(?:date|time|timestamp|year|month|week|day|hour)s?$", re.I)


class Series(NamedTuple):
    """The target in an order."""

    likeness: float  # of neighbours: 0 by chance, 1 equal
    n: int

    @property
    def follows(self) -> bool:
        """Whether neighbours are alike, beyond chance."""
        sure = max(ALIKE_CORRELATION, SURE_ERRORS / max(self.n, 1) ** 0.5)
        return self.n >= FEWEST_MOMENTS and self.likeness >= sure


def check_time(view: View) -> list[Finding]:
    """Return whether the target changes slowly along a column of dates or times."""
    found = [c for c in view.columns if _is_time(c) and series_along(c, view).follows]
    if not found:
        return []
    best = max(found, key=lambda c: series_along(c, view).likeness)
    likeness = fixed(series_along(best, view).likeness)
    sentence = (
        f"in the order of {best.name!r} each {view.target!r} is like the one before (correlation "
        f"{likeness}): rows held out at random lie between rows that were learned from, and the "
        f"score says nothing about later rows"
    )
    advice = f"to hold out the latest rows, --time {best.name!r}"
    return [Finding("time order", "warning", (best.name,), sentence, advice)]


def _is_time(column: Column) -> bool:
    """Whether a column says when: dates, or numbers that never fall and are called a time."""
    if column.form == "date":
        return True
    named = column.form == "number" and TIME_NAME.search(column.name.strip())
    return bool(named) and bool(np.all(np.diff(column.values) >= 0))


def series_along(column: Column, view: View) -> Series:
    """Return how alike targets are that follow one another in the order of a column."""
    here = ~is_missing(column)
    moments, y = column.values[here], view.y[here]
    if view.task == "regress":  # many rows of one moment count as their mean
        _, places, counts = np.unique(moments, return_inverse=True, return_counts=True)
        return likeness(ranks(np.bincount(places, y) / counts), "regress")
    return likeness(y[np.argsort(moments, kind="stable")], view.task)


def likeness(y: np.ndarray, task: str) -> Series:
    """Return the correlation of neighbours, or how often they agree beyond chance (κ)."""
    if len(y) < FEWEST_MOMENTS:
        return Series(0.0, len(y))
    if task == "regress":
        return Series(correlation(y[:-1], y[1:]), len(y))
    chance = float(((np.bincount(y) / len(y)) ** 2).sum())
    agree = float((y[1:] == y[:-1]).mean())
    return Series((agree - chance) / (1.0 - chance) if chance < 1.0 else 0.0, len(y))


# ---------------------------------------------------------------- the order of the file
def check_file_order(view: View) -> list[Finding]:
    """Return columns that count the rows, and whether the file reads like a recording."""
    counters = [c for c in view.features if _counts_rows(c, view)]
    if counters:
        return [_row_number(c, view) for c in counters]
    ids = [c.name for c in view.columns if identifies_rows(c)]
    said = [_left_out(ids)] if ids and view.features else []
    return said + ([_recording(view)] if _is_recording(view) else [])


def _left_out(ids: list[str]) -> Finding:
    verb = (
        "is different in every row and says"
        if len(ids) == 1
        else "are different in every row and say"
    )
    sentence = f"{listing(ids)} {verb} nothing about new rows"
    return Finding("row number", "note", tuple(ids), sentence, "nothing need be done", MENDED)


MENDED = "left out of the features"


def _counts_rows(column: Column, view: View) -> bool:
    """Whether a column is 1, 2, 3, … (of a sample: it grows from row to row)."""
    if not is_whole(column) or is_missing(column).any() or TIME_NAME.search(column.name):
        return False
    steps = np.diff(column.values)
    one = view.shape[0] > len(view) or bool(np.all(steps == 1))
    return bool(np.all(steps > 0)) and one and (len(view.features) > 1 or names_rows(column.name))


def _row_number(column: Column, view: View) -> Finding:
    name = column.name
    if not _place_tells(view):
        sentence = f"{name!r} counts the rows of the file: new rows have numbers of their own"
        return Finding("row number", "warning", (name,), sentence, f"--ignore {name!r}")
    sentence = (
        f"{name!r} counts the rows, and the file is sorted by {view.target!r}: the number of a row "
        f"gives its {view.target!r} away"
    )
    return Finding("row number", "leak", (name,), sentence, f"--ignore {name!r}")


def _place_tells(view: View) -> bool:
    """Whether the place of a row in the file tells its target."""
    place = np.arange(len(view))
    if view.task == "regress":
        return abs(correlation(place, ranks(view.y))) >= SORTED
    return recall_by_levels(place * BLOCKS // len(view), view) >= SORTED


def _is_recording(view: View) -> bool:
    """Whether target and columns change slowly from row to row, in a file that is not sorted."""
    y = view.y if view.task == "classify" else ranks(view.y)
    if view.is_sampled or not likeness(y, view.task).follows:
        return False
    if view.task == "classify" and (np.diff(view.y) != 0).sum() < RUNS * view.n_classes:
        return False
    if view.task == "regress" and abs(correlation(np.arange(len(view)), y)) >= SORTED:
        return False
    slow = [_slowness(c) for c in view.features if c.form == "number"]
    return bool(slow) and float(np.median(slow)) >= ALIKE_CORRELATION


def _slowness(column: Column) -> float:
    known = column.values[~is_missing(column)]
    return likeness(ranks(known), "regress").likeness


def _recording(view: View) -> Finding:
    sentence = (
        f"rows that follow one another in the file are alike, in {view.target!r} and in most of "
        f"{count(len(view.features), 'column')}: if it is a recording, rows held out at random are "
        f"easier than new ones"
    )
    advice = "hold out a part of its own: --time COLUMN, --group COLUMN or --test FILE"
    return Finding("time order", "note", (), sentence, advice)
