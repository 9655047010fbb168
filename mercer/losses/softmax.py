"""The logistic loss of several classes at once: t numbers a point."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, xlogy

from mercer.losses.risk import column_inverse


class SoftmaxCurvature(NamedTuple):
    """H = w (diag(p) − ppᵀ) = S Sᵀ with S = √w (diag(√p) − p√pᵀ)."""

    P: np.ndarray  # (n, t)
    root_p: np.ndarray
    w: np.ndarray  # (n, 1)

    @property
    def n_outputs(self) -> int:
        return self.P.shape[1]

    def root(self, V: np.ndarray) -> np.ndarray:
        Z = self.root_p * V
        return np.sqrt(self.w) * (Z - self.P * Z.sum(axis=1, keepdims=True))

    def root_transposed(self, V: np.ndarray) -> np.ndarray:
        means = (self.P * V).sum(axis=1, keepdims=True)
        return np.sqrt(self.w) * self.root_p * (V - means)

    def apply(self, V: np.ndarray) -> np.ndarray:
        Z = self.P * V
        return self.w * (Z - self.P * Z.sum(axis=1, keepdims=True))

    def gauge(self) -> np.ndarray:
        squares = (self.P**2).sum(axis=1, keepdims=True)
        return self.w * self.P * (1.0 - 2.0 * self.P + squares)

    def entry(self, c: int, d: int, weight: np.ndarray | None = None) -> np.ndarray:
        p, q, w = self.P[:, c], self.P[:, d], self.w[:, 0]
        if weight is None:
            return w * (p * (1.0 - p) if c == d else -p * q)
        mixed = (self.P * weight).sum(axis=1) - weight[:, c] - weight[:, d]
        return w * (p * q * mixed + (p * weight[:, c] if c == d else 0.0))


class SoftmaxRisk:
    """Σᵢ wᵢ [log Σ_c exp(g_ic) − g_iy]: minus the log-likelihood of p = softmax(g)."""

    smooth = True

    def __init__(self, codes: np.ndarray, weight: np.ndarray, n_classes: int):
        self.n_outputs, self.w = n_classes, weight[:, None]
        self.Y = np.zeros((len(codes), n_classes))
        self.Y[np.arange(len(codes)), codes] = 1.0

    def value(self, G: np.ndarray) -> float:
        return float(self.w[:, 0] @ (logsumexp(G, axis=1) - (self.Y * G).sum(axis=1)))

    def slopes(self, G: np.ndarray) -> np.ndarray:
        return self.w * (probabilities(G) - self.Y)

    def curvature(self, G: np.ndarray) -> SoftmaxCurvature:
        P = probabilities(G)
        return SoftmaxCurvature(P, np.sqrt(P), self.w)

    def young(self, G: np.ndarray, U: np.ndarray) -> np.ndarray:
        """The divergence Σ p log(p / softmax(g)) of the dual point's probabilities p."""
        P = np.clip(U / self.w + self.Y, 0.0, 1.0)
        terms = (xlogy(P, P) - P * log_probabilities(G)).sum(axis=1)
        return self.w[:, 0] * np.maximum(terms, 0.0)

    def dual_point(self, U: np.ndarray, balanced: bool) -> np.ndarray:
        P = np.maximum(U / self.w + self.Y, 0.0)
        P = np.where(P.any(axis=1, keepdims=True), P, self.Y)
        P = P / P.sum(axis=1, keepdims=True)
        if balanced:
            curve = SoftmaxCurvature(P, np.sqrt(P), self.w)
            excess = (self.w * (P - self.Y)).sum(axis=0)
            P = P - curve.apply(np.ones_like(P) * (column_inverse(curve) @ excess)) / self.w
        # p = y is a point of the dual, for when a correction leaves the simplex
        return self.w * (P - self.Y) if P.min() >= 0.0 else np.zeros_like(P)

    def offset(self, F: np.ndarray, b: np.ndarray) -> np.ndarray:
        for _ in range(100):
            slope = self.slopes(F + b).sum(axis=0)
            step = column_inverse(self.curvature(F + b)) @ slope
            here, length = self.value(F + b), 1.0
            while self.value(F + b - length * step) > here and length > 1e-6:
                length *= 0.5
            if length <= 1e-6 or np.abs(slope).max() <= 1e-15 * self.w.sum():
                break
            b = b - length * step
        return b - b.mean()


def log_probabilities(G: np.ndarray) -> np.ndarray:
    """Return the logarithm of softmax(g) of each row."""
    return G - logsumexp(G, axis=1, keepdims=True)


def probabilities(G: np.ndarray) -> np.ndarray:
    """Return softmax(g) of each row."""
    return np.exp(log_probabilities(G))
