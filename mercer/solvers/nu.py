"""ν-problems: the price of ‖β‖₁ is looked for, along which margin problems are solved.

‖β‖₁ of the margin problem at a price p is a monotone function of p, piecewise linear, with jumps
where the solution is not unique. Two prices between which it passes the size that is asked for
have solutions whose mixture has that size exactly; the mixture tells the price of the next try.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._floats import LEAST_DIVISOR
from mercer._limits import Limits
from mercer.certify import nu_gap
from mercer.gram import Gram
from mercer.margin import MarginProblem, NuProblem
from mercer.result import Certificate, Status
from mercer.solvers.coarse import POINTS, spread_points
from mercer.solvers.margin import LARGE, Engine, MarginSolution, Sizes, only_stationary
from mercer.solvers.smo import SmoState

TRIES = 200  # of a price
STEP = 4.0  # factor between prices until there are two with the solution between them
NEARBY = 1.001  # the same where a good guess is known
NO_TUBE = 1e-4  # of the spread of y: narrower tubes are tried as none
SMALLEST = 1e-5  # of the first guess: a margin that is no margin
SAME_PRICE = 1e-13  # relative difference of two prices that is none
COARSE = 0.05  # tolerance of a small problem that tells the price of a large one


@dataclass(frozen=True)
class NuSolution(MarginSolution):
    """The solution of the margin problem at a price, and the price."""

    price: float = np.nan


@dataclass
class _NuPoint:
    """The solution at a price, in the unit of the ν-problem: β and e = y − Kβ."""

    price: float
    beta: np.ndarray
    e: np.ndarray

    @property
    def size(self) -> float:
        return float(np.abs(self.beta).sum())


def solve_nu(
    K: Gram,
    index: np.ndarray,
    problem: NuProblem,
    *,
    tol: float = 1e-3,
    limits: Limits | None = None,
    price: float | None = None,
    exact: Callable[[], Gram] | None = None,
    values: Callable[[], np.ndarray] | None = None,
    about: str = "",
    sizes: Sizes | None = None,
) -> NuSolution:
    """Solve a ν-problem on some points of a Gram matrix, and prove it.

    Parameters
    ----------
    K, index, exact, values, sizes
        As for `solve_margin`.
    problem : NuProblem
        Bounds, targets and ‖β‖₁.
    price : float, default=None
        A guess of the margin ρ, or of the half-width ε of the tube.

    Returns
    -------
    NuSolution
        β and b of the margin problem at the price (in classification over ρ: the machine whose
        C is 1/ρ), and the proof of the ν-problem.
    """
    limits = limits or Limits()
    search = _Search(Engine(K, index, problem.at(1.0), limits, sizes, values), problem, tol)
    price = search.guess() if price is None else price
    for _ in range(TRIES):
        search.solve(price)
        best = search.mixture()
        stopped, collapsed = limits.stopped(search.steps) or search.stopped, search.collapsed
        if stopped or collapsed or search.is_small(best):
            proof, drift = search.prove(best, about)
            if proof.ok or stopped:
                break
            too_coarse = collapsed or drift > 0.05 * search.target
            if too_coarse and exact is not None and search.engine.K.dtype == np.float32:
                search.engine = Engine(exact(), index, problem.at(1.0), limits, sizes)
            else:
                search.target *= 0.1 if collapsed else 0.3
            if too_coarse:
                search.begin_again(best)
        price = search.next_price(best, price)
        if search.has_no_margin(price):
            return search.without_margin(about)
    else:
        proof, stopped = search.prove(best, about)[0], Status.STALLED
    return search.solution(best, proof, stopped)


class _Search:
    """The search of a price: solutions below and above, by the size that is asked for."""

    def __init__(self, engine: Engine, problem: NuProblem, tol: float):
        self.engine, self.problem, self.tol, self.target = engine, problem, tol, tol
        self.below: _NuPoint | None = None  # ‖β‖₁ < size
        self.above: _NuPoint | None = None
        self.last: _NuPoint | None = None
        self.steps, self.tries = 0, 0
        self.stopped: Status | None = None
        self.scale, self.step = 0.0, STEP  # of prices

    @property
    def collapsed(self) -> bool:
        """Whether both sides have the same price: they were too coarse to tell the sides."""
        if self.below is None or self.above is None:
            return False
        ends = self.below.price, self.above.price
        return abs(ends[1] - ends[0]) <= SAME_PRICE * max(ends)

    def begin_again(self, best: _NuPoint) -> None:
        """Look for both sides anew, near the best, whose residuals are exact."""
        self.last, self.below, self.above, self.step = best, None, None, NEARBY

    # ------------------------------------------------------------ one price
    def solve(self, price: float) -> None:
        """Solve the margin problem at a price, and keep it on its side."""
        problem, engine = self.problem, self.engine
        engine.problem = problem.at(price)
        unit = problem.unit(price)
        if self.last is None:
            state = engine.start()
        else:
            beta = np.clip(self.last.beta / unit, engine.problem.lo, engine.problem.hi)
            state = SmoState(beta, problem.residuals(self.last.e, price), steps=self.steps)
        state = engine.solve(self.target, state)
        self.steps, self.tries = state.steps, self.tries + 1
        if state.status not in (Status.OPTIMAL, Status.STALLED):
            self.stopped = state.status
        beta = _unscaled(state.beta, engine.problem, problem, unit)
        e = state.e if problem.tube else (state.e - engine.problem.z) * unit
        self.last = point = _NuPoint(price, beta, e)
        if point.size < problem.size:
            self.below = point
        else:
            self.above = point

    def mixture(self) -> _NuPoint:
        """Return the mixture of both sides that has the size that is asked for."""
        below, above, size = self.below, self.above, self.problem.size
        if above is None:
            if self.problem.tube:  # which allows for less
                return below  # type: ignore[return-value]
            above = self._filled()
        if below is None:
            below = _NuPoint(above.price, 0.0 * above.beta, self.problem.y)
        t = (size - below.size) / max(above.size - below.size, LEAST_DIVISOR)
        beta = below.beta + t * (above.beta - below.beta)
        return _NuPoint(above.price, beta, below.e + t * (above.e - below.e))

    def _filled(self) -> _NuPoint:
        """Return coefficients of both classes at the same share of their bounds."""
        p = self.problem
        half = 0.5 * p.largest
        beta = p.hi * (half / p.hi.sum()) + p.lo * (half / -p.lo.sum())
        return _NuPoint(np.inf, beta, p.y - self.engine.product(beta))

    def is_small(self, best: _NuPoint) -> bool:
        """Tell whether the gap and the violation, by the solver's own residuals, are small."""
        found = self.problem.judge(best.beta, best.e)
        return found.relative_gap <= 0.95 * self.tol and found.pair <= self.tol

    def prove(self, best: _NuPoint, about: str) -> tuple[Certificate, float]:
        """Set the residuals to exact ones; return the proof, and how far they were off."""
        problem, engine = self.problem, self.engine
        _, price, _ = problem.prices(best.beta, best.e)
        price = price if price > 0 or problem.tube else best.price
        unit = problem.unit(price)
        engine.problem = problem.at(price)
        before = problem.residuals(best.e, price)
        state = SmoState(best.beta / unit, before, status=self.stopped or Status.OPTIMAL)
        proved, checked = engine.exact_in_time(state), 0
        if proved:
            exact, checked = proved
            state.e = exact
            best.e = exact if problem.tube else (exact - engine.problem.z) * unit
        drift = float(np.abs(problem.residuals(best.e, price) - before).max())
        storage = engine.K.storage
        extra = {"checked": checked, "steps": self.steps, "prices": self.tries, "storage": storage}
        found = nu_gap(best.beta, best.e, problem, tolerance=self.tol, about=about, extra=extra)
        found = engine.doubted(found, state.beta, state.e)
        return (found if proved else replace(found, value=np.nan)), drift

    # ------------------------------------------------------------ the next price
    def guess(self) -> float:
        """Return a price to begin with."""
        index, n = self.engine.index, len(self.engine.index)
        if n >= LARGE:  # every so many points know it well
            every = n // POINTS
            some = spread_points(self.problem.hi, every)
            y, lo, hi = self.problem.y[some], self.problem.lo[some], self.problem.hi[some]
            small = NuProblem(y, lo * every, hi * every, self.problem.size, self.problem.tube)
            if small.size <= small.largest:
                K, limits = self.engine.K, self.engine.limits
                found = solve_nu(K, index[some], small, tol=COARSE, limits=limits)
                self.scale = found.price
                if self.scale > 0:
                    return self.scale
        if self.problem.tube:
            y = self.problem.y
            share = self.problem.size / max(float(self.problem.hi.sum()), LEAST_DIVISOR)
            self.scale = float(np.ptp(y))
            return 0.5 * float(np.quantile(np.abs(y - np.median(y)), 1.0 - min(share, 1.0)))
        filled = self._filled()
        t = self.problem.size / filled.size
        _, price, _ = self.problem.prices(0.999 * t * filled.beta, t * filled.e)
        typical = float(np.abs(filled.e).mean()) * t
        self.scale = price if price > 0 else max(typical, LEAST_DIVISOR)
        return self.scale

    def next_price(self, best: _NuPoint, price: float) -> float:
        """Return the price that the mixture tells, if it lies between; else one that does."""
        below, above = self.below, self.above
        _, told, _ = self.problem.prices(best.beta, best.e)
        if below is None and above is None:
            return told if told > 0 else price
        if below is None or above is None:
            return self._farther(price, more=above is None)
        ends = sorted((below.price, above.price))
        inside = ends[0] < told < ends[1] and self.tries % 3
        return told if inside else 0.5 * (ends[0] + ends[1])

    def _farther(self, price: float, more: bool) -> float:
        """Return a price beyond the last one, towards a larger or smaller ‖β‖₁."""
        step, self.step = self.step, min(STEP, self.step**2)
        if more != self.problem.tube:
            return max(step * price, NO_TUBE * self.scale if self.problem.tube else 0.0)
        price /= step
        return 0.0 if self.problem.tube and price < NO_TUBE * self.scale else price

    # ------------------------------------------------------------ the end
    def has_no_margin(self, price: float) -> bool:
        """Tell whether the margin that is left is none, so that f = 0 is the solution."""
        return not self.problem.tube and self.below is None and price < SMALLEST * self.scale

    def without_margin(self, about: str) -> NuSolution:
        """Return the machine of the smallest margin, unproved, and by how much ν is too small."""
        point: Any = self.last  # a price has been tried
        factor = point.size / self.problem.size
        told = f"{about or 'the classes'}: a margin needs nu {factor:.3g} times as large"
        proof = replace(self.prove(self.mixture(), told)[0], value=np.nan)
        return self._machine(point, proof, Status.NO_MARGIN)

    def solution(self, best: _NuPoint, proof: Certificate, stopped: Status | None) -> NuSolution:
        status = Status.OPTIMAL if proof.ok else stopped or Status.STALLED
        return self._machine(best, proof, status)

    def _machine(self, best: _NuPoint, proof: Certificate, status: Status) -> NuSolution:
        b, price, _ = self.problem.prices(best.beta, best.e)
        price = price if price > 0 or self.problem.tube else best.price
        unit = self.problem.unit(price)
        beta, e = best.beta / unit, best.e
        norm2 = float(beta @ (self.problem.y - e)) / unit
        if proof.ok and norm2 < -self.engine.rounding_of_norm2(beta):
            status, proof = Status.INDEFINITE, only_stationary(proof, "K")
        stats = {"steps": self.steps}
        return NuSolution(beta, status, proof, b / unit, stats, None, norm2, price)


def _unscaled(beta: np.ndarray, at: MarginProblem, problem: NuProblem, unit: float) -> np.ndarray:
    """Return coefficients in the unit of the ν-problem; those at a bound stay there exactly."""
    if problem.tube:
        return beta
    scaled = np.clip(beta * unit, problem.lo, problem.hi)
    return np.where(beta >= at.hi, problem.hi, np.where(beta <= at.lo, problem.lo, scaled))
