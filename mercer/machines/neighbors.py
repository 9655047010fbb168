"""Nearest neighbours in the feature space of a kernel, or in a norm."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from mercer._array import parse_memory, ranges
from mercer._estimator import KernelEstimator
from mercer._sklearn import Interval, StrOptions
from mercer._state import Attribute, Floats, Integers, Labels, Rows, one_more
from mercer.kernels import Kernel, Linear
from mercer.kernels.sample import Sample
from mercer.norms import L1, L2, Mahalanobis, Norm, Quadratic, as_norm
from mercer.solvers.nearest import FeatureSearch, NormSearch

BLOCK_VALUES = 2**20  # neighbours of so many new rows at once
WHITENING = (Mahalanobis, Quadratic)  # norms that are Euclidean after a linear map
CHECKED = 8  # training rows whose neighbours are recomputed for the proof


class NeighbourEstimator(KernelEstimator):
    """Training points that are searched for the nearest in feature space."""

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "X_fit_": Rows("rows"),
        "n_neighbors": Integers(least=1, below=one_more("rows")),
    }

    stores_rows = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "weights": [StrOptions({"uniform", "distance"})],
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        kernel: Any = None,
        metric: Any = "l2",
        weights: str = "uniform",
        memory: int | str | None = None,
    ):
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.metric = metric
        self.weights = weights
        self.memory = memory

    def _given_kernel(self) -> Kernel:
        return Linear() if self.kernel is None else super()._given_kernel()

    # ------------------------------------------------------------ distances
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
        norm = self._norm()
        if norm in (L1, L2):
            return rows
        if rows.is_sparse:
            raise TypeError(f"metric={norm!r} needs dense rows; got sparse ones: use X.toarray()")
        return Sample(norm.whiten(rows.data)) if isinstance(norm, WHITENING) else rows

    def _search(self, training: Sample) -> FeatureSearch:
        norm, points = self._norm(), self._coordinates(training)
        if norm == L2 or isinstance(norm, WHITENING):
            return FeatureSearch(self.kernel_, points)
        return NormSearch(norm, points)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        plain = isinstance(self.metric, (str, float, int, Norm))
        tags.input_tags.sparse = plain and self.metric in ("l1", "l2", 1, 2, L1, L2)
        return tags

    # ------------------------------------------------------------ fit
    def _fit_points(self, X: Any, y: Any, **checks: Any) -> Any:
        """Check and store the training points, prove the search on some; return the targets."""
        self._validate_params()
        parse_memory(self.memory)
        sample, y, _ = self._fit_rows(X, y, **checks)
        self._check_count(self.n_neighbors, len(sample))
        self.X_fit_ = sample.data
        some = np.unique(np.linspace(0, len(sample) - 1, CHECKED).astype(np.intp))
        self._accept(self._search(sample).prove(some, self.n_neighbors))
        return y

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
        rows = training if X is None else self._new_rows(X)
        count = self.n_neighbors if n_neighbors is None else n_neighbors
        self._check_count(count, len(training) - (X is None))
        search, rows = self._search(training), self._coordinates(rows)
        ranks, index = search.find(rows, count + (X is None), parse_memory(self.memory))
        if X is None:
            ranks, index = _without_self(ranks, index)
        if not return_distance:
            return index
        return self._distances(search, ranks, rows), index

    def _distances(self, search: FeatureSearch, ranks: np.ndarray, rows: Sample) -> np.ndarray:
        if self._pairwise and rows.data is not self.X_fit_:
            raise ValueError(
                "distances of new points need k(x, x), which a precomputed matrix of new points "
                "does not hold: use weights='uniform' and return_distance=False, or another kernel"
            )
        return search.distances(ranks, rows)

    def _neighbors(
        self, X: Any, values: int = BLOCK_VALUES
    ) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield blocks of new rows, the positions of their neighbours and weights that sum to 1."""
        rows, training = self._new_rows(X), Sample(self.X_fit_)
        self.kernel_.check_pair(rows, training)
        search, k, rows = self._search(training), self.n_neighbors, self._coordinates(rows)
        for block in ranges(len(rows), max(1, values // k)):
            part = rows[block]
            ranks, index = search.find(part, k, parse_memory(self.memory))
            if self.weights == "uniform":
                yield block, index, np.full(index.shape, 1.0 / k)
            else:
                yield block, index, _closeness(self._distances(search, ranks, part))


def _without_self(ranks: np.ndarray, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Drop from each row's list the row itself, or the last one if more are as near as itself."""
    own = index == np.arange(len(index))[:, None]
    own[~own.any(axis=1), -1] = True
    kept = (len(index), index.shape[1] - 1)
    return ranks[~own].reshape(kept), index[~own].reshape(kept)


def _closeness(distances: np.ndarray) -> np.ndarray:
    """Return weights in proportion to 1/distance; points at distance 0 share all of it."""
    least = distances[:, :1]  # a ratio to the least neither overflows nor vanishes
    ratio = np.divide(least, distances, out=np.ones_like(distances), where=distances > 0)
    weights = np.where(distances == 0, 1.0, ratio)
    return weights / weights.sum(axis=1, keepdims=True)


class KNN(ClassifierMixin, NeighbourEstimator):
    """Classification by a vote of the k nearest training points in feature space.

    ‖φ(x) − φ(y)‖² = k(x, x) − 2k(x, y) + k(y, y)

    The search is exact and goes tile by tile, so that memory grows with the number of new rows,
    not with their number times that of the training points. Gaussian, exponential and Laplacian
    kernels are searched by the distance they fall with, which loses no digits.

    Parameters
    ----------
    n_neighbors : int, default=5
        How many neighbours vote.
    kernel : Kernel, str, callable or None, default=None
        The kernel; None is the distance between rows.
    metric : Norm, {"l1", "l2", "linf"} or float, default="l2"
        Without a kernel: the norm of differences, or its power p. ``Mahalanobis(covariance)`` of
        `mercer.norms` measures in units of the spread.
    weights : {"uniform", "distance"}, default="uniform"
        Whether each vote counts 1 or 1/distance (then a point at distance 0 decides alone).
    memory : int, str or None, default=None
        Byte budget; None is half of the free memory.

    Attributes
    ----------
    classes_ : array
        The labels.
    certificate_ : Certificate
        That the search finds the nearest, shown on some training points by brute force.
    kernel_ : Kernel
        The kernel with data-dependent parameters made concrete.

    Examples
    --------
    >>> from mercer import KNN
    >>> model = KNN(3).fit([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]], ["a"] * 3 + ["b"] * 3)
    >>> model.predict([[6.0]]).tolist(), model.predict_proba([[4.0]]).round(2).tolist()
    (['b'], [[0.67, 0.33]])
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "classes_": Labels("classes"),
        "y_fit_": Integers("rows", below="classes"),
    }

    def fit(self, X: Any, y: Any) -> KNN:
        """Store the rows X and their labels y."""
        y = self._fit_points(X, y)
        check_classification_targets(y)
        self.classes_, self.y_fit_ = np.unique(y, return_inverse=True)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the share of each class in the vote, shape (m, n_classes)."""
        check_is_fitted(self)
        shares = [self._vote(index, weights) for _, index, weights in self._neighbors(X)]
        return np.concatenate(shares)

    def _vote(self, index: np.ndarray, weights: np.ndarray) -> np.ndarray:
        m, n_classes = len(index), len(self.classes_)
        places = np.arange(m)[:, None] * n_classes + self.y_fit_[index]
        votes = np.bincount(places.ravel(), weights.ravel(), minlength=m * n_classes)
        return votes.reshape(m, n_classes)

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of new rows; of equal votes the first class wins."""
        votes = self.predict_proba(X)
        return self.classes_[votes.argmax(axis=1)]


class KNNRegressor(MultiOutputMixin, RegressorMixin, NeighbourEstimator):
    """Regression by the mean of the k nearest training points in feature space.

    ‖φ(x) − φ(y)‖² = k(x, x) − 2k(x, y) + k(y, y)

    Parameters
    ----------
    n_neighbors : int, default=5
        How many neighbours are averaged.
    kernel, metric, weights, memory
        As for `KNN`; a vote is a part of the average.

    Attributes
    ----------
    certificate_, kernel_
        As of `KNN`.

    Examples
    --------
    >>> from mercer import KNNRegressor
    >>> model = KNNRegressor(2).fit([[0.0], [1.0], [5.0]], [0.0, 2.0, 9.0])
    >>> model.predict([[0.2], [4.0]])
    array([1. , 5.5])
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "y_fit_": Floats("rows", "targets?"),
    }

    def fit(self, X: Any, y: Any) -> KNNRegressor:
        """Store the rows X and their targets y, shape (n,) or (n, n_targets)."""
        y = self._fit_points(X, y, multi_output=True, y_numeric=True)
        self.y_fit_ = np.array(y, dtype=np.float64)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the mean of the neighbours' targets."""
        check_is_fitted(self)
        means = [
            np.einsum("mk,mk...->m...", weights, self.y_fit_[index])
            for _, index, weights in self._neighbors(X)
        ]
        return np.concatenate(means)
