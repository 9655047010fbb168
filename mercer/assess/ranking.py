"""How well scores rank the rows of a class above the others: ROC curve and the area under it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer.assess.rates import ratio


class Roc(NamedTuple):
    """Rates of the rule "score ≥ threshold", for falling thresholds that begin at inf."""

    fpr: np.ndarray
    tpr: np.ndarray
    thresholds: np.ndarray


def roc_curve(score: np.ndarray, positive: np.ndarray, weight: np.ndarray) -> Roc:
    """Return the curve with one point for each distinct score."""
    order = np.argsort(-score, kind="stable")
    score, weight, positive = score[order], weight[order], positive[order]
    ends = np.append(np.flatnonzero(np.diff(score)), len(score) - 1)
    alarms, hits = (
        np.append(0.0, np.cumsum(weight * side)[ends]) for side in (~positive, positive)
    )
    return Roc(ratio(alarms, alarms[-1]), ratio(hits, hits[-1]), np.append(np.inf, score[ends]))


class Ranking:
    """AUC = P(score of a positive > score of a negative) + ½ P(equal), for weights of the rows."""

    def __init__(self, score: np.ndarray, positive: np.ndarray):
        negatives, positives = np.flatnonzero(~positive), np.flatnonzero(positive)
        self.negatives = negatives[np.argsort(score[negatives])]
        self.positives = positives[np.argsort(score[positives])]
        below, own = score[self.negatives], score[self.positives]
        self.worse = np.searchsorted(below, own, side="left")
        self.not_better = np.searchsorted(below, own, side="right")
        self.has_ties = not np.array_equal(self.worse, self.not_better)

    def auc(self, weight: np.ndarray) -> np.ndarray:
        """Return the areas for weights of shape (b, n)."""
        total = np.zeros((len(weight), len(self.negatives) + 1))
        np.cumsum(weight[:, self.negatives], axis=1, out=total[:, 1:])
        won = total[:, self.worse]
        if self.has_ties:
            won = (won + total[:, self.not_better]) / 2.0
        own = weight[:, self.positives]
        return ratio(np.einsum("bi,bi->b", own, won), own.sum(axis=1) * total[:, -1])
