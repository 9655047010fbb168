"""Blocks of kernel values, tile by tile: a tile stays in cache from product to last epilogue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._array import n_threads, ranges, run_tiles
from mercer.kernels.sample import Pair, Sample

TILE = 512  # rows of a tile; 512 × 512 float32 values are 1 MB, the size of a second-level cache
SERIAL = 2**18  # blocks with fewer values are not worth a second thread

Tile = tuple[slice, slice]


def tile_grid(n: int, m: int, mirror: bool) -> list[Tile]:
    """Return the tiles of an n × m block; with ``mirror`` only those on or above the diagonal."""
    height = min(TILE, n)
    width = TILE if mirror else max(TILE, TILE * TILE // height)
    return [
        (rows, columns)
        for rows in ranges(n, height)
        for columns in ranges(m, width)
        if not mirror or columns.start >= rows.start
    ]


def each_tile(
    kernel: Any,
    X: Sample,
    Y: Sample,
    dtype: np.dtype,
    use: Callable[[Tile, np.ndarray, int], None],
    mirror: bool,
) -> None:
    """Compute the tiles of k(X, Y) and hand each to ``use(tile, values, worker)``.

    The values lie in a buffer that the worker writes over for its next tile.
    """
    if X.is_sparse != Y.is_sparse:
        X, Y = (s.derive("csr", sp.csr_array) for s in (X, Y))
    tiles = tile_grid(len(X), len(Y), mirror)
    workers = count_workers(kernel, len(X) * len(Y))
    uses, work = kernel._uses(), _working_dtype(kernel, X, Y, dtype)
    size = max((t[0].stop - t[0].start) * (t[1].stop - t[1].start) for t in tiles)
    buffers = [np.empty(size, work) for _ in range(min(workers, len(tiles)))]

    def compute(tile: Tile, worker: int) -> None:
        pair = Pair(X[tile[0]], Y[tile[1]], uses, work)
        n, m = pair.shape
        values = buffers[worker][: n * m].reshape(n, m)
        kernel._fill(pair, values)
        use(tile, values, worker)

    run_tiles(compute, tiles, workers)


def count_workers(kernel: Any, n_values: int) -> int:
    """Return the number of threads for a block: one if it is small or runs Python code."""
    return n_threads() if n_values > SERIAL and kernel.releases_gil else 1


def fill_tiles(kernel: Any, X: Sample, Y: Sample, out: np.ndarray) -> None:
    """Write k(x_i, y_j) into ``out``; one triangle is computed if both samples are the same."""
    mirror = X is Y and kernel.symmetric

    def write(tile: Tile, values: np.ndarray, worker: int) -> None:
        rows, columns = tile
        out[rows, columns] = values
        if mirror and columns.start > rows.start:
            out[columns, rows] = values.T

    each_tile(kernel, X, Y, out.dtype, write, mirror)


def _working_dtype(kernel: Any, X: Sample, Y: Sample, dtype: np.dtype) -> np.dtype:
    single, double = np.dtype(np.float32), np.dtype(np.float64)
    if kernel.domain != "vectors":
        return single if dtype == single else double
    for name, sample in (("X", X), ("Y", Y)):
        if not sample.fits(double):
            raise ValueError(f"{name} has values beyond 1e150: their squares overflow; rescale it")
    return single if dtype == single and X.fits(single) and Y.fits(single) else double
