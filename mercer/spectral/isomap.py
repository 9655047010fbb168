"""Isomap: classical scaling of the geodesic distances along a neighbour graph."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mercer._array import allocate
from mercer._sklearn import StrOptions
from mercer._state import Attribute, Floats, Integers, Pointers, one_more
from mercer.solvers import leading_eigenpairs
from mercer.spectral._base import COUNT
from mercer.spectral._geodesic import geodesics_between, geodesics_from
from mercer.spectral._graph import (
    GivenPoints,
    Graph,
    Points,
    TablePoints,
    check_neighbors,
    neighbor_graph,
)
from mercer.spectral._scaling import (
    ScaledEmbedding,
    centered_products,
    check_distances,
    check_not_negative,
    of_graph,
    scaled_squares,
)


class Isomap(ScaledEmbedding):
    """Isomap: coordinates whose distances are those along the data.

    Neighbours are joined by edges, d(x, y) is the length of the shortest path, and classical
    scaling gives the coordinates: −½HD²H = V Λ Vᵀ, Z = V Λ^½. A new point is joined to its
    neighbours and placed by Gower's formula, −½Λ^(−½)Vᵀ(d²(x) − mean d²).

    Parameters
    ----------
    n_neighbors : int, default=5
        How many neighbours each point is joined to.
    n_components : int, default=2
        The number of coordinates; fewer are kept if fewer eigenvalues are positive.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        "precomputed": X holds distances, for new points those to the training points.

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
        "n_neighbors": Integers(least=1, below=one_more("rows")),
        "n_graph_components_": Integers(least=1),
        "graph_indptr_": Pointers("rows", into="edges"),
        "graph_indices_": Integers("edges", below="rows"),
        "graph_weights_": Floats("edges", finite=True, least=0.0),
        "centering_means_": Floats("rows"),
        "missing_": Floats(),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_neighbors": [COUNT],
        "n_components": [COUNT],
        "metric": [StrOptions({"euclidean", "precomputed"})],
    }

    def __init__(self, n_neighbors: int = 5, n_components: int = 2, *, metric: str = "euclidean"):
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.metric = metric

    @property
    def accepts_sparse(self) -> bool:  # type: ignore[override]
        return self.metric == "euclidean"

    def fit(self, X: Any, y: Any = None) -> Isomap:
        """Find the coordinates of the rows X; ``y`` is not used."""
        self._validate_params()
        X = self._fit_table(X, ensure_min_samples=2)
        check_neighbors(self.n_neighbors, X.shape[0])
        if self.metric == "precomputed":
            check_distances(X)
        self.X_fit_ = X
        graph = self._fit_graph()
        D = allocate((graph.n, graph.n), np.float64)
        geodesics_between(graph, lambda sources, paths: D.__setitem__(sources, paths))
        self._fit_geodesics(D)
        return self

    def _fit_graph(self) -> Graph:
        graph, self.n_graph_components_ = neighbor_graph(self._points(), self.n_neighbors)
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
        if self.metric == "precomputed":
            check_not_negative(X)
        distance, index = self._points().nearest(X, self.n_neighbors)
        out = np.empty((X.shape[0], self._n_features_out))

        def place(rows: np.ndarray, paths: np.ndarray) -> None:
            out[rows] = self._placed(-0.5 * (paths / self.scale_) ** 2)

        geodesics_from(self._graph(), index, distance, place)
        return out.astype(X.dtype, copy=False)

    def reconstruction_error(self) -> float:
        """Return ‖B − ZZᵀ‖/n (Frobenius), B = −½HD²H: what the coordinates miss."""
        return self.missing_ / len(self.embedding_)

    def _points(self) -> Points:
        given = self.metric == "precomputed"
        return GivenPoints(self.X_fit_) if given else TablePoints(self.X_fit_)

    def _graph(self) -> Graph:
        return Graph(self.graph_indptr_, self.graph_indices_, self.graph_weights_)
