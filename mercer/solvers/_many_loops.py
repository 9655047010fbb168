# mypy: ignore-errors
"""Compiled from rows to proofs: many margin problems on parts of the same points.

A problem begins with pairwise steps, for which rows of kernel values are fetched when they are
first used. If it turns out to need most of them, all are fetched, and turns with Newton steps take
over. Nothing of Python comes between two problems.
"""

from __future__ import annotations

import numpy as np

from mercer._compiled import compiled, compiled_part
from mercer.kernels._direct_loops import values_of
from mercer.kernels._loops import dot
from mercer.margin import _figures, _offset, gap_of
from mercer.solvers import _newton_loops as newton
from mercer.solvers import _smo_loops as smo
from mercer.solvers._turn_loops import NEGLIGIBLE, STEP_COST, _picked, take_turns

BURST = 128  # steps after which the rows are counted
MANY_NEW_ROWS = 1.9  # new rows a step, which has two: most points will turn out to be needed
FEW_NEW_ROWS = 0.5  # new rows a step: for now the points that matter are known
ROUNDS = 8  # of lowering the violation until the gap is small as well, or there is another proof
FEW_FREE = 300  # free points whose conditions are solved to rounding


@compiled_part()
def _count(flags):
    count = 0
    for k in range(len(flags)):
        count += flags[k]
    return count


@compiled_part()
def _lower(target, gap, tol):
    """Return the violation to aim at next, if the gap is still too large."""
    return target * max(0.1, min(0.7, 0.8 * tol / gap))


@compiled_part(inline="always")
def _polish(K, z, lo, hi, eps, beta, e):
    """Take one Newton step of the free points, whose rows are there."""
    free = newton.free_points(beta, lo, hi)
    if 0 < len(free) <= FEW_FREE:
        sign = newton.signs_of(beta)
        step, _ = newton.newton_step(K, free, sign, beta, e, eps, 0.0)
        if len(step) > 0:
            newton._cut_step(K, free, step, sign, lo, hi, eps, beta, e)


@compiled_part()
def _among_fetched(
    fixed, room, held_room, diagonal, z, lo, hi, eps, tol, operations, have, beta, e
):  # fmt: skip
    """Solve the problem of the points whose rows are there; return the steps.

    All others have β = 0. A step costs as much as there are such points, and Newton steps help.
    """
    points = newton.places_of(have)
    f = len(points)
    local, held = room[: f * f].reshape(f, f), held_room[: f * f].reshape(f, f)
    for i in range(f):
        smo.fetch(fixed, points, i, local[i])
    new, residual = _picked(beta, points, beta), _picked(e, points, e)
    steps, _, _ = take_turns(
        held, local, _picked(diagonal, points, diagonal), _picked(z, points, z),
        _picked(lo, points, lo), _picked(hi, points, hi), eps, 0.0, tol, new, residual,
        room[f * f :], 2**62, operations,
    )  # fmt: skip
    for i in range(f):
        beta[points[i]] = new[i]
    return steps


@compiled_part(inline="always")
def _lazily(
    rows, index, diagonal, z, lo, hi, eps, tol, early, lazy, operations, K, fixed, room, held_room,
    have, beta, e,
):  # fmt: skip
    """Take pairwise steps on rows that are fetched when used; return (steps, whether it is done).

    Where new rows have become rare, the problem of the points that have theirs is solved by itself.
    Not done are problems that use many rows, or take many steps, or of which nearly all rows that
    are asked for are new when a share ``early`` of them is there.
    """
    m = len(z)
    most = min(30.0 * m, operations / (STEP_COST * m))
    up, down = np.empty(m), np.empty(m)
    short = _picked(diagonal, np.arange(m), K)
    steps, walked, since, before, target, rounds = 0, 0, 0, 0, tol, 0
    while rounds < ROUNDS:
        smo.set_all_masks(beta, lo, hi, eps, up, down)
        every = np.arange(m)
        residual, ups, downs = _picked(e, every, K), _picked(up, every, K), _picked(down, every, K)
        violation, taken, rare = np.inf, BURST, False
        while taken == BURST and violation > 0.8 * target and not rare:
            taken, violation = smo.run(
                K, short, residual, ups, downs, beta, lo, hi, K.dtype.type(eps), 0.8 * target,
                BURST, rows, index, have,
            )  # fmt: skip
            walked, since = walked + taken, since + taken
            fetched = _count(have)
            in_vain = fetched > early * m and fetched - before > MANY_NEW_ROWS * taken
            if in_vain or fetched > lazy * m or walked > most:
                break
            rare = since > fetched > 0 and fetched - before < FEW_NEW_ROWS * taken
            before = fetched
        newton._set_residuals(fixed, z, beta, e)
        if rare and violation > 0.8 * target and 2 * before * before <= len(room):
            steps += _among_fetched(
                fixed, room, held_room, diagonal, z, lo, hi, eps, 0.5 * target,
                STEP_COST * m * since, have, beta, e,
            )  # fmt: skip
            newton._set_residuals(fixed, z, beta, e)
            since = 0
            continue
        if violation > 0.8 * target:
            return steps + walked, False
        _polish(fixed, z, lo, hi, eps, beta, e)
        _, violation, gap = gap_of(beta, e, z, lo, hi, eps)
        if violation <= tol and gap <= 0.95 * tol:
            return steps + walked, True
        target = _lower(target, gap, tol) if gap > 0.95 * tol else 0.5 * target
        rounds += 1
    return steps + walked, False


