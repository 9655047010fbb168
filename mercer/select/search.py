"""Grid search with shared Gram matrices."""

from __future__ import annotations

import time
from copy import deepcopy
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.stats import rankdata
from sklearn.base import is_classifier
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils import assert_all_finite, get_tags, indexable

from mercer._estimator import Reporting
from mercer._limits import Limits
from mercer._sklearn import (
    BaseSearchCV,
    Interval,
    StrOptions,
    _check_method_params,
    _insert_error_scores,
    _MultimetricScorer,
    _num_samples,
)
from mercer.select.engine import evaluate
from mercer.select.job import (
    Job,
    Result,
    ScoreTable,
    as_folds,
    check_names,
    conclude,
    with_params,
    within,
)
from mercer.select.paths import route_of
from mercer.select.progress import Callbacks, calling_back
from mercer.select.rounds import Staged, StagedRun, halving, staged_plan
from mercer.select.shared import check_folds


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
        the threads to each fit, or makes as many as there are cores at once where a fit does not
        fill them (`MetricRidge`). Results do not depend on it.
    time_limit : float or None, default=None
        Seconds for the search, without the last fit, which keeps to a ``time_limit`` of the
        estimator's own. Candidates that were not evaluated on all
        folds have the score NaN; the best of the others is kept, with a warning. Ctrl-C does the
        same.
    memory : int, str or None, default=None
        Byte budget, also of every fit that has none of its own; None is half of the free memory.
    strategy : {"exact", "halving", "staged"} or Staged, default="exact"
        "halving" scores all candidates on a part of the rows, the better third of them on three
        times as many, and so on: faster, and only approximately the same choice. "staged" scores
        all candidates on 1,500 rows, then the promising ones on 4,000 and the neighbours of the
        best on 10,000, and takes the smoothest candidate within noise that is likely to be best on
        all rows: what ``mercer fit`` does. An integer ``cv`` is then shuffled, and
        tells the folds of the first round. `mercer.select.Staged` sets its figures.
    random_state : int, default=0
        Of the samples of "halving" and "staged".
    error_score : "raise" or float, default=nan
        The score of a fit that fails.
    return_train_score : bool, default=False
        Whether to score the training rows too.
    verbose : int, default=0
        1 prints what is done, 2 also the parameters of each evaluation, 3 its scores.
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
    rows_ : array of int
        With "staged" the rows of the round that decided.
    cv_results_["iter"], cv_results_["n_resources"] : array of int
        Of searches in several rounds: the round, and on how many rows it was. Scores of rounds on
        different rows are not to be compared.

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
        "strategy": [StrOptions({"exact", "halving", "staged"}), Staged],
        "random_state": [Interval(Integral, 0, None, closed="left")],
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
        strategy: Any = "exact",
        random_state: int = 0,
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
        self.random_state = random_state
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
        job, split = self._job(X, y, scorers, routed), routed.splitter.split
        if staged_plan(self.strategy) is None:
            job = self._with_folds(job, split)
        with calling_back(self, X, y, params.get("sample_weight")) as callbacks:
            n_tasks = len(job) if self.strategy == "exact" else None
            with callbacks.searching(n_tasks):
                told = replace(job, after_each=callbacks.after_each, hand_over=callbacks.hand_over)
                tables = self._tables(told, split)
                conclude(tables)
            self._store(tables, scorers, metric)
            if self.refit:
                self._refit(X, y, routed.estimator.fit, callbacks)
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

    def _tables(self, job: Job, split_params: dict[str, Any]) -> list[ScoreTable]:
        """Return the results of one round of evaluation after the other."""
        seed, plan = self.random_state, staged_plan(self.strategy)
        if plan is None:
            return halving(job, seed) if self.strategy == "halving" else self._wide(job)
        run = StagedRun(job, plan, self.cv, split_params, seed, self._wide)
        tables = run.tables()
        self.rows_ = run.rows
        self.n_splits_ = len(tables[_deciding(tables)].job.folds)
        return tables

    def _wide(self, job: Job) -> list[ScoreTable]:
        """Return the results of the whole grid."""
        return [evaluate(job)]

    def _job(self, X: Any, y: Any, scorers: Any, routed: Any) -> Job:
        limits = Limits.of(time_limit=self.time_limit)
        candidates = list(ParameterGrid(self.param_grid))
        check_names(self.estimator, candidates)
        return Job(
            self.estimator,
            X,
            y,
            candidates,
            [],
            scorers,
            routed.estimator.fit,
            routed.scorer.score,
            error_score=self.error_score,
            train_scores=self.return_train_score,
            n_jobs=self.n_jobs,
            memory=self.memory,
            limits=limits,
            verbose=self.verbose,
            progress=self.progress,
            metric=self.refit,
        )

    def _with_folds(self, job: Job, split_params: dict[str, Any]) -> Job:
        cv = check_cv(self.cv, job.y, classifier=is_classifier(self.estimator))
        self.n_splits_ = cv.get_n_splits(job.X, job.y, **split_params)
        folds = as_folds(cv.split(job.X, job.y, **split_params), _num_samples(job.X))
        if not folds:
            raise ValueError(f"cv must give at least one split; got none from {self.cv!r}")
        job = replace(job, folds=folds)
        check_folds(job)
        return job

    def _store(self, tables: list[ScoreTable], scorers: Any, metric: Any) -> None:
        """Keep the results in scikit-learn's form."""
        last = tables[-1]
        self.route_, self.status_ = last.route, last.status
        n_folds = max(len(table.job.folds) for table in tables)
        rows = [row for table in tables for row in _padded(table, n_folds)]
        if callable(self.scoring):
            _insert_error_scores(rows, self.error_score)
        candidates = [params for table in tables for params in table.job.candidates]
        several = len(tables) > 1 or staged_plan(self.strategy) is not None
        rounds = _rounds(tables) if several else {}
        results = self._format_results(candidates, n_folds, rows, rounds)
        _without_padding(results, tables, n_folds)
        scores = rows[0]["test_scores"]
        self.multimetric_ = isinstance(scores, dict)
        if callable(self.scoring) and self.multimetric_:
            self._check_refit_for_multimetric(scores)
            metric = self.refit
        if self.refit or not self.multimetric_:
            self._choose(results, metric, tables)
        self.cv_results_ = results
        self.scorer_ = scorers._scorers if isinstance(scorers, _MultimetricScorer) else scorers

    def _choose(self, results: dict[str, Any], metric: Any, tables: list[ScoreTable]) -> None:
        """Keep the candidate that the search takes."""
        if callable(self.refit):
            self.best_index_ = self._select_best_index(self.refit, metric, results)
        else:
            self.best_index_ = _best_row(tables, results[f"rank_test_{metric}"])
            self.best_score_ = results[f"mean_test_{metric}"][self.best_index_]
        self.best_params_ = results["params"][self.best_index_]

    def _refit(self, X: Any, y: Any, fit_params: dict[str, Any], callbacks: Callbacks) -> None:
        best = within(self.memory, with_params(self.estimator, self.best_params_))
        targets = () if y is None else (y,)
        with callbacks.refitting(best):
            start = time.time()
            best.fit(X, *targets, **fit_params)
            self.refit_time_ = time.time() - start
        self.best_estimator_ = best
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_


