"""Steepest descent in any norm, by Armijo's rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.norms import Linf, as_norm
from mercer.optimize._run import Limits, Objective, Point, Trace, conclude, descend, stationarity
from mercer.optimize._search import armijo
from mercer.result import Solution

REACH = 1e8  # how much shorter or longer than x the first step may be


def gradient_descent(
    f: Any,
    x0: Any,
    *,
    grad: Callable[[np.ndarray], Any] | None = None,
    norm: Any = "l2",
    step: float = 1.0,
    share: float = 0.25,
    shrink: float = 0.5,
    tol: float = 1e-6,
    max_iter: int = 10_000,
    time_limit: float | None = None,
    keep_points: bool = False,
) -> Solution:
    """Minimise f by steps in the direction of steepest descent of a norm.

    The direction minimises ∇f(x)ᵀu over ‖u‖ ≤ 1 and is scaled by the dual norm ‖∇f(x)‖⋆. In L2 it
    is −∇f(x), in L1 one coordinate moves, in L∞ all move alike, in `Quadratic(P)` it is −P⁻¹∇f(x):
    Newton's step if P is the Hessian. The step size t is halved until

        f(x + tΔ) ≤ f(x) + share · t · ∇f(x)ᵀΔ

    and the next search starts at twice the last one, so that f never rises.

    Parameters
    ----------
    f : callable or Problem
        x ↦ f(x), a number; where it is NaN or infinite a step is taken back.
    x0 : array of shape (d,)
        Where to start; f must be finite there.
    grad : callable
        x ↦ ∇f(x), an array of shape (d,); not needed if f is a Problem.
    norm : {"l1", "l2", "linf"}, float or Norm, default="l2"
        The norm of `mercer.norms`, a power p ≥ 1, or the name of one.
    step : float, default=1.0
        The first step size that is tried, unless it is out of all proportion to x.
    share : float, default=0.25
        How much of the gain that the slope promises a step must bring, in (0, 0.5].
    shrink : float, default=0.5
        The factor by which steps get shorter, in (0, 1).
    tol : float, default=1e-6
        The dual norm of the gradient at which the run is done.
    max_iter, time_limit : int, float or None
        Limits of steps and seconds; then, and on Ctrl-C, the best point so far is returned.
    keep_points : bool, default=False
        Whether ``stats["trace"]["points"]`` holds the path.

    Returns
    -------
    Solution
        ``value`` is x; ``stats["trace"]`` has values, gradient_norms, step_sizes and seconds.

    Examples
    --------
    >>> from mercer.optimize import gradient_descent
    >>> solution = gradient_descent(lambda x: x @ x, [3.0, 4.0], grad=lambda x: 2 * x)
    >>> solution.status.name, solution.value.round(6).tolist()
    ('OPTIMAL', [0.0, 0.0])
    """
    _check(step, share, shrink)
    objective, norm = Objective(f, grad), as_norm(norm)
    limits, trace, at = Limits(tol, max_iter, time_limit), Trace(keep_points), objective.start(x0)
    size = norm.dual().value

    def advance(at: Point) -> Point | None:
        d = norm.steepest(at.g)
        first = at.t / shrink if at.t else _within_reach(step, d, at.x)
        return armijo(objective, at, d, first, share, shrink)

    at, status = descend(at, advance, size, limits, trace)
    name = repr(norm) if norm.dimension is None else f"a {type(norm).__name__} norm"
    proof = stationarity(objective, at.x, size, limits.tol, f"steepest descent in {name}")
    return conclude(objective, at.x, status, proof, trace)


def _within_reach(step: float, d: np.ndarray, x: np.ndarray) -> float:
    """Return the step, or one that moves x neither by nothing nor by far more than its size."""
    unit = (1.0 + Linf.value(x)) / Linf.value(d)
    return float(np.clip(step, unit / REACH, unit * REACH))


def _check(step: float, share: float, shrink: float) -> None:
    if not (step > 0 and 0 < share <= 0.5 and 0 < shrink < 1):
        raise ValueError(
            f"step must be > 0, share in (0, 0.5] and shrink in (0, 1); got {step}, {share}, "
            f"{shrink}"
        )
