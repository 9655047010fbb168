"""Records of rankings: ROC curves, precision–recall curves, and what thresholds lead to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer.plot.records import classes_of, ratio, score_columns, spoken_of


def _falling(
    score: np.ndarray, positive: np.ndarray, weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows by falling scores, their weights, and where runs of equal scores end."""
    order = np.argsort(-score, kind="stable")
    weight = np.ones(len(score)) if weight is None else weight[order]
    score = score[order]
    ends = np.append(np.flatnonzero(np.diff(score)), len(score) - 1)
    return score, positive[order], weight, ends


# ---------------------------------------------------------------- ranking
class Roc(NamedTuple):
    """Rates of the rule "score ≥ threshold", for falling thresholds that begin at inf."""

    fpr: np.ndarray
    tpr: np.ndarray
    thresholds: np.ndarray

    @classmethod
    def of(cls, score: np.ndarray, positive: np.ndarray, weight: np.ndarray | None = None) -> Roc:
        """Return the curve with one point for each distinct score; a rate that is 0/0 is NaN."""
        score, positive, weight, ends = _falling(score, positive, weight)
        alarms, hits = (
            np.append(0.0, np.cumsum(weight * side)[ends]) for side in (~positive, positive)
        )
        return cls(ratio(alarms, alarms[-1]), ratio(hits, hits[-1]), np.append(np.inf, score[ends]))

    @property
    def area(self) -> float:
        """The area under the curve, NaN if there is no curve."""
        return float(np.trapezoid(self.tpr, self.fpr))

    def height(self, fpr: np.ndarray) -> np.ndarray:
        """Return the hit rate at false positive rates: the upper end where the curve is upright."""
        last = np.append(np.diff(self.fpr) > 0, True)
        return np.interp(fpr, self.fpr[last], self.tpr[last])


@dataclass(frozen=True, eq=False)
class RocCurves:
    """The curve of each class that is spoken of, and the area under it: NaN if there is none."""

    labels: Any
    curves: Sequence[Roc]
    areas: np.ndarray

    @classmethod
    def of(cls, y: Any, scores: Any, labels: Any = None, positive: Any = None) -> RocCurves:
        """Rank rows of classes y by scores, of shape (n,) for two classes or (n, K)."""
        own, parts = ranked(y, scores, labels, positive)
        curves = [Roc.of(*part) for part in parts]
        return cls(own, curves, np.array([c.area for c in curves]))

    @classmethod
    def of_evaluation(cls, evaluation: Any) -> RocCurves:
        """Take the curves of a `ClassificationEvaluation`."""
        if evaluation.positive is not None:
            return cls([evaluation.positive], [evaluation.roc], np.array([evaluation.auc]))
        return cls(evaluation.labels, evaluation.roc, np.asarray(evaluation.auc_by_class))

    @property
    def known(self) -> np.ndarray:
        """The places of the classes that have a curve."""
        return np.flatnonzero(np.isfinite(self.areas))

    @property
    def worst(self) -> int:
        """The place of the class with the smallest area."""
        return int(self.known[np.argmin(self.areas[self.known])])

    def mean(self, fpr: np.ndarray) -> np.ndarray:
        """Return the mean height of the curves at false positive rates."""
        return np.mean([self.curves[i].height(fpr) for i in self.known], axis=0)


def ranked(
    y: Any, scores: Any, labels: Any, positive: Any
) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """Return the classes that are spoken of, and the score and membership of all rows for each."""
    y, classes = classes_of(y, labels)
    columns, own = score_columns(scores, len(y), len(classes)), spoken_of(classes, positive)
    return classes[own], [(columns[:, i], y == i) for i in own]


# ---------------------------------------------------------------- precision and recall
class PrecisionRecall(NamedTuple):
    """Precision and recall of the rule "score ≥ threshold", for falling thresholds.

    ``share`` is that of the rows that are positive: the precision of a rule that guesses.
    """

    precision: np.ndarray
    recall: np.ndarray
    thresholds: np.ndarray
    share: float

    @classmethod
    def of(
        cls, score: np.ndarray, positive: np.ndarray, weight: np.ndarray | None = None
    ) -> PrecisionRecall:
        """Return the curve with one point for each distinct score; without positives it is NaN."""
        score, positive, weight, ends = _falling(score, positive, weight)
        called, hits = (np.cumsum(weight * side)[ends] for side in (1.0, positive))
        share = float(ratio(hits[-1], called[-1]))
        return cls(ratio(hits, called), ratio(hits, hits[-1]), score[ends], share)

    @property
    def average(self) -> float:
        """The average precision Σ (Rₖ − Rₖ₋₁) Pₖ: the area under the steps of the curve."""
        gains = np.diff(self.recall, prepend=0.0)
        return float(gains[gains != 0] @ self.precision[gains != 0])


@dataclass(frozen=True, eq=False)
class PrecisionRecallCurves:
    """The curve of each class that is spoken of, and its average precision."""

    labels: Any
    curves: Sequence[PrecisionRecall]

    @classmethod
    def of(
        cls, y: Any, scores: Any, labels: Any = None, positive: Any = None
    ) -> PrecisionRecallCurves:
        """Rank rows of classes y by scores, of shape (n,) for two classes or (n, K)."""
        own, parts = ranked(y, scores, labels, positive)
        return cls(own, [PrecisionRecall.of(*part) for part in parts])

    @classmethod
    def of_evaluation(cls, evaluation: Any) -> PrecisionRecallCurves:
        """Take the curves of a `ClassificationEvaluation`."""
        found = evaluation.precision_recall
        if evaluation.positive is not None:
            return cls([evaluation.positive], [found])
        return cls(evaluation.labels, found)

    @property
    def averages(self) -> np.ndarray:
        """The average precision of each curve."""
        return np.array([curve.average for curve in self.curves])


class Thresholds(NamedTuple):
    """What follows from calling rows positive whose score is at least a threshold.

    What would be 0/0 is NaN: the precision of a rule that calls no row positive.
    """

    at: np.ndarray
    precision: np.ndarray
    recall: np.ndarray
    f1: np.ndarray
    flagged: np.ndarray  # the share of the rows that are called positive

    @classmethod
    def of(
        cls, score: np.ndarray, positive: np.ndarray, at: Any, weight: np.ndarray | None = None
    ) -> Thresholds:
        """Try thresholds on rows of which some are positive."""
        at = np.asarray(at, dtype=np.float64)
        weight = np.ones(len(score)) if weight is None else weight
        called = score[None] >= at[:, None]  # (thresholds, n)
        hits, said = called @ (weight * positive), called @ weight
        truly = float(weight @ positive)
        f1 = ratio(2.0 * hits, said + truly)
        return cls(at, ratio(hits, said), ratio(hits, truly), f1, ratio(said, weight.sum()))
