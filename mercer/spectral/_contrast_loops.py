# mypy: ignore-errors
"""Compiled passes over unmixed signals: g(y), and the sums of G(y) and g'(y), in one go.

``fastmath`` allows sums and products to be reordered, nothing more: the signals are finite.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from mercer._compiled import compiled, compiled_part, instruction

_REORDER = {"reassoc", "contract", "nsz"}
_ROUND = 6755399441055744.0  # 1.5 · 2⁵²: adding it leaves the nearest integer in the low bits
CHUNK = 512  # factors between 1 and 2 whose product stays finite


@instruction(lambda x: np.ldexp(1.0, int(x - _ROUND)))
def _power_of_two(typingctx: Any, x: Any) -> Any:
    """Return 2ⁿ from n + 1.5 · 2⁵², by moving the low bits into the exponent."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        integer = context.get_value_type(types.int64)
        biased = builder.add(builder.bitcast(args[0], integer), integer(1023))
        bits = builder.shl(biased, integer(52))
        return builder.bitcast(bits, context.get_value_type(types.float64))

    return types.float64(types.float64), generate


# no reordering here: it would undo the rounding, and the two parts of ln 2
@compiled_part(fastmath={"contract", "nsz"}, error_model="numpy")
def _exp(x):
    """Return exp(x) for x ≤ 0 by straight arithmetic, so that loops vectorise; 0 below −700."""
    x = x if x > -700.0 else -700.0
    shifted = x * 1.4426950408889634 + _ROUND
    n = shifted - _ROUND
    r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10
    p = 1.6059043836821613e-10  # 1/13!, then 1/12!, …
    p = p * r + 2.08767569878681e-09
    p = p * r + 2.505210838544172e-08
    p = p * r + 2.755731922398589e-07
    p = p * r + 2.7557319223985893e-06
    p = p * r + 2.48015873015873e-05
    p = p * r + 0.0001984126984126984
    p = p * r + 0.001388888888888889
    p = p * r + 0.008333333333333333
    p = p * r + 0.041666666666666664
    p = p * r + 0.16666666666666666
    p = p * r + 0.5
    p = p * r + 1.0
    return (p * r + 1.0) * _power_of_two(shifted)


@compiled(fastmath=_REORDER, error_model="numpy")
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


@compiled(fastmath=_REORDER, error_model="numpy")
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


@compiled(fastmath=_REORDER, error_model="numpy")
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
