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


@compiled()
def column_sweeps(data, rows, starts, h, g, x, x0, v, curve, l1, ridge, most, goal):
    """Minimise ½ Σ h v² + g·(x − x₀) + ½ Σ μ (x − x₀)² + Σ λ|x| with v = A(x − x₀) by sweeps.

    A is sparse, column by column; ``curve`` are its weighted squares with μ. Columns at 0 whose
    slope is far from λ rest until the others are done. Returns how many sweeps were made.
    """
    resting = np.zeros(len(x), np.bool_)
    whole = True
    for sweep in range(most):
        worst = 0.0
        for j in range(len(x)):
            if curve[j] <= 0.0 or (resting[j] and not whole):
                continue
            s = g[j] + ridge[j] * (x[j] - x0[j])
            for p in range(starts[j], starts[j + 1]):
                s += data[p] * h[rows[p]] * v[rows[p]]
            z = x[j] - s / curve[j]
            bound = l1[j] / curve[j]
            new = max(z - bound, 0.0) + min(z + bound, 0.0)
            change = new - x[j]
            resting[j] = new == 0.0 and change == 0.0
            if change != 0.0:
                x[j] = new
                worst = max(worst, abs(change) * curve[j])
                for p in range(starts[j], starts[j + 1]):
                    v[rows[p]] += data[p] * change
        if worst <= goal:
            if whole:
                return sweep + 1
            whole = True
        else:
            whole = False
    return most
