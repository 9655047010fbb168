"""Margin problems without an offset: bounds, and no condition on the sum of the coefficients.

    min ½ βᵀKβ − zᵀβ + ε‖β‖₁   subject to  lo ≤ β ≤ hi

Coordinate steps on a working set find out which coefficients are free, Newton steps solve for
these.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse.linalg import cg

from mercer._compiled import compiled
from mercer._floats import LEAST_DIVISOR
from mercer._limits import Limits
from mercer.gram import Gram
from mercer.margin import MarginProblem
from mercer.result import Status
from mercer.solvers.manifold_gap import manifold_gap
from mercer.solvers.margin import MarginSolution
from mercer.solvers.smo import SECONDS_BETWEEN_CHECKS, SmoState

WORKING = 1500  # points of a working set
STEPS_EACH = 5  # coordinate steps for each of its points between Newton steps
NEWTON_STEPS = 10  # Newton steps in a row
DIRECT = 2000  # free points; for more the system is solved by conjugate gradients
CONJUGATE_STEPS = 50  # of their steps
SETTLED_GAP = 1e-14  # relative gap at which nothing but rounding is left
IDLE_ROUNDS = 3  # rounds of each working set that bring nothing before the solve ends
NEGLIGIBLE = 1e-15  # relative gain of a round that is only rounding


def solve_box(
    K: Gram,
    problem: MarginProblem,
    *,
    tol: float = 1e-6,
    limits: Limits | None = None,
    working: int = WORKING,
    direct: int = DIRECT,
) -> tuple[np.ndarray, Status, int]:
    """Return β, how the solve ended, and the number of steps; the proof is the caller's.

    Parameters
    ----------
    K : Gram of shape (n, n)
        The training Gram matrix, float64.
    problem : MarginProblem
        Targets, finite bounds and the tube; its sum is not asked for.
    tol : float, default=1e-6
        The relative duality gap at which the solve is done; problems of one working set go on to
        rounding.
    working, direct : int
        Points of a working set, and free points up to which their system is factored.
    """
    limits = limits or Limits()
    run = _BoxRun(K, problem, working, direct)
    status = None
    while status is None:
        try:
            status = limits.stopped(run.steps) or run.round(tol, limits)
        except KeyboardInterrupt:
            limits.interrupted = True
    return run.beta, status, run.steps


def solve_without_offset(
    K: Gram,
    index: np.ndarray,
    problem: MarginProblem,
    *,
    tol: float = 1e-3,
    limits: Limits | None = None,
    about: str = "",
    **ignored: Any,
) -> MarginSolution:
    """Solve a margin problem on some points of a Gram matrix without an offset, as `solve_margin`.

    It has no warm start, and the matrix is float64 from the beginning.
    """
    part = K.in_double() if len(index) == K.shape[0] else K.in_double().restrict(index)
    beta, status, steps = solve_box(part, problem, tol=tol, limits=limits)
    f = part @ beta
    norm2 = float(beta @ f)
    proof = manifold_gap(
        beta,
        problem.z - f,
        problem,
        squared_norm=norm2,
        graph=0.0,
        apart=0.0,
        fit_intercept=False,
        tolerance=tol,
        about=about,
        extra={"steps": steps, "storage": K.storage},
    )
    state = SmoState(beta, problem.z - f)
    return MarginSolution(beta, status, proof, 0.0, {"steps": steps}, state, norm2)


class _BoxRun:
    def __init__(self, K: Gram, problem: MarginProblem, working: int, direct: int):
        self.K, self.p, self.working, self.direct = K, problem, working, direct
        self.n = K.shape[0]
        self.beta, self.e = np.zeros(self.n), problem.z.astype(np.float64)
        # a point without a norm goes straight to a bound
        self.diagonal = np.maximum(K.diagonal().astype(np.float64), LEAST_DIVISOR)
        self.steps, self.value, self.gap, self.idle = 0, 0.0, np.inf, 0
        self.small = self.n <= working
        # values that are stored need no working set
        self.whole = np.ascontiguousarray(K) if K.holds_array or self.small else None

    def round(self, tol: float, limits: Limits) -> Status | None:
        """Improve one working set; return a status if that was the last one."""
        if self.whole is not None:
            self.e = self.p.z - self.whole @ self.beta
        v = np.empty(self.n)
        _set_violations(self.e, self.beta, self.p.lo, self.p.hi, self.p.eps, v)
        gap, value = self._gap(), self._objective(self.beta, self.e)
        if gap <= (SETTLED_GAP if self.small else 0.5 * tol):
            return Status.OPTIMAL
        # where rounding hides what the objective gains, the gap still tells; what only goes to and
        # fro is no progress, so that both are held against the best so far
        gained = self.value - value > NEGLIGIBLE * abs(value) or gap < 0.9 * self.gap
        self.idle = 0 if gained else self.idle + 1
        self.value, self.gap = min(self.value, value), min(self.gap, gap)
        if self.idle >= IDLE_ROUNDS * (1 + self.n // self.working):
            return Status.STALLED
        if self._coordinates(self._working(np.abs(v)), 0.1 * float(np.abs(v).max()), limits):
            self._newton()
        return None

    def _gap(self) -> float:
        figures = self.p.figures(self.beta, self.e, 0.0)
        primal = 0.5 * figures.squared_norm + figures.loss
        return max(figures.gap, 0.0) / max(abs(primal), LEAST_DIVISOR)

    def _objective(self, beta: np.ndarray, e: np.ndarray) -> float:
        return float(self.p.eps * np.abs(beta).sum() - 0.5 * (beta @ (self.p.z + e)))

    def _working(self, violation: np.ndarray) -> np.ndarray:
        if self.whole is not None:
            return np.arange(self.n)
        # free points move along with those that violate their conditions
        order = np.argsort(-violation - 1e-30 * self.p.is_free(self.beta), kind="stable")
        return np.sort(order[: self.working])

    def _coordinates(self, index: np.ndarray, tol: float, limits: Limits) -> bool:
        """Take coordinate steps inside a working set; tell whether they reached the tolerance."""
        p, K = self.p, self.whole
        if K is None:
            K = np.ascontiguousarray(self.K._block(index, index), dtype=np.float64)
        beta, e = self.beta[index], self.e[index]
        chunk = max(1, int(SECONDS_BETWEEN_CHECKS / (4e-9 * len(index) + 1e-6)))
        left = STEPS_EACH * len(index) + 100
        try:
            while left > 0 and limits.stopped(self.steps) is None:
                most = chunk if limits.max_iter < 0 else min(chunk, limits.max_iter - self.steps)
                room = min(most, left)
                taken, _ = _take_steps(
                    K, self.diagonal[index], e, beta, p.lo[index], p.hi[index], p.eps, tol, room
                )
                self.steps, left = self.steps + taken, left - taken
                if taken < room:
                    return True
            return self.small  # Newton steps help where coordinate steps are slow
        finally:  # Ctrl-C keeps what has been reached
            self._set(index, beta)

    def _set(self, index: np.ndarray, beta: np.ndarray) -> None:
        change = beta - self.beta[index]
        self.beta[index] = beta
        moved = np.flatnonzero(change)
        if len(moved):
            self.e -= self.K.combine(index[moved], change[moved], np.arange(self.n))

    def _newton(self) -> None:
        """Solve K_FF Δ = e_F ∓ ε for the free points; what leaves its interval is held there."""
        for _ in range(NEWTON_STEPS):
            free = np.flatnonzero(self.p.is_free(self.beta))
            if not len(free):
                return
            sign = np.sign(self.beta[free])
            step = self._solve(free, self.e[free] - self.p.eps * sign)
            if step is None or not self._take(free, sign, step):
                return

    def _take(self, free: np.ndarray, sign: np.ndarray, step: np.ndarray) -> bool:
        """Take the step bent at the bounds, or cut at the first; tell whether to go on."""
        p, old = self.p, self.beta[free]
        low = np.where(sign > 0, np.maximum(p.lo[free], 0.0), p.lo[free])
        high = np.where(sign < 0, np.minimum(p.hi[free], 0.0), p.hi[free])
        here = self._objective(self.beta, self.e)
        bound = np.where(step > 0, high, low)
        ratio = np.divide(bound - old, step, out=np.full(len(old), np.inf), where=step != 0)
        for length in (1.0, min(1.0, float(ratio.min()))):
            wanted = np.clip(old + length * step, low, high)
            wanted = np.where(ratio <= length, bound, wanted)
            before = self.beta, self.e
            self.beta, self.e = self.beta.copy(), self.e.copy()
            self._set(free, wanted)
            if self._objective(self.beta, self.e) < here + NEGLIGIBLE * abs(here):
                return bool((ratio <= length).any())
            self.beta, self.e = before
        return False

    def _solve(self, points: np.ndarray, target: np.ndarray) -> np.ndarray | None:
        """Solve K Δ = target; None if K is not positive definite on these points."""
        if len(points) > self.direct:  # some conjugate steps are a good direction too
            return cg(self.K.restrict(points), target, rtol=1e-6, maxiter=CONJUGATE_STEPS)[0]
        A = np.array(self.K._block(points, points), dtype=np.float64)
        A[np.diag_indices_from(A)] += 1e-13 * max(float(np.trace(A)), 0.0)
        try:
            step = cho_solve(cho_factor(A, overwrite_a=True, check_finite=False), target)
        except LinAlgError:
            return None
        return step if np.isfinite(step).all() else None


@compiled()
def _set_violations(e, beta, lo, hi, eps, out):
    """Write how much each coordinate's condition is violated; positive: β should grow."""
    for k in range(len(e)):
        up = e[k] - eps if beta[k] >= 0 else e[k] + eps
        down = e[k] - eps if beta[k] > 0 else e[k] + eps
        out[k] = 0.0
        if beta[k] < hi[k] and up > 0:
            out[k] = up
        elif beta[k] > lo[k] and down < 0:
            out[k] = down


@compiled()
def _take_steps(K, diagonal, e, beta, lo, hi, eps, tol, max_steps):
    """Take the step that gains most, again and again; return the steps and the violation left.

    β and e = z − Kβ are changed in place.
    """
    m, worst = len(beta), 0.0
    v = np.empty(m)
    for step in range(max_steps + 1):
        _set_violations(e, beta, lo, hi, eps, v)
        worst, best, i = 0.0, 0.0, -1
        for k in range(m):
            worst = max(worst, abs(v[k]))
            gain = v[k] * v[k] / diagonal[k]
            if gain > best:
                best, i = gain, k
        if worst <= tol or i < 0 or step == max_steps:
            return step, worst
        x = beta[i] + e[i] / diagonal[i]
        size = max(abs(x) - eps / diagonal[i], 0.0)
        x = min(max(size if x > 0 else -size, lo[i]), hi[i])
        change = x - beta[i]
        beta[i] = x
        if change == 0.0:  # the step is below rounding
            return step, worst
        for k in range(m):
            e[k] -= change * K[i, k]
    return max_steps, worst
