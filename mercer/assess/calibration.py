"""Whether probabilities are what they say: reliability bins, Brier score, calibration error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer.assess.rates import ratio

N_BINS = 10


class Calibration(NamedTuple):
    """Bins of equal width over [0, 1]; what an empty bin holds is NaN."""

    edges: np.ndarray
    weight: np.ndarray
    predicted: np.ndarray
    observed: np.ndarray


class Reliability:
    """Probabilities, whether what they speak of came true, and their bins."""

    def __init__(self, probability: np.ndarray, outcome: np.ndarray):
        self.probability, self.outcome = probability, outcome.astype(float)
        self.edges = np.linspace(0.0, 1.0, N_BINS + 1)
        bins = np.clip((probability * N_BINS).astype(np.intp), 0, N_BINS - 1)
        self.member = np.eye(N_BINS)[bins]  # (n, bins)

    def bins(self, weight: np.ndarray) -> Calibration:
        """Return the reliability diagram for weights of shape (n,)."""
        total, said, seen = self._sums(weight[None])
        return Calibration(self.edges, total[0], ratio(said, total)[0], ratio(seen, total)[0])

    def error(self, weight: np.ndarray) -> np.ndarray:
        """Return Σ |observed − predicted| over the bins, by their share; weights (b, n)."""
        total, said, seen = self._sums(weight)
        return ratio(np.abs(seen - said).sum(axis=1), total.sum(axis=1))

    def _sums(self, weight: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return weights, probabilities and outcomes summed over each bin, shapes (b, bins)."""
        parts = (np.ones_like(self.probability), self.probability, self.outcome)
        return tuple(weight @ (self.member * part[:, None]) for part in parts)


def squared_gaps(probability: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return Σ_κ (p_κ − 1[y = κ])² of each row, shape (n,)."""
    return ((probability - truth) ** 2).sum(axis=1)


def are_probabilities(scores: np.ndarray) -> bool:
    """Tell whether scores lie in [0, 1], and those of several classes add up to 1."""
    inside = bool((scores >= 0.0).all() and (scores <= 1.0).all())
    return inside and (scores.shape[1] == 1 or bool(np.abs(scores.sum(axis=1) - 1).max() < 1e-5))
