# mypy: ignore-errors
"""Compiled loops: sweeps of coordinate descent, and the two recursions of L-BFGS."""

from __future__ import annotations

import numpy as np

from mercer._compiled import compiled, compiled_part


@compiled_part(inline="always")
def shrunk(z, l1, curve):
    """Return the x that minimises ½ curve x² − zx + l1 |x|."""
    if z > l1:
        return (z - l1) / curve
    if z < -l1:
        return (z + l1) / curve
    return 0.0


@compiled()
def sweeps(Q, s, x, l1, lower, upper, n_sweeps, enough):
    """Minimise over one coordinate after the other, in place; s = Qx + b is kept up to date.

    Return the sweeps that were made; they end once no slope changes by more than ``enough``.
    """
    for sweep in range(n_sweeps):
        largest = 0.0
        for i in range(len(x)):
            if Q[i, i] <= 0.0:
                continue
            new = shrunk(Q[i, i] * x[i] - s[i], l1[i], Q[i, i])
            new = min(max(new, lower[i]), upper[i])
            move = new - x[i]
            if move != 0.0:
                x[i] = new
                for j in range(len(x)):
                    s[j] += move * Q[i, j]
                largest = max(largest, abs(move) * Q[i, i])
        if largest <= enough:
            return sweep + 1
    return n_sweeps


@compiled()
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
