"""Labels that spread along the edges of a sparse graph, by conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from mercer._floats import TINY
from mercer._limits import Limits
from mercer.result import Certificate, Solution, Status
from mercer.solvers.graphs import normalized_weights

GOAL = 0.5  # of the tolerance: the recursion's residual is off by rounding
RESTARTS = 3  # from the recomputed residual

Product = Callable[[np.ndarray], np.ndarray]


def spread_labels(
    W: sp.csr_array, Y: np.ndarray, alpha: float, *, tol: float, limits: Limits
) -> Solution:
    """Solve (I − αS) F = (1 − α) Y, S = D^(−½) W D^(−½): each row takes α from its neighbours.

    Parameters
    ----------
    W : sparse array of shape (n, n)
        Symmetric weights ≥ 0.
    Y : array of shape (n, k)
        1 in the column of a row's class, 0 in the others; 0 for rows without a label.
    alpha : float
        0 ≤ α < 1.
    """
    S = normalized_weights(W)
    apply: Product = lambda F: F - alpha * (S @ F)  # noqa: E731
    F, steps, done = conjugate_gradients(apply, (1.0 - alpha) * Y, np.ones(len(Y)), tol, limits)
    return _proved(apply, F, (1.0 - alpha) * Y, steps, done, tol, "(I − αS) F = (1 − α) Y")


def propagate_labels(W: sp.csr_array, Y: np.ndarray, *, tol: float, limits: Limits) -> Solution:
    """Return F with F = Y at labelled rows and the weighted mean of the neighbours at all others.

    These are the harmonic functions, (D − W) F = 0 at the rows without a label. Rows that no path
    joins to a label have 0.
    """
    fixed = np.asarray(Y.any(axis=1))
    free = np.flatnonzero(~fixed & _reached(W, fixed))
    F = np.array(Y, dtype=np.float64)
    if not len(free):
        proof = Certificate("relative residual", 0.0, tol, "every row has a label", {"steps": 0})
        return Solution(F, Status.OPTIMAL, proof, stats={"steps": 0})
    rows = sp.csr_array(W[free])
    inner = sp.csr_array(rows[:, free])
    degrees = np.asarray(rows.sum(axis=1)).ravel()
    right = rows @ F
    apply: Product = lambda V: degrees[:, None] * V - inner @ V  # noqa: E731
    F[free], steps, done = conjugate_gradients(apply, right, degrees, tol, limits)
    about = "(D − W) F = 0 at the rows without a label"
    solution = _proved(apply, F[free], right, steps, done, tol, about)
    return Solution(F, solution.status, solution.certificate, stats=solution.stats)


def _reached(W: sp.csr_array, fixed: np.ndarray) -> np.ndarray:
    """Tell which rows a path joins to a label."""
    _, part = connected_components(W, directed=False)
    return np.isin(part, part[fixed])


def _proved(
    apply: Product,
    F: np.ndarray,
    right: np.ndarray,
    steps: int,
    stopped: Status | None,
    tol: float,
    about: str,
) -> Solution:
    size = max(float(np.linalg.norm(right)), TINY)
    value = float(np.linalg.norm(right - apply(F))) / size
    parts = {"residual": value, "steps": steps, "rows": len(F)}
    proof = Certificate("relative residual", value, tol, about, parts)
    status = Status.OPTIMAL if proof.ok else stopped or Status.ILL_CONDITIONED
    return Solution(F, status, proof, stats={"steps": steps})


def conjugate_gradients(
    apply: Product, right: np.ndarray, diagonal: np.ndarray, tol: float, limits: Limits
) -> tuple[np.ndarray, int, Status | None]:
    """Return X with A X = right, the steps, and why it was stopped; A is known by its products.

    Each column has its own step lengths. The preconditioner is the diagonal.
    """
    X, steps, goal = np.zeros_like(right), 0, GOAL * tol * float(np.linalg.norm(right))
    stopped: Status | None = None
    scale = 1.0 / diagonal[:, None]
    try:
        for _ in range(RESTARTS):
            R = right - apply(X) if steps else right.copy()
            if np.linalg.norm(R) <= goal or stopped:
                break
            Z = scale * R
            P, rz = Z.copy(), np.einsum("ij,ij->j", R, Z)
            while np.linalg.norm(R) > goal and rz.any():
                stopped = limits.stopped(steps)
                if stopped:
                    break
                AP = apply(P)
                step = _ratio(rz, np.einsum("ij,ij->j", P, AP))
                X += step * P
                R -= step * AP
                np.multiply(scale, R, out=Z)
                before, rz = rz, np.einsum("ij,ij->j", R, Z)
                P *= _ratio(rz, before)
                P += Z
                steps += 1
    except KeyboardInterrupt:
        limits.interrupt()
        stopped = Status.INTERRUPTED
    return X, steps, stopped


def _ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a / b, 0 where b is: columns that are done stand still."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
