"""What a report can afford: counts of work first, then the time, and what is left out.

Counts bind first, so that a report says the same on every machine; a time limit only cuts what
would still take too long, and the page says so.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from mercer.report._rows import TableRows
from mercer.report._subject import Subject

PREDICTED_ROWS = (20, 100, 500, 2000)  # by which the time of a prediction is measured
PREDICTED_VALUES = 1e10  # numbers of the model that are read to predict all rows
NEXT_SHARE = 0.2  # the part of a budget that the next measurement may take
TIMED_DRAWS = (20, 200)  # by which the time of intervals is measured
FEWEST_ROWS = 100  # that are judged, however little time there is


class LeftOutError(Exception):
    """A section cannot be computed for this model or these rows; the text is the reason."""


def affordable_rows(
    subject: Subject, rows: TableRows, y: np.ndarray, seconds: float, seed: int
) -> tuple[np.ndarray, list[str]]:
    """Return which rows to predict, all or a random part as time allows, and words on it."""
    everything = np.arange(len(rows))
    if len(rows) <= FEWEST_ROWS:
        return everything, []
    most = max(int(PREDICTED_VALUES / numbers_read(subject)), FEWEST_ROWS)
    why = f"the model reads {numbers_read(subject):,} numbers for each of them"
    needed = 2.0 * seconds_per_row(subject, rows, seconds)  # classes, and then scores
    if seconds / needed < min(most, len(rows)):
        most = max(int(seconds / needed), FEWEST_ROWS)
        why = f"to predict all would take {needed * len(rows):.2g} s"
    if len(rows) <= most:
        return everything, []
    part = some_rows(y, most, np.random.default_rng(seed), classes=subject.task == "classify")
    note = f"the scores are of {len(part):,} of {len(rows):,} rows, drawn at random: {why}"
    return part, [note]


def values_in_time(judge: Callable[[int], int], wanted: int, budget: float) -> float:
    """Return how many values can be drawn again for intervals in the time.

    ``judge(draws)`` judges a few rows by so many draws, and returns how many values that were. Few
    draws take most of their time for other things: more are tried where these seem too slow.
    """
    values = 0.0
    for draws in TIMED_DRAWS:
        start = time.perf_counter()
        drawn = judge(draws)
        seconds = max(time.perf_counter() - start, 1e-9)
        values = drawn * budget / seconds
        if values >= wanted or seconds > NEXT_SHARE * budget:
            break
    return values


def numbers_read(subject: Subject) -> int:
    """Return how many numbers a fitted model holds, which is what a prediction of it costs."""
    fitted = [v for k, v in vars(subject.final).items() if k.endswith("_")]
    return max(sum(int(getattr(v, "nnz", getattr(v, "size", 1))) for v in fitted), 1)


def seconds_per_row(subject: Subject, rows: TableRows, budget: float) -> float:
    """Return how long the prediction of a row takes."""
    size, seconds = measured(
        lambda n: subject.predict(rows.take(np.arange(n)).data),
        *(PREDICTED_ROWS, len(rows), budget),
        power=1,
    )
    return max(seconds / size, 1e-12)


def measured(
    work: Callable[[int], object], sizes: Sequence[int], most: int, budget: float, *, power: int
) -> tuple[int, float]:
    """Return the largest size whose work is sure to be cheap, and the seconds that it takes.

    The sizes grow, since small ones say little: most of their time is overhead. The time of the
    next is expected to grow as a power of the size.
    """
    sizes = sorted({min(size, most) for size in sizes})
    size, seconds = sizes[0], _seconds(work, sizes[0])
    if seconds <= budget:  # the first run may have loaded compiled loops
        seconds = min(seconds, _seconds(work, size))
    for larger in sizes[1:]:
        if seconds * (larger / size) ** power > NEXT_SHARE * budget:
            break
        size, seconds = larger, _seconds(work, larger)
    return size, seconds


def _seconds(work: Callable[[int], object], size: int) -> float:
    start = time.perf_counter()
    work(size)
    return time.perf_counter() - start


def some_rows(y: np.ndarray, most: int, rng: np.random.Generator, *, classes: bool) -> np.ndarray:
    """Return at most about ``most`` rows in order; of each class its share, and at least one."""
    n = len(y)
    if n <= most:
        return np.arange(n)
    if not classes:
        return np.sort(rng.choice(n, most, replace=False))
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    kept = np.maximum(np.floor(counts * (most / n)).astype(int), 1)
    parts = [
        rng.choice(np.flatnonzero(codes == code), size, replace=False)
        for code, size in enumerate(kept)
    ]
    return np.sort(np.concatenate(parts))


@contextmanager
def collected(*categories: type[Warning]) -> Iterator[list[str]]:
    """Collect what fits for a comparison warn of, to be said on the page; others go on."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        for category in categories:
            warnings.simplefilter("always", category)
        yield texts
    for warning in caught:
        if issubclass(warning.category, categories):
            texts.append(str(warning.message))
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
