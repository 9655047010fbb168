"""Samples, pairs of samples, and the three statistics that vector kernels are made from.

A *statistic* is what a kernel needs of two rows: the inner product x·y, the squared distance
‖x − y‖², or the L1 distance ‖x − y‖₁. A `Pair` computes each at most once for a whole expression.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._array import count_rows, largest_size, take
from mercer._threads import ForkLock
from mercer.kernels import _loops

STATISTICS = ("inner", "squared_distance", "l1")

ZEROS = 12  # entries of a matrix product that take as long as one of sparse rows
MOST_COLUMNS = 2048  # of sparse rows of a tile that are written out: they stay in the cache
FEW_ROWS = 16  # so few are not worth writing out the others

# float32 squares of the largest entry neither overflow nor vanish if it lies in this range
_SAFE = (1e-15, 1e15)

VANISHING = 1e-290  # a smaller k(x, x) has lost digits, or is what is left of terms that are gone


class Sample:
    """Rows, and what kernels derive from them (norms, features), each derived once.

    ``sample[index]`` is a view: it shares what the whole sample has derived.
    """

    def __init__(self, data: Any, parent: Sample | None = None, index: Any = slice(None)):
        self.data = data
        self.parent = parent
        self._index = index  # of the parent's rows
        self._known: dict[Hashable, Any] = {}
        self._lock = ForkLock()

    def __len__(self) -> int:
        return count_rows(self.data)

    @property
    def root(self) -> Sample:
        """The whole sample; it does not hold itself, so that blocks go when they are done with."""
        return self if self.parent is None else self.parent.root

    def __getitem__(self, index: Any) -> Sample:
        return Sample(take(self.data, index), self, index)

    @property
    def index(self) -> Any:
        """The rows of the root that these are."""
        if self.parent is None or self.parent is self.root:
            return self._index
        return np.arange(len(self.root))[self.parent.index][self._index]

    def derive(self, key: Hashable, make: Callable[[Any], Any], *, cheap: bool = False) -> Sample:
        """Return ``make(data)``, one row for each row, computed once for the whole sample.

        What is ``cheap`` is computed for chosen rows alone, not for the whole sample.
        """
        chosen = cheap and not isinstance(self._index, slice)
        if self.parent is None or chosen:
            return self._once(("derived", key), lambda: Sample(make(self.data)))
        parent = self.parent
        return self._once(
            ("derived", key), lambda: parent.derive(key, make, cheap=cheap)[self._index]
        )

    def summary(self, key: Hashable, make: Callable[[Any], Any]) -> Any:
        """Return ``make(data)`` of the whole sample, computed once."""
        return self.root._once(key, lambda: make(self.root.data))

    def _once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        with self._lock():
            if key not in self._known:
                self._known[key] = make()
            return self._known[key]

    @property
    def dtype(self) -> np.dtype:
        """float32 if the rows are float32, else float64."""
        is_single = getattr(self.data, "dtype", None) == np.float32
        return np.dtype(np.float32 if is_single else np.float64)

    @property
    def is_sparse(self) -> bool:
        return sp.issparse(self.data)

    @property
    def fits_single(self) -> bool:
        """Whether float32 squares of the largest entry neither overflow nor vanish."""
        largest = self.summary("largest", largest_size)
        return largest == 0 or _SAFE[0] <= largest <= _SAFE[1]

    def rows(self, dtype: np.dtype) -> Any:
        """Return the rows in a precision."""
        if self.data.dtype == dtype:
            return self.data
        return self.derive(("rows", dtype), lambda data: data.astype(dtype), cheap=True).data

    def columns(self, dtype: np.dtype) -> np.ndarray:
        """Return the columns of dense rows, each one run of memory, computed once."""
        return self._once(("columns", dtype), lambda: np.ascontiguousarray(self.rows(dtype).T))

    def squared_norms(self, dtype: np.dtype) -> np.ndarray:
        """Return ‖x‖² of each row."""
        key = ("norms", dtype)
        return self.derive(key, lambda data: squared_norms(data).astype(dtype), cheap=True).data

    def shifted(self, dtype: np.dtype, anchor: Sample) -> Sample:
        """Return the rows minus the anchor's mean: distances stay, cancellation shrinks."""
        center = anchor.summary("center", _far_center)
        if center is None:
            return self
        key = ("shifted", dtype, center.tobytes())
        subtract = lambda data: np.subtract(data, center).astype(dtype, copy=False)  # noqa: E731
        return self.derive(key, subtract, cheap=True)


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


