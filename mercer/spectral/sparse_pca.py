"""Sparse principal component analysis: components that look at few columns."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import qr

from mercer._floats import TINY
from mercer._limits import Limits
from mercer._sklearn import Interval
from mercer._state import Attribute, Floats, Integers
from mercer.result import Certificate, Solution, Status
from mercer.solvers import fix_signs
from mercer.spectral._base import COUNT, NOT_NEGATIVE, POSITIVE, LinearProjection, final_status
from mercer.spectral._covariance import by_singular_values, centred_in_unit, in_squared_units
from mercer.spectral.robust_pca import shrink_entries

SAFETY = 0.1  # the loop aims at this share of the tolerance of the proof


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

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "loadings_": Floats("components", "columns"),
        "explained_variance_": Floats("components"),
        "explained_variance_ratio_": Floats("components"),
        "n_iter_": Integers(),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [COUNT, None],
        "lam": [NOT_NEGATIVE],
        "tol": [POSITIVE],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "time_limit": [NOT_NEGATIVE, None],
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
        limits = Limits.of(self.max_iter, self.time_limit)
        X, mean, scale = centred_in_unit(self._fit_table(X))
        axes = by_singular_values(X, largest=float(np.abs(mean).max()) + 1.0)
        A = axes.sizes[:, None] * fix_signs(axes.vectors).T
        k = min(self.n_components or len(A), len(A))
        lam = float(self.lam) / scale
        V, status, self.n_iter_ = sparse_loadings(A, k, lam, tol=self.tol, limits=limits)
        V = _ordered(V)
        self.mean_ = scale * mean
        self.loadings_ = scale * V.T
        self.components_ = (V / np.linalg.norm(V, axis=0)).T
        self._keep_variance(A, len(X), scale)
        proof = loadings_stationarity(X, V, lam, tolerance=self.tol, unit=scale)
        self._accept(Solution(V, final_status(status, proof), proof))
        return self

    def _keep_variance(self, A: np.ndarray, n: int, scale: float) -> None:
        """Store the adjusted variances: the squared diagonal of R in scores = QR."""
        own = np.abs(np.diagonal(np.linalg.qr(A @ self.components_.T, mode="r")))
        total = np.linalg.norm(A)
        self.explained_variance_ = in_squared_units(own**2 / max(n - 1, 1), scale)
        self.explained_variance_ratio_ = (own / (total or 1.0)) ** 2

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return the rows in the span of the components that have these scores, shape (m, d)."""
        scores = np.asarray(X, dtype=np.float64)
        return np.linalg.lstsq(self.components_, scores.T, rcond=None)[0].T + self.mean_


def _ordered(V: np.ndarray) -> np.ndarray:
    """Return the loadings that are left, the longest first, with fixed signs."""
    lengths = np.linalg.norm(V, axis=0)
    order = np.argsort(-lengths, kind="stable")
    return fix_signs(V[:, order[lengths[order] > 0]])


# -------------------------------------------------------------------- the loadings
def sparse_loadings(
    A: np.ndarray, k: int, lam: float, *, tol: float, limits: Limits
) -> tuple[np.ndarray, Status, int]:
    """Return loadings V, shape (d, k), where ½‖A − UVᵀ‖² + λ‖V‖₁ with UᵀU = I is stationary.

    With them comes why the rounds ended and how many there were.

    Given U the best V is XᵀU with its entries shrunk by λ, and given V the best U is the polar
    factor of XV, so that no step raises the objective. Extrapolation, kept where it pays, makes
    that ten times faster for small λ.

    Parameters
    ----------
    A : array of shape (r, d)
        Singular values times right singular vectors of the rows: the same problem as with the
        rows themselves, and PCA is the unit matrix as U.
    k : int
        Components, at most r.
    """
    U = _start(A, k, lam)
    V, before, pace, step = shrink_entries(A.T @ U, lam), U, 1.0, 0
    status = None if V.any() else Status.OPTIMAL
    try:
        while status is None:
            U = _polar(A @ V)
            plain = shrink_entries(A.T @ U, lam)
            change = float(np.linalg.norm(plain - V)) / max(float(np.linalg.norm(V)), TINY)
            V, pace = _extrapolated(A, U, before, plain, pace, lam)
            before, step = U, step + 1
            status = Status.OPTIMAL if change <= SAFETY * tol else limits.stopped(step)
            V = plain if status is not None else V
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    return V, status, step


def _start(A: np.ndarray, k: int, lam: float) -> np.ndarray:
    """Return the principal directions, or those of the longest columns if λ removes the former."""
    U = np.eye(len(A), k)
    if not shrink_entries(A.T @ U, lam).any():
        U = qr(A, mode="economic", pivoting=True)[0][:, :k]
    return U


def _extrapolated(
    A: np.ndarray, U: np.ndarray, before: np.ndarray, V: np.ndarray, pace: float, lam: float
) -> tuple[np.ndarray, float]:
    """Return better loadings from beyond U if there are any, and the next pace of Nesterov's."""
    following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * pace**2))
    beyond = _polar(U + (pace - 1.0) / following * (U - before))
    ahead = shrink_entries(A.T @ beyond, lam)
    # at the best V the objective is a constant − ½‖V‖²
    return (ahead, following) if np.linalg.norm(ahead) > np.linalg.norm(V) else (V, 1.0)


def _polar(M: np.ndarray) -> np.ndarray:
    """Return the orthonormal columns nearest to those of M."""
    left, _, right = np.linalg.svd(M, full_matrices=False)
    return left @ right


# -------------------------------------------------------------------- the proof
def loadings_stationarity(
    X: np.ndarray, V: np.ndarray, lam: float, *, tolerance: float, unit: float = 1.0
) -> Certificate:
    """Prove that another round over U and V gives the same V: a stationary point.

    X, V and λ are measured in ``unit``. Columns of V must not be 0: those have dropped out.
    """
    U = _polar(X @ V)
    largest = max(float(np.linalg.norm(V)), TINY)
    change = float(np.linalg.norm(shrink_entries(X.T @ U, lam) - V)) / largest
    objective = 0.5 * float(((X - U @ V.T) ** 2).sum()) + lam * float(np.abs(V).sum())
    parts = {
        "stationarity": change,
        "objective": objective * unit * unit,
        "components": V.shape[1],
        "nonzero_share": float(np.count_nonzero(V) / max(V.size, 1)),
        "guarantee": "no global guarantee",
    }
    about = f"½‖X − UVᵀ‖² + {lam * unit:.4g} ‖V‖₁, UᵀU = I: a stationary point, no global guarantee"
    return Certificate("stationarity", change, tolerance, about, parts)
