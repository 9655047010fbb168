"""Canonical correlation analysis, and what it shares with that of kernels."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import lstsq, svd
from sklearn.utils.validation import check_array

from mercer._estimator import TableTransformer, Transformer
from mercer._floats import TINY
from mercer._numbers import refuse_no_numbers
from mercer._state import Attribute, Floats, Instance
from mercer.result import Solution
from mercer.solvers.eigen import status_of
from mercer.spectral._base import COUNT, NOT_NEGATIVE, NeedsTargets, eigen_proof, off_identity
from mercer.spectral._covariance import Covariance, centered_rows, deviations, no_zero, project


class CanonicalPairs(NeedsTargets, Transformer):
    """Pairs of variates, U of rows X and V of rows Y, by falling correlation."""

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "correlations_": Floats("components"),
    }

    many_targets = True
    correlations_: np.ndarray  # (k,)

    def transform(self, X: Any, y: Any = None) -> Any:
        """Return the variates U of rows, shape (m, k), or (U, V) if rows of Y are given, too."""
        U = self._variates_x(X)
        return U if y is None else (U, self._variates_y(y, len(U)))

    def _variates_x(self, X: Any) -> np.ndarray:
        raise NotImplementedError

    def _variates_y(self, y: Any, m: int) -> np.ndarray:
        """Return V of as many rows of Y as there are of X."""
        raise NotImplementedError

    def correlations(self, X: Any, y: Any) -> np.ndarray:
        """Return the correlation of each pair of variates on these rows, shape (k,)."""
        return correlate(*self.transform(X, y))

    def score(self, X: Any, y: Any) -> float:
        """Return the mean correlation of the pairs of variates on these rows."""
        correlations = self.correlations(X, y)
        return float(correlations.mean()) if len(correlations) else 0.0

    @property
    def _n_features_out(self) -> int:
        return len(self.correlations_)


def columns_of(Y: np.ndarray) -> np.ndarray:
    """Return targets as a table: one target is one column."""
    return Y[:, None] if Y.ndim == 1 else Y


def shared_signs(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Turn both columns of each pair so that the entry of largest size in A is positive."""
    if A.size == 0:
        return A, B
    largest = A[np.abs(A).argmax(axis=0), np.arange(A.shape[1])]
    signs = np.where(largest < 0, -1.0, 1.0)
    return A * signs, B * signs


