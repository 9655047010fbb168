# mypy: ignore-errors
"""Compiled sweeps over the points of a margin problem in the span of landmarks."""

from __future__ import annotations

import numpy as np

from mercer._compiled import compiled, compiled_part
from mercer.kernels._direct_loops import add_scaled
from mercer.kernels._loops import dot
from mercer.solvers.dual_coordinate import shuffle


@compiled()
def set_scores(values, rows, w, out):
    for k in range(len(rows)):
        out[k] = dot(values[rows[k]], w)


@compiled_part()
def _violation(r, beta, lo, hi, eps):
    """Return by how much the residual of a point asks to move its β; below 0 it is content."""
    found = -np.inf
    if beta < hi:
        found = r - (eps if beta >= 0.0 else -eps)
    if beta > lo:
        found = max(found, (eps if beta > 0.0 else -eps) - r)
    return found


@compiled()
def sweep(
    values, rows, points, z, lo, hi, eps, squares, rho, offset, astray,
    w, beta, order, active, seed, worst_before,
):  # fmt: skip
    """Move each active β to the minimum along it; return how many are active, and the violation.

    The residual is r = z − φ·w − offset − ρ·(Σβ − s). A point that is content by more than the
    worst violation of the sweep before is set aside.
    """
    shuffle(order, active, seed)
    worst, k = 0.0, 0
    while k < active:
        i = points[order[k]]
        row = values[rows[order[k]]]
        r = z[i] - dot(row, w) - offset - rho * astray
        violation = _violation(r, beta[i], lo[i], hi[i], eps)
        if violation < -worst_before:
            active -= 1
            order[k], order[active] = order[active], order[k]
            continue
        if violation > 0.0:
            worst = max(worst, violation)
            curvature = squares[i] + rho
            free = beta[i] + r / curvature
            moved = max(abs(free) - eps / curvature, 0.0)
            moved = min(max(moved if free > 0.0 else -moved, lo[i]), hi[i])
            change = moved - beta[i]
            beta[i] = moved
            astray += change
            add_scaled(change, row, w)
        k += 1
    return active, worst
