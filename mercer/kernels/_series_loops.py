# mypy: ignore-errors
"""Compiled alignments of series: one against several, side by side in vector registers.

A series x of shape (n, channels) meets blocks of `LANES` series, Y of shape (blocks, m, channels,
LANES), shorter ones padded. A cell of the table of alignments depends on earlier steps alone, so
that padding changes nothing: the answer of a lane stands in the column where its series ends.
Calls go through the rows i0 … i1 of the table; ``state`` carries a row over to the next call.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from mercer._compiled import compiled, compiled_part, instruction

LANES = 8  # series side by side
LN2 = 0.6931471805599453
LN2_HIGH = 6.93147180369123816490e-01  # its first 32 bits: products with integers are exact
LN2_LOW = 1.90821492927058770002e-10
ROUND = 6755399441055744.0  # 1.5 · 2⁵²: adding it rounds to an integer
NEGLIGIBLE = -1000.0  # a power of two that adds nothing to one
NOTHING = -1e15  # the exponent of 0


@instruction(lambda x: np.ldexp(1.0, int(x)))
def _power_of_two(typingctx: Any, x: Any) -> Any:
    """Return 2ˣ of an integral float64 in [−1022, 1023] by setting the exponent bits."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        double = context.get_value_type(types.float64)
        integer = context.get_value_type(types.int64)
        bits = builder.bitcast(builder.fadd(args[0], double(ROUND + 1023.0)), integer)
        return builder.bitcast(builder.shl(bits, integer(52)), double)

    return types.float64(types.float64), generate


