"""Newton's method for logistic regression: directly where it is small, else by conjugate gradients.

The steps of conjugate gradients run in float32, guided by the blocks of the classes; value, slopes
and the proof are float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dpotrf, dpotrs, spotrf, spotrs

from mercer._floats import TINY
from mercer._limits import Limits
from mercer._threads import threads_for
from mercer.linear._logistic import (
    DIRECT_OPERATIONS,
    Likelihood,
    LikelihoodPoint,
    LogisticDesign,
    factor_cost,
    product_by_columns,
    product_of_columns,
    scaled,
)
from mercer.linear._logistic_hessian import (
    definite_factor,
    first_block,
    first_hessian,
    hessian,
    positive_part,
)
from mercer.optimize._run import ARMIJO_SHARE
from mercer.result import Status

DENSE_GUIDE_COLUMNS = 1000  # columns up to which the guide of conjugate gradients may be dense
CHEAP_GUIDE_COLUMNS = 150  # columns up to which it is so from the start
COLUMNS_PER_PRODUCT = (
    8  # a dense guide is worth it after columns / COLUMNS_PER_PRODUCT products in one direction
)
SMALL_ENTRIES = 20_000  # entries of a table that are solved to rounding
SETTLED_ERROR = 1e-11  # the error that this is
HIDDEN_GAIN = 1e-12  # promised gain, relative to the value at 0, that rounding may hide
NO_GAIN = 1e-15  # the same, that is no gain
IDLE_STEPS = 4  # steps that bring nothing before the solve is given up
SHORTEST_STEP = 1e-10  # part of a step
FAR_ERROR = 0.02  # error above which the best length of a step is looked for
LENGTHS_TRIED = 3  # that are tried for it
CHORD_ERROR = 0.01  # error below which the factor of the step before serves again
STALE_PRODUCTS = 8  # iterations of conjugate gradients after which the guide is made anew
MAX_CG = 300
ROUGH, FINE = 0.1, 1e-2  # accuracy of a step's gain, at first and in the end
DIRECT_COORDINATES = 64  # of several classes: beyond, products with the Hessian are less work


class State(NamedTuple):
    """Where Newton's method stands."""

    theta: np.ndarray  # (m, k)
    G: np.ndarray  # (n, k)
    point: LikelihoodPoint
    value: float