def correlate(U: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Return the correlation of each pair of columns; 0 where one of them is constant."""
    U, V = (np.asarray(Z, dtype=np.float64) for Z in (U, V))
    U, V = U - U.mean(axis=0), V - V.mean(axis=0)
    sizes = np.linalg.norm(U, axis=0) * np.linalg.norm(V, axis=0)
    products = np.einsum("ij,ij->j", U, V)
    return np.divide(products, sizes, out=np.zeros_like(sizes), where=sizes > 0)


class CCA(CanonicalPairs, TableTransformer):
    """Canonical correlations: the directions in which two tables are most correlated.

    Pairs (a, b) maximise corr(Xa, Yb), each pair uncorrelated with those before it. With the
    columns in units of their deviations the blocks are whitened on their ranges, and the singular
    values of R_xx^(−½) R_xy R_yy^(−½) are the correlations. Columns may be collinear.

    Parameters
    ----------
    n_components : int, default=2
        How many pairs; fewer are kept if a block has a smaller rank.
    lam : float, default=0.0
        λ ≥ 0, added to the diagonal of both correlation matrices, R + λI: a ridge that does not
        depend on the units of the columns. It is needed where there are fewer rows than columns:
        without it ``rank_x + rank_y − (n − 1)`` of the correlations are 1 whatever the data.

    Attributes
    ----------
    correlations_ : array of shape (k,)
        The correlations, falling; with λ > 0 the regularised ones, covariances of the variates.
    x_weights_, y_weights_ : array of shape (d_x, k), (d_y, k)
        a and b: the variates are U = (X − x_mean_) x_weights_ and V = (Y − y_mean_) y_weights_,
        of variance one (by n − 1) and uncorrelated; with λ > 0 in aᵀ(R + λI)a.
    x_mean_, y_mean_ : array of shape (d_x,), (d_y,)
        Means of the columns.
    x_loadings_, y_loadings_ : array of shape (d_x, k), (d_y, k)
        What the variates say of their own table: X ≈ x_mean_ + U x_loadings_ᵀ and
        Y ≈ y_mean_ + V y_loadings_ᵀ by least squares. With λ = 0 they are the covariances of
        columns and variates; over the deviations of the columns these are correlations.
    coef_ : array of shape (d_y, d_x)
        What `predict` multiplies with.
    certificate_ : Certificate
        Residual of the eigenproblem, orthogonality error, ranks, the discarded share of Σρ², and
        ``forced``, the number of correlations that are 1 whatever the data.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import CCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> Y = np.column_stack([X[:, 0] + X[:, 1], rng.normal(size=200)])
    >>> cca = CCA(n_components=1).fit(X, Y)
    >>> cca.correlations_.round(6)
    array([1.])
    >>> U, V = cca.transform(X, Y)
    >>> np.allclose(U, V)
    True
    """

    by_columns = True

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "x_mean_": Floats("columns"),
        "y_mean_": Floats("targets"),
        "x_weights_": Floats("columns", "components"),
        "y_weights_": Floats("targets", "components"),
        "x_loadings_": Floats("columns", "components"),
        "y_loadings_": Floats("targets", "components"),
        "coef_": Floats("targets", "columns"),
        "_one_target": Instance(bool),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [COUNT],
        "lam": [NOT_NEGATIVE],
    }

    def __init__(self, n_components: int = 2, *, lam: float = 0.0):
        self.n_components = n_components
        self.lam = lam

    def fit(self, X: Any, y: Any) -> CCA:
        """Find the pairs of directions; ``y`` is the table Y, or one column of shape (n,)."""
        self._validate_params()
        refuse_no_numbers(y, "y", "CCA")
        checks = {"multi_output": True, "y_numeric": True, "ensure_min_samples": 2}
        X, Y = self._fit_table(X, y, **checks)
        left, right = _Standard.of(X, self.lam), _Standard.of(columns_of(Y), self.lam)
        P, sizes, Qt = svd(left.white.T @ right.white, full_matrices=False, check_finite=False)
        k = min(self.n_components, len(sizes))
        A, B = shared_signs(left.S.basis @ P[:, :k], right.S.basis @ Qt[:k].T)
        self.correlations_ = np.minimum(sizes[:k], 1.0)
        self.x_mean_, self.y_mean_ = left.mean, right.mean
        self.x_weights_, self.y_weights_ = left.weights(A), right.weights(B)
        self._one_target = Y.ndim == 1
        self._regress(left, right)
        self._accept(_proved(left, right, A, B, self.correlations_, float(sizes @ sizes)))
        return self

    def _regress(self, left: _Standard, right: _Standard) -> None:
        """Find what the variates say of each table, by least squares on the training rows."""
        X, Y = left.table(), right.table()
        U, V = X @ self.x_weights_, Y @ self.y_weights_
        self.x_loadings_, self.y_loadings_ = _explained(U, X), _explained(V, Y)
        self.coef_ = _explained(U, Y) @ self.x_weights_.T

    def predict(self, X: Any) -> np.ndarray:
        """Return the best linear prediction of Y from the variates U of rows, (m, d_y) or (m,).

        With as many pairs as Y has independent columns, and λ = 0, it is that of least squares.
        """
        X = self._new_table(X)
        Y = (project(X, self.x_mean_, self.coef_.T) + self.y_mean_).astype(X.dtype, copy=False)
        return Y[:, 0] if self._one_target else Y

    def _variates_x(self, X: Any) -> np.ndarray:
        X = self._new_table(X)
        return project(X, self.x_mean_, self.x_weights_).astype(X.dtype, copy=False)

    def _variates_y(self, y: Any, m: int) -> np.ndarray:
        Y = columns_of(check_array(y, ensure_2d=False, dtype=np.float64, input_name="y"))
        if Y.shape != (m, len(self.y_mean_)):
            raise ValueError(f"y must have shape ({m}, {len(self.y_mean_)}); got {Y.shape}")
        return project(Y, self.y_mean_, self.y_weights_)

    def fit_transform(self, X: Any, y: Any) -> Any:
        """Fit, and return the variates (U, V) of the training rows."""
        return self.fit(X, y).transform(X, y)


def _explained(U: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return the coefficients of X on variates; NaN where these have left the numbers."""
    if not np.isfinite(U).all():  # of subnormal columns: the proof fails, and says so
        return np.full((X.shape[1], U.shape[1]), np.nan)
    return lstsq(U, X, check_finite=False)[0].T


class _Standard(NamedTuple):
    """One of the two tables: standardised rows R with RᵀR = its correlation matrix."""

    rows: np.ndarray  # (n, d)
    mean: np.ndarray
    unit: np.ndarray  # of each column of R in the data
    S: Covariance
    white: np.ndarray  # (n, r), R times the whitening basis

    @classmethod
    def of(cls, X: np.ndarray, lam: float) -> _Standard:
        rows, mean = centered_rows(X)
        spread = deviations(rows, mean)
        rows[:, spread == 0.0] = 0.0
        unit = no_zero(spread)
        rows /= unit
        rows /= np.sqrt(len(rows))
        S = Covariance.of(rows, lam)
        return cls(rows, mean, unit, S, rows @ S.basis)

    def table(self) -> np.ndarray:
        """Return the centred table in the units of the data."""
        return self.rows * (self.unit * len(self.rows) ** 0.5)

    def weights(self, A: np.ndarray) -> np.ndarray:
        """Return weights for the data whose variates have variance one."""
        n = len(self.rows)
        return A / self.unit[:, None] * np.sqrt((n - 1) / n)

    def times(self, A: np.ndarray) -> np.ndarray:
        """Return (RᵀR + λI) A."""
        return self.rows.T @ (self.rows @ A) + self.S.floor * A

    def defect(self, A: np.ndarray, other: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the whitened Rᵀ v − (RᵀR + λI) a ρ for the variates v of the other block."""
        return self.S.basis.T @ (self.rows.T @ other - self.times(A) * values)


def _proved(
    x: _Standard, y: _Standard, A: np.ndarray, B: np.ndarray, values: np.ndarray, total: float
) -> Solution:
    """Prove R_xy b = ρ (R_xx + λ) a, R_yx a = ρ (R_yy + λ) b and that both bases are white."""
    largest = max(float(values.max(initial=0.0)), TINY)
    defects = np.hstack([x.defect(A, y.rows @ B, values).T, y.defect(B, x.rows @ A, values).T])
    residual = float(np.linalg.norm(defects, axis=1).max(initial=0.0)) / largest
    skew = max(off_identity(A.T @ x.times(A)), off_identity(B.T @ y.times(B)))
    ranks, n = (x.S.axes.rank, y.S.axes.rank), len(x.rows)
    about = f"R_xy b = ρ R_xx a, R_yx a = ρ R_yy b for {len(values)} pairs on {n} rows"
    proof = eigen_proof(
        residual,
        skew,
        about,
        rank_x=ranks[0],
        rank_y=ranks[1],
        forced=max(sum(ranks) - (n - 1), 0) if x.S.floor == 0.0 else 0,
        trace=total,
        discarded=max(1.0 - float(values @ values) / total, 0.0) if total > 0 else 0.0,
    )
    return Solution((A, B), status_of(proof), proof)
