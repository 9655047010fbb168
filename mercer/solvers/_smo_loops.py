# mypy: ignore-errors
"""Compiled loops of sequential minimal optimisation.

The problem is

    min ½ βᵀKβ − zᵀβ + ε‖β‖₁   subject to  lo ≤ β ≤ hi,  Σβ = constant,

with residuals e = z − Kβ. Point k may go up while e_k + up_k > b and down while e_k + down_k < b;
``up`` and ``down`` are 0 or ∓ε, or ∓BIG where a bound stops it: additive masks in place of branches
keep every pass over the points a straight loop that vectorises.

What keeps the loops vectorised: a maximum of integers, not of floats (`ordered` maps floats to
integers in the same order); blocks as slices, not as ranges of indices that might be negative;
NumPy's error model, in which a division has no branch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

BIG = 1e30  # larger than any residual, far from overflow in float32
BLOCK = 256  # points that share one integer maximum
TINY = 1e-12  # the smallest curvature of a pair


@intrinsic
def ordered(typingctx: Any, x: Any) -> Any:
    """Return an integer that orders as the float does."""
    if x not in (types.float32, types.float64):
        return None
    integer = types.int32 if x == types.float32 else types.int64

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = context.get_value_type(integer)
        width = integer.bitwidth
        bits = builder.bitcast(args[0], kind)
        sign = builder.ashr(bits, kind(width - 1))
        return builder.xor(bits, builder.and_(sign, kind(2 ** (width - 1) - 1)))

    return integer(x), generate


@intrinsic
def as_float(typingctx: Any, x: Any) -> Any:
    """Return the float ≥ 0 that `ordered` turned into this integer."""
    if x not in (types.int32, types.int64):
        return None
    real = types.float32 if x == types.int32 else types.float64

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], context.get_value_type(real))

    return real(x), generate


# values are finite; the proof is computed elsewhere, without these flags
_FLAGS = {"contract", "nsz", "nnan", "ninf", "arcp"}
_fast = njit(cache=True, nogil=True, fastmath=_FLAGS, error_model="numpy")


@njit(cache=True, nogil=True)
def set_masks(k, beta, lo, hi, eps, up, down):
    """Set what point k may do: nothing beyond a bound; at 0 the sign of ε changes."""
    big = up.dtype.type(BIG)
    if beta[k] >= hi[k]:
        up[k] = -big
    else:
        up[k] = -eps if beta[k] >= 0 else eps
    if beta[k] <= lo[k]:
        down[k] = big
    else:
        down[k] = -eps if beta[k] > 0 else eps


@njit(cache=True, nogil=True)
def set_all_masks(beta, lo, hi, eps, up, down):
    """Set the masks of all points."""
    for k in range(len(beta)):
        set_masks(k, beta, lo, hi, eps, up, down)


@_fast
def _block_top(e, up):
    high = ordered(e[0] + up[0])
    for k in range(len(e)):
        key = ordered(e[k] + up[k])
        high = key if key > high else high
    return high


@_fast
def _block_move(e, up, Ki, Kj, step):
    high = ordered(e.dtype.type(-2 * BIG))
    for k in range(len(e)):
        v = e[k] - step * (Ki[k] - Kj[k])
        e[k] = v
        key = ordered(v + up[k])
        high = key if key > high else high
    return high


@_fast
def _block_gain(e, down, Ki, Kii, diagonal, high):
    zero, tiny = e.dtype.type(0), e.dtype.type(TINY)
    largest = ordered(zero)
    worst = largest
    for k in range(len(e)):
        d = high - (e[k] + down[k])
        d = d if d > zero else zero
        violation = ordered(d)
        worst = violation if violation > worst else worst
        a = Kii + diagonal[k] - (Ki[k] + Ki[k])
        a = a if a > tiny else tiny
        key = ordered(d * d / a)
        largest = key if key > largest else largest
    return largest, worst


@_fast
def _top(e, up):
    """Return the largest e + up and the first point of the block that holds it."""
    best, first = ordered(e.dtype.type(-2 * BIG)), 0
    for start in range(0, len(e), BLOCK):
        block = slice(start, start + BLOCK)
        high = _block_top(e[block], up[block])
        if high > best:
            best, first = high, start
    return best, first


@_fast
def _move_and_top(e, up, Ki, Kj, step):
    """Subtract step · (K_i − K_j) from e; return what `_top` returns."""
    best, first = ordered(e.dtype.type(-2 * BIG)), 0
    for start in range(0, len(e), BLOCK):
        block = slice(start, start + BLOCK)
        high = _block_move(e[block], up[block], Ki[block], Kj[block], step)
        if high > best:
            best, first = high, start
    return best, first


@_fast
def _top_gain(e, down, Ki, Kii, diagonal, high):
    """Return the largest gain of i going up and k down, its block, and the largest violation."""
    best, first = ordered(e.dtype.type(0)), 0
    worst = best
    for start in range(0, len(e), BLOCK):
        block = slice(start, start + BLOCK)
        gain, violation = _block_gain(e[block], down[block], Ki[block], Kii, diagonal[block], high)
        worst = max(worst, violation)
        if gain > best:
            best, first = gain, start
    return best, first, as_float(worst)


@njit(cache=True, nogil=True)
def _argmax_sum(e, up, first):
    """Return the argmax of e + up in one block."""
    best, i = e[first] + up[first], first
    for k in range(first, min(first + BLOCK, len(e))):
        if e[k] + up[k] > best:
            best, i = e[k] + up[k], k
    return i


@njit(cache=True, nogil=True)
def _argmax_gain(e, down, Ki, Kii, diagonal, high, first):
    """Return the argmax of the gain in one block."""
    tiny = e.dtype.type(TINY)
    best, j = e.dtype.type(-1), first
    for k in range(first, min(first + BLOCK, len(e))):
        d = high - (e[k] + down[k])
        if d > 0:
            gain = d * d / max(Kii + diagonal[k] - (Ki[k] + Ki[k]), tiny)
            if gain > best:
                best, j = gain, k
    return j


@njit(cache=True, nogil=True)
def _take_step(i, j, free, beta, lo, hi):
    """Move β_i up and β_j down by the free step, cut at a bound or at 0; return the step."""
    top_i = 0.0 if beta[i] < 0 and hi[i] > 0 else hi[i]
    bottom_j = 0.0 if beta[j] > 0 and lo[j] < 0 else lo[j]
    room_i, room_j = top_i - beta[i], beta[j] - bottom_j
    step = min(free, room_i, room_j)
    beta[i] = top_i if step == room_i else beta[i] + step
    beta[j] = bottom_j if step == room_j else beta[j] - step
    return step


@njit(cache=True, nogil=True)
def run(K, diagonal, e, up, down, beta, lo, hi, eps, tol, max_steps):
    """Take up to ``max_steps`` steps; return (steps, violation), violation ≤ tol at the end.

    The points are the first len(e) rows and columns of K. A step moves the point i that most wants
    to go up and its best partner j down by the same amount (second-order working set selection).
    """
    m = len(e)
    _, first = _top(e, up)
    i = _argmax_sum(e, up, first)
    violation = np.float64(BIG)
    for n in range(max_steps):
        high = e[i] + up[i]
        Ki = K[i, :m]
        gain, first, worst = _top_gain(e, down, Ki, diagonal[i], diagonal, high)
        violation = np.float64(worst)
        if violation <= tol or not gain > 0:
            return n, violation
        j = _argmax_gain(e, down, Ki, diagonal[i], diagonal, high, first)
        curvature = np.float64(diagonal[i]) + diagonal[j] - 2.0 * Ki[j]
        free = (np.float64(high) - e[j] - down[j]) / max(curvature, TINY)
        step = _take_step(i, j, free, beta, lo, hi)
        set_masks(i, beta, lo, hi, eps, up, down)
        set_masks(j, beta, lo, hi, eps, up, down)
        _, first = _move_and_top(e, up, Ki, K[j, :m], e.dtype.type(step))
        i = _argmax_sum(e, up, first)
    return max_steps, violation
