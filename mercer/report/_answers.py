"""The predictions that are judged, and what is said of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.assess.classification import ClassificationEvaluation
from mercer.assess.evaluate import evaluate_classes, evaluate_numbers
from mercer.assess.regression import RegressionEvaluation
from mercer.report._subject import Subject

Evaluation = ClassificationEvaluation | RegressionEvaluation

DRAWN_VALUES = 1e6  # drawn for the intervals of a score, for each second of the time limit
DRAWS = (100, 1000)


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

    def evaluation(self, seed: int, draws: int) -> Evaluation:
        """Judge them; intervals come from so many samples."""
        weight = np.ones(len(self.y))
        if self.labels is None:
            return evaluate_numbers(self.y, self.prediction, weight, draws, seed)
        return evaluate_classes(
            self.y, self.prediction, self.scores, self.labels, None, weight, draws, seed
        )

    def draws(self, seconds: float) -> int:
        """Return from how many samples intervals come: with more time, from more."""
        columns = 1 if self.scores is None else self.scores[0].size
        return int(np.clip(DRAWN_VALUES * seconds / (len(self.y) * columns), *DRAWS))

    @cached_property
    def strata(self) -> np.ndarray:
        """The class of each row as a number, 0 for numbers: rows are drawn from each by itself."""
        if self.labels is None:
            return np.zeros(len(self.y), np.intp)
        return np.unique(self.y, return_inverse=True)[1]

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


@dataclass(frozen=True, eq=False)
class Judged:
    """Answers and what is said of them; all that answer the same rows are drawn alike."""

    answers: Answers
    evaluation: Evaluation
    seed: int

    @classmethod
    def of(cls, answers: Answers, draws: int, seed: int) -> Judged:
        """Judge answers."""
        return cls(answers, answers.evaluation(seed, draws), seed)
