"""Spectral embedding and clustering: the eigenvectors of a graph Laplacian, normalised cuts."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from mercer._sklearn import Interval
from mercer._state import Attribute, Floats, Integers
from mercer.result import Certificate, Solution, Status
from mercer.spectral._affinity import AffinityEstimator
from mercer.spectral._base import COUNT, Embedding
from mercer.spectral._lloyd import InnerProducts, kernel_kmeans
from mercer.spectral._scaling import of_graph, without_direction

NEIGHBOURS = [Interval(Integral, 2, None, closed="left")]
ZERO_EIGENVALUE = 1e-10  # Laplacian eigenvalues below are 0: one for each part of the graph
MAX_ITER = 300


class SpectralEmbedding(Embedding, AffinityEstimator):
    """Laplacian eigenmaps: coordinates in which points of high affinity are close.

    L = I − D^(−½) W D^(−½) = V M Vᵀ with affinities W and degrees D; the coordinates are
    f = D^(−½) v for the smallest eigenvalues after the constant one. New points are placed by
    Nyström's extension f(x) ∝ Σⱼ W(x, xⱼ) f(xⱼ) / (1 − μ).

    Parameters
    ----------
    n_components : int, default=2
        The number of coordinates.
    affinity : {"nearest_neighbors", "precomputed", "precomputed_nearest_neighbors"}, kernel, \
