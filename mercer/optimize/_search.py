"""Line searches: how far to go along a direction of descent."""

from __future__ import annotations

import numpy as np

from mercer._floats import EPS
from mercer.optimize._run import Objective, Point

NOISE = 8 * EPS  # of f, relative to its size
LONGEST = 200  # trials of one search
FLATTER = 0.9  # what must be left of the slope at most, where f itself only shows rounding
PATIENT, LEAP = 20, 1e8  # steps double for so many trials, then grow by leaps
ENOUGH = 1e-4  # Armijo's share for Wolfe's conditions


def armijo(
    objective: Objective, at: Point, d: np.ndarray, t: float, share: float, shrink: float
) -> Point | None:
    """Shrink t until f(x + td) ≤ f(x) + share · t · gᵀd; None if no step goes down.

    Where the gain is within the rounding of f, a step must not raise f and must flatten the slope.
    """
    slope = float(at.g @ d)
    for _ in range(LONGEST):
        x = at.x + t * d
        if not slope < 0 or np.array_equal(x, at.x):
            return None
        f = objective.value(x)
        hidden = share * t * -slope <= NOISE * abs(at.f)
        if f <= at.f + (0.0 if hidden else share * t * slope):
            point = _point(objective, x, f, t)
            if not hidden or abs(float(point.g @ d)) <= FLATTER * -slope:
                return point
        t *= shrink
    return None


def wolfe(
    objective: Objective, at: Point, d: np.ndarray, t: float, flatter: float = FLATTER
) -> Point | None:
    """Bisect for a step that lowers f enough and flattens the slope (weak Wolfe conditions)."""
    slope, low, high, best = float(at.g @ d), 0.0, np.inf, None
    for trial in range(LONGEST):
        x = at.x + t * d
        if not slope < 0 or np.array_equal(x, at.x):
            break
        if not np.isfinite(x).all():  # still falling at the end of all numbers
            return best and best._replace(f=-np.inf)
        f = objective.value(x)
        if f > at.f + ENOUGH * t * slope:
            high = t
        else:
            point = _point(objective, x, f, t)
            if f == -np.inf or float(point.g @ d) >= flatter * slope:
                return point
            low, best = t, point
        t = 0.5 * (low + high) if np.isfinite(high) else low * (2.0 if trial < PATIENT else LEAP)
    return best if best is not None and best.f < at.f else None


def _point(objective: Objective, x: np.ndarray, f: float, t: float) -> Point:
    # where f is −∞ there is no gradient, and the run ends
    return Point(x, f, objective.gradient(x) if f > -np.inf else np.zeros_like(x), t)
