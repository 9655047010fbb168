"""Nearest neighbours in the feature space of a kernel, or in a norm."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer._sklearn import Interval
from mercer._state import Attribute, Either, Floats, Integers, Labels, LabelsEach
from mercer.machines._neighbours import NeighbourEstimator, NeighbourVote


class KNN(MultiOutputMixin, ClassifierMixin, NeighbourVote):
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
    metric : Norm, {"l1", "l2", "linf", "precomputed"} or float, default="l2"
        Without a kernel: the norm of differences, or its power p; "manhattan", "euclidean" and
        "chebyshev" are other names of the three. ``Mahalanobis(covariance)`` of
        `mercer.norms` measures in units of the spread. With "precomputed" X is a matrix of
        distances: (n, n) for ``fit``, then (m, n) of new rows to the training points.
    weights : {"uniform", "distance"}, callable or None, default="uniform"
        Whether each vote counts 1 (None is the same) or 1/distance (then a point at distance 0
        decides alone), or a function from distances (m, k) to weights ≥ 0 of the same shape.
    memory : int, str or None, default=None
        Byte budget; None is half of the free memory.
    n_jobs : int or None, default=None
        Most threads of a search; None and −1 are as many as there are cores, if it is worth them.

    Attributes
    ----------
    classes_ : array, or list of arrays
        The labels; where a row has several, those of each column of y.
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
        "classes_": Either(Labels("classes"), LabelsEach("classes", "outputs")),
        "y_fit_": Integers("rows", "outputs?", below="classes"),
    }

    def fit(self, X: Any, y: Any) -> KNN:
        """Store the rows X and their labels y, shape (n,) or (n, n_outputs)."""
        y = self._fit_points(X, y, multi_output=True)
        y = column_or_1d(y, warn=True) if y.ndim == 2 and y.shape[1] == 1 else y
        check_classification_targets(y)
        columns = [np.unique(labels, return_inverse=True) for labels in _columns(y)]
        labels, codes = (list(part) for part in zip(*columns, strict=True))
        self.classes_ = labels[0] if y.ndim == 1 else labels
        self.y_fit_ = codes[0] if y.ndim == 1 else np.column_stack(codes)
        return self

    def predict_proba(self, X: Any) -> Any:
        """Return the share of each class in the vote, shape (m, n_classes).

        With None instead of new rows the training points vote on one another, each left out of its
        own vote. Where a row has several labels, it is a list with such an array for each.
        """
        check_is_fitted(self)
        votes = [
            [_vote(index, weights, *output) for output in self._outputs]
            for _, index, weights in self._neighbours(X)
        ]
        shares = [np.concatenate(blocks) for blocks in zip(*votes, strict=True)]
        return shares if self._several else shares[0]

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of new rows (None: of the training points, each left out of its vote).

        Of equal votes the first class wins.
        """
        votes = self.predict_proba(X)
        if not self._several:
            return self.classes_[votes.argmax(axis=1)]
        chosen = zip(self.classes_, votes, strict=True)
        return np.column_stack([labels[share.argmax(axis=1)] for labels, share in chosen])

    @property
    def _several(self) -> bool:
        """Whether a row has several labels."""
        return self.y_fit_.ndim == 2

    @property
    def _outputs(self) -> list[tuple[np.ndarray, int]]:
        """Return for each label of a row the codes of the training points, and of how many."""
        classes = self.classes_ if self._several else [self.classes_]
        return list(zip(_columns(self.y_fit_), map(len, classes), strict=True))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _columns(y: np.ndarray) -> Any:
    return [y] if y.ndim == 1 else y.T


def _vote(index: np.ndarray, weights: np.ndarray, codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return how much of the weights of its neighbours each class of a row has."""
    places = np.arange(len(index))[:, None] * n_classes + codes[index]
    votes = np.bincount(places.ravel(), weights.ravel(), minlength=len(index) * n_classes)
    return votes.reshape(len(index), n_classes)


class NearestNeighbors(NeighbourEstimator):
    """The nearest training points, or those within a radius: a search without targets.

    What libraries that ask for neighbours need, such as imbalanced-learn's SMOTE. The search is
    that of `KNN`: exact, in a norm or in the feature space of a kernel, tile by tile.

    Parameters
    ----------
    n_neighbors : int, default=5
        How many neighbours `kneighbors` returns.
    radius : float, default=1.0
        How far `radius_neighbors` looks.
    kernel, metric, memory, n_jobs
        As for `KNN`.

    Attributes
    ----------
    certificate_, kernel_
        As of `KNN`.

    Examples
    --------
    >>> from mercer import NearestNeighbors
    >>> model = NearestNeighbors(2).fit([[0.0], [1.0], [5.0]])
    >>> model.kneighbors([[0.2]])[1].tolist(), model.radius_neighbors([[4.5]])[1][0].tolist()
    ([[0, 1]], [2])
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {"n_neighbors": Integers(least=1)}
    needs_neighbours = False  # a search may be asked for fewer, or within a radius

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "radius": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        radius: float = 1.0,
        kernel: Any = None,
        metric: Any = "l2",
        memory: int | str | None = None,
        n_jobs: int | None = None,
    ):
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.kernel = kernel
        self.metric = metric
        self.memory = memory
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> NearestNeighbors:
        """Store the rows X; y is not looked at."""
        self._fit_points(X, "no_validation")
        return self


class KNNRegressor(MultiOutputMixin, RegressorMixin, NeighbourVote):
    """Regression by the mean of the k nearest training points in feature space.

    ‖φ(x) − φ(y)‖² = k(x, x) − 2k(x, y) + k(y, y)

    Parameters
    ----------
    n_neighbors : int, default=5
        How many neighbours are averaged.
    kernel, metric, weights, memory, n_jobs
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
        """Return the mean of the neighbours' targets (None: of training points, without itself)."""
        check_is_fitted(self)
        means = [
            np.einsum("mk,mk...->m...", weights, self.y_fit_[index])
            for _, index, weights in self._neighbours(X)
        ]
        return np.concatenate(means)
