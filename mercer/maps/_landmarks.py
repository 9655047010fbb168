"""Which points stand for all: landmarks of a Nyström approximation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer._floats import EPS
from mercer.gram import Gram
from mercer.solvers.pivoted import NEGLIGIBLE, factor_from_points, randomly_pivoted_cholesky


def choose_landmarks(rule: str, K: Gram, m: int, random: Any) -> np.ndarray:
    """Return the numbers of at most m points of the sample, by one of the rules in `RULES`."""
    if m >= K.shape[0]:
        return np.arange(K.shape[0])
    return RULES[rule](K, m, random)


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
    """Draw each point with a probability like what those before it do not explain of it."""
    return randomly_pivoted_cholesky(K, m, random)[1]


def _leverage(K: Gram, m: int, random: Any) -> np.ndarray:
    """Draw points by their ridge leverage scores, estimated from uniform landmarks."""
    points = _uniform(K, m, random)
    F = factor_from_points(K, points)
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
