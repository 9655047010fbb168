"""How well scores rank the rows of a class above the others: areas under curves."""

from __future__ import annotations

import numpy as np

from mercer.plot.records import ratio


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


class Retrieval:
    """Average precision Σ (Rₖ − Rₖ₋₁) Pₖ over falling thresholds, for weights of the rows."""

    def __init__(self, score: np.ndarray, positive: np.ndarray):
        self.order = np.argsort(-score, kind="stable")
        self.ends = np.append(np.flatnonzero(np.diff(score[self.order])), len(score) - 1)
        self.positive = positive[self.order].astype(float)

    def average_precision(self, weight: np.ndarray) -> np.ndarray:
        """Return it for weights of shape (b, n)."""
        weight = weight[:, self.order]
        called = np.cumsum(weight, axis=1)[:, self.ends]
        hits = np.cumsum(weight * self.positive, axis=1)[:, self.ends]
        precision = np.nan_to_num(ratio(hits, called))  # where no row is called there is no gain
        return ratio(np.einsum("bi,bi->b", np.diff(hits, prepend=0.0), precision), hits[:, -1])
