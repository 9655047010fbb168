"""Whether probabilities are what they say: reliability bins, Brier score, calibration error."""

from __future__ import annotations

import numpy as np

from mercer._floats import EPS
from mercer.plot.records import N_BINS, Calibration, bin_of, ratio


class Reliability:
    """Probabilities, whether what they speak of came true, and their bins."""

    def __init__(self, probability: np.ndarray, outcome: np.ndarray):
        self.probability, self.outcome = probability, outcome.astype(float)
        self.member = np.eye(N_BINS)[bin_of(probability)]  # (n, bins)

    def bins(self, weight: np.ndarray) -> Calibration:
        """Return the reliability diagram for weights of shape (n,)."""
        return Calibration.of(self.probability, self.outcome, weight)

    def error(self, weight: np.ndarray) -> np.ndarray:
        """Return Σ |observed − predicted| over the bins, by their share; weights (b, n)."""
        parts = (np.ones_like(self.probability), self.probability, self.outcome)
        total, said, seen = (weight @ (self.member * part[:, None]) for part in parts)  # (b, bins)
        return ratio(np.abs(seen - said).sum(axis=1), total.sum(axis=1))


def squared_gaps(probability: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return Σ_κ (p_κ − 1[y = κ])² of each row, shape (n,)."""
    return ((probability - truth) ** 2).sum(axis=1)


def surprises(probability: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return −log p of what came true, shape (n,), for columns of one class or of all.

    A probability of 0 counts as the smallest step of float64, so that one row is never infinite.
    """
    own = np.where(truth, probability, 1.0 - probability)
    said = own[:, 0] if own.shape[1] == 1 else (probability * truth).sum(axis=1)
    return -np.log(np.clip(said, EPS, 1.0))


def are_probabilities(scores: np.ndarray) -> bool:
    """Tell whether scores lie in [0, 1], and those of several classes add up to 1."""
    inside = bool((scores >= 0.0).all() and (scores <= 1.0).all())
    return inside and (scores.shape[1] == 1 or bool(np.abs(scores.sum(axis=1) - 1).max() < 1e-5))
