# mypy: ignore-errors
"""Compiled turns of pairwise and Newton steps, for margin problems with all of K in one matrix.

Pairwise steps find out which points are free. Then the conditions of the free points F are linear,

    K_FF Δ + b = e_F − ε sign(β_F),   ΣΔ = s − Σβ,

and one factorisation does the work of thousands of pairwise steps. The free set is corrected as a
whole after each solve (semismooth Newton): what leaves its interval is held at the bound, what
violates its condition at a bound is released.

Points with lo = hi = 0 take no part, but their residuals are kept up to date: held-out points of
cross-validation have their decision values z − e for nothing.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from mercer.solvers import _smo_loops as smo

TURNS = 12  # solves before pairwise steps take over again
TRUST = 1.0  # factorisations that pairwise steps may cost before Newton steps have their turn
BURST = 1000  # pairwise steps that are taken in any case
ALL_UNCLEAR = 512  # so few points are not worth telling apart
NOTHING = 1e-15  # relative; who gains less only moves rounding errors
STEP = 8.0  # operations for each point that a pairwise step takes
JITTER = 1e-12  # of the mean diagonal: duplicated points have a singular matrix

_plain = njit(cache=True, nogil=True)
_fast = njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz", "arcp"})


# -------------------------------------------------------------------- linear algebra
@_fast
def _dot(a, b):
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@_fast
def _subtract(out, step, row):
    for k in range(len(out)):
        out[k] -= step * row[k]


@_plain
def _solve_factored(L, x):
    """Solve LLᵀx = x in place; L is lower triangular, its rows contiguous."""
    n = len(x)
    for i in range(n):
        x[i] = (x[i] - _dot(L[i, :i], x[:i])) / L[i, i]
    for i in range(n - 1, -1, -1):
        x[i] /= L[i, i]
        _subtract(x[:i], x[i], L[i, :i])


@_plain
def _factor(K, free):
    """Return the Cholesky factor of K + t 11ᵀ on the free points, rows contiguous, and t.

    Empty if it has none. The sum of a step is given, so that t only changes b; it adds one more
    rank for kernels of low rank.
    """
    f = len(free)
    A = np.empty((f, f))
    trace = 0.0
    for i in range(f):
        row = K[free[i]]
        for j in range(f):
            A[i, j] = row[free[j]]
        trace += A[i, i]
    shift = max(trace, 0.0) / f
    A += shift
    for i in range(f):
        A[i, i] += JITTER * shift
    try:
        return np.ascontiguousarray(np.linalg.cholesky(A)), shift
    except Exception:
        return np.empty((0, 0)), shift


# -------------------------------------------------------------------- Newton steps
@_plain
def _free_points(beta, lo, hi):
    return np.flatnonzero((beta > lo) & (beta < hi) & (beta != 0))


@_plain
def _newton_step(K, free, sign, beta, e, eps, total):
    """Return (Δ, b) of the free points; an empty Δ if their matrix is not positive definite."""
    nothing = np.empty(0)
    L, shift = _factor(K, free)
    if len(L) == 0:
        return nothing, 0.0
    step, ones = np.empty(len(free)), np.ones(len(free))
    for i in range(len(free)):
        step[i] = e[free[i]] - eps * sign[free[i]]
    _solve_factored(L, step)
    _solve_factored(L, ones)
    needed = total - beta.sum()
    b = (step.sum() - needed) / ones.sum()
    step -= b * ones
    step -= (step.sum() - needed) / len(free)
    return (step if np.isfinite(step.sum()) else nothing), b + shift * needed


@_plain
def _dual_value(beta, z, e, eps):
    value = 0.0
    for k in range(len(beta)):
        value += 0.5 * beta[k] * (z[k] + e[k]) - eps * abs(beta[k])
    return value


@_plain
def _interval(k, sign, lo, hi, eps):
    """Return where free point k may go before its condition changes."""
    if eps == 0:
        return lo[k], hi[k]
    return (max(lo[k], 0.0), hi[k]) if sign[k] > 0 else (lo[k], min(hi[k], 0.0))


@_plain
def _cut_step(K, free, step, sign, lo, hi, eps, beta, e):
    """Go along the step up to the first bound: feasible, and never worse."""
    length, at, bound = 1.0, -1, 0.0
    for i in range(len(free)):
        k = free[i]
        bottom, top = _interval(k, sign, lo, hi, eps)
        end = top if step[i] > 0 else bottom
        if step[i] != 0 and (end - beta[k]) / step[i] < length:
            length, at, bound = (end - beta[k]) / step[i], i, end
    for i in range(len(free)):
        k = free[i]
        beta[k] = bound if i == at else beta[k] + length * step[i]
        _subtract(e, length * step[i], K[k])


@_plain
def _release(b, lo, hi, eps, tol, beta, e, sign, is_free):
    """Free the points whose condition at a bound is violated; return how many."""
    released = 0
    for k in range(len(beta)):
        if is_free[k] or lo[k] >= hi[k]:
            continue
        r, v = e[k] - b, beta[k]
        if v < hi[k] and r - (eps if v >= 0 else -eps) > tol:
            sign[k] = 1.0 if v >= 0 else -1.0
        elif v > lo[k] and r - (eps if v > 0 else -eps) < -tol:
            sign[k] = 1.0 if v > 0 else -1.0
        else:
            continue
        is_free[k] = True
        released += 1
    return released


@_plain
def _correct(K, free, step, b, lo, hi, eps, tol, beta, e, sign):
    """Take the whole step, release what wants to leave its bound, hold what leaves its interval.

    Returns the new free points, and how many were held and released.
    """
    is_free = np.zeros(len(beta), np.bool_)
    for i in range(len(free)):
        k = free[i]
        is_free[k] = True
        beta[k] += step[i]
        _subtract(e, step[i], K[k])
    released = _release(b, lo, hi, eps, tol, beta, e, sign, is_free)
    held = 0
    for i in range(len(free)):
        k = free[i]
        bottom, top = _interval(k, sign, lo, hi, eps)
        if not bottom < beta[k] < top:
            bound = min(max(beta[k], bottom), top)
            _subtract(e, bound - beta[k], K[k])
            beta[k] = bound
            is_free[k] = False
            held += 1
    return np.flatnonzero(is_free), held, released


@_plain
def newton(K, z, lo, hi, eps, total, tol, beta, e):
    """Improve β and e = z − Kβ in place; return the operations that it took."""
    free = _free_points(beta, lo, hi)
    trial, residual, sign = beta.copy(), e.copy(), np.sign(beta)
    best, operations = _dual_value(beta, z, e, eps), 0.0
    changes = np.full(TURNS + 2, len(beta))
    for turn in range(TURNS):
        if len(free) == 0:
            break
        step, b = _newton_step(K, free, sign, trial, residual, eps, total)
        operations += factor_cost(len(free)) + 2.0 * len(free) * len(beta)
        if len(step) == 0:
            break
        if turn == 0:
            _cut_step(K, free, step, sign, lo, hi, eps, beta, e)
            best = _dual_value(beta, z, e, eps)
        free, held, released = _correct(K, free, step, b, lo, hi, eps, tol, trial, residual, sign)
        if held == 0:
            value = _dual_value(trial, z, residual, eps)
            if value >= best:
                best = value
                beta[:] = trial
                e[:] = residual
        changes[turn + 2] = held + released
        if held + released == 0 or changes[turn + 2] > 0.7 * changes[turn]:
            break
    return operations


@_plain
def factor_cost(f):
    """Return the operations of a Cholesky factorisation of f points."""
    return f * f * f / 3.0 + 1e4


# -------------------------------------------------------------------- solve
@_plain
def solve(K, rows, diagonal, z, lo, hi, eps, total, tol, beta, e, room, max_steps, max_operations):
    """Lower the violation to ``tol`` by turns of pairwise and of Newton steps.

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
    least = STEP * n * min(n, BURST)
    planned = max(least, TRUST * factor_cost(len(_free_points(beta, lo, hi))))
    steps, operations, spent, reached = 0, 0.0, 0.0, -np.inf
    while True:
        smo.set_all_masks(beta, lo, hi, eps, up, down)
        high, low = _extremes(e, up, down)
        violation = max(high - low, 0.0)
        if violation <= tol or steps >= max_steps or operations > max_operations:
            return steps, violation, False
        taken, cost = 0, 0.0
        if spent >= planned:  # more points may be free now than was planned for
            planned = max(planned, TRUST * factor_cost(len(_free_points(beta, lo, hi))))
        if spent < planned:
            active = _unclear(e, up, down, beta, lo, hi, high, low)
            burst = min(int((planned - spent) / (STEP * len(active))) + 1, max_steps - steps)
            goal = 0.8 * tol if len(active) == n else max(0.8 * tol, 0.1 * violation)
            taken = _pairwise(
                K, rows, diagonal, lo, hi, eps, goal, beta, e, up, down, active, burst, room
            )
            steps += taken
            cost = STEP * len(active) * taken
            spent += cost
        if taken == 0:
            cost = newton(K, z, lo, hi, eps, total, tol, beta, e)
            free = len(_free_points(beta, lo, hi))
            planned, spent = max(least, cost, TRUST * factor_cost(free)), 0.0
            value = _dual_value(beta, z, e, eps)
            if value - reached <= NOTHING * abs(value):
                return steps, violation, True
            reached = value
        operations += cost


