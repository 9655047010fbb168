"""Going downhill on a smooth function: steepest descent in any norm, Newton's method, L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from mercer._floats import EPS, TINY
from mercer.norms import L2, Linf, as_norm
from mercer.optimize._loops import two_loops
from mercer.optimize._run import Objective, Point, Run, armijo, wolfe
from mercer.result import Solution

STEP_REACH = 1e8  # how much shorter or longer than x the first step may be
ARMIJO_SHARE, SHRINK = 1e-4, 0.5  # Armijo's rule: Newton's own step is nearly always good enough
FIRST_SHIFT = 1e-3  # the first shift of an indefinite Hessian, relative to its size
FLAT_EIGENVALUES = 1e-8  # eigenvalues below this share of the largest count as 0


def gradient_descent(
    f: Any,
    x0: Any,
    *,
    grad: Callable[[np.ndarray], Any] | None = None,
    norm: Any = "l2",
    step: float = 1.0,
    share: float = 0.25,
    shrink: float = 0.5,
    tol: float = 1e-6,
    max_iter: int = 10_000,
    time_limit: float | None = None,
    keep_points: bool = False,
) -> Solution:
    """Minimise f by steps in the direction of steepest descent of a norm.

    The direction minimises ∇f(x)ᵀu over ‖u‖ ≤ 1 and is scaled by the dual norm ‖∇f(x)‖⋆. In L2 it
    is −∇f(x), in L1 one coordinate moves, in L∞ all move alike, in `Quadratic(P)` it is −P⁻¹∇f(x):
    Newton's step if P is the Hessian. The step size t is halved until

        f(x + tΔ) ≤ f(x) + share · t · ∇f(x)ᵀΔ

    and the next search starts at twice the last one, so that f never rises.

    Parameters
    ----------
    f : callable or Problem
        x ↦ f(x), a number; where it is NaN or infinite a step is taken back.
    x0 : array of shape (d,)
        Where to start; f must be finite there.
    grad : callable
        x ↦ ∇f(x), an array of shape (d,); not needed if f is a Problem.
    norm : {"l1", "l2", "linf"}, float or Norm, default="l2"
        The norm of `mercer.norms`, a power p ≥ 1, or the name of one.
    step : float, default=1.0
        The first step size that is tried, unless it is out of all proportion to x.
    share : float, default=0.25
        How much of the gain that the slope promises a step must bring, in (0, 0.5].
    shrink : float, default=0.5
        The factor by which steps get shorter, in (0, 1).
    tol : float, default=1e-6
        The dual norm of the gradient at which the run is done.
    max_iter, time_limit : int, float or None
        Limits of steps and seconds; then, and on Ctrl-C, the best point so far is returned.
    keep_points : bool, default=False
        Whether ``stats["trace"]["points"]`` holds the path.

    Returns
    -------
    Solution
        ``value`` is x; ``stats["trace"]`` has values, gradient_norms, step_sizes and seconds.

    Examples
    --------
    >>> from mercer.optimize import gradient_descent
    >>> solution = gradient_descent(lambda x: x @ x, [3.0, 4.0], grad=lambda x: 2 * x)
    >>> solution.status.name, solution.value.round(6).tolist()
    ('OPTIMAL', [0.0, 0.0])
    """
    _check(step, share, shrink)
    objective, norm = Objective(f, grad), as_norm(norm)
    run = Run(objective, x0, tol, max_iter, time_limit, keep_points)
    size = norm.dual().value

    def advance(at: Point) -> Point | None:
        d = norm.steepest(at.g)
        first = at.t / shrink if at.t else _within_reach(step, d, at.x)
        return armijo(objective, at, d, first, share, shrink)

    name = repr(norm) if norm.dimension is None else f"a {type(norm).__name__} norm"
    return run.stationary(run.descend(advance, size), size, f"steepest descent in {name}")


def _within_reach(step: float, d: np.ndarray, x: np.ndarray) -> float:
    """Return the step, or one that moves x neither by nothing nor by far more than its size."""
    unit = (1.0 + Linf.value(x)) / Linf.value(d)
    return float(np.clip(step, unit / STEP_REACH, unit * STEP_REACH))


def _check(step: float, share: float, shrink: float) -> None:
    if not (step > 0 and 0 < share <= 0.5 and 0 < shrink < 1):
        raise ValueError(
            f"step must be > 0, share in (0, 0.5] and shrink in (0, 1); got {step}, {share}, "
            f"{shrink}"
        )


# -------------------------------------------------------------------- Newton
def newton(
    f: Any,
    x0: Any,
    grad: Callable[[np.ndarray], Any] | None = None,
    hess: Callable[[np.ndarray], Any] | None = None,
    *,
    tol: float = 1e-8,
    max_iter: int = 200,
    time_limit: float | None = None,
    keep_points: bool = False,
) -> Solution:
    """Minimise f by Newton's method: Δ = −∇²f(x)⁻¹∇f(x), with backtracking.

    A Hessian that is not positive definite gets a multiple of the identity added until it is. At a
    stationary point with a negative eigenvalue the run goes on along its eigenvector.

    Parameters
    ----------
    f, x0, max_iter, time_limit, keep_points
        As in `gradient_descent`.
    grad, hess : callable
        x ↦ ∇f(x), shape (d,), and x ↦ ∇²f(x), shape (d, d); not needed if f is a Problem with both.
    tol : float, default=1e-8
        The Euclidean norm of the gradient at which the run is done.

    Returns
    -------
    Solution
        The certificate adds Newton's decrement √(gᵀH⁻¹g) and the least eigenvalue of the Hessian.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.optimize import newton
    >>> def hess(x):
    ...     return np.diag(np.cosh(x))
    >>> newton(lambda x: np.cosh(x).sum(), [2.0, -1.0], np.sinh, hess).status.name
    'OPTIMAL'
    """
    objective = Objective(f, grad, hess, needs_hess=True)
    run = Run(objective, x0, tol, max_iter, time_limit, keep_points)

    def advance(at: Point) -> Point | None:
        d = _direction(objective.hessian(at.x), at)
        return armijo(objective, at, d, 1.0, ARMIJO_SHARE, SHRINK)

    while True:
        status = run.descend(advance, L2.value)
        lower = _escape(objective, run.at) if status.ok else None
        if lower is None or run.limits.stopped(run.trace.steps):
            break
        run.at = lower
    curvature = _curvature(objective, run.at.x)
    return run.stationary(status, L2.value, "Newton's method", **curvature)


def _direction(H: np.ndarray, at: Point) -> np.ndarray:
    """Return −(H + τI)⁻¹g with the first τ of a ladder that makes the matrix positive definite."""
    g = at.g
    # where f is as good as straight, the step is bounded by the size of x
    size = max(float(np.abs(H).max()), Linf.value(g) / (1.0 + Linf.value(at.x)), TINY)
    lowest = float(H.diagonal().min())
    shift = 0.0 if lowest > 0 else FIRST_SHIFT * size - lowest
    while True:
        try:
            return -cho_solve(cho_factor(H + shift * np.eye(len(g)), lower=True), g)
        except LinAlgError:
            shift = max(2.0 * shift, FIRST_SHIFT * size)


def _escape(objective: Objective, at: Point) -> Point | None:
    """Return a lower point along a direction of negative curvature, or None at a minimum."""
    H = objective.hessian(at.x)
    values, vectors = eigh(H)
    least, v = float(values[0]), vectors[:, 0]
    if least >= -FLAT_EIGENVALUES * np.abs(H).max():
        return None
    v = v if at.g @ v <= 0 else -v
    t = 1.0 + float(np.abs(at.x).max())
    while t > FLAT_EIGENVALUES:
        x = at.x + t * v
        f = objective.value(x)
        if -np.inf < f <= at.f + 0.25 * t * t * least:
            return Point(x, f, objective.gradient(x), t)
        t *= SHRINK
    return None


def _curvature(objective: Objective, x: np.ndarray) -> dict[str, float]:
    """Return the least eigenvalue, and the decrement where it is positive."""
    values, vectors = eigh(objective.hessian(x))
    parts = {"least_eigenvalue": float(values[0])}
    if values[0] > 0:
        along = vectors.T @ objective.gradient(x)
        parts["newton_decrement"] = float(L2.value(along / np.sqrt(values)))
    return parts


# -------------------------------------------------------------------- L-BFGS
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
    f, x0, max_iter, time_limit, keep_points
        As in `gradient_descent`.
    grad : callable
        x ↦ ∇f(x), shape (d,); not needed if f is a Problem.
    memory : int, default=10
        How many steps are remembered.
    tol : float, default=1e-6
        The Euclidean norm of the gradient at which the run is done.

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
    run = Run(objective, x0, tol, max_iter, time_limit, keep_points)
    pairs = memory if max_iter is None else min(memory, max_iter + 1)
    known = _StepMemory(pairs, len(run.at.x))

    def advance(at: Point) -> Point | None:
        found = wolfe(objective, at, known.direction(at.g), known.first_step(at.g))
        if found is None and known.count:  # what was learnt does not fit here
            known.forget()
            found = wolfe(objective, at, -at.g, known.first_step(at.g))
        if found is not None and found.f > -np.inf:
            known.learn(found.x - at.x, found.g - at.g)
        return found

    return run.stationary(run.descend(advance, L2.value), L2.value, f"L-BFGS with {memory} pairs")


class _StepMemory:
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
