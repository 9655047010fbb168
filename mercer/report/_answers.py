"""The predictions that are judged, and their scores with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.assess.classification import ClassificationEvaluation
from mercer.assess.evaluate import evaluate_classes, evaluate_numbers
from mercer.assess.regression import RegressionEvaluation
from mercer.report._subject import Subject
from mercer.report.study import Estimate, Score

Evaluation = ClassificationEvaluation | RegressionEvaluation

DRAWN_VALUES = 1e6  # drawn for the intervals of a score, for each second of the time limit
DRAWS = (100, 1000)
DOUBT = 0.025  # beyond either end of an interval


@dataclass(frozen=True, eq=False)
class Answers:
    """Targets, predictions and scores of the same rows."""

    y: np.ndarray
    prediction: np.ndarray
    scores: np.ndarray | None
    labels: np.ndarray | None  # None: numbers

    @classmethod
    def of(cls, subject: Subject, X: Any, y: np.ndarray) -> Answers:
        """Let a model answer."""
        prediction = subject.predict(X)
        if subject.task == "regress":
            return cls(y, prediction.astype(np.float64), None, None)
        known = bool(np.isin(y, subject.classes).all())
        if known:
            return cls(y, prediction, subject.scores(X), subject.classes)
        # a class that the model has never seen has no column of scores
        return cls(y, prediction, None, np.unique(np.concatenate([y, subject.classes])))

    def evaluation(self, seed: int, seconds: float) -> Evaluation:
        """Judge them; with more time, intervals come from more samples."""
        weight, draws = np.ones(len(self.y)), self._draws(seconds)
        if self.labels is None:
            return evaluate_numbers(self.y, self.prediction, weight, draws, seed)
        return evaluate_classes(
            self.y, self.prediction, self.scores, self.labels, None, weight, draws, seed
        )

    def _draws(self, seconds: float) -> int:
        columns = 1 if self.scores is None else self.scores[0].size
        return int(np.clip(DRAWN_VALUES * seconds / (len(self.y) * columns), *DRAWS))

    # ------------------------------------------------------------ row by row
    @cached_property
    def wrong(self) -> np.ndarray:
        """Which rows were predicted wrongly, or the residuals y − prediction."""
        return self.y != self.prediction if self.labels is not None else self.y - self.prediction

    @property
    def probabilistic(self) -> bool:
        """Whether the scores are probabilities of the classes."""
        if self.scores is None or self.scores.ndim != 2:
            return False
        return bool((self.scores >= 0).all() and np.allclose(self.scores.sum(axis=1), 1.0))

    @cached_property
    def certainty(self) -> np.ndarray | None:
        """The probability of the predicted class, or how far it is ahead of the next."""
        if self.scores is None or self.labels is None:
            return None
        if self.scores.ndim == 1:
            return np.abs(self.scores)
        order = np.argsort(self.labels)
        place = order[np.searchsorted(self.labels, self.prediction, sorter=order)]
        own = self.scores[np.arange(len(place)), place]
        if self.probabilistic:
            return own
        rest = self.scores.copy()
        rest[np.arange(len(place)), place] = -np.inf
        return own - rest.max(axis=1)


# ---------------------------------------------------------------- the scores of the cards
MEANINGS = {
    "accuracy": ("accuracy", "share of the rows predicted rightly"),
    "uar": ("UAR", "mean recall of the classes: each class counts the same, however rare"),
    "auc": ("AUC", "how often a row of a class is ranked above a row of another"),
    "f1": ("F1", "harmonic mean of precision and recall of {!r}"),
    "r2": ("R²", "share of the variance of the target that is explained"),
    "rmse": ("RMSE", "root of the mean squared error, in the unit of the target"),
    "mae": ("MAE", "mean absolute error, in the unit of the target"),
}
FALLING = {"rmse", "mae"}


def score_cards(
    own: Evaluation, rivals: Mapping[str, Evaluation]
) -> tuple[list[Score], dict[str, str]]:
    """Return the scores of a model beside those of its rivals, and which there are not, and why."""
    found, left_out = [], {}
    for key in _keys(own):
        estimate, (name, meaning) = estimate_of(own, key), MEANINGS[key]
        if estimate is None:
            left_out[name] = _reason(own, key)
            continue
        others = {rival: e for rival, r in rivals.items() if (e := estimate_of(r, key))}
        positive = getattr(own, "positive", None)
        told = meaning.format(_plain(positive))
        found.append(Score(name, told, estimate, others, higher_is_better=key not in FALLING))
    return found, left_out


def _keys(evaluation: Evaluation) -> Iterator[str]:
    if isinstance(evaluation, RegressionEvaluation):
        yield from ("r2", "rmse", "mae")
        return
    yield from ("accuracy", "uar", "auc")
    if len(evaluation.labels) == 2:
        yield "f1"


def _reason(evaluation: Evaluation, key: str) -> str:
    if getattr(evaluation, key, None) is None:
        return "the model gives neither probabilities nor decision values of the classes"
    notes = " ".join(note for note in evaluation.notes if key in note or key == "uar")
    return notes or "it is 0/0 for these rows"


def estimate_of(evaluation: Evaluation, key: str) -> Estimate | None:
    """Return a score with its interval; None where it is not defined."""
    value = getattr(evaluation, key, None)
    if value is None:
        return None
    low, high = evaluation.interval(key) if evaluation.n_rows > 1 else (value, value)
    if np.ndim(value) and isinstance(evaluation, ClassificationEvaluation):
        place = int(np.flatnonzero(evaluation.labels == evaluation.positive)[0])
        value, low, high = value[place], low[place], high[place]
    if np.isnan(value):
        return None
    low, high = _widened(evaluation, key, float(low), float(high))
    return Estimate(float(value), min(low, float(value)), max(high, float(value)))


def _widened(evaluation: Evaluation, key: str, low: float, high: float) -> tuple[float, float]:
    """Return an honest interval where rows drawn again are all right, or all wrong.

    Without a mistake in n rows the rate of mistakes may still be 1 − 0.025^(1/n) (Clopper and
    Pearson's end of the interval).
    """
    if not isinstance(evaluation, ClassificationEvaluation) or key not in ("accuracy", "uar"):
        return low, high
    if low < high or low not in (0.0, 1.0):
        return low, high
    sizes = evaluation.confusion.sum(axis=1)
    sizes = sizes[sizes > 0] if key == "uar" else np.array([sizes.sum()])
    hidden = float(np.mean(1.0 - DOUBT ** (1.0 / sizes)))
    return (1.0 - hidden, 1.0) if low == 1.0 else (0.0, hidden)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
