# mypy: ignore-errors
"""Compiled sums over all alignments where the numbers of neighbouring cells are of similar size.

`_series_loops.align` gives every cell of the table a power of two of its own. Here `CHUNK` columns
share one: a cell is then two sums and two products. That is exact as long as no cell of a chunk is
lost beside a larger one and matters later: what a path loses in a step must be little enough, which
the caller makes sure of (`_series.chunks_suffice`).
"""

from __future__ import annotations

from math import frexp
from typing import Any

import numpy as np
from numba import types

from mercer._compiled import compiled, compiled_part, instruction
from mercer.kernels._series_loops import LANES, LN2, NEGLIGIBLE, NOTHING, Wide

CHUNK = 16  # columns that share a power of two
NARROW = 0.5  # up to which a few terms give exp to 5e-14
HALVINGS = 8  # at most, so that γ‖x − y‖² ≤ 128
SCALE, LARGEST = range(2)  # of a chunk: the power of its numbers, and that of the largest of them
LEFT, LEFT_POWER, CORNER, CORNER_POWER = range(4)  # what a chunk needs of the one before


@compiled_part(error_model="numpy")
def _factors(gamma):
    """Return the factors of d in `_nearness` for each number of halvings."""
    found = np.empty((HALVINGS + 1, 5))
    for k in range(HALVINGS + 1):
        g = gamma * 0.5**k
        found[k, 0], found[k, 1] = g**4 / 1008.0, g**2 / 9.0
        found[k, 2], found[k, 3], found[k, 4] = g**5 / 30240.0, g**3 / 72.0, 0.5 * g
    return found


@compiled_part(fastmath={"contract", "nsz"}, error_model="numpy")
def _nearness(values, weights, factors, halvings, weighted):
    """Turn squared distances d into w/(2 exp(γd) − w), in place; γd ≤ NARROW · 2^halvings.

    exp(t) is (even + odd)/(even − odd), a Padé approximation: there is one division in all.
    """
    e2, e1 = factors[halvings, 0], factors[halvings, 1]
    o2, o1, o0 = factors[halvings, 2], factors[halvings, 3], factors[halvings, 4]
    if halvings == 0 and not weighted:
        for k in range(len(values)):
            d = values[k]
            s = d * d
            even, odd = (s * e2 + e1) * s + 1.0, ((s * o2 + o1) * s + o0) * d
            values[k] = (even - odd) / (even + 3.0 * odd)
        return
    if halvings == 1 and not weighted:
        for k in range(len(values)):
            d = values[k]
            s = d * d
            even, odd = (s * e2 + e1) * s + 1.0, ((s * o2 + o1) * s + o0) * d
            p, q = even + odd, even - odd
            q *= q
            values[k] = q / (2.0 * p * p - q)
        return
    for k in range(len(values)):
        d = values[k]
        s = d * d
        even, odd = (s * e2 + e1) * s + 1.0, ((s * o2 + o1) * s + o0) * d
        values[k] = (even + odd) / (even - odd)
    for _ in range(halvings):
        for k in range(len(values)):
            values[k] *= values[k]
    for k in range(len(values)):
        values[k] = weights[k] / (2.0 * values[k] - weights[k])


def _add_squares_slowly(
    x: float, Y: np.ndarray, start: int, stride: int, keep: float, out: np.ndarray
) -> None:
    """Do what `_add_squares` does, by NumPy."""
    places = start + stride * np.arange(CHUNK)[:, None] + np.arange(LANES)
    out.reshape(CHUNK, LANES)[:] *= keep
    out.reshape(CHUNK, LANES)[:] += (x - Y[places]) ** 2


