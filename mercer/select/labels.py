"""Choosing parameters with few labels: each is hidden in turn, and all rows stay.

A machine with a graph is the supervised machine with a deformed kernel K̃ on the labelled rows
alone. K̃ is computed once for a kernel and a weight of the graph, and serves all folds and all
penalties; what is left are machines on as many points as there are labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binomtest
from sklearn.base import clone, is_classifier
from sklearn.model_selection import LeaveOneOut, PredefinedSplit, check_cv

from mercer._words import count, percent
from mercer.cv_results import Trials
from mercer.machines._unlabelled import WithGraph
from mercer.select.engine import evaluate
from mercer.select.grids import GridAxis, axes
from mercer.select.job import Fold, Job, ScoreTable, as_folds
from mercer.select.tuned import TunedSearch

ROUTE = "labels hidden in turn, deformed kernels shared"
ONE_BY_ONE = 20  # labels up to which each is hidden alone
FOLDS = 10  # of more labels
PARTS = (0.0, 0.01, 0.1, 1.0, 10.0, 100.0)
"""Weights of the graph, beside ‖f‖²; 0 is the machine that sees labelled rows alone."""


class Deformed(NamedTuple):
    """A candidate by what deforms the kernel, and the penalty of the machine on top."""

    number: int
    kernel: dict[str, Any]  # all other parameters
    part: float  # the weight of the graph, beside ‖f‖²
    penalty: dict[str, Any]


def has_graph(estimator: Any) -> bool:
    """Whether an estimator is a machine with a graph."""
    return isinstance(estimator, WithGraph)


def deciding_score(estimator: Any) -> str | None:
    """Return the score by which labels are hidden one by one: R² of one row says nothing."""
    return None if is_classifier(estimator) else "neg_mean_squared_error"


def label_axes(estimator: Any, X: Any, y: Any, rng: np.random.Generator) -> list[GridAxis]:
    """Return the axes of a machine with a graph: the number of neighbours stays as it is."""
    targets, known = _labelled(estimator, y)
    found = axes(estimator, X, targets[known], rng)
    rest = [axis for axis in found if axis.name != "n_neighbors"]
    lams = next((axis for axis in rest if axis.name == "lam"), None)
    unit = 1.0 if lams is None else float(np.median(lams.values))
    return [*rest, GridAxis("lam_graph", tuple(unit * part for part in PARTS))]


def _labelled(estimator: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return targets, and which of them are known."""
    targets, known = (y, None) if y is None else estimator._split(y)
    if known is None:
        raise ValueError(f"y must be a list of targets, of which some may be missing; got {y!r}")
    return np.asarray(targets), known


