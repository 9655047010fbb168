"""Whitening: a linear map after which columns are uncorrelated and have variance one."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.linalg import qr, solve_triangular

from mercer._array import largest_size
from mercer._floats import safe_unit
from mercer._sklearn import StrOptions
from mercer._state import Attribute, Floats
from mercer.result import Certificate, Solution
from mercer.solvers import fix_signs
from mercer.solvers.eigen import status_of
from mercer.spectral._base import COUNT, SHARE, TOLERANCE, LinearProjection, check_scores
from mercer.spectral._covariance import Covariance, centered_rows, deviations, project


class Whitening(LinearProjection):
    """Whitening: z = W(x − μ) with WΣWᵀ = I, Σ the covariance of the rows (by n − 1).

    With Σ = UDUᵀ = LLᵀ the maps are D^(−½)Uᵀ ("pca"), UD^(−½)Uᵀ ("zca", the one that changes the
    rows least) and L⁻¹ ("cholesky", each output from the columns up to it).

    Directions without variance are left out: "pca" has as many outputs as Σ has rank, the outputs
    of "zca" have the covariance that projects onto the range of Σ, and "cholesky" needs full rank.

    Parameters
    ----------
    n_components : int or None, default=None
        How many of the leading principal axes are used ("pca" and "zca"); None means all. Fewer
        are used if Σ has fewer.
    shrinkage : float in [0, 1], default=0.0
        s in (1 − s) Σ + s tr(Σ)/d I, which takes the place of Σ: small variances are not blown up.
    method : {"pca", "zca", "cholesky"}, default="pca"
        Which of the maps; they differ by a rotation.

    Attributes
    ----------
    mean_ : array of shape (d,)
        μ.
    components_ : array of shape (k, d)
        W.
    mixing_ : array of shape (k, d)
        The way back: x = μ + z mixing_.
    explained_variance_ : array of shape (r,)
        D, the variances along the principal axes, falling, without shrinkage.
    certificate_ : Certificate
        The largest entry of WΣWᵀ − I, computed from the whitened rows, the rank of Σ, and the
        discarded share of the variance.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Whitening
    >>> X = np.array([[0.0, 0.0], [2.0, 2.0], [4.0, 0.0], [2.0, -2.0]]) @ [[1.0, 3.0], [0.0, 1.0]]
    >>> white = Whitening(method="zca").fit(X)
    >>> np.allclose(np.cov(white.transform(X).T), np.eye(2))
    True
    >>> np.allclose(white.inverse_transform(white.transform(X)), X)
    True
    """

    by_columns = True

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "explained_variance_": Floats("variances"),
        "mixing_": Floats("components", "columns"),
        "_total": Floats(),
        "_kept": Floats(),
    }

    explained_variance_: np.ndarray
    mixing_: np.ndarray

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [COUNT, None],
        "shrinkage": [SHARE],
        "method": [StrOptions({"pca", "zca", "cholesky"})],
    }

    def __init__(
        self, n_components: int | None = None, *, shrinkage: float = 0.0, method: str = "pca"
    ):
        self.n_components = n_components
        self.shrinkage = shrinkage
        self.method = method

    def fit(self, X: Any, y: Any = None) -> Whitening:
        """Find the map; ``y`` is not used."""
        self._validate_params()
        if self.method == "cholesky" and self.n_components is not None:
            raise ValueError(
                f"n_components must be None for method='cholesky'; got {self.n_components!r}"
            )
        X = self._fit_table(X, ensure_min_samples=2)
        rows, self.mean_ = centered_rows(X)
        rows[:, deviations(rows, self.mean_) == 0.0] = 0.0
        unit = safe_unit(largest_size(rows))
        rows /= unit * np.sqrt(len(rows) - 1)  # now Σ = RᵀR
        S = self._shrunk(rows)
        if self.method == "cholesky":
            self._by_columns(rows, S)
        else:
            self._by_axes(S)
        solution = self._proved(rows, S)
        if unit != 1.0:
            self._rescale(unit)
        self._accept(solution)
        return self

    def _rescale(self, unit: float) -> None:
        self.components_, self.mixing_ = self.components_ / unit, self.mixing_ * unit
        self.explained_variance_ = self.explained_variance_ * unit * unit

    def _shrunk(self, rows: np.ndarray) -> Covariance:
        """Return (1 − s) Σ + floor I; ``rows`` are scaled to the first term."""
        S = Covariance.of(rows)
        self.explained_variance_ = S.axes.sizes**2
        self._total = float(self.explained_variance_.sum())
        if self.shrinkage == 0.0:
            return S
        rows *= np.sqrt(1.0 - self.shrinkage)
        sizes = S.axes.sizes * np.sqrt(1.0 - self.shrinkage)
        return Covariance(
            S.axes._replace(sizes=sizes), self.shrinkage * self._total / rows.shape[1]
        )

    def _by_axes(self, S: Covariance) -> None:
        k = S.axes.rank if self.n_components is None else min(self.n_components, S.axes.rank)
        self._kept = float(self.explained_variance_[:k].sum())
        V = fix_signs(S.axes.vectors[:, :k])
        roots = np.sqrt(S.eigenvalues[:k])
        self.components_, self.mixing_ = V.T / roots[:, None], roots[:, None] * V.T
        if self.method == "zca" and k < S.axes.rank:
            self.components_, self.mixing_ = V @ self.components_, V @ self.mixing_
        elif self.method == "zca":
            identity = np.eye(len(V))
            self.components_, self.mixing_ = S.whiten(identity), S.color(identity)

    def _by_columns(self, rows: np.ndarray, S: Covariance) -> None:
        d = rows.shape[1]
        if S.axes.rank < d and S.floor == 0.0:
            raise ValueError(
                f"method='cholesky' needs a covariance of full rank; got rank {S.axes.rank} for "
                f"{d} columns: use method='pca' or 'zca', or shrinkage > 0"
            )
        stacked = np.vstack([rows, S.floor**0.5 * np.eye(d)]) if S.floor > 0 else rows
        R = qr(stacked, mode="r", check_finite=False)[0][:d]  # RᵀR = Σ, never formed
        R *= np.where(np.diag(R) < 0, -1.0, 1.0)[:, None]
        self._kept = self._total
        self.mixing_ = R
        self.components_ = solve_triangular(R, np.eye(d), trans="T", check_finite=False)

    def _proved(self, rows: np.ndarray, S: Covariance) -> Solution:
        """Prove WΣWᵀ = I (of "zca" the projection onto the axes in use) and the way back."""
        W, Z = self.components_, rows @ self.components_.T
        back = W @ self.mixing_.T
        target = back @ back if self.method == "zca" else np.eye(len(W))
        white = float(np.abs(Z.T @ Z + S.floor * (W @ W.T) - target).max(initial=0.0))
        inverse = float(np.abs(back - target).max(initial=0.0))
        parts = {
            "covariance_error": white,
            "inverse_error": inverse,
            "rank": S.axes.rank,
            "trace": self._total,
            "discarded": 1.0 - self._kept / self._total if self._total > 0 else 0.0,
        }
        about = f"WΣWᵀ = I on {len(W)} of {W.shape[1]} dimensions"
        certificate = Certificate("whitening error", max(white, inverse), TOLERANCE, about, parts)
        return Solution(W, status_of(certificate), certificate)

    def _projected(self, X: Any) -> np.ndarray:
        return project(X, self.mean_, self.components_.T)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return the rows μ + z mixing_ of whitened rows, shape (m, d)."""
        Z = check_scores(self, X)
        return (Z @ self.mixing_ + self.mean_).astype(Z.dtype, copy=False)
