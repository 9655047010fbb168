"""What all methods share: checked functions, limits, the trace, line searches, the way downhill."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mercer._floats import EPS
from mercer._limits import Limits
from mercer.optimize.problem import Problem, as_point, require_callable
from mercer.result import Certificate, Solution, Status

NOISE = 8 * EPS  # of f, relative to its size
MOST_TRIALS = 200  # trials of one search
FLATTER_SLOPE = 0.9  # what must be left of the slope at most, where f itself only shows rounding
DOUBLING_TRIALS, LEAP = 20, 1e8  # steps double for so many trials, then grow by leaps
ARMIJO_SHARE = 1e-4  # of the promised gain that a step must bring (Armijo)


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


def checked_limits(tol: float, max_iter: int | None, time_limit: float | None) -> Limits:
    """Start the clock of a run; raise if a limit is not ≥ 0. None is no limit."""
    if not all(limit is None or limit >= 0 for limit in (tol, max_iter, time_limit)):
        raise ValueError(
            f"tol, max_iter and time_limit must be ≥ 0; got {tol}, {max_iter}, {time_limit}"
        )
    return Limits.of(-1 if max_iter is None else max_iter, time_limit)


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


class Run:
    """A way downhill: the functions, the limits and the trace of it, and where it stands."""

    def __init__(
        self,
        objective: Objective,
        x0: Any,
        tol: float,
        max_iter: int,
        time_limit: float | None,
        keep_points: bool,
    ):
        self.objective, self.tol = objective, float(tol)
        self.limits = checked_limits(tol, max_iter, time_limit)
        self.trace, self.at = Trace(keep_points), objective.start(x0)

    def descend(
        self, advance: Callable[[Point], Point | None], size: Callable[[np.ndarray], float]
    ) -> Status:
        """Take steps until the gradient is small; return why the steps ended."""
        try:
            while True:
                at, length = self.at, size(self.at.g)
                self.trace.add(at.f, length, at.t, at.x)
                if length <= self.tol:
                    return Status.OPTIMAL
                if stopped := self.limits.stopped(self.trace.steps):
                    return stopped
                with np.errstate(over="ignore", invalid="ignore"):  # on the way to −∞
                    found = advance(at)
                if found is None or found.f == -np.inf:
                    return Status.NO_DESCENT if found is None else Status.UNBOUNDED
                self.at = found
        except KeyboardInterrupt:
            return Status.INTERRUPTED

    def stationary(
        self, status: Status, size: Callable[[np.ndarray], float], method: str, **more: Any
    ) -> Solution:
        """Return the solution, proved by a small gradient: the minimum if f is convex."""
        x = self.at.x
        f, g = self.objective.value(x), self.objective.gradient(x)
        parts = {"objective": f, "gradient_norm": size(g), "largest_slope": np.abs(g).max(), **more}
        about = f"∇f(x) = 0 in {len(x)} variables, {method}; the global minimum if f is convex"
        proof = Certificate("gradient norm", parts["gradient_norm"], self.tol, about, parts)
        return self.conclude(x, status, proof)

    def conclude(
        self, x: np.ndarray, status: Status, certificate: Certificate, **more: Any
    ) -> Solution:
        """Return the solution with its statistics; a proof that fails is never called optimal."""
        if status.ok and not certificate.ok:
            status = Status.NO_DESCENT
        stats = {
            "iterations": max(self.trace.steps, 0),
            "evaluations": self.objective.evaluations,
            "gradients": self.objective.gradients,
            "trace": self.trace.arrays(),
            **more,
        }
        return Solution(x, status, certificate, stats=stats, state=x)


# -------------------------------------------------------------------- line searches
def armijo(
    objective: Objective, at: Point, d: np.ndarray, t: float, share: float, shrink: float
) -> Point | None:
    """Shrink t until f(x + td) ≤ f(x) + share · t · gᵀd; None if no step goes down.

    Where the gain is within the rounding of f, a step must not raise f and must flatten the slope.
    """
    slope = float(at.g @ d)
    for _ in range(MOST_TRIALS):
        x = at.x + t * d
        if not slope < 0 or np.array_equal(x, at.x):
            return None
        f = objective.value(x)
        hidden = share * t * -slope <= NOISE * abs(at.f)
        if f <= at.f + (0.0 if hidden else share * t * slope):
            point = _point(objective, x, f, t)
            if not hidden or abs(float(point.g @ d)) <= FLATTER_SLOPE * -slope:
                return point
        t *= shrink
    return None


def wolfe(
    objective: Objective, at: Point, d: np.ndarray, t: float, flatter: float = FLATTER_SLOPE
) -> Point | None:
    """Bisect for a step that lowers f enough and flattens the slope (weak Wolfe conditions)."""
    slope, low, high, best = float(at.g @ d), 0.0, np.inf, None
    for trial in range(MOST_TRIALS):
        x = at.x + t * d
        if not slope < 0 or np.array_equal(x, at.x):
            break
        if not np.isfinite(x).all():  # still falling at the end of all numbers
            return best and best._replace(f=-np.inf)
        f = objective.value(x)
        if f > at.f + ARMIJO_SHARE * t * slope:
            high = t
        else:
            point = _point(objective, x, f, t)
            if f == -np.inf or float(point.g @ d) >= flatter * slope:
                return point
            low, best = t, point
        t = (
            0.5 * (low + high)
            if np.isfinite(high)
            else low * (2.0 if trial < DOUBLING_TRIALS else LEAP)
        )
    return best if best is not None and best.f < at.f else None


def _point(objective: Objective, x: np.ndarray, f: float, t: float) -> Point:
    # where f is −∞ there is no gradient, and the run ends
    return Point(x, f, objective.gradient(x) if f > -np.inf else np.zeros_like(x), t)
