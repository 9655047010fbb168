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
from mercer.solvers.ridge_loo import LooSolution, solve_ridge_loo

NONE, DIAGONAL, FULL = "none", "diagonal", "full"
POWERS = {DIAGONAL: (0.5, 1.0), FULL: (0.5,)}  # of the mean square of the gradients
WIDTHS = (0.5, 1.0, 2.0, 4.0, 8.0)  # in medians of the distances
EXPONENTS = (0.5, 1.0, 1.5, 2.0)
MEDIAN_ROWS = 250  # whose distances the median is taken of
SHAPE_ROWS = 400  # on which width and exponent are chosen
FOLDS = 3
FEWEST = 16  # rows: with fewer nothing is learned
BY_CHANCE = 2.0  # standard errors that a metric must win by: many are tried


class Shape(NamedTuple):
    """What a radial kernel still leaves open: the width, in median distances, and the exponent."""

    width: float
    exponent: float | None


class Way(NamedTuple):
    """How a metric is made from gradients: weights or a matrix, and which power of them."""

    kind: str
    power: float = 1.0


class Part(NamedTuple):
    """Some rows with their targets and weights."""

    rows: Sample
    Y: np.ndarray
    weight: np.ndarray

    def take(self, index: np.ndarray) -> Part:
        return Part(Sample(self.rows.data[index]), self.Y[index], self.weight[index])


