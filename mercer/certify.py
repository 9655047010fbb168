"""Proofs: one function for each kind, recomputed in float64 from what the solver returned."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._array import ranges
from mercer._floats import EPS, TINY
from mercer.gram import Gram
from mercer.losses import Risk
from mercer.margin import Figures, MarginProblem, NuProblem
from mercer.result import Certificate

CACHED = 2**17  # values that stay in a second-level cache
COLUMNS_AT_ONCE = 128  # of eigenvectors: what is derived from them takes little memory
NOISE = 64 * EPS  # of a quadratic form, relative to the largest that it could be
PRODUCT_NOISE = 8 * EPS  # of Kα, relative to Σ √k(x, x) √k(xᵢ, xᵢ) |αᵢ|


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
    scale = max(float(np.linalg.norm(Y)), TINY)
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
    A: Any,
    values: np.ndarray,
    vectors: np.ndarray,
    *,
    tolerance: float = 1e-8,
    trace: float | None = None,
    scale: float | None = None,
    images: np.ndarray | None = None,
) -> Certificate:
    """Prove A v = λ v and vᵀv' = δ, and say how much of the trace was discarded.

    Parameters
    ----------
    A : Gram, array, sparse matrix or LinearOperator
        A symmetric operator, float64.
    values, vectors : array of shape (k,), (n, k)
        Eigenvalues and eigenvectors.
    trace : float, default=None
        The sum of all eigenvalues; None: the trace of A, if A shows its diagonal.
    scale : float, default=None
        What the residuals are relative to; None: the largest of the eigenvalues.
    images : array of shape (n, k), default=None
        A v, computed in float64 from these very vectors; None: they are computed here.
    """
    largest = max(float(np.abs(values).max(initial=0.0)) if scale is None else scale, TINY)
    residual = np.zeros(len(values))
    for part in ranges(len(values), COLUMNS_AT_ONCE):
        V = vectors[:, part]
        found = np.asarray(A @ V) if images is None else images[:, part]
        residual[part] = _residual_norms(found, V, values[part], largest)
    worst, skew = float(residual.max(initial=0.0)), _orthogonality_error(vectors)
    if trace is None and hasattr(A, "diagonal"):
        trace = float(A.diagonal().sum())
    parts: dict[str, Any] = {"residual": worst, "orthogonality_error": skew}
    if trace is not None:
        parts |= {"trace": trace, "discarded": 1.0 - values.sum() / trace if trace > 0 else 0.0}
    if isinstance(A, Gram):
        parts["storage"] = A.storage
    about = f"A v = λ v for {len(values)} of {A.shape[0]} eigenpairs"
    return Certificate("eigen residual", max(worst, skew), tolerance, about, parts)


def _orthogonality_error(vectors: np.ndarray) -> float:
    """Return the largest |vᵀv' − δ|, a few columns at a time."""
    errors = np.zeros(vectors.shape[1])
    for part in ranges(len(errors), COLUMNS_AT_ONCE):
        overlap = vectors.T @ vectors[:, part]
        overlap[part] -= np.eye(overlap.shape[1])
        errors[part] = np.abs(overlap, out=overlap).max(axis=0)
    return float(errors.max(initial=0.0))


