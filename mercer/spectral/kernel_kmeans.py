"""k-means in the feature space of a kernel."""

from __future__ import annotations

from numbers import Integral
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClusterMixin

from mercer._array import parse_memory
from mercer._estimator import KernelEstimator, check_weights
from mercer._in_span import InSpan, no_targets
from mercer._sklearn import Interval
from mercer._state import Attribute, FittedRows, Floats, Integers
from mercer.gram import Centering, gram
from mercer.rows import Rows, as_rows
from mercer.solvers.ridge_route import landmarks_for
from mercer.spectral._base import COUNT
from mercer.spectral._kmeans_span import span_kmeans
from mercer.spectral._lloyd import kernel_kmeans


class KernelKMeans(InSpan, ClusterMixin, KernelEstimator):
    """Kernel k-means: clusters that are round in feature space.

    The clusters minimise Σ_c Σ_{x ∈ c} w ‖φ(x) − m_c‖² with m_c their weighted mean; all that is
    needed is ‖φ(x) − m_c‖² = k(x, x) − 2 Σⱼ zⱼ k(x, xⱼ) + Σᵢⱼ zᵢ zⱼ k(xᵢ, xⱼ). Several starts by
    k-means++ in feature space run side by side, and the best is kept: a local minimum, with no
    guarantee that it is the global one. The linear kernel gives Lloyd's k-means.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    kernel : Kernel, str or callable, default="rbf"
        The kernel.
    n_init : int, default=10
        The number of starts.
    max_iter : int, default=300
        The most iterations of a start.
    landmarks : int, array or None, default=None
        Seek the centres in the span of so many rows, drawn at random, of rows with these numbers,
        or of these points, shape (m, d): starts on 16,384 of the rows, then a pass over all rows,
        which need not be in memory, for each iteration. None: centres are means of rows, but 2√n
        landmarks are drawn where the matrix of `Rows` does not fit into memory.
    random_state : int, RandomState or None, default=None
        The draws of the starts and the landmarks.
    memory : int, str or None, default=None
        The byte budget of the Gram matrix; None is half of the free memory.
    checkpoint : path or None, default=None
        A folder for the results of passes over landmarks, from where a fit that was killed goes on.

    Attributes
    ----------
    labels_ : array of shape (n,)
        The cluster of each training point, 0 … n_clusters − 1.
    inertia_ : float
        Σ w ‖φ(x) − m_c‖², recomputed from the labels.
    n_iter_ : int
        The iterations of the best start.
    certificate_ : Certificate
        That the labels are stationary: no point is nearer to another centre.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelKMeans
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> model = KernelKMeans(2, kernel="linear", random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2] == model.labels_[3])
    True
    >>> round(model.inertia_, 6)
    0.01
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "X_fit_": FittedRows("rows"),
        "center_coef_": Floats("rows", "clusters"),
        "center_norms_": Floats("clusters"),
        "labels_": Integers("labelled", below="clusters"),
        "centering_weights_": Floats("rows"),
        "centering_means_": Floats("rows"),
        "centering_total_": Floats(),
        "inertia_": Floats(),
        "n_iter_": Integers(),
    }

    stores_rows = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_clusters": [COUNT],
        "n_init": [COUNT],
        "max_iter": [COUNT],
        "landmarks": [Interval(Integral, 1, None, closed="left"), "array-like", None],
        "random_state": ["random_state"],
        "checkpoint": [str, PathLike, None],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "rbf",
        n_init: int = 10,
        max_iter: int = 300,
        landmarks: Any = None,
        random_state: Any = None,
        memory: int | str | None = None,
        checkpoint: str | PathLike[str] | None = None,
    ):
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.n_init = n_init
        self.max_iter = max_iter
        self.landmarks = landmarks
        self.random_state = random_state
        self.memory = memory
        self.checkpoint = checkpoint

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelKMeans:
        """Find the clusters of the rows X with weights ≥ 0; ``y`` is not used.

        With landmarks `Rows` and Dask collections come in blocks.
        """
        self._validate_params()
        X = as_rows(X)
        if self.landmarks is not None or self._is_too_large(X):
            return self._fit_in_span(self._blocks_of(X), sample_weight)
        sample, _, weight = self._fit_rows(X, sample_weight=sample_weight)
        check_clusters(self.n_clusters, len(sample))
        self.X_fit_ = sample.data
        budget = parse_memory(self.memory) // 2  # half for K, half for what passes through
        K = gram(self.kernel_, sample, memory=budget, dtype=np.float64)
        K = K.centered(weight / weight.sum())
        solution = kernel_kmeans(
            K, weight, self.n_clusters, self.n_init, self.max_iter, self.random_state
        )
        found = solution.value
        self.labels_, self.inertia_, self.n_iter_ = found.labels, found.inertia, found.n_iter
        self.center_coef_, self.center_norms_ = found.Z, found.norms
        self.centering_weights_, self.centering_means_, self.centering_total_ = K.centering
        self._accept(solution)
        return self

    def _is_too_large(self, X: Any) -> bool:
        return isinstance(X, Rows) and 8 * X.n * (X.n + X.n_columns) > parse_memory(self.memory)

    def _fit_in_span(self, rows: Rows, sample_weight: Any) -> KernelKMeans:
        check_clusters(self.n_clusters, rows.n)
        names, weight = getattr(self, "feature_names_in_", None), None
        if sample_weight is not None:
            weight = check_weights(sample_weight, rows.n)
        m = landmarks_for(self.landmarks, rows.n, parse_memory(self.memory))
        task = self._prepared(rows, m, weight, (no_targets, 1))
        found, solution = span_kmeans(
            self._span_of(task.points),
            task.problem,
            self.n_clusters,
            n_init=self.n_init,
            max_iter=self.max_iter,
            random_state=self.random_state,
            passes=task.passes,
        )
        self._keep_columns(rows)
        if names is not None:
            self.feature_names_in_ = names
        self.X_fit_ = task.points.data
        self.labels_, self.inertia_, self.n_iter_ = found.labels, found.inertia, found.n_iter
        self.center_coef_, self.center_norms_ = found.coef, found.norms
        zero = np.zeros(len(task.points))  # centres are where they are, not about a mean
        self.centering_weights_, self.centering_means_, self.centering_total_ = zero, zero, 0.0
        self._accept(solution)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the nearest centre of each row."""
        rows = self._new_rows(X)
        K = gram(self.kernel_, rows, self.X_fit_, storage="blocked", dtype=np.float64)
        centering = Centering(self.centering_weights_, self.centering_means_, self.centering_total_)
        products = K.centered(reference=centering) @ self.center_coef_
        return (self.center_norms_ - 2.0 * products).argmin(axis=1)


def check_clusters(n_clusters: int, n: int) -> None:
    """Raise if there are more clusters than points."""
    if n_clusters > n:
        raise ValueError(
            f"n_clusters must be at most the number of points, n_samples = {n}; got {n_clusters}"
        )