def _best_row(tables: list[ScoreTable], ranks: np.ndarray) -> int:
    """Return the row that the last round with a choice has chosen, or that of the best score."""
    chosen = [(number, table.chosen) for number, table in enumerate(tables)]
    for number, candidate in reversed(chosen):
        if candidate is not None:
            return _place(tables, number) + candidate
    first = _place(tables, _deciding(tables))
    return first + int(ranks[first:].argmin())


def _deciding(tables: list[ScoreTable]) -> int:
    """Return the first round on the most rows: others are not to be compared."""
    most = max((table.n_rows for table in tables if table.complete), default=0)
    return next((i for i, table in enumerate(tables) if table.n_rows == most), 0)


def _place(tables: list[ScoreTable], number: int) -> int:
    """Return the first row of a round in ``cv_results_``."""
    return sum(len(table.job.candidates) for table in tables[:number])


def _rounds(tables: list[ScoreTable]) -> dict[str, list[int]]:
    """Return the columns that tell several rounds apart."""
    sizes = [(i, t.n_rows) for i, t in enumerate(tables) for _ in t.job.candidates]
    return {"iter": [i for i, _ in sizes], "n_resources": [n for _, n in sizes]}


# ---------------------------------------------------------------- rounds with different folds
def _padded(table: ScoreTable, n_folds: int) -> list[Result]:
    """Return all results; for folds that the round has not one with the scores of its first."""
    rows, own = table.rows(), len(table.job.folds)
    padded: list[Result] = []
    for start in range(0, len(rows), own):
        part = rows[start : start + own]
        times = {k: float(np.mean([row[k] for row in part])) for k in ("fit_time", "score_time")}
        padded += part + [{**part[0], **times}] * (n_folds - own)
    return padded


def _without_padding(results: dict[str, Any], tables: list[ScoreTable], n_folds: int) -> None:
    """Set what stands for folds that a round has not to NaN, and mend means and ranks."""
    counts = np.array([len(table.job.folds) for table in tables for _ in table.job.candidates])
    if (counts == n_folds).all():
        return
    for side_metric in [k.removeprefix("split0_") for k in results if k.startswith("split0_")]:
        names = [f"split{f}_{side_metric}" for f in range(n_folds)]
        scores = np.column_stack([results[name] for name in names])
        scores[np.arange(n_folds) >= counts[:, None]] = np.nan
        results.update(zip(names, scores.T, strict=True))
        own = [row[:count] for row, count in zip(scores, counts, strict=True)]
        mean = results[f"mean_{side_metric}"] = np.array([np.mean(row) for row in own])
        results[f"std_{side_metric}"] = np.array([np.std(row) for row in own])
        if f"rank_{side_metric}" in results:
            worst = np.nan_to_num(-mean, nan=np.inf)
            results[f"rank_{side_metric}"] = rankdata(worst, method="min").astype(np.int32)
