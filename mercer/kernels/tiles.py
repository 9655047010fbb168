"""Blocks of kernel values, tile by tile: a tile stays in cache from product to last epilogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._array import in_pool, n_threads, ranges, run_tiles
from mercer._scratch import scratch
from mercer.kernels.direct import Differences
from mercer.kernels.sample import Pair, Sample

# rows of a tile: 496 × 496 float32 values fit a second-level cache of 1 MB; a power of two would
# make the columns of a tile fall onto the same cache lines when it is transposed
TILE = 496
SERIAL = 2**25  # blocks of less work (values × columns of X) are not worth a second thread

Tile = tuple[slice, slice]
Stored = Mapping[str, np.ndarray]
NONE_STORED: Stored = MappingProxyType({})


def tile_grid(n: int, m: int, mirror: bool, workers: int = 1) -> list[Tile]:
    """Return the tiles of an n × m block; with ``mirror`` only those on or above the diagonal.

    Tiles are small enough for every worker to get a few.
    """
    height = max(1, min(TILE, n))
    if mirror:
        # a multiple of 8, as many numbers as a vector register holds
        height = width = (
            height if workers == 1 else min(height, max(64, 8 * -(-n // (24 * workers))))
        )
    else:
        width = max(TILE, TILE * TILE // height)
        strips = -(-n // height)
        width = width if workers == 1 else min(width, max(64, -(-m * strips // (2 * workers))))
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
    stored: Stored = NONE_STORED,
) -> None:
    """Compute the tiles of k(X, Y) and hand each to ``use(tile, values, worker)``.

    The values lie in a buffer that the worker writes over for its next tile. Statistics that are
    ``stored``, each of shape (n, m), are copied.
    """
    if X.is_sparse != Y.is_sparse:
        X, Y = (s.derive("csr", sp.csr_array) for s in (X, Y))
    workers = count_workers(kernel, X, Y)
    tiles = tile_grid(len(X), len(Y), mirror, workers)
    if not tiles:
        return
    uses, work = kernel._uses(), working_dtype(kernel, X, Y, dtype)
    size = max((t[0].stop - t[0].start) * (t[1].stop - t[1].start) for t in tiles)
    buffers = [scratch((size,), work, brief=True) for _ in range(min(workers, len(tiles)))]
    strips = [Strip(X) for _ in buffers]
    parts: dict[int, Sample] = {}  # of Y, with what they have derived

    def compute(tile: Tile, worker: int) -> None:
        known: dict[Any, Any] = {name: values[tile] for name, values in stored.items()}
        rows, columns = tile
        if columns.start not in parts:
            parts[columns.start] = Y[columns]
        pair = Pair(strips[worker].of(rows), parts[columns.start], uses, work, known)
        n, m = pair.shape
        values = buffers[worker][: n * m].reshape(n, m)
        kernel._fill(pair, values)
        use(tile, values, worker)

    run_tiles(compute, tiles, workers)


class Strip:
    """The rows of a tile, which the next one mostly has, too."""

    def __init__(self, X: Sample):
        self._X, self._rows, self._part = X, slice(0), X

    def of(self, rows: slice) -> Sample:
        """Return these rows of the sample."""
        if rows != self._rows:
            self._rows, self._part = rows, self._X[rows]
        return self._part


def count_workers(kernel: Any, X: Sample, Y: Sample) -> int:
    """Return the number of threads for a block.

    One if it is small or runs Python code, or if this thread is one of several already: the tiles,
    and with them the last bits, then do not depend on the number of cores.
    """
    work = len(X) * len(Y) * work_per_value(X, kernel)
    return n_threads() if work > SERIAL and kernel.releases_gil and not in_pool() else 1


def work_per_value(X: Sample, kernel: Any) -> int:
    """Return about how many operations one kernel value costs; some kernels say it themselves."""
    columns = X.data.shape[1] if getattr(X.data, "ndim", 0) == 2 else 0
    told = [leaf.work_per_value(X) for leaf in kernel.leaves() if hasattr(leaf, "work_per_value")]
    return max([32 + columns, *told])


def fill_tiles(
    kernel: Any, X: Sample, Y: Sample, out: np.ndarray, stored: Stored = NONE_STORED
) -> None:
    """Write k(x_i, y_j) into ``out``; one triangle is computed if both samples are the same."""
    mirror = X is Y and kernel.symmetric
    direct = None if stored else block_differences(kernel, X, Y, out.dtype)
    if direct is not None and out.flags.c_contiguous:
        direct.fill(out, mirror)
        return

    def write(tile: Tile, values: np.ndarray, worker: int) -> None:
        rows, columns = tile
        out[rows, columns] = values
        if mirror and columns.start > rows.start:
            out[columns, rows] = values.T

    each_tile(kernel, X, Y, out.dtype, write, mirror, stored)


def differences(
    kernel: Any, X: Sample, Y: Sample, dtype: np.dtype, **most_columns: int
) -> Differences | None:
    """Return what computes rows of values from the differences of rows, if that is the fastest."""
    known = getattr(kernel, "differences", None)
    if known is None or working_dtype(kernel, X, Y, dtype) != dtype:
        return None
    return known(X, Y, np.dtype(dtype), **most_columns)


def block_differences(kernel: Any, X: Sample, Y: Sample, dtype: np.dtype) -> Differences | None:
    """Return the same where it is the fastest for blocks, too."""
    found = differences(kernel, X, Y, dtype)
    return found if found is not None and found.suits_blocks else None


def working_dtype(kernel: Any, X: Sample, Y: Sample, dtype: np.dtype) -> np.dtype:
    single, double = np.dtype(np.float32), np.dtype(np.float64)
    if kernel.domain != "vectors":
        return single if dtype == single else double
    return single if dtype == single and X.fits_single and Y.fits_single else double
