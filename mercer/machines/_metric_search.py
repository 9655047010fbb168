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
from mercer.kernels.gradients import gradient_of
from mercer.kernels.radial import Radial
from mercer.machines._metric_evidence import Relevance, most_evident
from mercer.machines._metric_family import Family, KernelShape
from mercer.machines._metric_rows import FEWEST, MetricFold, Start, Step, TargetRows, fit_loo

NONE, DIAGONAL, FULL, EVIDENCE = "none", "diagonal", "full", "evidence"
POWERS = {DIAGONAL: (0.5, 1.0), FULL: (0.5,), EVIDENCE: (1.0,)}
"""Of the mean square of the gradients; the evidence needs none."""

SHAPE_ROWS = 400  # on which width and exponent are chosen
FOLDS = 3
RESTARTS = 2  # with a better shape
BY_CHANCE = 2.0  # standard errors that a metric must win by: many are tried
ONE_TRY = 1.0  # the same where one is tried


LAST_STEPS = 15  # of the search for weights that starts where those of the folds have ended


class Way(NamedTuple):
    """How a metric is made: weights or a matrix of gradients to a power, or by evidence."""

    kind: str
    power: float = 1.0


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

    lam: float
    """λ of the last fit, the geometric mean over the folds."""

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
            "lam": self.lam,
            "error": self.error,
        }

    def beats(self, other: MetricTrial, by: float = BY_CHANCE) -> bool:
        """Return whether the errors are smaller by more than so many standard errors."""
        gaps = other.errors - self.errors
        return float(gaps.mean()) > by * float(gaps.std()) / len(gaps) ** 0.5


