"""Shortest paths in a graph from many points, block by block in threads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer._array import n_threads, ranges, run_tiles
from mercer.spectral import _geodesic_loops as loops
from mercer.spectral._graph import Graph

BLOCK = 64  # sources whose paths are found together

Use = Callable[[np.ndarray, np.ndarray], None]


def geodesics_between(graph: Graph, use: Use) -> None:
    """Hand the geodesics from all vertices to ``use(sources, distances)``, a block at a time."""
    index = np.arange(graph.n)[:, None]
    _each_block(graph, index, np.zeros((graph.n, 1)), _grouped(graph), use)


def geodesics_from(graph: Graph, index: np.ndarray, distance: np.ndarray, use: Use) -> None:
    """Do the same for new points, each joined to the vertices ``index`` (m, k) by edges."""
    rank = np.empty(graph.n, np.intp)
    rank[_grouped(graph)] = np.arange(graph.n)
    order = np.argsort(rank[index[:, 0]], kind="stable")  # neighbours go together
    _each_block(graph, index, distance, order, use)


def _grouped(graph: Graph) -> np.ndarray:
    groups = np.empty(graph.n, np.intp)
    loops.group_sources(graph.indptr, graph.indices, BLOCK, groups)
    return groups


def _each_block(
    graph: Graph, index: np.ndarray, distance: np.ndarray, order: np.ndarray, use: Use
) -> None:
    def work(part: slice, worker: int) -> None:
        sources = order[part]
        use(sources, _paths(graph, index[sources], distance[sources]))

    run_tiles(work, ranges(len(order), BLOCK), n_threads())


def _paths(graph: Graph, index: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """Return the lengths of the shortest paths to all vertices, shape (sources, n)."""
    m = len(index)
    reached, order = np.empty(graph.n), np.empty(graph.n, np.intp)
    loops.nearest_first(*graph, index[m // 2, 0], reached, order)
    D = np.full((graph.n, m), loops.FAR)
    sources = np.repeat(np.arange(m), index.shape[1])
    D[index.ravel(), sources] = distance.ravel()
    dirty = np.zeros(graph.n, np.bool_)
    dirty[_neighbors(graph, np.unique(index))] = True
    while not loops.relax(*graph, order, D, dirty, 1):
        pass  # each sweep comes back to Python, so that Ctrl-C is heard
    return D.T


def _neighbors(graph: Graph, vertices: np.ndarray) -> np.ndarray:
    ends = [graph.indices[graph.indptr[v] : graph.indptr[v + 1]] for v in vertices]
    return np.concatenate(ends)
