"""Where EM starts: greedy k-means++ and a few rounds of Lloyd's k-means."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.bayes._e_step import Expected
from mercer.bayes._mixture import Mixture

ROUNDS = 10  # of k-means: EM goes on from there


def kmeans_labels(Z: np.ndarray, weight: np.ndarray, k: int, rng: Any) -> np.ndarray:
    """Return the cluster of each row after a few rounds of k-means from k-means++."""
    centres = seeds(Z, weight, k, rng)
    labels = nearest(Z, centres)
    for _ in range(ROUNDS):
        centres = _means(Z, weight, labels, centres)
        after = nearest(Z, centres)
        if (after == labels).all():
            break
        labels = after
    return labels


def seeds(Z: np.ndarray, weight: np.ndarray, k: int, rng: Any) -> np.ndarray:
    """Return k rows, each drawn by its squared distance to those before, the best of some trials.

    Rows are drawn in the order of a fixed projection, so that the draw depends neither on the order
    of the rows nor on whether a row is repeated or weighs more.
    """
    order = np.argsort(Z @ np.cos(np.arange(Z.shape[1])), kind="stable")
    trials = 2 + int(np.log(k))
    squares = np.full(len(Z), np.inf)
    chosen: list[int] = []
    for c in range(k):
        chance = weight * squares if c else weight
        drawn = _draw(chance if chance.any() else weight, order, rng.random(trials if c else 1))
        closer = np.minimum(squares, squared_distances(Z, Z[drawn]).T)  # (t, n)
        best = int((closer @ weight).argmin())
        squares = closer[best]
        chosen.append(int(drawn[best]))
    return Z[chosen]


def _draw(chance: np.ndarray, order: np.ndarray, u: np.ndarray) -> np.ndarray:
    sums = np.cumsum(chance[order])
    place = np.searchsorted(sums, u * sums[-1], side="right")
    return order[np.minimum(place, len(order) - 1)]


def squared_distances(Z: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return ‖z − m‖², shape (n, k)."""
    squares = np.einsum("ij,ij->i", Z, Z)[:, None] + np.einsum("ij,ij->i", centres, centres)
    squares -= 2.0 * (Z @ centres.T)
    return np.maximum(squares, 0.0, out=squares)


def nearest(Z: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the nearest centre of each row."""
    return squared_distances(Z, centres).argmin(axis=1)


def _means(
    Z: np.ndarray, weight: np.ndarray, labels: np.ndarray, centres: np.ndarray
) -> np.ndarray:
    """Return the means of the clusters; one without rows stays where it is."""
    share = np.zeros((len(centres), len(Z)))
    share[labels, np.arange(len(Z))] = weight
    counts = share.sum(axis=1, keepdims=True)
    return np.where(counts > 0, (share @ Z) / np.where(counts > 0, counts, 1.0), centres)


def expected_of(
    labels: np.ndarray, Z: np.ndarray, weight: np.ndarray, k: int, diagonal: bool
) -> Expected:
    """Return what an E step that is sure of these labels would have found."""
    d = Z.shape[1]
    means = _means(Z, weight, labels, np.zeros((k, d)))
    factors = np.ones((k, d)) if diagonal else np.tile(np.eye(d), (k, 1, 1))
    at = Mixture(np.full(k, 1.0 / k), means, factors, np.zeros(k, np.intp))
    moments = np.stack([_moments(Z, weight, labels == c, means[c], diagonal) for c in range(k)])
    return Expected(at, moments)


def _moments(
    Z: np.ndarray, weight: np.ndarray, members: np.ndarray, mean: np.ndarray, diagonal: bool
) -> np.ndarray:
    part = Z[members] - mean
    Y = np.column_stack([part, np.ones(len(part))])
    r = weight[members]
    if diagonal:
        return np.column_stack([r @ Y**2, r @ Y])
    return (Y.T * r) @ Y
