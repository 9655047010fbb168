"""How a ridge problem of so many rows is solved: one function, whose docstring is the ladder."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor

from mercer._array import format_bytes, n_threads
from mercer.gram import gram
from mercer.kernels.base import Kernel
from mercer.kernels.sample import Sample
from mercer.solvers.ridge_folds import FOLDS
from mercer.solvers.ridge_run import add_square
from mercer.solvers.span import BLOCK_VALUES, COPIES, CORES, Span

NORMAL_UP_TO = 4000  # landmarks: beyond, conjugate gradients take less time than n·m²
LEAST_LANDMARKS = 200
TIMED_ROWS = 1000  # by which a forecast is made
PRODUCTS = 20  # with the whole matrix, beside its factor: refinement and proof
EIGENVECTORS = 4  # times n³ multiplications: what decomposing, and the rounds before it, take
CG_PASSES = 12  # of all rows, about


def forecast(span: Span, rows: Sample, n: int, route: RidgeRoute) -> float:
    """Return about how many seconds the passes will take, measured on a few rows.

    A pass of n·m kernel values for each, and for normal equations n·m² operations more.
    """
    some = rows[: min(len(rows), TIMED_ROWS)]
    start = time.perf_counter()
    values = span.values(some)
    seconds = (time.perf_counter() - start) * route.passes
    if route.name == "normal":
        start = time.perf_counter()
        add_square(np.zeros((span.rank, span.rank)), values)
        seconds += time.perf_counter() - start
    return seconds * n / max(len(some), 1) / n_threads()


def _seconds(work: Callable[[], Any]) -> float:
    """Return what it takes when nothing has to be loaded any more: the better of two runs."""
    times = []
    for _ in range(2):
        start = time.monotonic()
        work()
        times.append(time.monotonic() - start)
    return max(min(times), 1e-9)


class RidgePace(NamedTuple):
    """What steps of a fit take on this machine, in seconds."""

    value: float  # a kernel value
    product: float  # a multiplication and an addition of a factor in float32

    @classmethod
    def measured(cls, kernel: Kernel, rows: Sample) -> RidgePace:
        """Time a small matrix, and a factor as `solve_ridge` makes it of many rows."""
        some = rows[: min(len(rows), TIMED_ROWS)]
        matrix = _seconds(lambda: gram(kernel, some, storage="dense", dtype=np.float64))
        A = np.eye(TIMED_ROWS, dtype=np.float32) + np.float32(1.0 / TIMED_ROWS)
        factor = _seconds(lambda: cho_factor(A, lower=True, check_finite=False))
        return cls(matrix / len(some) ** 2, factor * 6.0 / TIMED_ROWS**3)

    def exact(self, n: int) -> float:
        """Return about what a fit takes that has a coefficient for each row."""
        return (self.value + PRODUCTS * self.product) * n * n + self.product * n**3 / 6.0

    def in_span(self, n: int, m: int) -> float:
        """Return about what the normal equations of m landmarks take."""
        return (2.0 * self.value + m * self.product) * n * m + 4.0 * self.product * m**3

    def rows_within(self, seconds: float) -> int:
        """Return how many rows leave-one-out has time for."""
        return max(int((seconds / (EIGENVECTORS * self.product)) ** (1 / 3)), LEAST_LANDMARKS)

    def landmarks_within(self, seconds: float, n: int) -> int:
        """Return how many landmarks n rows have time for; 0: every row is one."""
        if self.exact(n) <= seconds:
            return 0
        m = min(NORMAL_UP_TO, n)
        while m > LEAST_LANDMARKS and self.in_span(n, m) > seconds:
            m = max(int(0.8 * m), LEAST_LANDMARKS)
        return m


class RidgeRoute(NamedTuple):
    """A way to the solution, and what it will take."""

    name: str
    landmarks: int  # 0: every row has a coefficient of its own
    passes: int
    nbytes: int

    def __str__(self) -> str:
        if not self.landmarks:
            return f"all rows in memory, {format_bytes(self.nbytes)}"
        ways = {"normal": "normal equations", "cg": "conjugate gradients"}
        return (
            f"{ways[self.name]} over {self.landmarks:,} landmarks, about {self.passes} passes over "
            f"the rows, {format_bytes(self.nbytes)}"
        )


def choose_route(
    asked: str,
    n: int,
    n_columns: int,
    landmarks: int | None,
    *,
    n_targets: int,
    several: bool,
    in_memory: bool,
    budget: int,
) -> RidgeRoute:
    """Return how to solve a ridge problem; the first of these that holds.

    1. "exact": no landmarks are asked for, and the rows are an array in memory, or they and two
       matrices of all pairs fit into the budget; or there are no more rows than landmarks;
    2. "normal": up to 4,000 landmarks (or several λ, which all come from one pass), whose matrices,
       one for each fold and worker, fit into the budget: the normal equations in one pass, a
       second pass for the proof;
    3. "cg": conjugate gradients, a pass for each step.

    Where rows are not in memory and no landmarks are asked for, 2√n of them are taken, at least
    200, as far as their matrices fit.

    Parameters
    ----------
    asked : {"auto", "exact", "normal", "cg"}
        The route that was asked for.
    n, n_columns : int
        Rows and columns.
    landmarks : int or None
        The number of landmarks that was asked for.
    n_targets : int
        Targets.
    several : bool
        Whether λ is chosen among several.
    in_memory : bool
        Whether the rows are an array.
    budget : int
        Bytes.
    """
    whole = 2 * 8 * n * n + 8 * n * n_columns
    few = landmarks is not None and landmarks >= n
    if asked == "exact":
        if landmarks is not None and not few:
            raise ValueError(f"route='exact' uses no landmarks; got landmarks={landmarks}")
        return RidgeRoute("exact", 0, 1, whole)
    if asked == "auto" and (few or (landmarks is None and (in_memory or whole <= budget))):
        return RidgeRoute("exact", 0, 1, whole)
    folds = FOLDS if several else 1
    m = min(landmarks or _own_number(n, n_targets, folds, budget), n)
    normal = RidgeRoute("normal", m, 2, _bytes_of_normal(m, n_targets, folds))
    fits = normal.nbytes <= budget and (m <= NORMAL_UP_TO or several)
    if asked == "normal" or (asked == "auto" and fits):
        return normal
    return RidgeRoute("cg", m, CG_PASSES + (2 if several else 0), _bytes_of_cg(m, n_targets))


def landmarks_for(asked: Any, n: int, budget: int) -> int:
    """Return how many landmarks were asked for, else 2√n, at least 200, as far as these fit."""
    if asked is not None:
        return min(int(asked) if np.ndim(asked) == 0 else len(asked), n)
    m = max(int(2 * n**0.5), LEAST_LANDMARKS)
    while m > LEAST_LANDMARKS and _bytes_of_cg(m, 1) > budget:
        m = max(int(0.8 * m), LEAST_LANDMARKS)
    return min(m, n)


def _own_number(n: int, n_targets: int, folds: int, budget: int) -> int:
    m = max(int(2 * n**0.5), LEAST_LANDMARKS)
    while m > LEAST_LANDMARKS and _bytes_of_normal(m, n_targets, folds) > budget:
        m = max(int(0.8 * m), LEAST_LANDMARKS)
    return m


def _bytes_of_normal(m: int, n_targets: int, folds: int) -> int:
    """Return the bytes of the sums, one for each worker and two more, and of what solves them."""
    size, workers = m + 1 + n_targets, n_threads()
    return 8 * ((workers + 2) * folds * size * size + CORES * m * m) + _values(m, workers)


def _bytes_of_cg(m: int, n_targets: int) -> int:
    return 8 * (CORES * m * m + 20 * m * n_targets) + _values(m, n_threads())


def _values(m: int, workers: int) -> int:
    return 8 * workers * COPIES * max(BLOCK_VALUES, m)