def inverse_lengths(diagonal: np.ndarray, rows: Any = None) -> np.ndarray:
    """Return 1/√k(x, x), and 0 where k(x, x) = 0; raise where that is for want of digits.

    ``rows`` are those whose k(x, x) is 0 only if they are.
    """
    if np.any(diagonal < 0):
        raise ValueError("a kernel with k(x, x) < 0 cannot be normalised")
    vanished = (diagonal > 0) & (diagonal < VANISHING)
    if rows is not None and not diagonal.all():
        vanished |= (diagonal == 0) & (row_sizes(rows) > 0)
    if vanished.any():
        place = int(np.argmax(vanished))
        raise ValueError(
            f"k(x, x) of row {place} is {diagonal[place]:g}, too small to be normalised; rescale X"
        )
    return np.divide(1.0, np.sqrt(diagonal), out=np.zeros(len(diagonal)), where=diagonal > 0)


def row_sizes(data: Any) -> np.ndarray:
    """Return the largest |value| of each row in float64."""
    sizes = abs(data).max(axis=1)
    return np.asarray(sizes.toarray() if sp.issparse(sizes) else sizes, np.float64).ravel()


def unit_rows(data: Any) -> Any:
    """Return x / ‖x‖ for each row, of any size, in float64; rows of zeros stay."""
    sizes = row_sizes(data)
    sizes[sizes == 0] = 1.0
    rows = _divided(data.astype(np.float64), sizes)  # first: squares of tiny entries would vanish
    lengths = np.sqrt(squared_norms(rows))
    lengths[lengths == 0] = 1.0
    return _divided(rows, lengths)


def _divided(rows: Any, by: np.ndarray) -> Any:
    """Divide each row, in place."""
    if sp.issparse(rows):
        rows.data /= np.repeat(by, np.diff(rows.indptr))
    else:
        rows /= by[:, None]
    return rows


