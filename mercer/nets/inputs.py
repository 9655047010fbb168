"""The inputs of a network: rows in the units in which it is trained, dense or sparse."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer._floats import EPS, TINY

LEAST_UNIT = 1e-300  # a unit below has no inverse that is a number


class Units(NamedTuple):
    """Columns are seen as (x − mean) / unit."""

    mean: np.ndarray  # (d,)
    unit: np.ndarray  # (d,)

    @classmethod
    def none(cls, d: int) -> Units:
        """The columns as they are."""
        return cls(np.zeros(d), np.ones(d))

    @classmethod
    def of_columns(cls, X: Any, w: np.ndarray) -> Units:
        """Means and standard deviations under weights w; constant columns have the unit 1.

        A column that varies by less than 1e-300 counts as constant.
        """
        top = _largest(X)
        mean, square = _moments(X, top, w / w.sum())
        spread = np.sqrt(square)
        spread[spread <= 8.0 * EPS * np.abs(mean)] = 0.0  # nothing but rounding
        return cls(mean * top, np.where(spread * top > LEAST_UNIT, spread * top, 1.0))

    @classmethod
    def common(cls, X: np.ndarray, w: np.ndarray) -> Units:
        """Means, and one unit for all columns: the root of the mean of their variances."""
        top = max(float(np.abs(X).max()), TINY)
        mean, square = _moments(X, np.full(X.shape[1], top), w / w.sum())
        spread = np.sqrt(square.mean())
        varies = spread > 8.0 * EPS * np.abs(mean).max() and spread * top > LEAST_UNIT
        return cls(mean * top, np.full(X.shape[1], spread * top if varies else 1.0))

    def apply(self, X: np.ndarray, dtype: Any) -> np.ndarray:
        """Return dense rows in these units."""
        Z = np.asarray(X, dtype=np.float64) - self.mean
        Z /= self.unit
        return Z.astype(dtype, copy=False)


def _largest(X: Any) -> np.ndarray:
    top = abs(X).max(axis=0)
    top = np.asarray(top.toarray() if sp.issparse(top) else top, dtype=np.float64).ravel()
    return np.where(top > 0.0, top, 1.0)


def _moments(X: Any, top: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means and variances of X / top, in which squares cannot overflow."""
    if sp.issparse(X):
        Z = sp.csr_array(X, dtype=np.float64, copy=True)
        Z.data /= top[Z.indices]
        mean = share @ Z
        return mean, np.maximum(share @ Z.power(2) - mean**2, 0.0)
    Z = X / top
    mean = share @ Z
    Z -= mean
    return mean, share @ np.square(Z, out=Z)


class DenseInputs:
    """Rows of an array."""

    def __init__(self, X: np.ndarray, units: Units, dtype: Any):
        self.values = units.apply(X, dtype)
        self.shape = self.values.shape

    def take(self, index: Any) -> DenseInputs:
        """Return some rows."""
        rows = object.__new__(DenseInputs)
        rows.values = _some(self.values, index)
        rows.shape = rows.values.shape
        return rows

    def times(self, W: np.ndarray, out: np.ndarray) -> None:
        """Write rows @ W."""
        np.matmul(self.values, W, out=out)

    def transposed_times(self, D: np.ndarray, out: np.ndarray) -> None:
        """Write rowsᵀ @ D."""
        np.matmul(self.values.T, D, out=out)


def _some(values: np.ndarray, index: Any) -> np.ndarray:
    """Return a view for a slice, a copy for numbers (take is twice as fast as brackets)."""
    return values[index] if isinstance(index, slice) else np.take(values, index, axis=0)


class SparseInputs:
    """Rows of a sparse matrix; the means are taken off by a product of rank one."""

    def __init__(self, X: Any, units: Units, dtype: Any):
        self.values = sp.csr_array(X, dtype=np.float64, copy=True)
        self.values.data /= units.unit[self.values.indices]
        self.values = self.values.astype(dtype)
        self.shift = (units.mean / units.unit).astype(dtype)
        self.shape = self.values.shape

    def take(self, index: Any) -> SparseInputs:
        """Return some rows."""
        rows = object.__new__(SparseInputs)
        rows.values, rows.shift = self.values[index], self.shift
        rows.shape = rows.values.shape
        return rows

    def times(self, W: np.ndarray, out: np.ndarray) -> None:
        """Write rows @ W."""
        out[:] = self.values @ W
        out -= self.shift @ W

    def transposed_times(self, D: np.ndarray, out: np.ndarray) -> None:
        """Write rowsᵀ @ D."""
        out[:] = self.values.T @ D
        out -= np.multiply.outer(self.shift, D.sum(axis=0))


Inputs = DenseInputs | SparseInputs


def inputs_of(X: Any, units: Units, dtype: Any) -> Inputs:
    """Return dense or sparse rows in these units."""
    return (SparseInputs if sp.issparse(X) else DenseInputs)(X, units, dtype)
