"""Which points stand for all: landmarks of a Nyström approximation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.linalg.lapack import dpstrf

from mercer._floats import EPS
from mercer.gram import Gram

NEGLIGIBLE = 1e-12  # pivots, relative to the largest: less is noise of the factorisation
PROPOSED = 64  # pivots that are looked at together


def choose_landmarks(rule: str, K: Gram, m: int, random: Any) -> np.ndarray:
    """Return the numbers of at most m points of the sample, by one of the rules in `RULES`."""
    if m >= K.shape[0]:
        return np.arange(K.shape[0])
    return RULES[rule](K, m, random)


def pivoted_factor(core: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return U and p with K[p, p] = UᵀU on as many points p as are not combinations of others."""
    limit = NEGLIGIBLE * max(float(np.diagonal(core).max(initial=0.0)), 1e-300)
    U, pivots, r, _ = dpstrf(np.array(core, order="F"), tol=limit, overwrite_a=True)
    return np.triu(U[:r, :r]), pivots[:r] - 1


def _uniform(K: Gram, m: int, random: Any) -> np.ndarray:
    return np.sort(random.permutation(K.shape[0])[:m])


def _kmeans_plus_plus(K: Gram, m: int, random: Any) -> np.ndarray:
    """Draw each point with a probability like its squared distance to the nearest one so far."""
    diagonal = K.diagonal().astype(np.float64)
    chosen = [int(random.randint(K.shape[0]))]
    nearest = np.full(K.shape[0], np.inf)
    while True:
        i = chosen[-1]
        distance = diagonal + diagonal[i] - 2.0 * K.rows([i])[0]
        np.minimum(nearest, np.maximum(distance, 0.0), out=nearest)
        nearest[i] = 0.0
        if len(chosen) == m or not nearest.sum() > 0.0:
            return np.array(chosen)
        chosen.append(int(random.choice(K.shape[0], p=nearest / nearest.sum())))


def _cholesky(K: Gram, m: int, random: Any) -> np.ndarray:
    """Draw each point with a probability like what those before it do not explain of it.

    This is randomly pivoted Cholesky (Chen, Epperly, Tropp and Webber). Proposals come in blocks
    and are refused so that the distribution is that of one draw after the other.
    """
    rest = np.maximum(K.diagonal().astype(np.float64), 0.0)
    enough = K.shape[0] * EPS * float(rest.sum())
    F, chosen = np.empty((K.shape[0], 0)), np.empty(0, np.intp)
    while len(chosen) < m and rest.sum() > enough:
        draw = random.choice(K.shape[0], PROPOSED, p=rest / rest.sum())
        H = K.restrict(draw, draw).toarray() - F[draw] @ F[draw].T
        kept = _accepted(H, random)[: m - len(chosen)]
        if not len(kept):  # nothing but rounding was proposed
            break
        new = draw[kept]
        G = K.rows(new).T - F @ F[new].T
        C = cholesky(H[np.ix_(kept, kept)], lower=True)
        columns = solve_triangular(C, G.T, lower=True, check_finite=False).T
        F, chosen = np.hstack([F, columns]), np.concatenate([chosen, new])
        rest = np.maximum(rest - np.einsum("ij,ij->i", columns, columns), 0.0)
        rest[chosen] = 0.0
    return chosen


def _accepted(H: np.ndarray, random: Any) -> np.ndarray:
    """Return which proposals are taken: by the share of a point that is still not explained."""
    H = (H + H.T) / 2.0
    before, kept = np.diagonal(H).copy(), []
    for i, threshold in enumerate(random.random_sample(len(H))):
        left = H[i, i]
        if left > max(threshold, NEGLIGIBLE) * before[i]:
            kept.append(i)
            H -= np.outer(H[:, i], H[i]) / left
    return np.array(kept, dtype=np.intp)


def _leverage(K: Gram, m: int, random: Any) -> np.ndarray:
    """Draw points by their ridge leverage scores, estimated from uniform landmarks."""
    points = _uniform(K, m, random)
    U, kept = pivoted_factor(K.restrict(points, points).toarray())
    F = solve_triangular(U, K.rows(points[kept]), trans="T", check_finite=False).T
    rest = np.maximum(K.diagonal() - np.einsum("ij,ij->i", F, F), 0.0)
    if not F.size:
        return points
    gram = F.T @ F
    lam = max(float(rest.sum()) / m, NEGLIGIBLE * float(np.trace(gram)))
    gram[np.diag_indices_from(gram)] += lam
    scores = np.einsum("ij,ji->i", F, cho_solve(cho_factor(gram), F.T)) + rest / lam
    scores = np.clip(scores, EPS, 1.0)
    return np.sort(random.choice(K.shape[0], m, replace=False, p=scores / scores.sum()))


RULES: dict[str, Callable[[Gram, int, Any], np.ndarray]] = {
    "uniform": _uniform,
    "kmeans++": _kmeans_plus_plus,
    "cholesky": _cholesky,
    "leverage": _leverage,
}
