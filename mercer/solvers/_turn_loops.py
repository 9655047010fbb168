# mypy: ignore-errors
"""Compiled turns of pairwise and Newton steps on points whose kernel values lie in one matrix."""

from __future__ import annotations

import numpy as np

from mercer._compiled import compiled, compiled_part
from mercer.solvers import _newton_loops as newton
from mercer.solvers import _smo_loops as smo

LEAST_STEPS = 1000  # pairwise steps that are taken in any case
STEP_COST = 8.0  # operations for each point that a pairwise step takes
ALL_UNCLEAR = 512  # so few points are not worth telling apart
IDLE_TURNS = 6  # turns without progress, each twice as long as the one before
NEGLIGIBLE = 1e-15  # relative; who gains less only moves rounding errors
LONGEST_BURST = 3e9  # operations of pairwise steps, a second or so, before the clock is looked at


@compiled()
def take_turns(
    K, rows, diagonal, z, lo, hi, eps, total, tol, beta, e, room, max_steps, max_operations
):
    """Lower the violation to ``tol`` by turns of pairwise and of Newton steps.

    The points are the first len(beta) rows and columns of K and ``rows``.
    β and e = z − Kβ are updated in place, in float64. Pairwise steps read ``rows``, which is K,
    mostly in float32, on the points that are not clear; what they do to e is summed up from K
    after each turn. The turns of one kind may cost what those of the other do, so that neither
    wastes more than the other would have taken. Returns (pairwise steps, violation, ended); it
    stops early after ``max_steps`` or about ``max_operations``, or, then ``ended`` is true, when
    neither kind of step makes progress.

    ``room`` is memory for n² values as in ``rows``, of which only what is needed gets touched.
    """
    n = len(beta)
    up, down = np.empty(n), np.empty(n)
    least = STEP_COST * n * min(n, LEAST_STEPS)
    planned = max(least, newton.factor_cost(len(newton.free_points(beta, lo, hi))))
    steps, operations, spent, reached, lowest, idle = 0, 0.0, 0.0, -np.inf, np.inf, 0
    while True:
        smo.set_all_masks(beta, lo, hi, eps, up, down)
        high, low = _extremes(e, up, down)
        violation = max(high - low, 0.0)
        if violation <= tol or steps >= max_steps or operations > max_operations:
            return steps, violation, False
        taken, cost = 0, 0.0
        if spent >= planned:  # more points may be free now than was planned for
            planned = max(planned, newton.factor_cost(len(newton.free_points(beta, lo, hi))))
        if spent < planned:
            active = _unclear(e, up, down, beta, lo, hi, high, low)
            worth = min(planned - spent, max(max_operations - operations, LONGEST_BURST))
            burst = min(int(worth / (STEP_COST * len(active))) + 1, max_steps - steps)
            goal = 0.8 * tol if len(active) == n else max(0.8 * tol, 0.1 * violation)
            taken = _pairwise(
                K, rows, diagonal, lo, hi, eps, goal, beta, e, up, down, active, burst, room
            )
            steps += taken
            cost = STEP_COST * len(active) * taken
            spent += cost
        if taken == 0:
            cost = newton.newton(K, z, lo, hi, eps, total, tol, beta, e)
            free = len(newton.free_points(beta, lo, hi))
            planned, spent = max(least, cost, newton.factor_cost(free)), 0.0
            value, violation = (
                newton.dual_value(beta, z, e, eps),
                newton.violation_of(beta, e, lo, hi, eps),
            )
            # NaN, where values overflow, is no progress either
            if value - reached > NEGLIGIBLE * abs(value) or violation < 0.9 * lowest:
                idle = 0
            else:  # perhaps only less than rounding shows: longer turns tell
                idle += 1
                planned *= 2.0**idle
            if idle > IDLE_TURNS:
                return steps, violation, True
            reached, lowest = max(reached, value), min(lowest, violation)
        operations += cost + n


@compiled_part()
def _extremes(e, up, down):
    high, low = -np.inf, np.inf
    for k in range(len(e)):
        high = max(high, e[k] + up[k])
        low = min(low, e[k] + down[k])
    return high, low


