"""Newton steps on the free points of a margin problem: from a good solution to an exact one."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mercer.gram import Gram
from mercer.margin import MarginProblem

MAX_FREE = 1500  # points; the factor of more costs more than the steps it saves


def polish(
    K: Gram,
    index: np.ndarray,
    problem: MarginProblem,
    beta: np.ndarray,
    e: np.ndarray,
    work: float = 2e9,
) -> tuple[np.ndarray, np.ndarray]:
    """Return β and e = z − Kβ with the conditions of the free points solved exactly.

    With the bounded points held, the free ones F solve K_FF Δ + b = e_F ∓ ε, Σ Δ = 0. A step that
    would leave the box is cut at its first bound, that point is held too, and so on.

    Parameters
    ----------
    K : Gram
        The Gram matrix of all points, float64.
    beta, e : array of shape (m,)
        A feasible point and its exact residuals.
    work : float, default=2e9
        About how many operations to spend.
    """
    start, beta, e = (beta, e), beta.copy(), e.copy()
    while work > 0:
        free = np.flatnonzero(problem.is_free(beta))
        if not 1 < len(free) <= MAX_FREE:
            break
        work -= len(free) ** 3 + len(free) * len(index) + 1e4
        step = _newton_step(K, index[free], e[free] - problem.eps * np.sign(beta[free]))
        if step is None:
            break
        length, blocked = _room(problem, beta, free, step)
        beta[free] += length * step
        e -= K.combine(index[free], length * step, index)
        if blocked is None:
            break
        at, bound = blocked
        beta[free[at]] = bound
    # a nearly singular matrix may have made it worse
    return min((beta, e), start, key=lambda pair: problem.offset(*pair)[1])


def _newton_step(K: Gram, points: np.ndarray, target: np.ndarray) -> np.ndarray | None:
    """Solve KΔ + b = target, ΣΔ = 0; None if K is not positive definite on these points."""
    A = np.array(K._block(points, points), dtype=np.float64)
    trace = max(float(np.trace(A)), 0.0)
    A += trace / len(A)  # no change where ΣΔ = 0; one more rank for kernels of low rank
    A[np.diag_indices_from(A)] += 1e-13 * trace
    try:
        factor = cho_factor(A, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    both = cho_solve(factor, np.column_stack([target, np.ones(len(target))]), check_finite=False)
    total = both[:, 1].sum()
    if not np.isfinite(both).all() or total <= 0:
        return None
    step = both[:, 0] - both[:, 1] * (both[:, 0].sum() / total)
    return step - step.mean()


def _room(
    problem: MarginProblem, beta: np.ndarray, free: np.ndarray, step: np.ndarray
) -> tuple[float, tuple[int, float] | None]:
    """Return how much of the step stays in the box, and which point stops it at which bound."""
    v = beta[free]
    top = np.where((v < 0) & (problem.hi[free] > 0), 0.0, problem.hi[free])
    bottom = np.where((v > 0) & (problem.lo[free] < 0), 0.0, problem.lo[free])
    bound = np.where(step > 0, top, bottom)
    ratio = np.divide(bound - v, step, out=np.full(len(v), np.inf), where=step != 0)
    at = int(np.argmin(ratio))
    return (1.0, None) if ratio[at] >= 1.0 else (float(ratio[at]), (at, float(bound[at])))
