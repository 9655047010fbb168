"""The best mixture of several starts, by k-means, and of several numbers of components."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mercer._limits import Limits
from mercer._random import drawn_in_order
from mercer.bayes._em import EMSolution, em
from mercer.bayes._mixture_em import (
    CovarianceFamily,
    Expected,
    HomogeneousRows,
    Mixture,
    expect,
    lifted_factors,
    step_size,
)
from mercer.bayes._moments import ColumnUnits
from mercer.result import Solution, Status

SAME_LIKELIHOOD = 1e-6  # difference of mean log-likelihoods that are the same
EMPTY_COMPONENT = 1e-6  # of the heaviest rows; a component with fewer has none
KMEANS_ROUNDS = 10  # EM goes on from there


class MixtureTask(NamedTuple):
    """Rows in their units, the family of covariances, and how long EM may go on."""

    rows: HomogeneousRows
    units: ColumnUnits
    family: CovarianceFamily
    n_init: int
    tol: float
    max_iter: int
    criterion: str
    start: np.ndarray | None
    time_limit: float | None
    n_rows: float  # how many rows there are, by the weights that were given

    @property
    def total(self) -> float:
        """The sum of all weights of the rows, of which the largest is about one."""
        return float(self.rows.weight.sum())

    def cost(self, solution: EMSolution) -> float:
        """Return the information criterion of a fit: less is better."""
        k, d = solution.value.means.shape
        price = np.log(self.n_rows) if self.criterion == "bic" else 2.0
        fit = -2.0 * self.n_rows * solution.log_likelihood
        return float(fit + price * self.family.n_parameters(k, d))


def best_mixture(task: MixtureTask, candidates: list[int], rng: Any) -> Solution:
    """Fit all numbers of components and return the best, with a certificate that says so."""
    limits = Limits.of(time_limit=task.time_limit)
    found: dict[int, EMSolution] = {}
    for k in candidates:
        if found and limits.stopped():
            break
        found[k] = _best_start(task, k, rng, limits)
    costs = {k: task.cost(solution) for k, solution in found.items()}
    best = min(costs, key=lambda k: costs[k])
    solution = _described(
        task, found[best], {} if len(candidates) == 1 else {task.criterion: costs}
    )
    if len(found) < len(set(candidates)) and solution.status.ok:
        return replace(solution, status=Status.TIME_LIMIT)
    return solution


def _best_start(task: MixtureTask, k: int, rng: Any, limits: Limits) -> EMSolution:
    """Return the best of some starts; out of time, the best so far."""
    runs: list[EMSolution] = []
    for _ in range(task.n_init if task.start is None else 1):
        if runs and limits.stopped():
            break
        runs.append(_run(task, k, rng, limits))
        if runs[-1].status is Status.INTERRUPTED:
            break
    values = np.array([run.log_likelihood for run in runs])
    good = values >= values.max() - SAME_LIKELIHOOD
    best = runs[int(good.argmax())]  # the first of equals, so that rounding does not choose
    starts = {"starts": len(runs), "starts_as_good": int(good.sum())}
    certificate = best.certificate.with_parts(**starts)
    stopped = next((run.status for run in runs if run.status is Status.INTERRUPTED), best.status)
    return replace(best, certificate=certificate, status=stopped)


def _run(task: MixtureTask, k: int, rng: Any, limits: Limits) -> EMSolution:
    total, volume = task.total, task.units.log_volume

    def e_step(mixture: Mixture) -> tuple[Any, float]:
        expected, value = expect(task.rows, mixture)
        return expected, value / total - volume

    return em(
        e_step,
        task.family.maximise,
        task.family.maximise(_first(task, k, rng)),
        tol=task.tol,
        max_iter=task.max_iter,
        distance=step_size,
        time_limit=limits.seconds_left(),
        about=f"EM for {k} Gaussians with {task.family.kind} covariance on {len(task.rows)} rows",
    )


def _first(task: MixtureTask, k: int, rng: Any) -> Any:
    """Return the moments of the clusters that EM starts from."""
    Z, weight = task.rows.table, task.rows.weight
    if task.start is None:
        labels = kmeans_labels(Z, weight, k, rng)
    else:
        labels = task.start if task.start.ndim == 1 else nearest(Z, task.start)
    return expected_of(labels, Z, weight, k, task.family.diagonal)


def _described(task: MixtureTask, solution: Solution, costs: dict[str, Any]) -> Solution:
    """Say which components rest on the floor or are empty."""
    mixture = solution.value
    floored = mixture.floored > _flat_directions(task)
    empty = mixture.weights * task.total < EMPTY_COMPONENT
    parts = {
        **costs,
        "floored": np.flatnonzero(floored),
        "empty": np.flatnonzero(empty),
        "floor": task.family.floor,
    }
    collapsed = solution.status.ok and bool((floored | empty).any())
    return replace(
        solution,
        status=Status.COLLAPSED if collapsed else solution.status,
        certificate=solution.certificate.with_parts(**parts),
    )


def _flat_directions(task: MixtureTask) -> int:
    """Return in how many directions all the data vary no more than the floor."""
    Z, weight = task.rows.table, task.rows.weight / task.total
    if task.family.diagonal:
        return int((weight @ Z**2 < task.family.floor).sum())
    return int(lifted_factors(((Z.T * weight) @ Z)[None], task.family.floor)[1][0])


# ------------------------------------------------------------------------ starts
def kmeans_labels(Z: np.ndarray, weight: np.ndarray, k: int, rng: Any) -> np.ndarray:
    """Return the cluster of each row after a few rounds of k-means from k-means++."""
    centres = seeds(Z, weight, k, rng)
    labels = nearest(Z, centres)
    for _ in range(KMEANS_ROUNDS):
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
        drawn = drawn_in_order(
            chance if chance.any() else weight, order, rng.random(trials if c else 1)
        )
        closer = np.minimum(squares, squared_distances(Z, Z[drawn]).T)  # (t, n)
        best = int((closer @ weight).argmin())
        squares = closer[best]
        chosen.append(int(drawn[best]))
    return Z[chosen]


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
