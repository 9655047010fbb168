"""Who is near whom: neighbours in a table or by given distances, and graphs made of them."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from mercer._array import largest_size, n_threads, ranges
from mercer._floats import safe_unit
from mercer.kernels import Linear
from mercer.kernels.sample import Sample
from mercer.norms import Norm
from mercer.solvers.graphs import without_self
from mercer.solvers.nearest import FeatureSearch, NormSearch

TREE_COLUMNS = 6  # a tree is faster than products up to so many columns
TREE_ROWS = 2000  # and from so many rows on
FIRST_LIST = 16  # neighbours that a search within a radius begins with
BLOCK_VALUES = 2**20  # given distances that are sorted together


class Points(Protocol):
    """Training points that can be searched for the nearest."""

    def __len__(self) -> int: ...

    def nearest(self, rows: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return distances and positions of the k training points nearest to new rows."""

    def own(self) -> Any:
        """Return the training points as rows that `nearest` understands."""

    def among(self, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return for each training point the distance and position of its nearest member."""


class TablePoints:
    """Rows of a table and their Euclidean distance."""

    def __init__(self, X: Any):
        self.sample = Sample(X)

    def __len__(self) -> int:
        return len(self.sample)

    def own(self) -> Any:
        return self.sample.data

    def nearest(self, rows: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        if self._tree is not None and not sp.issparse(rows):
            distance, index = self._tree.query(rows, np.arange(1, k + 1), workers=n_threads())
            return distance, index
        sample = self.sample if rows is self.sample.data else Sample(rows)
        search = FeatureSearch(Linear(), self.sample)
        ranks, index = search.find(sample, k)
        return search.distances(ranks, sample), index

    @cached_property
    def _tree(self) -> Any:
        X = self.sample.data
        if sp.issparse(X) or X.shape[1] > TREE_COLUMNS or X.shape[0] < TREE_ROWS:
            return None
        return cKDTree(X) if safe_unit(largest_size(X)) == 1.0 else None  # it squares distances

    def among(self, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        distance, index = TablePoints(self.sample.data[members]).nearest(self.sample.data, 1)
        return distance[:, 0], members[index[:, 0]]


class NormPoints:
    """Rows of a table and their distance in a norm."""

    def __init__(self, norm: Norm, X: Any):
        self.norm, self.sample = norm, Sample(X)
        self.search = NormSearch(norm, self.sample)

    def __len__(self) -> int:
        return len(self.sample)

    def own(self) -> Any:
        return self.sample.data

    def nearest(self, rows: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        return self.search.find(self.sample if rows is self.sample.data else Sample(rows), k)

    def among(self, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        part = NormPoints(self.norm, self.sample.data[members])
        distance, index = part.nearest(self.sample.data, 1)
        return distance[:, 0], members[index[:, 0]]


class GivenPoints:
    """Points known by their distances; a new row holds its distances to all of them."""

    def __init__(self, D: np.ndarray):
        self.D = D

    def __len__(self) -> int:
        return len(self.D)

    def own(self) -> Any:
        return self.D

    def nearest(self, rows: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        distance, index = np.empty((len(rows), k)), np.empty((len(rows), k), np.intp)
        for block in ranges(len(rows), max(1, BLOCK_VALUES // len(self.D))):
            some = np.sort(np.argpartition(rows[block], k - 1, axis=1)[:, :k], axis=1)
            values = np.take_along_axis(rows[block], some, axis=1)
            order = np.argsort(values, axis=1, kind="stable")
            distance[block] = np.take_along_axis(values, order, axis=1)
            index[block] = np.take_along_axis(some, order, axis=1)
        return distance, index

    def among(self, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        part = self.D[:, members]
        place = part.argmin(axis=1)
        return part[np.arange(len(part)), place].astype(np.float64), members[place]


class EdgePoints:
    """Points known by sparse rows of their distances to some of them."""

    def __init__(self, D: Any):
        self.D = sp.csr_array(D)

    def __len__(self) -> int:
        return self.D.shape[0]

    def own(self) -> Any:
        """Return the rows with each point at distance 0 of itself."""
        edges, each = sp.coo_array(self.D), np.arange(len(self))
        apart = edges.row != edges.col
        tails, heads = np.r_[each, edges.row[apart]], np.r_[each, edges.col[apart]]
        return sp.csr_array((np.r_[np.zeros(len(self)), edges.data[apart]], (tails, heads)))

    def nearest(self, rows: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        edges = sp.coo_array(rows)
        order = np.lexsort((edges.col, edges.data, edges.row))
        counts = np.bincount(edges.row, minlength=rows.shape[0])
        if counts.min(initial=k) < k:
            few = int(counts.argmin())
            raise ValueError(
                f"every row of X must hold distances to at least {k} points, of itself too; row "
                f"{few} has {counts[few]}: give more, or lower n_neighbors"
            )
        first = np.cumsum(counts) - counts
        picks = order[first[:, None] + np.arange(k)]
        return edges.data[picks].astype(np.float64), edges.col[picks].astype(np.intp)


def nearest_others(points: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return distances and positions of the k nearest of each training point without itself."""
    return without_self(*points.nearest(points.own(), k + 1))


Edges = tuple[np.ndarray, np.ndarray, np.ndarray]  # tails, heads, lengths


def edges_within(points: Points, rows: Any, radius: float) -> Edges:
    """Return an edge from each row to every training point within a radius.

    Lists of the nearest are doubled until all of them reach beyond the radius.
    """
    n, k = len(points), min(FIRST_LIST, len(points))
    distance, index = points.nearest(rows, k)
    while k < n and (distance[:, -1] <= radius).any():
        k = min(2 * k, n)
        distance, index = points.nearest(rows, k)
    tails, places = np.nonzero(distance <= radius)
    return tails, index[tails, places], distance[tails, places]


def check_neighbours(n_neighbors: int, n: int) -> None:
    """Raise if a point cannot have so many neighbours."""
    if n_neighbors >= n:
        raise ValueError(
            f"n_neighbors must be smaller than the number of points, n_samples = {n}; got "
            f"{n_neighbors}"
        )


# ------------------------------------------------------------------------ graphs
def neighbour_matrix(index: np.ndarray, weights: Any, n: int) -> sp.csr_array:
    """Return a sparse matrix of n columns; row i has its weights (k, or one) at ``index[i]``."""
    m, k = index.shape
    values = np.broadcast_to(weights, index.shape).ravel()
    return sp.csr_array((values, index.ravel(), np.arange(0, m * k + 1, k)), shape=(m, n))


class NeighbourGraph(NamedTuple):
    """An undirected graph in CSR form, each edge in both directions; weights may be 0."""

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray

    @classmethod
    def of_edges(cls, n: int, tails: Any, heads: Any, weights: Any) -> NeighbourGraph:
        """Return the graph with these edges, in any direction; of equal ones the shortest."""
        keys = np.concatenate([tails * n + heads, heads * n + tails])
        weights = np.concatenate([weights, weights])
        order = np.lexsort((weights, keys))
        keys, first = np.unique(keys[order], return_index=True)  # zero lengths must not vanish
        indptr = np.concatenate([[0], np.cumsum(np.bincount(keys // n, minlength=n))])
        return cls(indptr, keys % n, weights[order][first])

    @property
    def n(self) -> int:
        return len(self.indptr) - 1

    def components(self) -> np.ndarray:
        """Return the number of the connected component of each vertex."""
        parts = np.ones(len(self.indices)), self.indices, self.indptr
        pattern = sp.csr_array(parts, shape=(self.n, self.n))  # the last vertex may have no edge
        return connected_components(pattern, directed=False)[1]


def neighbour_graph(points: Points, k: int) -> tuple[NeighbourGraph, int]:
    """Return the graph of the k nearest, connected, and how many components it had before."""
    distance, index = nearest_others(points, k)
    tails = np.repeat(np.arange(len(points)), k)
    return connected_graph(points, (tails, index.ravel(), distance.ravel()))


def radius_graph(points: Points, radius: float) -> tuple[NeighbourGraph, int]:
    """Return the graph of all pairs within a radius, connected, as `neighbour_graph` does."""
    edges = edges_within(points, points.own(), radius)
    apart = edges[0] != edges[1]
    tails, heads, lengths = (part[apart] for part in edges)
    return connected_graph(points, (tails, heads, lengths))


def connected_graph(points: Points, edges: Edges) -> tuple[NeighbourGraph, int]:
    """Return the graph of these edges and of bridges between its components, and their number."""
    n = len(points)
    graph = NeighbourGraph.of_edges(n, *edges)
    labels = graph.components()
    count = int(labels.max()) + 1
    if count > 1:
        graph = NeighbourGraph.of_edges(
            n, *map(np.concatenate, zip(edges, _bridges(points, labels), strict=True))
        )
    return graph, count


def _bridges(points: Points, labels: np.ndarray) -> tuple[Any, Any, Any]:
    """Return one edge for each two components: their nearest points."""
    count = int(labels.max()) + 1
    tails, heads, lengths = [], [], []
    for part in range(count - 1):
        distance, index = points.among(np.flatnonzero(labels == part))
        order = np.lexsort((np.arange(len(labels)), distance))
        order = order[labels[order] > part]
        _, first = np.unique(labels[order], return_index=True)
        nearest = order[first]
        tails.append(nearest)
        heads.append(index[nearest])
        lengths.append(distance[nearest])
    return np.concatenate(tails), np.concatenate(heads), np.concatenate(lengths)
