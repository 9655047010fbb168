"""Linear regression with any penalty of the residuals."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state

from mercer._sklearn import Interval
from mercer.linear._base import LinearRegressor, Range, Rows
from mercer.linear._penalised import Problem, best_of, minimise, prove_penalty, random_starts
from mercer.linear._programs import (
    Fit,
    design,
    fit_largest,
    fit_tube,
    in_columns,
    prove_tube,
    residuals,
    status_of,
)
from mercer.penalties import Absolute, DeadZone, Penalty, as_penalty
from mercer.result import Solution, Status

SOON = 20  # steps by which Newton's method has converged, if it does


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

    accepts_sparse = True

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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PenaltyRegression:
        """Fit the model to rows X and targets y."""
        penalty = self._given_penalty()
        rows = self._fit_rows(X, y, sample_weight)
        rows = rows._replace(Y=rows.Y * rows.y_unit, y_unit=1.0)  # φ is in the unit of y
        solve = self._program if isinstance(penalty, (Absolute, DeadZone)) else self._descent
        solution = solve(rows, rows.basis(), penalty)
        self._keep(rows, solution.value[:, None], solution.intercept)
        self.n_iter_ = solution.stats["steps"]
        self._accept(solution)
        return self

    def _given_penalty(self) -> Penalty:
        self._validate_params()
        penalty = as_penalty(self.penalty)
        penalty.check()
        if not penalty.smooth and not isinstance(penalty, (Absolute, DeadZone)):
            raise ValueError(
                f"penalty must be smooth, Absolute or DeadZone; {penalty!r} says smooth=False"
            )
        return penalty

    def _program(self, rows: Rows, basis: Range, penalty: Penalty) -> Solution:
        a, y, offset = getattr(penalty, "a", 0.0), rows.Y[:, 0], self.fit_intercept
        fit = fit_tube(rows, basis, y, a, offset)
        proof = prove_tube(rows, y, a, fit, offset)
        stats = {"steps": max(fit.steps, 1)}
        return Solution(fit.coef, status_of(proof, fit), proof, fit.offset, stats=stats)

    def _descent(self, rows: Rows, basis: Range, penalty: Penalty) -> Solution:
        A, y = design(basis, self.fit_intercept), rows.Y[:, 0]
        problem = Problem(A, y, rows.weight, penalty)
        starts = self._starts(rows, basis, problem)
        if penalty.convex:
            beta, steps = self._convex(rows, basis, problem, starts[0])
        else:
            beta, steps = best_of(problem, starts, self.max_iter)
        coef, offset = in_columns(basis, beta, self.fit_intercept)
        proof = prove_penalty(
            rows.X,
            y,
            coef,
            offset,
            problem,
            intercept=self.fit_intercept,
            tol=self.tol,
            about=self._about(penalty, len(starts)),
        )
        full = steps >= self.max_iter * len(starts)
        unproved = Status.MAX_ITER if full else Status.ROUNDING
        status = Status.OPTIMAL if proof.ok else unproved
        return Solution(coef, status, proof, offset, stats={"steps": steps})

    def _convex(
        self, rows: Rows, basis: Range, problem: Problem, start: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """Minimise a convex penalty; if that is slow, go on from least absolute errors.

        A penalty that is nearly |r| has next to no curvature at least squares, but its minimum is
        near that of |r|.
        """
        early = min(self.max_iter, SOON)
        beta, steps = minimise(problem, start, early)
        if steps < early or early == self.max_iter:
            return beta, steps
        if np.isinf(problem.penalty.limit):
            beta = min(beta, self._absolute(rows, basis, problem), key=problem.value)
        beta, more = minimise(problem, beta, self.max_iter - early)
        return beta, steps + more

    def _absolute(self, rows: Rows, basis: Range, problem: Problem) -> np.ndarray:
        """Return the coordinates of the fit of least absolute errors."""
        fit = fit_tube(rows, basis, problem.y, 0.0, self.fit_intercept)
        return _through(problem, problem.y - residuals(rows, problem.y, fit))

    def _starts(self, rows: Rows, basis: Range, problem: Problem) -> list[np.ndarray]:
        """Return where to start: at least squares, or at the least largest error if need be."""
        y, penalty = problem.y, problem.penalty
        squares = _through(problem, basis.U @ (basis.U.T @ y))
        if np.abs(y - problem.A @ squares).max() >= penalty.limit:
            return [self._within_limit(rows, basis, problem)]
        if penalty.convex:
            return [squares]
        absolute, rng = self._absolute(rows, basis, problem), check_random_state(self.random_state)
        return [squares, absolute, *random_starts(problem, self.n_starts, rng)]

    def _within_limit(self, rows: Rows, basis: Range, problem: Problem) -> np.ndarray:
        fit: Fit = fit_largest(basis, problem.y, self.fit_intercept)
        r = residuals(rows, problem.y, fit)
        least, limit = float(np.abs(r).max()), problem.penalty.limit
        if least >= limit:
            raise ValueError(
                f"penalty: no linear function keeps all errors below {limit:g}; the smallest "
                f"possible limit is {least:.6g}: take a larger one"
            )
        return _through(problem, problem.y - r)

    def _about(self, penalty: Penalty, n_starts: int) -> str:
        if penalty.convex:
            return f"least Σ w φ(r), {penalty!r}"
        return (
            f"a local minimum of Σ w φ(r), {penalty!r}, the best of {n_starts} starts: "
            f"no global guarantee"
        )


def _through(problem: Problem, fitted: np.ndarray) -> np.ndarray:
    """Return the coordinates β with Aβ = fitted."""
    return np.linalg.lstsq(problem.A, fitted, rcond=None)[0]
