"""Sequential minimal optimisation on a growing set of active points.

One problem serves classification, regression and novelty detection:

    min ½ βᵀKβ − zᵀβ + ε‖β‖₁   subject to  lo ≤ β ≤ hi,  Σβ = s.

Steps touch only active points, whose kernel values lie in one compact matrix; the residuals of all
points are brought up to date, in float64, each time the worst violators among the rest are
activated. A point that never violates its condition never has its kernel row computed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import numpy as np

from mercer._clock import OutOfTimeError
from mercer._limits import UNLIMITED, Limits
from mercer._scratch import scratch
from mercer.gram import Gram, combine_rows
from mercer.margin import MarginProblem
from mercer.result import Status
from mercer.solvers import _smo_loops as loops
from mercer.solvers._turn_loops import take_turns

SECONDS_BETWEEN_CHECKS = 0.05  # compiled loops come back this often for Ctrl-C and the clock
HULLS_MEET = 1e-10  # squared distance of hulls, relative to k(x, x), that counts as none
ALL_ACTIVE = 1000  # so few points are all active from the start
# relative gain in one go of the loop that is only rounding: errors of many residuals cancel
NEGLIGIBLE = {np.dtype(np.float32): 1e-9, np.dtype(np.float64): 4e-16}
NEARLY = 0.5  # of the violation: points that come so near to violating are active too
FEW_ACTIVE = 2000  # points that may all stay active
SETTLED = 0.1  # of the violation: the margin by which points at bounds are settled
MANY_UNSETTLED = 0.75  # share of the active points beyond which none is dropped
DROPS = 20  # rounds in which points may be dropped: after them the set only grows, and is found
TURN_BYTES = 40  # for each pair of active points, if all of them are free
SECONDS_PER_OPERATION = 3e-10  # of Newton steps, about
NOT_GATHERED = np.empty(0, np.int64), np.empty(0, np.bool_)  # the compact matrix is filled already


@dataclass
class SmoState:
    """Where the solver stands: coefficients, residuals e = z − Kβ, and what it took."""

    beta: np.ndarray
    e: np.ndarray
    violation: float = np.inf
    steps: int = 0
    status: Status = Status.OPTIMAL

    def scaled(self, z: np.ndarray, ratio: float) -> SmoState:
        """Return a start for bounds times ``ratio``: points at a bound stay there."""
        return SmoState(self.beta * ratio, z - ratio * (z - self.e))


def solve_smo(
    K: Gram,
    index: np.ndarray,
    problem: MarginProblem,
    tol: float,
    limits: Limits,
    start: SmoState,
    all_active: int = ALL_ACTIVE,
    seconds: float = SECONDS_BETWEEN_CHECKS,
) -> SmoState:
    """Go on from a state until the largest violation of a pair of points is at most ``tol``.

    Parameters
    ----------
    K : Gram
        The Gram matrix of all points, of which the problem uses some.
    index : array of int, increasing
        The points of the problem.
    all_active : int
        Up to so many points are all active from the start.
    seconds : float
        Compiled loops come back this often to look at the limits, and at what they gain.
    """
    run = _SmoRun(K, index, problem, start, all_active, seconds)
    try:
        with limits.for_solving():
            run.solve(tol, limits)
    except KeyboardInterrupt:
        limits.interrupted = True
        run.status = Status.INTERRUPTED
    except OutOfTimeError:
        run.status = Status.TIME_LIMIT
    return SmoState(run.beta, run.e, run.violation, run.steps, run.status)


@dataclass
class _Active:
    """Coefficients, residuals and bounds of the active points."""

    beta: np.ndarray
    e: np.ndarray
    lo: np.ndarray
    hi: np.ndarray


class _SmoRun:
    """One solve; ``active`` lists the active points in the order of the compact matrix."""

    def __init__(
        self,
        K: Gram,
        index: np.ndarray,
        problem: MarginProblem,
        start: SmoState,
        all_active: int,
        seconds: float,
    ):
        self.K, self.index, self.problem = K, index, problem
        self.all_active, self.seconds = all_active, seconds
        self.beta = np.array(start.beta, dtype=np.float64)
        self.e = np.array(start.e, dtype=np.float64)
        self.steps, self.violation, self.status = start.steps, np.inf, Status.OPTIMAL
        self.diagonal = np.ascontiguousarray(K.diagonal()[index], dtype=K.dtype)
        self.eps = K.dtype.type(problem.eps)
        self.hard = bool(np.isinf(problem.hi).any())
        self.most_active = len(index)
        self.is_active = np.zeros(len(index), bool)
        self.active = np.empty(0, np.intp)
        self.compact = np.empty((0, 0), K.dtype)
        self.up, self.down = np.empty((2, len(index)))

    def solve(self, tol: float, limits: Limits) -> None:
        stalled = False
        self.most_active = max(64, int((limits.memory / self.K.dtype.itemsize) ** 0.5 / 1.6))
        self._activate(np.flatnonzero(self.problem.is_free(self.beta)))  # of a warm start
        for round_number in count():
            new = self._violators()
            if self.violation <= tol:
                return
            if not self.status.ok:
                return
            stop = limits.stopped(self.steps)
            if stop is not None or (stalled and not len(new)):
                self.status = stop or Status.STALLED
                return
            if round_number < DROPS and len(self.active) + len(new) > FEW_ACTIVE:
                self._drop_settled()
            self._activate(new)
            growing = 0.02 * len(self.active) < len(new) and not self.is_active.all()
            share = 0.3 if growing else (0.1 if len(new) else 0.0)
            inner = max(0.8 * tol, share * self.violation)
            stalled = self._optimise(inner, limits) == 0

    def _violators(self) -> np.ndarray:
        """Bring the violation up to date; return the worst points that are not active yet."""
        p, m = self.problem, len(self.index)
        loops.set_all_masks(self.beta, p.lo, p.hi, p.eps, self.up, self.down)
        high, low = self.e + self.up, self.e + self.down
        self.violation = float(high.max() - low.min())
        if m <= min(self.all_active, self.most_active):
            return np.flatnonzero(~self.is_active)
        middle = 0.5 * float(high.max() + low.min())
        # rows that cost much are asked for with more care
        most = int(np.clip(m // (48 if self.K.is_costly else 24), 64, 2048))
        most = min(most, self.most_active // 4)  # both sides fill half of the budget
        near = -NEARLY * min(self.violation, 0.2)  # who nearly violates is likely to do so next
        worst = [
            _largest(np.where(self.is_active, -np.inf, excess), most, near)
            for excess in (high - middle, middle - low)
        ]
        return np.unique(np.concatenate(worst))

    def _activate(self, new: np.ndarray) -> None:
        """Append points to the compact matrix."""
        if not len(new):
            return
        if len(self.active) + len(new) > self.most_active:
            self._forget(self.most_active // 2)
            new = new[: self.most_active // 2]
        old, total = len(self.active), len(self.active) + len(new)
        self.active = np.concatenate([self.active, new])
        self.is_active[new] = True
        if old == 0 and total == len(self.index):
            self.compact = self.K.among(self.index)
            return
        if total > len(self.compact):
            # room for half of the points at once: only rows that are written take memory, and
            # copying to a larger place would touch twice as much
            half = min(len(self.index) // 2, self.most_active)
            size = half if total <= half else min(len(self.index), max(total, int(1.5 * old)))
            grown = scratch((size, size), self.K.dtype, brief=True)
            grown[:old, :old] = self.compact[:old, :old]
            self.compact = grown
        block = self.K._block(self.index[new], self.index[self.active])
        self.compact[old:total, :total] = block
        self.compact[:old, old:total] = block[:, :old].T

    def _drop_settled(self) -> None:
        """Make points inactive that rest at 0 or a bound by a margin, if these are many.

        Where classes overlap most support vectors do: steps and memory are for the others.
        """
        high, low = (self.e + self.up)[self.active], (self.e + self.down)[self.active]
        margin = SETTLED * min(self.violation, 1.0)
        middle = 0.5 * (float((self.e + self.up).max()) + float((self.e + self.down).min()))
        unsettled = np.flatnonzero((high > middle - margin) | (low < middle + margin))
        if len(unsettled) < MANY_UNSETTLED * len(self.active):
            self._keep(unsettled)

    def _forget(self, most: int) -> None:
        """Keep only free points active: the compact matrix has reached its budget."""
        self._keep(np.flatnonzero(self.problem.is_free(self.beta)[self.active])[-most:])

    def _keep(self, kept: np.ndarray) -> None:
        """Keep some of the active points."""
        self.compact[: len(kept), : len(kept)] = self.compact[np.ix_(kept, kept)]
        self.active = self.active[kept]
        self.is_active[:] = False
        self.is_active[self.active] = True

    def _optimise(self, tol: float, limits: Limits) -> int:
        """Optimise the active points to a tolerance, then update all residuals."""
        a = self.active
        at = _Active(self.beta[a], self.e[a], self.problem.lo[a], self.problem.hi[a])
        # Newton steps take a factor of the free points, in float64, and room for pairwise ones
        by_turns = TURN_BYTES * len(a) ** 2 <= limits.memory
        advance = self._turns(at, tol) if by_turns else self._pairs(at, tol)
        size = abs(_dual_value(self.beta, self.problem.z, self.e, self.problem.eps))
        taken, stop = 0, None
        try:
            while stop is None:
                before = at.beta.copy(), at.e.copy()
                left = UNLIMITED if limits.max_iter < 0 else limits.max_iter - self.steps - taken
                steps, done = advance(left)
                taken += steps
                if done:
                    break
                stop = limits.stopped(self.steps + taken)
                # steps that gain nothing but rounding would go on for ever
                gain = _dual_gain(*before, at.beta, at.e, self.problem.eps)
                size = max(size, gain)
                if gain <= NEGLIGIBLE[self.K.dtype] * size:
                    self.status = stop = stop or Status.STALLED
                if self.hard and hulls_meet(at.beta, self.diagonal[a], self._among_active):
                    self.status = stop = Status.NOT_SEPARABLE
        finally:  # Ctrl-C keeps what has been reached
            self._set_beta(at.beta)
            self.steps += taken
        return taken

    def _turns(self, at: _Active, tol: float) -> Callable[[int], tuple[int, bool]]:
        """Return what takes turns of pairwise and Newton steps: (steps, whether that is all)."""
        p, a, m = self.problem, self.active, len(self.active)
        fixed = self.compact.view()
        fixed.flags.writeable = False
        diagonal = self.diagonal[a].astype(np.float64)
        z = at.e + self._among_active(at.beta)  # as if there were no other points
        total, room = float(at.beta.sum()), scratch((m * m,), self.K.dtype, brief=True)
        operations = self.seconds / SECONDS_PER_OPERATION

        def advance(most: int) -> tuple[int, bool]:
            steps, violation, ended = take_turns(
                fixed, self.compact, diagonal, z, at.lo, at.hi, p.eps, total, tol, at.beta, at.e,
                room, most, operations,
            )  # fmt: skip
            return steps, violation <= tol or ended or steps >= most

        return advance

    def _pairs(self, at: _Active, tol: float) -> Callable[[int], tuple[int, bool]]:
        """Return what takes pairwise steps."""
        a, dtype = self.active, self.K.dtype
        diagonal, up, down = (v[a].astype(dtype) for v in (self.diagonal, self.up, self.down))
        at.e = at.e.astype(dtype)
        chunk = max(1, int(self.seconds / (3e-9 * len(a) + 1e-6)))

        def advance(most: int) -> tuple[int, bool]:
            steps, violation = loops.run(
                self.compact, diagonal, at.e, up, down, at.beta, at.lo, at.hi, self.eps, tol,
                min(chunk, most), self.compact, *NOT_GATHERED,
            )  # fmt: skip
            return steps, violation <= tol or steps < chunk

        return advance

    def _among_active(self, delta: np.ndarray) -> np.ndarray:
        """Return K δ for coefficients of the active points."""
        used = np.flatnonzero(delta)
        return combine_rows(self.compact, used, delta[used], np.arange(len(delta)))

    def _set_beta(self, beta: np.ndarray) -> None:
        """Store new coefficients of the active points and what they do to the residuals."""
        a = self.active
        change = beta - self.beta[a]
        self.beta[a] = beta
        moved = np.flatnonzero(change)
        if not len(moved):
            return
        points, change = self.index[a[moved]], change[moved]
        if self.K.keeps_rows:  # long runs of stored rows are read at the speed of memory
            self.e -= self.K.combine(points, change, self.index)
            return
        self.e[a] -= combine_rows(self.compact, moved, change, np.arange(len(a)))
        rest = np.flatnonzero(~self.is_active)
        if len(rest):
            self.e[rest] -= self.K.combine(points, change, self.index[rest])


def _dual_value(beta: np.ndarray, z: np.ndarray, e: np.ndarray, eps: float) -> float:
    """Return zᵀβ − ε‖β‖₁ − ½βᵀKβ with Kβ = z − e."""
    return float(0.5 * (beta @ (z + e)) - eps * np.abs(beta).sum())


def _dual_gain(
    beta: np.ndarray, e: np.ndarray, new_beta: np.ndarray, new_e: np.ndarray, eps: float
) -> float:
    """Return what a change δ of some coefficients gains: δᵀ(e + e')/2 − ε times that of ‖β‖₁.

    Kδ = e − e', so that this holds whatever the other coefficients are.
    """
    middle = 0.5 * (e.astype(np.float64) + new_e)
    return float((new_beta - beta) @ middle - eps * (np.abs(new_beta).sum() - np.abs(beta).sum()))


def hulls_meet(
    beta: np.ndarray, diagonal: np.ndarray, product: Callable[[np.ndarray], np.ndarray]
) -> bool:
    """Tell whether β, which grows without bound, shows that the classes' hulls meet.

    Coefficients of either sign, divided by their sum, are a point of a class's hull; the squared
    distance of the two is known no better than rounding of k(x, x). What a long run has left in
    Σβ and in its residuals plays no part: ``product`` returns K times the coefficients.
    """
    sides = np.maximum(beta, 0.0), np.maximum(-beta, 0.0)
    totals = [float(side.sum()) for side in sides]
    if not all(0.0 < total < np.inf for total in totals):
        return False
    delta = sides[0] / totals[0] - sides[1] / totals[1]
    return float(delta @ product(delta)) <= HULLS_MEET * float(diagonal.max())


def _largest(values: np.ndarray, count: int, least: float) -> np.ndarray:
    """Return the positions of the largest values above ``least``, at most ``count``."""
    if len(values) > count:
        positions = np.argpartition(-values, count)[:count]
    else:
        positions = np.arange(len(values))
    return positions[values[positions] > least]
