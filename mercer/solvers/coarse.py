"""A start for large margin problems: every k-th point, with k times its bounds, tells the rest.

Where classes overlap most support vectors lie at their bounds, and which ones is a question of a
smooth function that few points know well enough. They are put there at once, and steps are left
for the points near the margin.
"""

from __future__ import annotations

import numpy as np

from mercer._limits import Limits
from mercer.gram import Gram
from mercer.margin import MarginProblem
from mercer.solvers.dense import DenseMatrix, solve_dense
from mercer.solvers.smo import SmoState

POINTS = 1000  # of the small problem
TOLERANCE = 0.1  # of the small problem: it is off by more than that anyway
LEAST_AT_BOUNDS = 0.6  # of the small problem's support vectors, that is worth it


def coarse_start(
    K: Gram, index: np.ndarray, problem: MarginProblem, limits: Limits
) -> SmoState | None:
    """Return β with most coefficients at 0 or a bound; None where that would be a bad guess."""
    every = len(index) // POINTS
    z, lo, hi, eps, total = problem
    some = spread_points(z, every)
    small = MarginProblem(z[some], lo[some] * every, hi[some] * every, eps, total)
    nothing = SmoState(np.zeros(len(some)), small.z.copy())
    matrix = DenseMatrix.of(K.among(index[some]))
    beta = solve_dense(matrix, small, TOLERANCE, limits, nothing, few_free=0).beta
    used = np.flatnonzero(beta)
    if np.count_nonzero(small.is_free(beta)) > (1.0 - LEAST_AT_BOUNDS) * len(used):
        return None
    residual = z - K.combine(index[some[used]], beta[used], index)
    guess = at_bounds(problem, residual)
    held = np.flatnonzero(guess)
    return SmoState(guess, z - K.combine(index[held], guess[held], index))


def spread_points(z: np.ndarray, every: int) -> np.ndarray:
    """Return every so many points of each side, in an order that has no pattern."""
    order = np.random.default_rng(0).permutation(len(z))
    order = order[np.argsort(z[order] > 0, kind="stable")]
    return np.sort(order[every // 2 :: every])


def at_bounds(problem: MarginProblem, residual: np.ndarray) -> np.ndarray:
    """Return the β of sum s at 0 or a bound that suit residuals z − f; one point makes up the sum.

    As the offset b grows, a point goes from its upper bound to 0 where residual − b = ε, and from 0
    to its lower bound where that is −ε: the sum falls in steps, and somewhere crosses s.
    """
    _, lo, hi, eps, total = problem
    places = np.concatenate([residual - eps, residual + eps])
    falls = np.concatenate([hi, -lo])
    order = np.argsort(places, kind="stable")
    sums = hi.sum() - np.cumsum(falls[order])
    crossing = int(np.searchsorted(-sums, -total))
    passed = np.zeros(len(places), bool)
    passed[order[:crossing]] = True
    upper, lower = np.split(passed, 2)
    beta = np.where(lower, lo, np.where(upper, 0.0, hi))
    if crossing < len(order):
        last = order[crossing] % len(hi)
        beta[last] = 0.0
        beta[last] = np.clip(total - beta.sum(), lo[last], hi[last])
    return beta
