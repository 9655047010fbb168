"""Kernel values of rows with few columns, straight from the differences of the rows.

A matrix product takes most of its time to begin where there are few columns, and what it returns
must be searched for what has cancelled. Differences cancel nothing; and rows to values in one
compiled loop needs Python once for each thread, not once for each tile.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mercer._array import n_threads, run_tiles
from mercer._clock import deadline, look
from mercer.kernels import _direct_loops as loops
from mercer.kernels.sample import Sample

MOST_COLUMNS = 128  # of rows that are compared one by one; beyond, a matrix product is faster
# and of blocks of rows, for which a product has more to do at once
MOST_OF_BLOCKS = {np.dtype(np.float32): 40, np.dtype(np.float64): 14}
SERIAL = 2**18  # values that are not worth a second thread
MOST_SWAPPED = 200  # yⱼ: of more, sums go along them
LEAST_RUN = 64  # values
SUMS_AT_ONCE = 2**15  # that stay in the second cache
VALUES_BETWEEN_LOOKS = 2**23  # values after which a thread comes back for Ctrl-C and the clock


def fixed(array: np.ndarray) -> np.ndarray:
    """Return an array that is not written to: one kind for loops, whoever owns it."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


class Differences(NamedTuple):
    """Two samples of rows, ready for exp(−rate · Σ|x − y|ᵖ) or of the sum's root."""

    X: np.ndarray
    YT: np.ndarray  # columns one after the other
    squares: bool  # p = 2, else p = 1
    root: bool
    scale: Any  # −rate, in the precision of the values
    finer: bool  # whether the rows were given in a finer precision
    fine: np.ndarray  # the rows as they were given, if so
    other_fine: np.ndarray
    xx: np.ndarray  # squared norms of X and Y if they are finer, else nothing
    yy: np.ndarray

    @classmethod
    def of(
        cls,
        X: Sample,
        Y: Sample,
        dtype: np.dtype,
        p: float,
        power: float,
        rate: float,
        most_columns: int = MOST_COLUMNS,
    ) -> Differences | None:
        """Return them; None where a matrix product serves better, or tiles can do more."""
        roots = {1.0: False, 0.5: True}
        if X.is_sparse or Y.is_sparse or p not in (1.0, 2.0) or power not in roots:
            return None
        if X.data.shape[1] > most_columns:
            return None
        given = np.result_type(X.dtype, Y.dtype, dtype)
        finer = bool(given != dtype)
        left, right = (s.shifted(dtype, Y) if finer else s for s in (X, Y))
        rows, columns = left.rows(dtype), right.columns(dtype)
        none = np.empty(0, dtype)
        norms = [s.squared_norms(dtype) if finer else none for s in (left, right)]
        scale = dtype.type(-min(rate, float(np.finfo(dtype).max)))
        # one type for loops, whatever was given
        as_given = (X.rows(given), Y.rows(given)) if finer else (np.empty((0, 0)),) * 2
        rows, columns, *rest = map(fixed, (rows, columns, *as_given, *norms))
        return cls(rows, columns, p == 2.0, roots[power], scale, finer, *rest)

    @classmethod
    def none(cls, dtype: np.dtype) -> Differences:
        """Return those of no rows, of the same type."""
        nothing, fine = fixed(np.empty((0, 0), dtype)), fixed(np.empty((0, 0)))
        flat = fixed(np.empty(0, dtype))
        return cls(nothing, nothing, True, False, dtype.type(0), False, fine, fine, flat, flat)

    @property
    def suits_blocks(self) -> bool:
        """Whether blocks of values are computed faster than by a matrix product."""
        return self.X.shape[1] <= MOST_OF_BLOCKS[self.X.dtype]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.X), self.YT.shape[1]

    def fill(self, out: np.ndarray, mirror: bool) -> None:
        """Write all values; with ``mirror`` X and Y are one, and half of the values serve both."""
        self._in_threads(lambda *part: loops.fill(self, *part, mirror, out))
        if mirror:
            workers = self._workers()
            parts = workers * max(1, out.size // VALUES_BETWEEN_LOOKS)
            _side_by_side(lambda part: loops.copy_upper(part, parts, out), parts, workers)

    def sums(self, weights: np.ndarray) -> np.ndarray:
        """Return Σⱼ k(xᵢ, yⱼ) weightsⱼₜ, multiplied and added up in float64, shape (n, t)."""
        return self.sums_of_parts(weights, [len(weights)])[:, 0]

    def sums_of_parts(self, weights: np.ndarray, stops: Any) -> np.ndarray:
        """Return the sums over each part of the yⱼ, of which part p ends at stopsₚ: (n, p, t)."""
        by_column = np.ascontiguousarray(weights.T, dtype=np.float64)
        stops = np.asarray(stops, dtype=np.int64)
        out = np.zeros((len(self.X), len(stops), len(by_column)))
        if self.YT.shape[1] < min(len(self.X), MOST_SWAPPED):
            self._add_across(by_column, stops, out)
        else:
            room = np.empty((self._workers(), loops.WIDTH), self.X.dtype)
            self._in_threads(lambda *part: loops.add_sums(self, by_column, stops, *part, room, out))
        return out

    def _add_across(self, weights: np.ndarray, stops: np.ndarray, out: np.ndarray) -> None:
        """Add the sums of few yⱼ: a run of values costs something however short it is."""
        swapped, workers = self._swapped(), self._workers()
        width = min(loops.WIDTH, max(LEAST_RUN, SUMS_AT_ONCE // out[0].size))
        room = np.empty((workers, width), self.X.dtype)
        sums = np.empty((workers, *out.shape[1:], width))
        self._in_threads(
            lambda *part: loops.add_sums_across(swapped, weights, stops, *part, room, sums, out)
        )

    def _swapped(self) -> Differences:
        """Return the same with X and Y in each other's place."""
        return self._replace(
            X=fixed(self.YT.T),
            YT=fixed(self.X.T),
            fine=self.other_fine,
            other_fine=self.fine,
            xx=self.yy,
            yy=self.xx,
        )

    def _workers(self) -> int:
        n, m = self.shape
        return n_threads() if n * m > SERIAL else 1

    def _in_threads(self, work: Any) -> None:
        """Call work(first, last, worker, workers) until all rows are done."""
        (n, m), workers = self.shape, self._workers()
        step = max(loops.STRIP * workers, VALUES_BETWEEN_LOOKS // max(1, m))

        for first in range(0, n, step):
            last = min(first + step, n)
            _side_by_side(partial(_of_worker, work, first, last, workers), workers, workers)


def _of_worker(work: Any, first: int, last: int, workers: int, worker: int) -> None:
    work(first, last, worker, workers)


def _side_by_side(work: Callable[[int], None], parts: int, workers: int) -> None:
    """Call work(part) for each of them; none uses BLAS, which a single one need not hold then."""
    if parts == 1:
        look(deadline())
        work(0)
    else:
        run_tiles(lambda part, _: work(part), range(parts), workers)