@instruction(_add_squares_slowly)
def _add_squares(
    typingctx: Any, x: Any, Y: Any, start: Any, stride: Any, keep: Any, out: Any
) -> Any:
    """Write (x − y)² for one channel of a chunk of steps y, plus what is there times ``keep``.

    Arrays come whole, with a place: a slice, whose owner is counted, costs as much as the
    arithmetic, and so do places that could be negative.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        others, sums = (
            Wide(builder, context.make_array(signature.args[k])(context, builder, args[k]).data)
            for k in (1, 5)
        )
        value, keep = sums.spread(args[0]), sums.spread(args[4])
        for j in range(CHUNK):
            step = builder.add(args[2], builder.mul(args[3], sums.integer(j)))
            apart = builder.fsub(value, others.load(step, 0))
            square = builder.fmul(apart, apart)
            before = builder.fmul(sums.load(sums.integer(0), j), keep)
            sums.store(sums.integer(0), j, builder.fadd(square, before))
        return context.get_dummy_value()

    kinds = (types.float64, Y, types.int64, types.int64, types.float64, out)
    return types.void(*kinds), generate


@compiled_part(error_model="numpy", inline="always")
def _halvings(x, i, low, high, b, chunk, gamma):
    """Return how often γ‖x_i − y‖² of all y of a chunk must be halved to be narrow."""
    most = 0.0
    for c in range(x.shape[1]):
        most += max(x[i, c] - low[b, chunk, c], high[b, chunk, c] - x[i, c]) ** 2
    most *= gamma
    halvings = 0
    while most > NARROW:
        most *= 0.5
        halvings += 1
    return halvings


def _align_chunk_slowly(
    table: np.ndarray, powers: np.ndarray, carry: np.ndarray, near: np.ndarray, c: int
) -> None:
    """Do what `_align_chunk` does, by NumPy."""
    cells = table.reshape(-1, CHUNK, LANES)[c]
    power, before = powers.reshape(-1, 2, LANES)[c], carry.reshape(4, LANES)
    top = np.maximum(np.maximum(power[LARGEST], before[LEFT_POWER]), before[CORNER_POWER])
    shift = lambda p: np.maximum(p - top, NEGLIGIBLE).astype(int)  # noqa: E731
    left = np.ldexp(before[LEFT], shift(before[LEFT_POWER]))
    corner = np.ldexp(before[CORNER], shift(before[CORNER_POWER]))
    up = np.ldexp(cells, shift(power[SCALE]))
    for k in range(CHUNK):
        left = (up[k] + corner + left) * near.reshape(CHUNK, LANES)[k]
        corner, cells[k] = up[k], left
    power[SCALE], power[LARGEST] = top, top + np.frexp(cells.max(axis=0))[1] - 1
    for slot, value in ((LEFT, left), (CORNER, corner)):
        before[slot], exponent = np.frexp(value)
        before[slot + 1] = top + exponent


@instruction(_align_chunk_slowly)
def _align_chunk(typingctx: Any, table: Any, powers: Any, carry: Any, near: Any, c: Any) -> Any:
    """Turn chunk c of row i − 1 of the table of sums over alignments into that of row i.

    A cell is the sum of the three before it times the local similarity. The cell to the left stays
    in registers, which loops that store every cell would not achieve.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        arrays = [context.make_array(kind) for kind in signature.args[:4]]
        cells, powers, carry, near = (
            Wide(builder, make(context, builder, value).data)
            for make, value in zip(arrays, args[:4], strict=True)
        )
        zero, first = cells.integer(0), builder.mul(args[4], cells.integer(CHUNK * LANES))
        place = builder.mul(args[4], cells.integer(2 * LANES))
        before = [carry.load(zero, slot) for slot in range(4)]
        top = cells.larger(powers.load(place, LARGEST), before[LEFT_POWER])
        top = cells.larger(top, before[CORNER_POWER])
        one = cells.constant(1.0)
        scale = cells.scaled(one, powers.load(place, SCALE), top)
        left = cells.scaled(before[LEFT], before[LEFT_POWER], top)
        corner = cells.scaled(before[CORNER], before[CORNER_POWER], top)
        largest = cells.constant(0.0)
        fused = ("contract",)
        for k in range(CHUNK):
            similarity = near.load(zero, k)
            up = builder.fmul(cells.load(first, k), scale)
            above = builder.fmul(builder.fadd(up, corner), similarity)
            product = builder.fmul(left, similarity, flags=fused)
            left = builder.fadd(product, above, flags=fused)
            cells.store(first, k, left)
            largest, corner = cells.larger(left, largest), up
        powers.store(place, SCALE, top)
        powers.store(place, LARGEST, builder.fadd(top, cells.exponent(largest)))
        for slot, value in ((LEFT, left), (CORNER, corner)):
            shift = cells.exponent(value)
            back = cells.power_of_two(builder.fsub(cells.constant(0.0), shift))
            carry.store(zero, slot, builder.fmul(value, back))
            carry.store(zero, slot + 1, builder.fadd(top, shift))
        return context.get_dummy_value()

    return types.void(table, powers, carry, near, types.int64), generate


