"""Affinities of points, normalised, and what their eigenvectors say of new points.

With affinities W (no point is its own neighbour), degrees d = W1 and the Laplacian
L = I − D^(−½) W D^(−½) = V M Vᵀ, the functions f = D^(−½) v fulfil Σⱼ W_ij f_j = (1 − μ) d_i f_i.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from mercer._estimator import FLOATS, BoundKernel, KernelEstimator, ProvedEstimator, validated
from mercer._floats import DOUBLE
from mercer._state import (
    COLUMNS,
    Attribute,
    FittedRows,
    Integers,
    Lengths,
    Maybe,
    SizeOf,
    StateError,
    one_more,
)
from mercer.gram import Gram, gram
from mercer.kernels import Kernel, Precomputed, as_kernel
from mercer.kernels.sample import Sample
from mercer.kernels.tiles import Tile, count_workers, each_tile
from mercer.result import Solution
from mercer.solvers import symmetric_eigenpairs
from mercer.spectral._graph import (
    EdgePoints,
    TablePoints,
    check_neighbours,
    nearest_others,
    neighbour_matrix,
)
from mercer.spectral._laplacian import LaplacianPairs, laplacian_eigenpairs

SYMMETRIC = 1e-8  # of the largest entry: beyond, a matrix was not meant to be symmetric
GRAPH = "columns of the points of a graph"
TABLE: dict[str, Any] = {"accept_sparse": "csr", "dtype": FLOATS, "order": "C"}


class KernelOfGraph(Maybe):
    """The kernel of affinities; None where they are those of neighbours in a table."""

    def __init__(self) -> None:
        super().__init__(BoundKernel())

    def check(self, value: Any, lengths: Lengths) -> None:
        """Raise if it is no kernel, or there is neither a kernel nor a table."""
        super().check(value, lengths)
        if value is None:
            if lengths.get(COLUMNS) is None:
                raise StateError("is None, but the number of columns is not given")
            lengths[GRAPH] = lengths[COLUMNS]


class NeighboursOfGraph(Integers):
    """How many neighbours a point has, where there is a graph of them: at most all points."""

    def check(self, value: Any, lengths: Lengths) -> None:
        """Raise if a graph cannot have so many."""
        if GRAPH in lengths:
            super().check(value, lengths)


class AffinityEstimator(ProvedEstimator):
    """An estimator with affinities: of a neighbour graph, of a kernel, or given."""

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "n_features_in_": Maybe(SizeOf(COLUMNS)),
        "kernel_": KernelOfGraph(),
        "X_fit_": FittedRows("rows"),
        "n_neighbors": NeighboursOfGraph(least=1, below=one_more("rows")),
    }

    stores_rows = True

    named_parts = {"affinity": as_kernel}
    affinity: Any
    n_neighbors: int
    kernel_: Kernel
    # rows are checked as those of estimators with a parameter ``kernel``, which this one has not
    _fit_rows: Any = KernelEstimator._fit_rows
    _new_rows: Any = KernelEstimator._new_rows

    def _given_kernel(self) -> Kernel:
        return as_kernel(self.affinity)

    @property
    def _is_graph(self) -> bool:
        return isinstance(self.affinity, str) and self.affinity.endswith("nearest_neighbors")

    def _points(self) -> Any:
        given = self.affinity == "precomputed_nearest_neighbors"
        return EdgePoints(self.X_fit_) if given else TablePoints(self.X_fit_)

    # ------------------------------------------------------------ fit
    def _fit_affinity(self, X: Any, k: int, one_more: bool = False) -> Solution:
        """Check the rows, store them and return the k smallest eigenpairs of their Laplacian.

        With ``one_more`` there is another one, if there are so many points. The ``value`` is
        `LaplacianPairs`.
        """
        W = self._fit_graph(X) if self._is_graph else self._fit_kernel(X)
        n = W.shape[0]
        if n < k:
            raise ValueError(
                f"n_samples = {n} points have no {k} eigenvectors: ask for fewer clusters or "
                f"components"
            )
        k = min(k + one_more, n)
        return laplacian_eigenpairs(W, k) if sp.issparse(W) else _kernel_eigenpairs(W, k)

    def _fit_graph(self, X: Any) -> Any:
        self.X_fit_ = validated(self, X, ensure_min_samples=2, **TABLE)
        if self.affinity == "precomputed_nearest_neighbors":
            _check_distances(self.X_fit_)
        n, k = self.X_fit_.shape[0], self.n_neighbors - 1
        check_neighbours(k, n)
        _, index = nearest_others(self._points(), k)
        W = neighbour_matrix(index, 0.5, n)
        return (W + W.T).tocsr()

    def _fit_kernel(self, X: Any) -> Any:
        if sp.issparse(X) and isinstance(self._given_kernel(), Precomputed):
            self.kernel_ = Precomputed()
            self.X_fit_ = sp.csr_array(validated(self, X, ensure_min_samples=2, **TABLE))
            return _given_graph(self.X_fit_)
        sample, _, _ = self._fit_rows(X, ensure_min_samples=2)
        self.X_fit_ = sample.data
        return gram(self.kernel_, sample, dtype=DOUBLE)

    # ------------------------------------------------------------ new points
    def _extend(self, X: Any, F: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, Any]:
        """Return the functions F (n, k) at new rows, by Nyström's formula, and the rows' dtype.

        A training point x counts its own affinity w apart, f(x) = Σ W_xj f_j / ((1 − μ) d + w)
        with d + w = Σ W_xj; a new point counts its largest affinity so. Training points are then
        where they were, and what is far from all goes with the nearest.
        """
        if not self._is_graph:
            rows = self._new_rows(X)
            return _extended(*_sums(self.kernel_, rows, self.X_fit_, F), values), rows.dtype
        X = validated(self, X, reset=False, **TABLE)
        distance, index = self._points().nearest(X, self.n_neighbors)
        total = np.full(len(index), float(self.n_neighbors))
        sums = np.zeros((len(index), F.shape[1]))
        for column in index.T:
            sums += F[column]
        out = _extended(sums, total, np.ones(len(index)), values)
        found = distance[:, 0] == 0  # steps of a graph leave no other way to be exact
        out[found] = F[index[found, 0]]
        return out, X.dtype

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        given = isinstance(self.affinity, str) and self.affinity.startswith("precomputed")
        tags.input_tags.pairwise = given or isinstance(self.affinity, Precomputed)
        return tags


# ------------------------------------------------------------------------ graphs
def _given_graph(W: Any) -> Any:
    n, m = W.shape
    if n != m:
        raise ValueError(f"a precomputed training matrix must be square; got {n} × {m}")
    W = W.astype(np.float64)
    if W.nnz and W.data.min() < 0:
        raise ValueError(f"affinities must be ≥ 0; the least is {W.data.min():.4g}")
    _check_symmetric(W)
    W = sp.csr_array(W - sp.diags_array(W.diagonal()))
    W.eliminate_zeros()
    return W


def _check_symmetric(W: Any) -> None:
    gaps = sp.coo_array(abs(W - W.T))
    if gaps.max() > SYMMETRIC * abs(W).max():
        worst = gaps.data.argmax()
        i, j = sorted((int(gaps.row[worst]), int(gaps.col[worst])))
        raise ValueError(
            f"a precomputed training matrix must be symmetric; got W[{i}, {j}] = {W[i, j]:g} and "
            f"W[{j}, {i}] = {W[j, i]:g}, which differ most: correct it, or fit to (W + W.T) / 2"
        )


def _check_distances(D: Any) -> None:
    """Raise unless D is a square sparse matrix of distances to neighbours."""
    if not sp.issparse(D) or D.shape[0] != D.shape[1]:
        raise ValueError(
            f"affinity='precomputed_nearest_neighbors' needs a square sparse matrix of distances "
            f"to neighbours; got {type(D).__name__} of shape {D.shape}"
        )
    if D.nnz and D.data.min() < 0:
        raise ValueError(f"X must hold distances ≥ 0; the least is {D.data.min():.4g}")


# ------------------------------------------------------------------------ kernels
class NormalizedAffinity(LinearOperator):
    """D^(−½) (K − diag K) D^(−½) as an operator; a point without affinities is its own."""

    def __init__(self, K: Gram):
        super().__init__(DOUBLE, K.shape)
        self.K, self.own = K, K.diagonal()
        self.degrees = K.row_means(np.ones(K.shape[0])) - self.own
        self._check()
        self.alone = (self.degrees <= 0).astype(np.float64)
        self.degrees[self.degrees <= 0] = 1.0
        self.root = 1.0 / np.sqrt(self.degrees)

    def _check(self) -> None:
        noise = 1e-12 * float(np.abs(self.own).max())
        least = float(self.degrees.min())
        if not np.isfinite(self.degrees).all() or least < -noise * len(self.own):
            raise ValueError(
                f"affinity must be a kernel with values ≥ 0 and finite sums, such as 'rbf'; the "
                f"least sum over the other points is {least:.4g}"
            )

    def _matmat(self, V: np.ndarray) -> np.ndarray:
        V = np.asarray(V, dtype=DOUBLE)
        scaled = self.root[:, None] * V
        product = self.root[:, None] * (self.K @ scaled - self.own[:, None] * scaled)
        return product + self.alone[:, None] * V

    def _adjoint(self) -> NormalizedAffinity:
        return self


def _kernel_eigenpairs(K: Gram, k: int) -> Solution:
    A = NormalizedAffinity(K)
    solution = symmetric_eigenpairs(A, k)
    values = np.maximum(1.0 - solution.eigenvalues, 0.0)
    pairs = LaplacianPairs(values, solution.value, A.degrees)
    return Solution(pairs, solution.status, solution.certificate)


def _sums(
    kernel: Kernel, rows: Sample, training: Any, F: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Σ W_xj f_j, Σ W_xj and max W_xj of new rows, tile by tile."""
    if sp.issparse(training) and isinstance(kernel, Precomputed):
        W = sp.csr_array(rows.data)
        return W @ F, np.asarray(W.sum(axis=1)).ravel(), W.max(axis=1).toarray().ravel()
    Y = kernel.sample(training)
    kernel.check_pair(rows, Y)
    workers = count_workers(kernel, rows, Y)
    sums, most = np.zeros((workers, len(rows), F.shape[1] + 1)), np.zeros((workers, len(rows)))
    F = np.column_stack([F, np.ones(len(F))])

    def use(tile: Tile, values: np.ndarray, worker: int) -> None:
        left, right = tile
        sums[worker, left] += values @ F[right]
        np.maximum(most[worker, left], values.max(axis=1), out=most[worker, left])

    each_tile(kernel, rows, Y, DOUBLE, use, mirror=False)
    total = sums.sum(axis=0)
    return total[:, :-1], total[:, -1], most.max(axis=0)


def _extended(
    sums: np.ndarray, total: np.ndarray, most: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """Return Σ W f / ((1 − μ)(Σ W − max W) + max W), or 0 where this has no meaning."""
    below = (total - most)[:, None] * (1.0 - values) + most[:, None]
    solid = below > 1e-12 * np.abs(total)[:, None]
    return np.divide(sums, below, out=np.zeros_like(sums), where=solid)
