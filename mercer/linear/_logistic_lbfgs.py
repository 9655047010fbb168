"""Logistic regression by L-BFGS, in coordinates whose curvatures are about 1."""

from __future__ import annotations

import numpy as np

from mercer._limits import Limits
from mercer.linear._logistic_newton import NewtonRun, State
from mercer.optimize import lbfgs
from mercer.result import Status

MEMORY = 10  # steps that are remembered
GOAL = 0.3  # of the error: the norm of the gradient at which steps end, where curvatures are 1


class ScaledObjective:
    """The objective in units of its value at 0, as a function of x with θ = unit · x.

    The curvature at x = 0 is about 1, as it is in θ. Value and gradient are asked for one after the
    other: the state serves both.
    """

    def __init__(self, run: NewtonRun):
        self.run, self.unit = run, run.null**0.5
        self.start = run.state.theta.ravel() / self.unit
        self._x, self._state = self.start, run.state

    def theta(self, x: np.ndarray) -> np.ndarray:
        """Return coordinates as the run has them, (m, k)."""
        return (self.unit * x).reshape(self.run.state.theta.shape)

    def _at(self, x: np.ndarray) -> State:
        if not np.array_equal(x, self._x):
            self._x, self._state = x.copy(), self.run.at(self.theta(x))
        return self._state

    def value(self, x: np.ndarray) -> float:
        return self._at(x).value / self.run.null

    def gradient(self, x: np.ndarray) -> np.ndarray:
        return self.run.gradient(self._at(x)).ravel() / self.unit


def descend_lbfgs(run: NewtonRun, tol: float, limits: Limits) -> Status:
    """Go down by L-BFGS until the error is about ``tol``, from where the run stands."""
    objective = ScaledObjective(run)
    solution = lbfgs(
        objective.value,
        objective.start,
        objective.gradient,
        memory=MEMORY,
        tol=GOAL * tol,
        max_iter=max(limits.max_iter - run.steps, 0) if limits.max_iter >= 0 else 10**9,
        time_limit=limits.seconds_left(),
    )
    run.move(objective.theta(solution.value))
    run.steps += solution.stats["iterations"]
    if solution.status is Status.INTERRUPTED:
        limits.interrupt()
    return solution.status
