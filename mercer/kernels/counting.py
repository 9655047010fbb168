"""Counts of what objects are made of (words, pieces), as sparse rows over the same columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp


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
