"""Samples, pairs of samples, and the three statistics that vector kernels are made from.

A *statistic* is what a kernel needs of two rows: the inner product x·y, the squared distance
‖x − y‖², or the L1 distance ‖x − y‖₁. A `Pair` computes each at most once for a whole expression.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from threading import RLock
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._array import count_rows, take
from mercer.kernels import _loops

STATISTICS = ("inner", "squared_distance", "l1")

# squares of the largest entry neither overflow nor vanish if it lies in this range
_SAFE = {np.dtype(np.float32): (1e-15, 1e15), np.dtype(np.float64): (0.0, 1e150)}


class Sample:
    """Rows, and what kernels derive from them (norms, features), each derived once.

    ``sample[index]`` is a view: it shares what the whole sample has derived.
    """

    def __init__(self, data: Any, root: Sample | None = None, index: Any = slice(None)):
        self.data = data
        self.root = root or self
        self.index = index
        if root is None:
            self._known: dict[Hashable, Any] = {}
            self._lock = RLock()

    def __len__(self) -> int:
        return count_rows(self.data)

    def __getitem__(self, index: Any) -> Sample:
        if self.root is not self:  # a view of a view is a view of the root
            index = np.arange(len(self.root))[self.index][index]
        return Sample(take(self.root.data, index), self.root, index)

    def derive(self, key: Hashable, make: Callable[[Any], Any]) -> Sample:
        """Return ``make(data)``, one row for each row, computed once for the whole sample."""
        derived = self.summary(("derived", key), lambda data: Sample(make(data)))
        return derived if self is self.root else derived[self.index]

    def summary(self, key: Hashable, make: Callable[[Any], Any]) -> Any:
        """Return ``make(data)`` of the whole sample, computed once."""
        root = self.root
        with root._lock:
            if key not in root._known:
                root._known[key] = make(root.data)
        return root._known[key]

    @property
    def dtype(self) -> np.dtype:
        """float32 if the rows are float32, else float64."""
        is_single = getattr(self.data, "dtype", None) == np.float32
        return np.dtype(np.float32 if is_single else np.float64)

    @property
    def is_sparse(self) -> bool:
        return sp.issparse(self.data)

    def fits(self, dtype: np.dtype) -> bool:
        """Tell whether squares of the largest entry neither overflow nor vanish in a precision."""
        largest = self.summary("largest", _largest)
        low, high = _SAFE[dtype]
        return largest == 0 or low <= largest <= high

    def rows(self, dtype: np.dtype) -> Any:
        """Return the rows in a precision."""
        return self.derive(("rows", dtype), lambda data: data.astype(dtype, copy=False)).data

    def squared_norms(self, dtype: np.dtype) -> np.ndarray:
        """Return ‖x‖² of each row."""
        return self.derive(("norms", dtype), lambda data: squared_norms(data).astype(dtype)).data

    def shifted(self, dtype: np.dtype, anchor: Sample) -> Sample:
        """Return the rows minus the anchor's mean: distances stay, cancellation shrinks."""
        center = anchor.summary("center", _far_center)
        if center is None:
            return self
        key = ("shifted", dtype, center.tobytes())
        return self.derive(key, lambda data: np.subtract(data, center).astype(dtype, copy=False))


def _largest(data: Any) -> float:
    values = data.data if sp.issparse(data) else data
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def _far_center(data: Any) -> np.ndarray | None:
    """Return the mean row if it is far from 0 compared with the spread, else None."""
    if sp.issparse(data):  # shifting would fill it
        return None
    mean = data.mean(axis=0, dtype=np.float64)
    spread = float(np.mean(squared_norms(data))) - float(mean @ mean)
    return mean if mean @ mean > spread else None


def squared_norms(data: Any) -> np.ndarray:
    """Return ‖x‖² of each row in float64."""
    if sp.issparse(data):
        squares = data.astype(np.float64)
        squares.data **= 2
        return np.asarray(squares.sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", data, data, dtype=np.float64)


def _csr(data: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    # one type for each argument, so that each loop is compiled once for each precision
    return (
        data.indptr.astype(np.int64, copy=False),
        data.indices.astype(np.int32, copy=False),
        data.data,
    )


class Pair:
    """Two samples and their statistics, each computed once however many kernels ask for it."""

    def __init__(self, X: Sample, Y: Sample, uses: Counter[str], dtype: np.dtype):
        self.X, self.Y, self.uses, self.dtype = X, Y, uses, dtype
        self._known: dict[Hashable, Any] = {}

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.X), len(self.Y)

    def derive(self, key: Hashable, make: Callable[[Any], Any]) -> Pair:
        """Return the pair of derived samples, for example of features."""
        if key not in self._known:
            X, Y = self.X.derive(key, make), self.Y.derive(key, make)
            self._known[key] = Pair(X, Y, self.uses, self.dtype)
        return self._known[key]

    def fill(self, statistic: str, out: np.ndarray) -> None:
        """Write a statistic of all pairs of rows into ``out``."""
        if self.uses[statistic] <= 1:
            self._compute(statistic, out)
            return
        if statistic not in self._known:
            self._compute(statistic, out)
            self._known[statistic] = out.copy()
        else:
            out[...] = self._known[statistic]

    def _compute(self, statistic: str, out: np.ndarray) -> None:
        getattr(self, "_" + statistic)(out)

    def _inner(self, out: np.ndarray) -> None:
        inner(self.X.rows(self.dtype), self.Y.rows(self.dtype), out)

    def _squared_distance(self, out: np.ndarray) -> None:
        if self.uses["inner"]:  # one product serves both
            X, Y = self.X, self.Y
            self.fill("inner", out)
        else:
            X = self.X.shifted(self.dtype, self.Y)
            Y = self.Y.shifted(self.dtype, self.Y)
            inner(X.rows(self.dtype), Y.rows(self.dtype), out)
        squared_distances(X, Y, self.dtype, out)

    def _l1(self, out: np.ndarray) -> None:
        X, Y = self.X.rows(self.dtype), self.Y.rows(self.dtype)
        if self.X.is_sparse:
            _loops.l1_sparse(*_csr(X), *_csr(Y), out)
        else:
            _loops.l1_dense(X, Y, out)


def inner(X: Any, Y: Any, out: np.ndarray) -> None:
    """Write x·y of all pairs of rows into ``out``."""
    if sp.issparse(X):
        _loops.inner_sparse(*_csr(X), *_csr(Y), X.shape[1], out)
    else:
        np.matmul(X, Y.T, out=out)


def squared_distances(X: Sample, Y: Sample, dtype: np.dtype, out: np.ndarray) -> None:
    """Turn the inner products in ``out`` into squared distances, accurate to about 20 ulp."""
    xx, yy = X.squared_norms(dtype), Y.squared_norms(dtype)
    cancelled = np.empty(len(xx), np.int64)
    _loops.distances_from_inner(out, xx, yy, cancelled)
    if not cancelled.any():
        return
    if X.is_sparse:
        rows = (*_csr(X.rows(dtype)), *_csr(Y.rows(dtype)))
        _loops.refine_sparse(out, xx, yy, *rows, cancelled)
    else:
        _loops.refine_dense(out, xx, yy, X.rows(dtype), Y.rows(dtype), cancelled)
