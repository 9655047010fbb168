"""Several two-class problems as one machine: coefficients, votes, probabilities.

The pair (i, j), i < j, has sign +1 for class i. LIBSVM's compact layout keeps, for a support vector
of class i, its coefficient of the pair with j in row j − 1, and of class j that of i in row i.
Probabilities come from decision values, in agreement with the predicted class.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit

from mercer._floats import LEAST_DIVISOR
from mercer._limits import Limits
from mercer.gram import Gram
from mercer.margin import MarginProblem
from mercer.solvers import MarginSolution, solve_margin

Pairs = list[tuple[int, int]]

FOLDS = 5
HELD_OUT_VALUES = 2000  # of a problem are enough for two slopes: no more folds than that
LIBSVM_LEAST = 1e-7  # the least probability of a pair
SINGULAR = 1e-12  # what is added to the squares of pairs: r of exactly 0 and 1 leave them singular
LEAST_LEAD = 1e-9  # by which the predicted class is ahead of one that was ahead of it
LOG_SLOPES = (-7.0, 7.0)  # range of log a, for decision values whose margin is 1


def store_pair(
    compact: np.ndarray, row: np.ndarray, points: list[np.ndarray], i: int, j: int
) -> None:
    """Write the coefficients of one pair into LIBSVM's layout, shape (k − 1, n)."""
    compact[j - 1, points[i]] = row[points[i]]
    compact[i, points[j]] = row[points[j]]


def pair_rows(compact: np.ndarray, n_support: np.ndarray, pairs: Pairs) -> np.ndarray:
    """Return the coefficients of each pair, shape (n_pairs, n), from LIBSVM's layout."""
    code = np.repeat(np.arange(len(n_support)), n_support)
    rows = [
        np.where(code == i, compact[j - 1], 0.0) + np.where(code == j, compact[i], 0.0)
        for i, j in pairs
    ]
    return np.array(rows)


def pair_sums(sums: np.ndarray, pairs: Pairs) -> np.ndarray:
    """Return what both classes of each pair add, shape (m, n_pairs).

    ``sums``, of shape (m, k, k − 1), are those of each class for the rows of the compact layout.
    """
    m, k, rows = sums.shape
    flat, (i, j) = sums.reshape(m, k * rows), np.array(pairs).T
    return flat.take(i * rows + j - 1, axis=1) + flat.take(j * rows + i, axis=1)


def shares(single: np.ndarray) -> np.ndarray:
    """Return the probabilities of classes, each alone against the rest, as parts of their sum."""
    return single / np.maximum(single.sum(axis=1, keepdims=True), LEAST_DIVISOR)


def votes(values: np.ndarray, pairs: Pairs) -> np.ndarray:
    """Return how many pairs each class wins, shape (m, k)."""
    first, second = np.array(pairs).T
    k, number = int(second.max()) + 1, np.arange(len(pairs))
    gained = np.zeros((len(pairs), k), np.float32)  # products of small integers are exact
    gained[number, first], gained[number, second] = 1.0, -1.0
    return (values > 0).astype(np.float32) @ gained + np.bincount(second, minlength=k)


# -------------------------------------------------------------------- probabilities
def held_out_values(
    K: Gram,
    index: np.ndarray,
    sign: np.ndarray,
    C: np.ndarray,
    tol: float,
    limits: Limits,
    exact: Callable[[], Gram],
    solve: Callable[..., MarginSolution] = solve_margin,
) -> np.ndarray:
    """Return points' decision values by machines that have not seen them; NaN is not needed.

    Every fifth of the points is held out in turn until there are enough values: of many points a
    single further fit does.
    """
    fold = np.empty(len(sign), np.intp)
    for side in (-1.0, 1.0):  # spread both classes evenly, in an order that has no pattern
        where = np.random.default_rng(0).permutation(np.flatnonzero(sign == side))
        fold[where] = np.arange(len(where)) % FOLDS
    values = np.full(len(sign), np.nan)
    for out in (fold == f for f in range(_folds_needed(len(sign)))):
        rest = ~out
        if limits.stopped(0):
            break
        if not out.any():
            continue
        if len(np.unique(sign[rest])) < 2:
            values[out] = 0.0
            continue
        problem = MarginProblem.classify(sign[rest], C[rest])
        solution = solve(K, index[rest], problem, tol=tol, limits=limits, exact=exact)
        used = np.flatnonzero(solution.value)
        sums = K.combine(index[rest][used], solution.value[used], index[out])
        values[out] = sums + solution.intercept
    return values


