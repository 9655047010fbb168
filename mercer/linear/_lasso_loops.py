"""Compiled sweeps of coordinate descent for the lasso, on a small Gram matrix."""

from __future__ import annotations

import numpy as np

from mercer._compiled import compiled, compiled_part
from mercer._floats import LEAST_DIVISOR
from mercer.optimize._loops import shrunk


@compiled()
def sweeps(
    G: np.ndarray,
    q: np.ndarray,
    w: np.ndarray,
    b: np.ndarray,
    yy: float,
    lam: float,
    ridge: float,
    positive: bool,
    tol: float,
    most: int,
) -> tuple[int, bool]:
    """Sweep over all coordinates, then over those that are not 0 until they settle, and again.

    Minimises ½wᵀGw − bᵀw + λ‖w‖₁, over w ≥ 0 if asked for, with q = b − Gw, which is kept up to
    date. The ridge μ is part of G already. Returns the number of sweeps, and whether to go on: the
    gap is above ``tol`` and the sweeps still change something.
    """
    m = len(w)
    active = np.empty(m, np.int64)
    done = 0
    while relative_gap(q, w, b, yy, lam, ridge, positive) > tol:
        if done >= most:
            return done, True
        gain = 0.0
        count = 0
        for j in range(m):
            gain += _update(G, q, w, lam, positive, j)
            if w[j] != 0.0:
                active[count] = j
                count += 1
        done += 1
        if gain <= 1e-32 * yy:
            break
        inner = gain
        while done < most and inner > 0.01 * gain and inner > 1e-3 * tol * yy:
            inner = 0.0
            for k in range(count):
                inner += _update(G, q, w, lam, positive, active[k])
            done += 1
    return done, False


@compiled_part()
def relative_gap(
    q: np.ndarray,
    w: np.ndarray,
    b: np.ndarray,
    yy: float,
    lam: float,
    ridge: float,
    positive: bool,
) -> float:
    """Return the duality gap relative to ½y·y, from r·y = y·y − b·w and r·r = r·y − q·w.

    It is the smaller one of two dual points, as in `WorkingSet`.
    """
    ry, qw, l1, steepest, young = yy, 0.0, 0.0, 0.0, 0.0
    for j in range(len(w)):
        ry -= b[j] * w[j]
        qw += q[j] * w[j]
        l1 += abs(w[j])
        steepest = max(steepest, q[j] if positive else abs(q[j]))
        if ridge > 0.0:
            young += _young(q[j], w[j], lam, ridge, positive)
    rr = max(ry - qw, 0.0)
    s = 1.0 if steepest <= lam else lam / steepest
    gap = 0.5 * rr + lam * l1 - s * ry + 0.5 * s * s * rr
    if ridge > 0.0:
        gap = min(gap, young)
    return gap / max(0.5 * yy, LEAST_DIVISOR)


@compiled_part(inline="always")
def _young(slope: float, w: float, lam: float, ridge: float, positive: bool) -> float:
    """Return the part of the gap that one coefficient has where the dual point is y − Xw."""
    c = slope + ridge * w
    held = min(c, lam) if positive else min(max(c, -lam), lam)
    over = c - held - ridge * w
    return lam * abs(w) - w * held + over * over / (2.0 * ridge)


@compiled_part(inline="always")
def _update(
    G: np.ndarray, q: np.ndarray, w: np.ndarray, lam: float, positive: bool, j: int
) -> float:
    """Minimise over one coordinate; return about how much the objective falls."""
    curve = G[j, j]
    if curve <= 0.0:
        return 0.0
    old = w[j]
    z = q[j] + curve * old
    new = shrunk(z, lam, curve)
    if positive and new < 0.0:
        new = 0.0
    if new == old:
        return 0.0
    change = new - old
    w[j] = new
    row = G[j]
    for k in range(len(q)):
        q[k] -= change * row[k]
    return 0.5 * curve * change * change


@compiled(fastmath=True)
def residual_sweep(
    columns: np.ndarray,
    norms: np.ndarray,
    r: np.ndarray,
    w: np.ndarray,
    lam: float,
    ridge: float,
    positive: bool,
    order: np.ndarray,
) -> float:
    """Minimise ½‖r‖² + λ‖w‖₁ + ½μ‖w‖² over each of some coordinates once, over w ≥ 0 if asked for.

    r = y − Xw is kept up to date.

    Rows of ``columns`` are the columns of X. Returns about how much the objective falls.
    """
    gain = 0.0
    n = len(r)
    for j in order:
        x = columns[j]
        curve = norms[j]
        if curve <= 0.0:
            continue
        old = w[j]
        z = curve * old
        for i in range(n):
            z += x[i] * r[i]
        new = shrunk(z, lam, curve + ridge)
        if positive and new < 0.0:
            new = 0.0
        if new != old:
            change = new - old
            w[j] = new
            for i in range(n):
                r[i] -= change * x[i]
            gain += 0.5 * curve * change * change
    return gain
