"""Linear regression with any penalty of the residuals.

Σ w φ(y − Aβ) is minimised by Newton's method where φ is convex, else by reweighted least squares.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lstsq
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state

from mercer._floats import TINY
from mercer._sklearn import Interval
from mercer._state import Attribute, Integers
from mercer.linear._base import DenseDesign, LinearRegressor, Range
from mercer.linear._programs import (
    fit_largest,
    fit_tube,
    in_columns,
    prove_tube,
    residuals,
    rounding,
    status_of,
    with_constant,
)
from mercer.optimize._run import ARMIJO_SHARE
from mercer.penalties import Absolute, DeadZone, Penalty, as_penalty
from mercer.result import Certificate, Solution, Status

EARLY_STEPS = 20  # steps by which Newton's method has converged, if it does
SHORTEST_STEP = 1e-10  # part of a step
SETTLED_GAIN = (
    1e-24  # promised gain, relative to the objective, at which nothing but rounding is left
)
HIDDEN_GAIN = 1e-12  # the same, at which a gain is hard to tell from rounding
LEAST_MIX = 1e-4  # the smallest share of reweighting in a step that is not Newton's
FLAT_PIVOTS = 1e-7  # ratio of pivots at which a curvature counts as none
SAME_VALUE = 1e-12  # relative difference of objectives that counts as none


class PenaltyRegression(RegressorMixin, LinearRegressor):
    """Linear regression with a penalty: min over w and b of Σᵢ wᵢ φ(yᵢ − w·xᵢ − b).

    The penalty decides how errors count: `mercer.penalties` has the squared and the absolute error,
    Huber's, a dead zone, a barrier that no error reaches, and one that large errors saturate.
    Convex penalties are minimised to the end (Newton's method, or a linear program where φ has
    kinks). For others the best of several starts is kept: a minimum nearby, with no guarantee that
    there is no lower one elsewhere. A sparse X is made dense, if the memory allows it.

    Parameters
    ----------
    penalty : Penalty or str, default="huber"
        φ, or its name with its parameter 1: "squared", "absolute", "huber", "dead_zone",
        "log_barrier", "large_error".
    fit_intercept : bool, default=True
        Whether to fit the offset b.
    n_starts : int, default=20
        Random starts where φ is not convex, besides least squares and least absolute errors.
    tol : float, default=1e-8
        The gradient that is proved, relative to the sum of the sizes of its terms.
    max_iter : int, default=500
        Most steps of each start.
    random_state : int, RandomState instance or None, default=None
        Decides the random starts.

    Attributes
    ----------
    coef_ : array of shape (d,)
        w.
    intercept_ : float
        b.
    n_iter_ : int
        Steps of all starts.
    certificate_ : Certificate
        The relative gradient and Newton's decrement, or primal, dual and gap of a linear program.

    Examples
    --------
    >>> from mercer import PenaltyRegression
    >>> from mercer.penalties import LargeError
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [0.0, 1.0, 2.0, 3.0, 90.0]
    >>> PenaltyRegression("huber").fit(X, y).coef_.round(4)
    array([1.5])
    >>> PenaltyRegression(LargeError(a=1.0), random_state=0).fit(X, y).coef_.round(4)
    array([1.])
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "n_iter_": Integers(),
    }

    accepts_sparse = True
    named_parts = {"penalty": as_penalty}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "penalty": [str, Penalty],
        "fit_intercept": ["boolean"],
        "n_starts": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        penalty: Any = "huber",
        *,
        fit_intercept: bool = True,
        n_starts: int = 20,
        tol: float = 1e-8,
        max_iter: int = 500,
        random_state: Any = None,
    ):
        self.penalty = penalty
        self.fit_intercept = fit_intercept
        self.n_starts = n_starts
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit(self, X: Any, y: Any, sample_weight: Any = None) -> Solution:
        penalty = self._given_penalty()
        design = DenseDesign.of(*self._checked(X, y, sample_weight), self.fit_intercept)
        design = design._replace(Y=design.Y * design.y_unit, y_unit=1.0)  # φ is in the unit of y
        solve = self._program if isinstance(penalty, (Absolute, DeadZone)) else self._descent
        solution = solve(design, design.basis(), penalty)
        self._keep(design, solution.value[:, None], solution.intercept)
        self.n_iter_ = solution.stats["steps"]
        return solution

    def _given_penalty(self) -> Penalty:
        self._validate_params()
        penalty = as_penalty(self.penalty)
        penalty.check()
        if not penalty.smooth and not isinstance(penalty, (Absolute, DeadZone)):
            raise ValueError(
                f"penalty must be smooth, Absolute or DeadZone; {penalty!r} has smooth=False"
            )
        return penalty

    def _program(self, design: DenseDesign, basis: Range, penalty: Penalty) -> Solution:
        a, y, offset = getattr(penalty, "a", 0.0), design.Y[:, 0], self.fit_intercept
        fit = fit_tube(design, basis, y, a, offset)
        proof = prove_tube(design, y, a, fit, offset)
        stats = {"steps": max(fit.steps, 1)}
        return Solution(fit.coef, status_of(proof, fit), proof, fit.offset, stats=stats)

    def _descent(self, design: DenseDesign, basis: Range, penalty: Penalty) -> Solution:
        A, y = with_constant(basis, self.fit_intercept), design.Y[:, 0]
        cost = ResidualCost(A, y, design.weight, penalty)
        starts = self._starts(design, basis, cost)
        if penalty.convex:
            beta, steps = self._convex(design, basis, cost, starts[0])
        else:
            beta, steps = best_of(cost, starts, self.max_iter)
        coef, offset = in_columns(basis, beta, self.fit_intercept)
        proof = prove_penalty(
            design.X,
            y,
            coef,
            offset,
            cost,
            intercept=self.fit_intercept,
            tol=self.tol,
            about=self._about(penalty, len(starts)),
        )
        full = steps >= self.max_iter * len(starts)
        unproved = Status.MAX_ITER if full else Status.ROUNDING
        status = Status.OPTIMAL if proof.ok else unproved
        return Solution(coef, status, proof, offset, stats={"steps": steps})

    def _convex(
        self, design: DenseDesign, basis: Range, cost: ResidualCost, start: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """Minimise a convex penalty; if that is slow, go on from least absolute errors.

        A penalty that is nearly |r| has next to no curvature at least squares, but its minimum is
        near that of |r|.
        """
        early = min(self.max_iter, EARLY_STEPS)
        beta, steps = minimise(cost, start, early)
        if steps < early or early == self.max_iter:
            return beta, steps
        if np.isinf(cost.penalty.limit):
            beta = min(beta, self._absolute(design, basis, cost), key=cost.value)
        beta, more = minimise(cost, beta, self.max_iter - early)
        return beta, steps + more

    def _absolute(self, design: DenseDesign, basis: Range, cost: ResidualCost) -> np.ndarray:
        """Return the coordinates of the fit of least absolute errors."""
        fit = fit_tube(design, basis, cost.y, 0.0, self.fit_intercept)
        return cost.through(cost.y - residuals(design, cost.y, fit))

    def _starts(self, design: DenseDesign, basis: Range, cost: ResidualCost) -> list[np.ndarray]:
        """Return where to start: at least squares, or at the least largest error if need be."""
        y, penalty = cost.y, cost.penalty
        squares = cost.through(basis.U @ (basis.U.T @ y))
        if np.abs(y - cost.A @ squares).max() >= penalty.limit:
            return [self._within_limit(design, basis, cost)]
        if penalty.convex:
            return [squares]
        absolute, rng = self._absolute(design, basis, cost), check_random_state(self.random_state)
        return [squares, absolute, *random_starts(cost, self.n_starts, rng)]

    def _within_limit(self, design: DenseDesign, basis: Range, cost: ResidualCost) -> np.ndarray:
        fit = fit_largest(basis, cost.y, self.fit_intercept)
        r = residuals(design, cost.y, fit)
        least, limit = float(np.abs(r).max()), cost.penalty.limit
        if least >= limit:
            raise ValueError(
                f"penalty: no linear function keeps all errors below {limit:g}; the smallest "
                f"possible limit is {least:.6g}: take a larger one"
            )
        return cost.through(cost.y - r)

    def _about(self, penalty: Penalty, n_starts: int) -> str:
        if penalty.convex:
            return f"least Σ w φ(r), {penalty!r}"
        return (
            f"a local minimum of Σ w φ(r), {penalty!r}, the best of {n_starts} starts: "
            f"no global guarantee"
        )


# ---------------------------------------------------------------- minimising
class ResidualCost(NamedTuple):
    """Σ w φ(y − Aβ) with columns of A of about the same size."""

    A: np.ndarray  # (n, m)
    y: np.ndarray
    w: np.ndarray
    penalty: Penalty

    def through(self, fitted: np.ndarray) -> np.ndarray:
        """Return the coordinates β with Aβ = fitted."""
        return lstsq(self.A, fitted, check_finite=False)[0]

    def value(self, beta: np.ndarray) -> float:
        with np.errstate(over="ignore"):
            return float(self.w @ self.penalty.value(self.y - self.A @ beta))

    def step(self, beta: np.ndarray, mix: float = 0.0) -> tuple[np.ndarray, float]:
        """Return a direction from β and the gain that it promises.

        The curvature is φ″ + mix · φ′(r)/r: with mix = 0 the step is Newton's, with mix = 1 it is
        about that of reweighted least squares, which always goes down. Where φ is not convex it is
        the latter; where the curvature is nearly singular, mix is raised.
        """
        r = self.y - self.A @ beta
        slope = self.A.T @ (self.w * self.penalty.derivative(r))
        step = None
        while self.penalty.convex and step is None and mix < 1.0:
            curve = self.penalty.second_derivative(r) + mix * (self._reweights(r) if mix else 0.0)
            # a barrier is curved everywhere, however much its curvatures differ
            flat = FLAT_PIVOTS if np.isinf(self.penalty.limit) else 0.0
            step = _solved(self.A, self.w * curve, slope, flat)
            mix = max(LEAST_MIX, 10.0 * mix)
        if step is None:
            step = _reweighted(self.A, self.w * self._reweights(r), slope)
        return step, float(slope @ step)

    def _reweights(self, r: np.ndarray) -> np.ndarray:
        flat = self.penalty.second_derivative(np.zeros_like(r))
        small = np.abs(r) <= 1e-8 * max(float(np.abs(r).max()), TINY)
        return np.where(small, flat, self.penalty.derivative(r) / np.where(small, 1.0, r))


def _solved(A: np.ndarray, h: np.ndarray, slope: np.ndarray, flat: float) -> np.ndarray | None:
    """Return (AᵀhA)⁻¹ slope, or None if the matrix has pivots that are too small."""
    try:
        factor = cho_factor(_product(A, h), check_finite=False)
    except LinAlgError:
        return None
    pivots = np.diag(factor[0])
    if not pivots.min() > flat * pivots.max():
        return None
    return cho_solve(factor, slope, check_finite=False)


def _reweighted(A: np.ndarray, h: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Return the d of least norm with AᵀhA d = slope."""
    return lstsq(_product(A, h), slope, cond=1e-13, check_finite=False)[0]


def _product(A: np.ndarray, h: np.ndarray) -> np.ndarray:
    return (A * np.maximum(h, 0.0)[:, None]).T @ A


def minimise(cost: ResidualCost, beta: np.ndarray, max_iter: int) -> tuple[np.ndarray, int]:
    """Go down from β until no step gains; return where that is and the number of steps.

    Where rounding of the value hides the gain, whole steps are taken as long as they make the
    promised gain smaller.
    """
    mix, value, (direction, gain) = 0.0, cost.value(beta), cost.step(beta)
    for step in range(1, max_iter + 1):
        hidden = gain <= HIDDEN_GAIN * value
        there = beta + direction if hidden else _lower(cost, beta, direction, gain, value)
        if there is None and mix < 1.0:  # the curvature is nearly singular
            mix = max(LEAST_MIX, 10.0 * mix)
            direction, gain = cost.step(beta, mix)
            continue
        if there is None or not np.isfinite(cost.value(there)):
            return beta, step
        lower = cost.value(there)
        mix = _next_mix(mix, (value - lower) / max(gain, TINY))
        direction, promised = cost.step(there, mix)
        if hidden and not promised < 0.5 * gain:
            return beta, step
        beta, value, gain = there, lower, promised
        if gain <= SETTLED_GAIN * value:
            return beta, step
    return beta, max_iter


def _next_mix(mix: float, share: float) -> float:
    """Return less after a step that brought half of its promise, as a parabola does; else more."""
    if share > 0.25:
        return 0.1 * mix if mix > LEAST_MIX else 0.0
    return min(max(LEAST_MIX, 10.0 * mix), 1.0)


def _lower(
    cost: ResidualCost, beta: np.ndarray, direction: np.ndarray, gain: float, value: float
) -> np.ndarray | None:
    """Return the first of the points at 1, ½, ¼, … of a step that gains enough."""
    length = 1.0
    while length > SHORTEST_STEP:
        there = beta + length * direction
        if cost.value(there) <= value - ARMIJO_SHARE * length * gain:
            return there
        length *= 0.5
    return None


def best_of(cost: ResidualCost, starts: list[np.ndarray], max_iter: int) -> tuple[np.ndarray, int]:
    """Return the lowest end of several starts; the first wins where ends are equally low."""
    ends = [minimise(cost, beta, max_iter) for beta in starts]
    values = [cost.value(beta) for beta, _ in ends]
    lowest = min(values)
    first = next(i for i, v in enumerate(values) if v <= lowest + SAME_VALUE * abs(lowest))
    return ends[first][0], sum(steps for _, steps in ends)


def random_starts(cost: ResidualCost, count: int, rng: np.random.RandomState) -> list[np.ndarray]:
    """Return fits through random rows, as many as coefficients: some miss all outliers."""
    n, m = cost.A.shape
    share = cost.w / cost.w.sum()
    size = min(m, n)
    picks = (rng.choice(n, size, replace=False, p=share) for _ in range(count))
    return [lstsq(cost.A[rows], cost.y[rows], check_finite=False)[0] for rows in picks]


def prove_penalty(
    X: np.ndarray,
    y: np.ndarray,
    coef: np.ndarray,
    offset: float,
    cost: ResidualCost,
    *,
    intercept: bool,
    tol: float,
    about: str,
) -> Certificate:
    """Prove that the gradient of Σ w φ(r) is 0: Σ u x = 0 and Σ u = 0 with u = w φ′(r).

    Each sum is relative to Σ |u| max |x|, or to what rounding of r does to it if that is more.
    """
    r, w, penalty = y - X @ coef - offset, cost.w, cost.penalty
    u = w * penalty.derivative(r)
    bend = float(w @ np.abs(penalty.second_derivative(r)))  # what rounding of r does to u
    scale = max(float(np.abs(u).sum()), rounding(X, y, coef) * bend / tol, TINY)
    sums = np.abs(u @ X) / np.maximum(np.abs(X).max(axis=0), TINY)
    worst = max(float(sums.max()), abs(float(u.sum())) if intercept else 0.0) / scale
    beta = cost.through(y - r)
    parts = {
        "objective": float(w @ penalty.value(r)),
        "gradient": worst,
        "newton_decrement": max(cost.step(beta)[1], 0.0) ** 0.5,
        "largest_residual": float(np.abs(r).max()),
    }
    return Certificate("relative gradient", worst, tol, about, parts)