def _folds_needed(n: int) -> int:
    return min(FOLDS, -(-HELD_OUT_VALUES * FOLDS // n))


def fit_slopes(values: np.ndarray, sign: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the slopes (a₋, a₊) of p = σ(a f), one for each side of f = 0.

    Two slopes give each side its own calibration while p = ½ stays where the decision changes, so
    that the likelier class is always the predicted one. Maximum likelihood with Platt's prior of
    one success and one failure on each side.

    Parameters
    ----------
    values, sign, weight : array of shape (n,)
        Held-out decision values (NaN: none), labels ±1, weights.
    """
    return np.array([_fit_side(values, sign, weight, side) for side in (-1.0, 1.0)])


def _fit_side(values: np.ndarray, sign: np.ndarray, weight: np.ndarray, side: float) -> float:
    here = values * side > 0
    if not here.any():  # nothing is known of this side: p = σ(f)
        return 1.0
    size = np.abs(values[here])
    right = np.where(sign[here] * side > 0, weight[here], 0.0)
    wrong = weight[here] - right
    typical = float(np.median(size))

    def loss(log_a: float) -> float:
        t = np.exp(log_a) * size
        prior = np.exp(log_a) * typical
        likelihood = right @ np.logaddexp(0, -t) + wrong @ np.logaddexp(0, t)
        return float(likelihood + np.logaddexp(0, -prior) + np.logaddexp(0, prior))

    return float(np.exp(minimize_scalar(loss, bounds=LOG_SLOPES, method="bounded").x))


def sigmoid(values: np.ndarray, slopes: np.ndarray, shifts: np.ndarray | None = None) -> np.ndarray:
    """Return p(+1 | f) for decision values (m, t) and slopes (t, 2).

    Shifts (t,) are LIBSVM's, which keeps its probabilities away from 0 and 1.
    """
    logits = values * np.where(values < 0, slopes[:, 0], slopes[:, 1])
    if shifts is None:
        return expit(logits)
    return np.clip(expit(logits + shifts), LIBSVM_LEAST, 1.0 - LIBSVM_LEAST)


def couple_pairs(R: np.ndarray, pairs: Pairs, k: int) -> np.ndarray:
    """Return class probabilities from pairwise ones: min Σ (r_ji p_i − r_ij p_j)², Σp = 1.

    Parameters
    ----------
    R : array of shape (m, n_pairs)
        r_ij = P(i | i or j) for the pairs (i, j).
    """
    m = len(R)
    Q = np.zeros((m, k + 1, k + 1))
    for (i, j), r in zip(pairs, R.T, strict=True):
        Q[:, i, i] += (1 - r) ** 2
        Q[:, j, j] += r**2
        Q[:, i, j] = Q[:, j, i] = -r * (1 - r)
    Q[:, np.arange(k), np.arange(k)] += SINGULAR
    Q[:, :k, k] = Q[:, k, :k] = 1.0
    right = np.zeros((m, k + 1, 1))
    right[:, k] = 1.0
    P = np.clip(np.linalg.solve(Q, right)[:, :k, 0], 0.0, None)
    return P / P.sum(axis=1, keepdims=True)


def agree(P: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Return the probabilities closest to P in which the predicted class is the likeliest.

    Coupling many pairs may put another class just ahead: those ahead and the predicted one share
    their mean, and a hair goes to the predicted class. The mean of the predicted one and the first
    few of the others grows as long as the next is above it, so that it is the largest of all.
    """
    each, moved = np.arange(len(P)), P.argmax(axis=1) != predicted
    others = P.copy()
    others[each, predicted] = np.inf  # the first of each row, when the largest come first
    sums = -np.sort(-others, axis=1)
    sums[:, 0] = P[each, predicted]
    level = (sums.cumsum(axis=1) / np.arange(1, P.shape[1] + 1)).max(axis=1)
    P = np.minimum(P, level[:, None])
    P[each, predicted] = level + LEAST_LEAD * moved
    return P / np.where(moved, P.sum(axis=1), 1.0)[:, None]
