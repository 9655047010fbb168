# mypy: ignore-errors
"""Compiled loops of sequential minimal optimisation.

The problem is

    min ½ βᵀKβ − zᵀβ + ε‖β‖₁   subject to  lo ≤ β ≤ hi,  Σβ = constant,

with residuals e = z − Kβ. Point k may go up while e_k + up_k > b and down while e_k + down_k < b;
``up`` and ``down`` are 0 or ∓ε, or ∓BIG where a bound stops it: additive masks in place of branches
keep every pass over the points a straight loop that vectorises.

What keeps the loops vectorised: a maximum of integers, not of floats (`ordered` maps floats to
integers in the same order), which are stored, so that a second pass finds where the maximum is; no
slices inside a step, whose reference counts cost more than the arithmetic; NumPy's error model, in
which a division has no branch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from mercer._compiled import compiled, compiled_part, instruction
from mercer.kernels._direct_loops import chunk

BIG = 1e30  # larger than any residual, far from overflow in float32
LEAST_CURVATURE = 1e-12  # the smallest curvature of a pair


def _ordered(x):
    bits = x.view(np.int32 if x.dtype == np.float32 else np.int64)
    return bits ^ ((bits >> (8 * bits.itemsize - 1)) & np.iinfo(bits.dtype).max)


def _as_float(x):
    return x.view(np.float32 if x.dtype == np.int32 else np.float64)


@instruction(_ordered)
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


@instruction(_as_float)
def as_float(typingctx: Any, x: Any) -> Any:
    """Return the float ≥ 0 that `ordered` turned into this integer."""
    if x not in (types.int32, types.int64):
        return None
    real = types.float32 if x == types.int32 else types.float64

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], context.get_value_type(real))

    return real(x), generate


def _room_for_keys(e):
    """Return an array for what `ordered` makes of each float."""
    return np.empty(len(e), np.int32 if e.dtype == np.float32 else np.int64)


@overload(_room_for_keys)
def _(e):
    integer = np.int32 if e.dtype == types.float32 else np.int64
    return lambda e: np.empty(len(e), integer)


# values are finite; the proof is computed elsewhere, without these flags
_FLAGS = {"contract", "nsz", "nnan", "ninf", "arcp"}
_fast = compiled_part(fastmath=_FLAGS, error_model="numpy")


@compiled_part()
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


@compiled()
def set_all_masks(beta, lo, hi, eps, up, down):
    """Set the masks of all points."""
    for k in range(len(beta)):
        set_masks(k, beta, lo, hi, eps, up, down)


@_fast
def _move(e, up, Ki, Kj, step, keys):
    """Subtract step · (K_i − K_j) from e; return the key of the largest e + up."""
    high = ordered(e.dtype.type(-2 * BIG))
    for k in range(len(e)):
        v = e[k] - step * (Ki[k] - Kj[k])
        e[k] = v
        key = ordered(v + up[k])
        keys[k] = key
        high = key if key > high else high
    return high


@_fast
def _gain(e, down, Ki, Kii, diagonal, high, keys):
    """Return the key of the largest gain of i going up and k down, and the largest violation."""
    zero, tiny = e.dtype.type(0), e.dtype.type(LEAST_CURVATURE)
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
        keys[k] = key
        largest = key if key > largest else largest
    return largest, as_float(worst)


@_fast
def _first(keys, key):
    """Return the first place of a key."""
    nowhere = keys.dtype.type(len(keys))
    place = nowhere
    for k in range(len(keys)):
        here = keys.dtype.type(k) if keys[k] == key else nowhere
        place = here if here < place else place
    return place


@compiled_part()
def _take_step(i, j, free, beta, lo, hi):
    """Move β_i up and β_j down by the free step, cut at a bound or at 0; return the step."""
    top_i = 0.0 if beta[i] < 0 and hi[i] > 0 else hi[i]
    bottom_j = 0.0 if beta[j] > 0 and lo[j] < 0 else lo[j]
    room_i, room_j = top_i - beta[i], beta[j] - bottom_j
    step = min(free, room_i, room_j)
    beta[i] = top_i if step == room_i else beta[i] + step
    beta[j] = bottom_j if step == room_j else beta[j] - step
    return step


@compiled()
def _gather(source, index, i, row):
    chosen = source[index[i]]
    for k in range(len(index)):
        row[k] = chosen[index[k]]


@compiled()
def _compute(source, index, i, row):
    """Compute a row run by run: the points of a class lie side by side."""
    start = 0
    while start < len(index):
        stop, beyond = start + 1, len(index) + 1  # bisection: numbers of a run grow by one
        while beyond - stop > 1:
            middle = (stop + beyond) // 2
            if index[middle - 1] - index[start] == middle - 1 - start:
                stop = middle
            else:
                beyond = middle
        chunk(source, index[i], index[start], row[start:stop])
        start = stop


def fetch(source, index, i, row):
    """Write row i of the values among points ``index``, from a matrix or from the points' rows."""
    (_gather if isinstance(source, np.ndarray) else _compute)(source, index, i, row)


@overload(fetch)
def _(source, index, i, row):
    if isinstance(source, types.Array):
        return lambda source, index, i, row: _gather(source, index, i, row)
    return lambda source, index, i, row: _compute(source, index, i, row)


@compiled()
def run(K, diagonal, e, up, down, beta, lo, hi, eps, tol, max_steps, source, index, have):
    """Take up to ``max_steps`` steps; return (steps, violation), violation ≤ tol at the end.

    The points are the first len(e) rows and columns of K. A step moves the point i that most wants
    to go up and its best partner j down by the same amount (second-order working set selection).
    Unless ``index`` is empty, row i of K is fetched from the points ``index`` of ``source`` when
    it is first used, and ``have[i]`` is set.
    """
    m = len(e)
    keys = _room_for_keys(e)
    Ki = K[0, :m]
    i = _first(keys, _move(e, up, diagonal, diagonal, e.dtype.type(0), keys))
    violation = np.float64(BIG)
    for n in range(max_steps):
        high = e[i] + up[i]
        Ki = K[i, :m]
        if len(index) > 0 and not have[i]:
            fetch(source, index, i, Ki)
            have[i] = True
        gain, worst = _gain(e, down, Ki, diagonal[i], diagonal, high, keys)
        violation = np.float64(worst)
        if violation <= tol or not as_float(gain) > 0:
            return n, violation
        j = _first(keys, gain)
        Kj = K[j, :m]
        if len(index) > 0 and not have[j]:
            fetch(source, index, j, Kj)
            have[j] = True
        curvature = np.float64(diagonal[i]) + diagonal[j] - 2.0 * Ki[j]
        free = (np.float64(high) - e[j] - down[j]) / max(curvature, LEAST_CURVATURE)
        step = _take_step(i, j, free, beta, lo, hi)
        set_masks(i, beta, lo, hi, eps, up, down)
        set_masks(j, beta, lo, hi, eps, up, down)
        i = _first(keys, _move(e, up, Ki, Kj, e.dtype.type(step), keys))
    return max_steps, violation
