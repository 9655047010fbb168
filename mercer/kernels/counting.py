"""Counts of what objects are made of (words, pieces), as sparse rows over the same columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._array import ranges
from mercer.kernels import _string_loops as loops
from mercer.kernels.base import PSD, Kernel, Normalized
from mercer.kernels.sample import Pair, Sample, csr_parts, inner

MOST_UNTURNED = 32  # rows for which it does not pay to turn the others around
SUMS_AT_ONCE = 2**24  # numbers that sums over all parts may take


@dataclass(frozen=True, eq=False)
class Counted:
    """How often each object of a sample has each part that occurs in the sample.

    Parameters
    ----------
    keys : array of shape (p,)
        The parts in ascending order: words, or numbers that stand for pieces.
    matrix : CSR array of shape (n, p)
        The counts.
    """

    keys: np.ndarray
    matrix: sp.csr_array

    @classmethod
    def of(cls, rows: np.ndarray, keys: np.ndarray, values: np.ndarray, n: int) -> Counted:
        """Return the sums of values over n rows, from a row and a key for each value."""
        found, columns = np.unique(keys, return_inverse=True)
        pairs = (values, (rows, columns.ravel()))
        return cls(found, sp.csr_array(sp.coo_array(pairs, shape=(n, len(found)))))

    def onto(self, keys: np.ndarray) -> sp.csr_array:
        """Return the counts of given parts alone, a column for each."""
        if keys is self.keys:
            return self.matrix
        old = self.matrix
        columns = places(self.keys, keys)[old.indices]
        kept = columns >= 0
        ends = np.concatenate([[0], np.cumsum(kept)])[old.indptr]
        return sp.csr_array((old.data[kept], columns[kept], ends), shape=(old.shape[0], len(keys)))


def with_values(rows: sp.csr_array, values: np.ndarray) -> sp.csr_array:
    """Return other values in the same cells."""
    return sp.csr_array((values, rows.indices, rows.indptr), shape=rows.shape)


def places(keys: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Return where each key stands in ``among``, −1 if it does not; numbers must be ascending."""
    if keys.dtype == object:
        place: dict[Any, int] = {key: i for i, key in enumerate(among)}
        return np.array([place.get(key, -1) for key in keys], dtype=np.int32)
    found = np.searchsorted(among, keys)
    same = np.zeros(len(keys), dtype=bool)
    inside = found < len(among)
    same[inside] = among[found[inside]] == keys[inside]
    return np.where(same, found, -1).astype(np.int32)


class CountingKernel(Kernel):
    """A kernel that is a product of two sparse tables, of which a tile takes some rows.

    A subclass implements ``factors``; a sum over many strings is then a product with the sum of
    their rows, whose cost does not grow with the number of pairs.
    """

    releases_gil = True  # what is counted is counted once, under a lock

    @property
    def definiteness(self) -> str:
        return PSD

    def factors(self, X: Sample, Y: Sample) -> tuple[Sample, Sample]:
        """Return samples of sparse rows A and B with k(X, Y) = A Bᵀ, by a bound kernel."""
        raise NotImplementedError

    def _fill(self, pair: Pair, out: np.ndarray) -> None:
        X, Y = (sample.rows(pair.dtype) for sample in self.factors(pair.X, pair.Y))
        if len(out) <= MOST_UNTURNED:
            inner(X, Y, out)
        else:
            loops.inner_by_columns(*csr_parts(X), *csr_parts(Y.tocsc()), out)

    def _diagonal(self, X: Sample) -> np.ndarray:
        left, right = (sample.data for sample in self.factors(X, X))
        return np.asarray(left.multiply(right).sum(axis=1)).ravel()


class CountedParts(CountingKernel):
    """A kernel that counts parts which are named alike in every sample, each with a weight."""

    def _parted(self, X: Sample) -> Sample:
        """Return the sample of what the parts are counted in."""
        raise NotImplementedError

    def _count(self, rows: Any) -> Counted:
        raise NotImplementedError

    def _weights(self, keys: np.ndarray) -> np.ndarray | None:
        """Return what the parts weigh; None if each weighs 1."""
        return None

    def _counted(self, X: Sample) -> Counted:
        return self._parted(X).summary(("counted", self), self._count)

    def _counts(self, X: Sample, Y: Sample) -> Sample:
        """Return the counts in X of those parts that the whole of Y has."""
        found, wanted = self._counted(X), self._counted(Y)
        return self._parted(X).derive(("counts", self, wanted), lambda _: found.onto(wanted.keys))

    def factors(self, X: Sample, Y: Sample) -> tuple[Sample, Sample]:
        left, right = self._counts(X, Y), self._counts(Y, Y)
        weights = self._weights(self._counted(Y).keys)
        if weights is None:
            return left, right
        weigh = lambda counts: with_values(counts, counts.data * weights[counts.indices])  # noqa: E731
        return left.derive("weighed", weigh), right


Rows = Callable[[], sp.csr_array]


@singledispatch
def sparse_factors(kernel: Kernel, X: Sample, Y: Sample) -> tuple[Rows, Rows] | None:
    """Return what makes sparse A and B with k(X, Y) = A Bᵀ; None if there are none."""
    return None


@sparse_factors.register
def _(kernel: CountingKernel, X: Sample, Y: Sample) -> tuple[Rows, Rows] | None:
    return lambda: kernel.factors(X, Y)[0].data, lambda: kernel.factors(X, Y)[1].data


@sparse_factors.register
def _(kernel: Normalized, X: Sample, Y: Sample) -> tuple[Rows, Rows] | None:
    found = sparse_factors(kernel.kernel, X, Y)
    if found is None:
        return None
    scaled = lambda rows, S: _scaled(rows(), kernel.kernel._inverse_lengths(S))  # noqa: E731
    return lambda: scaled(found[0], X), lambda: scaled(found[1], Y)


def _scaled(rows: sp.csr_array, scale: np.ndarray) -> sp.csr_array:
    return with_values(rows, rows.data * np.repeat(scale, np.diff(rows.indptr)))


def sums_of_counts(
    kernel: Kernel, X: Sample, Y: Sample, weights: np.ndarray, at_once: int = SUMS_AT_ONCE
) -> np.ndarray | None:
    """Return k(X, Y) W = A (Bᵀ W); None if the kernel is no product of sparse rows.

    Bᵀ W is kept with the sample Y if it is not too large: predictions of a machine then cost no
    more with many support vectors than with few. Else it is made for a few columns at a time.
    """
    factors = sparse_factors(kernel, X, Y)
    if factors is None:
        return None
    left, right = factors[0](), factors[1]
    if Y.parent is None and left.shape[1] * weights.shape[1] <= at_once:
        key = ("summed", kernel, weights.shape, weights.tobytes())
        return left @ Y.summary(key, lambda _: right().T @ weights)
    together = max(1, at_once // max(left.shape[1], 1))
    out, rows = np.empty((left.shape[0], weights.shape[1])), right()
    for columns in ranges(weights.shape[1], together):
        out[:, columns] = left @ (rows.T @ weights[:, columns])
    return out
