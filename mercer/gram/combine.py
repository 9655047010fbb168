"""Weighted sums and parts of stored kernel rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numba import njit

from mercer._array import n_threads, ranges, run_tiles
from mercer._scratch import scratch

COLUMNS = 4096  # sums of so many columns stay in the first-level cache
SMALL = 2**16  # so few values are gathered at once
MAX_RUNS = 64  # more runs of consecutive columns than this are gathered instead
SERIAL = 2**20  # fewer values are not worth a second thread


@njit(cache=True, nogil=True, fastmath={"contract"})
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


@njit(cache=True, nogil=True)
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