@compiled_part(error_model="numpy")
def _begin_row(cells, powers, carry, i, low):
    """Write what is before the first chunk of a row: nothing to the left, and a corner."""
    carry[LEFT], carry[LEFT_POWER] = 0.0, NOTHING
    carry[CORNER], carry[CORNER_POWER] = (1.0, 0.0) if i == 0 and low == 0 else (0.0, NOTHING)
    if low > 0 and low % CHUNK == 0:  # else the corner is outside of the band, and counts nothing
        for lane in range(LANES):
            value, power = frexp(cells[low - 1, lane])
            carry[CORNER, lane] = value
            carry[CORNER_POWER, lane] = powers[low // CHUNK - 1, SCALE, lane] + power


@compiled_part(error_model="numpy")
def _weigh(weights, i, first, low, high, band):
    """Write 1 − |i − j|/(band + 1) for the columns of a chunk, 0 outside of the band."""
    for j in range(CHUNK):
        inside = low <= first + j < high
        weight = 1.0 - abs(i - first - j) / (band + 1.0) if inside else 0.0
        for lane in range(LANES):
            weights[j * LANES + lane] = weight


@compiled(error_model="numpy")
def align_chunks(x, Y, ends, band, gamma, low_y, high_y, b0, b1, i0, i1, state, found):
    """Write the logarithm of the sum over all alignments, as `align` does; Y has whole chunks.

    ``low_y`` and ``high_y``, of shape (blocks, chunks, channels), bound the values of each chunk.
    """
    n, m = x.shape[0], Y.shape[1]
    if band >= 0:  # all series are of one length
        m = ends[0, 0] + 1
    reach = band if band >= 0 else n + m
    if abs(n - m) > reach:
        found[b0:b1] = -np.inf
        return
    columns = Y.shape[1]
    table = state.reshape(-1)[: columns * LANES]
    cells = table.reshape(columns, LANES)
    powers = state.reshape(-1)[columns * LANES :][: 2 * columns // CHUNK * LANES]
    power = powers.reshape(columns // CHUNK, 2, LANES)
    near, weights = np.zeros(CHUNK * LANES), np.ones(CHUNK * LANES)
    carry, factors = np.empty((4, LANES)), _factors(gamma)
    carried, others, size = carry.reshape(-1), Y.reshape(-1), Y.shape[2] * LANES
    for b in range(b0, b1):
        if i0 == 0:
            cells[:] = 0.0
            power[:] = NOTHING
        for i in range(i0, i1):
            low, high = max(0, i - reach), min(m, i + reach + 1)
            _begin_row(cells, power, carry, i, low)
            for c in range(low // CHUNK, (high - 1) // CHUNK + 1):
                start = (b * columns + c * CHUNK) * size
                for channel in range(x.shape[1]):
                    keep = 1.0 if channel > 0 else 0.0
                    _add_squares(x[i, channel], others, start + channel * LANES, size, keep, near)
                if band >= 0:
                    _weigh(weights, i, c * CHUNK, low, high, band)
                halvings = _halvings(x, i, low_y, high_y, b, c, gamma)
                _nearness(near, weights, factors, halvings, band >= 0)
                _align_chunk(table, powers, carried, near, c)
        if i1 == n:
            for lane in range(LANES):
                end = ends[b, lane]
                value, shift = cells[end, lane], power[end // CHUNK, SCALE, lane]
                found[b, lane] = np.log(value) + shift * LN2 if value > 0 else -np.inf
