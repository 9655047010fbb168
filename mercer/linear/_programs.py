"""Regressions that are linear programs: least absolute errors, a dead zone, the largest error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer._floats import EPS, TINY
from mercer.linear._base import Range, Rows
from mercer.linear._interior import BoxOptimum, solve_box_program
from mercer.result import Certificate, Status

TOLERANCE = 1e-8


class Fit(NamedTuple):
    """Coefficients (d,) and offset of the centred rows, and multipliers of the residuals."""

    coef: np.ndarray
    offset: float
    dual: np.ndarray  # (n,)
    steps: int
    interrupted: bool = False


def fit_tube(rows: Rows, basis: Range, y: np.ndarray, a: float, intercept: bool) -> Fit:
    """Minimise Σ w max(0, |r| − a), of which a = 0 is the sum of absolute errors.

    The dual is max yᵀu − a‖u‖₁ with Aᵀu = 0 and |u| ≤ w: a box with as many equations as there
    are coefficients.
    """
    w = rows.weight / rows.weight.max()
    plain = _least_squares(basis, y, a)
    if plain is not None:
        return plain
    A = design(basis, intercept)
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
    return _fit(basis, found, unit, dual * rows.weight.max(), intercept)


def fit_largest(basis: Range, y: np.ndarray, intercept: bool) -> Fit:
    """Minimise max |r|; the dual is max yᵀu with Aᵀu = 0 and ‖u‖₁ ≤ 1."""
    plain = _least_squares(basis, y, 0.0)
    if plain is not None:
        return plain
    n, A, unit = len(y), design(basis, intercept), float(np.abs(y).max())
    # u = p − q with p, q ≥ 0 and Σ(p + q) = 1, so that a bound of 2 is never reached; the
    # multiplier of the sum is the largest error
    B = np.hstack([np.vstack([A, -A]), np.full((2 * n, 1), (2 * n) ** -0.5)])
    c = np.concatenate([y, -y]) / unit
    found = solve_box_program(B, c, np.full(2 * n, 0.5 / n), np.full(2 * n, 2.0))
    dual = found.x[:n] - found.x[n:]
    return _fit(basis, found, unit, dual / max(float(np.abs(dual).sum()), TINY), intercept)


def _least_squares(basis: Range, y: np.ndarray, a: float) -> Fit | None:
    """Return the least squares fit if all of its errors are within a, or rounding: it is best."""
    gamma = basis.U.T @ y
    error = float(np.abs(y - basis.U @ gamma).max())
    if error > max(a, 64 * EPS * float(np.abs(y).max())):
        return None
    return Fit(basis.coef(gamma[:, None])[:, 0], 0.0, np.zeros(len(y)), 0)


def design(basis: Range, intercept: bool) -> np.ndarray:
    """Return the basis of the range and, if asked for, a constant column of norm 1."""
    n = len(basis.U)
    return np.hstack([basis.U, np.full((n, int(intercept)), n**-0.5)])


def in_columns(basis: Range, beta: np.ndarray, intercept: bool) -> tuple[np.ndarray, float]:
    """Return the coefficients (d,) and the offset of coordinates in `design`."""
    r = basis.rank
    offset = float(beta[r]) / len(basis.U) ** 0.5 if intercept else 0.0
    return basis.coef(beta[:r, None])[:, 0], offset


def _fit(basis: Range, found: BoxOptimum, unit: float, dual: np.ndarray, intercept: bool) -> Fit:
    coef, offset = in_columns(basis, found.beta * unit, intercept)
    return Fit(coef, offset, dual, found.steps, found.interrupted)


# ---------------------------------------------------------------- proofs
def prove_tube(rows: Rows, y: np.ndarray, a: float, fit: Fit, intercept: bool) -> Certificate:
    """Prove that r = y − Xw − b has the least Σ w max(0, |r| − a), from the multipliers u.

    The gap is Σ [w max(0, |r| − a) + a|u| − ur], a sum of terms that are never negative; it bounds
    the distance from the optimum if Xᵀu = 0.
    """
    w, r = rows.weight, residuals(rows, y, fit)
    u = np.clip(fit.dual, -w, w)
    cost = w * np.maximum(np.abs(r) - a, 0.0)
    gap = float((cost + a * np.abs(u) - u * r).clip(0.0).sum())
    rounding = _rounding(rows, y, fit) * float(w.sum())
    about = "least Σ w |r|" if a == 0.0 else "least Σ w max(0, |r| − a)"
    primal, imbalance = float(cost.sum()), _imbalance(rows, y, u, fit, intercept)
    if primal < max(gap, imbalance):  # a perfect fit: u = 0 proves more
        gap, imbalance = primal, 0.0
    return _certificate((primal, gap, rounding), imbalance, fit, about)


def prove_largest(rows: Rows, y: np.ndarray, fit: Fit, intercept: bool) -> Certificate:
    """Prove that max |r| is the least, from multipliers u with Xᵀu = 0 and ‖u‖₁ ≤ 1."""
    r, u = residuals(rows, y, fit), fit.dual
    primal = float(np.abs(r).max())
    gap = float((np.abs(u) * (primal - np.sign(u) * r)).sum())
    gap += primal * (1.0 - float(np.abs(u).sum()))
    rounding = _rounding(rows, y, fit)
    imbalance = _imbalance(rows, y, u, fit, intercept)
    return _certificate((primal, gap, rounding), imbalance, fit, "least max |r|")


def residuals(rows: Rows, y: np.ndarray, fit: Fit) -> np.ndarray:
    """Return y − Xw − b on the centred rows."""
    return y - rows.X @ fit.coef - fit.offset


def _rounding(rows: Rows, y: np.ndarray, fit: Fit) -> float:
    """Return what is rounding in a residual."""
    terms = np.abs(rows.X).max(axis=0, initial=0.0) @ np.abs(fit.coef)
    return 64 * EPS * (float(np.abs(y).max()) + float(terms))


def _certificate(
    figures: tuple[float, float, float], imbalance: float, fit: Fit, about: str
) -> Certificate:
    primal, gap, rounding = figures
    scale = max(primal, rounding / TOLERANCE, TINY)
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


def _imbalance(rows: Rows, y: np.ndarray, u: np.ndarray, fit: Fit, intercept: bool) -> float:
    """Return what Xᵀu ≠ 0 may change in the dual: Σ |u·x| |w| for coefficients of this size."""
    size = float(np.abs(y).max())
    largest = np.abs(rows.X).max(axis=0)
    reach = np.maximum(np.abs(fit.coef), size / np.where(largest > 0.0, largest, np.inf))
    total = float(np.abs(u @ rows.X) @ reach)
    return total + (abs(float(u.sum())) * (abs(fit.offset) + size) if intercept else 0.0)


def status_of(certificate: Certificate, fit: Fit) -> Status:
    """Return what a certificate says of a fit."""
    unproved = Status.INTERRUPTED if fit.interrupted else Status.ROUNDING
    return Status.OPTIMAL if certificate.ok else unproved
