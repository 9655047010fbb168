"""Sparse principal component analysis: components that look at few columns."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from mercer._floats import EPS
from mercer._limits import Limits
from mercer._sklearn import Interval
from mercer.result import Solution, Status
from mercer.solvers import fix_signs
from mercer.spectral._base import LinearProjection
from mercer.spectral._sparse_loadings import loadings_stationarity, sparse_loadings


class SparsePCA(LinearProjection):
    """Sparse PCA: loadings of which most are exactly 0.

    min ½‖X − UVᵀ‖² + λ‖V‖₁ over U with UᵀU = I and V, for centred X. With λ = 0 it is PCA. The
    problem is not convex: what is found is a stationary point, reached from PCA.

    Parameters
    ----------
    n_components : int or None, default=None
        How many; None means as many as the rank of X. Fewer are kept if the rank is smaller or λ
        leaves no loading of a component.
    lam : float, default=1.0
        λ ≥ 0, in the unit of X: loadings of one column that pure noise of standard deviation σ
        makes have size σ, whatever the number of rows.
    tol : float, default=1e-6
        What one more round may change of V, relative to ‖V‖.
    max_iter : int, default=10000
        Most rounds; −1 is no limit.
    time_limit : float or None, default=None
        Seconds for the fit; then the best so far is kept, with a warning.

    Attributes
    ----------
    loadings_ : array of shape (k, d)
        The rows are the columns of V, the longest first.
    components_ : array of shape (k, d)
        The same with length one.
    explained_variance_, explained_variance_ratio_ : array of shape (k,)
        The variance that a component adds to those before it (the components are correlated, and
        what two of them share is counted once), and its share of the whole.
    mean_ : array of shape (d,)
        The mean row.
    n_iter_ : int
        Rounds of the solver.
    certificate_ : Certificate
        ``stationarity, objective``; no global guarantee.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SparsePCA
    >>> rng = np.random.default_rng(0)
    >>> z, noise = rng.normal(size=(200, 1)), rng.normal(size=(200, 6))
    >>> X = 5.0 * z * [1.0, 1.0, 0.0, 0.0, 0.0, 0.0] + noise
    >>> SparsePCA(1, lam=3.0).fit(X).components_.round(1)
    array([[0.7, 0.7, 0. , 0. , 0. , 0. ]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "lam": [Interval(Real, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        lam: float = 1.0,
        tol: float = 1e-6,
        max_iter: int = 10000,
        time_limit: float | None = None,
    ):
        self.n_components = n_components
        self.lam = lam
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit

    def fit(self, X: Any, y: Any = None) -> SparsePCA:
        """Find the components; ``y`` is not used."""
        self._validate_params()
        X = self._fit_table(X).astype(np.float64)
        limits = Limits.of(self.max_iter, self.time_limit)
        scale = float(np.abs(X).max()) or 1.0  # squares of the rows have a range, the rows have not
        X /= scale
        mean = X.mean(axis=0)
        X -= mean
        A = _compressed(X, scale=float(np.abs(mean).max()) + 1.0)
        k = min(self.n_components or len(A), len(A))
        lam = float(self.lam) / scale
        V, status, self.n_iter_ = sparse_loadings(A, k, lam, tol=self.tol, limits=limits)
        V = _ordered(V)
        self.mean_ = scale * mean
        self.loadings_ = scale * V.T
        self.components_ = (V / np.linalg.norm(V, axis=0)).T
        self._keep_variance(A, len(X), scale)
        proof = loadings_stationarity(X, V, lam, tolerance=self.tol, unit=scale)
        status = Status.INACCURATE if status.ok and not proof.ok else status
        self._accept(Solution(V, status, proof))
        return self

    def _keep_variance(self, A: np.ndarray, n: int, scale: float) -> None:
        """Store the adjusted variances: the squared diagonal of R in scores = QR."""
        own = np.abs(np.diagonal(np.linalg.qr(A @ self.components_.T, mode="r"))) * scale
        total = np.linalg.norm(A) * scale
        self.explained_variance_ = own**2 / max(n - 1, 1)
        self.explained_variance_ratio_ = (own / (total or 1.0)) ** 2

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return the rows in the span of the components that have these scores, shape (m, d)."""
        scores = np.asarray(X, dtype=np.float64)
        return np.linalg.lstsq(self.components_, scores.T, rcond=None)[0].T + self.mean_


def _compressed(X: np.ndarray, scale: float) -> np.ndarray:
    """Return singular values times right singular vectors of centred rows, without rounding."""
    _, values, directions = np.linalg.svd(X, full_matrices=False)
    rounding = EPS * max(X.shape) * max(values.max(initial=0.0), scale)
    rank = int(np.count_nonzero(values > rounding))
    return values[:rank, None] * fix_signs(directions[:rank].T).T


def _ordered(V: np.ndarray) -> np.ndarray:
    """Return the loadings that are left, the longest first, with fixed signs."""
    lengths = np.linalg.norm(V, axis=0)
    order = np.argsort(-lengths, kind="stable")
    return fix_signs(V[:, order[lengths[order] > 0]])
