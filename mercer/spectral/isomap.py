"""Isomap: classical scaling of the geodesic distances along a neighbour graph."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer._array import allocate, ranges
from mercer._sklearn import Interval, StrOptions
from mercer._state import Attribute, Floats, Integers, Maybe, Pointers
from mercer.norms import L2, Norm, as_norm
from mercer.norms.lp import NAMED_NORMS, takes_sparse_rows
from mercer.solvers import leading_eigenpairs
from mercer.spectral._base import COUNT
from mercer.spectral._geodesic import geodesics_between, geodesics_from
from mercer.spectral._graph import (
    Edges,
    GivenPoints,
    NeighbourGraph,
    NormPoints,
    Points,
    TablePoints,
    check_neighbours,
    edges_within,
    neighbour_graph,
    radius_graph,
)
from mercer.spectral._scaling import (
    ScaledEmbedding,
    centered_products,
    check_distances,
    check_not_negative,
    of_graph,
    scaled_squares,
)

NEIGHBOURS = 5  # of each point, where no number is given
ROWS_AT_ONCE = 256  # new rows whose neighbours within a radius are looked for together


class Isomap(ScaledEmbedding):
    """Isomap: coordinates whose distances are those along the data.

    Neighbours are joined by edges, d(x, y) is the length of the shortest path, and classical
    scaling gives the coordinates: −½HD²H = V Λ Vᵀ, Z = V Λ^½. A new point is joined to its
    neighbours and placed by Gower's formula, −½Λ^(−½)Vᵀ(d²(x) − mean d²).

    Parameters
    ----------
    n_neighbors : int or None, default=None
        How many neighbours each point is joined to, unless there is a radius. None is 5, or all
        edges of a graph that is given.
    n_components : int, default=2
        The number of coordinates; fewer are kept if fewer eigenvalues are positive.
    metric : {"euclidean", "precomputed"}, Norm, {"l1", "l2", "linf"} or float, default="euclidean"
        How far rows are apart: a norm of `mercer.norms`, or its power p; "manhattan" and
        "chebyshev" are names, too. "precomputed": X holds distances, for new points those to the
        training points. A sparse X is then a graph: its entries are the lengths of edges, in either
        direction, and rows of new points hold edges to training points. The ``n_neighbors``
        shortest of each row count, or those within ``radius``; where neither is given, all.
    radius : float or None, default=None
        Joins each point to all within this distance, instead of to a number of neighbours. A new
        point that has none there is joined to the nearest.

    Attributes
    ----------
    embedding_ : array of shape (n, k)
        The coordinates of the training points.
    eigenvalues_ : array of shape (k,)
        Eigenvalues of −½HD²H, falling.
    graph_indptr_, graph_indices_, graph_weights_ : array
        The neighbour graph in CSR form, each edge in both directions.
    n_graph_components_ : int
        Into how many parts the neighbour graph fell; more than one are joined by their nearest
        points, with a warning.
    certificate_ : Certificate
        Eigen residual, orthogonality error, the discarded share of the trace.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Isomap
    >>> t = np.linspace(0, 3, 30)
    >>> arc = np.column_stack([np.cos(t), np.sin(t)])
    >>> z = Isomap(n_neighbors=2, n_components=1).fit_transform(arc)
    >>> float(abs(np.corrcoef(z[:, 0], t)[0, 1]).round(4))
    1.0
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "n_neighbors": Maybe(Integers(least=1)),
        "n_graph_components_": Integers(least=1),
        "graph_indptr_": Pointers("rows", into="edges"),
        "graph_indices_": Integers("edges", below="rows"),
        "graph_weights_": Floats("edges", finite=True, least=0.0),
        "centering_means_": Floats("rows"),
        "missing_": Floats(),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_neighbors": [COUNT, None],
        "n_components": [COUNT],
        "metric": [StrOptions({"precomputed", *NAMED_NORMS}), Real, Norm],
        "radius": [Interval(Real, 0, None, closed="right"), None],
    }

    def __init__(
        self,
        n_neighbors: int | None = None,
        n_components: int = 2,
        *,
        metric: Any = "euclidean",
        radius: float | None = None,
    ):
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.metric = metric
        self.radius = radius

    @property
    def accepts_sparse(self) -> bool:  # type: ignore[override]
        return self._is_given or takes_sparse_rows(self.metric)

    @property
    def _count(self) -> int:
        return NEIGHBOURS if self.n_neighbors is None else self.n_neighbors

    def _norm(self) -> Norm:
        norm = as_norm(self.metric)
        if not norm.is_norm:
            raise ValueError(f"metric must be a norm; {norm!r} breaks the triangle inequality")
        return norm

    def fit(self, X: Any, y: Any = None) -> Isomap:
        """Find the coordinates of the rows X; ``y`` is not used."""
        self._validate_params()
        X = self._fit_table(X, ensure_min_samples=2)
        if self.radius is None and not self._is_graph(X):
            check_neighbours(self._count, X.shape[0])
        if self._is_given:
            (check_edges if sp.issparse(X) else check_distances)(X)
        self.X_fit_ = X
        graph = self._fit_graph()
        D = allocate((graph.n, graph.n), np.float64)
        geodesics_between(graph, lambda sources, paths: D.__setitem__(sources, paths))
        self._fit_geodesics(D)
        return self

    def _fit_graph(self) -> NeighbourGraph:
        if self._is_graph(self.X_fit_):
            graph, self.n_graph_components_ = self._given_graph(), 1
        elif self.radius is not None:
            graph, self.n_graph_components_ = radius_graph(self._points(), float(self.radius))
        else:
            graph, self.n_graph_components_ = neighbour_graph(self._points(), self._count)
        self.graph_indptr_, self.graph_indices_, self.graph_weights_ = graph
        return graph

    def _fit_geodesics(self, D: np.ndarray) -> None:
        """Store the coordinates that classical scaling of D gives; D is written over."""
        n = len(D)
        self.scale_ = scaled_squares(D, out=D)
        K = centered_products(D)
        solution = leading_eigenpairs(K, self.n_components)
        values, means = solution.eigenvalues, K.centering.means
        self._place(solution, means)
        self.eigenvalues_ = values * self.scale_**2
        # ‖HKH‖² = ‖K‖² − 2n‖m‖² + n²t², with the means m of the rows and t of them all
        squares = np.vdot(D, D) - 2 * n * (means @ means) + (n * K.centering.total) ** 2
        self.missing_ = max(float(squares - values @ values), 0.0) ** 0.5 * self.scale_**2
        about = f"−½HD²H v = λ v of geodesic distances between {n} points"
        self._accept(of_graph(solution, about, self.n_graph_components_))

    def transform(self, X: Any) -> np.ndarray:
        """Return the coordinates of new rows, shape (m, k)."""
        X = self._new_table(X)
        m = X.shape[0]
        out = np.empty((m, self._n_features_out))
        # within a radius there may be as many neighbours as there are points
        for block in ranges(m, m if self.radius is None else ROWS_AT_ONCE):
            distance, index = self._joined(X[block])
            self._place_new(index, distance, out[block])
        return out.astype(X.dtype, copy=False)

    def _place_new(self, index: np.ndarray, distance: np.ndarray, out: np.ndarray) -> None:
        """Write the coordinates of points that are joined to training points by edges."""

        def place(rows: np.ndarray, paths: np.ndarray) -> None:
            out[rows] = self._placed(-0.5 * (paths / self.scale_) ** 2)

        geodesics_from(self._graph(), index, distance, place)

    def _joined(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the lengths and ends of the edges of new points, as many for each."""
        if self._is_graph(self.X_fit_):
            return listed(self._short(check_new_edges(X), alone=False), X.shape[0])
        if self._is_given:
            check_not_negative(X)
        points = self._points()
        if self.radius is None:
            check_neighbours(self._count, len(points) + 1)  # of a file, it may be any number
            return points.nearest(X, self._count)
        edges, (distance, index) = edges_within(points, X, float(self.radius)), points.nearest(X, 1)
        first = (np.arange(X.shape[0]), index[:, 0], distance[:, 0])
        tails, heads, lengths = map(np.concatenate, zip(first, edges, strict=True))
        return listed((tails, heads, lengths), X.shape[0])

    def _is_graph(self, X: Any) -> bool:
        return self._is_given and sp.issparse(X)

    def _given_graph(self) -> NeighbourGraph:
        """Return the graph of the edges that count; raise if it is not connected."""
        graph = NeighbourGraph.of_edges(self.X_fit_.shape[0], *self._short(edges_of(self.X_fit_)))
        parts = int(graph.components().max()) + 1
        if parts > 1:
            raise ValueError(
                f"X must be a connected graph: it falls into {parts} parts, and how far they are "
                f"apart is not known; add edges, or fit the parts one by one"
            )
        return graph

    def _short(self, edges: Edges, alone: bool = True) -> Edges:
        """Return the edges that count: within the radius, or the first few of each row.

        The shortest edge of a new point counts in any case (``alone=False``).
        """
        tails, heads, lengths = edges
        order = np.lexsort((lengths, tails))
        place = np.arange(len(order)) - np.searchsorted(tails[order], tails[order])
        keep = np.ones(len(order), dtype=bool)
        if self.radius is not None:
            keep = (lengths[order] <= self.radius) | ((place == 0) & (not alone))
        elif self.n_neighbors is not None:
            keep = place < self.n_neighbors
        kept = np.sort(order[keep])
        return tails[kept], heads[kept], lengths[kept]

    def reconstruction_error(self) -> float:
        """Return ‖B − ZZᵀ‖/n (Frobenius), B = −½HD²H: what the coordinates miss."""
        return self.missing_ / len(self.embedding_)

    def _points(self) -> Points:
        if self._is_given:
            return GivenPoints(self.X_fit_)
        norm = self._norm()
        return TablePoints(self.X_fit_) if norm == L2 else NormPoints(norm, self.X_fit_)

    def _graph(self) -> NeighbourGraph:
        return NeighbourGraph(self.graph_indptr_, self.graph_indices_, self.graph_weights_)


# -------------------------------------------------------------------- graphs that are given
def check_edges(X: Any) -> None:
    """Raise unless X is a square matrix of lengths ≥ 0."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(f"X must be a square matrix of edges; got {X.shape[0]} × {X.shape[1]}")
    _check_lengths(X.data)


def _check_lengths(lengths: np.ndarray) -> None:
    least = lengths.min(initial=0.0)
    if least < 0:
        raise ValueError(f"X must hold lengths ≥ 0 of edges; the least is {least:.4g}")


def edges_of(X: Any) -> Edges:
    """Return the entries of a sparse matrix beside its diagonal; they may be zeros."""
    edges = sp.coo_array(X)
    apart = edges.row != edges.col
    tails, heads = (part[apart].astype(np.int64) for part in (edges.row, edges.col))
    return tails, heads, edges.data[apart].astype(np.float64)


def check_new_edges(X: Any) -> Edges:
    """Return the edges of new points, or say which of them has none."""
    if not sp.issparse(X):
        raise TypeError("X must be sparse, as the graph of the training points is: rows of edges")
    edges = sp.coo_array(X)
    _check_lengths(edges.data)
    alone = np.setdiff1d(np.arange(X.shape[0]), edges.row)
    if len(alone):
        row = int(alone[0])
        raise ValueError(f"every row of X needs an edge to a training point; row {row} has none")
    return edges.row, edges.col, edges.data.astype(np.float64)


def listed(edges: Edges, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Return lengths and ends as lists of equal length: short ones repeat their first edge."""
    tails, heads, lengths = edges
    order = np.argsort(tails, kind="stable")
    counts = np.bincount(tails, minlength=m)
    starts = np.cumsum(counts) - counts
    place = np.arange(counts.max(initial=1))[None, :]
    picks = order[starts[:, None] + np.where(place < counts[:, None], place, 0)]
    return lengths[picks], heads[picks].astype(np.intp)