def _residual_norms(
    images: np.ndarray, vectors: np.ndarray, values: np.ndarray, scale: float
) -> np.ndarray:
    """Return ‖A v − λ v‖ / scale, a few columns at a time: they stay in cache."""
    n, k = vectors.shape
    norms = np.empty(k)
    for part in ranges(k, max(1, CACHED // max(n, 1))):
        rest = vectors[:, part] * values[part]
        np.subtract(images[:, part], rest, out=rest)
        rest /= scale  # first: squares of tiny entries would vanish
        norms[part] = np.sqrt(np.einsum("ij,ij->j", rest, rest))
    return norms


def pencil_residual(
    A: np.ndarray,
    B: np.ndarray,
    values: np.ndarray,
    vectors: np.ndarray,
    W: np.ndarray,
    *,
    tolerance: float = 1e-8,
) -> Certificate:
    """Prove A v = λ B v on the range of B, and vᵀBv' = δ.

    Parameters
    ----------
    A, B : array of shape (p, p)
        Symmetric; B positive semidefinite.
    values, vectors : array of shape (k,), (p, k)
        Eigenvalues and vectors.
    W : array of shape (p, r)
        A whitening basis of the range of B, WᵀBW = I: residuals are measured as Wᵀ(A v − λ B v),
        in the unit of the eigenvalues.
    """
    largest = max(float(np.abs(values).max(initial=0.0)), TINY)
    residual = np.linalg.norm(W.T @ (A @ vectors - (B @ vectors) * values) / largest, axis=0)
    overlap = np.abs(vectors.T @ B @ vectors - np.eye(len(values)))
    worst, skew = float(residual.max(initial=0.0)), float(overlap.max(initial=0.0))
    trace = float(np.sum((A @ W) * W))
    parts = {
        "residual": worst,
        "orthogonality_error": skew,
        "rank": W.shape[1],
        "trace": trace,
        "discarded": 1.0 - values.sum() / trace if trace > 0 else 0.0,
    }
    about = f"A v = λ B v for {len(values)} of {W.shape[1]} eigenpairs"
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
    so that it does not suffer from cancellation. The proof holds if the relative gap, the violation
    of the worst pair of points (LIBSVM's stopping rule) and what Σβ is off by are within the
    tolerance.

    Parameters
    ----------
    beta, e : array of shape (m,)
        Coefficients and exact residuals e = z − Kβ.
    problem : MarginProblem
        Targets, bounds and the tube.
    """
    b, pair = problem.offset(beta, e)
    f, size = problem.figures(beta, e, b), float(np.abs(beta).sum())
    return gap_proof(problem, f, b, pair, size, tolerance=tolerance, about=about, extra=extra)


def gap_proof(
    problem: MarginProblem,
    f: Figures,
    b: float,
    pair: float,
    size: float,
    *,
    tolerance: float,
    about: str = "",
    extra: dict[str, Any] | None = None,
) -> Certificate:
    """Return the proof that figures make; ``size`` is Σ|β|, ``pair`` the worst pair's violation."""
    primal, dual, gap, relative = problem.objectives(f, b)
    astray = abs(f.total - problem.total)
    objective = {
        "primal": primal,
        "dual": dual,
        "gap": gap,
        "relative_gap": relative,
        "squared_norm": f.squared_norm,
    }
    kkt = {"pair": pair, "sum": astray}
    unbalanced = problem.unbalanced(f, size)
    return margin_proof(objective, kkt, f, unbalanced, tolerance, about, extra)


def margin_proof(
    objective: dict[str, float],
    kkt: dict[str, float],
    f: Figures | None,
    unbalanced: float,
    tolerance: float,
    about: str,
    extra: dict[str, Any] | None,
) -> Certificate:
    """Return the certificate of any margin machine.

    ``objective`` has ``relative_gap`` among its parts, ``kkt`` the conditions of a problem's own,
    ``pair`` among them; ``unbalanced`` is what sums are off by, in units of the coefficients.
    """
    parts: dict[str, Any] = {**objective, "kkt": kkt}
    if f is not None:
        parts["kkt"] |= {"box": f.box, "zero": f.zero, "free": f.free, "bounded": f.bounded}
        parts |= {"n_free": f.n_free, "n_bounded": f.n_bounded}
    value = np.max([objective["relative_gap"], kkt["pair"], unbalanced])
    parts |= extra or {}
    return Certificate("relative gap, pair violation", value, tolerance, about, parts)


def nu_gap(
    beta: np.ndarray,
    e: np.ndarray,
    problem: NuProblem,
    *,
    tolerance: float,
    about: str = "",
    extra: dict[str, Any] | None = None,
) -> Certificate:
    """Prove that β solves a ν-problem: its own duality gap, both sums, every KKT condition.

    Parameters
    ----------
    beta, e : array of shape (m,)
        Coefficients and exact residuals e = y − Kβ.
    """
    found, size = problem.judge(beta, e), float(np.abs(beta).sum())
    astray = abs(float(beta.sum()))
    excess = size - problem.size
    off = max(excess, 0.0) if problem.tube else abs(excess)
    price = {"epsilon": found.price} if problem.tube else {"rho": found.price}
    objective = {
        "primal": found.primal,
        "dual": found.dual,
        "gap": found.gap,
        "relative_gap": found.relative_gap,
        **price,
    }
    kkt = {"pair": found.pair, "sum": astray, "size": off}
    unbalanced = max(astray, off) / max(problem.size, TINY)
    return margin_proof(objective, kkt, found.figures, unbalanced, tolerance, about, extra)


def fenchel_gap(
    K: Gram,
    alpha: np.ndarray,
    intercept: np.ndarray,
    risk: Risk,
    lam: float,
    *,
    tolerance: float,
    fit_intercept: bool = True,
    about: str = "",
    extra: dict[str, Any] | None = None,
) -> Certificate:
    """Prove that f = Σ αᵢ k(·, xᵢ) and b minimise Σ w ℓ(y, f + b) + λ‖f‖², by Fenchel's duality.

    Every β = −U/(2λ) with Σβ = 0 (if there is an intercept) bounds the minimum from below by
    −Σ w ℓ*(u/w) − λβᵀKβ. With g = Kα + b the distance of the two bounds is

        gap = Σ {w [ℓ(g) + ℓ*(u/w)] − u·g} + λ (α − β)ᵀK(α − β),

    a sum of terms that are never negative, so that nothing cancels. U is −2λα or, if the loss is
    smooth and that gives less, the slopes at g; either is moved into the domain of ℓ* and to column
    sums of 0. The gap is the largest that it can be for predictions as far from g as rounding of
    Kα may be, so that large kernel values that cancel prove nothing. It is relative to the
    objective, or to the rounding of Σ|u·g| over the tolerance if that is more.

    Parameters
    ----------
    K : Gram
        The training Gram matrix, float64.
    alpha, intercept : array of shape (n, t), (t,)
        Coefficients and offsets.
    risk : Risk
        Targets, weights and the loss.
    """
    F = K @ alpha
    G = F + intercept
    squared_norm, slopes = float((alpha * F).sum()), risk.slopes(G)
    primal = risk.value(G) + lam * squared_norm
    duals = [-2.0 * lam * alpha, slopes] if risk.smooth else [-2.0 * lam * alpha]
    duals = [risk.dual_point(U, fit_intercept) for U in duals]
    negligible = 1e-3 * tolerance * abs(primal) / lam
    sizes = np.sqrt(np.abs(K.diagonal()))
    blur = PRODUCT_NOISE * np.multiply.outer(sizes, sizes @ np.abs(alpha))
    bounds = [_Bound.of(K, alpha, (G, blur), U, risk, lam, negligible) for U in duals]
    best = min(bounds, key=lambda bound: bound.gap)
    largest = np.maximum(2.0 * lam * np.abs(alpha), np.abs(slopes))
    rounding = 4.0 * EPS * float((largest * np.abs(G)).sum())
    scale = max(abs(primal), abs(primal - best.gap), rounding / tolerance, TINY)
    convex = squared_norm >= -NOISE * _largest_norm2(K, alpha) and all(b.convex for b in bounds)
    parts = {
        "primal": primal,
        "dual": primal - best.gap,
        "gap": best.gap,
        "relative_gap": best.gap / scale,
        "squared_norm": max(squared_norm, 0.0) if convex else squared_norm,
        **({"gradient_norm": 2.0 * lam * bounds[1].apart ** 0.5} if risk.smooth else {}),
        "balance": float(np.abs(best.U.sum(axis=0)).max()) if fit_intercept else 0.0,
        "worst_point": float(best.young.max()),
        "storage": K.storage,
        **(extra or {}),
    }
    value = best.gap / scale if convex else np.nan  # without convexity a gap proves nothing
    return Certificate("relative duality gap", value, tolerance, about, parts)


class _Bound(NamedTuple):
    """What a dual point U proves of α."""

    gap: float
    apart: float  # ‖α − β‖² in the space of functions
    convex: bool
    young: np.ndarray
    U: np.ndarray

    @classmethod
    def of(
        cls,
        K: Gram,
        alpha: np.ndarray,
        predictions: tuple[np.ndarray, np.ndarray],
        U: np.ndarray,
        risk: Risk,
        lam: float,
        negligible: float,
    ) -> _Bound:
        young = _largest_young(risk, *predictions, U)
        apart, noise = _distance2(K, alpha + U / (2.0 * lam), negligible)
        gap = float(young.sum()) + lam * (max(apart, 0.0) + noise)
        return cls(gap, max(apart, 0.0), apart >= -noise, young, U)


def _largest_young(risk: Risk, G: np.ndarray, blur: np.ndarray, U: np.ndarray) -> np.ndarray:
    """Return a bound of the terms of the gap for all predictions between G − blur and G + blur.

    They are convex in G: the value at G + Σ dₜ is at most the mean of those at G + t dₜ, a column
    at a time, and along a column the largest is at an end.
    """
    t = G.shape[1]
    total = 0.0
    for c in range(t):
        ends = []
        for side in (-t, t):
            moved = G.copy()
            moved[:, c] += side * blur[:, c]
            ends.append(risk.young(moved, U))
        total = total + np.maximum(*ends)
    return total / t


def _distance2(K: Gram, delta: np.ndarray, negligible: float) -> tuple[float, float]:
    """Return δᵀKδ ≥ 0, or a bound of it if that is negligible, and what is rounding in it."""
    bound = _largest_norm2(K, delta)
    if bound <= negligible:
        return bound, 0.0
    return float((delta * (K @ delta)).sum()), NOISE * bound


def _largest_norm2(K: Gram, delta: np.ndarray) -> float:
    """Return a bound of δᵀKδ, by the triangle inequality."""
    sizes = np.sqrt(np.abs(K.diagonal()))
    return float(((sizes[:, None] * np.abs(delta)).sum(axis=0) ** 2).sum())
