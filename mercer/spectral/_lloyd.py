"""Lloyd's k-means by inner products alone, all starts side by side: one product serves them all.

With weights z_c of the points of cluster c (Σz_c = 1) its centre is m_c = Σ z_cj φ(x_j), and

    ‖φ(x) − m_c‖² = k(x, x) − 2 (K z_c)_x + z_cᵀ K z_c.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._array import ranges
from mercer._floats import EPS
from mercer._random import drawn_in_order, generator_of
from mercer.result import Certificate, Solution, Status

PRODUCT_COLUMNS = 256  # weight vectors that one product serves
ROUNDING = 1e-12  # of a squared distance, relative to the spread: such a gain moves no point
SAME_INERTIA = 1e-9  # relative difference of inertias that are the same
NEGATIVE_SHARE = 1e-6  # of the spread: a squared distance below −this shows that K is indefinite


class InnerProducts:
    """K = XXᵀ of a small centred table, never formed: what Lloyd's method asks of a Gram matrix."""

    storage = "none"

    def __init__(self, X: np.ndarray):
        self.X = X

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        return self.X @ (self.X.T @ V)

    def rows(self, index: np.ndarray) -> np.ndarray:
        return self.X[index] @ self.X.T

    def diagonal(self) -> np.ndarray:
        return np.einsum("ij,ij->i", self.X, self.X)


class WeightedPoints(NamedTuple):
    """Points to be divided: centred inner products, their diagonal, weights, how many clusters."""

    K: Any
    own: np.ndarray
    weight: np.ndarray
    n_clusters: int

    @property
    def spread(self) -> float:
        """The weighted mean of k(x, x): the unit of squared distances."""
        return float(self.weight @ np.abs(self.own)) / float(self.weight.sum())

    @property
    def noise(self) -> float:
        """What rounding can do to a squared distance, by the size of K before it was centred."""
        base = getattr(self.K, "base", self.K)
        return max(ROUNDING * self.spread, 64 * EPS * float(np.abs(base.diagonal()).max()))


class Assignment(NamedTuple):
    """Labels of some starts and what they cost."""

    labels: np.ndarray  # (S, n)
    inertia: np.ndarray  # (S,)
    n_iter: np.ndarray  # (S,)
    settled: np.ndarray  # (S,) whether no point moved in the end


class Clusters(NamedTuple):
    """What the best start has found."""

    labels: np.ndarray  # (n,)
    inertia: float
    n_iter: int
    Z: np.ndarray  # (n, C), the share of each point in each centre
    norms: np.ndarray  # (C,), ‖m_c‖²; inf without points


