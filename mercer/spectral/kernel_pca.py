"""Kernel principal component analysis."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval

from mercer._array import parse_memory
from mercer._estimator import KernelEstimator
from mercer.gram import Centering, gram
from mercer.solvers import leading_eigenpairs


class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """Kernel PCA: the directions of largest variance of the centred features φ(x).

    K̃ = HKH = V Λ Vᵀ; the scores of the training points are V Λ^½, those of a new point
    Λ^(−½) Vᵀ k̃(x).

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        The kernel.
    n_components : int or None, default=None
        How many components; None means all with a positive eigenvalue. Fewer are kept if fewer
        eigenvalues are positive.
    memory : int, str or None, default=None
        The byte budget; None is half of the free memory.

    Attributes
    ----------
    eigenvalues_ : array of shape (k,)
        Eigenvalues of K̃, falling.
    eigenvectors_ : array of shape (n, k)
        Orthonormal eigenvectors of K̃.
    explained_variance_ratio_ : array of shape (k,)
        Shares of the variance in feature space.
    certificate_ : Certificate
        Eigen residual, orthogonality error, the discarded share of the variance.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> X = np.array([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    >>> pca = KernelPCA("linear").fit(X)
    >>> pca.eigenvalues_.round(6)
    array([2.])
    >>> pca.certificate_.ok
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None]
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        n_components: int | None = None,
        *,
        memory: int | str | None = None,
    ):
        self.kernel = kernel
        self.n_components = n_components
        self.memory = memory

    def fit(self, X: Any, y: Any = None) -> KernelPCA:
        """Find the components; ``y`` is not used."""
        self._validate_params()
        sample, _, _ = self._fit_rows(X)
        self.X_fit_ = sample.data
        budget = parse_memory(self.memory)  # half for K, half for the copy that is factored
        K = gram(self.kernel_, sample, memory=budget // 2, dtype=np.float64).centered()
        solution = leading_eigenpairs(K, self.n_components, memory=budget)
        self.eigenvectors_, self.eigenvalues_ = solution.value, solution.state
        # of an indefinite kernel the positive part alone exceeds the trace
        total = max(solution.certificate.trace, float(self.eigenvalues_.sum()), 1e-300)
        self.explained_variance_ratio_ = self.eigenvalues_ / total
        self.centering_means_, self.centering_total_ = K.centering.means, K.centering.total
        self._accept(solution)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the scores of new rows, shape (m, k)."""
        rows = self._new_rows(X)
        K = gram(self.kernel_, rows, self.X_fit_, storage="blocked", dtype=np.float64)
        n = K.shape[1]
        centering = Centering(np.full(n, 1.0 / n), self.centering_means_, self.centering_total_)
        scores = K.centered(reference=centering) @ (self.eigenvectors_ / np.sqrt(self.eigenvalues_))
        return scores.astype(rows.dtype, copy=False)

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, and return the scores of the training rows without computing the kernel again."""
        self.fit(X, y)
        scores = self.eigenvectors_ * np.sqrt(self.eigenvalues_)
        return scores.astype(self._fit_dtype, copy=False)

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)

    @property
    def _fit_dtype(self) -> Any:
        is_single = getattr(self.X_fit_, "dtype", None) == np.float32
        return np.float32 if is_single else np.float64

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