def csr_parts(data: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return offsets, columns and values of a CSR matrix, as compiled loops take them."""
    # one type for each argument, so that each loop is compiled once for each precision
    return (
        data.indptr.astype(np.int64, copy=False),
        data.indices.astype(np.int32, copy=False),
        data.data,
    )


class Pair:
    """Two samples and their statistics, each computed once however many kernels ask for it."""

    def __init__(
        self,
        X: Sample,
        Y: Sample,
        uses: Counter[Any],
        dtype: np.dtype,
        known: dict[Hashable, Any] | None = None,
    ):
        self.X, self.Y, self.uses, self.dtype = X, Y, uses, dtype
        self._known: dict[Hashable, Any] = known or {}

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.X), len(self.Y)

    def derive(self, key: Hashable, make: Callable[[Any], Any]) -> Pair:
        """Return the pair of derived samples, for example of features."""
        if key not in self._known:
            X, Y = self.X.derive(key, make), self.Y.derive(key, make)
            self._known[key] = Pair(X, Y, Counter(), self.dtype)
        return self._known[key]

    def fill(self, statistic: Any, out: np.ndarray, p: float = 2.0) -> None:
        """Write a statistic of all pairs of rows into ``out``; p is for "lp", Σ|x − y|ᵖ, alone.

        A statistic has a name, or is an object that fills tiles as kernels do.
        """
        if statistic == "lp":
            self._lp(out, p)
            return
        if statistic in self._known:
            out[...] = self._known[statistic]
            return
        self._compute(statistic, out)
        if self.uses[statistic] > 1:
            self._known[statistic] = out.copy()

    def _compute(self, statistic: Any, out: np.ndarray) -> None:
        if isinstance(statistic, str):
            getattr(self, "_" + statistic)(out)
        else:
            statistic._fill(self, out)

    def _inner(self, out: np.ndarray) -> None:
        inner(self.X.rows(self.dtype), self.Y.rows(self.dtype), out)

    def _squared_distance(self, out: np.ndarray) -> None:
        X, Y = self.X, self.Y
        if self.uses["inner"]:  # one product serves both
            self.fill("inner", out)
        else:
            X, Y = X.shifted(self.dtype, self.Y), Y.shifted(self.dtype, self.Y)
            inner(X.rows(self.dtype), Y.rows(self.dtype), out)
        xx, yy = X.squared_norms(self.dtype), Y.squared_norms(self.dtype)
        given = np.result_type(self.X.dtype, self.Y.dtype, self.dtype)  # the finer of both
        squared_distances(self.X.rows(given), self.Y.rows(given), xx, yy, out)

    def _l1(self, out: np.ndarray) -> None:
        X, Y = self.X, self.Y
        if np.result_type(X.dtype, Y.dtype) != self.dtype:  # rows are about to be rounded
            X, Y = X.shifted(self.dtype, self.Y), Y.shifted(self.dtype, self.Y)
        X, Y = X.rows(self.dtype), Y.rows(self.dtype)
        if self.X.is_sparse:
            _loops.lp_sparse(*csr_parts(X), *csr_parts(Y), 1.0, out)
        else:
            _loops.l1_dense(X, np.ascontiguousarray(Y.T), out)

    def _lp(self, out: np.ndarray, p: float) -> None:
        X, Y = self.X.rows(self.dtype), self.Y.rows(self.dtype)
        if self.X.is_sparse:
            _loops.lp_sparse(*csr_parts(X), *csr_parts(Y), p, out)
        else:
            _loops.lp_dense(X, np.ascontiguousarray(Y.T), p, out)


def dense(rows: Any) -> np.ndarray:
    """Return rows as a plain array."""
    return rows.toarray() if sp.issparse(rows) else rows


def inner(X: Any, Y: Any, out: np.ndarray) -> None:
    """Write x·y of all pairs of rows into ``out``."""
    if not sp.issparse(X):
        np.matmul(X, Y.T, out=out)
    elif _is_filled(X) and _is_filled(Y):
        np.matmul(X.toarray(), Y.toarray().T, out=out)
    else:
        _loops.inner_sparse(*csr_parts(X), *csr_parts(Y), X.shape[1], out)


def _is_filled(rows: Any) -> bool:
    """Tell whether a product with zeros is faster than one that looks for what is not zero."""
    n, d = rows.shape
    return d <= MOST_COLUMNS and n >= FEW_ROWS and rows.nnz * ZEROS >= n * d


def squared_distances(X: Any, Y: Any, xx: np.ndarray, yy: np.ndarray, out: np.ndarray) -> None:
    """Turn the inner products in ``out`` into squared distances, accurate to about 20 ulp.

    ``xx`` and ``yy`` are the squared norms of the rows that were multiplied, shifted or not. What
    cancels is recomputed from the rows X and Y as they were given, in their own precision: a shift
    rounds small entries, and float32 rounds those that are far from 0.
    """
    cancelled = np.empty(len(xx), np.int64)
    _loops.distances_from_inner(out, xx, yy, cancelled)
    if not cancelled.any():
        return
    if sp.issparse(X):
        _loops.refine_sparse(out, xx, yy, *csr_parts(X), *csr_parts(Y), cancelled)
    else:
        _loops.refine_dense(out, xx, yy, X, Y, cancelled)
