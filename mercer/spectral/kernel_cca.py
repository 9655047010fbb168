"""Kernel canonical correlation analysis."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_consistent_length

from mercer._array import as_objects, format_bytes, parse_memory, refuse_text
from mercer._estimator import KernelEstimator
from mercer._sklearn import Interval
from mercer.gram import gram
from mercer.kernels import Kernel, as_kernel
from mercer.kernels.sample import Sample
from mercer.spectral._correlation import columns_of, correlate
from mercer.spectral._kernel_correlation import canonical_functions


class KernelCCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """Kernel canonical correlations: functions of x and of y that are most correlated.

    Pairs of functions f, g maximise cov(f(x), g(y)) with var f + ρ_x‖f‖² = var g + ρ_y‖g‖² = 1,
    each pair uncorrelated (in these forms) with those before it. f = Σ αᵢ k̃(·, xᵢ) and
    g = Σ βᵢ k̃(·, yᵢ) solve K_y β = κ(K_x + r_x I)α and K_x α = κ(K_y + r_y I)β with the centred
    Gram matrices.

    Parameters
    ----------
    n_components : int, default=2
        How many pairs; fewer are kept if fewer are correlated at all.
    kernel : Kernel, str or callable, default="rbf"
        The kernel of X.
    kernel_y : Kernel, str, callable or None, default=None
        The kernel of Y; None means the same as that of X.
    lam : float, default=1e-3
        λ > 0: ρ is λ times the variance of the sample in feature space, Σ k̃(x, x) / (n − 1), so
        that r = λ Σ k̃(x, x). With a rich kernel and without ρ there are functions through all
        points, and every correlation is 1. Functions along axes with more than the share λ of the
        variance are hardly penalised, those with less are.
    memory : int, str or None, default=None
        The byte budget; None is half of the free memory.

    Attributes
    ----------
    correlations_ : array of shape (k,)
        κ, falling: covariances of f(x) and g(y), below their correlations by what ρ takes.
    dual_coef_x_, dual_coef_y_ : array of shape (n, k)
        α and β, each with sum 0.
    intercept_x_, intercept_y_ : array of shape (k,)
        What centres f and g on the training rows.
    certificate_ : Certificate
        Residuals of both equations, orthogonality error, ranks.
    kernel_, kernel_y_ : Kernel
        The kernels with data-dependent parameters made concrete.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelCCA
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 6, 200)
    >>> X, Y = angle[:, None], np.column_stack([np.cos(angle), np.sin(angle)])
    >>> cca = KernelCCA(n_components=1).fit(X[:100], Y[:100])
    >>> cca.score(X[100:], Y[100:]) > 0.99
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "lam": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: Any = "rbf",
        kernel_y: Any = None,
        lam: float = 1e-3,
        memory: int | str | None = None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_y = kernel_y
        self.lam = lam
        self.memory = memory

    def fit(self, X: Any, y: Any) -> KernelCCA:
        """Find the pairs of functions; ``y`` holds the rows of Y (a table, a column, objects)."""
        self._validate_params()
        if y is None:
            raise ValueError("KernelCCA requires y to be passed, but the target y is None")
        sample, _, _ = self._fit_rows(X, ensure_min_samples=2)
        sample_y = self._fit_other(y)
        check_consistent_length(sample.data, sample_y.data)
        _require_room(len(sample), self.memory)
        self.X_fit_, self.Y_fit_ = sample.data, sample_y.data
        budget = parse_memory(self.memory)  # two matrices, and a factor of each
        K, L = (
            gram(kernel, rows, memory=budget // 4, dtype=np.float64).centered()
            for kernel, rows in ((self.kernel_, sample), (self.kernel_y_, sample_y))
        )
        solution = canonical_functions(K, L, self.n_components, self.lam, memory=budget // 4)
        self.dual_coef_x_, self.dual_coef_y_ = solution.value
        self.correlations_ = solution.state
        self.intercept_x_ = -(K.centering.means @ self.dual_coef_x_)
        self.intercept_y_ = -(L.centering.means @ self.dual_coef_y_)
        self._accept(solution)
        return self

    def _fit_other(self, y: Any) -> Sample:
        """Check the rows of Y and bind their kernel."""
        kernel = as_kernel(self.kernel if self.kernel_y is None else self.kernel_y)
        sample = _rows_of(kernel, y)
        self.kernel_y_ = kernel.bind(sample)
        self.kernel_y_.check_pair(sample, sample)
        return sample

    def transform(self, X: Any, y: Any = None) -> Any:
        """Return f(x) of rows, shape (m, k), or f(x) and g(y) if the rows of Y are given, too."""
        rows = self._new_rows(X)
        K = gram(self.kernel_, rows, self.X_fit_, storage="blocked", dtype=np.float64)
        U = (K @ self.dual_coef_x_ + self.intercept_x_).astype(rows.dtype, copy=False)
        return U if y is None else (U, self._functions_of(y, len(U)))

    def _functions_of(self, y: Any, m: int) -> np.ndarray:
        rows = _rows_of(self.kernel_y_, y)
        if len(rows) != m:
            raise ValueError(f"y must have as many rows as X, {m}; got {len(rows)}")
        K = gram(self.kernel_y_, rows, self.Y_fit_, storage="blocked", dtype=np.float64)
        return K @ self.dual_coef_y_ + self.intercept_y_

    def fit_transform(self, X: Any, y: Any) -> np.ndarray:
        """Fit, and return f(x) of the training rows alone, as pipelines need it."""
        return self.fit(X, y).transform(X)

    def correlations(self, X: Any, y: Any) -> np.ndarray:
        """Return the correlation of each pair of functions on these rows, shape (k,)."""
        return correlate(*self.transform(X, y))

    def score(self, X: Any, y: Any) -> float:
        """Return the mean correlation of the pairs of functions on these rows."""
        correlations = self.correlations(X, y)
        return float(correlations.mean()) if len(correlations) else 0.0

    @property
    def _n_features_out(self) -> int:
        return len(self.correlations_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


def _require_room(n: int, memory: Any) -> None:
    needed = 4 * 8 * n * n
    if needed > parse_memory(memory):
        raise MemoryError(
            f"KernelCCA factors two matrices of {n} × {n}, which takes {format_bytes(needed)}; the "
            f"budget is {format_bytes(parse_memory(memory))}: raise memory, or use CCA(lam=...) on "
            f"the features of a low-rank map"
        )


def _rows_of(kernel: Kernel, y: Any) -> Sample:
    """Return checked rows of Y; for kernels on vectors one target is one column."""
    if kernel.domain != "vectors":
        return kernel.sample(as_objects(y, "y"), "y")
    refuse_text(y, "y", type(kernel).__name__)
    Y = check_array(
        y,
        accept_sparse="csr",
        ensure_2d=False,
        dtype=[np.float64, np.float32],
        order="C",
        input_name="y",
    )
    return kernel.sample(columns_of(Y), "y")
