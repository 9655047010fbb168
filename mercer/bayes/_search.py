"""The best mixture of several starts and of several numbers of components."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mercer.bayes._e_step import expect
from mercer.bayes._em import em
from mercer.bayes._m_step import Shape, lifted_factors, step_size
from mercer.bayes._mixture import Mixture, Rows
from mercer.bayes._starts import expected_of, kmeans_labels, nearest
from mercer.bayes._units import Units
from mercer.result import Certificate, Solution, Status

SAME = 1e-6  # difference of mean log-likelihoods that are the same
FEW = 1e-6  # of the heaviest rows; a component with fewer has none


class Job(NamedTuple):
    """Rows in their units, the family of covariances, and how long EM may go on."""

    rows: Rows
    units: Units
    shape: Shape
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

    def cost(self, solution: Solution) -> float:
        """Return the information criterion of a fit: less is better."""
        k, d = solution.value.means.shape
        price = np.log(self.n_rows) if self.criterion == "bic" else 2.0
        fit = -2.0 * self.n_rows * solution.certificate.log_likelihood
        return float(fit + price * self.shape.n_parameters(k, d))


def best_mixture(job: Job, candidates: list[int], rng: Any) -> Solution:
    """Fit all numbers of components and return the best, with a certificate that says so."""
    deadline = np.inf if job.time_limit is None else time.monotonic() + job.time_limit
    found: dict[int, Solution] = {}
    for k in candidates:
        if found and time.monotonic() > deadline:
            break
        found[k] = _best_start(job, k, rng, deadline)
    costs = {k: job.cost(solution) for k, solution in found.items()}
    best = min(costs, key=lambda k: costs[k])
    solution = _described(job, found[best], {} if len(candidates) == 1 else {job.criterion: costs})
    if len(found) < len(set(candidates)) and solution.status.ok:
        return replace(solution, status=Status.TIME_LIMIT)
    return solution


def _best_start(job: Job, k: int, rng: Any, deadline: float) -> Solution:
    """Return the best of some starts; out of time, the best so far."""
    runs: list[Solution] = []
    for _ in range(job.n_init if job.start is None else 1):
        if runs and time.monotonic() > deadline:
            break
        runs.append(_run(job, k, rng, deadline))
        if runs[-1].status is Status.INTERRUPTED:
            break
    values = np.array([run.certificate.log_likelihood for run in runs])
    good = values >= values.max() - SAME
    best = runs[int(good.argmax())]  # the first of equals, so that rounding does not choose
    starts = {"starts": len(runs), "starts_as_good": int(good.sum())}
    certificate = _with_parts(best.certificate, starts)
    stopped = next((run.status for run in runs if run.status is Status.INTERRUPTED), best.status)
    return replace(best, certificate=certificate, status=stopped)


def _run(job: Job, k: int, rng: Any, deadline: float) -> Solution:
    total, volume = job.total, job.units.log_volume

    def e_step(mixture: Mixture) -> tuple[Any, float]:
        expected, value = expect(job.rows, mixture)
        return expected, value / total - volume

    return em(
        e_step,
        job.shape.maximise,
        job.shape.maximise(_first(job, k, rng)),
        tol=job.tol,
        max_iter=job.max_iter,
        distance=step_size,
        time_limit=None if deadline == np.inf else max(deadline - time.monotonic(), 0.0),
        about=f"EM for {k} Gaussians with {job.shape.kind} covariance on {len(job.rows)} rows",
    )


def _first(job: Job, k: int, rng: Any) -> Any:
    """Return the moments of the clusters that EM starts from."""
    Z, weight = job.rows.table, job.rows.weight
    if job.start is None:
        labels = kmeans_labels(Z, weight, k, rng)
    else:
        labels = job.start if job.start.ndim == 1 else nearest(Z, job.start)
    return expected_of(labels, Z, weight, k, job.shape.diagonal)


def _described(job: Job, solution: Solution, costs: dict[str, Any]) -> Solution:
    """Say which components rest on the floor or are empty."""
    mixture = solution.value
    floored = mixture.floored > _flat_directions(job)
    empty = mixture.weights * job.total < FEW
    parts = {
        **costs,
        "floored": np.flatnonzero(floored),
        "empty": np.flatnonzero(empty),
        "floor": job.shape.floor,
    }
    collapsed = solution.status.ok and bool((floored | empty).any())
    return replace(
        solution,
        status=Status.COLLAPSED if collapsed else solution.status,
        certificate=_with_parts(solution.certificate, parts),
    )


def _flat_directions(job: Job) -> int:
    """Return in how many directions all the data vary no more than the floor."""
    Z, weight = job.rows.table, job.rows.weight / job.total
    if job.shape.diagonal:
        return int((weight @ Z**2 < job.shape.floor).sum())
    return int(lifted_factors(((Z.T * weight) @ Z)[None], job.shape.floor)[1][0])


def _with_parts(certificate: Certificate, parts: dict[str, Any]) -> Certificate:
    return replace(certificate, parts={**certificate.parts, **parts})