class NewtonRun:
    """Minimises likelihood + ½ Σ penalty θ² and knows the error that is left.

    The error is √(gᵀH⁻¹g / value at 0): the square root of twice the part of the objective that a
    Newton step would gain.
    """

    def __init__(
        self,
        design: LogisticDesign,
        likelihood: Likelihood,
        *,
        direct: float = DIRECT_OPERATIONS,
        cheap: float = CHEAP_GUIDE_COLUMNS,
        worth: float = COLUMNS_PER_PRODUCT,
    ):
        self.design, self.likelihood = design, likelihood
        self.cheap, self.worth = cheap, worth
        (n, m), k = design.A.shape, likelihood.n_outputs
        self.steps, self.error, self.reach = 0, np.inf, np.inf
        self.state = self._state(np.zeros((m, k)), np.zeros((k, n)).T)  # by columns
        self.null = max(self.state.value, TINY)
        self.first_slopes = float(np.linalg.norm(self.state.point.slopes))
        cheap = factor_cost(n, m * k) <= direct
        self.small = cheap and n * m * k <= SMALL_ENTRIES
        self.direct = self.small or (cheap and (k == 1 or m * k <= DIRECT_COORDINATES))
        self.solver: _Direct | _Conjugate | None = None

    def _state(self, theta: np.ndarray, G: np.ndarray) -> State:
        point = self.likelihood.at(G)
        ridge = 0.5 * float((self.design.penalty * theta**2).sum())
        return State(theta, G, point, point.value + ridge)

    def gradient(self, state: State) -> np.ndarray:
        """Return the gradient in θ."""
        return self.design.slopes(state.point.slopes) + self.design.penalty * state.theta

    def relative_gradient(self) -> float:
        """Return the largest entry of the gradient, relative to ‖column‖ · ‖slopes at 0‖."""
        sizes = 2.0 * self.first_slopes  # columns have a norm of about 2 in these coordinates
        return float(np.abs(self.gradient(self.state)).max(initial=0.0)) / max(sizes, TINY)

    def move(self, theta: np.ndarray) -> None:
        """Go to a point that was found elsewhere; its error is not known."""
        self.state, self.error = self.at(theta), np.inf

    def at(self, theta: np.ndarray) -> State:
        """Return what is known at a point."""
        return self._state(theta, self.design.values(theta))

    # ------------------------------------------------------------ the loop
    def solve(
        self,
        tol: float,
        limits: Limits,
        done: Callable[[np.ndarray], bool] = lambda G: False,
    ) -> Status:
        """Step until the error is at most ``tol``, or ``done(G)``; the last step is taken too.

        Rounding is reached when neither the error nor the value falls for a few steps. Out of time
        or interrupted, the error is that of the last point at which it was known.
        """
        try:
            if self.solver is None:
                self.solver = (_Direct if self.direct else _Conjugate)(self)
            return self._solve(self.solver, tol, limits, done)
        except _OutOfTimeError:
            return Status.TIME_LIMIT
        except KeyboardInterrupt:
            limits.interrupt()
            return Status.INTERRUPTED

    def _solve(
        self,
        solver: _Direct | _Conjugate,
        tol: float,
        limits: Limits,
        done: Callable[[np.ndarray], bool],
    ) -> Status:
        idle, least, lowest, renewed = 0, np.inf, np.inf, False
        solver.limits = limits
        while True:
            gradient = self.gradient(self.state)
            direction = solver.direction(self.state, gradient, self.error, tol)
            gain = float((gradient * direction).sum())
            self.error = float((max(gain, 0.0) / self.null) ** 0.5)
            change = self.design.values(direction)
            self.reach = float(np.abs(change).max(initial=0.0))
            last, stopped = self.error <= tol, limits.stopped(self.steps)
            falls = self.error < 0.5 * least or self.state.value < lowest - NO_GAIN * self.null
            idle, renewed = (0, False) if falls else (idle + 1, renewed)
            least, lowest = min(least, self.error), min(lowest, self.state.value)
            if self.error == 0.0 or (stopped and not last):
                return Status.OPTIMAL if last else stopped or Status.ROUNDING
            if idle > IDLE_STEPS and not last:
                if renewed or not solver.renew():
                    return Status.ROUNDING
                idle, renewed = 0, True  # once: if that changes nothing, nothing will
                continue
            moved = self._moved(direction, change, gain)
            self.steps += moved is not None
            if last or done(self.state.G) or (moved is None and not solver.renew()):
                return Status.OPTIMAL if last else Status.ROUNDING

    def _moved(self, direction: np.ndarray, change: np.ndarray, gain: float) -> State | None:
        """Go as far against a direction as it pays; None if it does not."""
        at, length = self.state, 1.0
        if self.error > FAR_ERROR:
            length = self._best_length(direction, change)
        while length > SHORTEST_STEP:
            there = self._state(at.theta - length * direction, at.G - length * change)
            enough = there.value <= at.value - ARMIJO_SHARE * length * gain
            hidden = gain <= HIDDEN_GAIN * self.null
            if enough or (hidden and there.value <= at.value + HIDDEN_GAIN * self.null):
                self.state = there
                return there
            length *= 0.5
        return None

    def _best_length(self, direction: np.ndarray, change: np.ndarray) -> float:
        """Return about the best length of a step, by Newton's method for one number.

        Far from the minimum Newton's step for all coordinates is too short where the classes are
        well separated.
        """
        at, length = self.state, 1.0
        ridge = self.design.penalty * direction
        for _ in range(LENGTHS_TRIED):
            point = self.likelihood.at(at.G - length * change)
            slope = float((point.slopes * change).sum())
            slope += float((ridge * (at.theta - length * direction)).sum())
            curve = float((change * point.apply(change)).sum()) + float((ridge * direction).sum())
            if not curve > 0.0:
                break
            better = float(np.clip(length + slope / curve, 0.25 * length, 4.0 * length))
            settled = abs(better - length) < 0.1 * length
            length = better
            if settled:
                break
        return length


