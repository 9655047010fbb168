"""The weighted sum of losses over a sample, as a function of the predictions G of shape (n, t).

t = 1 for losses of one number; t is the number of classes for the softmax. The rows of a dual point
U are weighted slopes, U = w ℓ′; Fenchel and Young say  w [ℓ(g) + ℓ*(u/w)] ≥ u·g,  with equality
where u is the slope at g.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp, xlogy

from mercer._floats import TINY
from mercer.losses.base import Loss

ROUNDING = 1e-12  # of probabilities that are sums and differences
FARTHEST_OFFSET = 1e150  # an offset beyond this is none


class Curvature(Protocol):
    """The second derivative H of a risk, one t × t block H = S Sᵀ for each point."""

    @property
    def n_outputs(self) -> int:
        """Return t."""
        ...

    def root(self, V: np.ndarray) -> np.ndarray:
        """Return S V."""
        ...

    def root_transposed(self, V: np.ndarray) -> np.ndarray:
        """Return Sᵀ V."""
        ...

    def apply(self, V: np.ndarray) -> np.ndarray:
        """Return H V."""
        ...

    def gauge(self) -> np.ndarray:
        """Return the diagonal of SᵀS, shape (n, t)."""
        ...

    def entry(self, c: int, d: int, weight: np.ndarray | None = None) -> np.ndarray:
        """Return entry (c, d) of S diag(weight) Sᵀ of every point, shape (n,); None is 1."""
        ...


class Risk(Protocol):
    """What a solver and a proof need to know of losses on a sample."""

    n_outputs: int
    smooth: bool

    def value(self, G: np.ndarray) -> float:
        """Return Σ w ℓ(y, g)."""
        ...

    def slopes(self, G: np.ndarray) -> np.ndarray:
        """Return w ℓ′(y, g), shape (n, t)."""
        ...

    def curvature(self, G: np.ndarray) -> Curvature:
        """Return the second derivative at G."""
        ...

    def young(self, G: np.ndarray, U: np.ndarray) -> np.ndarray:
        """Return w [ℓ(g) + ℓ*(u/w)] − u·g ≥ 0 of each point, infinite outside the domain."""
        ...

    def dual_point(self, U: np.ndarray, balanced: bool) -> np.ndarray:
        """Return a point of the dual near U: in the domain, with column sums 0 if balanced."""
        ...

    def offset(self, F: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the b that minimises the risk of F + b, looked for from b, shape (t,)."""
        ...


# ---------------------------------------------------------------- one number a point
class DiagonalCurvature(NamedTuple):
    """H = diag(h) of a loss of one number."""

    h: np.ndarray  # (n, 1)
    s: np.ndarray  # its square root

    @property
    def n_outputs(self) -> int:
        return 1

    def root(self, V: np.ndarray) -> np.ndarray:
        return self.s * V

    def root_transposed(self, V: np.ndarray) -> np.ndarray:
        return self.s * V

    def apply(self, V: np.ndarray) -> np.ndarray:
        return self.h * V

    def gauge(self) -> np.ndarray:
        return self.h

    def entry(self, c: int, d: int, weight: np.ndarray | None = None) -> np.ndarray:
        return (self.h if weight is None else self.h * weight)[:, 0]


class ScalarRisk:
    """Σᵢ wᵢ ℓ(yᵢ, gᵢ) of a `Loss`; the weights are positive."""

    n_outputs = 1

    def __init__(self, loss: Loss, y: np.ndarray, weight: np.ndarray):
        self.loss, self.y, self.w = loss, y, weight
        self.smooth = loss.smooth

    def value(self, G: np.ndarray) -> float:
        return float(self.w @ self.loss.value(self.y, G[:, 0]))

    def slopes(self, G: np.ndarray) -> np.ndarray:
        return (self.w * self.loss.derivative(self.y, G[:, 0]))[:, None]

    def curvature(self, G: np.ndarray) -> DiagonalCurvature:
        h = (self.w * self.loss.curvature(self.y, G[:, 0]))[:, None]
        return DiagonalCurvature(h, np.sqrt(h))

    def young(self, G: np.ndarray, U: np.ndarray) -> np.ndarray:
        v, g = U[:, 0] / self.w, G[:, 0]
        terms = self.loss.value(self.y, g) + (self.loss.conjugate(self.y, v) - v * g)
        return self.w * np.maximum(terms, 0.0)

    def dual_point(self, U: np.ndarray, balanced: bool) -> np.ndarray:
        low, high = self.loss.domain(self.y)
        u = np.clip(U[:, 0], self.w * low, self.w * high)
        # w · v / w may leave the domain by a rounding
        u = np.where((u / self.w < low) | (u / self.w > high), u * (1.0 - 2e-16), u)
        if balanced:
            up, down = float(u[u > 0].sum()), float(-u[u < 0].sum())
            smaller = min(up, down)
            # towards 0, where the conjugate of a loss with a minimum is finite
            u = u * np.where(u > 0, smaller / max(up, TINY), smaller / max(down, TINY))
        return u[:, None]

    def offset(self, F: np.ndarray, b: np.ndarray) -> np.ndarray:
        def slope(offset: float) -> float:
            with np.errstate(over="ignore"):
                return float(self.w @ self.loss.derivative(self.y, F[:, 0] + offset))

        here = slope(float(b[0]))
        if here == 0.0:
            return b
        near, step = float(b[0]), -np.sign(here) * max(1e-3, 1e-8 * abs(float(b[0])))
        farthest = FARTHEST_OFFSET * max(1.0, float(np.abs(F).max()))
        while np.sign(slope(near + step)) == np.sign(here):  # a product of slopes may vanish
            near, step = near + step, 2.0 * step
            if abs(step) > farthest:
                raise ValueError(
                    f"{self.loss!r} has no least value on these targets: its slope never changes "
                    f"sign; use fit_intercept=False or a loss that is bounded below"
                )
        finest = 1e-15 * max(abs(near), abs(step))
        return np.array([brentq(slope, near, near + step, xtol=finest, rtol=1e-15, maxiter=1000)])


def column_inverse(curve: Curvature) -> np.ndarray:
    """Return the pseudoinverse of 1ᵀH1, shape (t, t): the curvature of the risk in the offset."""
    t = range(curve.n_outputs)
    total = np.array([[curve.entry(c, d).sum() for d in t] for c in t])
    if np.abs(total).max() < 1e-290:  # flat: its inverse would overflow
        return np.zeros_like(total)
    return np.linalg.pinv(total, rcond=1e-14, hermitian=True)


# ---------------------------------------------------------------- t numbers a point
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
        raw = U / self.w + self.Y
        P = np.clip(raw, 0.0, 1.0)
        terms = (xlogy(P, P) - P * log_probabilities(G)).sum(axis=1)
        outside = raw.min(axis=1) < -ROUNDING
        return np.where(outside, np.inf, self.w[:, 0] * np.maximum(terms, 0.0))

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
