"""The figures of an evaluation in words: what they are called, and what they mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._words import fixed, percent

RARE = 0.1  # a class of two with a smaller share is judged by itself: accuracy says little of it


@dataclass(frozen=True)
class Metric:
    """A figure that an evaluation holds as ``key``.

    ``falling`` says that less is better, ``share`` that it is read in per cent, ``of_positive``
    that it speaks of the positive class alone.
    """

    key: str
    title: str
    meaning: str
    falling: bool = False
    share: bool = False
    of_positive: bool = False

    def explained(self, positive: Any = None) -> str:
        """Return what it means, for the positive class or, without one, for each."""
        plain = positive.item() if isinstance(positive, np.generic) else positive
        return self.meaning.format("each class" if positive is None else repr(plain))

    def told(self, value: float) -> str:
        """Return a value as people read it."""
        return percent(value) if self.share else fixed(value)


def _table(*metrics: Metric) -> dict[str, Metric]:
    return {metric.key: metric for metric in metrics}


METRICS = _table(
    Metric("accuracy", "accuracy", "share of the rows predicted rightly", share=True),
    Metric(
        "uar",
        "UAR",
        "mean recall of the classes: each class counts the same, however rare",
        share=True,
    ),
    Metric("auc", "AUC", "how often a row of a class is ranked above a row of another"),
    Metric(
        "average_precision",
        "average precision",
        "mean precision over all thresholds for {}; a guess reaches its share of the rows",
        of_positive=True,
    ),
    Metric(
        "f1",
        "F1",
        "harmonic mean of precision and recall of {}",
        share=True,
        of_positive=True,
    ),
    Metric(
        "ppv",
        "precision",
        "share of the rows called {} that are",
        share=True,
        of_positive=True,
    ),
    Metric("tpr", "recall", "share of the rows of {} that are found", share=True, of_positive=True),
    Metric("log_loss", "log loss", "mean −log of the probability of what came true", falling=True),
    Metric("brier", "Brier score", "mean squared error of the probabilities", falling=True),
    Metric("r2", "R²", "share of the variance of the target that is explained"),
    Metric(
        "rmse", "RMSE", "root of the mean squared error, in the unit of the target", falling=True
    ),
    Metric("mae", "MAE", "mean absolute error, in the unit of the target", falling=True),
    Metric(
        "median_error",
        "median error",
        "half of the predictions are closer than this, in the unit of the target",
        falling=True,
    ),
    Metric(
        "relative_error",
        "relative error",
        "mean absolute error over the median size of the target",
        falling=True,
        share=True,
    ),
    Metric(
        "mape",
        "MAPE",
        "mean over the rows of the absolute error as a share of the target",
        falling=True,
        share=True,
    ),
    Metric(
        "rmsle",
        "RMSLE",
        "root of the mean squared error of log(1 + target)",
        falling=True,
    ),
)
"""All that scores are made of, by the attribute of an evaluation."""

OF_CLASSES: tuple[str, ...] = ("accuracy", "uar", "auc")
OF_TWO_CLASSES: tuple[str, ...] = ("accuracy", "uar", "auc", "f1")
OF_A_RARE_CLASS: tuple[str, ...] = (
    "average_precision",
    "f1",
    "ppv",
    "tpr",
    "auc",
    "uar",
    "accuracy",
)
OF_NUMBERS: tuple[str, ...] = ("r2", "rmse", "mae", "median_error")


def shown(
    n_classes: int | None, *, rare: bool = False, positive: bool = False, first: str | None = None
) -> tuple[str, ...]:
    """Return which figures are shown of so many classes (None: of numbers), the first leading.

    Where a class is rare its own figures lead, and the accuracy, which flatters, comes last.
    """
    of_classes = OF_TWO_CLASSES if n_classes == 2 or positive else OF_CLASSES
    keys = OF_NUMBERS if n_classes is None else OF_A_RARE_CLASS if rare else of_classes
    leading = () if first is None else (first,)
    return (*leading, *(key for key in keys if key not in leading))
