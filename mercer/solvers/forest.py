"""Nearest rows of many: a forest finds most of them, and neighbours of neighbours most of the rest.

Each tree halves the rows along random lines until few are left, which are compared with one
another; the lists of all trees are merged. Then each row asks its neighbours for theirs, until
hardly any list changes. Time grows as n log n, memory as the lists. Nothing proves that the lists
are right: `FeatureSearch.share_found` measures it on some rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._array import allocate, n_threads, ranges, run_tiles
from mercer.solvers import _neighbour_loops as loops

LEAF = 256  # rows of a leaf, at most
LEAF_OF_LISTS = 4  # times the length of a list, at least: half a leaf must fill it
TREES = 12
ROUNDS = 5  # of asking neighbours, at most
NEIGHBOURS_ASKED = 16  # nearest ones, and rows that ask: of long lists all would be k²
SETTLED = 0.002  # of all entries: fewer new ones in a round are few
LEAVES_AT_ONCE = 64
ROWS_AT_ONCE = 8192


def find_most(X: np.ndarray, k: int, memory: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Return squared distances and positions of rows that are near each row, shape (n, k) each.

    X is float64 and has more than k rows. Lists are in the order of (distance, position) and never
    hold the row itself; some of the nearest may be missing.
    """
    n, depth = len(X), _depth(len(X), max(LEAF, LEAF_OF_LISTS * k))
    order = _leaves(X, depth, seed=0)
    near = X[order]  # rows of a leaf side by side: what is compared lies together in memory
    best, index = allocate((n, k), np.float64, memory), allocate((n, k), np.int64, memory)
    best[...], index[...] = np.inf, n
    _join(near, np.arange(n), depth, best, index)
    for seed in range(1, TREES):
        _join(near, _leaves(near, depth, seed), depth, best, index)
    _ask(near, best, index)
    out = np.empty_like(index)
    out[order] = order[index]
    ranks = np.empty_like(best)
    ranks[order] = best
    return ranks, out


def _leaves(X: np.ndarray, depth: int, seed: int) -> np.ndarray:
    """Return the rows in an order in which every leaf is a range."""
    order = np.arange(len(X))
    for level in range(depth):
        ends = _borders(len(X), level)

        def halve(node: int, worker: int, ends: np.ndarray = ends) -> None:
            loops.halve(X, order, ends[node], ends[node + 1], seed)

        run_tiles(halve, range(len(ends) - 1), n_threads())
    return order


def _depth(n: int, leaf: int) -> int:
    """Return how often n rows are halved until there are no more than a leaf holds."""
    return max(0, int(np.ceil(np.log2(n / leaf))))


def _borders(n: int, level: int) -> np.ndarray:
    """Return where the nodes of a level begin and end: halves of halves, rounded down."""
    ends = np.array([0, n])
    for _ in range(level):
        ends = np.sort(np.append(ends, (ends[:-1] + ends[1:]) // 2))
    return ends


def _join(
    X: np.ndarray, order: np.ndarray, depth: int, best: np.ndarray, index: np.ndarray
) -> None:
    """Bring the lists up to date with what lies in a leaf together; leaves share no row."""
    ends = _borders(len(X), depth)

    def join(leaves: slice, worker: int) -> None:
        for leaf in range(leaves.start, leaves.stop):
            loops.join_leaf(X, order, ends[leaf], ends[leaf + 1], best, index)

    run_tiles(join, ranges(len(ends) - 1, LEAVES_AT_ONCE), n_threads())


def _ask(X: np.ndarray, best: np.ndarray, index: np.ndarray) -> None:
    """Let all rows ask their neighbours for theirs, until hardly any list changes."""
    for _ in range(ROUNDS):
        nearest = np.ascontiguousarray(index[:, :NEIGHBOURS_ASKED])
        known = np.concatenate([nearest, loops.reversed_lists(nearest)], axis=1)
        found = np.zeros(n_threads(), np.int64)

        def ask(
            rows: slice, worker: int, known: np.ndarray = known, found: np.ndarray = found
        ) -> None:
            found[worker] += loops.ask_neighbours(X, rows.start, rows.stop, known, best, index)

        run_tiles(ask, ranges(len(X), ROWS_AT_ONCE), n_threads())
        if found.sum() <= SETTLED * index.size:
            break
