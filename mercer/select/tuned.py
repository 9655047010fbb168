"""A search in two rounds over a grid that was found: what `tune` returns."""

from __future__ import annotations

import time
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from mercer._display import text_table
from mercer._words import setting
from mercer.cv_results import Trials
from mercer.select.engine import evaluate
from mercer.select.grids import GridAxis, candidates
from mercer.select.job import Job, ScoreTable
from mercer.select.rounds import staged_plan
from mercer.select.search import KernelSearchCV


class ReportedSearch(KernelSearchCV):
    """A search that is printed as a small table of what it found."""

    report_: str

    def __str__(self) -> str:
        return getattr(self, "report_", None) or repr(self)

    def _told(
        self, lines: list[tuple[str, str]], score: list[tuple[str, str]], seconds: float
    ) -> str:
        """Return lines, the best parameters, their score and the time as a table."""
        best = [(f"best {name}", setting(value, 4)) for name, value in self.best_params_.items()]
        time_taken = ("time", f"{seconds:.3g} s ({self.status_})")
        all_lines = [*lines, *best, *score, time_taken]
        return text_table("tune", all_lines, type(self.estimator).__name__)


class TunedSearch(ReportedSearch):
    """A search whose second round looks around the best point of the first."""

    def fit(self, X: Any, y: Any = None, **params: Any) -> TunedSearch:
        """Run both rounds, fit the best candidate, and write the report."""
        start = time.monotonic()
        super().fit(X, y, **params)
        self.report_ = self._report(time.monotonic() - start)
        return self

    @property
    def _axes(self) -> list[GridAxis]:
        return [GridAxis(name, tuple(values)) for name, values in self.param_grid.items()]

    def _evaluate(self, job: Job) -> ScoreTable:
        return evaluate(job)

    def _wide(self, job: Job) -> list[ScoreTable]:
        first = self._evaluate(job)
        means = first.scores().mean(axis=1)
        if first.status != "complete" or np.isnan(means).all():
            return [first]
        best = job.candidates[int(np.nanargmax(means))]
        finer = [GridAxis(axis.name, axis.around(best[axis.name])) for axis in self._axes]
        new = [point for point in candidates(finer) if point not in job.candidates]
        return [first, self._evaluate(replace(job, candidates=new))] if new else [first]

    def _report(self, seconds: float) -> str:
        lines = [(axis.name, _span(axis)) for axis in self._axes]
        lines.append(("candidates", f"{self._rounds()}: {self.route_}"))
        return self._told(lines, self._said_of_score(), seconds)

    def _said_of_score(self) -> list[tuple[str, str]]:
        return [] if callable(self.refit) else [("best score", f"{self.best_score_:.4g}")]

    def _rounds(self) -> str:
        """Return the numbers of candidates in the rounds, and on how many rows or folds."""
        trials = Trials.of(self)
        rounds = " + ".join(map(str, np.bincount(trials.rounds)))
        if staged_plan(self.strategy) is None:
            return f"{rounds}, each on {self.n_splits_} folds"
        sizes = " to ".join(f"{n:,}" for n in np.unique(trials.rows))
        return f"{rounds}, on {sizes} rows"


def _span(axis: GridAxis) -> str:
    values = axis.values
    if len(values) > 1 and all(isinstance(value, Real) for value in values):
        return f"{len(values)} values, {setting(min(values), 4)} … {setting(max(values), 4)}"
    return ", ".join(setting(value, 4) for value in values)
