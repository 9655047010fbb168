"""What estimators by nearest neighbours share: the search, graphs, radii, weights."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from mercer._array import at_most_threads, boxed, parse_memory, ranges
from mercer._estimator import KernelEstimator
from mercer._sklearn import Interval, StrOptions
from mercer._state import Attribute, FittedRows, Integers, one_more
from mercer.kernels import Kernel, Linear
from mercer.kernels.sample import Sample
from mercer.norms import L1, L2, Mahalanobis, Norm, Quadratic, as_norm
from mercer.norms.lp import takes_sparse_rows
from mercer.solvers.graphs import without_self
from mercer.solvers.nearest import DistanceSearch, FeatureSearch, NormSearch

BLOCK_VALUES = 2**20  # neighbours of so many new rows at once
WHITENING = (Mahalanobis, Quadratic)  # norms that are Euclidean after a linear map
FIRST_LIST = 16  # neighbours that a search within a radius begins with
RADIUS_ROWS = 1024  # rows whose neighbours within a radius are looked for together
CHECKED = 8  # training rows whose neighbours are recomputed for the proof


class NeighbourEstimator(KernelEstimator):
    """Training points that are searched for the nearest in feature space."""

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "X_fit_": FittedRows("rows"),
        "n_neighbors": Integers(least=1, below=one_more("rows")),
    }

    stores_rows = True
    needs_neighbours = True
    """Whether there must be as many training points as neighbours that are asked for."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
    }

    n_neighbors: int
    n_jobs: int | None = None  # of models that were saved before there was a limit of threads
    kernel: Any
    metric: Any
    memory: int | str | None

    def _given_kernel(self) -> Kernel:
        return Linear() if self.kernel is None else super()._given_kernel()

    # ------------------------------------------------------------ distances
    @property
    def _given_distances(self) -> bool:
        """Whether X is a matrix of distances."""
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _norm(self) -> Norm:
        """Return the norm of differences, or say why there is none."""
        norm = as_norm(self.metric)
        if not norm.is_norm:
            raise ValueError(f"metric must be a norm; {norm!r} breaks the triangle inequality")
        if norm != L2 and self.kernel is not None:
            raise ValueError(
                f"metric must be left at 'l2' where a kernel is given, whose feature space has its "
                f"own distance; got {self.metric!r} and {self.kernel!r}"
            )
        return norm

    def _coordinates(self, rows: Sample) -> Sample:
        """Return rows in which the search is done: whitened ones for a norm that whitens."""
        norm = L2 if self._given_distances else self._norm()
        if norm in (L1, L2):
            return rows
        if rows.is_sparse:
            raise TypeError(f"metric={norm!r} needs dense rows; got sparse ones: use X.toarray()")
        return Sample(norm.whiten(rows.data)) if isinstance(norm, WHITENING) else rows

    def _search(self, training: Sample) -> FeatureSearch:
        if self._given_distances:
            return DistanceSearch(training)
        norm, points = self._norm(), self._coordinates(training)
        if norm == L2 or isinstance(norm, WHITENING):
            return FeatureSearch(self.kernel_, points)
        return NormSearch(norm, points)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = takes_sparse_rows(self.metric)
        if self._given_distances:
            tags.input_tags.pairwise = True
        return tags

    # ------------------------------------------------------------ fit
    def _fit_points(self, X: Any, y: Any, **checks: Any) -> Any:
        """Check and store the training points, prove the search on some; return the targets."""
        self._validate_params()
        parse_memory(self.memory)
        sample, y, _ = self._fit_rows(X, y, **checks)
        if self._given_distances:
            self._check_distances(sample.data, square=True)
        if self.needs_neighbours:
            self._check_count(self.n_neighbors, len(sample))
        self.X_fit_ = sample.data
        some = np.unique(np.linspace(0, len(sample) - 1, CHECKED).astype(np.intp))
        with at_most_threads(self.n_jobs):
            count = min(self.n_neighbors, len(sample))
            self._accept(self._search(sample).prove(some, count))
        return y

    def _check_distances(self, D: Any, square: bool = False) -> None:
        """Raise unless D is a dense table of distances."""
        if self.kernel is not None:
            raise ValueError(f"metric='precomputed' needs no kernel; got kernel={self.kernel!r}")
        if sp.issparse(D):
            raise TypeError(
                "metric='precomputed' needs a dense table of distances; got a sparse one"
            )
        if square and D.shape[0] != D.shape[1]:
            raise ValueError(
                f"X must be a square matrix, the distances between the training points, where "
                f"metric='precomputed'; its shape is {D.shape}"
            )
        if D.min(initial=0.0) < 0.0:
            raise ValueError(f"X must hold distances ≥ 0 (negative values found: {D.min():.3g})")

    @staticmethod
    def _check_count(count: Any, most: int) -> None:
        is_integer = isinstance(count, Integral) and not isinstance(count, bool)
        if not (is_integer and 1 <= count <= most):
            raise ValueError(
                f"n_neighbors must be an integer from 1 to the number of points that can be "
                f"neighbours, n_samples = {most}; got {count!r}"
            )

    # ------------------------------------------------------------ use
    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """Return distances in feature space and positions of the nearest training points.

        Parameters
        ----------
        X : table or list of objects, default=None
            New rows; None means the training points, each without itself.
        n_neighbors : int, default=None
            How many; None means the parameter of the same name.
        return_distance : bool, default=True
            Whether to return (distances, positions) or the positions alone.

        Returns
        -------
        distances, positions : array of shape (m, n_neighbors)
            Nearest first; of equal distances the smaller position comes first.
        """
        check_is_fitted(self)
        training = Sample(self.X_fit_)
        rows = training if X is None else self._checked_rows(X)
        count = self.n_neighbors if n_neighbors is None else n_neighbors
        self._check_count(count, len(training) - (X is None))
        search, rows = self._search(training), self._coordinates(rows)
        ranks, index = self._found(search, rows, count + (X is None))
        if X is None:
            ranks, index = without_self(ranks, index)
        if not return_distance:
            return index
        return self._distances(search, ranks, rows), index

    def _found(
        self, search: FeatureSearch, rows: Sample, count: int
    ) -> tuple[np.ndarray, np.ndarray]:
        with at_most_threads(self.n_jobs):
            return search.find(rows, count, parse_memory(self.memory))

    def _checked_rows(self, X: Any) -> Sample:
        rows = self._new_rows(X)
        if self._given_distances:
            self._check_distances(rows.data)
        return rows

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity"
    ) -> sp.csr_matrix:
        """Return a sparse matrix with an entry for each new row and each of its neighbours.

        Parameters
        ----------
        X, n_neighbors
            As for `kneighbors`.
        mode : {"connectivity", "distance"}, default="connectivity"
            Whether an entry is 1 or the distance.

        Returns
        -------
        CSR matrix of shape (m, n)
        """
        _check_mode(mode)
        found = self.kneighbors(X, n_neighbors, return_distance=mode == "distance")
        index = found[1] if mode == "distance" else found
        values = found[0] if mode == "distance" else np.ones(index.shape)
        return self._graph(list(values), list(index))

    def radius_neighbors(
        self,
        X: Any = None,
        radius: float | None = None,
        return_distance: bool = True,
        sort_results: bool = True,
    ) -> Any:
        """Return all training points within a distance of each new row.

        Parameters
        ----------
        X : table or list of objects, default=None
            New rows; None means the training points, each without itself.
        radius : float
            The largest distance; `NearestNeighbors` has a default.
        return_distance : bool, default=True
            Whether to return (distances, positions) or the positions alone.
        sort_results : bool, default=True
            Not used: the nearest always come first. It is there for programs that ask for it.

        Returns
        -------
        distances, positions : array of m arrays
            Nearest first; of equal distances the smaller position comes first.
        """
        check_is_fitted(self)
        given: Any = getattr(self, "radius", None) if radius is None else radius
        if not isinstance(given, Real) or not float(given) >= 0.0:
            raise ValueError(f"radius must be a number ≥ 0; got {given!r}")
        D: list[np.ndarray] = []
        index: list[np.ndarray] = []
        for distances, positions in self._within(X, float(given)):
            D.append(distances)
            index.append(positions)
        return (boxed(D), boxed(index)) if return_distance else boxed(index)

    def radius_neighbors_graph(
        self,
        X: Any = None,
        radius: float | None = None,
        mode: str = "connectivity",
        sort_results: bool = True,
    ) -> sp.csr_matrix:
        """Return a sparse matrix with an entry for each new row and each point within a radius.

        The parameters are those of `radius_neighbors` and `kneighbors_graph`.
        """
        _check_mode(mode)
        D, index = self.radius_neighbors(X, radius)
        values = D if mode == "distance" else [np.ones(len(d)) for d in D]
        return self._graph(list(values), list(index))

    def _graph(self, values: list[np.ndarray], index: list[np.ndarray]) -> sp.csr_matrix:
        ends = np.cumsum([0, *(len(row) for row in index)])
        parts = (np.concatenate(values), np.concatenate(index), ends)
        return sp.csr_matrix(parts, shape=(len(index), len(Sample(self.X_fit_))))

    def _within(self, X: Any, radius: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield distances and positions within a radius, a row after the other.

        The lists of the nearest are doubled until they reach beyond the radius.
        """
        training = Sample(self.X_fit_)
        alone, n = X is None, len(training)
        search = self._search(training)
        rows = self._coordinates(training if alone else self._checked_rows(X))
        for row in range(0, len(rows), RADIUS_ROWS):
            part = rows[row : row + RADIUS_ROWS]
            count = min(FIRST_LIST, n)
            while True:
                ranks, index = self._found(search, part, count)
                D = self._distances(search, ranks, part, own=alone)
                if count == n or (D[:, -1] > radius).all():
                    break
                count = min(2 * count, n)
            for i in range(len(part)):
                keep = D[i] <= radius
                if alone:
                    keep &= index[i] != row + i
                yield D[i, keep], index[i, keep]

    def _distances(
        self, search: FeatureSearch, ranks: np.ndarray, rows: Sample, own: bool = False
    ) -> np.ndarray:
        if self._pairwise and not (own or rows.data is self.X_fit_):
            raise ValueError(
                "distances of new points need k(x, x), which a precomputed matrix of new points "
                "does not hold: use weights='uniform' and return_distance=False, or another kernel"
            )
        return search.distances(ranks, rows)


def _check_mode(mode: Any) -> None:
    if mode not in ("connectivity", "distance"):
        raise ValueError(f"mode must be 'connectivity' or 'distance'; got {mode!r}")


def _closeness(distances: np.ndarray) -> np.ndarray:
    """Return weights in proportion to 1/distance; points at distance 0 share all of it."""
    least = distances[:, :1]  # a ratio to the least neither overflows nor vanishes
    ratio = np.divide(least, distances, out=np.ones_like(distances), where=distances > 0)
    weights = np.where(distances == 0, 1.0, ratio)
    return weights / weights.sum(axis=1, keepdims=True)


class NeighbourVote(NeighbourEstimator):
    """An estimator whose answers are votes of the nearest training points."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **NeighbourEstimator._parameter_constraints,
        "weights": [StrOptions({"uniform", "distance"}), callable, None],
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        kernel: Any = None,
        metric: Any = "l2",
        weights: Any = "uniform",
        memory: int | str | None = None,
        n_jobs: int | None = None,
    ):
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.metric = metric
        self.weights = weights
        self.memory = memory
        self.n_jobs = n_jobs

    def _neighbours(
        self, X: Any, values: int = BLOCK_VALUES
    ) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield blocks of new rows, the positions of their neighbours and weights that sum to 1.

        Without new rows they are the training points, each without itself.
        """
        training, alone = Sample(self.X_fit_), X is None
        rows = training if alone else self._checked_rows(X)
        if not alone:
            self.kernel_.check_pair(rows, training)
        k = self.n_neighbors
        self._check_count(k, len(training) - alone)
        search, rows = self._search(training), self._coordinates(rows)
        for block in ranges(len(rows), max(1, values // k)):
            part = rows[block]
            ranks, index = self._found(search, part, k + alone)
            if alone:
                ranks, index = without_self(ranks, index, block.start)
            if not callable(self.weights) and self.weights != "distance":
                yield block, index, np.full(index.shape, 1.0 / k)
                continue
            D = self._distances(search, ranks, part, own=alone)
            yield block, index, _closeness(D) if isinstance(self.weights, str) else self._own(D)

    def _own(self, D: np.ndarray) -> np.ndarray:
        """Return the weights that the user's function gives to distances, with sums of 1."""
        given = np.asarray(self.weights(D), dtype=np.float64)
        if given.shape != D.shape or not (given >= 0.0).all() or not np.isfinite(given).all():
            raise ValueError(
                f"weights must return finite numbers ≥ 0 of the shape of the distances, {D.shape}; "
                f"got shape {given.shape}"
            )
        total = given.sum(axis=1, keepdims=True)
        if not (total > 0.0).all():
            raise ValueError("weights must not be 0 for all neighbours of a row")
        return given / total
