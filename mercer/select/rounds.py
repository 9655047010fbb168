"""Searches of several rounds on growing samples: halving, and in stages.

Both score many candidates on few rows and few candidates on many. *Halving* keeps the better third
each time. *Stages* look where the best candidate of all rows is likely to be: the best width of a
kernel shrinks as rows come in, so that few rows cannot choose it, but they can choose the penalty
of each width.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import (
    GroupShuffleSplit,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
    check_cv,
)
from sklearn.utils import resample

from mercer._array import parse_memory
from mercer._labels import smallest_class
from mercer._limits import Limits
from mercer._sklearn import _check_method_params, _num_samples
from mercer.cv_results import Trials
from mercer.select.choices import around, on_more_rows, promising, smoothest
from mercer.select.engine import evaluate
from mercer.select.job import Fold, Job, ScoreTable, as_folds
from mercer.select.shared import check_folds

FACTOR = 3  # of rows from round to round of halving; one candidate in three goes on
SMALLEST = 20  # rows for each fold of halving, at least

FOLDS = 5
SECOND_CHANCE = 0.25  # of a time limit that was over before anything was scored
SHARED = "200MB"  # for a Gram matrix that few splits share: a larger one costs more than it saves


# ---------------------------------------------------------------- halving
def halving(job: Job, seed: int = 0) -> list[ScoreTable]:
    """Return the tables of all rounds; the last is on all rows.

    The folds of a round are those of the whole, cut to its rows.
    """
    tables = []
    candidates = job.candidates
    for size in _sizes(len(candidates), _num_samples(job.X), len(job.folds)):
        table = evaluate(replace(_cut(job, size, seed), candidates=candidates))
        tables.append(table)
        if table.status != "complete" or all(r["fit_error"] for r in table.rows()):
            break
        candidates = _better_third(table)
    return tables


def _sizes(n_candidates: int, n: int, n_folds: int) -> list[int]:
    """Return the numbers of rows of the rounds, growing to n."""
    rounds = int(log(max(n_candidates, 1), FACTOR))
    sizes = [n // FACTOR**k for k in range(rounds, 0, -1)]
    return [size for size in sizes if size >= SMALLEST * n_folds] + [n]


def _cut(job: Job, size: int, seed: int) -> Job:
    """Return the job on some rows, the classes in proportion."""
    n = _num_samples(job.X)
    if size == n:
        return job
    classes = job.y if is_classifier(job.estimator) else None
    rows = np.sort(
        resample(np.arange(n), replace=False, n_samples=size, stratify=classes, random_state=seed)
    )
    folds = [Fold(f.number, _places(f.train, rows), _places(f.test, rows)) for f in job.folds]
    return job.on_rows(rows, folds)


def _places(numbers: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return where the numbers lie among the rows, without those that do not."""
    return np.searchsorted(rows, numbers[np.isin(numbers, rows)])