its name or a function, default="nearest_neighbors"
        W: the graph of the nearest neighbours (½ for each direction), the values ≥ 0 of a kernel
        such as "rbf", or a given matrix (dense or sparse). With the last name X holds sparse
        distances to neighbours, of which the nearest count.
    n_neighbors : int, default=10
        For the graph: how many neighbours, the point itself counted (as in scikit-learn).

    Attributes
    ----------
    embedding_ : array of shape (n, k)
        The coordinates of the training points.
    eigenvalues_ : array of shape (k,)
        Eigenvalues μ of the Laplacian, rising, between 0 and 2.
    n_graph_components_ : int
        How many eigenvalues of the Laplacian are 0 (of those looked at): parts without connection.
    certificate_ : Certificate
        Eigen residual and orthogonality error.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SpectralEmbedding
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> z = SpectralEmbedding(1, affinity="rbf").fit_transform(X)[:, 0]
    >>> bool(np.ptp(z[:3]) + np.ptp(z[3:]) < 0.1 * np.ptp(z))
    True
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "n_graph_components_": Integers(least=1),
        "eigenvalues_": Floats("components"),
    }

    accepts_sparse = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [COUNT],
        "n_neighbors": NEIGHBOURS,
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        affinity: Any = "nearest_neighbors",
        n_neighbors: int = 10,
    ):
        self.n_components = n_components
        self.affinity = affinity
        self.n_neighbors = n_neighbors

    def fit(self, X: Any, y: Any = None) -> SpectralEmbedding:
        """Find the coordinates of the rows X; ``y`` is not used."""
        self._validate_params()
        solution = self._fit_affinity(X, self.n_components + 1)
        found = solution.value
        self.n_graph_components_ = max(1, int((found.values < ZERO_EIGENVALUE).sum()))
        root = np.sqrt(found.degrees)
        self.eigenvalues_, vectors = without_direction(found.values, found.vectors, root)
        self.embedding_ = vectors / root[:, None]
        about = f"Laplacian v = μ v for {self.n_components} coordinates of {len(root)} points"
        self._accept(of_graph(solution, about, self.n_graph_components_))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the coordinates of new rows, shape (m, k)."""
        check_is_fitted(self)
        scores, dtype = self._extend(X, self.embedding_, self.eigenvalues_)
        return scores.astype(dtype, copy=False)


class SpectralClustering(ClusterMixin, AffinityEstimator):
    """Spectral clustering: normalised cuts of a graph of affinities.

    The functions f = D^(−½) v of the n_clusters smallest eigenvalues of the Laplacian
    I − D^(−½) W D^(−½) are nearly constant on clusters of high affinity; k-means divides them. New
    points are placed by Nyström's extension and go to the nearest centre.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    affinity : {"nearest_neighbors", "precomputed", "precomputed_nearest_neighbors"}, kernel, \
its name or a function, default="nearest_neighbors"
        W: the graph of the nearest neighbours (½ for each direction), the values ≥ 0 of a kernel,
        or a given matrix (dense or sparse).
    n_neighbors : int, default=10
        For the graph: how many neighbours, the point itself counted (as in scikit-learn).
    random_state : int, RandomState or None, default=None
        The starts of k-means.
    n_init : int, default=10
        How many starts.

    Attributes
    ----------
    labels_ : array of shape (n,)
        The cluster of each training point.
    embedding_ : array of shape (n, n_clusters)
        The functions f at the training points.
    eigenvalues_ : array of shape (n_clusters + 1,)
        The smallest eigenvalues of the Laplacian, rising (one less if there are no more points).
    eigengap_ : float
        The gap after the n_clusters-th eigenvalue: the larger, the clearer this number of clusters.
    inertia_ : float
        What k-means leaves, Σ‖f − centre‖².
    certificate_ : Certificate
        Eigen residual of the functions, and that the labels are stationary.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SpectralClustering
    >>> t = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> circle = np.column_stack([np.cos(t), np.sin(t)])
    >>> X = np.vstack([circle, 3 * circle])
    >>> model = SpectralClustering(2, n_neighbors=5, random_state=0)
    >>> labels = model.fit_predict(X)
    >>> len(set(labels[:60])), len(set(labels[60:]))
    (1, 1)
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "eigenvalues_": Floats("eigenvalues"),
        "eigengap_": Floats(),
        "embedding_": Floats("rows", "components"),
        "cluster_centers_": Floats("clusters", "components"),
        "labels_": Integers("rows", below="clusters"),
        "inertia_": Floats(),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_clusters": [COUNT],
        "n_neighbors": NEIGHBOURS,
        "n_init": [COUNT],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        affinity: Any = "nearest_neighbors",
        n_neighbors: int = 10,
        random_state: Any = None,
        n_init: int = 10,
    ):
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.random_state = random_state
        self.n_init = n_init

    def fit(self, X: Any, y: Any = None) -> SpectralClustering:
        """Find the clusters of the rows X; ``y`` is not used."""
        self._validate_params()
        k = self.n_clusters
        solution = self._fit_affinity(X, k, one_more=True)
        self.eigenvalues_, vectors, degrees = solution.value
        gaps = np.diff(self.eigenvalues_[k - 1 :])
        self.eigengap_ = float(gaps[0]) if len(gaps) else 0.0
        self.embedding_ = vectors[:, :k] / np.sqrt(degrees)[:, None]
        self._accept(_both(solution, self._divided(), k))
        return self

    def _divided(self) -> Solution:
        """Divide the functions by k-means."""
        K = InnerProducts(self.embedding_ - self.embedding_.mean(axis=0))
        weight = np.ones(len(K.X))
        divided = kernel_kmeans(
            K, weight, self.n_clusters, self.n_init, MAX_ITER, self.random_state
        )
        clusters = divided.value
        self.labels_, self.inertia_ = clusters.labels, clusters.inertia
        self.cluster_centers_ = clusters.Z.T @ self.embedding_
        self.cluster_centers_[~np.isfinite(clusters.norms)] = np.inf  # of no point
        return divided

    def predict(self, X: Any) -> np.ndarray:
        """Return the cluster of each row."""
        check_is_fitted(self)
        functions, _ = self._extend(X, self.embedding_, self.eigenvalues_[: self.n_clusters])
        gaps = functions[:, None] - self.cluster_centers_
        return np.einsum("mcf,mcf->mc", gaps, gaps).argmin(axis=1)


def _both(functions: Solution, clusters: Solution, n_clusters: int) -> Solution:
    first, second = functions.certificate, clusters.certificate
    certificate = Certificate(
        "eigen residual, share that would move",
        max(first.value, second.value),
        first.tolerance,
        f"Laplacian v = μ v for {n_clusters} functions, divided by k-means: stationary, no global "
        f"guarantee",
        {**first.parts, **{k: v for k, v in second.parts.items() if k != "storage"}},
    )
    status = functions.status if clusters.status is Status.OPTIMAL else clusters.status
    return Solution(clusters.value.labels, status, certificate)
