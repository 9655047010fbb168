# mypy: ignore-errors
"""Compiled alignments of series: one against several, side by side in vector registers.

A series x of shape (n, channels) meets blocks of `LANES` series, Y of shape (blocks, m, channels,
LANES), shorter ones padded. A cell of the table of alignments depends on earlier steps alone, so
that padding changes nothing: the answer of a lane stands in the column where its series ends.
Calls go through the rows i0 … i1 of the table; ``state`` carries a row over to the next call.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from mercer._compiled import compiled, compiled_part, instruction
from mercer.kernels._loops import ROUND, exp_in_parts, power_of_two_in

LANES = 8  # series side by side
LN2 = 0.6931471805599453
NEGLIGIBLE = -1000.0  # a power of two that adds nothing to one
FARTHEST = 1000.0  # a power of two beside which one adds nothing
ZERO_EXPONENT = -1e15  # the exponent of 0


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
        p, s = exp_in_parts(-t)
        n = s - ROUND
        p *= weights[k]
        values[k] = p / (2.0 - p * power_of_two_in((n if n > NEGLIGIBLE else NEGLIGIBLE) + ROUND))
        powers[k] = n


VALUE, POWER, OLD_VALUE, OLD_POWER = range(4)
CELL = 4 * LANES  # numbers of a cell of the table: these four of each lane


def _align_cell_slowly(table: np.ndarray, local: np.ndarray, powers: np.ndarray, j: int) -> None:
    """Do what `_align_cell` does, by NumPy."""
    before, here = table[j * CELL : (j + 2) * CELL].reshape(2, 4, LANES)
    here[OLD_VALUE], here[OLD_POWER] = here[VALUE], here[POWER]
    top = np.maximum(np.maximum(here[POWER], before[POWER]), before[OLD_POWER])
    total = np.zeros(LANES)
    for value, power in (here[:2], before[:2], before[2:]):
        total += np.ldexp(value, np.maximum(power - top, NEGLIGIBLE).astype(int))
    lanes = slice(j * LANES, (j + 1) * LANES)
    here[VALUE], shift = np.frexp(total * local[lanes])
    here[POWER] = top + powers[lanes] + shift


@instruction(_align_cell_slowly)
def _align_cell(typingctx: Any, table: Any, local: Any, powers: Any, j: Any) -> Any:
    """Turn cell j of row i − 1 of the table of sums over alignments into that of row i.

    A cell is the sum of the three before it times the local similarity. All are pairs of a value
    of size one and a power of two: sums of products over thousands of steps leave the range of
    float64 in both directions. Written for vectors of all lanes, since the compiler of loops does
    not find out that these numbers do not overlap.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        arrays = [context.make_array(kind) for kind in signature.args[:3]]
        pointers = [
            make(context, builder, value).data for make, value in zip(arrays, args[:3], strict=True)
        ]
        wide = Wide(builder, pointers[0])
        before = builder.mul(args[3], wide.integer(CELL))
        start = builder.add(before, wide.integer(CELL))
        lanes = builder.mul(args[3], wide.integer(LANES))
        likeness, likeness_power = (Wide(builder, data).load(lanes, 0) for data in pointers[1:])
        up = wide.load(start, VALUE), wide.load(start, POWER)
        left = wide.load(before, VALUE), wide.load(before, POWER)
        corner = wide.load(before, OLD_VALUE), wide.load(before, OLD_POWER)
        top = wide.larger(wide.larger(up[1], corner[1]), left[1])
        total = builder.fadd(wide.scaled(*up, top), wide.scaled(*corner, top))
        total = builder.fadd(total, wide.scaled(*left, top))
        total = builder.fmul(total, likeness)
        shift = wide.exponent(total)
        power = builder.fadd(builder.fadd(top, likeness_power), shift)
        value = builder.fmul(total, wide.power_of_two(builder.fsub(wide.constant(0.0), shift)))
        results = {VALUE: value, POWER: power, OLD_VALUE: up[0], OLD_POWER: up[1]}
        for slot, result in results.items():
            wide.store(start, slot, result)
        return context.get_dummy_value()

    return types.void(table, local, powers, types.int64), generate