class LabelSearch(TunedSearch):
    """A search for a machine with a graph: folds hide labels, not rows."""

    def _check_targets(self, y: Any) -> None:
        _labelled(self.estimator, y)

    def _with_folds(self, job: Job, split_params: dict[str, Any]) -> Job:
        """Return the job with folds that count the labelled rows."""
        targets, known = _labelled(self.estimator, job.y)
        self._labelled = np.flatnonzero(known)
        self._targets = targets[self._labelled]
        n = len(self._labelled)
        splits = (
            [] if n < 2 else self._splitter(n).split(self._labelled, self._targets, **split_params)
        )
        folds = [fold for fold in as_folds(splits, n) if self._tells(fold)]
        if not folds:
            raise ValueError(
                f"parameters are chosen by hiding labels, and of classes two must be left; got "
                f"{count(n, 'label')}: give parameters, or more labels"
            )
        folds = [fold._replace(number=number) for number, fold in enumerate(folds)]
        self.n_splits_ = len(folds)
        return replace(job, folds=folds)

    def _splitter(self, n: int) -> Any:
        if self.cv is not None:
            return check_cv(self.cv, self._targets, classifier=is_classifier(self.estimator))
        if n <= ONE_BY_ONE:
            return LeaveOneOut()
        order = np.random.default_rng(self.random_state).permutation(n)
        if is_classifier(self.estimator):  # every class is spread evenly, however few labels it has
            order = order[np.argsort(self._targets[order], kind="stable")]
        fold = np.empty(n, np.intp)
        fold[order] = np.arange(n) % FOLDS
        return PredefinedSplit(fold)

    def _tells(self, fold: Fold) -> bool:
        return not is_classifier(self.estimator) or len(np.unique(self._targets[fold.train])) > 1

    def _evaluate(self, job: Job) -> ScoreTable:
        """Score all candidates on kernels that are deformed once for many of them."""
        table = ScoreTable(job, ROUTE)
        for K, found in self._kernels(job):
            if job.limits.stopped():
                table.status = "time_limit"
                break
            part = evaluate(
                replace(
                    job,
                    estimator=self.estimator.on_labelled_rows(),
                    X=K,
                    y=self._targets,
                    candidates=[each.penalty for each in found],
                    progress=False,
                )
            )
            numbers = [each.number for each in found]
            table.results |= {(numbers[c], f): row for (c, f), row in part.results.items()}
            table.status = part.status
            if part.status != "complete":
                break
        return table

    def _wide(self, job: Job) -> list[ScoreTable]:
        tables = super()._wide(job)
        _choose(tables)
        return tables

    def _kernels(self, job: Job) -> Iterator[tuple[np.ndarray, list[Deformed]]]:
        """Yield deformed kernels, each with the candidates that it serves."""
        found = [self._deformed(number, params) for number, params in enumerate(job.candidates)]
        found.sort(key=lambda each: (repr(each.kernel), each.part))
        for _, same in groupby(found, key=lambda each: repr(each.kernel)):
            one = list(same)
            parts = sorted({each.part for each in one})
            machine = clone(self.estimator).set_params(**one[0].kernel, lam_graph=1.0)
            kernels = machine.deformations(job.X, self._labelled, parts, job.limits)
            for part, K in zip(parts, kernels, strict=True):
                yield K, [each for each in one if each.part == part]

    def _deformed(self, number: int, params: dict[str, Any]) -> Deformed:
        machine = clone(self.estimator).set_params(**params)
        rest = {k: v for k, v in params.items() if k not in ("lam_graph", "lam", "C")}
        ambient = getattr(machine, "lam", None) or 1.0  # λ_G is beside λ‖f‖², or ½‖f‖²
        part = float(f"{machine.lam_graph / ambient:.12g}")
        penalty = {k: v for k, v in params.items() if k in ("lam", "C")}
        return Deformed(number, rest, part, penalty)

    def _said_of_score(self) -> list[tuple[str, str]]:
        said, labels = super()._said_of_score(), count(len(self._labelled), "label")
        trials, best = Trials.of(self), self.best_index_
        means = trials.mean
        least = means[best] - trials.std[best] / self.n_splits_**0.5
        as_good = int((means >= least).sum())
        lines = [*said, ("known by", f"{labels}, hidden in {self.n_splits_} turns")]
        if is_classifier(self.estimator) and self.scoring is None:
            right, n = round(means[best] * len(self._labelled)), len(self._labelled)
            low, high = binomtest(right, n).proportion_ci(method="wilson")
            lines.append(("it may be", f"{percent(low, 0)} to {percent(high, 0)} (95 % interval)"))
        told = f"{as_good:,} of {len(means):,} candidates, within one standard error"
        return [*lines, ("as good", told)]


def _choose(tables: list[ScoreTable]) -> None:
    """Mark the best candidate; of equals, which few labels leave many, one of the first round."""
    best = [np.nanmax(table.scores().mean(axis=1), initial=-np.inf) for table in tables]
    table = tables[int(np.argmax(best))]
    table.chosen = _central(table)


def _central(table: ScoreTable) -> int | None:
    """Return the best candidate; of equals the one whose values of each parameter do best with all
    values of the others."""
    means = table.scores().mean(axis=1)
    if not np.isfinite(means).any():
        return None
    around = np.zeros(len(means))
    for name in table.job.candidates[0]:
        values = np.array([repr(params.get(name)) for params in table.job.candidates])
        for value in np.unique(values):
            around[values == value] += np.nanmean(means[values == value])
    best = np.flatnonzero(means == np.nanmax(means))
    return int(best[around[best].argmax()])