@_plain
def _extremes(e, up, down):
    high, low = -np.inf, np.inf
    for k in range(len(e)):
        high = max(high, e[k] + up[k])
        low = min(low, e[k] + down[k])
    return high, low


@_plain
def _unclear(e, up, down, beta, lo, hi, high, low):
    """Return the points that are free or could be one of a pair that violates."""
    n, count = len(e), 0
    if n <= ALL_UNCLEAR:
        return np.arange(n)
    points = np.empty(n, np.int64)
    for k in range(n):
        free = lo[k] < beta[k] < hi[k] and beta[k] != 0
        if free or (lo[k] < hi[k] and (e[k] + up[k] > low or e[k] + down[k] < high)):
            points[count] = k
            count += 1
    return points[:count] if count < 0.7 * n else np.arange(n)


@_plain
def _pairwise(K, rows, diagonal, lo, hi, eps, tol, beta, e, up, down, active, burst, room):
    """Take pairwise steps in float32 on some points; then bring β and all of e up to date."""
    m, n = len(active), len(beta)
    whole = m == n
    local = rows if whole else room[: m * m].reshape(m, m)
    index = active[:0] if whole else active
    kind = rows.dtype
    new = beta[active]
    taken, _ = smo.run(
        local, diagonal[active].astype(kind), e[active].astype(kind),
        up[active].astype(kind), down[active].astype(kind), new, lo[active], hi[active],
        rows.dtype.type(eps), tol, burst, rows, index, np.zeros(m, np.bool_),
    )  # fmt: skip
    for i in range(m):
        k = active[i]
        if new[i] != beta[k]:
            _subtract(e, new[i] - beta[k], K[k])
            beta[k] = new[i]
    return taken


