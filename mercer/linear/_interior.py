"""An interior point method for linear programs with a box and few equations.

    max cᵀx   subject to  Bᵀx = b,  0 ≤ x ≤ u,      its dual:  min bᵀβ + Σ u (c − Bβ)₊

B has many rows and few columns: each step factors one small matrix BᵀDB. The steps are Mehrotra's
(a predictor and a corrector); the last one goes to a vertex, if there is a single one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lstsq
from scipy.linalg.lapack import dgetrf, dgetrs

from mercer._floats import TINY

MAX_STEPS = 100
GOAL = 1e-13  # relative gap at which nothing but rounding is left
SHORT = 0.9995  # of the way to the border of the box
NUDGE = 1e-14  # of the diagonal, where the small matrix has lost its definiteness


class BoxOptimum(NamedTuple):
    """A point x of the box with Bᵀx = b, and the multipliers β of the equations."""

    x: np.ndarray
    beta: np.ndarray
    steps: int
    interrupted: bool = False


def solve_box_program(B: np.ndarray, c: np.ndarray, x: np.ndarray, u: np.ndarray) -> BoxOptimum:
    """Solve the program from an interior point x, which states b = Bᵀx.

    Parameters
    ----------
    B : array of shape (N, m)
        Columns of about the same size.
    c, x, u : array of shape (N,)
        Gains, the start and the upper bounds, 0 < x < u.
    """
    best, b = _Point.start(B, c, x, u), B.T @ x
    steps, interrupted = 0, False
    try:
        for point in _steps(B, c, b, u, best):
            steps += 1
            best = min(best, point, key=lambda p: p.gap(u))
            if point.gap(u) > 1e3 * best.gap(u):
                break
    except KeyboardInterrupt:
        interrupted = True
    vertex = _vertex(B, c, b, u, best)
    return BoxOptimum(*(vertex or (best.x, best.beta)), steps, interrupted)


def _steps(
    B: np.ndarray, c: np.ndarray, b: np.ndarray, u: np.ndarray, point: _Point
) -> Iterator[_Point]:
    """Yield the points of a run, until nothing but rounding is left or a step fails."""
    for _ in range(MAX_STEPS):
        try:
            with np.errstate(all="ignore"):  # at the very end multipliers vanish
                point = _step(B, c, b, u, point)
        except LinAlgError:
            return
        if not np.isfinite(point.gap(u)):
            return
        yield point
        if point.gap(u) <= GOAL * abs(c @ point.x):
            return


class _Point(NamedTuple):
    x: np.ndarray
    beta: np.ndarray
    z: np.ndarray  # multipliers of x ≥ 0
    v: np.ndarray  # multipliers of x ≤ u

    @classmethod
    def start(cls, B: np.ndarray, c: np.ndarray, x: np.ndarray, u: np.ndarray) -> _Point:
        beta = lstsq(B, c, check_finite=False)[0]
        r = c - B @ beta
        shift = 0.1 * float(np.abs(r).mean()) + TINY
        return cls(x, beta, np.maximum(-r, 0.0) + shift, np.maximum(r, 0.0) + shift)

    def gap(self, u: np.ndarray) -> float:
        """The complementarity: the duality gap, if the equations hold."""
        return float(self.z @ self.x + self.v @ (u - self.x))


def _step(B: np.ndarray, c: np.ndarray, b: np.ndarray, u: np.ndarray, at: _Point) -> _Point:
    """Return the next point: where Newton's method for the conditions points to, a bit less."""
    x, beta, z, v = at
    s = u - x
    q = 1.0 / (z / x + v / s)
    factor = _factored(B, q)
    rho, rest = c - B @ beta - (v - z), b - B.T @ x

    def solve(tz: np.ndarray, tv: np.ndarray) -> tuple[np.ndarray, ...]:
        inner = q * (rho - tv / s + tz / x)
        dbeta = cho_solve(factor, B.T @ inner - rest, check_finite=False)
        dx = inner - q * (B @ dbeta)
        return dx, dbeta, (tz - z * dx) / x, (tv + v * dx) / s

    dx, dbeta, dz, dv = solve(-x * z, -v * s)
    primal, dual = _reach(x, dx, s, -dx), _reach(z, dz, v, dv)
    after = (z + dual * dz) @ (x + primal * dx) + (v + dual * dv) @ (s - primal * dx)
    mu = at.gap(u) / (2.0 * len(x))
    center = mu * (after / (2.0 * len(x) * mu)) ** 3
    dx, dbeta, dz, dv = solve(center - x * z - dx * dz, center - v * s + dx * dv)
    primal, dual = SHORT * _reach(x, dx, s, -dx), SHORT * _reach(z, dz, v, dv)
    primal, dual = min(primal, 1.0), min(dual, 1.0)
    return _Point(x + primal * dx, beta + dual * dbeta, z + dual * dz, v + dual * dv)


def _factored(B: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, bool]:
    M = (B * q[:, None]).T @ B
    try:
        return cho_factor(M, check_finite=False)
    except LinAlgError:
        M[np.diag_indices_from(M)] *= 1.0 + NUDGE * len(B)
        return cho_factor(M, check_finite=False)


def _reach(a: np.ndarray, da: np.ndarray, b: np.ndarray, db: np.ndarray) -> float:
    """Return the largest step ≤ 1 / SHORT at which a and b stay ≥ 0."""
    fastest = max(float((-da / a).max()), float((-db / b).max()), SHORT)
    return 1.0 / fastest


def _vertex(
    B: np.ndarray, c: np.ndarray, b: np.ndarray, u: np.ndarray, at: _Point
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the vertex that a point is close to, if it is as good: it is exact to rounding."""
    m = B.shape[1]
    if len(B) < m:
        return None
    s = u - at.x
    inside = np.minimum(at.x / np.maximum(at.z, TINY), s / np.maximum(at.v, TINY))
    basis = np.argpartition(-inside, m - 1)[:m]
    lu, pivots, singular = dgetrf(B[basis])
    if singular or np.abs(np.diag(lu)).min() < 1e-10 * np.abs(B[basis]).max():
        return None
    beta = dgetrs(lu, pivots, c[basis])[0]
    x = np.where(at.x > s, u, 0.0)
    x[basis] = 0.0
    x[basis] = dgetrs(lu, pivots, b - B.T @ x, trans=1)[0]
    slack = 1e-12 * u[basis]
    if not ((x[basis] >= -slack) & (x[basis] <= u[basis] + slack)).all():
        return None
    x = np.clip(x, 0.0, u)
    worse = _true_gap(B, c, u, x, beta) > _true_gap(B, c, u, at.x, at.beta)
    return None if worse else (x, beta)


def _true_gap(
    B: np.ndarray, c: np.ndarray, u: np.ndarray, x: np.ndarray, beta: np.ndarray
) -> float:
    r = c - B @ beta
    return float(np.where(r > 0, (u - x) * r, -x * r).sum())
