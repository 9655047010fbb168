"""Scores of the outcomes that a route yields.

Scorers see a `StandIn`: it answers about the rows that it was told from `Answers`, by numbers, and
fits a true model as soon as anything else is asked. Scikit-learn's own scorers are given the
row numbers for rows, because they look at nothing but the answers. The commonest scores are
computed without scikit-learn's checks, which cost more than many a fit, once both have agreed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from traceback import format_exception
from types import MethodType
from typing import Any, NamedTuple

import numpy as np
from sklearn import config_context
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, mean_absolute_error, mean_squared_error, r2_score

from mercer._sklearn import (
    _BaseScorer,
    _check_method_params,
    _MultimetricScorer,
    _PassthroughScorer,
    _safe_indexing,
    _safe_split,
    _score,
)
from mercer.select.job import Fold, Job, Result, error_scores, result_of, with_params
from mercer.select.routes import METHODS, Outcome


def sees_only_answers(scorer: Any, estimator: Any) -> bool:
    """Whether a scorer uses nothing of a model but the answers to the rows it is given."""
    if isinstance(scorer, _MultimetricScorer):
        return all(sees_only_answers(s, estimator) for s in scorer._scorers.values())
    if isinstance(scorer, _PassthroughScorer):
        mine = getattr(type(estimator), "score", None)
        return mine in (ClassifierMixin.score, RegressorMixin.score)
    return isinstance(scorer, _BaseScorer)


class StandIn:
    """A model for scorers that may do anything: quick on the rows it knows, true on everything.

    ``predict(X)`` and the other answers come by row numbers if X is one of the ``known`` objects,
    pairs of rows and their numbers. All else (other rows, fitted attributes) goes to a true model,
    which ``fit()`` returns when it is first asked for.
    """

    def __init__(
        self, answers: Any, known: list[tuple[Any, np.ndarray]], fit: Callable[[], Any]
    ) -> None:
        self._standin_answers, self._standin_known, self._standin_fit = answers, known, fit
        self._standin_true: Any = None

    @property
    def __class__(self) -> Any:  # isinstance(model, SVC) holds for its stand-in too
        return type(self._standin_answers.estimator)

    @__class__.setter
    def __class__(self, value: Any) -> None:
        raise TypeError("the class of a stand-in cannot be changed")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_standin"):  # while it is being copied
            raise AttributeError(name)
        estimator = self._standin_answers.estimator
        if name == "fit":
            return lambda *args, **named: self._true().fit(*args, **named)
        if name == "score":  # made of other answers
            return MethodType(type(estimator).score, self)
        if name in METHODS and hasattr(estimator, name):
            return self._answer(name)
        if name in (*METHODS, "classes_", "__sklearn_tags__"):
            return getattr(estimator, name)
        return getattr(self._true(), name)

    def _answer(self, name: str) -> Callable[..., Any]:
        def answer(X: Any, *rest: Any, **named: Any) -> Any:
            for rows, numbers in self._standin_known:
                if X is rows:
                    return self._standin_answers.ask(name, numbers, *rest, **named)
            return getattr(self._true(), name)(X, *rest, **named)

        answer.__name__ = name  # scikit-learn asks a method for its name
        return answer

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _true(self) -> Any:
        if self._standin_true is None:
            self._standin_true = self._standin_fit()
        return self._standin_true

    def __repr__(self) -> str:
        return repr(self._true())


class FoldData(NamedTuple):
    """Rows, targets and scoring parameters of one side of a fold."""

    X: Any
    y: Any
    numbers: np.ndarray
    params: dict[str, Any]


class Scoring:
    """Scores of outcomes, for one job."""

    def __init__(self, job: Job):
        self.job = job
        self._sides: dict[tuple[int, str], FoldData] = {}
        self._checked = False  # whether scikit-learn has checked the parameters of the metric
        self._proved = False  # whether the quick score has agreed with it
        self._quick = quick_score(job.scorer, job.estimator)

    @cached_property
    def _blind(self) -> bool:
        return sees_only_answers(self.job.scorer, self.job.estimator)

    @cached_property
    def _tagged(self) -> Any:
        return self.job.first_candidate

    def result(self, outcome: Outcome) -> Result:
        """Return the scores of an outcome, or what failed."""
        fold = self.job.folds[outcome.fold]
        if outcome.error is not None:
            return self._failed(outcome, fold)
        if outcome.interrupted:
            raise KeyboardInterrupt
        start = time.perf_counter()
        test = self._score(outcome, fold, "test")
        score_time = time.perf_counter() - start
        train = self._score(outcome, fold, "train") if self.job.train_scores else None
        times = {"fit_time": outcome.fit_time, "score_time": score_time}
        return result_of(len(fold.test), test, train, **times)

    def _failed(self, outcome: Outcome, fold: Fold) -> Result:
        if self.job.error_score == "raise":
            raise outcome.error  # type: ignore[misc]
        scores = error_scores(self.job.scorer, self.job.error_score)
        text = "".join(format_exception(outcome.error))
        return result_of(len(fold.test), scores, scores, fit_time=outcome.fit_time, fit_error=text)

    def _score(self, outcome: Outcome, fold: Fold, side: str) -> Any:
        quick = self._quick
        if quick is None or not self._blind:
            return self._full_score(outcome, fold, side)
        guess = self._quick_score(quick, outcome, self._side(fold, side))
        if self._proved and np.isfinite(guess):
            return guess
        score = self._full_score(outcome, fold, side)
        if np.isfinite(guess):
            self._proved = abs(guess - score) <= 1e-12 * max(1.0, abs(score))
            self._quick = quick if self._proved else None  # targets of another kind, say
        return score

    @staticmethod
    def _quick_score(quick: Score, outcome: Any, data: FoldData) -> float:
        """Return the score by the quick way; NaN leaves the case to scikit-learn."""
        if not isinstance(data.y, np.ndarray) or data.y.ndim != 1 or len(data.y) < 2:
            return np.nan
        try:
            answer = outcome.answers.ask("predict", data.numbers)
        except Exception:  # scikit-learn's way meets it again, and says so
            return np.nan
        if answer.shape != data.y.shape:
            return np.nan
        return quick(data.y, answer, data.params.get("sample_weight"))

    def _full_score(self, outcome: Outcome, fold: Fold, side: str) -> Any:
        data = self._side(fold, side)
        model = self._stand_in(outcome, fold)
        # the first call checks the parameters of the metric for all others
        with config_context(skip_parameter_validation=self._checked and self._blind):
            score = _score(
                model, data.X, data.y, self.job.scorer, data.params, self.job.error_score
            )
        self._checked = True
        return score

    def _side(self, fold: Fold, side: str) -> FoldData:
        key = fold.number, side
        if key not in self._sides:
            self._sides[key] = self._cut(fold, side)
        return self._sides[key]

    def _cut(self, fold: Fold, side: str) -> FoldData:
        job, numbers = self.job, getattr(fold, side)
        params = _check_method_params(job.X, params=job.score_params, indices=numbers)
        if self._blind:
            y = None if job.y is None else np.asarray(_safe_indexing(job.y, numbers))
            return FoldData(numbers, y, numbers, params)
        train = None if side == "train" else fold.train
        X, y = _safe_split(self._tagged, job.X, job.y, numbers, train)
        return FoldData(X, y, numbers, params)

    def _stand_in(self, outcome: Outcome, fold: Fold) -> StandIn:
        sides = [self._side(fold, side) for side in ("test", "train")]
        known = [(side.X, side.numbers) for side in sides]
        return StandIn(outcome.answers, known, lambda: self._true_model(outcome.candidate, fold))

    def _true_model(self, candidate: int, fold: Fold) -> Any:
        """Return the candidate fitted to the real rows of a fold."""
        job = self.job
        model = with_params(job.estimator, job.candidates[candidate])
        X, y = _safe_split(model, job.X, job.y, fold.train)
        params = _check_method_params(job.X, params=job.fit_params, indices=fold.train)
        return model.fit(X, **params) if y is None else model.fit(X, y, **params)


# ---------------------------------------------------------------- quick scores
Score = Callable[[np.ndarray, np.ndarray, Any], float]


def accuracy(y: np.ndarray, answer: np.ndarray, weight: Any) -> float:
    """Return the share of equal labels."""
    return float(np.average(y == answer, weights=weight))


def r2(y: np.ndarray, answer: np.ndarray, weight: Any) -> float:
    """Return 1 − Σ(y − f)² / Σ(y − ȳ)²; NaN where that has no meaning."""
    weight = np.ones(len(y)) if weight is None else np.asarray(weight)
    total = weight @ (y - np.average(y, weights=weight)) ** 2
    return float(1.0 - weight @ (y - answer) ** 2 / total) if total > 0 else np.nan


def squared_error(y: np.ndarray, answer: np.ndarray, weight: Any) -> float:
    """Return minus the mean squared error."""
    return -float(np.average((y - answer) ** 2, weights=weight))


def absolute_error(y: np.ndarray, answer: np.ndarray, weight: Any) -> float:
    """Return minus the mean absolute error."""
    return -float(np.average(np.abs(y - answer), weights=weight))


_OF_MIXIN: dict[Any, Score] = {ClassifierMixin.score: accuracy, RegressorMixin.score: r2}
_OF_METRIC: dict[Any, tuple[int, Score]] = {
    accuracy_score: (1, accuracy),
    r2_score: (1, r2),
    mean_squared_error: (-1, squared_error),
    mean_absolute_error: (-1, absolute_error),
}


def quick_score(scorer: Any, estimator: Any) -> Score | None:
    """Return the quick score that stands for a scorer of ``predict``, or None."""
    if isinstance(scorer, _PassthroughScorer):
        return _OF_MIXIN.get(getattr(type(estimator), "score", None))
    if not isinstance(scorer, _BaseScorer) or scorer._kwargs:
        return None
    sign, score = _OF_METRIC.get(scorer._score_func, (0, None))
    return score if sign == scorer._sign and scorer._response_method == "predict" else None
