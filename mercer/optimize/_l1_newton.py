"""A smooth risk of linear functions with λ‖θ‖₁: Newton's method on a growing set of columns.

min R(Aθ) + ½ Σ μⱼ θⱼ² + Σ λⱼ |θⱼ|. The risk is replaced by its parabola at θ; what is then left, a
lasso on the Hessian of the columns of the set, is solved by sweeps that find the signs and by
equations that are exact once these are known. Columns enter the set when |∂R/∂θⱼ| ≤ λⱼ fails.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer._array import allocate
from mercer._floats import EPS, TINY
from mercer._limits import Limits
from mercer._threads import threads_for
from mercer.losses import Curvature, Risk
from mercer.optimize._loops import column_sweeps, sweeps
from mercer.optimize._run import ARMIJO_SHARE
from mercer.optimize._signed import SIGN_TURNS, signed_steps, solve_signed
from mercer.result import Certificate, Solution, Status

ENTERING_COLUMNS = 20  # columns that enter at least, if so many violate their condition
INNER_SHARE = 0.1  # of the tolerance: the gain at which steps on a set end
SHORTEST_STEP = 1e-8  # part of a step
HIDDEN_GAIN = 1e-13  # gain, relative to the risk of θ = 0, that rounding may hide
PARABOLA_TURNS = 30  # of sweeps and equations, for one parabola
SWEEPS = 20  # in a turn
TURN_PRODUCTS = 2e8  # multiplications in a turn
SWEPT_TURNS = 2  # turns after which columns enter one by one, where they are few
ENTERED_COLUMNS = 300  # up to which they do
MOST_ENTRIES = 5  # of each column, on average
MOST_SWEEPS = 400  # over sparse columns, for one parabola
HESSIAN_COLUMNS = 1000
ROUGH = 0.1  # share of the slopes that the first parabolas may leave
SETTLED = 1e-12  # what is left of the slopes of a parabola that is solved
IDLE_STEPS = 3  # steps that bring nothing before a set is left


class L1Problem(NamedTuple):
    """Columns, risk and penalties; a column with λ = 0 is free and always in the set.

    A constant column that is free makes the slopes of the risk balance, which a point of the dual
    must do, too: ``balanced``.
    """

    A: Any  # (n, m), dense or sparse; its columns have about the same size
    risk: Risk
    l1: np.ndarray  # (m,)
    ridge: np.ndarray  # (m,)
    balanced: bool

    def take(self, index: np.ndarray) -> Any:
        """Return some columns."""
        return self.A[:, index]

    def penalty(self, theta: np.ndarray) -> float:
        """Return ½ Σ μ θ² + Σ λ|θ|."""
        squares = 0.5 * float(self.ridge @ (theta**2).sum(axis=1))
        return squares + float(self.l1 @ np.abs(theta).sum(axis=1))

    def gap(self, theta: np.ndarray, G: np.ndarray) -> float:
        """Return the duality gap at G = Aθ, by the better of two dual points.

        Both are the slopes U of the risk: shrunk until |Aᵀu + μθ| ≤ λ, or, where all columns have a
        ridge, as they are.
        """
        U = self.risk.dual_point(self.risk.slopes(G), self.balanced)
        c, l1, ridge = np.asarray(self.A.T @ U), self.l1[:, None], self.ridge[:, None]
        held = np.abs(c + ridge * theta)
        held[self.l1 == 0.0] = 0.0  # a free column is in balance
        s = min(1.0, float((l1 / np.maximum(held, TINY))[self.l1 > 0.0].min(initial=1.0)))
        kinks = l1 * np.abs(theta) + s * theta * (c + ridge * theta)
        kinks[self.l1 == 0.0] = 0.0
        squares = 0.5 * ridge * theta**2 * (1.0 - s) ** 2
        shrunk = float(self.risk.young(G, s * U).sum()) + float(kinks.clip(0.0).sum())
        shrunk += float(squares.sum())
        curved = (self.ridge > 0.0) | (self.l1 == 0.0)
        if s == 1.0 or not curved.all():
            return shrunk
        over = np.sign(c) * np.maximum(np.abs(c) - l1, 0.0)
        apart = (over + ridge * theta) ** 2 / (2.0 * np.maximum(ridge, TINY))
        terms = np.where(l1 > 0.0, l1 * np.abs(theta) + theta * (c - over) + apart, 0.0)
        return min(shrunk, float(self.risk.young(G, U).sum()) + float(terms.clip(0.0).sum()))


class L1Newton:
    """Minimises an `L1Problem`; θ is (m, k).

    Up to ``hessian_columns`` in the set their Hessian is cheap, and its equations are exact.
    """

    def __init__(self, problem: L1Problem, hessian_columns: int = HESSIAN_COLUMNS):
        self.problem, self.hessian_columns = problem, hessian_columns
        (n, m), k = problem.A.shape, problem.risk.n_outputs
        if sp.issparse(problem.A):
            self.problem = problem._replace(A=sp.csc_array(problem.A))
        self.theta, self.G = np.zeros((m, k)), np.zeros((n, k))
        self.null = max(problem.risk.value(self.G), TINY)
        self.index = np.flatnonzero(problem.l1 == 0.0)
        self.steps = 0

    def solve(self, tol: float, limits: Limits) -> Status:
        """Step until the gap, relative to the risk at 0, is at most ``tol``."""
        try:
            return self._solve(tol, limits)
        except KeyboardInterrupt:
            limits.interrupt()
            return Status.INTERRUPTED

    def _solve(self, tol: float, limits: Limits) -> Status:
        inner = INNER_SHARE * tol
        while True:
            with threads_for(self._largest_product()):
                stopped = self._descend(inner, limits) if len(self.index) else None
            self.G = np.asarray(self.problem.A @ self.theta)
            if self.problem.gap(self.theta, self.G) <= tol * self.null:
                return Status.OPTIMAL
            new = self._violators()
            if stopped or (not len(new) and inner < EPS):
                return stopped or Status.ROUNDING
            inner = inner if len(new) else 0.01 * inner
            self.index = np.concatenate([self.index, new])

    def _largest_product(self) -> float:
        """Return the multiplications of a Hessian of the set, or of its factor."""
        n, m, k = len(self.G), float(len(self.index)), self.G.shape[1]
        return max(n * m * m, (k * m) ** 3 / 3.0)

    def _violators(self) -> np.ndarray:
        """Return the columns outside whose condition fails, the worst of them, up to a number."""
        slopes = np.asarray(self.problem.A.T @ self.problem.risk.slopes(self.G))
        excess = np.abs(slopes).max(axis=1) - self.problem.l1 * (1.0 + 1e-12)
        excess[self.index] = -np.inf
        found = np.flatnonzero(excess > 0.0)
        count = max(ENTERING_COLUMNS, len(found) // 4, len(self.index))
        return found[np.argsort(-excess[found])[:count]]

    # ------------------------------------------------------------ one set of columns
    def _descend(self, tol: float, limits: Limits) -> Status | None:
        """Step until a step promised less than ``tol``; return why it ended early, if so."""
        A, idle = self.problem.take(self.index), 0
        value = self._value(self.theta, self.G)
        while idle <= IDLE_STEPS:
            stopped = limits.stopped(self.steps)
            if stopped:
                return stopped
            target, promised = self._parabola(A, limits)
            lower = self._moved(A, target, promised, value)
            self.steps += 1
            if promised <= tol * self.null:  # what was promised is the square of what was wrong
                return None
            idle = 0 if lower < value - HIDDEN_GAIN * self.null else idle + 1
            value = min(lower, value)
        return None

    def _value(self, theta: np.ndarray, G: np.ndarray) -> float:
        return self.problem.risk.value(G) + self.problem.penalty(theta)

    def _moved(self, A: Any, target: np.ndarray, promised: float, value: float) -> float:
        """Go as far towards a target as it pays; return the value there."""
        change = np.asarray(A @ (target - self.theta[self.index]))
        length, hidden = 1.0, promised <= HIDDEN_GAIN * self.null
        while length > SHORTEST_STEP:
            theta = self.theta.copy()
            here = theta[self.index]
            theta[self.index] = target if length == 1.0 else here + length * (target - here)
            G = self.G + length * change
            lower = self._value(theta, G)
            enough = value - ARMIJO_SHARE * length * promised
            if lower <= enough or (hidden and lower <= value + HIDDEN_GAIN * self.null):
                self.theta, self.G = theta, G
                return lower
            length *= 0.5
        return value

    def _parabola(self, A: Any, limits: Limits) -> tuple[np.ndarray, float]:
        """Return the minimum of the parabola with its kinks, and how much lower it promises."""
        problem, start = self.problem, self.theta[self.index]
        l1, ridge = problem.l1[self.index], problem.ridge[self.index]
        slopes = np.asarray(A.T @ problem.risk.slopes(self.G)) + ridge[:, None] * start
        curve = problem.risk.curvature(self.G)
        many = A.shape[1] > self.hessian_columns
        if many and sp.issparse(A) and curve.n_outputs == 1 and 2 * A.nnz < A.shape[1] ** 2:
            model: Any = _SparseParabola(A, curve.entry(0, 0), slopes[:, 0], start[:, 0], l1, ridge)
        else:
            H = _hessian(A, curve, ridge, l1 == 0.0)
            kinks = np.tile(l1, start.shape[1])
            model = _Parabola(H, slopes.T.ravel(), start.T.ravel(), kinks)
        x = model.solve(limits)
        target = x.reshape(start.T.shape).T
        linear = float((slopes * (target - start)).sum())
        return target, -linear - float(model.l1 @ (np.abs(x) - np.abs(model.start)))

    def solution(self, tol: float, limits: Limits, about: str, unit: float = 1.0) -> Solution:
        """Solve, and prove what is returned from θ alone; its figures are in this unit."""
        status = self.solve(tol, limits)
        G = np.asarray(self.problem.A @ self.theta)
        primal, gap = self._value(self.theta, G), self.problem.gap(self.theta, G)
        figures = {
            "primal": primal * unit,
            "dual": (primal - gap) * unit,
            "gap": gap * unit,
            "relative_gap": gap / self.null,
            "n_nonzero": int(np.count_nonzero(self.theta[self.problem.l1 > 0.0])),
            "steps": self.steps,
        }
        proof = Certificate("relative duality gap", gap / self.null, tol, about, figures)
        status = Status.OPTIMAL if proof.ok else (Status.ROUNDING if status.ok else status)
        return Solution(self.theta, status, proof, stats={"steps": max(self.steps, 1)})


def _hessian(A: Any, curve: Curvature, ridge: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Return the Hessian of all coefficients, output by output.

    Where several outputs share a free column, adding the same to all of them changes nothing: they
    are given a curvature there, which moves no solution (that has a mean of 0).
    """
    m, k = A.shape[1], curve.n_outputs
    H, each = allocate((k, m, k, m), np.float64), np.arange(m)
    for c in range(k):
        for d in range(c + 1):
            sign = 1.0 if c == d else -1.0
            H[c, :, d] = sign * _weighted(A, sign * curve.entry(c, d))
            H[d, :, c] = H[c, :, d].T
        H[c, each, c, each] += ridge
    if k > 1:
        H[:, free, :, free] += 1.0 / k
    return H.reshape(k * m, k * m)


