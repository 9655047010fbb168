"""What a picture shows, as plain arrays, numbers and labels.

Each is computed by one function; Displays draw it with Matplotlib, and the report as SVG.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer.cv_results import Axis, Trials

N_BINS = 10  # of predicted probabilities


def ratio(part: Any, whole: Any) -> np.ndarray:
    """Return part / whole, NaN where the whole is not positive."""
    part, whole = np.broadcast_arrays(np.asarray(part, float), np.asarray(whole, float))
    return np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0)


# ---------------------------------------------------------------- ranking
class Roc(NamedTuple):
    """Rates of the rule "score ≥ threshold", for falling thresholds that begin at inf."""

    fpr: np.ndarray
    tpr: np.ndarray
    thresholds: np.ndarray

    @classmethod
    def of(cls, score: np.ndarray, positive: np.ndarray, weight: np.ndarray | None = None) -> Roc:
        """Return the curve with one point for each distinct score; a rate that is 0/0 is NaN."""
        order = np.argsort(-score, kind="stable")
        weight = np.ones(len(score)) if weight is None else weight[order]
        score, positive = score[order], positive[order]
        ends = np.append(np.flatnonzero(np.diff(score)), len(score) - 1)
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
    def of(
        cls, codes: np.ndarray, scores: np.ndarray, labels: Any, spoken_of: Sequence[int]
    ) -> RocCurves:
        """Rank rows of classes 0 … K − 1 by scores of shape (n, K)."""
        curves = [Roc.of(scores[:, i], codes == i) for i in spoken_of]
        return cls([labels[i] for i in spoken_of], curves, np.array([c.area for c in curves]))

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


# ---------------------------------------------------------------- probabilities
def bin_of(probability: np.ndarray, n_bins: int = N_BINS) -> np.ndarray:
    """Return into which of the bins of equal width over [0, 1] probabilities fall."""
    return np.clip((probability * n_bins).astype(np.intp), 0, n_bins - 1)


class Calibration(NamedTuple):
    """Bins of equal width over [0, 1]; what an empty bin holds is NaN."""

    edges: np.ndarray
    weight: np.ndarray
    predicted: np.ndarray
    observed: np.ndarray

    @classmethod
    def of(
        cls,
        probability: np.ndarray,
        outcome: np.ndarray,
        weight: np.ndarray | None = None,
        n_bins: int = N_BINS,
    ) -> Calibration:
        """Sort rows by a probability, and count how often what it speaks of came true."""
        place = bin_of(probability, n_bins)
        weight = np.ones(len(place)) if weight is None else weight
        total, said, seen = (
            np.bincount(place, weight * part, n_bins) for part in (1.0, probability, outcome)
        )
        edges = np.linspace(0.0, 1.0, n_bins + 1)
        return cls(edges, total, ratio(said, total), ratio(seen, total))


# ---------------------------------------------------------------- classes
@dataclass(frozen=True, eq=False)
class Confusion:
    """How many rows of each class were taken for each class."""

    matrix: np.ndarray
    labels: Any

    @classmethod
    def of(
        cls,
        truth: np.ndarray,
        predicted: np.ndarray,
        labels: Any,
        weight: np.ndarray | None = None,
    ) -> Confusion:
        """Count rows (or sum their weights) by their true and predicted class, 0 … K − 1."""
        k = len(labels)
        return cls(np.bincount(truth * k + predicted, weight, k * k).reshape(k, k), labels)

    @property
    def shares(self) -> np.ndarray:
        """The shares of each row of the matrix; 0 where a class has no rows."""
        return np.nan_to_num(ratio(self.matrix, self.matrix.sum(axis=1, keepdims=True)))


# ---------------------------------------------------------------- scores over folds
@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Mean scores and their spread over folds for growing training sets."""

    scoring: str
    sizes: np.ndarray
    train: np.ndarray
    train_spread: np.ndarray
    test: np.ndarray
    test_spread: np.ndarray
    words: str = ""  # "3 folds of 500 of 2,000 training rows"

    @classmethod
    def of(
        cls, scoring: str, sizes: Any, train: np.ndarray, test: np.ndarray, words: str = ""
    ) -> LearningCurve:
        """Average scores of shape (n_sizes, n_folds); folds that failed (NaN) are left out."""
        seen, held_out = mean_and_spread(train), mean_and_spread(test)
        return cls(scoring, np.asarray(sizes), *seen, *held_out, words=words)


@dataclass(frozen=True, eq=False)
class Surface:
    """Cross-validated scores over one parameter or several, the best over all others.

    ``scores`` and ``spread`` have the shape (len(values) of each of the parameters); NaN was not
    tried.
    """

    scoring: str
    parameters: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    scores: np.ndarray
    chosen: tuple[int, ...]  # the place of the chosen point
    words: str = ""  # "40 candidates on 5 folds in 2.1 s"
    spread: np.ndarray | None = None  # over folds

    @classmethod
    def of(cls, trials: Trials, axes: Sequence[Axis], scoring: str, words: str = "") -> Surface:
        """Lay out what a search has tried."""
        best = trials.best_at(axes)
        scores, spread = (np.where(best < 0, np.nan, v[best]) for v in (trials.mean, trials.std))
        chosen = tuple(int(axis.places[trials.chosen]) for axis in axes)
        names, values = tuple(axis.name for axis in axes), tuple(axis.values for axis in axes)
        return cls(scoring, names, values, scores, chosen, words, spread)


def mean_and_spread(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation over folds, without NaN; NaN where all are."""
    table = np.ma.masked_invalid(scores)
    return table.mean(axis=1).filled(np.nan), table.std(axis=1).filled(np.nan)
