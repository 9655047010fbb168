"""A loop over the rows of a table that reads each of them from memory once."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def add_gram_times_vector(B: np.ndarray, v: np.ndarray, total: np.ndarray) -> None:
    """Add BᵀB v to the total: each row b gives (b·v) b while it is in the cache."""
    n, p = B.shape
    for i in range(n):
        s = 0.0
        for j in range(p):
            s += B[i, j] * v[j]
        for j in range(p):
            total[j] += s * B[i, j]
