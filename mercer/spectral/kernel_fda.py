"""The kernel Fisher discriminant."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from mercer._array import parse_memory
from mercer._estimator import KernelEstimator
from mercer._floats import EPS
from mercer._sklearn import Interval
from mercer.gram import CenteredGram, gram
from mercer.spectral._fisher import FisherProblem
from mercer.spectral._nearest_mean import NearestMean


class KernelFDA(NearestMean, ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """Kernel Fisher discriminant: LDA of the features φ(x), with a ridge.

    The functions f = ⟨w, φ(·)⟩ maximise wᵀS_b w / wᵀ(S_w + ρI)w, the variance of the class means
    over that within classes and ρ‖f‖². In the coordinates z(x) of these functions, a row belongs
    to the class with the largest log π_c − ½‖z − z_c‖².

    S_b has rank C − 1, and S_b w = μ(S_b + S_w + ρI)w has the same solutions: they are spanned by
    the kernel ridge regressions on the indicators of the classes. One Cholesky factor of the
    centred K + nρI serves all of them, and an eigenproblem of size C − 1 is left.

    Parameters
    ----------
    n_components : int or None, default=None
        How many functions, at most C − 1 (fewer are kept if there are fewer); None means all.
        With fewer than there are both the projection and the classifier are the rank-reduced ones.
    kernel : Kernel, str or callable, default="rbf"
        The kernel.
    lam : float, default=1e-3
        λ > 0: ρ is λ times the variance of the sample in feature space, the mean of
        k̃(x, x) = ‖φ(x) − mean‖². It does not depend on the scale of the kernel.
    memory : int, str or None, default=None
        The byte budget; None is half of the free memory. Without room for a factor the regressions
        are found by conjugate gradients.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    priors_ : array of shape (n_classes,)
        π, the shares of the classes.
    dual_coef_ : array of shape (n, k)
        The functions are f(x) = Σᵢ αᵢ k(x, xᵢ) + intercept_, with Σα = 0.
    intercept_ : array of shape (k,)
        The offsets that centre the functions on the training rows.
    eigenvalues_ : array of shape (k,)
        The values of the quotient, falling.
    explained_variance_ratio_ : array of shape (k,)
        Their shares in the sum of all.
    class_scores_ : array of shape (n_classes, k)
        z_c, the class means.
    certificate_ : Certificate
        Residual of the eigenproblem in feature space, orthogonality error, the discarded share.
    kernel_ : Kernel
        The kernel with data-dependent parameters made concrete.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelFDA
    >>> angle = np.linspace(0, 6, 30)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> X, y = np.vstack([ring, 3 * ring]), ["inner"] * 30 + ["outer"] * 30
    >>> fda = KernelFDA(kernel="rbf").fit(X, y)
    >>> fda.score(X, y)
    1.0
    >>> fda.transform(X).shape
    (60, 1)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "lam": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Any = "rbf",
        lam: float = 1e-3,
        memory: int | str | None = None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.lam = lam
        self.memory = memory

    def fit(self, X: Any, y: Any) -> KernelFDA:
        """Find the functions of rows X with labels y."""
        self._validate_params()
        sample, y, _ = self._fit_rows(X, y)
        codes = self._codes_of(y)
        self.X_fit_ = sample.data
        self.priors_ = np.bincount(codes) / len(codes)
        budget = parse_memory(self.memory)  # half for K, half for its factor
        K = gram(self.kernel_, sample, memory=budget // 2, dtype=np.float64)
        centred = K.centered()
        problem = FisherProblem(centred, codes, self.lam * _variance(centred))
        solution = problem.solve(K, self.n_components, memory=budget)
        self.dual_coef_, self.eigenvalues_ = solution.value, solution.state
        self.intercept_ = -(centred.centering.means @ self.dual_coef_)
        self.explained_variance_ratio_ = self.eigenvalues_ / solution.stats["total"]
        self.class_scores_ = solution.stats["means"]
        self._accept(solution)
        return self

    def _discriminants(self, X: Any) -> np.ndarray:
        return self._values(self._new_rows(X))

    def _values(self, rows: Any) -> np.ndarray:
        K = gram(self.kernel_, rows, self.X_fit_, storage="blocked", dtype=np.float64)
        return K @ self.dual_coef_ + self.intercept_

    def transform(self, X: Any) -> np.ndarray:
        """Return the discriminant coordinates of rows, shape (m, k)."""
        rows = self._new_rows(X)
        return self._values(rows).astype(rows.dtype, copy=False)

    @property
    def _n_features_out(self) -> int:
        return self.dual_coef_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _variance(K: CenteredGram) -> float:
    variance = float(K.diagonal().mean())
    if not variance > 64 * EPS * float(np.abs(K.base.diagonal()).max()):
        raise ValueError(
            "X must hold rows that differ for the kernel: the variance in feature space is "
            f"{variance:.3g}"
        )
    return variance
