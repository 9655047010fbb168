# mypy: ignore-errors
"""Compiled sums over all alignments where the numbers of neighbouring cells are of similar size.

`_series_loops.align` gives every cell of the table a power of two of its own. Here `CHUNK` columns
share one: a cell is then two sums and two products. That is exact as long as no cell of a chunk is
lost beside a larger one and matters later: what a path loses in a step must be little enough, which
the caller makes sure of (`_series.chunks_suffice`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from mercer._compiled import compiled, compiled_part, instruction
from mercer.kernels._series_loops import FARTHEST, LANES, LN2, NEGLIGIBLE, ZERO_EXPONENT, Wide

CHUNK = 16  # columns that share a power of two
LARGEST_SCALE = 2.0**64  # what a chunk's numbers may grow or shrink by before they are scaled
UNHALVED = 0.75  # up to which γ‖x − y‖² needs no halving
SCALE, TOTAL = range(2)  # of a chunk: the power of two of its numbers, and their sum
LEFT, CORNER, BEFORE = range(3)  # what a chunk needs of the one before: two numbers, their power
FUSED = ("contract",)  # a product and a sum may be one instruction

# tanh(t/2) is odd/even to 2e-15 for t ≤ UNHALVED, where odd = ((s + ODD[0]) s + ODD[1]) d and
# even = (s + EVEN[0]) s + EVEN[1] of d = UNIT · t and s = d²: factors of 1 lead, so that there
# are sums in place of products, which a processor does beside these. By Remez' exchange.
UNIT = 0.03325585345943195
EVEN = 0.12404236419374629, 0.0012348355167602328
ODD = 0.4660481447641867, 0.018565686763482256


@compiled_part(fastmath={"contract", "nsz"}, error_model="numpy")
def _nearness(values, weights, halvings):
    """Turn d = UNIT · t into w/(2 exp(t) − w), in place; t ≤ UNHALVED · 2^halvings.

    exp(t) is (even + odd)/(even − odd).
    """
    half = 0.5**halvings
    for k in range(len(values)):
        d = values[k] * half
        s = d * d
        even, odd = (s + EVEN[0]) * s + EVEN[1], ((s + ODD[0]) * s + ODD[1]) * d
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
def _halvings(x, i, low, high, b, chunk):
    """Return how often t of x_i and all y of a chunk must be halved to be narrow."""
    most = 0.0
    for c in range(x.shape[1]):
        most += max(x[i, c] - low[b, chunk, c], high[b, chunk, c] - x[i, c]) ** 2
    halvings = 0
    while most > UNHALVED * UNIT:
        most *= 0.5
        halvings += 1
    return halvings


def _align_chunk_slowly(
    table: np.ndarray, powers: np.ndarray, carry: np.ndarray, near: np.ndarray, c: int
) -> None:
    """Do what `_align_chunk` does, by NumPy."""
    cells = table.reshape(-1, CHUNK, LANES)[c]
    power, before = powers.reshape(-1, 2, LANES)[c], carry.reshape(3, LANES)
    shift = np.maximum(before[BEFORE] - power[SCALE], NEGLIGIBLE).astype(int)
    left, corner = np.ldexp(before[:2], np.minimum(shift, int(FARTHEST)))
    largest = np.maximum(np.maximum(left, corner), power[TOTAL])
    if (
        (largest > LARGEST_SCALE) | (power[TOTAL] < 1.0 / LARGEST_SCALE) | (shift > FARTHEST)
    ).any():
        own, other = np.frexp(power[TOTAL])[1], np.frexp(before[:2].max(axis=0))[1]
        top = np.maximum(power[SCALE] + own, before[BEFORE] + other)
        shifts = (np.maximum(p - top, NEGLIGIBLE).astype(int) for p in (before[2], power[SCALE]))
        (left, corner), cells[:] = map(np.ldexp, (before[:2], cells), shifts)
        power[SCALE] = top
    for k in range(CHUNK):
        up = cells[k].copy()
        left = (up + corner + left) * near.reshape(CHUNK, LANES)[k]
        corner, cells[k] = up, left
    power[TOTAL], before[:] = cells.sum(axis=0), (left, corner, power[SCALE])


@instruction(_align_chunk_slowly)
def _align_chunk(typingctx: Any, table: Any, powers: Any, carry: Any, near: Any, c: Any) -> Any:
    """Turn chunk c of row i − 1 of the table of sums over alignments into that of row i.

    A cell is the sum of the three before it times the local similarity. The cell to the left stays
    in registers, which loops that store every cell would not achieve.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        cells, powers, carry, near = _wide_arrays(context, builder, signature, args, range(4))
        similarity = lambda k: near.load(near.integer(0), k)  # noqa: E731
        _write_chunk(builder, cells, powers, carry, args[4], similarity)
        return context.get_dummy_value()

    return types.void(table, powers, carry, near, types.int64), generate


