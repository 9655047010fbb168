"""``tune``: a search that chooses its own grid."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable

from mercer._display import text_table
from mercer._sklearn import _num_samples, _safe_split
from mercer._words import count, setting
from mercer.machines import SVC, SVR, KernelRidge
from mercer.select.engine import evaluate
from mercer.select.grids import KNOWN, Axis, axes, candidates
from mercer.select.job import Job, Table
from mercer.select.rounds import Staged, sample_rows, staged_plan
from mercer.select.search import KernelSearchCV

NAMES = {"svc": SVC, "svr": SVR, "ridge": KernelRidge}


def tune(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    cv: Any = 5,
    scoring: Any = None,
    refit: Any = True,
    time_limit: float | None = None,
    groups: Any = None,
    sample_weight: Any = None,
    random_state: int | None = None,
    n_jobs: int | None = None,
    memory: int | str | None = None,
    verbose: int = 0,
    progress: Any = "auto",
    strategy: Any = "auto",
) -> KernelSearchCV:
    """Choose the parameters of an estimator by cross-validation, the grid included.

    A first grid spans what makes sense for the data: what the kernel proposes for its parameters (γ
    by the median of its own distance of rows, lengths of pieces by the strings), C and ε by the
    spread of y, λ by the mean of k(x, x). A second one is finer around the best point, or goes
    beyond the border that it lies on.

    Parameters
    ----------
    estimator : estimator, pipeline or {"svc", "svr", "ridge"}
        What to fit; of a pipeline the last step is tuned.
    X, y : table or list of objects, targets
        The rows.
    cv : int, splitter or iterable, default=5
        The folds.
    scoring : str, callable, list, tuple, dict or None, default=None
        As in scikit-learn. Of several scores ``refit`` names the one that decides.
    refit : bool, str or callable, default=True
        As in scikit-learn: a function of ``cv_results_`` may choose the candidate.
    time_limit : float or None, default=None
        Seconds for the rounds, the last fit not counted.
    groups : array, default=None
        For splitters that need them.
    sample_weight : array, default=None
        Weights of the rows.
    random_state : int or None, default=None
        Shuffles the folds if ``cv`` is an integer; None keeps the order of the rows.
    n_jobs, memory, verbose, progress
        As for `KernelSearchCV`; ``verbose`` prints the report.
    strategy : {"auto", "exact", "halving", "staged"} or Staged, default="auto"
        As for `KernelSearchCV`. "staged" finds its grid on the rows of the first round, runs both
        rounds of the grid on these, then narrower ones on more: for thousands of rows and more.
        "auto" is "staged" if there is a time limit and more than 1,500 rows, else "exact".

    Returns
    -------
    KernelSearchCV
        Fitted; ``report_`` says what was done.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import tune
    >>> X, y = load_iris(return_X_y=True)
    >>> search = tune("svc", X, y)
    >>> bool(search.best_score_ > 0.97), sorted(search.best_params_)
    (True, ['C', 'kernel__gamma'])
    >>> search = tune("svc", X, y, strategy="staged", time_limit=60.0)  # any number of rows
    >>> bool(search.best_score_ > 0.96)
    True
    """
    estimator = _estimator(estimator)
    _check_deciding(scoring, refit)
    if isinstance(strategy, str) and strategy == "auto":
        strategy = _strategy(X, cv, time_limit)
    found = _axes(estimator, *_rows_of_grid(estimator, X, y, random_state, strategy))
    search = TunedSearch(
        estimator,
        {axis.name: list(axis.values) for axis in found},
        cv=_splitter(cv, estimator, random_state) if staged_plan(strategy) is None else cv,
        scoring=scoring,
        refit=refit,
        time_limit=time_limit,
        n_jobs=n_jobs,
        memory=memory,
        verbose=verbose,
        progress=progress,
        strategy=strategy,
        random_state=random_state or 0,
    )
    given = {"groups": groups, "sample_weight": sample_weight}
    search.fit(X, y, **{name: value for name, value in given.items() if value is not None})
    if verbose:
        print(search.report_)
    return search


class TunedSearch(KernelSearchCV):
    """A search whose second round looks around the best point of the first."""

    def fit(self, X: Any, y: Any = None, **params: Any) -> TunedSearch:
        """Run both rounds, fit the best candidate, and write the report."""
        start = time.monotonic()
        super().fit(X, y, **params)
        self.report_ = self._report(time.monotonic() - start)
        return self

    @property
    def _axes(self) -> list[Axis]:
        return [Axis(name, tuple(values)) for name, values in self.param_grid.items()]

    def _wide(self, job: Job) -> list[Table]:
        first = evaluate(job)
        means = first.scores().mean(axis=1)
        if first.status != "complete" or np.isnan(means).all():
            return [first]
        best = job.candidates[int(np.nanargmax(means))]
        finer = [Axis(axis.name, axis.around(best[axis.name])) for axis in self._axes]
        new = [point for point in candidates(finer) if point not in job.candidates]
        return [first, evaluate(replace(job, candidates=new))] if new else [first]

    def _report(self, seconds: float) -> str:
        lines = [(axis.name, _span(axis)) for axis in self._axes]
        lines.append(("candidates", f"{self._rounds()}: {self.route_}"))
        lines += [(f"best {name}", setting(value, 4)) for name, value in self.best_params_.items()]
        if not callable(self.refit):
            lines.append(("best score", f"{self.best_score_:.4g}"))
        lines.append(("time", f"{seconds:.3g} s ({self.status_})"))
        return text_table("tune", lines, type(self.estimator).__name__)

    def _rounds(self) -> str:
        """Return the numbers of candidates in the rounds, and on how many rows or folds."""
        results = self.cv_results_
        counts = np.bincount(results.get("iter", np.zeros(len(results["params"]), int)))
        rounds = " + ".join(map(str, counts))
        if staged_plan(self.strategy) is None:
            return f"{rounds}, each on {self.n_splits_} folds"
        sizes = " to ".join(f"{n:,}" for n in np.unique(results["n_resources"]))
        return f"{rounds}, on {sizes} rows"

    def __str__(self) -> str:
        return getattr(self, "report_", None) or repr(self)


def _strategy(X: Any, cv: Any, time_limit: float | None) -> str:
    """Return how to search within a limit: on few rows first, or there may be no answer in time."""
    many = _num_samples(X) > Staged().first_rows
    can_be_staged = isinstance(cv, int) or hasattr(cv, "split")
    return "staged" if time_limit is not None and many and can_be_staged else "exact"


def _estimator(estimator: Any) -> Any:
    if isinstance(estimator, str):
        if estimator not in NAMES:
            raise ValueError(
                f"estimator must be an estimator or one of {sorted(NAMES)}; got {estimator!r}"
            )
        return NAMES[estimator]()
    if not isinstance(estimator, BaseEstimator):
        raise TypeError(
            f"estimator must be an estimator or one of {sorted(NAMES)}; got "
            f"{type(estimator).__name__}"
        )
    return estimator


def _check_deciding(scoring: Any, refit: Any) -> None:
    """Raise if there are several scores and none of them says where the second round looks."""
    several = isinstance(scoring, (list, tuple, set, Mapping)) and len(scoring) > 0
    if several and (not isinstance(refit, str) or refit not in scoring):
        names = sorted(map(str, scoring))
        raise ValueError(
            f"scoring has {count(len(names), 'score')}: say by refit= which of them decides, one "
            f"of {names}; got refit={refit!r}"
        )


def _rows_of_grid(
    estimator: Any, X: Any, y: Any, seed: int | None, strategy: Any
) -> tuple[Any, Any, int | None]:
    """Return the rows, targets and seed by which a grid is found: in stages those of the first."""
    plan = staged_plan(strategy)
    if plan is None:
        return X, y, seed
    X, y = indexable(X, y)
    classes = y if is_classifier(estimator) and np.ndim(y) == 1 else None
    rows = sample_rows(_num_samples(X), plan.first_rows, classes, seed or 0)
    return *_safe_split(estimator, X, y, rows), None


def _axes(estimator: Any, X: Any, y: Any, seed: int | None) -> list[Axis]:
    last, prefix, rows = estimator, "", X
    if isinstance(estimator, Pipeline):
        prefix, last = f"{estimator.steps[-1][0]}__", estimator.steps[-1][1]
        before = clone(estimator[:-1])
        # only to find the size of the rows: the search fits each step on each fold
        rows = before.fit_transform(X, y) if len(before) else X
    found = axes(last, rows, y, np.random.default_rng(seed or 0), prefix)
    if not found:
        raise ValueError(
            f"tune knows no grid for {type(last).__name__}: it knows {KNOWN}; use KernelSearchCV "
            f"with a grid of your own"
        )
    return found


def _splitter(cv: Any, estimator: Any, seed: int | None) -> Any:
    if seed is None or not isinstance(cv, int):
        return cv
    kind = StratifiedKFold if is_classifier(estimator) else KFold
    return kind(cv, shuffle=True, random_state=seed)


def _span(axis: Axis) -> str:
    values = axis.values
    if len(values) > 1 and all(isinstance(value, Real) for value in values):
        return f"{len(values)} values, {setting(min(values), 4)} … {setting(max(values), 4)}"
    return ", ".join(setting(value, 4) for value in values)
