"""The search for a metric: what is learned on most of the rows is judged on the others.

A metric that was learned from a row's own target flatters that row, and leave-one-out would not
notice. So λ, width and exponent are chosen by exact leave-one-out, which is honest for a kernel
that has not seen the targets; the kind of metric and the number of rounds on rows held out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mercer._array import n_threads, run_tiles
from mercer._floats import EPS
from mercer._limits import Limits
from mercer.gram import gram
from mercer.kernels.gradients import gradient_of
from mercer.kernels.radial import Radial
from mercer.kernels.sample import Sample
from mercer.machines._metric_family import Family, KernelShape
from mercer.solvers.ridge_loo import LooSolution, solve_ridge_loo

NONE, DIAGONAL, FULL = "none", "diagonal", "full"
POWERS = {DIAGONAL: (0.5, 1.0), FULL: (0.5,)}  # of the mean square of the gradients
SHAPE_ROWS = 400  # on which width and exponent are chosen
FOLDS = 3
RESTARTS = 2  # with a better shape
FEWEST = 16  # rows: with fewer nothing is learned
BY_CHANCE = 2.0  # standard errors that a metric must win by: many are tried


class Way(NamedTuple):
    """How a metric is made from gradients: weights or a matrix, and which power of them."""

    kind: str
    power: float = 1.0


class TargetRows(NamedTuple):
    """Some rows with their targets and weights."""

    rows: Sample
    Y: np.ndarray
    weight: np.ndarray

    def take(self, index: np.ndarray) -> TargetRows:
        return TargetRows(Sample(self.rows.data[index]), self.Y[index], self.weight[index])


def next_metric(kernel: Radial, part: TargetRows, alpha: np.ndarray, way: Way) -> np.ndarray | None:
    """Return the metric that the gradients of a fit say; None if there is no gradient at all.

    The mean outer product of the gradients, M = E[∇f ∇fᵀ], to a power; its diagonal for weights. Of
    differences to the power p, weights are M^(p/2) where a matrix is M.
    """
    gradients = gradient_of(kernel, part.rows, part.rows, alpha)  # (n, d, t)
    share = part.weight / part.weight.sum()
    if way.kind == DIAGONAL:
        squares = np.einsum("idt,idt,i->d", gradients, gradients, share)
        if not squares.max(initial=0.0) > 0:
            return None
        return (squares / squares.max()) ** (way.power * kernel.p / 2.0)
    rooted = (gradients * np.sqrt(share)[:, None, None]).transpose(0, 2, 1)
    rooted = rooted.reshape(-1, rooted.shape[2])
    M = rooted.T @ rooted
    if not np.trace(M) > 0:
        return None
    values, vectors = np.linalg.eigh(M)
    values = np.maximum(values / values[-1], 0.0)
    values[values < EPS * len(values)] = 0.0
    return (vectors * values**way.power) @ vectors.T


def rows_within(memory: float) -> int:
    """Return how many rows `fit_loo` can take, with four matrices of all pairs and some room."""
    return max(int((memory / (5 * 8)) ** 0.5), FEWEST)


def fit_loo(
    kernel: Radial, part: TargetRows, lams: np.ndarray | None = None, memory: int | None = None
) -> LooSolution:
    """Fit ridge regression with the λ of the smallest leave-one-out error."""
    K = gram(kernel, part.rows, purpose="direct", memory=memory)
    return solve_ridge_loo(K, part.Y, part.weight, lams, memory=memory)


class MetricTrial(NamedTuple):
    """One way to a metric: after how many rounds, in which shape, and how it was judged."""

    kernel: str
    way: Way
    rounds: int
    shape: KernelShape
    """Of the last fit."""

    first_shape: KernelShape
    """Of the fits that taught the metric."""

    errors: np.ndarray
    """Squared errors of all rows, each by a fit that has not seen it, times their weights."""

    weight: float
    """What the rows weigh together."""

    @property
    def error(self) -> float:
        """The mean squared error."""
        return float(self.errors.sum() / self.weight)

    def told(self) -> dict[str, Any]:
        """Return it in plain values."""
        return {
            "kernel": self.kernel,
            "metric": self.way.kind,
            "power": self.way.power,
            "rounds": self.rounds,
            "width": self.shape.width,
            "exponent": self.shape.exponent,
            "error": self.error,
        }

    def beats(self, other: MetricTrial) -> bool:
        """Return whether the errors are smaller by more than chance would make them."""
        gaps = other.errors - self.errors
        return float(gaps.mean()) > BY_CHANCE * float(gaps.std()) / len(gaps) ** 0.5


def _error(trial: MetricTrial) -> float:
    return trial.error


class Step(NamedTuple):
    """A metric (None: plain), the λ of the fit with it, and that fit's errors on rows held out."""

    metric: np.ndarray | None
    lam: float
    errors: np.ndarray