def kernel_kmeans(
    K: Any, weight: np.ndarray, n_clusters: int, n_init: int, max_iter: int, random_state: Any
) -> Solution:
    """Return the best of several runs; the ``value`` is `Clusters`.

    K is a centred Gram matrix, or anything with products, rows and a diagonal.
    """
    rng = generator_of(random_state)
    points = WeightedPoints(K, np.asarray(K.diagonal(), dtype=np.float64), weight, n_clusters)
    together = max(1, PRODUCT_COLUMNS // n_clusters)
    runs = [
        lloyd(points, seeds(points, part.stop - part.start, rng), max_iter)
        for part in ranges(n_init, together)
    ]
    everything = Assignment(*(np.concatenate(parts) for parts in zip(*runs, strict=True)))
    return _proved(points, everything)


# ------------------------------------------------------------------------ starts
def seeds(points: WeightedPoints, n_starts: int, rng: Any) -> np.ndarray:
    """Return labels (S, n) of the nearest of centres that greedy k-means++ has drawn.

    Points are drawn in the order of k(x, x), so that the draw depends neither on the order of the
    rows nor on whether a row is repeated or weighs more.
    """
    order = np.argsort(points.own, kind="stable")
    n, trials = len(order), 2 + int(np.log(points.n_clusters))
    nearest = np.full((n_starts, n), np.inf)
    labels = np.zeros((n_starts, n), np.intp)
    for c in range(points.n_clusters):
        chance = points.weight * (nearest if c else np.ones_like(nearest))
        count = trials if c else 1  # the first is drawn once
        drawn = _draw(chance, order, rng.random((n_starts, count)))
        distance = _distances(points, drawn)  # (S, trials, n)
        closer = np.minimum(distance, nearest[:, None])
        best = (closer @ points.weight).argmin(axis=1)
        chosen = np.arange(n_starts), best
        labels[distance[chosen] < nearest - points.noise] = c
        nearest = closer[chosen]
    return labels


def _draw(chance: np.ndarray, order: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return points drawn with probabilities in proportion to ``chance`` (S, n), shape (S, t)."""
    starts = zip(chance, u, strict=True)
    return np.array([drawn_in_order(own, order, at) for own, at in starts])


def _distances(points: WeightedPoints, drawn: np.ndarray) -> np.ndarray:
    """Return squared distances from drawn points (S, t) to all, shape (S, t, n)."""
    unique, where = np.unique(drawn, return_inverse=True)
    squares = points.own[unique][:, None] + points.own - 2.0 * points.K.rows(unique)
    squares[np.arange(len(unique)), unique] = 0.0
    return np.maximum(squares, 0.0)[where.reshape(drawn.shape)]


# ------------------------------------------------------------------------ iterations
def lloyd(points: WeightedPoints, labels: np.ndarray, max_iter: int) -> Assignment:
    """Move points to the nearest centre until none moves, for all starts at once."""
    labels = labels.copy()
    S = len(labels)
    inertia, n_iter, settled = np.empty(S), np.zeros(S, np.intp), np.zeros(S, np.bool_)
    active = np.arange(S)
    least_gain = points.noise
    for _ in range(max_iter):
        scores, _ = centre_scores(points, labels[active])  # (S, n, C)
        now = _at(scores, labels[active])
        best = scores.argmin(axis=2)
        moves = now - _at(scores, best) > least_gain
        new = np.where(moves, best, labels[active])
        for s, row in enumerate(new):
            _fill_empty(points, row, points.own + _at(scores[s], row))
        settled[active] = (new == labels[active]).all(axis=1)
        labels[active], n_iter[active] = new, n_iter[active] + 1
        inertia[active] = (points.own + now) @ points.weight
        active = active[~settled[active]]
        if not len(active):
            break
    return Assignment(labels, inertia, n_iter, settled)


def _at(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return np.take_along_axis(scores, labels[..., None], axis=-1)[..., 0]


def centre_weights(points: WeightedPoints, labels: np.ndarray) -> np.ndarray:
    """Return Z (n, S·C): the share of each point in each centre."""
    S, n = labels.shape
    Z = np.zeros((n, S * points.n_clusters))
    Z[np.arange(n), labels + points.n_clusters * np.arange(S)[:, None]] = points.weight
    sums = Z.sum(axis=0)
    return np.divide(Z, sums, out=Z, where=sums > 0)


def centre_scores(points: WeightedPoints, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ‖φ(x) − m_c‖² − k(x, x), shape (S, n, C) (inf without points), and ‖m_c‖² (S, C)."""
    S, n = labels.shape
    Z = centre_weights(points, labels)
    P = np.asarray(points.K @ Z)
    norms = np.einsum("nc,nc->c", Z, P)
    norms[~Z.any(axis=0)] = np.inf
    scores = (norms - 2.0 * P).reshape(n, S, -1).transpose(1, 0, 2)
    return scores, norms.reshape(S, -1)


def _fill_empty(points: WeightedPoints, labels: np.ndarray, distance: np.ndarray) -> None:
    """Give an empty cluster the point that is farthest from its centre, in place."""
    sizes = np.bincount(labels, points.weight > 0, minlength=points.n_clusters)
    for c in np.flatnonzero(sizes == 0):
        far = np.where((points.weight > 0) & (sizes[labels] > 1), distance, -np.inf)
        p = int(far.argmax())
        if far[p] <= points.noise:
            return  # all points lie on their centres: there is nothing left to divide
        sizes[labels[p]] -= 1
        labels[p], sizes[c], distance[p] = c, 1, 0.0


# ------------------------------------------------------------------------ proof
def _proved(points: WeightedPoints, runs: Assignment) -> Solution:
    """Take the best run and look at its labels afresh."""
    within = runs.inertia <= runs.inertia.min() * (1 + SAME_INERTIA) + SAME_INERTIA * points.spread
    best = int(within.argmax())  # the first of equals, so that rounding does not choose
    labels = runs.labels[best]
    scores, norms = centre_scores(points, labels[None])
    now = _at(scores[0], labels)
    would_move = now - scores[0].min(axis=1) > max(SAME_INERTIA * points.spread, 4 * points.noise)
    distance = points.own + now
    indefinite = distance.min() < -max(NEGATIVE_SHARE * points.spread, points.noise)
    if not indefinite:
        distance = np.maximum(distance, 0.0)
    n_found, inertia = len(np.unique(labels)), float(points.weight @ distance)
    parts = {
        "inertia": inertia,
        "would_move": int(would_move.sum()),
        "clusters": n_found,
        "iterations": int(runs.n_iter[best]),
        "starts": len(runs.inertia),
        "starts_as_good": int(within.sum()),
        "storage": points.K.storage,
    }
    about = (
        f"k-means of {len(labels)} points: stationary, no point is nearer to another centre; no "
        f"global guarantee"
    )
    certificate = Certificate("share that would move", would_move.mean(), 0.0, about, parts)
    if indefinite:
        status = Status.INDEFINITE
    elif n_found < points.n_clusters:
        status = Status.FEWER_CLUSTERS
    else:
        status = Status.OPTIMAL if certificate.ok else Status.MAX_ITER
    Z = centre_weights(points, labels[None])
    found = Clusters(labels, inertia, int(runs.n_iter[best]), Z, norms[0])
    return Solution(found, status, certificate)