@compiled_part()
def _unclear(e, up, down, beta, lo, hi, high, low):
    """Return the points that are free or could be one of a pair that violates."""
    n, count = len(e), 0
    points = np.empty(n, np.int64)
    if n > ALL_UNCLEAR:
        for k in range(n):
            free = lo[k] < beta[k] < hi[k] and beta[k] != 0
            if free or (lo[k] < hi[k] and (e[k] + up[k] > low or e[k] + down[k] < high)):
                points[count] = k
                count += 1
        if count < 0.7 * n:
            return points[:count]
    for k in range(n):
        points[k] = k
    return points


@compiled_part()
def _picked(values, index, like):
    """Return some of the values, in the precision of another array."""
    out = np.empty(len(index), like.dtype)
    for k in range(len(index)):
        out[k] = values[index[k]]
    return out


@compiled_part(inline="always")
def _pairwise(K, rows, diagonal, lo, hi, eps, tol, beta, e, up, down, active, burst, room):
    """Take pairwise steps in float32 on some points; then bring β and all of e up to date."""
    m, n = len(active), len(beta)
    whole = m == n
    local = rows if whole else room[: m * m].reshape(m, m)
    index = active[:0] if whole else active
    new = _picked(beta, active, beta)
    taken, _ = smo.run(
        local, _picked(diagonal, active, rows), _picked(e, active, rows),
        _picked(up, active, rows), _picked(down, active, rows), new, _picked(lo, active, lo),
        _picked(hi, active, hi), rows.dtype.type(eps), tol, burst, rows, index,
        np.zeros(m, np.bool_),
    )  # fmt: skip
    for i in range(m):
        k = active[i]
        if new[i] != beta[k]:
            newton.subtract(e, new[i] - beta[k], K[k])
            beta[k] = new[i]
    return taken


@compiled()
def rescale(K, z, lo, hi, eps, total, ratio, beta, e):
    """Start from the solution for bounds lo / ratio, hi / ratio; β and e are updated in place.

    With all sets as they were the solution is linear in the bounds: points at a bound go with it,
    and the free ones follow by one Newton step, cut where it leaves the box. Of that start and of
    ratio · β the better one is taken.
    """
    n = len(beta)
    bound, inside = np.empty(n, np.bool_), np.empty(n, np.bool_)
    simple, simple_e = np.empty(n), np.empty(n)
    some = False
    for k in range(n):
        v = beta[k] * ratio
        bound[k] = beta[k] != 0 and (v >= hi[k] * (1 - 1e-12) or v <= lo[k] * (1 - 1e-12))
        inside[k] = beta[k] != 0 and not bound[k]
        some = some or bound[k]
        simple[k] = (hi[k] if beta[k] > 0 else lo[k]) if bound[k] else v
        simple_e[k] = z[k] - ratio * (z[k] - e[k])
    if not some and ratio >= 1:  # nothing keeps it from being the solution still
        return
    free = newton.places_of(inside)
    if len(free) > 0 and newton.factor_cost(len(free)) < 300 * STEP_COST * n:
        # K times what the bounded points gain, from the few free ones: Kβ = z − e is known
        newton.copy_to(e, simple_e)
        for i in range(len(free)):
            newton.subtract(e, -(ratio - 1.0) * beta[free[i]], K[free[i]])
        for k in range(n):
            if bound[k]:
                beta[k] = simple[k]
        sign = newton.signs_of(beta)
        step, _ = newton.newton_step(K, free, sign, beta, e, eps, total)
        taken = len(step) > 0 and _take_balanced(K, free, step, sign, lo, hi, eps, total, beta, e)
        if taken and newton.dual_value(beta, z, e, eps) > newton.dual_value(
            simple, z, simple_e, eps
        ):
            return
    newton.copy_to(beta, simple)
    newton.copy_to(e, simple_e)


@compiled_part()
def _take_balanced(K, free, step, sign, lo, hi, eps, total, beta, e):
    """Take a step, cut at its intervals, and bring the sum back by the room that is left."""
    f = len(free)
    new, down, up = np.empty(f), np.empty(f), np.empty(f)
    excess = newton.total_of(beta) - total
    for i in range(f):
        k = free[i]
        bottom, top = newton.interval(k, sign, lo, hi, eps)
        new[i] = min(max(beta[k] + step[i], bottom), top)
        down[i], up[i] = new[i] - bottom, top - new[i]
        excess += new[i] - beta[k]
    room = down if excess > 0 else up
    there = newton.total_of(room)
    if there <= abs(excess):
        return False
    for i in range(f):
        k = free[i]
        new[i] -= room[i] * (excess / there)
        newton.subtract(e, new[i] - beta[k], K[k])
        beta[k] = new[i]
    return True
