# mypy: ignore-errors
"""Compiled Newton steps on the free points of a margin problem, with all of K in one matrix.

Once it is known which points are free, the conditions of these points F are linear,

    K_FF Δ + b = e_F − ε sign(β_F),   ΣΔ = s − Σβ,

and one factorisation does the work of thousands of pairwise steps. The free set is corrected as a
whole after each solve (semismooth Newton): what leaves its interval is held at the bound, what
violates its condition at a bound is released.
"""

from __future__ import annotations

import numpy as np

from mercer._compiled import compiled, compiled_part
from mercer.kernels._loops import dot

TURNS = 12  # solves before pairwise steps take over again
ROUNDING = 1e-9  # relative error of the dual where the matrix is nearly singular
JITTER = 1e-12  # of the mean diagonal: duplicated points have a singular matrix

_plain = compiled_part()
_fast = compiled_part(fastmath={"contract", "reassoc", "nsz", "arcp"})


# -------------------------------------------------------------------- vectors
# Loops, where NumPy has a word for it: compiling that word takes as long as all of this file.
@_plain
def total_of(values):
    total = 0.0
    for k in range(len(values)):
        total += values[k]
    return total


@_plain
def copy_to(out, values):
    for k in range(len(out)):
        out[k] = values[k]


@_plain
def places_of(mask):
    """Return where a mask is true."""
    count = 0
    for k in range(len(mask)):
        count += mask[k]
    places = np.empty(count, np.int64)
    count = 0
    for k in range(len(mask)):
        if mask[k]:
            places[count] = k
            count += 1
    return places


@_plain
def signs_of(values):
    signs = np.empty(len(values))
    for k in range(len(values)):
        signs[k] = 1.0 if values[k] > 0 else (-1.0 if values[k] < 0 else 0.0)
    return signs


# -------------------------------------------------------------------- linear algebra
@_fast
def subtract(out, step, row):
    for k in range(len(out)):
        out[k] -= step * row[k]


@_plain
def _solve_factored(L, x):
    """Solve LLᵀx = x in place; L is lower triangular, its rows contiguous."""
    n = len(x)
    for i in range(n):
        x[i] = (x[i] - dot(L[i, :i], x[:i])) / L[i, i]
    for i in range(n - 1, -1, -1):
        x[i] /= L[i, i]
        subtract(x[:i], x[i], L[i, :i])


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
    for i in range(f):
        for j in range(f):
            A[i, j] += shift
        A[i, i] += JITTER * shift
    try:
        return np.ascontiguousarray(np.linalg.cholesky(A)), shift
    except Exception:
        return np.empty((0, 0)), shift


# -------------------------------------------------------------------- Newton steps
@compiled()
def free_points(beta, lo, hi):
    is_free = np.empty(len(beta), np.bool_)
    for k in range(len(beta)):
        is_free[k] = lo[k] < beta[k] < hi[k] and beta[k] != 0
    return places_of(is_free)


@_plain
def newton_step(K, free, sign, beta, e, eps, total):
    """Return (Δ, b) of the free points; an empty Δ if their matrix is not positive definite."""
    nothing = np.empty(0)
    L, shift = _factor(K, free)
    if len(L) == 0:
        return nothing, 0.0
    step, ones = np.empty(len(free)), np.empty(len(free))
    for i in range(len(free)):
        step[i] = e[free[i]] - eps * sign[free[i]]
        ones[i] = 1.0
    _solve_factored(L, step)
    _solve_factored(L, ones)
    needed = total - total_of(beta)
    b = (total_of(step) - needed) / total_of(ones)
    for i in range(len(free)):
        step[i] -= b * ones[i]
    rest = (total_of(step) - needed) / len(free)
    for i in range(len(free)):
        step[i] -= rest
    return (step if np.isfinite(total_of(step)) else nothing), b + shift * needed


@_plain
def dual_value(beta, z, e, eps):
    value = 0.0
    for k in range(len(beta)):
        value += 0.5 * beta[k] * (z[k] + e[k]) - eps * abs(beta[k])
    return value


@_plain
def interval(k, sign, lo, hi, eps):
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
        bottom, top = interval(k, sign, lo, hi, eps)
        end = top if step[i] > 0 else bottom
        if step[i] != 0 and (end - beta[k]) / step[i] < length:
            length, at, bound = (end - beta[k]) / step[i], i, end
    for i in range(len(free)):
        k = free[i]
        beta[k] = bound if i == at else beta[k] + length * step[i]
        subtract(e, length * step[i], K[k])


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
        subtract(e, step[i], K[k])
    released = _release(b, lo, hi, eps, tol, beta, e, sign, is_free)
    held = 0
    for i in range(len(free)):
        k = free[i]
        bottom, top = interval(k, sign, lo, hi, eps)
        if not bottom < beta[k] < top:
            bound = min(max(beta[k], bottom), top)
            subtract(e, bound - beta[k], K[k])
            beta[k] = bound
            is_free[k] = False
            held += 1
    return places_of(is_free), held, released


@compiled()
def newton(K, z, lo, hi, eps, total, tol, beta, e):
    """Improve β and e = z − Kβ in place; return the operations that it took."""
    free = free_points(beta, lo, hi)
    trial, residual, sign = np.empty(len(beta)), np.empty(len(beta)), signs_of(beta)
    copy_to(trial, beta)
    copy_to(residual, e)
    best, least, operations = -np.inf, np.inf, 0.0
    changes = np.empty(TURNS + 2, np.int64)
    changes[0] = changes[1] = len(beta)
    for turn in range(TURNS):
        if len(free) == 0:
            break
        step, b = newton_step(K, free, sign, trial, residual, eps, total)
        operations += factor_cost(len(free)) + 2.0 * len(free) * len(beta)
        if len(step) == 0:
            break
        if turn == 0:
            _cut_step(K, free, step, sign, lo, hi, eps, beta, e)
            best, least = dual_value(beta, z, e, eps), violation_of(beta, e, lo, hi, eps)
        free, held, released = _correct(K, free, step, b, lo, hi, eps, tol, trial, residual, sign)
        if held == 0:
            value = dual_value(trial, z, residual, eps)
            violation = violation_of(trial, residual, lo, hi, eps)
            # where the dual is only rounding the conditions decide
            equal = abs(value - best) <= ROUNDING * abs(best)
            if violation < least if equal else value > best:
                best, least = value, violation
                copy_to(beta, trial)
        changes[turn + 2] = held + released
        if held + released == 0 or changes[turn + 2] > 0.7 * changes[turn]:
            break
    # steps along nearly singular directions are huge, and what they leave in e is rounding
    _set_residuals(K, z, beta, e)
    return operations


@_plain
def violation_of(beta, e, lo, hi, eps):
    """Return the violation of the worst pair of points."""
    high, low = -np.inf, np.inf
    for k in range(len(beta)):
        if beta[k] < hi[k]:
            high = max(high, e[k] - (eps if beta[k] >= 0 else -eps))
        if beta[k] > lo[k]:
            low = min(low, e[k] - (eps if beta[k] > 0 else -eps))
    return max(high - low, 0.0)


@_plain
def _set_residuals(K, z, beta, e):
    """Write z − Kβ."""
    copy_to(e, z)
    for k in range(len(beta)):
        if beta[k] != 0:
            subtract(e, beta[k], K[k])


@_plain
def factor_cost(f):
    """Return the operations of a Cholesky factorisation of f points."""
    return f * f * f / 3.0 + 1e4
