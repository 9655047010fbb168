"""``tune``: a search that chooses its own grid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable

from mercer._sklearn import _num_samples, _safe_split
from mercer._words import count
from mercer.machines import SVC, SVR, KernelRidge
from mercer.rows import Rows, as_rows
from mercer.select.grids import KNOWN, GridAxis, axes
from mercer.select.labels import LabelSearch, deciding_score, has_graph, label_axes
from mercer.select.rounds import Staged, sample_rows, staged_plan
from mercer.select.row_search import goes_in_passes, refuse_for_passes, tune_rows
from mercer.select.search import KernelSearchCV
from mercer.select.tuned import TunedSearch

NAMES = {"svc": SVC, "svr": SVR, "ridge": KernelRidge}


def tune(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    cv: Any = None,
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
    X, y : table, list of objects, Rows or Dask collection, targets
        The rows. Those of `mercer.rows.open` that are too many for exact machines are for
        `KernelRidge` and `KernelRidgeClassifier` with landmarks: for each kernel one pass over at
        most 50,000 of the rows gives the errors of all λ over five folds, whose mean square is the
        score; λ is then chosen on all rows.
    cv : int, splitter, iterable or None, default=None
        The folds; None is 5. Of machines with a graph (`LaplacianSVC` and its kin) folds hide
        labels, and no rows; None is each label in turn, of more than 20 ten folds.
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
    estimator, X = _estimator(estimator), as_rows(X)
    if isinstance(X, Rows):
        rows = X.with_target(y)
        if goes_in_passes(estimator, rows):
            refuse_for_passes(cv=(cv, None), scoring=(scoring, None), groups=(groups, None))
            return tune_rows(
                estimator, rows, time_limit=time_limit, seed=random_state, weight=sample_weight
            )
        X, y = rows.read()
    _check_deciding(scoring, refit)
    kind: type[TunedSearch] = TunedSearch
    if has_graph(estimator):
        kind, strategy, scoring = LabelSearch, "exact", scoring or deciding_score(estimator)
        found = label_axes(estimator, X, y, np.random.default_rng(random_state or 0))
    else:
        cv = 5 if cv is None else cv
        if isinstance(strategy, str) and strategy == "auto":
            strategy = _strategy(X, cv, time_limit)
        found = _axes(estimator, *_rows_of_grid(estimator, X, y, random_state, strategy))
        cv = _splitter(cv, estimator, random_state) if staged_plan(strategy) is None else cv
    search = kind(
        estimator,
        {axis.name: list(axis.values) for axis in found},
        cv=cv,
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


def _axes(estimator: Any, X: Any, y: Any, seed: int | None) -> list[GridAxis]:
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
