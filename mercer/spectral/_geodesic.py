"""Shortest paths in a graph from many points: blocks of sources in threads, by compiled sweeps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer._array import n_threads, ranges, run_tiles
from mercer._compiled import compiled, compiled_part
from mercer.spectral._graph import NeighbourGraph

BLOCK_SOURCES = 64  # sources whose paths are found together
FAR = 1e300  # farther than any path

Use = Callable[[np.ndarray, np.ndarray], None]


def geodesics_between(graph: NeighbourGraph, use: Use) -> None:
    """Hand the geodesics from all vertices to ``use(sources, distances)``, a block at a time."""
    index = np.arange(graph.n)[:, None]
    _each_block(graph, index, np.zeros((graph.n, 1)), _grouped(graph), use)


def geodesics_from(
    graph: NeighbourGraph, index: np.ndarray, distance: np.ndarray, use: Use
) -> None:
    """Do the same for new points, each joined to the vertices ``index`` (m, k) by edges."""
    rank = np.empty(graph.n, np.intp)
    rank[_grouped(graph)] = np.arange(graph.n)
    order = np.argsort(rank[index[:, 0]], kind="stable")  # neighbours go together
    _each_block(graph, index, distance, order, use)


def _grouped(graph: NeighbourGraph) -> np.ndarray:
    groups = np.empty(graph.n, np.intp)
    group_sources(graph.indptr, graph.indices, BLOCK_SOURCES, groups)
    return groups


def _each_block(
    graph: NeighbourGraph, index: np.ndarray, distance: np.ndarray, order: np.ndarray, use: Use
) -> None:
    def work(part: slice, worker: int) -> None:
        sources = order[part]
        use(sources, _paths(graph, index[sources], distance[sources]))

    run_tiles(work, ranges(len(order), BLOCK_SOURCES), n_threads())


def _paths(graph: NeighbourGraph, index: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """Return the lengths of the shortest paths to all vertices, shape (sources, n)."""
    m = len(index)
    reached, order = np.empty(graph.n), np.empty(graph.n, np.intp)
    count = nearest_first(*graph, index[m // 2, 0], reached, order)
    D = np.full((graph.n, m), FAR)
    sources = np.repeat(np.arange(m), index.shape[1])
    D[index.ravel(), sources] = distance.ravel()
    dirty = np.zeros(graph.n, np.bool_)
    dirty[_neighbours(graph, np.unique(index))] = True
    while not relax(*graph, order[:count], D, dirty):  # what no path leads to has no place
        pass  # each sweep comes back to Python, so that Ctrl-C is heard
    return D.T


def _neighbours(graph: NeighbourGraph, vertices: np.ndarray) -> np.ndarray:
    ends = [graph.indices[graph.indptr[v] : graph.indptr[v + 1]] for v in vertices]
    return np.concatenate(ends)


# ------------------------------------------------------------------------ compiled
@compiled_part()
def _sift_up(heap, place, key, p):
    """Move the vertex at p towards the root of a 4-ary heap."""
    v = heap[p]
    while p > 0:
        parent = (p - 1) >> 2
        if key[heap[parent]] <= key[v]:
            break
        heap[p] = heap[parent]
        place[heap[p]] = p
        p = parent
    heap[p] = v
    place[v] = p


@compiled_part()
def _sift_down(heap, place, key, size):
    """Move the vertex at the root towards the leaves."""
    v = heap[0]
    p = 0
    while True:
        least = 4 * p + 1
        if least >= size:
            break
        for child in range(least + 1, min(4 * p + 5, size)):
            if key[heap[child]] < key[heap[least]]:
                least = child
        if key[heap[least]] >= key[v]:
            break
        heap[p] = heap[least]
        place[heap[p]] = p
        p = least
    heap[p] = v
    place[v] = p


@compiled()
def nearest_first(indptr, indices, weights, source, distance, order):
    """Write the vertices into ``order`` by rising distance from a source (Dijkstra).

    Returns how many can be reached; ``distance`` holds their distances.
    """
    n = len(indptr) - 1
    heap, place = np.empty(n, np.int64), np.full(n, -1, np.int64)
    distance[:] = FAR
    distance[source] = 0.0
    heap[0], place[source] = source, 0
    size, done = 1, 0
    while size > 0:
        v = heap[0]
        order[done] = v
        done += 1
        size -= 1
        if size > 0:
            heap[0] = heap[size]
            _sift_down(heap, place, distance, size)
        for e in range(indptr[v], indptr[v + 1]):
            u = indices[e]
            through = distance[v] + weights[e]
            if through < distance[u]:
                distance[u] = through
                if place[u] < 0:
                    place[u] = size
                    heap[size] = u
                    size += 1
                _sift_up(heap, place, distance, place[u])
    return done


@compiled()
def group_sources(indptr, indices, size, groups):
    """Write all vertices into ``groups`` so that consecutive runs of ``size`` lie close together.

    Each run is grown breadth first from its first vertex over the vertices still free; a
    run that finds no more near by goes on elsewhere.
    """
    n = len(indptr) - 1
    free, reached = np.ones(n, np.bool_), np.full(n, -1, np.int64)
    queue = np.empty(n, np.int64)
    taken, seed, run = 0, 0, 0
    while taken < n:
        while not free[seed]:
            seed += 1
        run += 1
        first, last = 0, 1
        queue[0], reached[seed] = seed, run
        room = size - taken % size
        while first < last and room > 0:
            v = queue[first]
            first += 1
            groups[taken] = v
            free[v] = False
            taken += 1
            room -= 1
            for e in range(indptr[v], indptr[v + 1]):
                u = indices[e]
                if free[u] and reached[u] != run:
                    reached[u] = run
                    queue[last] = u
                    last += 1


@compiled_part(fastmath={"reassoc", "nsz"})
def _pull(indptr, indices, weights, v, D, row):
    """Shorten the distances of vertex v through its neighbours; return by how much in all."""
    width = D.shape[1]
    for s in range(width):
        row[s] = D[v, s]
    for e in range(indptr[v], indptr[v + 1]):
        u, w = indices[e], weights[e]
        for s in range(width):
            through = D[u, s] + w
            row[s] = through if through < row[s] else row[s]
    gain = 0.0
    for s in range(width):
        gain += D[v, s] - row[s]
        D[v, s] = row[s]
    return gain


@compiled()
def relax(indptr, indices, weights, order, D, dirty):
    """Sweep once through the vertices; return whether no distance could be shortened.

    D (n, sources) holds upper bounds, those of the sources themselves right. A geodesic that
    leaves a source runs mostly along ``order``, the vertices by their distance from a point among
    the sources, so that a few sweeps are enough. Only vertices whose neighbours have changed
    (``dirty``) are looked at.
    """
    row = np.empty(D.shape[1])
    done = True
    for v in order:
        if dirty[v]:
            dirty[v] = False
            if _pull(indptr, indices, weights, v, D, row) > 0.0:
                done = False
                for e in range(indptr[v], indptr[v + 1]):
                    dirty[indices[e]] = True
    return done
