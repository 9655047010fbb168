"""Cholesky factors of one band matrix with many λ on its diagonal, several at a time.

LAPACK takes one λ after the other, in blocks too small for its products to pay. Here neighbouring
numbers are the same entry for several λ, so that the plain loops run at the speed of vectors.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, fastmath={"contract"})
def factor(band, lams, out, usable):
    """Write the factors of B + λ into ``out`` (n, w + 1, n_lams), with 1/L on their diagonals.

    ``band`` has the diagonals of B as rows. A λ for which B + λ is not positive definite is marked
    and goes on with a pivot of one.
    """
    n, width, lanes = out.shape
    one = band.dtype.type(1.0)
    inverse = np.empty(lanes, out.dtype)
    column = np.empty((width, lanes), out.dtype)
    for j in range(n):
        for d in range(width):
            value = band[d, j]
            for q in range(lanes):
                out[j, d, q] = value
        for q in range(lanes):
            out[j, 0, q] += lams[q]
    for j in range(n):
        for q in range(lanes):
            pivot = out[j, 0, q]
            if not pivot > 0.0:
                usable[q] = False
                pivot = one
            inverse[q] = one / np.sqrt(pivot)
        for d in range(1, width):
            for q in range(lanes):
                column[d, q] = out[j, d, q] * inverse[q]
        out[j, 0] = inverse
        out[j, 1:] = column[1:]
        for a in range(1, min(width, n - j)):
            left, below = column[a], out[j + a]
            for b in range(a, width):
                right, entry = column[b], below[b - a]
                for q in range(lanes):
                    entry[q] -= left[q] * right[q]


@njit(cache=True, nogil=True, fastmath={"contract"})
def solve(factors, X):
    """Write the solutions over right-hand sides X (t, n, n_lams)."""
    n, width, _ = factors.shape
    for c in range(X.shape[0]):
        x = X[c]
        for j in range(n):
            x[j] *= factors[j, 0]
            for a in range(1, min(width, n - j)):
                _subtract(x[j + a], factors[j, a], x[j])
        for j in range(n - 1, -1, -1):
            for a in range(1, min(width, n - j)):
                _subtract(x[j], factors[j, a], x[j + a])
            x[j] *= factors[j, 0]


@njit(cache=True, nogil=True, fastmath={"contract"}, inline="always")
def _subtract(x, a, b):
    for q in range(len(x)):
        x[q] -= a[q] * b[q]