@compiled_part(inline="always")
def _solve(
    matrix, rows, index, diagonal, z, lo, hi, eps, tol, early, lazy, whole_up_to, operations, K,
    fixed, room, held_room, beta, e,
):  # fmt: skip
    """Solve one problem; return (steps, whether violation and gap are within the tolerance)."""
    m, fetched = len(z), index
    whole = m <= whole_up_to or len(matrix) > 0
    early = 1.0 if whole else early
    have = np.zeros(m, np.bool_)
    if len(matrix) > 0:
        for i in range(m):
            smo.fetch(matrix, index, i, K[i])
        fetched, early, lazy = index[:0], 1.0, 1.0
    steps, done = _lazily(
        rows, fetched, diagonal, z, lo, hi, eps, tol, early, lazy, operations, K, fixed, room,
        held_room, have, beta, e,
    )  # fmt: skip
    if done or not whole:
        return steps, done
    if len(matrix) == 0:
        for i in range(m):
            if not have[i]:
                smo.fetch(rows, index, i, K[i])
    target = tol
    for _ in range(ROUNDS):
        taken, violation, _ = take_turns(
            fixed, K, diagonal, z, lo, hi, eps, 0.0, target, beta, e, room, 2**62, operations
        )
        steps += taken
        if violation > target:
            return steps, False
        if len(newton.free_points(beta, lo, hi)) <= FEW_FREE:
            newton.newton(fixed, z, lo, hi, eps, 0.0, NEGLIGIBLE, beta, e)
        _, violation, gap = gap_of(beta, e, z, lo, hi, eps)
        if violation <= tol and gap <= 0.95 * tol:
            return steps, True
        target = _lower(target, gap, tol) if gap > 0.95 * tol else 0.5 * target
    return steps, False


@compiled()
def solve_each(
    matrix, rows, todo, offsets, index, diagonal, z, lo, hi, eps, tol, early, lazy, whole_up_to,
    operations, K, fixed, room, held_room, beta, e, steps, done,
):  # fmt: skip
    """Solve the problems ``todo``, each on its part offsets[p] … offsets[p + 1] of the arrays.

    Kernel values come from a ``matrix`` of all points, or if that is empty from their ``rows``;
    ``lazy`` is the share of rows that are fetched one by one. Who needs more gets all, up to
    ``whole_up_to`` points; a larger problem is left, and is asked whether it will need more when
    the share ``early`` is there. No more than about ``operations`` are spent on each. ``K`` and
    ``room`` hold the square of the largest problem; ``fixed`` and ``held_room`` are the same
    memory, not written to.
    """
    for p in todo:
        a, b = offsets[p], offsets[p + 1]
        m = b - a
        square, held = K[: m * m].reshape(m, m), fixed[: m * m].reshape(m, m)
        steps[p], done[p] = _solve(
            matrix, rows, index[a:b], diagonal[a:b], z[a:b], lo[a:b], hi[a:b], eps, tol, early,
            lazy, whole_up_to, operations, square, held, room, held_room, beta[a:b], e[a:b],
        )  # fmt: skip
        newton._set_residuals(held, z[a:b], beta[a:b], e[a:b])  # of β ≠ 0 all rows are there


@compiled_part()
def _is_clear(v, r, lo, hi, eps, clearance):
    """Tell whether a point takes no part: β = 0, and no slack by more than the clearance."""
    above = hi <= 0 or r < eps - clearance
    below = lo >= 0 or r > clearance - eps
    return v == 0 and above and below


@compiled_part()
def _exact(rows, index, which, columns, weights, z, e, room):
    """Write z − Kβ of some points in float64."""
    for k in range(len(z)):
        if which[k]:
            values_of(rows, index[k], columns, room)
            e[k] = z[k] - dot(room, weights)


@compiled_part()
def _support(rows, index, beta):
    """Return the columns of the support vectors' rows, and their coefficients."""
    used = newton.places_of(beta != 0)
    X = rows.X
    columns, weights = np.empty((X.shape[1], len(used)), X.dtype), np.empty(len(used))
    for s in range(len(used)):
        weights[s] = beta[used[s]]
        for c in range(X.shape[1]):
            columns[c, s] = X[index[used[s]], c]
    return columns, weights


@compiled()
def residuals_each(
    rows, todo, offsets, index, z, lo, hi, eps, check_all, clearance, beta, e, checked
):
    """Set the residuals of problems to exact ones, from the points' rows in float64.

    In problems of more than ``check_all`` kernel values points that are clear by the problem's
    clearance are left out.
    """
    for p in todo:
        part = slice(offsets[p], offsets[p + 1])
        columns, weights = _support(rows, index[part], beta[part])
        room, m = np.empty(len(weights)), offsets[p + 1] - offsets[p]
        which = np.ones(m, np.bool_)
        if m * len(weights) > check_all:
            b, _ = _offset(beta[part], e[part], lo[part], hi[part], eps)
            for k in range(m):
                j = offsets[p] + k
                which[k] = not _is_clear(beta[j], e[j] - b, lo[j], hi[j], eps, clearance[p])
        _exact(rows, index[part], which, columns, weights, z[part], e[part], room)
        checked[p] = _count(which)


@compiled()
def figures_each(offsets, z, lo, hi, eps, beta, e, b, pair, size, figures):
    """Write what proofs need: offset, worst pair, Σ|β| and figures of each problem."""
    for p in range(len(b)):
        part = slice(offsets[p], offsets[p + 1])
        b[p], pair[p] = _offset(beta[part], e[part], lo[part], hi[part], eps)
        f = figures[p]
        (f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9], f[10], f[11], f[12]) = (
            _figures(beta[part], e[part], z[part], lo[part], hi[part], eps, b[p])
        )
        total = 0.0
        for k in range(offsets[p], offsets[p + 1]):
            total += abs(beta[k])
        size[p] = total
