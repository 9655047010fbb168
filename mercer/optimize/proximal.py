"""Proximal gradient steps with momentum: a smooth function plus one that has kinks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._floats import EPS
from mercer.norms import L2
from mercer.optimize._run import Limits, Objective, Trace, conclude
from mercer.optimize.problem import require_callable
from mercer.result import Certificate, Solution, Status

NOISE = 16 * EPS
PROBE = 1e-6  # length of the first look at the curvature, relative to x
LONGEST = 200  # trials of one step


def soft_threshold(v: Any, t: Any) -> np.ndarray:
    """Return the proximal map of t‖·‖₁: each entry moved towards 0 by t, and 0 if it gets there.

    Examples
    --------
    >>> from mercer.optimize import soft_threshold
    >>> soft_threshold([3.0, -0.5, -2.0], 1.0).tolist()
    [2.0, 0.0, -1.0]
    """
    v = np.asarray(v, dtype=np.float64)
    return v - np.clip(v, -np.asarray(t), t)


def proximal_gradient(
    f: Callable[[np.ndarray], float],
    grad: Callable[[np.ndarray], Any],
    prox: Callable[[np.ndarray, float], Any],
    x0: Any,
    *,
    penalty: Callable[[np.ndarray], float] | None = None,
    step: float | None = None,
    tol: float = 1e-6,
    max_iter: int = 10_000,
    time_limit: float | None = None,
    keep_points: bool = False,
) -> Solution:
    """Minimise f(x) + p(x) for a smooth convex f and a convex p with a simple proximal map.

    x ← prox(y − t∇f(y), t) with prox(v, t) = argmin over u of p(u) + ‖u − v‖²/2t, where y runs
    ahead of x by Nesterov's momentum (FISTA), which starts again whenever it leads uphill.

    Parameters
    ----------
    f, grad : callable
        x ↦ f(x) and x ↦ ∇f(x).
    prox : callable
        (v, t) ↦ prox(v, t), for example ``lambda v, t: soft_threshold(v, lam * t)``.
    x0 : array of shape (d,)
        Where to start; f must be finite there.
    penalty : callable, default=None
        x ↦ p(x), for the values of the trace only; None: they are those of f.
    step : float, default=None
        The first step size t; None takes one from the curvature of f at x0. Steps get shorter
        until f(x) ≤ f(y) + ∇f(y)ᵀ(x − y) + ‖x − y‖²/2t.
    tol : float, default=1e-6
        The norm of the generalised gradient (x − prox(x − t∇f(x), t))/t at which the run is done.
    max_iter, time_limit : int, float or None
        Limits of steps and seconds; then, and on Ctrl-C, the last point is returned.
    keep_points : bool, default=False
        Whether ``stats["trace"]["points"]`` holds the path.

    Returns
    -------
    Solution

    Examples
    --------
    >>> from mercer.optimize import proximal_gradient, soft_threshold
    >>> b = [3.0, 0.5]
    >>> solution = proximal_gradient(
    ...     lambda x: 0.5 * ((x - b) ** 2).sum(), lambda x: x - b, soft_threshold, [0.0, 0.0]
    ... )
    >>> solution.value.round(6).tolist()
    [2.0, 0.0]
    """
    require_callable(prox, "prox")
    if step is not None and not step > 0:
        raise ValueError(f"step must be > 0; got {step}")
    objective, trace = Objective(f, grad), Trace(keep_points)
    limits, at = Limits(tol, max_iter, time_limit), objective.start(x0)
    first = _first_step(objective, at.x, at.g) if step is None else step
    run = _Run(objective, prox, penalty or _nothing, at.x, at.f, first)
    status = run.solve(limits, trace)
    return conclude(objective, run.x, status, run.prove(limits.tol), trace, step_size=run.t)


def _nothing(x: np.ndarray) -> float:
    return 0.0


def _first_step(objective: Objective, x: np.ndarray, g: np.ndarray) -> float:
    """Return 1/L for the curvature L of f along its gradient, or 1 where f is straight."""
    length = L2.value(g)
    if length == 0.0:
        return 1.0
    h = PROBE * (1.0 + L2.value(x)) / length
    if not np.isfinite(objective.value(x - h * g)):
        return 1.0
    curvature = L2.value(objective.gradient(x - h * g) - g) / (h * length)
    return 1.0 / curvature if curvature > PROBE * length else 1.0


@dataclass
class _Run:
    objective: Objective
    prox: Callable[[np.ndarray, float], Any]
    penalty: Callable[[np.ndarray], float]
    x: np.ndarray
    f: float
    t: float

    def solve(self, limits: Limits, trace: Trace) -> Status:
        """Take steps until x itself, not only a point ahead of it, is as good as stationary."""
        y, at_rest, speed, taken = self.x, True, 1.0, 0.0
        try:
            while True:
                found = self._step(y)
                if found is None:
                    return Status.NO_DESCENT
                new, f, residual = found
                trace.add(self.f + float(self.penalty(self.x)), residual, taken, self.x)
                if at_rest and residual <= limits.tol:
                    return Status.OPTIMAL
                if stopped := limits.stopped(trace.steps):
                    return stopped
                ahead, faster = self._ahead(new, speed)
                uphill = float((y - new) @ (new - self.x)) > 0.0
                # a small gradient ahead of x counts only once it is that of x: come to rest
                at_rest = uphill or residual <= limits.tol or not self._inside(ahead)
                y, speed = (new, 1.0) if at_rest else (ahead, faster)
                self.x, self.f, taken = new, f, self.t
        except KeyboardInterrupt:
            return Status.INTERRUPTED

    def _ahead(self, new: np.ndarray, speed: float) -> tuple[np.ndarray, float]:
        """Return the point that Nesterov's momentum leads to, and the next speed."""
        faster = 0.5 * (1.0 + (1.0 + 4.0 * speed * speed) ** 0.5)
        return new + (speed - 1.0) / faster * (new - self.x), faster

    def _inside(self, y: np.ndarray) -> bool:
        return bool(np.isfinite(self.objective.value(y)))

    def _step(self, y: np.ndarray) -> tuple[np.ndarray, float, float] | None:
        """Return the proximal step from y, f there, and the generalised gradient at y."""
        f, g = self.objective.value(y), self.objective.gradient(y)
        for _ in range(LONGEST):
            new = self._mapped(y - self.t * g)
            move = new - y
            bound = f + float(g @ move) + float(move @ move) / (2.0 * self.t)
            value = self.objective.value(new)
            if value <= bound + NOISE * abs(f):
                return new, value, L2.value(move) / self.t
            self.t *= 0.5
        return None

    def _mapped(self, v: np.ndarray) -> np.ndarray:
        new = np.array(self.prox(v, self.t), dtype=np.float64)
        if new.shape != v.shape or not np.isfinite(new).all():
            raise ValueError(f"prox must return {v.size} finite numbers; got shape {new.shape}")
        return new

    def prove(self, tol: float) -> Certificate:
        """Prove that the generalised gradient at x is small, in float64 from x."""
        f, g = self.objective.value(self.x), self.objective.gradient(self.x)
        residual = L2.value(self.x - self._mapped(self.x - self.t * g)) / self.t
        value = f + float(self.penalty(self.x))
        parts = {"objective": value, "residual": residual, "step_size": self.t}
        about = f"x = prox(x − t∇f(x)) in {len(self.x)} variables; the minimum if f is convex"
        return Certificate("generalised gradient norm", residual, tol, about, parts)
