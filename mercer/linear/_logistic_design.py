"""The table of a logistic regression in coordinates that Newton's method likes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer._array import largest_size
from mercer._scratch import scratch
from mercer.linear._base import NOISE, Range, checked_unit

DIRECT = 5e7  # operations of a Hessian and its factor, up to which steps are solved directly


class Design(NamedTuple):
    """Columns A, scales and penalties of coordinates θ, and the way back to coefficients.

    G = A (θ / scale). Columns are centred (not those of a sparse table), and scaled so that the
    curvature at the start is about 1 in each coordinate; the last one is that of the intercept.
    Without a penalty the columns are a basis of the range of X, so that w is of least norm.
    """

    A: Any  # (n, m)
    scale: np.ndarray  # (m, 1)
    penalty: np.ndarray  # (m, 1), of θ²/2
    mean: np.ndarray  # (d,)
    unit: float
    intercept: bool
    basis: Range | None
    products: np.ndarray | None  # AᵀWA of a dense table whose steps may be solved directly

    @classmethod
    def of(cls, X: Any, weight: np.ndarray, lam: float, intercept: bool) -> Design:
        unit = checked_unit(largest_size(X))
        A: Any
        A, mean = (_sparse if sp.issparse(X) else _dense)(X, unit, weight, intercept)
        d, basis, products = X.shape[1], None, None
        if sp.issparse(A):
            squares = np.asarray(A.power(2).T @ weight)
        else:
            products, squares = _products(A, weight)
            if intercept:
                noise = (NOISE * mean / unit) ** 2 * weight.sum()
                _drop_constant(A, products, squares, np.flatnonzero(squares[:d] <= noise))
            if lam == 0.0:
                basis = Range.of(A[:, :d], np.abs(mean / unit) * len(A) ** 0.5)
                A = np.hstack([basis.U, A[:, d:]])
                products, squares = _products(A, weight)
        penalties = np.full(len(squares), lam / unit / unit)
        if intercept:
            penalties[-1] = 0.0
        scale = np.sqrt(0.25 * squares + penalties)
        scale[scale == 0.0] = 1.0
        penalty = (penalties / scale / scale)[:, None]
        return cls(A, scale[:, None], penalty, mean, unit, intercept, basis, products)

    def values(self, theta: np.ndarray) -> np.ndarray:
        """Return G = A (θ / scale)."""
        return np.asarray(self.A @ (theta / self.scale))

    def slopes(self, S: np.ndarray) -> np.ndarray:
        """Return the derivative in θ of what has the slopes S in G."""
        return np.asarray(self.A.T @ S) / self.scale

    def back(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return w (d, k) and b (k,) in the units of the data."""
        gamma = theta / self.scale
        inner, offset = (gamma[:-1], gamma[-1]) if self.intercept else (gamma, 0.0)
        w = (inner if self.basis is None else self.basis.coef(inner)) / self.unit
        return w, offset - self.mean @ w


def _dense(
    X: Any, unit: float, weight: np.ndarray, intercept: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the centred columns, in one pass, with one of ones; and the means."""
    n, d = X.shape
    A = scratch((n, d + intercept), np.float64)
    mean = np.zeros(d)
    if intercept:
        A[:, d] = 1.0
        mean = (weight / weight.sum()) @ X
        mean = mean.astype(np.float64)
    np.subtract(X, mean, out=A[:, :d])
    if unit != 1.0:
        A[:, :d] /= unit
    return A, mean


def _sparse(X: Any, unit: float, weight: np.ndarray, intercept: bool) -> tuple[Any, np.ndarray]:
    A = sp.csr_array(X, dtype=np.float64) / unit
    if intercept:
        A = sp.csr_array(sp.hstack([A, np.ones((X.shape[0], 1))]))
    return A, np.zeros(X.shape[1])


def _drop_constant(
    A: np.ndarray, products: np.ndarray | None, squares: np.ndarray, constant: np.ndarray
) -> None:
    """Set columns to 0 whose squares are rounding: their values are all equal."""
    A[:, constant] = 0.0
    squares[constant] = 0.0
    if products is not None:
        products[constant] = 0.0
        products[:, constant] = 0.0


def scaled(A: Any, scale: np.ndarray) -> Any:
    """Return a table with its columns divided by their scales."""
    return A @ sp.diags_array(1.0 / scale) if sp.issparse(A) else A / scale


def factor_cost(n: int, m: int) -> float:
    """Return the operations of a Hessian of m coordinates from n rows, and of its factor."""
    return 0.5 * n * m**2 + m**3 / 3


def _products(A: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """Return AᵀWA, or None where it is too large to be of use, and its diagonal."""
    if factor_cost(*A.shape) > DIRECT:
        return None, np.einsum("i,ij,ij->j", weight, A, A)
    if (weight == weight[0]).all():
        products = weight[0] * (A.T @ A)
    else:
        B = A * np.sqrt(weight)[:, None]
        products = B.T @ B
    return products, np.diag(products).copy()