def _align_near_slowly(
    table: np.ndarray,
    powers: np.ndarray,
    carry: np.ndarray,
    near: np.ndarray,
    c: int,
    x: float,
    Y: np.ndarray,
    start: int,
    stride: int,
) -> None:
    """Do what `_align_near` does, by NumPy."""
    d = near.copy()
    _add_squares_slowly(x, Y, start, stride, 1.0, d)
    s = d * d
    even, odd = (s + EVEN[0]) * s + EVEN[1], ((s + ODD[0]) * s + ODD[1]) * d
    local = (even - odd) / (even + 3.0 * odd)
    _align_chunk_slowly(table, powers, carry, local, c)


@instruction(_align_near_slowly)
def _align_near(
    typingctx: Any,
    table: Any,
    powers: Any,
    carry: Any,
    near: Any,
    c: Any,
    x: Any,
    Y: Any,
    start: Any,
    stride: Any,
) -> Any:
    """Do what the last `_add_squares`, `_nearness` and `_align_chunk` do, if t ≤ UNHALVED.

    Nothing goes through memory: a cell is a division, eight products and six sums.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        arrays = _wide_arrays(context, builder, signature, args, (0, 1, 2, 3, 6))
        cells, powers, carry, near, others = arrays
        value, three = cells.spread(args[5]), cells.constant(3.0)
        e1, e0, o1, o0 = map(cells.constant, EVEN + ODD)
        times = lambda a, b: builder.fmul(a, b, flags=FUSED)  # noqa: E731
        plus = lambda a, b: builder.fadd(a, b, flags=FUSED)  # noqa: E731

        def similarity(k: int) -> Any:
            step = builder.add(args[7], builder.mul(args[8], cells.integer(k)))
            apart = builder.fsub(value, others.load(step, 0))
            d = plus(times(apart, apart), near.load(near.integer(0), k))
            s = times(d, d)
            even = plus(times(plus(s, e1), s), e0)
            odd = times(plus(times(plus(s, o1), s), o0), d)
            return builder.fdiv(builder.fsub(even, odd), plus(times(odd, three), even))

        _write_chunk(builder, cells, powers, carry, args[4], similarity)
        return context.get_dummy_value()

    numbers = (types.float64, Y, types.int64, types.int64)
    return types.void(table, powers, carry, near, types.int64, *numbers), generate


def _wide_arrays(context: Any, builder: Any, signature: Any, args: Any, places: Any) -> list[Wide]:
    """Return the arguments that are arrays, read by vectors."""
    return [
        Wide(builder, context.make_array(signature.args[k])(context, builder, args[k]).data)
        for k in places
    ]


def _write_chunk(
    builder: Any, cells: Wide, powers: Wide, carry: Wide, c: Any, similarity: Callable[[int], Any]
) -> None:
    """Write the instructions of `_align_chunk`, for any way to find the similarity of a column."""
    zero, first = cells.integer(0), builder.mul(c, cells.integer(CHUNK * LANES))
    place = builder.mul(c, cells.integer(2 * LANES))
    scale, total = powers.load(place, SCALE), powers.load(place, TOTAL)
    left, corner, power = (carry.load(zero, slot) for slot in range(3))
    fits = cells.scaled(left, power, scale), cells.scaled(corner, power, scale), scale
    largest = cells.larger(cells.larger(fits[0], fits[1]), total)
    beyond = (
        (largest, cells.constant(LARGEST_SCALE)),
        (cells.constant(1.0 / LARGEST_SCALE), total),
        (builder.fsub(power, scale), cells.constant(FARTHEST)),
    )
    as_it_is = builder.block
    with builder.if_then(cells.any_larger(beyond), likely=False):
        own = builder.fadd(scale, cells.exponent(total))
        other = builder.fadd(power, cells.exponent(cells.larger(left, corner)))
        top = cells.larger(own, other)
        factor = cells.scaled(cells.constant(1.0), scale, top)
        for k in range(CHUNK):
            cells.store(first, k, builder.fmul(cells.load(first, k), factor))
        scaled = cells.scaled(left, power, top), cells.scaled(corner, power, top), top
        changed = builder.block
    left, corner, scale = (
        cells.either(a, as_it_is, b, changed) for a, b in zip(fits, scaled, strict=True)
    )
    total = cells.constant(0.0)
    for k in range(CHUNK):
        near, up = similarity(k), cells.load(first, k)
        above = builder.fmul(builder.fadd(up, corner), near)
        left = builder.fadd(builder.fmul(left, near, flags=FUSED), above, flags=FUSED)
        cells.store(first, k, left)
        total, corner = builder.fadd(total, left), up
    for slot, value in ((SCALE, scale), (TOTAL, total)):
        powers.store(place, slot, value)
    for slot, value in ((LEFT, left), (CORNER, corner), (BEFORE, scale)):
        carry.store(zero, slot, value)


@compiled_part(error_model="numpy")
def _begin_row(cells, powers, carry, i, low):
    """Write what is before the first chunk of a row: nothing to the left, and a corner."""
    first = i == 0 and low == 0
    carry[LEFT], carry[CORNER] = 0.0, 1.0 if first else 0.0
    carry[BEFORE] = 0.0 if first else ZERO_EXPONENT
    if low > 0 and low % CHUNK == 0:  # else the corner is outside of the band, and counts nothing
        carry[CORNER], carry[BEFORE] = cells[low - 1], powers[low // CHUNK - 1, SCALE]


@compiled_part(error_model="numpy")
def _weigh(weights, i, first, low, high, band):
    """Write 1 − |i − j|/(band + 1) for the columns of a chunk, 0 outside of the band."""
    for j in range(CHUNK):
        inside = low <= first + j < high
        weight = 1.0 - abs(i - first - j) / (band + 1.0) if inside else 0.0
        for lane in range(LANES):
            weights[j * LANES + lane] = weight


@compiled(error_model="numpy")
def align_chunks(x, Y, ends, band, low_y, high_y, b0, b1, i0, i1, state, found):
    """Write the logarithm of the sum over all alignments, as `align` does; Y has whole chunks.

    Steps are in such units that ‖x − y‖² is UNIT · t, where exp(−t) is the local similarity e.
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
    memory, used = state.reshape(-1), columns * LANES  # of whole lines of the cache
    table, powers = memory[:used], memory[used:][: 2 * columns // CHUNK * LANES]
    used += len(powers)
    near, weights = memory[used:][: CHUNK * LANES], memory[used + CHUNK * LANES :][: CHUNK * LANES]
    carried = memory[used + 2 * CHUNK * LANES :][: 3 * LANES]
    near[:], weights[:] = 0.0, 1.0
    cells, carry = table.reshape(columns, LANES), carried.reshape(3, LANES)
    power = powers.reshape(columns // CHUNK, 2, LANES)
    others, size, last = Y.reshape(-1), Y.shape[2] * LANES, x.shape[1] - 1
    for b in range(b0, b1):
        if i0 == 0:
            cells[:] = 0.0
            power[:, SCALE], power[:, TOTAL] = ZERO_EXPONENT, 0.0
        for i in range(i0, i1):
            low, high = max(0, i - reach), min(m, i + reach + 1)
            _begin_row(cells, power, carry, i, low)
            for c in range(low // CHUNK, (high - 1) // CHUNK + 1):
                start = (b * columns + c * CHUNK) * size
                for channel in range(last):
                    keep = 1.0 if channel > 0 else 0.0
                    _add_squares(x[i, channel], others, start + channel * LANES, size, keep, near)
                start += last * LANES
                halvings = _halvings(x, i, low_y, high_y, b, c)
                if halvings == 0 and band < 0:
                    _align_near(table, powers, carried, near, c, x[i, last], others, start, size)
                    continue
                keep = 1.0 if last > 0 else 0.0
                _add_squares(x[i, last], others, start, size, keep, near)
                if band >= 0:
                    _weigh(weights, i, c * CHUNK, low, high, band)
                _nearness(near, weights, halvings)
                _align_chunk(table, powers, carried, near, c)
                if last == 0:
                    near[:] = 0.0
        if i1 == n:
            for lane in range(LANES):
                end = ends[b, lane]
                value, shift = cells[end, lane], power[end // CHUNK, SCALE, lane]
                found[b, lane] = np.log(value) + shift * LN2 if value > 0 else -np.inf
