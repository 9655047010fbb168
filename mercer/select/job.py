"""What is to be evaluated, and the table of what was.

A `Job` is candidates × folds: with its scorers it fixes a table of scores, which `ScoreTable` holds
as far as it was filled. Every search, curve and cross-validation of this folder is one or several.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning

from mercer._array import as_index, parse_memory
from mercer._estimator import ProvedEstimator
from mercer._limits import UNLIMITED, Limits
from mercer._sklearn import (
    _check_method_params,
    _MultimetricScorer,
    _num_samples,
    _safe_indexing,
    _safe_split,
)
from mercer._words import nearest

Result = dict[str, Any]
"""What scikit-learn keeps of one candidate on one fold: scores, times, the error."""

Cell = tuple[int, int, Result]
"""A candidate, a fold, and the result."""


class Fold(NamedTuple):
    """One split of the rows."""

    number: int
    train: np.ndarray  # row numbers
    test: np.ndarray


@dataclass
class Job:
    """Candidates, folds and scorers: everything that fixes the table of scores."""

    estimator: Any  # unfitted
    X: Any  # all rows
    y: Any
    candidates: list[dict[str, Any]]  # parameters to set
    folds: list[Fold]
    scorer: Any  # scorer(model, X, y) returns a number or a dict of numbers
    fit_params: dict[str, Any] = field(default_factory=dict)  # what is by row is cut with the rows
    score_params: dict[str, Any] = field(default_factory=dict)
    error_score: Any = np.nan  # of a fit that fails; "raise" raises
    train_scores: bool = False  # whether to score the training rows too
    true_models: bool = False  # whether the fitted models themselves are wanted
    n_jobs: int | None = None  # threads; of ordinary cross-validation joblib's workers
    memory: Any = None  # byte budget
    most_shared: int = UNLIMITED  # bytes of it for what fits share: more is not worth it
    limits: Limits = field(default_factory=Limits)
    verbose: int = 0
    progress: Any = False  # whether to draw a bar; "auto" draws on a terminal
    metric: Any = "score"  # the scorer that decides, and that the bar speaks of, of several
    after_each: Callable[[], bool] = lambda: False  # called after each cell; whether to stop
    hand_over: Callable[[], dict[str, Any]] = dict  # what scikit-learn's fits take of callbacks

    def __len__(self) -> int:
        return len(self.candidates) * len(self.folds)

    @property
    def shared_memory(self) -> int:
        """The bytes for Gram matrices that fits share."""
        return min(parse_memory(self.memory), self.most_shared)

    def cells(self) -> Iterator[tuple[int, int]]:
        """Yield (candidate, fold) in the order of scikit-learn's tables."""
        return product(range(len(self.candidates)), range(len(self.folds)))

    @property
    def first_candidate(self) -> Any:
        """The estimator of the first candidate: it knows whether rows are those of a matrix."""
        return with_params(self.estimator, self.candidates[0])

    def on_rows(self, rows: np.ndarray, folds: list[Fold]) -> Job:
        """Return the job on some of the rows, with folds that count these."""
        cut = {"X": self.X, "indices": rows}
        return replace(
            self,
            X=_safe_split(self.first_candidate, self.X, None, rows)[0],
            y=None if self.y is None else _safe_indexing(self.y, rows),
            folds=folds,
            fit_params=_check_method_params(params=self.fit_params, **cut),
            score_params=_check_method_params(params=self.score_params, **cut),
        )


@dataclass
class ScoreTable:
    """The results that there are, and how the run ended."""

    job: Job
    route: str = ""
    status: str = "complete"  # "complete", "time_limit" or "interrupted"
    results: dict[tuple[int, int], Result] = field(default_factory=dict)
    chosen: int | None = None  # the candidate that the search takes, if not the best mean score

    @property
    def n_rows(self) -> int:
        """On how many rows it is."""
        return _num_samples(self.job.X)

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

    def scores(self) -> np.ndarray:
        """Return the test scores that decide, shape (candidates, folds)."""
        scores = [_one_score(row["test_scores"], self.job.metric) for row in self.rows()]
        return np.array(scores).reshape(len(self.job.candidates), -1)

    def _missing(self, cell: tuple[int, int]) -> Result:
        known = next((r["test_scores"] for r in self.results.values()), np.nan)
        nan = dict.fromkeys(known, np.nan) if isinstance(known, dict) else np.nan
        return result_of(len(self.job.folds[cell[1]].test), nan, nan)


def _one_score(score: Any, metric: Any) -> float:
    if not isinstance(score, dict):
        return float(score)
    if metric not in score:
        raise ValueError(
            f"several rounds with several scorers need refit= one of {sorted(score)}; got "
            f"{metric!r}"
        )
    return float(score[metric])


def conclude(tables: list[ScoreTable]) -> None:
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


# ---------------------------------------------------------------- parameters
def is_kernel_parameter(name: str) -> bool:
    """Whether a parameter of an estimator decides its kernel."""
    return name == "kernel" or name.startswith("kernel__")


def with_params(estimator: Any, params: dict[str, Any]) -> Any:
    """Return a fresh estimator with parameters set."""
    if not params:  # an estimator of others may not expect to be told nothing
        return clone(estimator)
    # values may be estimators, which fits would change
    return clone(estimator).set_params(**clone(params, safe=False))


def within(memory: Any, estimator: Any) -> Any:
    """Return the estimator with the byte budget of the search, unless it has one of its own."""
    takes_one = isinstance(estimator, ProvedEstimator) and hasattr(estimator, "memory")
    if memory is not None and takes_one and estimator.memory is None:
        estimator.set_params(memory=memory)
    return estimator


def check_names(estimator: Any, candidates: list[dict[str, Any]]) -> None:
    """Raise if a candidate names a parameter that the estimator does not have."""
    seen = set()
    for params in candidates:
        objects = tuple(id(v) for v in params.values() if hasattr(v, "get_params"))
        names = tuple(v for v in params.values() if isinstance(v, str))
        key = (*params, objects, names)
        if key not in seen:
            seen.add(key)
            _check_one(estimator, params)


def _check_one(estimator: Any, params: dict[str, Any]) -> None:
    done: dict[str, Any] = {}
    for name in sorted(params, key=lambda name: name.count("__")):  # owners before their parts
        owner = with_params(estimator, done)
        valid = set(owner.get_params())
        if name not in valid:
            raise ValueError(_unknown(owner, name, valid))
        done[name] = params[name]


def _unknown(estimator: Any, name: str, valid: set[str]) -> str:
    near = nearest(name, sorted(valid)) or sorted(valid)[:8]
    hint = ""
    if is_kernel_parameter(name):
        hint = "; kernels with different parameters go into a list of grids, one for each"
    return (
        f"param_grid has {name!r}, which is no parameter of {estimator!r}; the nearest are "
        f"{near}{hint}"
    )
