"""Proofs: one function for each kind, recomputed in float64 from what the solver returned."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.gram import Gram
from mercer.margin import MarginProblem
from mercer.result import Certificate


def relative_residual(
    K: Gram,
    alpha: np.ndarray,
    intercept: np.ndarray,
    Y: np.ndarray,
    ridge: np.ndarray,
    *,
    condition: float,
    tolerance: float = 1e-8,
    fit_intercept: bool = True,
) -> Certificate:
    """Prove (K + diag(ridge)) α + b = Y, and Σα = 0 if there is an intercept.

    Parameters
    ----------
    K : Gram
        The training Gram matrix, float64.
    alpha, intercept, Y : array of shape (n, t), (t,), (n, t)
        Coefficients, offsets and targets of t problems.
    ridge : array of shape (n,)
        The diagonal that is added to K.
    condition : float
        The estimated condition number of K + diag(ridge), for the reader.
    """
    residual = Y - intercept - (K @ alpha) - ridge[:, None] * alpha
    scale = max(float(np.linalg.norm(Y)), np.finfo(np.float64).tiny)
    value = float(np.linalg.norm(residual)) / scale
    # Σα in the unit of y: relative to α itself it would be noise where y is constant and α = 0
    unit = float(np.mean(np.abs(K.diagonal()) + ridge))
    balance = unit * float(np.abs(alpha.sum(axis=0)).max()) / scale if fit_intercept else 0.0
    parts = {
        "residual": value,
        "balance": balance,
        "condition_estimate": condition,
        "storage": K.storage,
    }
    about = f"(K + Λ) α + b = y on {K.shape[0]} points"
    return Certificate("relative residual", max(value, balance), tolerance, about, parts)


def eigen_residual(
    K: Gram, values: np.ndarray, vectors: np.ndarray, *, tolerance: float = 1e-8
) -> Certificate:
    """Prove K v = λ v and vᵀv' = δ, and say how much of the trace was discarded.

    Parameters
    ----------
    K : Gram
        The (centred) Gram matrix, float64.
    values, vectors : array of shape (k,), (n, k)
        Eigenvalues in falling order and eigenvectors.
    """
    largest = max(float(np.abs(values).max(initial=0.0)), np.finfo(np.float64).tiny)
    residual = np.linalg.norm((K @ vectors) - vectors * values, axis=0) / largest
    overlap = np.abs(vectors.T @ vectors - np.eye(len(values)))
    worst, skew = float(residual.max(initial=0.0)), float(overlap.max(initial=0.0))
    trace = float(K.diagonal().sum())
    parts = {
        "residual": worst,
        "orthogonality_error": skew,
        "trace": trace,
        "discarded": float(1.0 - values.sum() / trace) if trace > 0 else 0.0,
        "storage": K.storage,
    }
    about = f"K v = λ v for {len(values)} of {K.shape[0]} eigenpairs"
    return Certificate("eigen residual", max(worst, skew), tolerance, about, parts)


def duality_gap(
    beta: np.ndarray,
    e: np.ndarray,
    problem: MarginProblem,
    *,
    tolerance: float,
    about: str = "",
    extra: dict[str, Any] | None = None,
) -> Certificate:
    """Prove that β solves a margin problem: duality gap and every KKT condition.

    The gap is Σᵢ [hᵢ(rᵢ) + ε|βᵢ| − βᵢrᵢ] with r = e − b, a sum of terms that are never negative,
    so that it does not suffer from cancellation. The proof holds if the relative gap and the
    violation of the worst pair of points (LIBSVM's stopping rule) are within the tolerance.

    Parameters
    ----------
    beta, e : array of shape (m,)
        Coefficients and exact residuals e = z − Kβ.
    problem : MarginProblem
        Targets, bounds and the tube.
    """
    b, pair = problem.offset(beta, e)
    f = problem.figures(beta, e, b)
    dual = f.linear - 0.5 * f.squared_norm
    if np.isinf(f.loss):  # no slack is allowed: scale f until there is none
        primal = 0.5 * f.squared_norm / max(1.0 - f.slack, 1e-100) ** 2
        gap = max(primal - dual, 0.0)
    else:
        primal, gap = 0.5 * f.squared_norm + f.loss + b * problem.total, max(f.gap, 0.0)
    relative = gap / max(abs(primal), abs(dual), np.finfo(np.float64).tiny)
    parts = {
        "primal": primal,
        "dual": dual,
        "gap": gap,
        "relative_gap": relative,
        "squared_norm": f.squared_norm,
        "kkt": {
            "pair": pair,
            "sum": abs(f.total - problem.total),
            "box": f.box,
            "zero": f.zero,
            "free": f.free,
            "bounded": f.bounded,
        },
        "n_free": f.n_free,
        "n_bounded": f.n_bounded,
        **(extra or {}),
    }
    return Certificate("relative gap, pair violation", max(relative, pair), tolerance, about, parts)
