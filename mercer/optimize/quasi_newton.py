"""L-BFGS: Newton's method with a Hessian learnt from the last few steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._floats import EPS
from mercer.norms import L2
from mercer.optimize._memory_loops import two_loops
from mercer.optimize._run import Limits, Objective, Point, Trace, conclude, descend, stationarity
from mercer.optimize._search import wolfe
from mercer.result import Solution


def lbfgs(
    f: Any,
    x0: Any,
    grad: Callable[[np.ndarray], Any] | None = None,
    *,
    memory: int = 10,
    tol: float = 1e-6,
    max_iter: int = 10_000,
    time_limit: float | None = None,
    keep_points: bool = False,
) -> Solution:
    """Minimise a smooth f by the limited-memory method of Broyden, Fletcher, Goldfarb and Shanno.

    The direction is −Bg with B ≈ ∇²f(x)⁻¹ from the last ``memory`` pairs of steps and changes of
    the gradient; the step size meets Wolfe's conditions, found by bisection.

    Parameters
    ----------
    f : callable or Problem
        x ↦ f(x), a number; where it is NaN or infinite a step is taken back.
    x0 : array of shape (d,)
        Where to start; f must be finite there.
    grad : callable
        x ↦ ∇f(x), shape (d,); not needed if f is a Problem.
    memory : int, default=10
        How many steps are remembered.
    tol : float, default=1e-6
        The Euclidean norm of the gradient at which the run is done.
    max_iter, time_limit : int, float or None
        Limits of steps and seconds; then, and on Ctrl-C, the best point so far is returned.
    keep_points : bool, default=False
        Whether ``stats["trace"]["points"]`` holds the path.

    Returns
    -------
    Solution

    Examples
    --------
    >>> from scipy.optimize import rosen, rosen_der
    >>> from mercer.optimize import lbfgs
    >>> lbfgs(rosen, [-1.0, 2.0], rosen_der).value.round(5).tolist()
    [1.0, 1.0]
    """
    if not memory >= 1:
        raise ValueError(f"memory must be at least 1; got {memory}")
    objective = Objective(f, grad)
    limits, trace, at = Limits(tol, max_iter, time_limit), Trace(keep_points), objective.start(x0)
    known = _Memory(min(memory, max_iter + 1), len(at.x))

    def advance(at: Point) -> Point | None:
        found = wolfe(objective, at, known.direction(at.g), known.first_step(at.g))
        if found is None and known.count:  # what was learnt does not fit here
            known.forget()
            found = wolfe(objective, at, -at.g, known.first_step(at.g))
        if found is not None and found.f > -np.inf:
            known.learn(found.x - at.x, found.g - at.g)
        return found

    at, status = descend(at, advance, L2.value, limits, trace)
    proof = stationarity(objective, at.x, L2.value, limits.tol, f"L-BFGS with {memory} pairs")
    return conclude(objective, at.x, status, proof, trace)


class _Memory:
    """The last steps s and changes of the gradient y, with 1/sᵀy, in a ring of rows."""

    def __init__(self, length: int, d: int):
        self.S, self.Y, self.rho = np.zeros((length, d)), np.zeros((length, d)), np.zeros(length)
        self.newest, self.count = length - 1, 0

    def learn(self, s: np.ndarray, y: np.ndarray) -> None:
        """Keep a pair of positive curvature."""
        with np.errstate(over="ignore"):
            curvature, squares = float(s @ y), float(s @ s) * float(y @ y)
        if EPS * squares**0.5 < curvature < np.inf:
            self.newest = (self.newest + 1) % len(self.rho)
            self.count = min(self.count + 1, len(self.rho))
            self.S[self.newest], self.Y[self.newest] = s, y
            self.rho[self.newest] = 1.0 / curvature

    def forget(self) -> None:
        """Begin anew."""
        self.count = 0

    def direction(self, g: np.ndarray) -> np.ndarray:
        """Return −Bg."""
        return two_loops(self.S, self.Y, self.rho, self.newest, self.count, g)

    def first_step(self, g: np.ndarray) -> float:
        """Return 1, or a step of length 1 where nothing is known yet."""
        return 1.0 if self.count else 1.0 / L2.value(g)
