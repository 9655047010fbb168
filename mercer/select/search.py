"""Grid search with shared Gram matrices."""

from __future__ import annotations

import time
from copy import deepcopy
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils import assert_all_finite, get_tags, indexable

from mercer._estimator import Reporting
from mercer._sklearn import (
    BaseSearchCV,
    Interval,
    StrOptions,
    _check_method_params,
    _insert_error_scores,
    _MultimetricScorer,
    _num_samples,
)
from mercer.select.callbacks import calling_back
from mercer.select.engine import evaluate
from mercer.select.halving import halving
from mercer.select.job import Job, Table, as_folds, conclude
from mercer.select.params import check_names, with_params
from mercer.select.plan import check_folds
from mercer.select.registry import route_of


class KernelSearchCV(Reporting, BaseSearchCV):
    """Exhaustive search over parameters by cross-validation, with one Gram matrix for many fits.

    The scores are those of scikit-learn's ``GridSearchCV``: every candidate is fitted to every
    fold, with a kernel bound to the fold's training rows. What is shared is the work. Statistics
    of pairs of rows are computed once for all kernels, the Gram matrix once for all folds and all
    candidates with the same kernel. Estimators that are not kernel machines of this library, or
    Gram matrices beyond the budget, are cross-validated in the ordinary way.

    Parameters
    ----------
    estimator : estimator
        What to fit.
    param_grid : dict or list of dict
        Values to try for each parameter; ``kernel__gamma`` is the γ of the kernel, also of one
        that is given by its name.
    cv : int, splitter or iterable, default=5
        The folds; an integer means stratified folds for classifiers.
    scoring : str, callable, list, tuple, dict or None, default=None
        As in scikit-learn; None is the estimator's ``score``.
    refit : bool, str or callable, default=True
        Whether to fit the best candidate to all rows; with several scorers the name of one.
    n_jobs : int or None, default=None
        Fits side by side in threads (of ordinary cross-validation: joblib's workers). None leaves
        the threads to each fit. Results do not depend on it.
    time_limit : float or None, default=None
        Seconds for the search (without the last fit). Candidates that were not evaluated on all
        folds have the score NaN; the best of the others is kept, with a warning. Ctrl-C does the
        same.
    memory : int, str or None, default=None
        Byte budget; None is half of the free memory.
    strategy : {"exact", "halving"}, default="exact"
        "halving" scores all candidates on a part of the rows, the better third of them on three
        times as many, and so on: faster, and only approximately the same choice.
    error_score : "raise" or float, default=nan
        The score of a fit that fails.
    return_train_score : bool, default=False
        Whether to score the training rows too.
    verbose : int, default=0
        1 prints what is done, more prints each fit of ordinary cross-validation.
    progress : "auto" or bool, default="auto"
        A bar on stderr; "auto" shows it on a terminal.

    Attributes
    ----------
    cv_results_, best_estimator_, best_params_, best_score_, best_index_, scorer_, n_splits_,
    refit_time_, multimetric_, classes_
        As in scikit-learn.
    route_ : str
        "shared Gram matrix", or why ordinary cross-validation was used.
    status_ : str
        "complete", "time_limit" or "interrupted".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import SVC, KernelSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = KernelSearchCV(SVC("rbf"), {"C": [0.1, 1, 10], "kernel__gamma": [0.01, 0.1, 1]})
    >>> search.fit(X, y).best_params_
    {'C': 1, 'kernel__gamma': 0.1}
    >>> search.route_
    'shared Gram matrix'
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseSearchCV._parameter_constraints,
        "param_grid": [dict, list],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "strategy": [StrOptions({"exact", "halving"})],
        "progress": [StrOptions({"auto"}), "boolean"],
    }

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        cv: Any = 5,
        scoring: Any = None,
        refit: Any = True,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        memory: int | str | None = None,
        strategy: str = "exact",
        error_score: Any = np.nan,
        return_train_score: bool = False,
        verbose: int = 0,
        progress: Any = "auto",
    ):
        self.estimator = estimator
        self.param_grid = param_grid
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.memory = memory
        self.strategy = strategy
        self.error_score = error_score
        self.return_train_score = return_train_score
        self.verbose = verbose
        self.progress = progress

    def fit(self, X: Any, y: Any = None, **params: Any) -> KernelSearchCV:
        """Evaluate all candidates, and fit the best to all rows.

        Parameters
        ----------
        X, y : table or list of objects, targets
            The rows.
        **params : dict
            ``groups`` for the splitter; ``sample_weight`` and others for ``fit``, cut with the
            rows.
        """
        self._validate_params()
        scorers, metric = self._get_scorers()
        X, y = indexable(X, y)
        self._check_targets(y)
        params = _check_method_params(X, params=params)
        routed = self._get_routed_params_for_fit(params)
        job = self._job(X, y, scorers, routed)
        check_folds(job)
        with calling_back(self, X, y) as after_each:
            tables = self._tables(replace(job, after_each=after_each))
            conclude(tables)
            self._store(tables, scorers, metric)
            if self.refit:
                self._refit(X, y, routed.estimator.fit)
        return self

    def _check_targets(self, y: Any) -> None:
        if y is None and get_tags(self.estimator).target_tags.required:
            raise ValueError(
                f"{type(self.estimator).__name__} requires y to be passed, but the target y is None"
            )
        if y is not None and route_of(self.estimator) is not None:
            assert_all_finite(np.asarray(y), input_name="y")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags = deepcopy(get_tags(self.estimator).target_tags)
        return tags

    def _tables(self, job: Job) -> list[Table]:
        """Return the results of one round of evaluation after the other."""
        return halving(job) if self.strategy == "halving" else [evaluate(job)]

    def _job(self, X: Any, y: Any, scorers: Any, routed: Any) -> Job:
        start = time.monotonic()
        candidates = list(ParameterGrid(self.param_grid))
        check_names(self.estimator, candidates)
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        self.n_splits_ = cv.get_n_splits(X, y, **routed.splitter.split)
        folds = as_folds(cv.split(X, y, **routed.splitter.split), _num_samples(X))
        if not folds:
            raise ValueError(f"cv must give at least one split; got none from {self.cv!r}")
        return Job(
            self.estimator,
            X,
            y,
            candidates,
            folds,
            scorers,
            routed.estimator.fit,
            routed.scorer.score,
            error_score=self.error_score,
            train_scores=self.return_train_score,
            n_jobs=self.n_jobs,
            memory=self.memory,
            deadline=None if self.time_limit is None else start + self.time_limit,
            verbose=self.verbose,
            progress=self.progress,
            metric=self.refit,
        )

    def _store(self, tables: list[Table], scorers: Any, metric: Any) -> None:
        """Keep the results in scikit-learn's form."""
        last = tables[-1]
        self.route_, self.status_ = last.route, last.status
        rows = [row for table in tables for row in table.rows()]
        if callable(self.scoring):
            _insert_error_scores(rows, self.error_score)
        candidates = [params for table in tables for params in table.job.candidates]
        results = self._format_results(candidates, self.n_splits_, rows, _rounds(tables))
        scores = rows[0]["test_scores"]
        self.multimetric_ = isinstance(scores, dict)
        if callable(self.scoring) and self.multimetric_:
            self._check_refit_for_multimetric(scores)
            metric = self.refit
        if self.refit or not self.multimetric_:
            self._choose(results, metric, first=_first_that_counts(tables))
        self.cv_results_ = results
        self.scorer_ = scorers._scorers if isinstance(scorers, _MultimetricScorer) else scorers

    def _choose(self, results: dict[str, Any], metric: Any, first: int) -> None:
        """Keep the best candidate among those from the row ``first`` on."""
        if callable(self.refit):
            self.best_index_ = self._select_best_index(self.refit, metric, results)
        else:
            ranks = results[f"rank_test_{metric}"]
            self.best_index_ = first + int(ranks[first:].argmin())
            self.best_score_ = results[f"mean_test_{metric}"][self.best_index_]
        self.best_params_ = results["params"][self.best_index_]

    def _refit(self, X: Any, y: Any, fit_params: dict[str, Any]) -> None:
        self.best_estimator_ = with_params(self.estimator, self.best_params_)
        start = time.time()
        targets = () if y is None else (y,)
        self.best_estimator_.fit(X, *targets, **fit_params)
        self.refit_time_ = time.time() - start
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_


def _first_that_counts(tables: list[Table]) -> int:
    """Return the first row of the rounds on the most rows: others are not to be compared."""
    sizes = [_num_samples(t.job.X) for t in tables]
    most = max(size for size, t in zip(sizes, tables, strict=True) if t.complete)
    return sum(len(t.job.candidates) for t in tables[: sizes.index(most)])


def _rounds(tables: list[Table]) -> dict[str, list[int]]:
    """Return the columns that tell several rounds apart."""
    if len(tables) == 1:
        return {}
    sizes = [(i, _num_samples(t.job.X)) for i, t in enumerate(tables) for _ in t.job.candidates]
    return {"iter": [i for i, _ in sizes], "n_resources": [n for _, n in sizes]}