def _better_third(table: ScoreTable) -> list[dict[str, Any]]:
    means = table.scores().mean(axis=1)
    order = np.argsort(-np.nan_to_num(means, nan=-np.inf), kind="stable")
    kept = np.sort(order[: max(1, -(-len(means) // FACTOR))])
    return [table.job.candidates[i] for i in kept]


# ---------------------------------------------------------------- stages
@dataclass(frozen=True)
class Staged:
    """Search widely on few rows, then ever more narrowly on more and more of them.

    The first round scores the whole grid on a sample. The second tries the best kernel and all
    narrower ones, each with the penalty that suited it, on more rows; the third the neighbours of
    the best. Each round takes the smoothest candidate (the smallest C, the largest λ) of those
    within half a standard error of the best score, and what candidates gained from round to round
    is carried on to all rows: kernels that are too narrow for few rows gain the most from more.
    All figures are counts of work: as long as no time limit ends a round, the result depends on
    the rows and the seed alone, not on the machine.

    Parameters
    ----------
    first_rows : int, default=1500
        Rows of the first round; a smaller table has no other.
    more_rows : tuple of int, default=(4000, 10000)
        Rows of the second and the third round, as far as the table has so many.
    held_out : float, default=0.25
        Share of the rows of a narrower round that is held out, in random splits.
    enough : int, default=2000
        Held-out rows of all splits together: few splits of many rows, what counts is rows to learn.

    Examples
    --------
    >>> from mercer import SVC, KernelSearchCV
    >>> from mercer.select import Staged
    >>> X = [[float(i % 7), float(i % 5)] for i in range(300)]
    >>> y = [int(a > b) for a, b in X]
    >>> plan = Staged(first_rows=100, more_rows=(200, 300))
    >>> search = KernelSearchCV(SVC("linear"), {"C": [0.1, 1.0]}, strategy=plan).fit(X, y)
    >>> sorted({int(n) for n in search.cv_results_["n_resources"]})
    [100, 200, 300]
    """

    first_rows: int = 1500
    more_rows: tuple[int, ...] = (4000, 10_000)
    held_out: float = 0.25
    enough: int = 2000


def staged_plan(strategy: Any) -> Staged | None:
    """Return the figures of a strategy if it goes in stages."""
    if strategy == "staged":
        return Staged()
    return strategy if isinstance(strategy, Staged) else None


def sample_rows(n: int, size: int, classes: Any, seed: int) -> np.ndarray:
    """Return so many of n rows, every class (if any) with its share, and one in each fold."""
    if size >= n:
        return np.arange(n)
    strata = np.zeros(n, np.intp) if classes is None else np.unique(classes, return_inverse=True)[1]
    order = np.random.default_rng(seed).permutation(n)
    parts = [order[strata[order] == stratum] for stratum in np.unique(strata)]
    return np.sort(np.concatenate([p[: max(round(size / n * len(p)), FOLDS)] for p in parts]))


class StagedRun:
    """The rounds of a staged search of a job on all rows, whose folds are not used.

    ``cv`` tells the folds of the first round: a number of them is shuffled, and stratified for
    classes; ``split_params`` is what a splitter takes besides, groups. ``wide(job)`` returns the
    tables of the first round. Afterwards ``rows`` are those of the last round in which all
    candidates were scored.
    """

    def __init__(
        self,
        job: Job,
        plan: Staged,
        cv: Any,
        split_params: dict[str, Any],
        seed: int,
        wide: Callable[[Job], list[ScoreTable]],
    ):
        if not (cv is None or isinstance(cv, int) or hasattr(cv, "split")):
            raise ValueError("strategy='staged' needs cv to be a number of folds or a splitter")
        self.job, self.plan, self.cv, self.seed, self.wide = job, plan, cv, seed, wide
        self.split_params, self.n = split_params, _num_samples(job.X)
        self.classes = is_classifier(job.estimator) and np.ndim(job.y) == 1
        self.rows = np.arange(self.n)
        self.limit = job.limits.seconds_left()

    def tables(self) -> list[ScoreTable]:
        """Return the tables of all rounds, each with its choice."""
        tables = latest = self._first()
        _choose(latest)
        for narrower, size in zip((promising, around), self.plan.more_rows, strict=False):
            if latest[-1].status != "complete" or self.n <= self.plan.first_rows:
                break
            trials, rows = _trials(latest), self._sample(max(size, len(self.rows)))
            table = evaluate(self._narrower(rows, narrower(trials, _chosen(latest))))
            tables = [*tables, table]
            if not table.complete:
                break
            sizes = _rows_learned(latest[0]), _rows_learned(table), self.n
            _choose([table], on_more_rows(_trials([table]), trials, sizes))
            latest, self.rows = [table], rows
        return tables

    def _first(self) -> list[ScoreTable]:
        """Search widely; what is too slow for a sample gets a third of it, and some more time."""
        self.rows = self._sample(self.plan.first_rows)
        tables = self.wide(self._wide_job(self.job))
        if tables[-1].status == "time_limit" and not any(table.complete for table in tables):
            self.rows = self._sample(len(self.rows) // 3)
            more = None if self.limit is None else SECOND_CHANCE * self.limit
            again = replace(self.job, limits=Limits.of(time_limit=more))
            tables = self.wide(self._wide_job(again))
        return tables

    def _sample(self, size: int) -> np.ndarray:
        return sample_rows(self.n, size, self.job.y if self.classes else None, self.seed)

    def _wide_job(self, job: Job) -> Job:
        return self._on_rows(job, self.rows, self._folds)

    def _narrower(self, rows: np.ndarray, candidates: list[dict[str, Any]]) -> Job:
        """Return the job of some candidates on a larger sample."""
        job = self._on_rows(self.job, rows, self._splits)
        return replace(job, candidates=candidates, most_shared=parse_memory(SHARED))

    def _on_rows(self, job: Job, rows: np.ndarray, splitter_of: Callable[[Job], Any]) -> Job:
        part = job.on_rows(rows, [])
        params = _check_method_params(job.X, params=self.split_params, indices=rows)
        splits = splitter_of(part).split(part.X, part.y, **params)
        part = replace(part, folds=as_folds(splits, len(rows)))
        check_folds(part)
        return part

    def _folds(self, part: Job) -> Any:
        """Return the folds of the first round; two rows at least are held out to be scored."""
        if hasattr(self.cv, "split"):
            return check_cv(self.cv, part.y, classifier=self.classes)
        wanted = FOLDS if self.cv is None else int(self.cv)
        if not self.classes:
            n = max(min(wanted, len(self.rows) // 2), 2)
            return KFold(n, shuffle=True, random_state=self.seed)
        n = min(wanted, max(smallest_class(part.y), 2))
        return StratifiedKFold(n, shuffle=True, random_state=self.seed)

    def _splits(self, part: Job) -> Any:
        """Return random splits whose held-out rows are enough together."""
        share, n = self.plan.held_out, _num_samples(part.X)
        count = int(np.clip(np.ceil(self.plan.enough / (share * n)), 1, FOLDS))
        if hasattr(self.cv, "in_few"):  # groups or time: every round keeps to them
            return self.cv.in_few(count, share)
        kind = ShuffleSplit
        if self.split_params.get("groups") is not None:
            kind = GroupShuffleSplit
        elif self.classes and smallest_class(part.y) > 1:
            kind = StratifiedShuffleSplit
        return kind(count, test_size=share, random_state=self.seed)


def _trials(tables: list[ScoreTable]) -> Trials:
    """Return the candidates of tables with the same folds."""
    params = [params for table in tables for params in table.job.candidates]
    return Trials.scored(params, np.concatenate([table.scores() for table in tables]))


def _chosen(tables: list[ScoreTable]) -> int:
    """Return the candidate that was taken, counted through the tables."""
    before = 0
    for table in tables:
        if table.chosen is not None:
            return before + table.chosen
        before += len(table.job.candidates)
    return 0


def _choose(tables: list[ScoreTable], expected: np.ndarray | None = None) -> None:
    """Mark the candidate to take."""
    place = smoothest(_trials(tables), expected)
    for table in tables:
        if place < len(table.job.candidates):
            table.chosen = place
            return
        place -= len(table.job.candidates)


def _rows_learned(table: ScoreTable) -> int:
    """Return how many rows the fits of a table learned from, on average."""
    return int(np.mean([len(fold.train) for fold in table.job.folds]))
