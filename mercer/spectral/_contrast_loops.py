# mypy: ignore-errors
"""Compiled passes over unmixed signals: g(y), and the sums of G(y) and g'(y), in one go.

``fastmath`` allows sums and products to be reordered, nothing more: the signals are finite.
"""

from __future__ import annotations

import numpy as np

from mercer._compiled import REORDER, compiled, compiled_part
from mercer.kernels._loops import exp_in_parts, power_of_two_in

CHUNK = 512  # factors between 1 and 2 whose product stays finite


# no reordering here: it would undo the rounding, and the two parts of ln 2
@compiled_part(fastmath={"contract", "nsz"}, error_model="numpy")
def _exp(x):
    """Return exp(x) for x ≤ 0 by straight arithmetic, so that loops vectorise; 0 below −700."""
    x = x if x > -700.0 else -700.0
    p, s = exp_in_parts(x)
    return p * power_of_two_in(s)


@compiled(fastmath=REORDER, error_model="numpy")
def logcosh(Y, g, value, slope):
    """Write g = tanh(y); add Σ log cosh y and Σ (1 − tanh² y) of each row to value and slope.

    log cosh y = |y| + log(1 + e) − log 2 with e = exp(−2|y|), and a sum of logarithms is the
    logarithm of a product: one logarithm for a chunk.
    """
    for i in range(Y.shape[0]):
        for start in range(0, Y.shape[1], CHUNK):
            y, out = Y[i, start : start + CHUNK], g[i, start : start + CHUNK]
            sizes, squares, product = 0.0, 0.0, 1.0
            for j in range(len(y)):
                size = abs(y[j])
                e = _exp(-2.0 * size)
                t = (1.0 - e) / (1.0 + e)
                out[j] = t if y[j] >= 0.0 else -t
                sizes += size
                squares += t * t
                product *= 1.0 + e
            value[i] += sizes + np.log(product) - len(y) * 0.6931471805599453
            slope[i] += len(y) - squares


@compiled(fastmath=REORDER, error_model="numpy")
def gauss(Y, g, value, slope):
    """Write g = y exp(−y²/2); add Σ −exp(−y²/2) and Σ (1 − y²) exp(−y²/2) of each row."""
    for i in range(Y.shape[0]):
        total, slopes = 0.0, 0.0
        for j in range(Y.shape[1]):
            y = Y[i, j]
            e = _exp(-0.5 * y * y)
            g[i, j] = y * e
            total -= e
            slopes += (1.0 - y * y) * e
        value[i] += total
        slope[i] += slopes


@compiled(fastmath=REORDER, error_model="numpy")
def quartic(Y, g, value, slope):
    """Write g = y³; add Σ y⁴/4 and Σ 3y² of each row."""
    for i in range(Y.shape[0]):
        total, slopes = 0.0, 0.0
        for j in range(Y.shape[1]):
            square = Y[i, j] * Y[i, j]
            g[i, j] = square * Y[i, j]
            total += square * square
            slopes += square
        value[i] += 0.25 * total
        slope[i] += 3.0 * slopes
