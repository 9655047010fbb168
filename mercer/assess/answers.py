"""True and predicted classes with scores, and what is computed from them and drawn again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.assess import rates
from mercer.assess.bootstrap import Resampling
from mercer.assess.calibration import Reliability, are_probabilities, squared_gaps, surprises
from mercer.assess.ranking import Ranking, Retrieval
from mercer.plot.records import Confusion

Statistic = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class ClassAnswers:
    """True and predicted classes as numbers below ``n_labels``, scores of shape (n, 1 or K)."""

    truth: np.ndarray
    predicted: np.ndarray
    weight: np.ndarray
    n_labels: int
    positive: int | None
    scores: np.ndarray | None
    n_bootstrap: int
    seed: int
    clusters: np.ndarray | None = None  # the group of each row, where groups are drawn whole

    @property
    def shares(self) -> np.ndarray:
        """The weights, the largest about one."""
        return rates.in_units(self.weight)

    # ------------------------------------------------------------ the matrix
    def confusion(self) -> np.ndarray:
        """Return the sums of weights, truth × prediction; whole numbers where weights are 1."""
        return Confusion.counted(self.truth, self.predicted, self.n_labels, self.weight)

    @cached_property
    def _cells(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Distinct (cell of the matrix, weight), and how many rows each stands for."""
        cell = self.truth * self.n_labels + self.predicted
        if self.clusters is not None:  # a row is known by its group too
            return cell, self.shares, np.ones(len(cell), np.intp)
        found, sizes = np.unique(np.column_stack([cell, self.shares]), axis=0, return_counts=True)
        return found[:, 0].astype(np.intp), found[:, 1], sizes

    def draw_rates(self, rate: rates.Rate) -> np.ndarray:
        """Return a rate of the matrix for all drawn samples."""
        cells, weight, sizes = self._cells
        K = self.n_labels
        ones = np.ones(len(cells))
        member = sp.csr_array((ones, cells, np.arange(len(cells) + 1)), (len(cells), K * K))
        drawn = Resampling(
            cells // K, sizes, self.n_bootstrap, self.seed, K * K, clusters=self.clusters
        )
        return drawn.values(lambda w: rate((w @ member).reshape(-1, K, K)), weight)

    # ------------------------------------------------------------ scores
    @property
    def targets(self) -> np.ndarray:
        """Which rows are of the class that a column of scores speaks of, shape (n, 1 or K)."""
        if self.positive is not None:
            return (self.truth == self.positive)[:, None]
        return self.truth[:, None] == np.arange(self.n_labels)

    @property
    def calibrated(self) -> bool:
        """Whether the scores are probabilities."""
        return self.scores is not None and are_probabilities(self.scores)

    def columns(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield each column of scores, and which rows are of its class."""
        assert self.scores is not None
        return zip(self.scores.T, self.targets.T, strict=True)

    def curves(self, kind: Any) -> Any:
        """Return the curve of the positive class, or of each class against the rest."""
        found = tuple(kind.of(score, own, self.shares) for score, own in self.columns())
        return found if self.positive is None else found[0]

    @cached_property
    def score_statistics(self) -> dict[str, Statistic]:
        """What is computed from the scores, by name, as functions of weights of shape (b, n)."""
        if self.scores is None:
            return {}
        found: dict[str, Statistic] = {}
        for name, each in self._ranks().items():
            found[name] = _averaged(each)
            if self.positive is None:
                found[f"{name}_by_class"] = each
        if self.calibrated:
            gaps = squared_gaps(self.scores, self.targets)
            found["brier"] = lambda w: rates.ratio(w @ gaps, w.sum(axis=1))
            found["ece"] = self.reliability.error
            bits = surprises(self.scores, self.targets)
            found["log_loss"] = lambda w: rates.ratio(w @ bits, w.sum(axis=1))
        return found

    def _ranks(self) -> dict[str, Statistic]:
        """Return how well each column of scores ranks the rows, shapes (b, columns)."""
        areas = [Ranking(*column).auc for column in self.columns()]
        averages = [Retrieval(*column).average_precision for column in self.columns()]
        return {"auc": _side_by_side(areas), "average_precision": _side_by_side(averages)}

    @cached_property
    def reliability(self) -> Reliability:
        """Probabilities of the positive class, or of the class that has the largest."""
        assert self.scores is not None
        best = self.scores.argmax(axis=1)[:, None]
        probability = np.take_along_axis(self.scores, best, axis=1)[:, 0]
        return Reliability(probability, np.take_along_axis(self.targets, best, axis=1)[:, 0])

    def draw_scores(self, name: str) -> np.ndarray:
        """Return what is computed from the scores for all drawn samples, once."""
        if name not in self._drawn:
            alone = np.ones(len(self.truth), np.intp)
            given = (self.truth, alone, self.n_bootstrap, self.seed)
            drawn = Resampling(*given, clusters=self.clusters)
            self._drawn[name] = drawn.values(self.score_statistics[name], self.shares)
        return self._drawn[name]

    @cached_property
    def _drawn(self) -> dict[str, np.ndarray]:
        return {}


def _side_by_side(statistics: Sequence[Statistic]) -> Statistic:
    return lambda w: np.column_stack([statistic(w) for statistic in statistics])


def _averaged(each: Statistic) -> Statistic:
    return lambda w: rates.mean_defined(each(w))