def _error(trial: MetricTrial) -> float:
    return trial.error


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

    plain: Radial = field(init=False)
    relevance: Relevance = field(init=False)
    """Where the search for evidence starts on all rows: the kernel, and the mean of the folds."""

    cut: bool = False
    """Whether the limits left something untried."""

    def run(self) -> MetricTrial:
        """Return the best way."""
        shape, error, lam = self._best_shape()
        name, errors = self.family.name, np.array([error])
        plain = MetricTrial(name, Way(NONE), 0, shape, shape, errors, 1.0, lam)
        if not self.ways or len(self.part.Y) < FEWEST:
            return plain
        starts = self._starts(shape)
        if len(starts) < FOLDS:
            return plain
        [plain] = self._keep(Way(NONE), shape, [[starts[k].step] for k in range(FOLDS)])
        ahead = min([plain, *self._by_evidence(plain, lam)], key=_error)
        return min([ahead, *self._by_gradients(plain, ahead, starts)], key=_error)

    def _by_gradients(
        self, plain: MetricTrial, ahead: MetricTrial, starts: dict[int, Start]
    ) -> list[MetricTrial]:
        """Return the best trials of metrics that are made of gradients, as far as they are good.

        Weights are gone on with if they are ahead; a matrix always, since nothing else can do what
        it does, and its width is still that of plain distances.
        """
        ways = [way for way in self.ways if way.kind != EVIDENCE]
        found = self._follow(ways, plain.shape, starts)
        best: dict[str, MetricTrial] = {}
        for trial in sorted(self._keep_all(found, plain.shape), key=_error):
            if trial.beats(plain) and (trial.way.kind == FULL or trial.error < ahead.error):
                best.setdefault(trial.way.kind, trial)
        refined = [self._refined(trial, found[trial.way]) for trial in best.values()]
        return [self._from_better_shapes(trial) for trial in refined]

    def _by_evidence(self, plain: MetricTrial, lam: float) -> list[MetricTrial]:
        """Return the trial of weights by evidence, if that is a way and was good."""
        shape, way, folds, found = plain.shape, Way(EVIDENCE), self.folds, {}
        if way not in self.ways or self.limits.stopped():
            return []
        self.plain = self.family.plain(self.part.rows, shape)
        start = Relevance(
            np.ones(self.part.category.max() + 1),
            lam,
            shape.exponent if self.family.open_exponent else None,
        )

        def judge(number: int, worker: int) -> None:
            if not self.limits.stopped():
                learn = folds[number].learn
                relevance = most_evident(self.plain, learn, start, self.limits)
                metric = relevance.weights[learn.category]
                kernel = relevance.kernel(self.plain, metric)
                step, _ = folds[number].step(kernel, metric, relevance.lam)
                found[number] = relevance, step.errors

        run_tiles(judge, range(FOLDS), n_threads(), self.limits.interrupt)
        if len(found) < FOLDS:
            self.cut = True
            return []
        self.relevance = Relevance.mean([found[number][0] for number in range(FOLDS)])
        errors = np.concatenate([found[number][1] for number in range(FOLDS)])
        shown = shape._replace(exponent=self.relevance.exponent)
        weight = float(self.part.weight.sum())
        lam = self.relevance.lam
        trial = MetricTrial(self.family.name, way, 0, shown, shape, errors, weight, lam)
        self.trials.append(trial)
        return [trial] if trial.beats(plain, ONE_TRY) else []

    def evident(self) -> Radial:
        """Return the kernel with the weights of the most evidence on all rows of the search."""
        found = most_evident(self.plain, self.part, self.relevance, self.limits, LAST_STEPS)
        return found.kernel(self.plain, found.weights[self.part.category])

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
            found = self._follow([way], shape, self._starts(shape))
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

    def _best_shape(self) -> tuple[KernelShape, float, float]:
        """Return the shape of the smallest leave-one-out error without a metric, that error, λ."""
        part = self.part.take(np.arange(min(len(self.part.Y), SHAPE_ROWS)))
        errors, lams = np.full((2, len(self.family.shapes)), np.inf)

        def judge(number: int, worker: int) -> None:
            if number and self.limits.stopped():  # one there must be
                return
            kernel = self.family.bound(part.rows, None, self.family.shapes[number])
            found = fit_loo(kernel, part).errors
            errors[number], lams[number] = found.loo.min(), found.best

        run_tiles(judge, range(len(errors)), n_threads(), self.limits.interrupt)
        self.cut = bool(np.isinf(errors).any())
        best = int(errors.argmin())
        return self.family.shapes[best], float(errors[best]), float(lams[best])

    def _starts(self, shape: KernelShape) -> dict[int, Start]:
        """Return the fit of the plain kernel on each fold; only what was finished."""
        folds, starts = self.folds, dict[int, Start]()

        def start(number: int, worker: int) -> None:
            if not self.limits.stopped():
                kernel = self.family.bound(folds[number].learn.rows, None, shape)
                starts[number] = Start(kernel, *folds[number].step(kernel, None))

        run_tiles(start, range(FOLDS), n_threads(), self.limits.interrupt)
        self.cut = self.cut or len(starts) < FOLDS
        return starts

    def _follow(
        self, ways: list[Way], shape: KernelShape, starts: dict[int, Start]
    ) -> dict[Way, list[list[Step]]]:
        """Return what each way learns on each fold, round by round; only what was finished."""
        folds = self.folds
        jobs = [(way, number) for way in ways for number in range(FOLDS)]
        paths: dict[tuple[Way, int], list[Step]] = {}

        def follow(job: tuple[Way, int], worker: int) -> None:
            way, number = job
            if number in starts and not self.limits.stopped():
                first = starts[number]
                paths[job] = [first.step, *self._path(way, folds[number], shape, first)]

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
        start: Start,
    ) -> Iterator[Step]:
        """Yield the steps of one fold after that of the plain kernel, which all ways share."""
        kernel, step, found = start
        for _ in range(self.rounds):
            metric = next_metric(kernel, fold.learn, found.value, way)
            if metric is None or self.limits.stopped():
                return
            kernel = self.family.bound(fold.learn.rows, metric, shape)
            step, found = fold.step(kernel, metric, step.lam)
            yield step

    def _keep(self, way: Way, shape: KernelShape, paths: list[list[Step]]) -> list[MetricTrial]:
        """Keep and return a trial for each round of a way."""
        length = min(len(path) for path in paths)
        lams = _mean_lam([[step.lam for step in path[:length]] for path in paths])
        self.lams[way, shape] = lams
        name, weight = self.family.name, float(self.part.weight.sum())
        rounds = range(length) if way.kind == NONE else range(1, length)
        errors = (np.concatenate([path[r].errors for path in paths]) for r in rounds)
        found = [
            MetricTrial(name, way, r, shape, shape, rows, weight, float(lams[r]))
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
                best._replace(shape=shape, errors=errors, lam=lam)
                for shape, (errors, lam) in self._judged(beside, metrics, best.lam).items()
            ]
            self.trials += found
            best = min([best, *found], key=_error)
        return best

    def _judged(
        self, shapes: list[KernelShape], metrics: list[np.ndarray | None], near: float
    ) -> dict[KernelShape, tuple[np.ndarray, float]]:
        """Return errors and λ of shapes with a metric for each fold; only of what was finished."""
        folds = self.folds
        jobs = [(shape, number) for shape in shapes for number in range(FOLDS)]
        found: dict[tuple[KernelShape, int], Step] = {}

        def judge(job: tuple[KernelShape, int], worker: int) -> None:
            (shape, number), metric = job, metrics[job[1]]
            if not self.limits.stopped():
                kernel = self.family.bound(folds[number].learn.rows, metric, shape)
                found[job], _ = folds[number].step(kernel, metric, near)

        run_tiles(judge, jobs, n_threads(), self.limits.interrupt)
        self.cut = self.cut or len(found) < len(jobs)
        steps = {
            shape: [found[shape, number] for number in range(FOLDS)]
            for shape in shapes
            if all((shape, number) in found for number in range(FOLDS))
        }
        return {
            shape: (
                np.concatenate([step.errors for step in own]),
                float(_mean_lam([step.lam for step in own])),
            )
            for shape, own in steps.items()
        }


def _mean_lam(lams: list[Any]) -> np.ndarray:
    """Return the geometric mean over the folds."""
    return np.exp(np.log(np.maximum(lams, 1e-300)).mean(axis=0))
