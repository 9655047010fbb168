"""Scikit-learn's functions for assessment, with one Gram matrix for all folds, sizes and values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from sklearn import get_config, model_selection
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state, indexable

from mercer._sklearn import (
    _insert_error_scores,
    _normalize_score_results,
    _num_samples,
    _translate_train_sizes,
)
from mercer.select.engine import evaluate
from mercer.select.job import Fold, Job, Result, as_folds, check_names, conclude

Function = TypeVar("Function", bound=Callable[..., Any])


def _or_scikit_learn(function: Function) -> Function:
    """Leave routed metadata and incremental fits to scikit-learn's function of the same name."""

    @wraps(function)
    def call(*args: Any, memory: Any = None, **named: Any) -> Any:
        routed = get_config().get("enable_metadata_routing", False)
        if routed or named.get("exploit_incremental_learning", False):
            return getattr(model_selection, function.__name__)(*args, **named)
        return function(*args, memory=memory, **named)

    return cast(Function, call)


@_or_scikit_learn
def cross_validate(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    scoring: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    params: dict[str, Any] | None = None,
    pre_dispatch: Any = "2*n_jobs",
    return_train_score: bool = False,
    return_estimator: bool = False,
    return_indices: bool = False,
    error_score: Any = np.nan,
    memory: int | str | None = None,
) -> dict[str, Any]:
    """Return the scores of an estimator on all folds, as scikit-learn's function of this name.

    Parameters are those of ``sklearn.model_selection.cross_validate`` (``pre_dispatch`` has no
    effect), and ``memory``, the byte budget. With ``return_estimator`` each model is fitted to its
    own rows, and nothing is shared.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import SVC
    >>> from mercer.select import cross_validate
    >>> cross_validate(SVC(), *load_iris(return_X_y=True), cv=3)["test_score"]
    array([0.96, 0.98, 0.94])
    """
    X, y, groups = indexable(X, y, groups)
    scorer = check_scoring(estimator, scoring=scoring, raise_exc=error_score == "raise")
    folds = _folds(estimator, X, y, groups, cv)
    job = Job(estimator, X, y, [{}], folds, scorer, params or {}, error_score=error_score)
    rows = _rows(
        job,
        train_scores=return_train_score,
        true_models=return_estimator,
        n_jobs=n_jobs,
        memory=memory,
        verbose=verbose,
    )
    if callable(scoring):
        _insert_error_scores(rows, error_score)
    out: dict[str, Any] = {name: _column(rows, name) for name in ("fit_time", "score_time")}
    if return_estimator:
        out["estimator"] = [row["estimator"] for row in rows]
    if return_indices:
        out["indices"] = {
            "train": tuple(fold.train for fold in folds),
            "test": tuple(fold.test for fold in folds),
        }
    for side in ("test", "train") if return_train_score else ("test",):
        scores = _normalize_score_results([row[f"{side}_scores"] for row in rows])
        out.update({f"{side}_{name}": np.asarray(values) for name, values in scores.items()})
    return out


@_or_scikit_learn
def learning_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    train_sizes: Any = np.linspace(0.1, 1.0, 5),  # noqa: B008
    cv: Any = None,
    scoring: Any = None,
    exploit_incremental_learning: bool = False,
    n_jobs: int | None = None,
    pre_dispatch: Any = "all",
    verbose: int = 0,
    shuffle: bool = False,
    random_state: Any = None,
    error_score: Any = np.nan,
    return_times: bool = False,
    params: dict[str, Any] | None = None,
    memory: int | str | None = None,
) -> tuple[np.ndarray, ...]:
    """Return scores for growing training samples, as scikit-learn's function of this name.

    Returns the sizes, training scores and test scores (and fit and score times with
    ``return_times``), each of shape (n_sizes, n_folds). All sizes read one Gram matrix.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import SVC
    >>> from mercer.select import learning_curve
    >>> sizes, train, test = learning_curve(
    ...     SVC(), *load_iris(return_X_y=True), train_sizes=[0.5, 1.0], shuffle=True, random_state=0
    ... )
    >>> sizes, test.shape
    (array([ 60, 120]), (2, 5))
    """
    X, y, groups = indexable(X, y, groups)
    scorer = check_scoring(estimator, scoring=scoring)
    folds = _folds(estimator, X, y, groups, cv)
    sizes = _translate_train_sizes(train_sizes, len(folds[0].train))
    if shuffle:
        rng = check_random_state(random_state)
        folds = [fold._replace(train=rng.permutation(fold.train)) for fold in folds]
    cut = [(fold.train[:size], fold.test) for fold in folds for size in sizes]
    parts = as_folds(cut, _num_samples(X))
    job = Job(estimator, X, y, [{}], parts, scorer, params or {}, error_score=error_score)
    rows = _rows(job, train_scores=True, n_jobs=n_jobs, memory=memory, verbose=verbose)
    names = ["train_scores", "test_scores", *(("fit_time", "score_time") if return_times else ())]
    return sizes, *(_column(rows, name).reshape(-1, len(sizes)).T for name in names)


@_or_scikit_learn
def validation_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    param_name: str,
    param_range: Any,
    groups: Any = None,
    cv: Any = None,
    scoring: Any = None,
    n_jobs: int | None = None,
    pre_dispatch: Any = "all",
    verbose: int = 0,
    error_score: Any = np.nan,
    params: dict[str, Any] | None = None,
    memory: int | str | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return scores for values of one parameter, as scikit-learn's function of this name.

    Returns training and test scores, each of shape (n_values, n_folds).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import SVC
    >>> from mercer.select import validation_curve
    >>> X, y = load_iris(return_X_y=True)
    >>> train, test = validation_curve(
    ...     SVC("rbf"), X, y, param_name="kernel__gamma", param_range=[0.1, 1.0]
    ... )
    >>> test.mean(axis=1).round(2)
    array([0.98, 0.97])
    """
    X, y, groups = indexable(X, y, groups)
    candidates = [{param_name: value} for value in param_range]
    check_names(estimator, candidates)
    folds, scorer = _folds(estimator, X, y, groups, cv), check_scoring(estimator, scoring=scoring)
    job = Job(estimator, X, y, candidates, folds, scorer, params or {}, error_score=error_score)
    rows = _rows(job, train_scores=True, n_jobs=n_jobs, memory=memory, verbose=verbose)
    train, test = (
        _column(rows, name).reshape(len(candidates), -1) for name in ("train_scores", "test_scores")
    )
    return train, test


def _folds(estimator: Any, X: Any, y: Any, groups: Any, cv: Any) -> list[Fold]:
    splitter = check_cv(cv, y, classifier=is_classifier(estimator))
    return as_folds(splitter.split(X, y, groups=groups), _num_samples(X))


def _rows(job: Job, **settings: Any) -> list[Result]:
    table = evaluate(replace(job, **settings))
    if table.status == "interrupted":  # a curve with holes is no answer
        raise KeyboardInterrupt
    conclude([table])
    return table.rows()


def _column(rows: list[Result], name: str) -> np.ndarray:
    return np.array([row[name] for row in rows])
