"""The weighted sum of losses over a sample, as a function of the predictions G of shape (n, t).

t = 1 for losses of one number; t is the number of classes for the softmax. The rows of a dual point
U are weighted slopes, U = w ℓ′; Fenchel and Young say  w [ℓ(g) + ℓ*(u/w)] ≥ u·g,  with equality
where u is the slope at g.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from scipy.optimize import brentq

from mercer._floats import TINY
from mercer.losses.base import Loss

FARTHEST = 1e150  # an offset beyond this is none


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
        while slope(near + step) * here > 0.0:
            near, step = near + step, 2.0 * step
            if abs(step) > FARTHEST:
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
