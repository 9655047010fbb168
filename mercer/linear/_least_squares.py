"""Least squares by orthogonal factors, rank-aware, with its proof."""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr

from mercer._floats import EPS, TINY
from mercer.linear._base import Range, Rows
from mercer.result import Certificate, Solution, Status

TOLERANCE = 1e-10


def solve_least_squares(rows: Rows) -> Solution:
    """Minimise Σ w (y − Xc)²; of all minimisers the c of least norm, shape (d, t)."""
    X, Y = rows.weighted()
    basis, target = _small(X, Y, rows.subtracted)
    coef = basis.coef(basis.U.T @ target)
    certificate = prove_least_squares(X, Y, coef, basis)
    status = Status.OPTIMAL if certificate.ok else Status.ROUNDING
    return Solution(coef, status, certificate, state=basis)


def _small(X: np.ndarray, Y: np.ndarray, subtracted: np.ndarray) -> tuple[Range, np.ndarray]:
    """Return a table with the same products, and targets: of a tall one its triangle."""
    n, d = X.shape
    if n <= 2 * (d + Y.shape[1]):
        return Range.of(X, subtracted), Y
    # the triangle of [X Y] holds that of X and QᵀY: Q is never formed
    R = qr(np.hstack([X, Y]), mode="r", overwrite_a=True, check_finite=False)[0][:d]
    return Range.of(R[:, :d], subtracted), R[:, d:]


def prove_least_squares(
    X: np.ndarray, Y: np.ndarray, coef: np.ndarray, basis: Range
) -> Certificate:
    """Prove Xᵀ(Y − Xc) = 0: the residual is at right angles to every column.

    The value is the largest cosine of a residual and a column; a residual that is smaller than the
    rounding of the terms it is made of counts as large as that, over the tolerance.
    """
    residual = Y - X @ coef
    lengths = np.sqrt(np.einsum("it,it->t", residual, residual))
    norms = np.sqrt(np.einsum("ij,ij->j", X, X))
    terms = norms @ np.abs(coef) + np.sqrt(np.einsum("it,it->t", Y, Y))
    visible = np.maximum(lengths, 64 * EPS * terms / TOLERANCE)
    cosine = np.abs(X.T @ residual) / np.maximum(np.outer(norms, visible), TINY)
    worst = float(cosine.max(initial=0.0))
    parts = {
        "cosine": worst,
        "residual": float((lengths / np.maximum(terms, TINY)).max()),
        "rank": basis.rank,
        "condition_estimate": basis.condition,
    }
    about = f"Xᵀ(y − Xw) = 0 on {len(X)} rows"
    return Certificate("cosine", worst, TOLERANCE, about, parts)