class _OutOfTimeError(Exception):
    """A direction was not finished in time: what there is of it proves nothing."""


class _Direct:
    """Newton's direction by a factor of the whole Hessian, used again where it hardly changes."""

    limits = Limits()

    def __init__(self, run: NewtonRun):
        self.run = run
        self.factor: Any = None
        self.fresh, self.before = True, np.inf

    def direction(self, state: State, gradient: np.ndarray, error: float, tol: float) -> np.ndarray:
        """Return H⁻¹g."""
        if self.factor is None:
            self.factor = _factored(self._first(state))
        else:
            quick = error <= CHORD_ERROR if self.fresh else error <= 0.1 * self.before
            self.fresh, self.before = not quick, error
            if not quick:
                self.factor = _factored(hessian(self.run.design, state.point, gauge=1.0))
        return self.factor(gradient.T.ravel()).reshape(gradient.T.shape).T

    def renew(self) -> bool:
        """Ask for a new factor; return whether that makes a difference."""
        stale, self.fresh, self.before = not self.fresh, False, 0.0
        return stale

    def _first(self, state: State) -> np.ndarray:
        """Return the Hessian at the start."""
        design, k = self.run.design, state.theta.shape[1]
        H = None if state.theta.any() else first_hessian(design, k, gauge=1.0)
        return hessian(design, state.point, gauge=1.0) if H is None else H


