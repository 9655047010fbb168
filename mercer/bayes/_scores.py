"""Scores of a Gaussian mixture: gradients of log p(x) by its parameters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def mixture_scores(
    X: np.ndarray, r: np.ndarray, weights: np.ndarray, means: np.ndarray, covariances: np.ndarray
) -> np.ndarray:
    """Return the gradients of log p(x) by log-weights and means, then covariances, shape (n, p).

    ``r`` are the responsibilities (n, k), and the covariances matrices (k, d, d) or variances
    (k, d) of all components. Weights are proportional to exp of the log-weights. A matrix counts as
    its lower triangle, whose entries stand for both sides.
    """
    gradient = _by_matrix if covariances.ndim == 3 else _by_variances
    parts = [
        gradient(X - mean, share[:, None], covariance)
        for mean, share, covariance in zip(means, r.T, covariances, strict=True)
    ]
    return np.hstack([r - weights, *(part[0] for part in parts), *(part[1] for part in parts)])


def _by_matrix(
    off: np.ndarray, share: np.ndarray, covariance: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return r Σ⁻¹(x − μ), and of ½ r (aaᵀ − Σ⁻¹) with a = Σ⁻¹(x − μ) the triangle."""
    precision = np.linalg.inv(covariance)
    a = off @ precision
    i, j = np.tril_indices(len(covariance))
    twice = np.where(i == j, 0.5, 1.0)  # an entry beside the diagonal stands in two places
    return share * a, share * twice * (a[:, i] * a[:, j] - precision[i, j])


def _by_variances(
    off: np.ndarray, share: np.ndarray, variances: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    a = off / variances
    return share * a, 0.5 * share * (a * a - 1.0 / variances)


# ---------------------------------------------------------------- what components share
def _each(gradients: np.ndarray, k: int) -> np.ndarray:
    return gradients


def _tied(gradients: np.ndarray, k: int) -> np.ndarray:
    return gradients.reshape(len(gradients), k, -1).sum(axis=1)


def _spherical(gradients: np.ndarray, k: int) -> np.ndarray:
    return gradients.reshape(len(gradients), k, -1).sum(axis=2)


SHARED: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "full": _each,
    "diagonal": _each,
    "tied": _tied,
    "spherical": _spherical,
}
"""From gradients by each component's own covariance to those by what a family leaves free."""
