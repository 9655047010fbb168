"""What is to be evaluated, and the table of what was."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from sklearn.exceptions import FitFailedWarning

from mercer._array import as_index
from mercer._sklearn import _MultimetricScorer
from mercer.select.callbacks import nothing
from mercer.select.routes import Fold

Result = dict[str, Any]
"""What scikit-learn keeps of one candidate on one fold: scores, times, the error."""

Cell = tuple[int, int, Result]
"""A candidate, a fold, and the result."""


@dataclass
class Job:
    """Candidates, folds and scorers: everything that fixes the table of scores.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    X, y : table or list of objects, targets
        All rows.
    candidates : list of dict
        Parameters to set.
    folds : list of Fold
        The splits.
    scorer : callable
        ``scorer(model, X, y)`` returns a number or a dict of numbers.
    fit_params, score_params : dict
        Further arguments; what has a value for each row is cut with the rows.
    error_score : "raise" or number
        The score of a fit that fails.
    train_scores : bool
        Whether to score the training rows too.
    true_models : bool
        Whether the fitted models themselves are wanted.
    n_jobs : int or None
        Threads (of ordinary cross-validation: joblib's workers).
    memory : int, str or None
        Byte budget.
    deadline : float or None
        When to stop, on the clock ``time.monotonic()``.
    verbose : int
        0 prints nothing.
    progress : "auto" or bool
        Whether to draw a bar.
    metric : str
        The scorer that the bar speaks of, if there are several.
    after_each : callable
        Called after each evaluation; returns whether to stop.
    """

    estimator: Any
    X: Any
    y: Any
    candidates: list[dict[str, Any]]
    folds: list[Fold]
    scorer: Any
    fit_params: dict[str, Any] = field(default_factory=dict)
    score_params: dict[str, Any] = field(default_factory=dict)
    error_score: Any = np.nan
    train_scores: bool = False
    true_models: bool = False
    n_jobs: int | None = None
    memory: Any = None
    deadline: float | None = None
    verbose: int = 0
    progress: Any = False
    metric: Any = "score"
    after_each: Callable[[], bool] = nothing

    def __len__(self) -> int:
        return len(self.candidates) * len(self.folds)

    def cells(self) -> Iterator[tuple[int, int]]:
        """Yield (candidate, fold) in the order of scikit-learn's tables."""
        return product(range(len(self.candidates)), range(len(self.folds)))

    @property
    def expired(self) -> bool:
        """Whether the time is over."""
        return self.deadline is not None and time.monotonic() >= self.deadline


@dataclass
class Table:
    """The results that there are, and how the run ended."""

    job: Job
    route: str = ""
    status: str = "complete"  # "complete", "time_limit" or "interrupted"
    results: dict[tuple[int, int], Result] = field(default_factory=dict)

    @property
    def complete(self) -> list[int]:
        """The candidates that were evaluated on all folds."""
        folds = range(len(self.job.folds))
        return [
            c for c in range(len(self.job.candidates)) if all((c, f) in self.results for f in folds)
        ]

    def rows(self) -> list[Result]:
        """Return all results in order; what was not evaluated has the score NaN."""
        return [self.results.get(cell) or self._missing(cell) for cell in self.job.cells()]

    def _missing(self, cell: tuple[int, int]) -> Result:
        known = next((r["test_scores"] for r in self.results.values()), np.nan)
        nan = dict.fromkeys(known, np.nan) if isinstance(known, dict) else np.nan
        return result_of(len(self.job.folds[cell[1]].test), nan, nan)


def conclude(tables: list[Table]) -> None:
    """Say what failed and what is missing; raise if nothing is left."""
    results = [result for table in tables for result in table.results.values()]
    errors = [r["fit_error"] for r in results if r["fit_error"] is not None]
    if errors:
        _report_failures(errors, len(results), tables[0].job)
    status, job = tables[-1].status, tables[-1].job
    if status == "complete":
        return
    done, total = len(tables[-1].complete), len(job.candidates)
    if not any(table.complete for table in tables):
        if status == "interrupted":
            raise KeyboardInterrupt
        raise TimeoutError(
            f"time_limit was over before any candidate was evaluated on all {len(job.folds)} folds "
            f"({len(results)} of {len(job)} fits done): raise time_limit, or search fewer points"
        )
    why = "interrupted" if status == "interrupted" else "stopped at time_limit"
    warnings.warn(
        f"{why}: {done} of {total} candidates were evaluated on all folds, the others have the "
        f"score NaN",
        UserWarning,
        stacklevel=4,
    )


def _report_failures(errors: list[str], n_results: int, job: Job) -> None:
    kinds, last_line = Counter(errors), errors[0].strip().splitlines()[-1]
    details = "\n".join(f"{count} fits:\n{text}" for text, count in kinds.items())
    if len(errors) == n_results:
        given = f" with {', '.join(job.fit_params)}" if job.fit_params else ""
        raise ValueError(
            f"all {n_results} fits{given} failed, the first with {last_line}\n{details}"
        )
    warnings.warn(
        f"{len(errors)} of {n_results} fits failed, the first with {last_line}\nTheir score is set "
        f"to {job.error_score}.\n{details}",
        FitFailedWarning,
        stacklevel=5,
    )


def result_of(n_test: int, test_scores: Any, train_scores: Any, **more: Any) -> Result:
    """Return a result in the form of scikit-learn's."""
    return {
        "fit_error": None,
        "test_scores": test_scores,
        "train_scores": train_scores,
        "n_test_samples": n_test,
        "fit_time": 0.0,
        "score_time": 0.0,
        **more,
    }


def error_scores(scorer: Any, error_score: Any) -> Any:
    """Return the score of a failed fit: one number, or one for each scorer."""
    if isinstance(scorer, _MultimetricScorer):
        return dict.fromkeys(scorer._scorers, error_score)
    return error_score


def as_folds(splits: Iterable[tuple[Any, Any]], n: int) -> list[Fold]:
    """Return the splits of n rows with row numbers, also where they were masks."""
    return [
        Fold(number, as_index(train, n, "train"), as_index(test, n, "test"))
        for number, (train, test) in enumerate(splits)
    ]