def _factored(H: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return what solves with H, of least norm if H is singular."""
    factor = definite_factor(H)
    if factor is not None:
        return lambda g: dpotrs(factor, g, lower=1)[0]
    values, V = positive_part(H)
    return lambda g: V @ ((V.T @ g) / values)


class _Conjugate:
    """Newton's direction by conjugate gradients, in float32 as long as that is enough."""

    limits = Limits()

    def __init__(self, run: NewtonRun, dtype: Any = np.float32):
        design, self.run, self.dtype = run.design, run, dtype
        self.A = scaled(design.A, design.scale[:, 0]).astype(dtype)
        self.penalty = design.penalty.astype(dtype)
        self.squares = self.A.power(2) if sp.issparse(self.A) else None
        self.guide: Callable[[np.ndarray], np.ndarray] | None = None
        self.last, self.dense = 0, False

    def direction(self, state: State, gradient: np.ndarray, error: float, tol: float) -> np.ndarray:
        """Return about H⁻¹g: until the gain of the step is known well enough."""
        point = state.point.rounded(self.dtype)
        if self.guide is None or self.last >= STALE_PRODUCTS:
            self.guide = self._first_guide(state) or self._guide(point)
        unit = max(float(np.abs(gradient).max()), TINY)
        negligible = 0.5 * tol**2 * self.run.null / unit / unit
        calm = np.errstate(over="ignore", invalid="ignore")  # then float64 has its turn
        with calm, threads_for(float(self.A.shape[0]) * gradient.size):
            x, self.last = conjugate_gradients(
                lambda P: self._product(point, P),
                self.guide,
                (gradient / unit).astype(self.dtype),
                max(min(ROUGH, error), FINE),
                negligible,
            )
        if not np.isfinite(x).all() and self.renew():
            return self.direction(state, gradient, error, tol)
        return x.astype(np.float64) * unit

    def _product(self, point: LikelihoodPoint, P: np.ndarray) -> np.ndarray:
        """Return HP, unless time is over."""
        if self.limits.stopped(0) is Status.TIME_LIMIT:
            raise _OutOfTimeError
        curved = point.apply(product_by_columns(self.A, P))
        return product_of_columns(self.A, curved) + self.penalty * P

    def renew(self) -> bool:
        """Go over to float64; return whether that makes a difference."""
        if self.dtype is np.float64:
            return False
        self.__init__(self.run, np.float64)  # type: ignore[misc]
        return True

    def _first_guide(self, state: State) -> Callable[[np.ndarray], np.ndarray] | None:
        """Return the guide at 0, where the blocks of all classes are one; None elsewhere."""
        if self.guide is not None or state.theta.any() or self.A.shape[1] > self.run.cheap:
            return None
        block = first_block(self.run.design, state.theta.shape[1])
        if block is None:
            return None
        factor, solve = self._factor(block.astype(self.dtype)), self._solver
        return lambda R: solve(factor, R, lower=1)[0]

    def _guide(self, point: LikelihoodPoint) -> Callable[[np.ndarray], np.ndarray]:
        k, m = point.slopes.shape[1], self.A.shape[1]
        self.dense = self.dense or m <= self.run.cheap or self.last > m / self.run.worth
        if self.dense and m <= DENSE_GUIDE_COLUMNS and self.squares is None:
            solve = self._solver
            with threads_for(float(self.A.shape[0]) * m * m):
                factors = [self._block(point.entry(c, c)) for c in range(k)]
            return lambda R: np.column_stack(
                [solve(factors[c], R[:, c], lower=1)[0] for c in range(k)]
            )
        diagonal = np.column_stack([self._diagonal(point.entry(c, c)) for c in range(k)])
        return lambda R: R / diagonal

    def _block(self, h: np.ndarray) -> np.ndarray:
        B = self.A * np.sqrt(h)[:, None]
        return self._factor(B.T @ B)

    @property
    def _solver(self) -> Any:
        return dpotrs if self.dtype is np.float64 else spotrs

    def _factor(self, M: np.ndarray) -> np.ndarray:
        M[np.diag_indices_from(M)] += self.penalty[:, 0] + self._floor
        return (dpotrf if self.dtype is np.float64 else spotrf)(M, lower=1)[0]

    def _diagonal(self, h: np.ndarray) -> np.ndarray:
        squares = self.A**2 if self.squares is None else self.squares
        return np.asarray(squares.T @ h) + self.penalty[:, 0] + self._floor

    @property
    def _floor(self) -> Any:
        """What keeps a guide definite, in units of the curvature at the start."""
        return self.dtype(1e-6 if self.dtype is np.float32 else 1e-12)


def conjugate_gradients(
    product: Callable[[np.ndarray], np.ndarray],
    guide: Callable[[np.ndarray], np.ndarray],
    g: np.ndarray,
    accuracy: float,
    negligible: float,
) -> tuple[np.ndarray, int]:
    """Return x with Hx ≈ g and the number of products.

    It ends when the last product raised gᵀx by less than a share ``accuracy`` / (number of
    products), or when gᵀx is sure to be negligible.
    """
    x, r = np.zeros_like(g), g.copy()
    z = guide(r)
    p, rz, gain = z.copy(), float((r * z).sum()), 0.0
    for k in range(1, MAX_CG + 1):
        Hp = product(p)
        curve = float((p * Hp).sum())
        if not curve > 0.0:
            return (x if k > 1 else z), k
        x += (rz / curve) * p
        r -= (rz / curve) * Hp
        before, gain = gain, gain + rz * rz / curve
        rise = k * (gain - before)
        if rise <= accuracy * gain or (rise <= 0.3 * gain and gain < negligible):
            break
        z = guide(r)
        rz, old = float((r * z).sum()), rz
        p = z + (rz / old) * p
    return x, k
