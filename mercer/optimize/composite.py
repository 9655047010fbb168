"""A smooth function plus a penalty with kinks: coordinate descent and proximal gradient steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import lapack

from mercer._floats import EPS, TINY
from mercer._limits import Limits
from mercer.norms import L2
from mercer.optimize._loops import sweeps
from mercer.optimize._run import LONGEST, Objective, Run, Trace, checked_limits
from mercer.optimize.problem import as_point, require_callable
from mercer.result import Certificate, Solution, Status

TURN = 2**25  # multiplications before the loop comes back to look at the clock
CHECKED = 3000  # variables up to which convexity is checked by a factorisation
ROUNDING = 1e-12  # negative eigenvalues below this share of the largest entry are rounding
NOISE = 16 * EPS  # of f, relative to its size
PROBE = 1e-6  # length of the first look at the curvature, relative to x


def coordinate_descent(
    Q: Any,
    b: Any,
    *,
    l1: Any = 0.0,
    lower: Any = -np.inf,
    upper: Any = np.inf,
    x0: Any = None,
    tol: float = 1e-8,
    max_iter: int = 10_000,
    time_limit: float | None = None,
) -> Solution:
    """Minimise ½xᵀQx + bᵀx + Σ l1ᵢ|xᵢ| over lower ≤ x ≤ upper, one coordinate at a time.

    The lasso ½‖y − Xw‖² + λ‖w‖₁ is Q = XᵀX, b = −Xᵀy, l1 = λ; a ridge term goes into Q.

    Parameters
    ----------
    Q : array of shape (d, d)
        Symmetric and positive semidefinite.
    b : array of shape (d,)
        The linear term.
    l1 : float or array of shape (d,), default=0
        Weights ≥ 0 of the absolute values.
    lower, upper : float or array of shape (d,)
        The box; infinite where there is no bound.
    x0 : array of shape (d,), default=None
        Where to start; None is the point of the box that is nearest to 0.
    tol : float, default=1e-8
        What is left of the optimality conditions, relative to the terms that cancel in them.
    max_iter, time_limit : int, float or None
        Limits of sweeps and seconds; then, and on Ctrl-C, the last point is returned.

    Returns
    -------
    Solution
        The trace has an entry for each turn of one or more sweeps.

    Examples
    --------
    >>> from mercer.optimize import coordinate_descent
    >>> coordinate_descent([[2.0, 0.0], [0.0, 1.0]], [-4.0, 0.5], l1=1.0).value.tolist()
    [1.5, 0.0]
    """
    run = _Sweeps(Q, b, l1, lower, upper, x0)
    limits, trace = checked_limits(tol, max_iter, time_limit), Trace()
    status = run.solve(tol, limits, trace)
    proof = run.prove(tol)
    stats = {"iterations": run.n_sweeps, "trace": trace.arrays()}
    return Solution(run.x, Status.OPTIMAL if proof.ok else status, proof, stats=stats, state=run.x)


class _Sweeps:
    def __init__(self, Q: Any, b: Any, l1: Any, lower: Any, upper: Any, x0: Any):
        self.b = as_point(b, "b")
        self.Q, self.convex = _semidefinite(Q, len(self.b))
        given = {"l1": l1, "lower": lower, "upper": upper}
        self.l1, self.lower, self.upper = (_each(v, len(self.b), n) for n, v in given.items())
        if not (np.isfinite(self.l1).all() and (self.l1 >= 0).all()):
            raise ValueError("l1 must be finite and ≥ 0")
        if not (self.lower <= self.upper).all():
            raise ValueError("lower must not exceed upper, and neither may be NaN")
        start = np.zeros(len(self.b)) if x0 is None else as_point(x0, "x0")
        if start.shape != self.b.shape:
            raise ValueError(f"x0 must have {len(self.b)} entries; got {len(start)}")
        self.x = np.clip(start, self.lower, self.upper)
        self.n_sweeps = 0
        self._settle_flat()

    def _settle_flat(self) -> None:
        """Put coordinates without curvature where their slope sends them."""
        flat = self.Q.diagonal() == 0.0
        down = flat & (np.abs(self.b) > self.l1)
        end = np.where(self.b > 0, self.lower, self.upper)
        if np.isinf(end[down]).any():
            i = int(np.flatnonzero(down & np.isinf(end))[0])
            raise ValueError(
                f"the problem is unbounded below along coordinate {i}: Q[{i}, {i}] = 0 and "
                f"|b[{i}]| = {abs(self.b[i]):.3g} > l1"
            )
        rest = np.clip(0.0, self.lower, self.upper)
        self.x = np.where(down, end, np.where(flat, rest, self.x))

    def solve(self, tol: float, limits: Limits, trace: Trace) -> Status:
        """Sweep in turns; the slopes are computed afresh before each."""
        turn = max(1, TURN // len(self.b) ** 2)
        enough = tol * float(np.abs(self.b).max())
        try:
            while True:
                s = self.Q @ self.x + self.b
                residual, unit = self._residual(s)
                trace.add(self._objective(s), residual, 1.0, self.x)
                if residual <= tol * unit:
                    return Status.OPTIMAL
                if stopped := limits.stopped(self.n_sweeps):
                    return stopped
                n = turn if limits.max_iter < 0 else min(turn, limits.max_iter - self.n_sweeps)
                before, x = self.x, self.x.copy()
                made = sweeps(self.Q, s, x, self.l1, self.lower, self.upper, n, enough)
                self.n_sweeps, self.x = self.n_sweeps + made, x
                if np.array_equal(before, x):
                    return Status.NO_DESCENT
                enough *= 0.1  # should the turn end early and the proof not hold
        except KeyboardInterrupt:
            return Status.INTERRUPTED

    def _objective(self, s: np.ndarray) -> float:
        return 0.5 * float(self.x @ (s + self.b)) + float(self.l1 @ np.abs(self.x))

    def _residual(self, s: np.ndarray) -> tuple[float, float]:
        """Return the distance of −s from the subgradients of the penalty, and what it is of."""
        x, low, high = self.x, -s - self.l1, -s + self.l1  # −s − ∂(l1|x|) lies between these
        low, high = np.where(x < 0, high, low), np.where(x > 0, low, high)
        # at an upper bound every force upwards is held, at a lower one every force downwards
        force = np.where(low > 0, low, np.where(high < 0, high, 0.0))
        force = np.where((x >= self.upper) & (force > 0), 0.0, force)
        force = np.where((x <= self.lower) & (force < 0), 0.0, force)
        unit = float((np.abs(self.Q) @ np.abs(x) + np.abs(self.b) + self.l1).max())
        return float(np.abs(force).max()), unit

    def prove(self, tol: float) -> Certificate:
        """Prove the optimality conditions at x, from x."""
        s = self.Q @ self.x + self.b
        residual, unit = self._residual(s)
        parts = {
            "objective": self._objective(s),
            "residual": residual,
            "nonzero": int(np.count_nonzero(self.x)),
            "at_bounds": int(((self.x == self.lower) | (self.x == self.upper)).sum()),
            "convex": self.convex,
        }
        about = f"0 ∈ Qx + b + ∂penalty(x) in {len(self.b)} variables"
        value = residual / unit if unit > 0 else 0.0
        return Certificate("optimality residual", value, tol, about, parts)


def _each(values: Any, n: int, name: str) -> np.ndarray:
    each = np.asarray(values, dtype=np.float64)
    if each.shape not in ((), (n,)):
        raise ValueError(f"{name} must be a number or {n} of them; its shape is {each.shape}")
    return np.array(np.broadcast_to(each, (n,)))


def _semidefinite(Q: Any, n: int) -> tuple[np.ndarray, str]:
    """Return a symmetric matrix and whether it was seen to be positive semidefinite."""
    Q = np.array(Q, dtype=np.float64, order="C")
    if Q.shape != (n, n) or not np.isfinite(Q).all():
        raise ValueError(f"Q must be a finite matrix of shape ({n}, {n}); its shape is {Q.shape}")
    size = float(np.abs(Q).max())
    if np.abs(Q - Q.T).max() > 1e-8 * size:
        raise ValueError("Q must be symmetric; Q − Qᵀ is not 0")
    if n > CHECKED:
        return Q, "not checked"
    shifted = Q + n * ROUNDING * max(size, TINY) * np.eye(n)
    if (Q.diagonal() < 0).any() or lapack.dpotrf(shifted, overwrite_a=1)[1] != 0:
        raise ValueError("Q must be positive semidefinite: it has a negative eigenvalue")
    return Q, "yes"


# -------------------------------------------------------------------- proximal steps
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
    run = _ProximalRun(Objective(f, grad), x0, tol, max_iter, time_limit, keep_points)
    return run.solution(prox, penalty or (lambda x: 0.0), step)


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


class _ProximalRun(Run):
    """Proximal steps from a point x with the value f, of step size t."""

    def solution(
        self, prox: Callable[[np.ndarray, float], Any], penalty: Any, step: float | None
    ) -> Solution:
        """Run from the start, with a first step size or one from the curvature there."""
        self.prox, self.penalty, self.x, self.f = prox, penalty, self.at.x, self.at.f
        self.t = _first_step(self.objective, self.x, self.at.g) if step is None else step
        status = self._solve()
        return self.conclude(self.x, status, self._prove(), step_size=self.t)

    def _solve(self) -> Status:
        """Take steps until x itself, not only a point ahead of it, is as good as stationary."""
        y, at_rest, speed, taken = self.x, True, 1.0, 0.0
        try:
            while True:
                found = self._step(y)
                if found is None:
                    return Status.NO_DESCENT
                new, f, residual = found
                self.trace.add(self.f + float(self.penalty(self.x)), residual, taken, self.x)
                if at_rest and residual <= self.tol:
                    return Status.OPTIMAL
                if stopped := self.limits.stopped(self.trace.steps):
                    return stopped
                ahead, faster = self._ahead(new, speed)
                uphill = float((y - new) @ (new - self.x)) > 0.0
                # a small gradient ahead of x counts only once it is that of x: come to rest
                at_rest = uphill or residual <= self.tol or not self._inside(ahead)
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

    def _prove(self) -> Certificate:
        """Prove that the generalised gradient at x is small, in float64 from x."""
        f, g = self.objective.value(self.x), self.objective.gradient(self.x)
        residual = L2.value(self.x - self._mapped(self.x - self.t * g)) / self.t
        value = f + float(self.penalty(self.x))
        parts = {"objective": value, "residual": residual, "step_size": self.t}
        about = f"x = prox(x − t∇f(x)) in {len(self.x)} variables; the minimum if f is convex"
        return Certificate("generalised gradient norm", residual, self.tol, about, parts)
