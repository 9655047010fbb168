"""k-means in the feature space of a kernel."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClusterMixin

from mercer._array import parse_memory
from mercer._estimator import KernelEstimator
from mercer._state import Attribute, FittedRows, Floats, Integers
from mercer.gram import Centering, gram
from mercer.spectral._base import COUNT
from mercer.spectral._lloyd import kernel_kmeans


class KernelKMeans(ClusterMixin, KernelEstimator):
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
    random_state : int, RandomState or None, default=None
        The draws of the starts.
    memory : int, str or None, default=None
        The byte budget of the Gram matrix; None is half of the free memory.

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
        "labels_": Integers("rows", below="clusters"),
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
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "rbf",
        n_init: int = 10,
        max_iter: int = 300,
        random_state: Any = None,
        memory: int | str | None = None,
    ):
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.memory = memory

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelKMeans:
        """Find the clusters of the rows X with weights ≥ 0; ``y`` is not used."""
        self._validate_params()
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
