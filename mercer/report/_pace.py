"""How long predictions, fits and kernel values take, found out without taking long."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from mercer.report._rows import Rows
from mercer.report._subject import Subject

ROWS = (20, 100, 500, 2000)
CAUTION = 0.2  # the part of a budget that the next measurement may take


def seconds_per_row(subject: Subject, rows: Rows, budget: float) -> float:
    """Return how long the prediction of a row takes."""
    size, seconds = measured(
        lambda n: subject.predict(rows.take(np.arange(n)).data), ROWS, len(rows), budget, power=1
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
        if seconds * (larger / size) ** power > CAUTION * budget:
            break
        size, seconds = larger, _seconds(work, larger)
    return size, seconds


def _seconds(work: Callable[[int], object], size: int) -> float:
    start = time.perf_counter()
    work(size)
    return time.perf_counter() - start
