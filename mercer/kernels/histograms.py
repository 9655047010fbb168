"""Kernels of histograms: counts and shares, which are never negative."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer._array import allocate
from mercer._sklearn import Interval
from mercer.kernels import _histogram_loops as loops
from mercer.kernels.base import PSD, Kernel
from mercer.kernels.sample import Pair, Sample, csr_parts
from mercer.kernels.vector import require_same_columns
from mercer.kernels.widths import median_distance, widths


class _Histogram(Kernel):
    """A kernel on rows of numbers ≥ 0, from a sum over their columns."""

    domain = "vectors"
    releases_gil = True
    _loops: ClassVar[tuple[Any, Any]]  # for dense and for sparse rows

    @property
    def definiteness(self) -> str:
        return PSD

    def check_pair(self, X: Sample, Y: Sample) -> None:
        require_same_columns(X, Y)
        for sample in (X, Y):
            smallest = sample.summary("smallest", _smallest)
            if smallest < 0:
                raise ValueError(
                    f"{type(self).__name__} is a kernel on histograms, whose values must be ≥ 0; "
                    f"got {smallest:.6g}"
                )

    def _fill(self, pair: Pair, out: np.ndarray) -> None:
        self._sums(pair, out)
        self._finish(out)

    def _sums(self, pair: Pair, out: np.ndarray) -> None:
        X, Y = pair.X.rows(pair.dtype), pair.Y.rows(pair.dtype)
        dense, sparse = self._loops
        if pair.X.is_sparse:
            sparse(*csr_parts(X), *csr_parts(Y), out)
        else:
            dense(X, np.ascontiguousarray(Y.T), out)

    def _finish(self, values: np.ndarray) -> None:
        """Turn sums over columns into kernel values, in place."""


def _smallest(rows: Any) -> float:
    values = rows.data if sp.issparse(rows) else rows
    return float(values.min(initial=0.0))


class ChiSquared(_Histogram):
    """Exponential χ² kernel k(x, y) = exp(−γ Σᵢ (xᵢ − yᵢ)² / (xᵢ + yᵢ)) on histograms.

    Columns that are 0 in both rows do not count.

    Parameters
    ----------
    gamma : float, default=1.0
        γ > 0. Rows that sum to 1 have sums of at most 2.

    Examples
    --------
    >>> from mercer.kernels import ChiSquared
    >>> ChiSquared(gamma=0.5)([[3.0, 1.0, 0.0]], [[1.0, 3.0, 0.0]]).round(4)
    array([[0.3679]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "gamma": [Interval(Real, 0, None, closed="neither")]
    }
    _loops = (loops.chi_squared_dense, loops.chi_squared_sparse)

    def __init__(self, gamma: float = 1.0):
        self.gamma = gamma

    def grid(self, X: Sample) -> dict[str, tuple[Any, ...]]:
        sums = allocate((len(X), len(X)), np.float64)
        self._sums(Pair(X, X, self._uses(), sums.dtype), sums)
        return {"gamma": widths(median_distance(sums))}

    def _finish(self, values: np.ndarray) -> None:
        values *= -self.gamma
        np.exp(values, out=values)

    def _diagonal(self, X: Sample) -> np.ndarray:
        return np.ones(len(X))


class Intersection(_Histogram):
    """Histogram intersection k(x, y) = Σᵢ min(xᵢ, yᵢ): what two histograms have in common.

    Examples
    --------
    >>> from mercer.kernels import Intersection
    >>> Intersection()([[3.0, 1.0, 0.0]], [[1.0, 3.0, 2.0]])
    array([[2.]])
    """

    _loops = (loops.intersection_dense, loops.intersection_sparse)

    def _diagonal(self, X: Sample) -> np.ndarray:
        return np.asarray(X.data.sum(axis=1, dtype=np.float64)).ravel()
