"""Coordinate descent for a quadratic with a separable penalty: lasso, elastic net, boxes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import lapack

from mercer._floats import TINY
from mercer.optimize._coordinate_loops import sweeps
from mercer.optimize._run import Limits, Trace
from mercer.optimize.problem import as_point
from mercer.result import Certificate, Solution, Status

TURN = 2**25  # multiplications before the loop comes back to look at the clock
CHECKED = 3000  # variables up to which convexity is checked by a factorisation
ROUNDING = 1e-12  # negative eigenvalues below this share of the largest entry are rounding


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
    run = _Run(Q, b, l1, lower, upper, x0)
    limits, trace = Limits(tol, max_iter, time_limit), Trace()
    status = run.solve(limits, trace)
    proof = run.prove(limits.tol)
    stats = {"iterations": run.n_sweeps, "trace": trace.arrays()}
    return Solution(run.x, Status.OPTIMAL if proof.ok else status, proof, stats=stats, state=run.x)


class _Run:
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

    def solve(self, limits: Limits, trace: Trace) -> Status:
        """Sweep in turns; the slopes are computed afresh before each."""
        turn = max(1, TURN // len(self.b) ** 2)
        enough = limits.tol * float(np.abs(self.b).max())
        try:
            while True:
                s = self.Q @ self.x + self.b
                residual, unit = self._residual(s)
                trace.add(self._objective(s), residual, 1.0, self.x)
                if residual <= limits.tol * unit:
                    return Status.OPTIMAL
                if stopped := limits.stopped(self.n_sweeps):
                    return stopped
                n = min(turn, limits.max_iter - self.n_sweeps)
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