class Wide:
    """Instructions on vectors of one number of each lane."""

    doubles = ir.VectorType(ir.DoubleType(), LANES)
    integers = ir.VectorType(ir.IntType(64), LANES)
    integer = ir.IntType(64)

    def __init__(self, builder: Any, data: Any):
        self.builder, self.data = builder, data

    def constant(self, number: float) -> Any:
        return ir.Constant(self.doubles, [number] * LANES)

    def whole(self, number: int) -> Any:
        return ir.Constant(self.integers, [number] * LANES)

    def spread(self, number: Any) -> Any:
        """Return a number in all lanes."""
        first = self.builder.insert_element(self.constant(0.0), number, ir.IntType(32)(0))
        same = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self.builder.shuffle_vector(first, self.constant(0.0), same)

    def _place(self, start: Any, slot: int) -> Any:
        index = self.builder.add(start, self.integer(slot * LANES))
        return self.builder.bitcast(self.builder.gep(self.data, [index]), self.doubles.as_pointer())

    def load(self, start: Any, slot: int) -> Any:
        return self.builder.load(self._place(start, slot), align=8)

    def store(self, start: Any, slot: int, values: Any) -> None:
        self.builder.store(values, self._place(start, slot), align=8)

    def larger(self, a: Any, b: Any) -> Any:
        return self.builder.select(self.builder.fcmp_ordered(">", a, b), a, b)

    def any_larger(self, pairs: Any) -> Any:
        """Return whether a > b in any lane of any pair of vectors a, b."""
        larger = [self.builder.fcmp_ordered(">", a, b) for a, b in pairs]
        bits, one_each = reduce(self.builder.or_, larger), ir.IntType(LANES)
        return self.builder.icmp_unsigned("!=", self.builder.bitcast(bits, one_each), one_each(0))

    def either(self, a: Any, after_a: Any, b: Any, after_b: Any) -> Any:
        """Return a or b, whichever of two blocks of instructions came before."""
        found = self.builder.phi(self.doubles)
        found.add_incoming(a, after_a)
        found.add_incoming(b, after_b)
        return found

    def power_of_two(self, x: Any) -> Any:
        """Return 2ˣ of integral x in [−1022, 1023] by setting the exponent bits."""
        shifted = self.builder.fadd(x, self.constant(ROUND + 1023.0))
        bits = self.builder.shl(self.builder.bitcast(shifted, self.integers), self.whole(52))
        return self.builder.bitcast(bits, self.doubles)

    def scaled(self, value: Any, power: Any, top: Any) -> Any:
        """Return value · 2^(power − top); what adds nothing may be anything as small."""
        apart = self.builder.fsub(power, top)
        return self.builder.fmul(
            value, self.power_of_two(self.larger(apart, self.constant(NEGLIGIBLE)))
        )

    def exponent(self, x: Any) -> Any:
        """Return e of x = m · 2ᵉ ≥ 0 with 1 ≤ m < 2 by reading its bits; −1023 of 0."""
        bits = self.builder.lshr(self.builder.bitcast(x, self.integers), self.whole(52))
        number = self.builder.or_(bits, self.whole(0x4330000000000000))
        return self.builder.fsub(
            self.builder.bitcast(number, self.doubles), self.constant(2.0**52 + 1023.0)
        )


@compiled_part(error_model="numpy")
def _weigh(weights, i, low, high, band):
    """Write 1 − |i − j|/(band + 1) for the steps low … high."""
    for j in range(low, high):
        for lane in range(LANES):
            weights[j * LANES + lane] = 1.0 - abs(i - j) / (band + 1.0)


@compiled_part(error_model="numpy")
def _begin_row(cell, i, low):
    """Make the cell before the first one of a row what is left of it: nothing, and a corner."""
    if low > 0:
        cell[OLD_VALUE], cell[OLD_POWER] = cell[VALUE], cell[POWER]
    else:
        cell[OLD_VALUE], cell[OLD_POWER] = (1.0, 0.0) if i == 0 else (0.0, ZERO_EXPONENT)
    cell[VALUE], cell[POWER] = 0.0, ZERO_EXPONENT


@compiled(error_model="numpy")
def align(x, Y, ends, band, gamma, b0, b1, i0, i1, state, found):
    """Write the logarithm of the sum over all alignments of x with each of the others.

    An alignment counts the product of local similarities e/(2 − e), where e is exp(−γ‖x − y‖²),
    times 1 − |i − j|/(band + 1) with a band (≥ 0).
    """
    n, m = x.shape[0], Y.shape[1]
    reach = band if band >= 0 else n + m
    table = state[:4].reshape(-1)
    cells = table.reshape(m + 1, 4, LANES)  # one before the first
    costs, powers, weights = state[4], state[5].reshape(-1), state[6].reshape(-1)
    local = costs.reshape(-1)
    weights[:] = 1.0
    if abs(n - m) > reach:  # no alignment stays in the band; lanes are of one length with one
        found[b0:b1] = -np.inf
        return
    for b in range(b0, b1):
        if i0 == 0:
            cells[:, VALUE], cells[:, POWER] = 0.0, ZERO_EXPONENT
        for i in range(i0, i1):
            low, high = max(0, i - reach), min(m, i + reach + 1)
            _costs(x[i], Y[b], low, high, costs)
            if band >= 0:
                _weigh(weights, i, low, high, band)
            part = slice(low * LANES, high * LANES)
            _local(local[part], powers[part], weights[part], gamma)
            _begin_row(cells[low], i, low)
            for j in range(low, high):
                _align_cell(table, local, powers, j)
        if i1 == n:
            for lane in range(LANES):
                end = ends[b, lane]
                value, power = cells[end + 1, VALUE, lane], cells[end + 1, POWER, lane]
                found[b, lane] = np.log(value) + power * LN2 if value > 0 else -np.inf
