"""Losses of regression: costs of the error r = y − f."""

from __future__ import annotations

from numbers import Real
from typing import ClassVar

import numpy as np

from mercer._sklearn import Interval
from mercer.losses import residual
from mercer.losses.base import Loss, Tube


class _ResidualLoss(Loss):
    """A loss ℓ(y, f) = φ(y − f)."""

    def _phi(self) -> residual.Penalty:
        raise NotImplementedError

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return self._phi().value(y - f)

    def derivative(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return -self._phi().derivative(y - f)

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return self._phi().second_derivative(y - f)


class Squared(_ResidualLoss):
    """Squared error, (y − f)², without a factor ½: the convention of `mercer.KernelRidge`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Squared
    >>> Squared().value(np.array([1.0]), np.array([4.0]))
    array([9.])
    """

    def _phi(self) -> residual.Penalty:
        return residual.Squared()

    def conjugate(self, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        return v * (y + 0.25 * v)


class _BoundedSlope(_ResidualLoss):
    """A loss of y − f whose slopes stay between two numbers; there ℓ*(v) = vy + ``_extra(v)``."""

    def _slopes(self) -> tuple[float, float]:
        """Return the slopes dℓ/df far below and far above y."""
        return -1.0, 1.0

    def _extra(self, v: np.ndarray) -> np.ndarray:
        return np.zeros_like(v)

    def domain(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        low, high = self._slopes()
        return np.full(np.shape(y), low), np.full(np.shape(y), high)

    def conjugate(self, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        low, high = self._slopes()
        v = np.asarray(v, dtype=np.float64)
        return np.where((v >= low) & (v <= high), v * y + self._extra(v), np.inf)


class Huber(_BoundedSlope):
    """Huber's loss: r² up to |r| = δ, then the straight line 2δ|r| − δ².

    It is `Squared` for small errors and grows like `Absolute` for large ones, which so count less.
    `mercer.penalties.Huber` is the same as a function of r alone, with a for δ.

    Parameters
    ----------
    delta : float, default=1.0
        δ > 0, the error at which the line begins.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Huber
    >>> Huber(delta=1.0).value(np.zeros(2), np.array([0.5, 3.0]))
    array([0.25, 5.  ])
    """

    _parameter_constraints: ClassVar[dict] = {"delta": [residual.POSITIVE]}

    def __init__(self, delta: float = 1.0):
        self.delta = delta

    def _slopes(self) -> tuple[float, float]:
        return -2.0 * self.delta, 2.0 * self.delta

    def _phi(self) -> residual.Penalty:
        return residual.Huber(self.delta)

    def _extra(self, v: np.ndarray) -> np.ndarray:
        return 0.25 * v**2


class _Kinked(_BoundedSlope):
    """A loss of two straight lines, with a tube."""

    smooth = False
    epsilon: float = 0.0

    def tube(self, y: np.ndarray) -> Tube:
        low, high = self._slopes()  # in f; the tube is in y − f
        y = np.asarray(y, dtype=np.float64)
        return Tube(y, np.full(y.shape, -high), np.full(y.shape, -low), float(self.epsilon))


class Absolute(_Kinked):
    """Absolute error, |y − f|: a machine with it estimates the median.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Absolute
    >>> Absolute().value(np.array([1.0]), np.array([4.0]))
    array([3.])
    """

    def _phi(self) -> residual.Penalty:
        return residual.Absolute()


class EpsilonInsensitive(_Kinked):
    """ε-insensitive error, max(0, |y − f| − ε), of support vector regression.

    Parameters
    ----------
    epsilon : float, default=0.1
        ε ≥ 0, the error that costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import EpsilonInsensitive
    >>> EpsilonInsensitive(0.5).value(np.zeros(2), np.array([0.25, 2.0]))
    array([0. , 1.5])
    """

    _parameter_constraints: ClassVar[dict] = {"epsilon": [Interval(Real, 0, None, closed="left")]}

    def __init__(self, epsilon: float = 0.1):
        self.epsilon = epsilon

    def _phi(self) -> residual.Penalty:
        return residual.DeadZone(self.epsilon)

    def _extra(self, v: np.ndarray) -> np.ndarray:
        return self.epsilon * np.abs(v)


class Quantile(_Kinked):
    """Quantile (pinball) loss, max(qr, (q − 1)r) with r = y − f.

    A machine with it estimates the q-quantile of y: a share q of the points lies below.

    Parameters
    ----------
    q : float, default=0.5
        The quantile, between 0 and 1; ½ is half of `Absolute`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Quantile
    >>> Quantile(0.9).value(np.array([1.0, -1.0]), np.zeros(2)).round(2)
    array([0.9, 0.1])
    """

    _parameter_constraints: ClassVar[dict] = {"q": [Interval(Real, 0, 1, closed="neither")]}

    def __init__(self, q: float = 0.5):
        self.q = q

    def _slopes(self) -> tuple[float, float]:
        return -self.q, 1.0 - self.q

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        r = y - f
        return np.maximum(self.q * r, (self.q - 1.0) * r)

    def derivative(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.where(f < y, -self.q, np.where(f > y, 1.0 - self.q, 0.0))

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.zeros(np.broadcast(y, f).shape)