def _weighted(A: Any, h: np.ndarray) -> np.ndarray:
    """Return Aᵀ diag(h) A for h ≥ 0."""
    if sp.issparse(A):
        return (A.T @ (sp.diags_array(h) @ A)).toarray()
    B = A * np.sqrt(h)[:, None]
    return B.T @ B


class _SparseParabola:
    """The same on columns as they are: a sweep costs their entries, and no matrix is made."""

    def __init__(
        self,
        A: Any,
        h: np.ndarray,
        g: np.ndarray,
        start: np.ndarray,
        l1: np.ndarray,
        ridge: np.ndarray,
    ):
        self.A, self.h, self.g, self.start, self.l1, self.ridge = A, h, g, start, l1, ridge
        self.curve = np.asarray(A.power(2).T @ h) + ridge

    def solve(self, limits: Limits) -> np.ndarray:
        """Sweep until what is left is a small share of what was wrong at the start."""
        x, v, A = self.start.copy(), np.zeros(self.A.shape[0]), self.A
        wrong = _free_slopes(self.g, x, self.l1)
        first = float(wrong[self.curve > 0.0].max(initial=0.0))
        unit = max(float(np.abs(self.g).max(initial=0.0)), float(self.l1.max(initial=0.0)), TINY)
        goal = max(SETTLED * unit, min(ROUGH, first / unit) * first)
        turn = int(np.clip(TURN_PRODUCTS / max(A.nnz, 1), 1, SWEEPS))
        given = (A.data, A.indices, A.indptr, self.h, self.g, x, self.start, v)
        for _ in range(MOST_SWEEPS // turn):
            if column_sweeps(*given, self.curve, self.l1, self.ridge, turn, goal) < turn:
                break
            if limits.stopped(0):
                break
        return x


class _Parabola:
    """½(x − x₀)ᵀH(x − x₀) + g·(x − x₀) + Σ λ|x|."""

    def __init__(self, H: np.ndarray, g: np.ndarray, start: np.ndarray, l1: np.ndarray):
        self.H, self.g, self.start, self.l1 = H, g, start, l1
        self.linear = g - H @ start  # the slope at 0
        self.unit = max(float(np.abs(g).max(initial=0.0)), float(l1.max(initial=0.0)), TINY)

    def solve(self, limits: Limits) -> np.ndarray:
        """Find signs by sweeps and coefficients by equations, in turns, as far as it is worth.

        What is left may be a share of what was wrong at the start that falls with it, so that steps
        converge as fast as Newton's do in the end.
        """
        x, free = self.start.copy(), np.full(len(self.start), np.inf)
        turn = int(np.clip(TURN_PRODUCTS / max(len(x), 1) ** 2, 1, SWEEPS))
        first = self._residual(x)
        goal = max(SETTLED * self.unit, min(ROUGH, first / self.unit) * first)
        for place in range(PARABOLA_TURNS):
            s = self.H @ x + self.linear
            sweeps(self.H, s, x, self.l1, -free, free, turn, 0.1 * goal)
            if self._residual(x) <= goal or limits.stopped(0):
                break
            x = self._exact(x)
            if self._residual(x) <= goal:
                break
            if place == SWEPT_TURNS and len(x) <= ENTERED_COLUMNS:
                return self._one_by_one(x, goal, limits)
        return x

    def _one_by_one(self, x: np.ndarray, goal: float, limits: Limits) -> np.ndarray:
        """Let the steepest column enter, solve, and so on; sweeps are lost among like ones."""
        for _ in range(MOST_ENTRIES * len(x)):
            s = self.H @ x + self.linear
            excess = np.where((x == 0.0) & (self.H.diagonal() > 0.0), np.abs(s) - self.l1, 0.0)
            steepest = int(excess.argmax())
            if excess[steepest] > 0.0:
                move = np.sign(s[steepest]) * excess[steepest] / self.H[steepest, steepest]
                x[steepest] = -move
            x = self._exact(x)
            if excess[steepest] <= goal or limits.stopped(0):
                break
        return x

    def _exact(self, x: np.ndarray) -> np.ndarray:
        """Return the solution for these signs, or for those that are left on the way to it.

        Columns that become 0 stay so until the next sweeps: among columns that are nearly alike a
        sweep would bring them back at once, and move nothing.
        """
        for _ in range(SIGN_TURNS):
            lower = self._towards(x)
            if lower is None:
                break
            settled = np.array_equal(lower != 0.0, x != 0.0)
            x = lower
            if settled:
                break
        return x

    def _towards(self, x: np.ndarray) -> np.ndarray | None:
        """Return the solution for these signs, or a point on the way to it; None if not lower."""
        used = np.flatnonzero((x != 0.0) | ((self.l1 == 0.0) & (self.H.diagonal() > 0.0)))
        H, old, l1 = self.H[np.ix_(used, used)], x[used], self.l1[used]
        exact = solve_signed(H, -self.linear[used], l1, old)
        if exact is None:
            return None
        here = self._value(H, old, used)
        for new in signed_steps(old, exact, l1 > 0.0):
            if self._value(H, new, used) <= here:
                there = np.zeros_like(x)
                there[used] = new
                return there
        return None

    def _value(self, H: np.ndarray, x: np.ndarray, used: np.ndarray) -> float:
        kinks = float(self.l1[used] @ np.abs(x))
        return 0.5 * float(x @ (H @ x)) + float(self.linear[used] @ x) + kinks

    def _residual(self, x: np.ndarray) -> float:
        """Return the largest slope that no kink holds."""
        s = self.H @ x + self.linear
        pull = _free_slopes(s, x, self.l1)
        return float(pull[self.H.diagonal() > 0.0].max(initial=0.0))


def _free_slopes(s: np.ndarray, x: np.ndarray, l1: np.ndarray) -> np.ndarray:
    """Return how much of each slope no kink holds."""
    return np.where(x != 0.0, np.abs(s + l1 * np.sign(x)), np.abs(s) - l1)
