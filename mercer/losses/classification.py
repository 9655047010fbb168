"""Losses of classifiers: y is ±1, and the margin m = yf says how right f is."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.special import expit, xlogy

from mercer.losses.base import CLASSIFY, Loss, Tube


class _MarginLoss(Loss):
    """A loss φ(yf); its conjugate is finite for p = −yv between 0 and ``steepest``."""

    kind: ClassVar[str] = CLASSIFY
    steepest: ClassVar[float] = 1.0

    def domain(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        y = np.asarray(y, dtype=np.float64)
        return np.where(y > 0, -self.steepest, 0.0), np.where(y > 0, 0.0, self.steepest)

    def conjugate(self, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        p = -np.asarray(y) * v
        inside = (p >= 0.0) & (p <= self.steepest)
        return np.where(inside, self._conjugate(np.where(inside, p, 0.0)), np.inf)

    def _conjugate(self, p: np.ndarray) -> np.ndarray:
        """Return the conjugate at p = −yv, inside its domain."""
        raise NotImplementedError


class Logistic(_MarginLoss):
    """Logistic loss, log(1 + exp(−yf)): minus the log-likelihood of p(y) = 1 / (1 + exp(−yf)).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Logistic
    >>> Logistic().value(np.array([1.0, -1.0]), np.zeros(2)).round(4)
    array([0.6931, 0.6931])
    """

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.logaddexp(0.0, -y * f)

    def derivative(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return -y * expit(-y * f)

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return expit(f) * expit(-f)

    def _conjugate(self, p: np.ndarray) -> np.ndarray:
        return xlogy(p, p) + xlogy(1.0 - p, 1.0 - p)


class Hinge(_MarginLoss):
    """Hinge loss, max(0, 1 − yf), of support vector machines.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Hinge
    >>> Hinge().value(np.array([1.0, 1.0]), np.array([2.0, -1.0]))
    array([0., 2.])
    """

    smooth = False

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.maximum(0.0, 1.0 - y * f)

    def derivative(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.where(y * f < 1.0, -y, 0.0)

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.zeros(np.broadcast(y, f).shape)

    def _conjugate(self, p: np.ndarray) -> np.ndarray:
        return -p

    def tube(self, y: np.ndarray) -> Tube:
        return Tube(y, np.where(y > 0, 0.0, -1.0), np.where(y > 0, 1.0, 0.0), 0.0)


class SquaredHinge(_MarginLoss):
    """Squared hinge loss, max(0, 1 − yf)².

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import SquaredHinge
    >>> SquaredHinge().value(np.array([1.0, 1.0]), np.array([2.0, -1.0]))
    array([0., 4.])
    """

    steepest = np.inf

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.maximum(0.0, 1.0 - y * f) ** 2

    def derivative(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return -2.0 * y * np.maximum(0.0, 1.0 - y * f)

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.where(y * f < 1.0, 2.0, 0.0)

    def _conjugate(self, p: np.ndarray) -> np.ndarray:
        return p * (0.25 * p - 1.0)
