"""Weighted sums and parts of stored kernel rows; values among pairs of groups of points."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from mercer._array import n_threads, ranges, run_tiles
from mercer._compiled import REORDER, compiled
from mercer._scratch import scratch
from mercer.gram.base import Gram

COLUMNS = 4096  # sums of so many columns stay in the first-level cache
SMALL = 2**16  # so few values are gathered at once
MAX_RUNS = 64  # more runs of consecutive columns than this are gathered instead
SERIAL = 2**20  # fewer values are not worth a second thread
FEW_SUMS = 12  # more of them are faster as a matrix product of values in float64


@compiled(fastmath={"contract"})
def _add_rows(values, rows, weights, start, out):
    for r in range(len(rows)):
        row = values[rows[r], start : start + len(out)]
        w = weights[r]
        for k in range(len(out)):
            out[k] += w * row[k]


def combine_rows(
    values: np.ndarray, rows: np.ndarray, weights: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """Return Σᵣ wᵣ values[rows[r], columns] in float64; fast where columns come in long runs."""
    if len(rows) * len(columns) < SMALL:
        return weights @ gather(values, rows, columns)
    breaks = np.flatnonzero(np.diff(columns) != 1) + 1
    if len(breaks) > MAX_RUNS:
        return weights @ gather(values, rows, columns).astype(np.float64, copy=False)
    out = np.zeros(len(columns))
    rows, weights = rows.astype(np.int64, copy=False), np.asarray(weights, dtype=np.float64)
    edges = [0, *breaks.tolist(), len(columns)]
    pieces = [
        slice(a + piece.start, a + piece.stop)
        for a, b in pairwise(edges)
        for piece in ranges(b - a, COLUMNS)
    ]

    def add(piece: slice, worker: int) -> None:
        _add_rows(values, rows, weights, int(columns[piece.start]), out[piece])

    run_tiles(add, pieces, n_threads() if len(rows) * len(columns) > SERIAL else 1)
    return out


@compiled(fastmath=REORDER)
def _add_products(values, weights, out):
    for c in range(weights.shape[0]):
        column = weights[c].copy()  # one run of memory, or nothing would be vectorised
        for i in range(values.shape[0]):
            total = 0.0
            for j in range(values.shape[1]):
                total += np.float64(values[i, j]) * column[j]
            out[i, c] += total


def add_products(values: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
    """Add values @ weights.T to ``out``, in float64 whatever the precision of the values."""
    if values.dtype == np.float32 and len(weights) <= FEW_SUMS:
        _add_products(values, weights, out)
    else:
        out += values.astype(np.float64, copy=False) @ weights.T


@compiled()
def _gather(values, rows, columns, places, out):
    for r in range(out.shape[0]):
        row = values[rows[r]]
        for k in range(len(columns)):
            out[r, places[k]] = row[columns[k]]


def gather_into(
    values: np.ndarray, rows: np.ndarray, columns: np.ndarray, places: np.ndarray, out: np.ndarray
) -> None:
    """Write values[rows][:, columns] into ``out[:, places]`` without a copy of whole rows."""
    rows, columns, places = (
        np.ascontiguousarray(i, dtype=np.int64) for i in (rows, columns, places)
    )
    if len(rows) * len(columns) < SERIAL:
        _gather(values, rows, columns, places, out)
        return

    def copy(part: slice, worker: int) -> None:
        _gather(values, rows[part], columns, places, out[part])

    run_tiles(copy, ranges(len(rows), 64), n_threads())


def gather(values: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return values[rows][:, columns]."""
    if not values.flags.c_contiguous or values.dtype not in (np.float32, np.float64):
        return values[np.ix_(rows, columns)]
    out = scratch((len(rows), len(columns)), values.dtype)
    gather_into(values, rows, columns, np.arange(len(columns)), out)
    return out


class PairBlocks:
    """The values of any two groups as one matrix, from blocks that pairs share, computed once.

    Pairs are asked for group by group: ``start(i)`` computes the blocks of group i against all
    later ones at once, in all threads; ``matrix(i, j)`` puts a pair together and may be called by
    several threads.
    """

    def __init__(self, K: Gram, groups: list[np.ndarray]):
        self.K, self.groups = K, groups
        self._own = [K.among(group) for group in groups]
        self._edges = np.cumsum([0, *map(len, groups)])
        self._first, self._strip = -1, np.empty((0, 0))

    @staticmethod
    def nbytes(sizes: list[int], itemsize: int) -> int:
        """Return the bytes that blocks of groups of these sizes take."""
        return (sum(n * n for n in sizes) + max(sizes) * sum(sizes)) * itemsize

    def start(self, i: int) -> None:
        """Compute the blocks of group i with all later ones."""
        later = np.concatenate([*self.groups[i + 1 :], np.empty(0, np.intp)])
        self._first, self._strip = i, self.K._block(self.groups[i], later)

    def matrix(self, i: int, j: int) -> np.ndarray:
        """Return the values among groups i < j, those of group i first."""
        if i != self._first:
            raise ValueError(f"group {i} has not been started; the current one is {self._first}")
        n, m = len(self.groups[i]), len(self.groups[j])
        offset = self._edges[i + 1]
        cross = self._strip[:, self._edges[j] - offset : self._edges[j + 1] - offset]
        out = scratch((n + m, n + m), self.K.dtype, brief=True)
        out[:n, :n], out[n:, n:] = self._own[i], self._own[j]
        out[:n, n:], out[n:, :n] = cross, cross.T
        return out