@dataclass
class Family:
    """A radial kernel whose width, exponent and metric are open."""

    kernel: Radial
    shapes: list[Shape]
    fixed_gamma: bool

    @property
    def name(self) -> str:
        return type(self.kernel).__name__

    @classmethod
    def of(cls, kernel: Radial, named: bool) -> Family:
        """Return the family of a kernel; of one that was named, not made, all is open."""
        has_exponent = named and "exponent" in kernel.get_params()
        largest = getattr(kernel, "p", 2.0)
        exponents = [q for q in EXPONENTS if q <= largest] if has_exponent else [None]
        fixed = not isinstance(kernel.gamma, str)
        widths = (1.0,) if fixed else WIDTHS
        return cls(kernel, [Shape(w, q) for q in exponents for w in widths], fixed)

    def near(self, shape: Shape) -> list[Shape]:
        """Return the shapes beside one."""
        factors = () if self.fixed_gamma else (0.5, 2.0)
        return [shape._replace(width=shape.width * factor) for factor in factors]

    def bound(self, rows: Sample, metric: np.ndarray | None, shape: Shape) -> Radial:
        """Return the kernel with a metric and a shape; the width is in medians of these rows."""
        params = self.kernel.get_params(deep=False) | {"metric": metric}
        if shape.exponent is not None:
            params["exponent"] = shape.exponent
        plain = type(self.kernel)(**params)
        unit = self._median(plain, rows)
        if self.fixed_gamma:  # the metric gives way: distances keep their size
            before = self._median(self.kernel, rows)
            factor = (before / unit) ** (plain.p / plain.gamma_power)
            ones = np.ones(rows.data.shape[1]) if metric is None else metric
            return plain.set_params(metric=ones * factor).bind(rows)  # type: ignore[return-value]
        gamma = 1.0 / (unit * shape.width**plain.gamma_power)
        return plain.set_params(gamma=gamma).bind(rows)  # type: ignore[return-value]

    @staticmethod
    def _median(kernel: Radial, rows: Sample) -> float:
        some = Sample(rows.data[:: -(-len(rows) // MEDIAN_ROWS)])
        values = kernel.distances(some)[np.triu_indices(len(some), 1)]
        return float(np.median(values[values > 0])) if (values > 0).any() else 1.0


def next_metric(kernel: Radial, part: Part, alpha: np.ndarray, way: Way) -> np.ndarray | None:
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


def fit_loo(kernel: Radial, part: Part, lams: np.ndarray | None = None) -> LooSolution:
    """Fit ridge regression with the λ of the smallest leave-one-out error."""
    K = gram(kernel, part.rows, purpose="direct")
    return solve_ridge_loo(K, part.Y, part.weight, lams)


class Trial(NamedTuple):
    """One way to a metric: after how many rounds, in which shape, and how it was judged."""

    kernel: str
    way: Way
    rounds: int
    shape: Shape
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

    def beats(self, other: Trial) -> bool:
        """Return whether the errors are smaller by more than chance would make them."""
        gaps = other.errors - self.errors
        return float(gaps.mean()) > BY_CHANCE * float(gaps.std()) / len(gaps) ** 0.5


class Step(NamedTuple):
    """A metric (None: plain), the λ of the fit with it, and that fit's errors on rows held out."""

    metric: np.ndarray | None
    lam: float
    errors: np.ndarray


class Fold(NamedTuple):
    """Rows to learn from, and rows to judge by."""

    learn: Part
    judge: Part

    def step(self, kernel: Radial, metric: np.ndarray | None) -> tuple[Step, LooSolution]:
        """Fit with a kernel and see how it does on the rows held out."""
        found = fit_loo(kernel, self.learn)
        K = gram(kernel, self.judge.rows, self.learn.rows, storage="blocked")
        gaps = self.judge.Y - K @ found.value - found.intercept
        errors = (gaps**2).mean(axis=1) * self.judge.weight
        return Step(metric, found.errors.best, errors), found


@dataclass
class Search:
    """Ways to a metric, tried on folds.

    Parameters
    ----------
    family : Family
        The kernel.
    part : Part
        The rows, in random order.
    ways : list of Way
        The ways to try.
    rounds : int
        The largest number of rounds.
    limits : Limits
        When they stop it, what was tried until then decides.
    """

    family: Family
    part: Part
    ways: list[Way]
    rounds: int
    limits: Limits
    trials: list[Trial] = field(default_factory=list)
    lams: dict[Way, np.ndarray] = field(default_factory=dict)
    """λ of the fit before each round, the geometric mean over the folds, for each way."""

    cut: bool = False
    """Whether the limits left something untried."""

    def run(self) -> Trial:
        """Return the best way."""
        shape, error = self._best_shape()
        plain = Trial(self.family.name, Way(NONE), 0, shape, np.array([error]), 1.0)
        if not self.ways or len(self.part.Y) < FEWEST:
            return plain
        found = self._follow(shape)
        if not found:
            return plain
        [plain] = self._keep(Way(NONE), shape, [path[:1] for path in next(iter(found.values()))])
        for way, paths in found.items():
            self._keep(way, shape, paths)
        best = min(self.trials, key=lambda trial: trial.error)
        return self._refined(best, found[best.way]) if best.beats(plain) else plain

    @property
    def folds(self) -> list[Fold]:
        """The rows in folds."""
        number = np.arange(len(self.part.Y)) % FOLDS
        return [
            Fold(*(self.part.take(np.flatnonzero(side)) for side in (number != k, number == k)))
            for k in range(FOLDS)
        ]

    def _best_shape(self) -> tuple[Shape, float]:
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

    def _follow(self, shape: Shape) -> dict[Way, list[list[Step]]]:
        """Return what each way learns on each fold, round by round; only what was finished."""
        folds = self.folds
        jobs = [(way, number) for way in self.ways for number in range(FOLDS)]
        paths: dict[tuple[Way, int], list[Step]] = {}

        def follow(job: tuple[Way, int], worker: int) -> None:
            if not self.limits.stopped():
                paths[job] = list(self._path(job[0], folds[job[1]], shape))

        run_tiles(follow, jobs, n_threads(), self.limits.interrupt)
        self.cut = self.cut or len(paths) < len(jobs)
        return {
            way: [paths[way, number] for number in range(FOLDS)]
            for way in self.ways
            if all((way, number) in paths for number in range(FOLDS))
        }

    def _path(self, way: Way, fold: Fold, shape: Shape) -> Iterator[Step]:
        """Yield the steps of one fold: the plain kernel first."""
        metric = None
        for number in range(self.rounds + 1):
            kernel = self.family.bound(fold.learn.rows, metric, shape)
            step, found = fold.step(kernel, metric)
            yield step
            if number == self.rounds or self.limits.stopped():
                return
            metric = next_metric(kernel, fold.learn, found.value, way)
            if metric is None:
                return

    def _keep(self, way: Way, shape: Shape, paths: list[list[Step]]) -> list[Trial]:
        """Keep and return a trial for each round of a way."""
        length = min(len(path) for path in paths)
        sizes = np.array([[step.lam for step in path[:length]] for path in paths])
        self.lams[way] = np.exp(np.log(np.maximum(sizes, 1e-300)).mean(axis=0))
        name, weight = self.family.name, float(self.part.weight.sum())
        rounds = range(length) if way.kind == NONE else range(1, length)
        errors = (np.concatenate([path[r].errors for path in paths]) for r in rounds)
        found = [
            Trial(name, way, r, shape, rows, weight) for r, rows in zip(rounds, errors, strict=True)
        ]
        self.trials += found
        return found

    def _refined(self, best: Trial, paths: list[list[Step]]) -> Trial:
        """Return the best width about that of a trial, with the metrics that its folds learned."""
        shapes = self.family.near(best.shape)
        jobs = [(shape, number) for shape in shapes for number in range(FOLDS)]
        found: dict[tuple[Shape, int], np.ndarray] = {}
        folds = self.folds

        def judge(job: tuple[Shape, int], worker: int) -> None:
            (shape, number), metric = job, paths[job[1]][best.rounds].metric
            if not self.limits.stopped():
                kernel = self.family.bound(folds[number].learn.rows, metric, shape)
                found[job] = folds[number].step(kernel, metric)[0].errors

        run_tiles(judge, jobs, n_threads(), self.limits.interrupt)
        self.cut = self.cut or len(found) < len(jobs)
        for shape in shapes:
            parts = [found[shape, number] for number in range(FOLDS) if (shape, number) in found]
            if len(parts) == FOLDS:
                self.trials.append(best._replace(shape=shape, errors=np.concatenate(parts)))
                best = min(best, self.trials[-1], key=lambda trial: trial.error)
        return best
