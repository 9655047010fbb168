"""Nearest rows in Euclidean distance: a tree where columns are few, else one product in float32.

The product gives a lower bound of each distance; what the bounds do not rule out is computed from
the differences in float64. Both ways end with the same lists, in the order of (distance, position).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from mercer._array import n_threads, ranges, run_tiles
from mercer._scratch import scratch
from mercer.solvers import _neighbour_loops as loops

BLOCK = 256, 1024  # rows and points of a block of bounds: 1 MB of float32
SERIAL = 2**25  # less work (pairs × columns) is not worth a second thread
LEAF = 24  # points in a leaf of the tree
LEAST_FOR_TREE = 500  # points; fewer are compared as fast as a tree is built
SINGLE, DOUBLE = (float(np.finfo(dtype).eps) for dtype in (np.float32, np.float64))


def find_nearest(
    X: np.ndarray,
    Y: np.ndarray,
    best: np.ndarray,
    index: np.ndarray,
    *,
    tree: bool | None = None,
    block: tuple[int, int] = BLOCK,
    workers: int | None = None,
) -> None:
    """Write squared distances and positions of the nearest rows of Y, each of shape (m, k).

    Rows are float64; ``best`` and ``index`` come filled with inf and len(Y). None leaves the way
    and the number of threads to the size of the task.
    """
    if tree is None:
        tree = tree_is_faster(len(Y), Y.shape[1], best.shape[1])
    if not tree:
        _by_bounds(X, Y, best, index, block, workers)
        return
    unsure = _by_tree(X, Y, best, index, workers)
    if len(unsure):
        some, places = np.full((len(unsure), best.shape[1]), np.inf), index[unsure]
        places[...] = len(Y)
        _by_bounds(X[unsure], Y, some, places, block, workers)
        best[unsure], index[unsure] = some, places


def tree_is_faster(n: int, d: int, k: int) -> bool:
    """Tell whether a tree rules out enough points: for each row it visits 2ᵈ leaves and more."""
    return n >= LEAST_FOR_TREE and 3 * d <= np.log2(n) and 16 * k <= n


# ---------------------------------------------------------------- a tree
def _by_tree(
    X: np.ndarray, Y: np.ndarray, best: np.ndarray, index: np.ndarray, workers: int | None
) -> np.ndarray:
    """Fill the lists; return the rows whose last neighbour may be tied with one that is left out.

    The tree takes any of equal points, and knows distances up to rounding only.
    """
    k = best.shape[1]
    # medians at every node take longer than they save, and very long where points repeat
    tree = cKDTree(Y, LEAF, balanced_tree=False)
    distance, candidates = tree.query(X, k + 1, workers=workers or _workers(len(X), len(Y), 0))
    loops.keep_candidates(candidates, X, Y, best, index)
    slack = 1.0 + 8.0 * (Y.shape[1] + 8) * DOUBLE
    return np.flatnonzero(~(distance[:, k] > slack * distance[:, k - 1]))


# ---------------------------------------------------------------- bounds
class Sides(NamedTuple):
    """Rows whose product bounds distances: left @ right.T ≤ unit²‖x − y‖² − own."""

    left: np.ndarray
    right: np.ndarray
    own: np.ndarray
    unit: float


def lower_bounds(X: np.ndarray, Y: np.ndarray) -> Sides:
    """Return (−2x, 1) and (y, ‖y‖²) in float32, lessened by more than rounding can add.

    Rows are shifted by their mean and scaled to size 1 first.
    """
    d, center = Y.shape[1], Y.mean(axis=0)
    largest = max(_farthest(side, center) for side in (X, Y))
    unit = 1.0 / largest if largest > 1e-290 else 1.0
    left, x2 = loops.shifted(X, center, unit)
    right, y2 = loops.shifted(Y, center, unit)
    # float32 is off by a share of the terms that are summed, and by what it cannot represent
    share, least = (d + 16) * SINGLE, (d + 2) * 1e-37
    # the shift is off by an ulp of the numbers it was made of, in each column
    shift = 4.0 * d**0.5 * DOUBLE * unit * (largest + float(np.abs(center).max()))
    own = x2 * (1.0 - share) - shift * (np.sqrt(x2) + 1.0) - least
    left[:, :d] *= -2.0
    left[:, d] = 1.0
    right[:, d] = y2 * (1.0 - 2.0 * share) - shift * np.sqrt(y2)
    return Sides(left, right, own, unit)


def _farthest(rows: np.ndarray, center: np.ndarray) -> float:
    """Return the largest |x − center| of all columns."""
    return float(np.maximum(rows.max(axis=0) - center, center - rows.min(axis=0)).max())


def _by_bounds(
    X: np.ndarray,
    Y: np.ndarray,
    best: np.ndarray,
    index: np.ndarray,
    block: tuple[int, int],
    workers: int | None,
) -> None:
    sides, blocks = lower_bounds(X, Y), ranges(len(Y), block[1])
    workers = workers or _workers(len(X), *Y.shape)
    size = min(block[0], len(X)) * min(block[1], len(Y))
    buffers = [scratch((size,), np.float32, brief=True) for _ in range(workers)]

    def search(rows: slice, worker: int) -> None:
        height = rows.stop - rows.start
        for points in blocks:
            width = points.stop - points.start
            bounds = buffers[worker][: height * width].reshape(height, width)
            np.matmul(sides.left[rows], sides.right[points].T, out=bounds)
            loops.keep_within_bounds(
                bounds, sides.own[rows], sides.unit, X[rows], Y, points.start,
                best[rows], index[rows],
            )  # fmt: skip

    run_tiles(search, ranges(len(X), block[0]), workers)


def _workers(m: int, n: int, d: int) -> int:
    return n_threads() if m * n * (32 + d) > SERIAL else 1
