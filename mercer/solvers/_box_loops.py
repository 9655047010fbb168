# mypy: ignore-errors
"""Compiled coordinate steps on a quadratic function with bounds."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def violations(e, beta, lo, hi, eps, out):
    """Write how much each coordinate's condition is violated; positive: β should grow."""
    for k in range(len(e)):
        up = e[k] - eps if beta[k] >= 0 else e[k] + eps
        down = e[k] - eps if beta[k] > 0 else e[k] + eps
        out[k] = 0.0
        if beta[k] < hi[k] and up > 0:
            out[k] = up
        elif beta[k] > lo[k] and down < 0:
            out[k] = down


@njit(cache=True, nogil=True)
def run(K, diagonal, e, beta, lo, hi, eps, tol, max_steps):
    """Take the step that gains most, again and again; return the steps and the violation left.

    β and e = z − Kβ are changed in place.
    """
    m, worst = len(beta), 0.0
    v = np.empty(m)
    for step in range(max_steps + 1):
        violations(e, beta, lo, hi, eps, v)
        worst, best, i = 0.0, 0.0, -1
        for k in range(m):
            worst = max(worst, abs(v[k]))
            gain = v[k] * v[k] / diagonal[k]
            if gain > best:
                best, i = gain, k
        if worst <= tol or i < 0 or step == max_steps:
            return step, worst
        x = beta[i] + e[i] / diagonal[i]
        size = max(abs(x) - eps / diagonal[i], 0.0)
        x = min(max(size if x > 0 else -size, lo[i]), hi[i])
        change = x - beta[i]
        beta[i] = x
        if change == 0.0:  # the step is below rounding
            return step, worst
        for k in range(m):
            e[k] -= change * K[i, k]
    return max_steps, worst