class MetricFold(NamedTuple):
    """Rows to learn from, and rows to judge by."""

    learn: TargetRows
    judge: TargetRows

    def step(self, kernel: Radial, metric: np.ndarray | None) -> tuple[Step, LooSolution]:
        """Fit with a kernel and see how it does on the rows held out."""
        found = fit_loo(kernel, self.learn)
        K = gram(kernel, self.judge.rows, self.learn.rows, storage="blocked")
        gaps = self.judge.Y - K @ found.value - found.intercept
        errors = (gaps**2).mean(axis=1) * self.judge.weight
        return Step(metric, found.errors.best, errors), found


@dataclass
class MetricSearch:
    """Ways to a metric, tried on folds.

    Parameters
    ----------
    family : Family
        The kernel.
    part : TargetRows
        The rows, in random order.
    ways : list of Way
        The ways to try.
    rounds : int
        The largest number of rounds.
    limits : Limits
        When they stop it, what was tried until then decides.
    """

    family: Family
    part: TargetRows
    ways: list[Way]
    rounds: int
    limits: Limits
    trials: list[MetricTrial] = field(default_factory=list)
    lams: dict[tuple[Way, KernelShape], np.ndarray] = field(default_factory=dict)
    """λ of the fit before each round, the geometric mean over the folds, by way and first shape."""

    cut: bool = False
    """Whether the limits left something untried."""

    def run(self) -> MetricTrial:
        """Return the best way."""
        shape, error = self._best_shape()
        plain = MetricTrial(self.family.name, Way(NONE), 0, shape, shape, np.array([error]), 1.0)
        if not self.ways or len(self.part.Y) < FEWEST:
            return plain
        found = self._follow(self.ways, shape)
        if not found:
            return plain
        [plain] = self._keep(Way(NONE), shape, [path[:1] for path in next(iter(found.values()))])
        best = min([plain, *self._keep_all(found, shape)], key=_error)
        if not best.beats(plain):
            return plain
        return self._from_better_shapes(self._refined(best, found[best.way]))

    def _keep_all(
        self, found: dict[Way, list[list[Step]]], shape: KernelShape
    ) -> list[MetricTrial]:
        """Keep and return a trial for each round of each way; none where nothing was learned."""
        return [trial for way, paths in found.items() for trial in self._keep(way, shape, paths)]

    def _from_better_shapes(self, best: MetricTrial) -> MetricTrial:
        """Learn the metric again with the shape that a metric has shown to be better."""
        for _ in range(RESTARTS):
            shape, way = best.shape, best.way
            if (way, shape) in self.lams:
                break
            found = self._follow([way], shape)
            trials = self._keep_all(found, shape)
            if not trials:
                break
            best = min(best, self._refined(min(trials, key=_error), found[way]), key=_error)
        return best

    @property
    def folds(self) -> list[MetricFold]:
        """The rows in folds."""
        number = np.arange(len(self.part.Y)) % FOLDS
        return [
            MetricFold(
                *(self.part.take(np.flatnonzero(side)) for side in (number != k, number == k))
            )
            for k in range(FOLDS)
        ]

    def _best_shape(self) -> tuple[KernelShape, float]:
        """Return the shape of the smallest leave-one-out error without a metric, and that error."""
        part = self.part.take(np.arange(min(len(self.part.Y), SHAPE_ROWS)))
        errors = np.full(len(self.family.shapes), np.inf)

        def judge(number: int, worker: int) -> None:
            if number and self.limits.stopped():  # one there must be
                return
            kernel = self.family.bound(part.rows, None, self.family.shapes[number])
            errors[number] = fit_loo(kernel, part).errors.loo.min()

        run_tiles(judge, range(len(errors)), n_threads(), self.limits.interrupt)
        self.cut = bool(np.isinf(errors).any())
        return self.family.shapes[int(errors.argmin())], float(errors.min())

    def _follow(self, ways: list[Way], shape: KernelShape) -> dict[Way, list[list[Step]]]:
        """Return what each way learns on each fold, round by round; only what was finished."""
        folds, starts = self.folds, dict[int, tuple[Radial, Step, LooSolution]]()
        jobs = [(way, number) for way in ways for number in range(FOLDS)]
        paths: dict[tuple[Way, int], list[Step]] = {}

        def start(number: int, worker: int) -> None:
            if not self.limits.stopped():
                kernel = self.family.bound(folds[number].learn.rows, None, shape)
                starts[number] = kernel, *folds[number].step(kernel, None)

        def follow(job: tuple[Way, int], worker: int) -> None:
            way, number = job
            if number in starts and not self.limits.stopped():
                first = starts[number]
                paths[job] = [first[1], *self._path(way, folds[number], shape, first)]

        run_tiles(start, range(FOLDS), n_threads(), self.limits.interrupt)
        run_tiles(follow, jobs, n_threads(), self.limits.interrupt)
        self.cut = self.cut or len(paths) < len(jobs)
        return {
            way: [paths[way, number] for number in range(FOLDS)]
            for way in ways
            if all((way, number) in paths for number in range(FOLDS))
        }

    def _path(
        self,
        way: Way,
        fold: MetricFold,
        shape: KernelShape,
        start: tuple[Radial, Step, LooSolution],
    ) -> Iterator[Step]:
        """Yield the steps of one fold after that of the plain kernel, which all ways share."""
        kernel, _, found = start
        for _ in range(self.rounds):
            metric = next_metric(kernel, fold.learn, found.value, way)
            if metric is None or self.limits.stopped():
                return
            kernel = self.family.bound(fold.learn.rows, metric, shape)
            step, found = fold.step(kernel, metric)
            yield step

    def _keep(self, way: Way, shape: KernelShape, paths: list[list[Step]]) -> list[MetricTrial]:
        """Keep and return a trial for each round of a way."""
        length = min(len(path) for path in paths)
        sizes = np.array([[step.lam for step in path[:length]] for path in paths])
        self.lams[way, shape] = np.exp(np.log(np.maximum(sizes, 1e-300)).mean(axis=0))
        name, weight = self.family.name, float(self.part.weight.sum())
        rounds = range(length) if way.kind == NONE else range(1, length)
        errors = (np.concatenate([path[r].errors for path in paths]) for r in rounds)
        found = [
            MetricTrial(name, way, r, shape, shape, rows, weight)
            for r, rows in zip(rounds, errors, strict=True)
        ]
        self.trials += found
        return found

    def _refined(self, best: MetricTrial, paths: list[list[Step]]) -> MetricTrial:
        """Return the best shape, with the metrics that the folds of a trial learned.

        Without a metric, columns that mean nothing had a say in the width. So one goes from shape
        to shape beside it as long as the errors fall.
        """
        metrics, tried, before = [path[best.rounds].metric for path in paths], {best.shape}, None
        while best is not before:
            before = best
            beside = [shape for shape in self.family.near(best.shape) if shape not in tried]
            tried.update(beside)
            found = [
                best._replace(shape=shape, errors=errors)
                for shape, errors in self._judged(beside, metrics).items()
            ]
            self.trials += found
            best = min([best, *found], key=_error)
        return best

    def _judged(
        self, shapes: list[KernelShape], metrics: list[np.ndarray | None]
    ) -> dict[KernelShape, np.ndarray]:
        """Return the errors of shapes with a metric for each fold; only of what was finished."""
        folds = self.folds
        jobs = [(shape, number) for shape in shapes for number in range(FOLDS)]
        found: dict[tuple[KernelShape, int], np.ndarray] = {}

        def judge(job: tuple[KernelShape, int], worker: int) -> None:
            (shape, number), metric = job, metrics[job[1]]
            if not self.limits.stopped():
                kernel = self.family.bound(folds[number].learn.rows, metric, shape)
                found[job] = folds[number].step(kernel, metric)[0].errors

        run_tiles(judge, jobs, n_threads(), self.limits.interrupt)
        self.cut = self.cut or len(found) < len(jobs)
        return {
            shape: np.concatenate([found[shape, number] for number in range(FOLDS)])
            for shape in shapes
            if all((shape, number) in found for number in range(FOLDS))
        }
