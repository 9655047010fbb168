"""Newton's method with safeguards: shifted Hessians, backtracking, a way out of saddles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from mercer._floats import TINY
from mercer.norms import L2, Linf
from mercer.optimize._run import Limits, Objective, Point, Trace, conclude, descend, stationarity
from mercer.optimize._search import armijo
from mercer.result import Solution

SHARE, SHRINK = 1e-4, 0.5  # Armijo's rule: Newton's own step is nearly always good enough
SHIFT = 1e-3  # the first shift of an indefinite Hessian, relative to its size
FLAT = 1e-8  # eigenvalues below this share of the largest count as 0


def newton(
    f: Any,
    x0: Any,
    grad: Callable[[np.ndarray], Any] | None = None,
    hess: Callable[[np.ndarray], Any] | None = None,
    *,
    tol: float = 1e-8,
    max_iter: int = 200,
    time_limit: float | None = None,
    keep_points: bool = False,
) -> Solution:
    """Minimise f by Newton's method: Δ = −∇²f(x)⁻¹∇f(x), with backtracking.

    A Hessian that is not positive definite gets a multiple of the identity added until it is. At a
    stationary point with a negative eigenvalue the run goes on along its eigenvector.

    Parameters
    ----------
    f : callable or Problem
        x ↦ f(x), a number; where it is NaN or infinite a step is taken back.
    x0 : array of shape (d,)
        Where to start; f must be finite there.
    grad, hess : callable
        x ↦ ∇f(x), shape (d,), and x ↦ ∇²f(x), shape (d, d); not needed if f is a Problem with both.
    tol : float, default=1e-8
        The Euclidean norm of the gradient at which the run is done.
    max_iter, time_limit : int, float or None
        Limits of steps and seconds; then, and on Ctrl-C, the best point so far is returned.
    keep_points : bool, default=False
        Whether ``stats["trace"]["points"]`` holds the path.

    Returns
    -------
    Solution
        The certificate adds Newton's decrement √(gᵀH⁻¹g) and the least eigenvalue of the Hessian.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.optimize import newton
    >>> def hess(x):
    ...     return np.diag(np.cosh(x))
    >>> newton(lambda x: np.cosh(x).sum(), [2.0, -1.0], np.sinh, hess).status.name
    'OPTIMAL'
    """
    objective = Objective(f, grad, hess, needs_hess=True)
    limits, trace, at = Limits(tol, max_iter, time_limit), Trace(keep_points), objective.start(x0)

    def advance(at: Point) -> Point | None:
        d = _direction(objective.hessian(at.x), at)
        return armijo(objective, at, d, 1.0, SHARE, SHRINK)

    while True:
        at, status = descend(at, advance, L2.value, limits, trace)
        lower = _escape(objective, at) if status.ok else None
        if lower is None or limits.stopped(trace.steps):
            break
        at = lower
    proof = stationarity(
        objective, at.x, L2.value, limits.tol, "Newton's method", **_curvature(objective, at.x)
    )
    return conclude(objective, at.x, status, proof, trace)


def _direction(H: np.ndarray, at: Point) -> np.ndarray:
    """Return −(H + τI)⁻¹g with the first τ of a ladder that makes the matrix positive definite."""
    g = at.g
    # where f is as good as straight, the step is bounded by the size of x
    size = max(float(np.abs(H).max()), Linf.value(g) / (1.0 + Linf.value(at.x)), TINY)
    lowest = float(H.diagonal().min())
    shift = 0.0 if lowest > 0 else SHIFT * size - lowest
    while True:
        try:
            return -cho_solve(cho_factor(H + shift * np.eye(len(g)), lower=True), g)
        except LinAlgError:
            shift = max(2.0 * shift, SHIFT * size)


def _escape(objective: Objective, at: Point) -> Point | None:
    """Return a lower point along a direction of negative curvature, or None at a minimum."""
    H = objective.hessian(at.x)
    (least,), vector = eigh(H, subset_by_index=[0, 0])
    if least >= -FLAT * np.abs(H).max():
        return None
    v = vector[:, 0] if at.g @ vector[:, 0] <= 0 else -vector[:, 0]
    t = 1.0 + float(np.abs(at.x).max())
    while t > FLAT:
        x = at.x + t * v
        f = objective.value(x)
        if -np.inf < f <= at.f + 0.25 * t * t * least:
            return Point(x, f, objective.gradient(x), t)
        t *= SHRINK
    return None


def _curvature(objective: Objective, x: np.ndarray) -> dict[str, float]:
    """Return the least eigenvalue, and the decrement where it is positive."""
    values, vectors = eigh(objective.hessian(x))
    parts = {"least_eigenvalue": float(values[0])}
    if values[0] > 0:
        along = vectors.T @ objective.gradient(x)
        parts["newton_decrement"] = float(L2.value(along / np.sqrt(values)))
    return parts
