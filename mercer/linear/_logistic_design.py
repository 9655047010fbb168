"""The table of a logistic regression in coordinates that Newton's method likes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer._array import largest_size
from mercer._scratch import scratch
from mercer.linear._base import NOISE, Range, safe_unit


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
    products: np.ndarray | None  # AᵀWA of a dense table

    @classmethod
    def of(cls, X: Any, weight: np.ndarray, lam: float, intercept: bool) -> Design:
        unit = safe_unit(largest_size(X))
        A: Any
        A, mean = (_sparse if sp.issparse(X) else _dense)(X, unit, weight, intercept)
        d, basis, products = X.shape[1], None, None
        if sp.issparse(A):
            squares = np.asarray(A.power(2).T @ weight)
        else:
            products = _weighted_products(A, weight)
            if intercept:
                _drop_constant(A, products, (NOISE * mean / unit) ** 2 * weight.sum())
            if lam == 0.0:
                basis = Range.of(A[:, :d], np.abs(mean / unit) * len(A) ** 0.5)
                A = np.hstack([basis.U, A[:, d:]])
                products = _weighted_products(A, weight)
            squares = np.diag(products).copy()
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


def _drop_constant(A: np.ndarray, products: np.ndarray, noise: np.ndarray) -> None:
    """Set columns to 0 whose squares are rounding: their values are all equal."""
    constant = np.flatnonzero(np.diag(products)[: len(noise)] <= noise)
    A[:, constant] = 0.0
    products[constant] = 0.0
    products[:, constant] = 0.0


def _weighted_products(A: np.ndarray, weight: np.ndarray) -> np.ndarray:
    if (weight == weight[0]).all():
        return weight[0] * (A.T @ A)
    B = A * np.sqrt(weight)[:, None]
    return B.T @ B
