"""Minus the log-likelihood of labels, given linear functions G of the rows: two classes or more."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class BinaryPoint(NamedTuple):
    """Value, slopes (n, 1) and curvature at a G of shape (n, 1)."""

    value: float
    slopes: np.ndarray
    h: np.ndarray  # (n,)

    def apply(self, V: np.ndarray) -> np.ndarray:
        """Return the curvature times V."""
        return self.h[:, None] * V

    def entry(self, c: int, d: int) -> np.ndarray:
        """Return the curvature in the functions c and d, for each row."""
        return self.h

    def rounded(self, dtype: Any) -> BinaryPoint:
        """Return the same in another precision."""
        return self._replace(h=self.h.astype(dtype))


class SoftmaxPoint(NamedTuple):
    """Value, slopes (n, k) and probabilities at a G of shape (n, k)."""

    value: float
    slopes: np.ndarray
    P: np.ndarray  # (n, k)
    w: np.ndarray  # (n, 1)

    def apply(self, V: np.ndarray) -> np.ndarray:
        """Return the curvature w (diag(p) − ppᵀ) times V."""
        Z = self.P * V
        Z -= self.P * Z.sum(axis=1, keepdims=True)
        Z *= self.w
        return Z

    def entry(self, c: int, d: int) -> np.ndarray:
        """Return the curvature in the functions c and d, for each row."""
        p, q = self.P[:, c], self.P[:, d]
        return self.w[:, 0] * (p * (1.0 - p) if c == d else -p * q)

    def rounded(self, dtype: Any) -> SoftmaxPoint:
        """Return the same in another precision."""
        return self._replace(P=self.P.astype(dtype), w=self.w.astype(dtype))


class BinaryLikelihood:
    """Σ w log(1 + exp(−yg)) with labels y = ±1."""

    n_outputs = 1

    def __init__(self, codes: np.ndarray, weight: np.ndarray):
        self.y, self.w = 2.0 * codes - 1.0, weight

    def at(self, G: np.ndarray) -> BinaryPoint:
        """Return what is known of the likelihood at G."""
        margin = self.y * G[:, 0]
        e = np.exp(-np.abs(margin))
        share = 1.0 / (1.0 + e)
        p = np.where(margin > 0.0, e * share, share)  # of the other class
        wp = self.w * p
        value = float(self.w @ (np.log1p(e) - np.minimum(margin, 0.0)))
        return BinaryPoint(value, (-self.y * wp)[:, None], wp * (1.0 - p))

    def margins(self, G: np.ndarray) -> np.ndarray:
        """Return by how much each label is ahead of the other, (n,)."""
        return self.y * G[:, 0]


class SoftmaxLikelihood:
    """Σ w [log Σ_c exp(g_c) − g_y]."""

    def __init__(self, codes: np.ndarray, weight: np.ndarray, n_classes: int):
        self.codes, self.w, self.n_outputs = codes, weight[:, None], n_classes
        self.rows = np.arange(len(codes))

    def at(self, G: np.ndarray) -> SoftmaxPoint:
        """Return what is known of the likelihood at G."""
        shifted = G - G.max(axis=1, keepdims=True)
        P = np.exp(shifted)
        total = P.sum(axis=1, keepdims=True)
        P /= total
        losses = np.log(total[:, 0]) - shifted[self.rows, self.codes]
        slopes = P.copy()
        slopes[self.rows, self.codes] -= 1.0
        slopes *= self.w
        return SoftmaxPoint(float(self.w[:, 0] @ losses), slopes, P, self.w)

    def margins(self, G: np.ndarray) -> np.ndarray:
        """Return by how much each label is ahead of the best other one, (n,)."""
        others = G.copy()
        others[self.rows, self.codes] = -np.inf
        return G[self.rows, self.codes] - others.max(axis=1)


Likelihood = BinaryLikelihood | SoftmaxLikelihood
Point = BinaryPoint | SoftmaxPoint
