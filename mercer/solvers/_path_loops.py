# mypy: ignore-errors
"""Compiled paths of classifiers: many pairs of classes, each along growing bounds."""

from __future__ import annotations

import numpy as np

from mercer._compiled import compiled, compiled_part
from mercer.margin import _offset, gap_of
from mercer.solvers import _smo_loops as smo
from mercer.solvers._many_loops import ROUNDS, _lower
from mercer.solvers._turn_loops import rescale, take_turns


@compiled_part()
def _set_bounds(sign, bound, index, lo, hi):
    """Set lo ≤ β ≤ hi of labels ±1; return the largest."""
    largest = 0.0
    for k in range(len(index)):
        C = bound[index[k]]
        lo[k] = 0.0 if sign[k] > 0 else -C
        hi[k] = C if sign[k] > 0 else 0.0
        largest = max(largest, C)
    return largest


@compiled_part()
def _reach(fixed, rows, diagonal, z, lo, hi, tol, operations, room, beta, e):
    """Go on until violation and relative gap are at most ``tol``; return whether they are."""
    target = tol
    for _ in range(ROUNDS):
        _, violation, _ = take_turns(
            fixed, rows, diagonal, z, lo, hi, 0.0, 0.0, target, beta, e, room, 2**62, operations
        )
        if violation > target:
            return False
        _, _, gap = gap_of(beta, e, z, lo, hi, 0.0)
        if gap <= 0.95 * tol:
            return True
        target = _lower(target, gap, tol)
    return True  # as far as `follow` goes


@compiled_part(fastmath={"contract"})
def _write_values(across, index, beta, b, values):
    """Write Σ βᵢ k(x, xᵢ) + b of the rows that are asked for; point i has row i of ``across``."""
    for a in range(len(values)):
        values[a] = b
    for i in range(len(index)):
        if beta[i] != 0:
            row, weight = across[index[i]], beta[i]
            for a in range(len(values)):
                values[a] += weight * row[a]


@compiled()
def follow_each(
    matrix, across, todo, offsets, index, sign, bounds, tol, operations, K, fixed, rows, room,
    values, done,
):  # fmt: skip
    """Solve the problems ``todo`` for every row of ``bounds`` (path, points), each from the last.

    Problem p is about the points index[offsets[p]:offsets[p + 1]] of a ``matrix``, with labels
    ``sign``. Decision values of the columns of ``across`` go to values[path, p]. One that takes
    more than about ``operations`` for a step is left, and not ``done``. ``K``, ``fixed`` (the same
    memory, not written to), ``rows`` and ``room`` hold the square of the largest problem.
    """
    for p in todo:
        a, b = offsets[p], offsets[p + 1]
        m = b - a
        square, held = K[: m * m].reshape(m, m), fixed[: m * m].reshape(m, m)
        single = rows[: m * m].reshape(m, m)
        here, z = index[a:b], sign[a:b]
        for i in range(m):
            smo.fetch(matrix, here, i, square[i])
            for k in range(m):
                single[i, k] = square[i, k]
        diagonal = np.empty(m)
        for i in range(m):
            diagonal[i] = square[i, i]
        beta, e, before = np.zeros(m), z.copy(), 1.0
        lo, hi = np.empty(m), np.empty(m)
        done[p] = True
        for step in range(len(bounds)):
            largest = _set_bounds(z, bounds[step], here, lo, hi)
            if step > 0:
                rescale(held, z, lo, hi, 0.0, 0.0, largest / before, beta, e)
            before = largest
            done[p] = _reach(held, single, diagonal, z, lo, hi, tol, operations, room, beta, e)
            if not done[p]:
                break
            offset, _ = _offset(beta, e, lo, hi, 0.0)
            _write_values(across, here, beta, offset, values[step, p])
