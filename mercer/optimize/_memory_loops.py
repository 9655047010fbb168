# mypy: ignore-errors
"""The two compiled loops of L-BFGS over the remembered pairs of steps and changes."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def two_loops(S, Y, rho, newest, count, g):
    """Return −Bg for the inverse Hessian B that ``count`` pairs of rows s, y with 1/sᵀy define.

    The rows are a ring; ``newest`` is where the last pair lies.
    """
    length, d = S.shape
    q, back = -g, np.empty(count)
    for k in range(count):
        i = (newest - k) % length
        back[k] = rho[i] * np.dot(S[i], q)
        for j in range(d):
            q[j] -= back[k] * Y[i, j]
    if count:
        q /= rho[newest] * np.dot(Y[newest], Y[newest])
    for k in range(count - 1, -1, -1):
        i = (newest - k) % length
        share = back[k] - rho[i] * np.dot(Y[i], q)
        for j in range(d):
            q[j] += share * S[i, j]
    return q
