# mypy: ignore-errors
"""Compiled sweeps of coordinate descent over a quadratic with a box and an L1 penalty."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def sweeps(Q, s, x, l1, lower, upper, n_sweeps, enough):
    """Minimise over one coordinate after the other, in place; s = Qx + b is kept up to date.

    Return the sweeps that were made; they end once no slope changes by more than ``enough``.
    """
    for sweep in range(n_sweeps):
        largest = 0.0
        for i in range(len(x)):
            if Q[i, i] <= 0.0:
                continue
            goal = Q[i, i] * x[i] - s[i]
            if goal > l1[i]:
                new = (goal - l1[i]) / Q[i, i]
            elif goal < -l1[i]:
                new = (goal + l1[i]) / Q[i, i]
            else:
                new = 0.0
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
