"""Scores of the models that a route yields."""

from __future__ import annotations

import time
from functools import cached_property
from traceback import format_exception
from typing import Any, NamedTuple

import numpy as np
from sklearn import config_context
from sklearn.base import ClassifierMixin, RegressorMixin

from mercer._sklearn import (
    _BaseScorer,
    _check_method_params,
    _MultimetricScorer,
    _PassthroughScorer,
    _safe_indexing,
    _safe_split,
    _score,
)
from mercer.select.job import Job, Result, error_scores, result_of
from mercer.select.params import first_candidate, with_params
from mercer.select.quick import Score, quick_score
from mercer.select.routes import Fold, Outcome, StandIn


def sees_only_answers(scorer: Any, estimator: Any) -> bool:
    """Whether a scorer uses nothing of a model but the answers to the rows it is given."""
    if isinstance(scorer, _MultimetricScorer):
        return all(sees_only_answers(s, estimator) for s in scorer._scorers.values())
    if isinstance(scorer, _PassthroughScorer):
        mine = getattr(type(estimator), "score", None)
        return mine in (ClassifierMixin.score, RegressorMixin.score)
    return isinstance(scorer, _BaseScorer)


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
        return first_candidate(self.job)

    def result(self, outcome: Outcome) -> Result:
        """Return the scores of an outcome, or what failed."""
        fold = self.job.folds[outcome.fold]
        if outcome.error is not None:
            return self._failed(outcome, fold)
        if getattr(outcome.model, "status_", "") == "interrupted":
            raise KeyboardInterrupt  # a solver that hears Ctrl-C returns its best: no exact score
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
    def _quick_score(quick: Score, outcome: Outcome, data: FoldData) -> float:
        """Return the score by the quick way; NaN leaves the case to scikit-learn."""
        if not isinstance(data.y, np.ndarray) or data.y.ndim != 1 or len(data.y) < 2:
            return np.nan
        try:
            answer = outcome.model.predict(data.numbers)
        except Exception:  # scikit-learn's way meets it again, and says so
            return np.nan
        if answer.shape != data.y.shape:
            return np.nan
        return quick(data.y, answer, data.params.get("sample_weight"))

    def _full_score(self, outcome: Outcome, fold: Fold, side: str) -> Any:
        data = self._side(fold, side)
        model: Any = outcome.model
        rows: Any = data.numbers
        if not self._blind:
            model, rows = self._stand_in(outcome, fold), data.X
        # the first call checks the parameters of the metric for all others
        with config_context(skip_parameter_validation=self._checked and self._blind):
            score = _score(model, rows, data.y, self.job.scorer, data.params, self.job.error_score)
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
            return FoldData(None, y, numbers, params)
        train = None if side == "train" else fold.train
        X, y = _safe_split(self._tagged, job.X, job.y, numbers, train)
        return FoldData(X, y, numbers, params)

    def _stand_in(self, outcome: Outcome, fold: Fold) -> StandIn:
        sides = [self._side(fold, side) for side in ("test", "train")]
        known = [(side.X, side.numbers) for side in sides]
        return StandIn(outcome.model, known, lambda: self.true_model(outcome.candidate, fold))

    def true_model(self, candidate: int, fold: Fold) -> Any:
        """Return the candidate fitted to the real rows of a fold."""
        job = self.job
        model = with_params(job.estimator, job.candidates[candidate])
        X, y = _safe_split(model, job.X, job.y, fold.train)
        params = _check_method_params(job.X, params=job.fit_params, indices=fold.train)
        return model.fit(X, **params) if y is None else model.fit(X, y, **params)
