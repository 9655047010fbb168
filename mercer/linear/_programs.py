"""Regressions that are linear programs: least absolute errors, a dead zone, the largest error.

Their duals are programs with a box and few equations, solved by an interior point method:

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

from mercer._floats import EPS, TINY
from mercer.linear._base import DenseDesign, Range
from mercer.result import Certificate, Status

TOLERANCE = 1e-8
MAX_STEPS = 100
GAP_GOAL = 1e-13  # relative gap at which nothing but rounding is left
STEP_SHARE = 0.9995  # of the way to the border of the box
DIAGONAL_NUDGE = 1e-14  # of the diagonal, where the small matrix has lost its definiteness


class ProgramFit(NamedTuple):
    """Coefficients (d,) and offset of the centred rows, and multipliers of the residuals."""

    coef: np.ndarray
    offset: float
    dual: np.ndarray  # (n,)
    steps: int
    interrupted: bool = False


def fit_tube(
    design: DenseDesign, basis: Range, y: np.ndarray, a: float, intercept: bool
) -> ProgramFit:
    """Minimise Σ w max(0, |r| − a), of which a = 0 is the sum of absolute errors.

    The dual is max yᵀu − a‖u‖₁ with Aᵀu = 0 and |u| ≤ w: a box with as many equations as there
    are coefficients.
    """
    w = design.weight / design.weight.max()
    plain = perfect_fit(basis, y, a)
    if plain is not None:
        return plain
    A = with_constant(basis, intercept)
    if a == 0.0:
        unit = float(np.abs(y).max())
        found = solve_box_program(A, y / unit, w, 2.0 * w)
        dual = found.x - w
    else:
        unit = max(float(np.abs(y).max()), a)
        c = np.concatenate([y, -y]) / unit - a / unit
        both = np.concatenate([w, w])
        found = solve_box_program(np.vstack([A, -A]), c, 0.5 * both, both)
        dual = found.x[: len(y)] - found.x[len(y) :]
    return _fit(basis, found, unit, dual * design.weight.max(), intercept)


def fit_largest(basis: Range, y: np.ndarray, intercept: bool) -> ProgramFit:
    """Minimise max |r|; the dual is max yᵀu with Aᵀu = 0 and ‖u‖₁ ≤ 1."""
    plain = perfect_fit(basis, y, 0.0)
    if plain is not None:
        return plain
    n, A, unit = len(y), with_constant(basis, intercept), float(np.abs(y).max())
    # u = p − q with p, q ≥ 0 and Σ(p + q) = 1, so that a bound of 2 is never reached; the
    # multiplier of the sum is the largest error
    B = np.hstack([np.vstack([A, -A]), np.full((2 * n, 1), (2 * n) ** -0.5)])
    c = np.concatenate([y, -y]) / unit
    found = solve_box_program(B, c, np.full(2 * n, 0.5 / n), np.full(2 * n, 2.0))
    dual = found.x[:n] - found.x[n:]
    return _fit(basis, found, unit, dual / max(float(np.abs(dual).sum()), TINY), intercept)


def perfect_fit(basis: Range, y: np.ndarray, a: float) -> ProgramFit | None:
    """Return the least squares fit if all of its errors are within a, or rounding: it is best."""
    gamma = basis.U.T @ y
    error = float(np.abs(y - basis.U @ gamma).max())
    if error > max(a, 64 * EPS * float(np.abs(y).max())):
        return None
    return ProgramFit(basis.coef(gamma[:, None])[:, 0], 0.0, np.zeros(len(y)), 0)


def with_constant(basis: Range, intercept: bool) -> np.ndarray:
    """Return the basis of the range and, if asked for, a constant column of norm 1."""
    n = len(basis.U)
    return np.hstack([basis.U, np.full((n, int(intercept)), n**-0.5)])


def in_columns(basis: Range, beta: np.ndarray, intercept: bool) -> tuple[np.ndarray, float]:
    """Return the coefficients (d,) and the offset of coordinates in `with_constant`."""
    r = basis.rank
    offset = float(beta[r]) / len(basis.U) ** 0.5 if intercept else 0.0
    return basis.coef(beta[:r, None])[:, 0], offset


def _fit(
    basis: Range, found: BoxOptimum, unit: float, dual: np.ndarray, intercept: bool
) -> ProgramFit:
    coef, offset = in_columns(basis, found.beta * unit, intercept)
    return ProgramFit(coef, offset, dual, found.steps, found.interrupted)


# ---------------------------------------------------------------- proofs
def prove_tube(
    design: DenseDesign, y: np.ndarray, a: float, fit: ProgramFit, intercept: bool
) -> Certificate:
    """Prove that r = y − Xw − b has the least Σ w max(0, |r| − a), from the multipliers u.

    The gap is Σ [w max(0, |r| − a) + a|u| − ur], a sum of terms that are never negative; it bounds
    the distance from the optimum if Xᵀu = 0.
    """
    w, r = design.weight, residuals(design, y, fit)
    u = np.clip(fit.dual, -w, w)
    cost = w * np.maximum(np.abs(r) - a, 0.0)
    gap = float((cost + a * np.abs(u) - u * r).clip(0.0).sum())
    noise = rounding(design.X, y, fit.coef) * float(w.sum())
    about = "least Σ w |r|" if a == 0.0 else "least Σ w max(0, |r| − a)"
    primal, imbalance = float(cost.sum()), imbalance_of(design, y, u, fit, intercept)
    if primal < max(gap, imbalance):  # a perfect fit: u = 0 proves more
        gap, imbalance = primal, 0.0
    return gap_certificate((primal, gap, noise), imbalance, fit, about)


def prove_largest(
    design: DenseDesign, y: np.ndarray, fit: ProgramFit, intercept: bool
) -> Certificate:
    """Prove that max |r| is the least, from multipliers u with Xᵀu = 0 and ‖u‖₁ ≤ 1."""
    r, u = residuals(design, y, fit), fit.dual
    primal = float(np.abs(r).max())
    gap = float((np.abs(u) * (primal - np.sign(u) * r)).sum())
    gap += primal * (1.0 - float(np.abs(u).sum()))
    noise = rounding(design.X, y, fit.coef)
    imbalance = imbalance_of(design, y, u, fit, intercept)
    return gap_certificate((primal, gap, noise), imbalance, fit, "least max |r|")


def residuals(design: DenseDesign, y: np.ndarray, fit: ProgramFit) -> np.ndarray:
    """Return y − Xw − b on the centred design."""
    return y - design.X @ fit.coef - fit.offset


def rounding(X: np.ndarray, y: np.ndarray, coef: np.ndarray) -> float:
    """Return what is rounding in a residual y − Xw."""
    terms = np.abs(X).max(axis=0, initial=0.0) @ np.abs(coef)
    return 64 * EPS * (float(np.abs(y).max()) + float(terms))


def gap_certificate(
    figures: tuple[float, float, float], imbalance: float, fit: ProgramFit, about: str
) -> Certificate:
    primal, gap, noise = figures
    scale = max(primal, noise / TOLERANCE, TINY)
    parts = {
        "primal": primal,
        "dual": primal - gap,
        "gap": gap,
        "relative_gap": gap / scale,
        "balance": imbalance / scale,
        "steps": fit.steps,
    }
    value = max(gap, imbalance) / scale
    return Certificate("relative duality gap", value, TOLERANCE, about, parts)


def imbalance_of(
    design: DenseDesign, y: np.ndarray, u: np.ndarray, fit: ProgramFit, intercept: bool
) -> float:
    """Return what Xᵀu ≠ 0 may change in the dual: Σ |u·x| |w| for coefficients of this size."""
    size = float(np.abs(y).max())
    largest = np.abs(design.X).max(axis=0)
    reach = np.maximum(np.abs(fit.coef), size / np.where(largest > 0.0, largest, np.inf))
    total = float(np.abs(u @ design.X) @ reach)
    return total + (abs(float(u.sum())) * (abs(fit.offset) + size) if intercept else 0.0)


def status_of(certificate: Certificate, fit: ProgramFit) -> Status:
    """Return what a certificate says of a fit."""
    unproved = Status.INTERRUPTED if fit.interrupted else Status.ROUNDING
    return Status.OPTIMAL if certificate.ok else unproved


# ---------------------------------------------------------------- the interior point method
class BoxOptimum(NamedTuple):
    """A point x of the box with Bᵀx = b, and the multipliers β of the equations."""

    x: np.ndarray
    beta: np.ndarray
    steps: int
    interrupted: bool = False


def solve_box_program(
    B: np.ndarray, c: np.ndarray, x: np.ndarray, u: np.ndarray, *, balanced: bool = False
) -> BoxOptimum:
    """Solve the program from an interior point x, which states b = Bᵀx.

    ``balanced`` takes a vertex for better, too, where it keeps the equations better: multipliers
    that are small beside u need that.

    Parameters
    ----------
    B : array of shape (N, m)
        Columns of about the same size.
    c, x, u : array of shape (N,)
        Gains, the start and the upper bounds, 0 < x < u.
    """
    best, b = _ProgramPoint.start(B, c, x, u), B.T @ x
    steps, interrupted = 0, False
    try:
        for point in _steps(B, c, b, u, best):
            steps += 1
            best = min(best, point, key=lambda p: p.gap(u))
            if point.gap(u) > 1e3 * best.gap(u):
                break
    except KeyboardInterrupt:
        interrupted = True
    vertex = _vertex(B, c, b, u, best, balanced)
    return BoxOptimum(*(vertex or (best.x, best.beta)), steps, interrupted)


def _steps(
    B: np.ndarray, c: np.ndarray, b: np.ndarray, u: np.ndarray, point: _ProgramPoint
) -> Iterator[_ProgramPoint]:
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
        if point.gap(u) <= GAP_GOAL * abs(c @ point.x):
            return


class _ProgramPoint(NamedTuple):
    x: np.ndarray
    beta: np.ndarray
    z: np.ndarray  # multipliers of x ≥ 0
    v: np.ndarray  # multipliers of x ≤ u

    @classmethod
    def start(cls, B: np.ndarray, c: np.ndarray, x: np.ndarray, u: np.ndarray) -> _ProgramPoint:
        beta = lstsq(B, c, check_finite=False)[0]
        r = c - B @ beta
        shift = 0.1 * float(np.abs(r).mean()) + TINY
        return cls(x, beta, np.maximum(-r, 0.0) + shift, np.maximum(r, 0.0) + shift)

    def gap(self, u: np.ndarray) -> float:
        """The complementarity: the duality gap, if the equations hold."""
        return float(self.z @ self.x + self.v @ (u - self.x))


def _step(
    B: np.ndarray, c: np.ndarray, b: np.ndarray, u: np.ndarray, at: _ProgramPoint
) -> _ProgramPoint:
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
    primal, dual = STEP_SHARE * _reach(x, dx, s, -dx), STEP_SHARE * _reach(z, dz, v, dv)
    primal, dual = min(primal, 1.0), min(dual, 1.0)
    return _ProgramPoint(x + primal * dx, beta + dual * dbeta, z + dual * dz, v + dual * dv)


def _factored(B: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, bool]:
    M = (B * q[:, None]).T @ B
    try:
        return cho_factor(M, check_finite=False)
    except LinAlgError:
        M[np.diag_indices_from(M)] *= 1.0 + DIAGONAL_NUDGE * len(B)
        return cho_factor(M, check_finite=False)


def _reach(a: np.ndarray, da: np.ndarray, b: np.ndarray, db: np.ndarray) -> float:
    """Return the largest step ≤ 1 / STEP_SHARE at which a and b stay ≥ 0."""
    fastest = max(float((-da / a).max()), float((-db / b).max()), STEP_SHARE)
    return 1.0 / fastest


def _vertex(
    B: np.ndarray, c: np.ndarray, b: np.ndarray, u: np.ndarray, at: _ProgramPoint, balanced: bool
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
    here, there = _true_gap(B, c, u, at.x, at.beta), _true_gap(B, c, u, x, beta)
    if balanced:
        here, there = here + _astray(B, b, at.x, at.beta), there + _astray(B, b, x, beta)
    return None if there > here else (x, beta)


def _true_gap(
    B: np.ndarray, c: np.ndarray, u: np.ndarray, x: np.ndarray, beta: np.ndarray
) -> float:
    r = c - B @ beta
    return float(np.where(r > 0, (u - x) * r, -x * r).sum())


def _astray(B: np.ndarray, b: np.ndarray, x: np.ndarray, beta: np.ndarray) -> float:
    """Return what equations that do not hold may change in the gap."""
    return float(np.abs(b - B.T @ x) @ np.abs(beta))
