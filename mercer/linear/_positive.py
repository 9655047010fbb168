"""Least squares and ridge regression with coefficients that are ≥ 0.

Lawson and Hanson's active sets, on the triangle of the table: as many rows as there are columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import lstsq, qr
from scipy.optimize import nnls

from mercer._floats import EPS, TINY
from mercer.linear._base import DenseDesign, all_targets
from mercer.linear._sparse import COSINE
from mercer.result import Certificate, Solution, Status

CHANGES_PER_COLUMN = 30  # most changes of the active set


def solve_positive(design: DenseDesign, lam: Any = 0.0) -> Solution:
    """Minimise Σ w (y − Xc)² + λ‖c‖² over c ≥ 0; λ is a number, or one for each target."""
    lams = np.broadcast_to(np.asarray(lam, dtype=np.float64), design.Y.shape[1])
    X, Y = design.weighted()
    return all_targets([_solve(X, y, float(a)) for y, a in zip(Y.T, lams, strict=True)])


def _solve(X: np.ndarray, y: np.ndarray, lam: float) -> Solution:
    norms = np.sqrt(np.einsum("ij,ij->j", X, X) + lam)
    scale = np.where(norms > 0.0, norms, 1.0)
    A, z = _triangle(X, y, lam, scale)
    unit = float(np.abs(z).max(initial=0.0)) or 1.0
    try:
        scaled = nnls(A, z / unit, maxiter=CHANGES_PER_COLUMN * X.shape[1])[0]
    except RuntimeError:  # it says so where the active sets go round in circles
        scaled, unproved = np.zeros(X.shape[1]), Status.MAX_ITER
    else:
        scaled, unproved = _polished(A, z / unit, scaled), Status.ROUNDING
    coef = scaled * unit / scale
    proof = prove_positive(X, y, coef, lam, norms)
    return Solution(coef, Status.OPTIMAL if proof.ok else unproved, proof)


def _triangle(
    X: np.ndarray, y: np.ndarray, lam: float, scale: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return columns of norm 1 with the same products, and targets."""
    d = X.shape[1]
    A, z = X / scale, y
    if lam > 0.0:
        A = np.vstack([A, np.diag(lam**0.5 / scale)])
        z = np.append(y, np.zeros(d))
    if len(A) <= 2 * (d + 1):
        return A, z
    R = qr(np.column_stack([A, z]), mode="r", overwrite_a=True, check_finite=False)[0][: d + 1]
    return R[:, :d], R[:, d]


def _polished(A: np.ndarray, z: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """Return the least squares solution of the coefficients that are not 0, if all stay > 0."""
    used = np.flatnonzero(coef)
    exact = lstsq(A[:, used], z, check_finite=False)[0]
    if not (exact > 0.0).all():
        return coef
    polished = np.zeros_like(coef)
    polished[used] = exact
    return polished


def prove_positive(
    X: np.ndarray, y: np.ndarray, coef: np.ndarray, lam: float, norms: np.ndarray
) -> Certificate:
    """Prove Xᵀr − λc = 0 where c > 0 and ≤ 0 where c = 0, with r = y − Xc and c ≥ 0.

    Each is relative to the length of the column and of the residual (with √λ I and √λ c below
    them), or to the rounding of the terms that the residual is made of, over the tolerance.
    """
    r = y - X @ coef
    slopes = X.T @ r - lam * coef
    force = np.where(coef > 0.0, np.abs(slopes), np.maximum(slopes, 0.0))
    length = float(np.sqrt(r @ r + lam * (coef @ coef)))
    terms = float(norms @ np.abs(coef)) + float(np.sqrt(y @ y))
    visible = max(length, 64 * EPS * terms / COSINE)
    cosine = float((force / np.maximum(norms * visible, TINY)).max(initial=0.0))
    lowest = float(coef.min(initial=0.0))
    parts = {
        "cosine": cosine,
        "least_coefficient": lowest,
        "residual": length / max(terms, TINY),
        "n_positive": int(np.count_nonzero(coef)),
    }
    about = f"least squares over w ≥ 0 on {len(X)} rows: no step that keeps w ≥ 0 goes down"
    return Certificate("cosine", np.inf if lowest < 0.0 else cosine, COSINE, about, parts)
