"""The commonest scores without scikit-learn's checks, which cost more than many a fit.

A quick score stands in for a scorer only where both have agreed on the same answers before; see
`mercer.select.scoring`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, mean_absolute_error, mean_squared_error, r2_score

from mercer._sklearn import _BaseScorer, _PassthroughScorer

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