@instruction(lambda x: float(np.frexp(x)[1] - 1) if x > 0 else -1023.0)
def _exponent(typingctx: Any, x: Any) -> Any:
    """Return the exponent e of x = m · 2ᵉ ≥ 0 with 1 ≤ m < 2 by reading its bits; −1023 of 0."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        double = context.get_value_type(types.float64)
        integer = context.get_value_type(types.int64)
        bits = builder.lshr(builder.bitcast(args[0], integer), integer(52))
        number = builder.bitcast(builder.or_(bits, integer(0x4330000000000000)), double)
        return builder.fsub(number, double(2.0**52 + 1023.0))

    return types.float64(types.float64), generate


@compiled_part(fastmath={"contract", "nsz"}, error_model="numpy")
def _costs(x, Y, low, high, out):
    """Write ‖x − y_j‖² of one step x of a series to the steps low … high of several others."""
    for j in range(low, high):
        for lane in range(LANES):
            t = x[0] - Y[j, 0, lane]
            out[j, lane] = t * t
        for c in range(1, len(x)):
            for lane in range(LANES):
                t = x[c] - Y[j, c, lane]
                out[j, lane] += t * t


# ---------------------------------------------------------------- dynamic time warping
@compiled_part(fastmath={"contract", "nsz"}, error_model="numpy")
def _warp_row(costs, low, high, left, corner, row):
    """Turn row i − 1 of the table of least sums into row i, in place."""
    for j in range(low, high):
        for lane in range(LANES):
            up = row[j, lane]
            best = left[lane] if left[lane] < corner[lane] else corner[lane]
            best = up if up < best else best
            best += costs[j, lane]
            corner[lane] = up
            left[lane] = best
            row[j, lane] = best


@compiled(error_model="numpy")
def warp(x, Y, ends, band, gamma, b0, b1, i0, i1, state, found):
    """Write the least sum of squared distances along an alignment of x with each of the others.

    Steps are at most ``band`` (if that is ≥ 0) off the diagonals that lead from the first steps and
    to the last.
    """
    n, m = x.shape[0], Y.shape[1]
    reach = band if band >= 0 else n + m
    ahead, behind = max(m - n, 0) + reach, max(n - m, 0) + reach
    row, costs = state[0], state[1]
    left, corner = np.empty(LANES), np.empty(LANES)
    for b in range(b0, b1):
        if i0 == 0:
            row[:] = np.inf
        for i in range(i0, i1):
            low, high = max(0, i - behind), min(m, i + ahead + 1)
            left[:] = np.inf
            if low > 0:
                corner[:] = row[low - 1]
            else:
                corner[:] = 0.0 if i == 0 else np.inf
            _costs(x[i], Y[b], low, high, costs)
            _warp_row(costs, low, high, left, corner, row)
        if i1 == n:
            for lane in range(LANES):
                found[b, lane] = row[ends[b, lane], lane]


# ---------------------------------------------------------------- all alignments
@compiled_part(fastmath={"contract", "nsz"}, error_model="numpy")
def _local(values, powers, weights, gamma):
    """Turn squared distances d into w e/(2 − w e), e = exp(−γd), as value · 2^power, in place."""
    for k in range(len(values)):
        t = gamma * values[k]
        t = t if t < 1e9 else 1e9
        n = (t * (-1.0 / LN2) + ROUND) - ROUND
        r = (-t - n * LN2_HIGH) - n * LN2_LOW
        p = 1.0 / 6227020800.0
        p = p * r + 1.0 / 479001600.0
        p = p * r + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        p = (p * r + 1.0) * r + 1.0
        p *= weights[k]
        values[k] = p / (2.0 - p * _power_of_two(n if n > NEGLIGIBLE else NEGLIGIBLE))
        powers[k] = n


@compiled_part(fastmath={"contract", "nsz"}, error_model="numpy")
def _scaled(value, power):
    return value * _power_of_two(power if power > NEGLIGIBLE else NEGLIGIBLE)


@compiled_part(fastmath={"contract", "nsz"}, error_model="numpy")
def _align_row(local, low, high, left, corner, row):
    """Turn row i − 1 of the table of sums over alignments into row i, in place.

    All are pairs of a value in [1, 2) and a power of two: sums of products over thousands of steps
    leave the range of float64 in both directions.
    """
    for j in range(low, high):
        for lane in range(LANES):
            up, up_power = row[0, j, lane], row[1, j, lane]
            top = left[1, lane] if left[1, lane] > corner[1, lane] else corner[1, lane]
            top = up_power if up_power > top else top
            total = _scaled(up, up_power - top)
            total += _scaled(left[0, lane], left[1, lane] - top)
            total += _scaled(corner[0, lane], corner[1, lane] - top)
            total *= local[0, j, lane]
            shift = _exponent(total)
            corner[0, lane], corner[1, lane] = up, up_power
            left[0, lane] = total * _power_of_two(-shift)
            left[1, lane] = top + local[1, j, lane] + shift
            row[0, j, lane], row[1, j, lane] = left[0, lane], left[1, lane]


@compiled(error_model="numpy")
def align(x, Y, ends, band, gamma, b0, b1, i0, i1, state, found):
    """Write the logarithm of the sum over all alignments of x with each of the others.

    An alignment counts the product of local similarities e/(2 − e), where e is exp(−γ‖x − y‖²),
    times 1 − |i − j|/(band + 1) with a band (≥ 0).
    """
    n, m = x.shape[0], Y.shape[1]
    reach = band if band >= 0 else n + m
    row, local, weights = state[:2], state[2:4], state[4]
    left, corner = np.empty((2, LANES)), np.empty((2, LANES))
    for b in range(b0, b1):
        if i0 == 0:
            row[0], row[1] = 0.0, NOTHING
        for i in range(i0, i1):
            low, high = max(0, i - reach), min(m, i + reach + 1)
            left[0], left[1] = 0.0, NOTHING
            if low > 0:
                corner[:] = row[:, low - 1]
            else:
                corner[0], corner[1] = (1.0, 0.0) if i == 0 else (0.0, NOTHING)
            _costs(x[i], Y[b], low, high, local[0])
            for j in range(low, high):
                weights[j] = 1.0 if band < 0 else 1.0 - abs(i - j) / (band + 1.0)
            cells = slice(low * LANES, high * LANES)
            _local(
                local[0].reshape(-1)[cells],
                local[1].reshape(-1)[cells],
                weights.reshape(-1)[cells],
                gamma,
            )
            _align_row(local, low, high, left, corner, row)
        if i1 == n:
            for lane in range(LANES):
                end = ends[b, lane]
                reached = abs(n - 1 - end) <= reach  # else the row holds what is older
                value = row[0, end, lane] if reached else 0.0
                found[b, lane] = np.log(value) + row[1, end, lane] * LN2 if value > 0 else -np.inf