@_plain
def rescale(K, z, lo, hi, eps, total, ratio, beta, e):
    """Start from the solution for bounds lo / ratio, hi / ratio; β and e are updated in place.

    With all sets as they were the solution is linear in the bounds: points at a bound go with it,
    and the free ones follow by one Newton step, cut where it leaves the box. Of that start and of
    ratio · β the better one is taken.
    """
    n = len(beta)
    bound = np.zeros(n, np.bool_)
    for k in range(n):
        v = beta[k] * ratio
        bound[k] = beta[k] != 0 and (v >= hi[k] * (1 - 1e-12) or v <= lo[k] * (1 - 1e-12))
    if not bound.any() and ratio >= 1:  # nothing keeps it from being the solution still
        return
    simple, simple_e = beta * ratio, z - ratio * (z - e)
    for k in range(n):
        if bound[k]:
            simple[k] = hi[k] if beta[k] > 0 else lo[k]
    free = np.flatnonzero((beta != 0) & ~bound)
    if len(free) > 0 and factor_cost(len(free)) < 300 * STEP * n:
        # K times what the bounded points gain, from the few free ones: Kβ = z − e is known
        e[:] = simple_e
        for k in free:
            _subtract(e, -(ratio - 1.0) * beta[k], K[k])
        for k in range(n):
            if bound[k]:
                beta[k] = simple[k]
        sign = np.sign(beta)
        step, _ = _newton_step(K, free, sign, beta, e, eps, total)
        taken = len(step) > 0 and _take_balanced(K, free, step, sign, lo, hi, eps, total, beta, e)
        if taken and _dual_value(beta, z, e, eps) > _dual_value(simple, z, simple_e, eps):
            return
    beta[:] = simple
    e[:] = simple_e


@_plain
def _take_balanced(K, free, step, sign, lo, hi, eps, total, beta, e):
    """Take a step, cut at its intervals, and bring the sum back by the room that is left."""
    f = len(free)
    new, down, up = np.empty(f), np.empty(f), np.empty(f)
    excess = beta.sum() - total
    for i in range(f):
        k = free[i]
        bottom, top = _interval(k, sign, lo, hi, eps)
        new[i] = min(max(beta[k] + step[i], bottom), top)
        down[i], up[i] = new[i] - bottom, top - new[i]
        excess += new[i] - beta[k]
    room = down if excess > 0 else up
    if room.sum() <= abs(excess):
        return False
    new -= room * (excess / room.sum())
    for i in range(f):
        k = free[i]
        _subtract(e, new[i] - beta[k], K[k])
        beta[k] = new[i]
    return True
