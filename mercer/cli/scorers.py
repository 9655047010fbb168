"""Scorers of the metrics that the command knows, for searches: more is always better."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import get_scorer, log_loss, make_scorer

from mercer.assess.calibration import squared_gaps
from mercer.assess.metrics import METRICS
from mercer.assess.regression import Residuals
from mercer.plot.ranking_records import PrecisionRecallCurves, RocCurves

RANKING = ("predict_proba", "decision_function")  # as evaluations rank: by probabilities if any
OWN = ("accuracy", "r2")  # the scores of estimators themselves
BY_NAME = {
    "uar": "balanced_accuracy",
    "rmse": "neg_root_mean_squared_error",
    "mae": "neg_mean_absolute_error",
    "median_error": "neg_median_absolute_error",
    "mape": "neg_mean_absolute_percentage_error",
}


def scorer_of(key: str, classes: np.ndarray | None = None, positive: Any = None) -> Any:
    """Return what a search takes as ``scoring`` for a figure of an evaluation.

    It has a name for pictures; None is the score of the estimators themselves.
    """
    if key in OWN:
        return None
    metric, scorer = METRICS[key], _scorer(key, classes, positive)
    scorer.__name__ = f"−{metric.title}" if metric.falling else metric.title
    return scorer


def _scorer(key: str, classes: np.ndarray | None, positive: Any) -> Any:
    if key in BY_NAME:
        return get_scorer(BY_NAME[key])
    if key == "rmsle":
        return make_scorer(logarithmic_error, greater_is_better=False)
    if key == "f1":
        return make_scorer(f1_of_class, positive=positive)
    if key in ("auc", "average_precision"):
        function = {"auc": mean_area, "average_precision": mean_average_precision}[key]
        return make_scorer(function, response_method=RANKING, labels=classes, positive=positive)
    function = {"log_loss": log_loss, "brier": brier}[key]
    of = {"greater_is_better": False, "response_method": "predict_proba", "labels": classes}
    return make_scorer(function, **of)


def f1_of_class(y: Any, prediction: Any, positive: Any) -> float:
    """Return F₁ = 2 tp / (truly positive + said to be positive); nothing found is 0."""
    truth, said = np.asarray(y) == positive, np.asarray(prediction) == positive
    return 2.0 * float((truth & said).sum()) / max(int(truth.sum() + said.sum()), 1)


def mean_area(y: Any, scores: Any, labels: Any, positive: Any) -> float:
    """Return the area under the ROC curve, or its mean over the classes."""
    return float(np.nanmean(RocCurves.of(y, scores, labels, positive).areas))


def mean_average_precision(y: Any, scores: Any, labels: Any, positive: Any) -> float:
    """Return the average precision of the positive class, or its mean over the classes."""
    return float(np.nanmean(PrecisionRecallCurves.of(y, scores, labels, positive).averages))


def brier(y: Any, probability: Any, labels: Any) -> float:
    """Return the mean squared error of probabilities: of the second of two classes, or of all."""
    said = np.asarray(probability, dtype=np.float64)
    of = np.asarray(labels)[1:] if said.ndim == 1 else np.asarray(labels)
    return float(squared_gaps(said.reshape(len(said), -1), np.asarray(y)[:, None] == of).mean())


def logarithmic_error(y: Any, prediction: Any) -> float:
    """Return the root mean square of log(1 + y) − log(1 + p); below 0 a prediction counts as 0."""
    weight = np.ones(len(y))
    rows = Residuals(np.asarray(y, float), np.asarray(prediction, float), weight, 0, 0)
    return float(rows.measures["rmsle"](weight[None])[0])
