"""What all methods share: checked functions, limits, the trace, the loop that goes downhill."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mercer.optimize.problem import Problem, as_point, require_callable
from mercer.result import Certificate, Solution, Status


class Point(NamedTuple):
    """Where a run stands: x, f(x), ∇f(x), and the step size that led there."""

    x: np.ndarray
    f: float
    g: np.ndarray
    t: float


class Objective:
    """The user's functions, checked and counted. What is not a number counts as +∞."""

    def __init__(self, f: Any, grad: Any, hess: Any = None, *, needs_hess: bool = False):
        if isinstance(f, Problem):
            if f.constrained:
                raise ValueError("f must be a Problem without constraints for this method")
            f, grad, hess = f.objective, grad or f.grad, hess or f.hess
        for function, name in ((f, "f"), (grad, "grad"), *([(hess, "hess")] if needs_hess else [])):
            require_callable(function, name)
        self._f, self._grad, self._hess = f, grad, hess
        self.evaluations = self.gradients = 0

    def value(self, x: np.ndarray) -> float:
        """Return f(x); steps that lead out of the domain are taken back, so they may be silent."""
        self.evaluations += 1
        with np.errstate(all="ignore"):
            value = np.asarray(self._f(x), dtype=np.float64)
        if value.size != 1:
            raise ValueError(f"f must return one number; it returned an array of {value.shape}")
        number = float(value.item())
        return np.inf if np.isnan(number) else number

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return ∇f(x) or say what is wrong with it."""
        self.gradients += 1
        g = np.array(self._grad(x), dtype=np.float64)
        if g.size != x.size or g.ndim > 1:
            raise ValueError(f"grad must return {x.size} numbers; it returned shape {g.shape}")
        if not np.isfinite(g).all():
            raise ValueError(f"grad must be finite where f is; it is {g} at x = {x}")
        return g.reshape(x.shape)

    def hessian(self, x: np.ndarray) -> np.ndarray:
        """Return the symmetric part of ∇²f(x)."""
        H = np.asarray(self._hess(x), dtype=np.float64)
        if H.size != x.size**2 or not np.isfinite(H).all():
            raise ValueError(
                f"hess must return a finite matrix of shape ({x.size}, {x.size}); got {H.shape}"
            )
        H = H.reshape(x.size, x.size)
        return 0.5 * (H + H.T)

    def start(self, x0: Any) -> Point:
        """Return the first point of a run."""
        x = as_point(x0, "x0")
        f = self.value(x)
        if not np.isfinite(f):
            raise ValueError("f must be finite at x0: start at a point of its domain")
        return Point(x, f, self.gradient(x), 0.0)


class Limits:
    """How long a run may go on."""

    def __init__(self, tol: float, max_iter: int, time_limit: float | None):
        if not tol >= 0 or not max_iter >= 0 or not (time_limit is None or time_limit >= 0):
            raise ValueError(
                f"tol, max_iter and time_limit must be ≥ 0; got {tol}, {max_iter}, {time_limit}"
            )
        self.tol, self.max_iter = float(tol), max_iter
        self.deadline = np.inf if time_limit is None else time.monotonic() + time_limit

    def stopped(self, steps: int) -> Status | None:
        """Return why to stop now, or None to go on."""
        if steps >= self.max_iter:
            return Status.MAX_ITER
        return Status.TIME_LIMIT if time.monotonic() > self.deadline else None


@dataclass
class Trace:
    """What a run looked like, one entry for the start and one for each step."""

    keep_points: bool = False
    began: float = field(default_factory=time.perf_counter)
    rows: list[tuple[float, float, float, float]] = field(default_factory=list)
    points: list[np.ndarray] = field(default_factory=list)

    @property
    def steps(self) -> int:
        """Return how many steps were taken."""
        return len(self.rows) - 1

    def add(self, value: float, size: float, t: float, x: np.ndarray) -> None:
        """Note a point, the size of the gradient there and the step that led there."""
        self.rows.append((value, size, t, time.perf_counter() - self.began))
        if self.keep_points:
            self.points.append(x.copy())

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the columns of the trace."""
        names = ("values", "gradient_norms", "step_sizes", "seconds")
        table = np.array(self.rows, dtype=np.float64).reshape(-1, len(names))
        columns = dict(zip(names, table.T.copy(), strict=True))
        return columns | ({"points": np.array(self.points)} if self.keep_points else {})


def descend(
    at: Point,
    advance: Callable[[Point], Point | None],
    size: Callable[[np.ndarray], float],
    limits: Limits,
    trace: Trace,
) -> tuple[Point, Status]:
    """Take steps until the gradient is small; return the last point and why the steps ended."""
    try:
        while True:
            length = size(at.g)
            trace.add(at.f, length, at.t, at.x)
            if length <= limits.tol:
                return at, Status.OPTIMAL
            if stopped := limits.stopped(trace.steps):
                return at, stopped
            with np.errstate(over="ignore", invalid="ignore"):  # on the way to −∞
                found = advance(at)
            if found is None or found.f == -np.inf:
                return at, Status.NO_DESCENT if found is None else Status.UNBOUNDED
            at = found
    except KeyboardInterrupt:
        return at, Status.INTERRUPTED


def conclude(
    objective: Objective,
    x: np.ndarray,
    status: Status,
    certificate: Certificate,
    trace: Trace,
    **more: Any,
) -> Solution:
    """Return the solution with its statistics; a proof that fails is never called optimal."""
    if status.ok and not certificate.ok:
        status = Status.NO_DESCENT
    stats = {
        "iterations": max(trace.steps, 0),
        "evaluations": objective.evaluations,
        "gradients": objective.gradients,
        "trace": trace.arrays(),
        **more,
    }
    return Solution(x, status, certificate, stats=stats, state=x)


def stationarity(
    objective: Objective,
    x: np.ndarray,
    size: Callable[[np.ndarray], float],
    tol: float,
    method: str,
    **more: Any,
) -> Certificate:
    """Prove that the gradient at x is small: a minimum if f is convex."""
    f, g = objective.value(x), objective.gradient(x)
    parts = {"objective": f, "gradient_norm": size(g), "largest_slope": np.abs(g).max(), **more}
    about = f"∇f(x) = 0 in {len(x)} variables, {method}; the global minimum if f is convex"
    return Certificate("gradient norm", parts["gradient_norm"], tol, about, parts)
