"""Metrics of rows: a weight for each column, or the matrix P of the quadratic norm ‖x‖_P."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._floats import EPS
from mercer.kernels.sample import Sample

ASYMMETRY = 1e-8  # of the largest entry: beyond, a matrix was not meant to be symmetric
NEGATIVE = 1e-8  # of the largest eigenvalue: beyond, a matrix is no metric


def check_metric(metric: Any, n_columns: int) -> np.ndarray:
    """Return weights ≥ 0, shape (d,), or a positive semidefinite matrix (d, d), read-only."""
    found = _as_numbers(metric)
    if found is None or found.shape not in ((n_columns,), (n_columns, n_columns)):
        got = f"shape {found.shape}" if found is not None else repr(metric)
        raise ValueError(
            f"metric must be {n_columns} finite weights ≥ 0, one for each column, or a matrix of "
            f"shape ({n_columns}, {n_columns}); got {got}"
        )
    if found.ndim == 1:
        _check_weights(found)
    else:
        found = _check_matrix(found)
    found.flags.writeable = False
    return found


def _as_numbers(metric: Any) -> np.ndarray | None:
    try:
        found = np.array(metric, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return found if np.isfinite(found).all() else None


def _check_weights(weights: np.ndarray) -> None:
    if (weights < 0).any() or not weights.any():
        raise ValueError(
            f"the weights of a metric must be ≥ 0 and not all zero; they lie between "
            f"{weights.min():g} and {weights.max():g}"
        )


def _check_matrix(P: np.ndarray) -> np.ndarray:
    gaps = np.abs(P - P.T)
    i, j = np.unravel_index(gaps.argmax(), gaps.shape)
    if gaps[i, j] > ASYMMETRY * np.abs(P).max():
        raise ValueError(
            f"a metric must be a symmetric matrix; entries ({i}, {j}) and ({j}, {i}) are "
            f"{P[i, j]:g} and {P[j, i]:g}"
        )
    P = (P + P.T) / 2.0
    values = np.linalg.eigvalsh(P)
    if values[0] < -NEGATIVE * abs(values[-1]) or values[-1] <= 0:
        raise ValueError(
            f"a metric must be positive semidefinite and not zero; the eigenvalues lie between "
            f"{values[0]:g} and {values[-1]:g}"
        )
    return P


def shared_part(data: Any) -> np.ndarray | None:
    """Return what can be taken off the entries of each column without rounding; None if nothing.

    Of a column whose largest entry is at most twice its smallest one it is that one, else 0.
    """
    if sp.issparse(data) or not len(data):
        return None
    low, high = (f(data, axis=0).astype(np.float64) for f in (np.min, np.max))
    near, far = np.where(low > 0, (low, high), (-high, -low))
    origin = np.where((near > 0) & (far <= 2.0 * near), low, 0.0)
    return origin if origin.any() else None


@dataclass(frozen=True, eq=False)
class RowMap:
    """Rows z = x F in which a metric is a plain distance, times ``unit`` to the power p.

    The factor has no entry beyond 1, so that no precision is left by a metric of large numbers:
    their size is in ``unit``.
    """

    factor: np.ndarray
    """F: factors of the columns, shape (d,), or a matrix (d, r)."""

    unit: float
    """Σ w |x − y|ᵖ (or (x − y)ᵀP(x − y)) over Σ|z − z'|ᵖ."""

    @classmethod
    def of(cls, metric: np.ndarray, p: float) -> RowMap:
        """Return the map of a checked metric; p is the exponent of the differences."""
        if metric.ndim == 1:
            unit = float(metric.max())
            return cls((metric / unit) ** (1.0 / p), unit)
        values, vectors = np.linalg.eigh(metric)
        unit = float(values[-1])
        kept = values > len(values) * EPS * unit
        return cls(vectors[:, kept] * np.sqrt(values[kept] / unit), unit)

    def rows(self, data: Any) -> Any:
        """Return the rows z in float64: float32 would take the digits of rows with an offset."""
        if self.factor.ndim == 2:
            return np.asarray(data @ self.factor)
        return sp.csr_array(data.multiply(self.factor)) if sp.issparse(data) else data * self.factor

    def around(self, anchor: Sample) -> tuple[Hashable, Callable[[Any], Any]]:
        """Return a name and what maps rows, minus the part that all rows of the anchor have.

        Differences of the rows are exact then. Products with the factor would have rounded columns
        that are far from 0, and a matrix would have mixed what they lost into the others.
        """
        origin = anchor.summary("origin", shared_part)
        if origin is None:
            return self, self.rows
        return (self, origin.tobytes()), lambda data: self.rows(data - origin)

    def back(self, gradients: np.ndarray) -> np.ndarray:
        """Return gradients with respect to x from those with respect to z, the last axis."""
        return gradients * self.factor if self.factor.ndim == 1 else gradients @ self.factor.T
