"""Norms that are Euclidean after a linear map: √(xᵀPx), and Mahalanobis' √(xᵀΣ⁻¹x)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from mercer.norms.base import Norm
from mercer.norms.lp import L2

SYMMETRY_ROUNDING = (
    1e-8  # relative difference of a matrix and its transpose that is taken for rounding
)


class _Elliptic(Norm):
    """A norm that is Euclidean after a linear map, given by a positive definite matrix M = LLᵀ."""

    _L: np.ndarray

    def _keep(self, name: str, matrix: Any) -> None:
        M, L = _definite(matrix, name, type(self).__name__)
        object.__setattr__(self, name, M)
        object.__setattr__(self, "_L", L)
        object.__setattr__(self, "dimension", len(M))

    def whiten(self, X: Any) -> np.ndarray:
        """Return a vector or rows in coordinates where this norm is the Euclidean one."""
        x = self._vectors(X)
        return self._map(x.T).T

    def _map(self, columns: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def value(self, x: Any) -> Any:
        """Return ‖x‖ of a vector, or of each row."""
        return L2.value(self.whiten(x))

    def distances(self, X: Any, Y: Any) -> np.ndarray:
        """Return ‖x − y‖ for all rows of X and Y, shape (n, m)."""
        return L2.distances(self.whiten(X), self.whiten(Y))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and np.array_equal(self._L, other._L)

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.dimension))


@dataclass(frozen=True, eq=False)
class Quadratic(_Elliptic):
    """The norm ‖x‖_P = √(xᵀPx); its steepest descent is −P⁻¹g, Newton's step if P is the Hessian.

    Parameters
    ----------
    P : array of shape (d, d)
        Symmetric and positive definite.

    Examples
    --------
    >>> from mercer.norms import Quadratic
    >>> norm = Quadratic([[4.0, 0.0], [0.0, 1.0]])
    >>> norm.value([1.0, 0.0]), norm.steepest([4.0, 1.0]).tolist()
    (2.0, [-1.0, -1.0])
    """

    P: np.ndarray

    def __post_init__(self) -> None:
        self._keep("P", self.P)

    def _map(self, columns: np.ndarray) -> np.ndarray:
        return self._L.T @ columns

    def dual(self) -> Mahalanobis:
        """Return √(gᵀP⁻¹g)."""
        return self._dual

    @cached_property  # descent asks at every step, and a factorisation is not free
    def _dual(self) -> Mahalanobis:
        return Mahalanobis(self.P)

    def _extreme(self, g: np.ndarray) -> np.ndarray:
        half = solve_triangular(self._L, g, lower=True)
        return solve_triangular(self._L, half, lower=True, trans="T")


@dataclass(frozen=True, eq=False)
class Mahalanobis(_Elliptic):
    """The norm √(xᵀΣ⁻¹x): Euclidean length after whitening with a covariance Σ.

    Σ⁻¹ is never formed: with Σ = LLᵀ the length is ‖L⁻¹x‖.

    Parameters
    ----------
    covariance : array of shape (d, d)
        Σ, symmetric and positive definite.

    Examples
    --------
    >>> from mercer.norms import Mahalanobis
    >>> Mahalanobis([[4.0, 0.0], [0.0, 1.0]]).value([[2.0, 0.0], [0.0, 1.0]])
    array([1., 1.])
    """

    covariance: np.ndarray

    def __post_init__(self) -> None:
        self._keep("covariance", self.covariance)

    def _map(self, columns: np.ndarray) -> np.ndarray:
        return solve_triangular(self._L, columns, lower=True)

    def dual(self) -> Quadratic:
        """Return √(gᵀΣg)."""
        return self._dual

    @cached_property
    def _dual(self) -> Quadratic:
        return Quadratic(self.covariance)

    def _extreme(self, g: np.ndarray) -> np.ndarray:
        return self.covariance @ g


def _definite(matrix: Any, name: str, owner: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a symmetric positive definite matrix, read-only, and its Cholesky factor."""
    M = np.array(matrix, dtype=np.float64)
    if M.ndim != 2 or M.shape[0] != M.shape[1] or not M.size or not np.isfinite(M).all():
        raise ValueError(
            f"{name} of {owner} must be a finite square matrix; its shape is {M.shape}"
        )
    if np.abs(M - M.T).max() > SYMMETRY_ROUNDING * np.abs(M).max():
        raise ValueError(f"{name} of {owner} must be symmetric; M − Mᵀ is not 0")
    M = 0.5 * M + 0.5 * M.T
    try:
        L = cholesky(M, lower=True)
    except LinAlgError:
        raise ValueError(
            f"{name} of {owner} must be positive definite, or some vectors have no length; its "
            f"least eigenvalue is {np.linalg.eigvalsh(M)[0]:.3g}: add a multiple of the identity"
        ) from None
    M.flags.writeable = L.flags.writeable = False
    return M, L
