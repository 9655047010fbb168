"""The convex split of a matrix into a low-rank and a sparse part, and its proof."""

from __future__ import annotations

from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, eigh

from mercer._array import one_blas_thread
from mercer._floats import TINY
from mercer._limits import Limits
from mercer.result import Certificate, Solution, Status

RELAXED = 1.6  # over-relaxation: a third fewer steps than 1, on every problem tried
CHECK_EVERY = 10  # steps; a check costs about as much as a step
RAISE, RAISE_UNTIL = 1.5, 1000  # of μ where feasibility lags behind the gap; then it stays
SMALL = 1000  # rows or columns; a second BLAS thread waits longer on these than it works


class Split(NamedTuple):
    """L + S ≈ X, and the multipliers Y of the constraint."""

    L: np.ndarray
    S: np.ndarray
    Y: np.ndarray


def split_low_rank_sparse(X: np.ndarray, lam: float, *, tol: float, limits: Limits) -> Solution:
    """Minimise ‖L‖_* + λ‖S‖₁ subject to L + S = X.

    Alternating directions on the augmented Lagrangian: a step shrinks singular values, then
    entries. With a penalty μ that stays in the end it converges for every X, and the dual point
    that ends the loop proves it.

    Parameters
    ----------
    X : array of shape (n, d)
        Entries of size about one, so that no square overflows.
    lam : float
        λ > 0.
    tol : float
        What the relative duality gap and the relative ‖X − L − S‖ must not exceed.

    Returns
    -------
    Solution
        ``value`` is the `Split`.
    """
    split, status, steps = Split(np.zeros_like(X), X.copy(), np.zeros_like(X)), Status.OPTIMAL, 0
    if X.any():
        with one_blas_thread if min(X.shape) <= SMALL else nullcontext():
            split, status, steps = _alternate(X, lam, tol, limits)
    certificate = split_gap(X, split, lam, tolerance=tol)
    if status.ok and not certificate.ok:
        status = Status.INACCURATE
    return Solution(split, status, certificate, stats={"steps": steps})


def _alternate(X: np.ndarray, lam: float, tol: float, limits: Limits) -> tuple[Split, Status, int]:
    # the size of a typical entry: gross errors move the mean of roots far less than the mean
    mu = 0.5 / float(np.mean(np.sqrt(np.abs(X)))) ** 2
    L, S, Y, step = np.zeros_like(X), np.zeros_like(X), np.zeros_like(X), 0
    status: Status | None = None
    try:
        while status is None:
            L, values = shrink_values(X - S + Y / mu, 1.0 / mu)
            mixed = X - RELAXED * L - (1.0 - RELAXED) * (X - S) + Y / mu
            S = shrink_entries(mixed, lam / mu)
            Y = mu * (mixed - S)  # λ times a subgradient of ‖S‖₁: within ±λ
            step += 1
            status = limits.stopped(step)
            if step % CHECK_EVERY == 0:
                left, gap = _left(X, L, S), _bounds(X, L, Y, lam, float(values.sum())).gap
                status = Status.OPTIMAL if max(left, gap) <= tol else status
                mu *= RAISE if left > gap and step <= RAISE_UNTIL else 1.0
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    return Split(L, S, Y), status, step


def shrink_entries(A: np.ndarray, threshold: float) -> np.ndarray:
    """Return sign(a) max(|a| − t, 0) of all entries, the proximal map of t‖·‖₁."""
    return A - np.clip(A, -threshold, threshold)


def shrink_values(A: np.ndarray, threshold: float) -> tuple[np.ndarray, np.ndarray]:
    """Return A with its singular values shrunk by t, the proximal map of t‖·‖_*, and the values.

    Only the values above t are needed. They come from the smaller of AAᵀ and AᵀA: squaring costs
    digits of values that are far below t, and those are dropped.
    """
    if A.shape[0] < A.shape[1]:
        L, values = shrink_values(A.T, threshold)
        return L.T, values
    squares, V = _above(A.T @ A, threshold**2)
    values = np.sqrt(squares) - threshold
    return (A @ V) * (values / np.sqrt(squares)) @ V.T, values


def _above(G: np.ndarray, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenpairs of a symmetric matrix with values above a floor."""
    try:
        return eigh(G, subset_by_value=(floor, np.inf), check_finite=False)
    except LinAlgError:  # LAPACK's fastest driver gives up on some clusters, the other does not
        values, V = np.linalg.eigh(G)
        return values[values > floor], V[:, values > floor]


# -------------------------------------------------------------------- the proof
class _Bounds(NamedTuple):
    """The optimum lies between these; ``gap`` is their relative distance."""

    primal: float
    dual: float

    @property
    def gap(self) -> float:
        return (self.primal - self.dual) / max(self.primal, TINY)


def _bounds(X: np.ndarray, L: np.ndarray, Y: np.ndarray, lam: float, nuclear: float) -> _Bounds:
    """Return the objective of L and X − L, and that of Y scaled to be dual feasible."""
    excess = max(_largest_value(Y), float(np.abs(Y).max(initial=0.0)) / lam, TINY)
    primal = nuclear + lam * float(np.abs(X - L).sum())
    return _Bounds(primal, float((Y * X).sum()) / excess)


def _left(X: np.ndarray, L: np.ndarray, S: np.ndarray) -> float:
    return float(np.linalg.norm(X - L - S)) / max(float(np.linalg.norm(X)), TINY)


def _largest_value(Y: np.ndarray) -> float:
    square = Y.T @ Y if Y.shape[0] >= Y.shape[1] else Y @ Y.T
    return float(np.sqrt(max(float(np.linalg.eigvalsh(square)[-1]), 0.0)))


def split_gap(X: np.ndarray, split: Split, lam: float, *, tolerance: float) -> Certificate:
    """Prove that L and S solve the split: feasibility, and a gap from a feasible dual point.

    Every Y with ‖Y‖₂ ≤ 1 and |Y| ≤ λ bounds the optimum from below by ⟨Y, X⟩; the multipliers are
    scaled to be such a point. The upper bound is the objective of L and X − L, which is feasible
    whatever is left of X − L − S.
    """
    L, S, Y = split
    nuclear = float(np.linalg.svd(L, compute_uv=False).sum())
    bounds, left = _bounds(X, L, Y, lam, nuclear), _left(X, L, S)
    parts = {
        "feasibility": left,
        "primal": bounds.primal,
        "dual": bounds.dual,
        "relative_gap": bounds.gap,
        "nuclear_norm": nuclear,
        "nonzero_share": float(np.count_nonzero(S) / S.size),
    }
    about = f"min ‖L‖_* + {lam:.4g} ‖S‖₁, L + S = X of shape {X.shape[0]} × {X.shape[1]}"
    return Certificate("relative duality gap", max(bounds.gap, left), tolerance, about, parts)
