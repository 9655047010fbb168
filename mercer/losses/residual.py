"""Costs φ(r) of a residual r = y − f, by formula: what `mercer.penalties` names.

The losses of regression are made of them: ℓ(y, f) = φ(y − f).
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from mercer._parameters import ParameterValue
from mercer._sklearn import Interval

POSITIVE = Interval(Real, 0, None, closed="neither")


class Penalty(ParameterValue):
    """A cost φ(r) = φ(−r) ≥ 0 of a residual r = y − f, least at r = 0.

    It is the loss ℓ(y, f) = φ(y − f), written as a function of the residual alone; other than a
    `mercer.losses.Loss` it may be infinite or not convex, and needs no conjugate.

    A penalty of one's own has ``value`` and ``derivative``; ``second_derivative`` follows
    numerically where no formula is given. ``convex = False`` says that there may be several
    minima, and ``limit`` is the |r| from which on the cost is infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.penalties import Penalty
    >>> class LogCosh(Penalty):
    ...     def value(self, r):
    ...         return np.logaddexp(r, -r) - np.log(2.0)
    ...     def derivative(self, r):
    ...         return np.tanh(r)
    >>> LogCosh().second_derivative(np.zeros(1)).round(6)
    array([1.])
    """

    convex: ClassVar[bool] = True
    """Whether φ is convex: then a fit is the best there is, and proved to be."""

    smooth: ClassVar[bool] = True
    """Whether φ′ is continuous."""

    def value(self, r: Any) -> np.ndarray:
        """Return φ(r)."""
        raise NotImplementedError(f"{type(self).__name__} must have a method value(r)")

    def derivative(self, r: Any) -> np.ndarray:
        """Return φ′(r); at a kink any slope between the two sides."""
        raise NotImplementedError(f"{type(self).__name__} must have a method derivative(r)")

    def second_derivative(self, r: Any) -> np.ndarray:
        """Return φ″(r), one-sided where it jumps; by differences if no formula is given."""
        r = np.asarray(r, dtype=np.float64)
        step = 1e-5 * (1.0 + np.abs(r))
        return (self.derivative(r + step) - self.derivative(r - step)) / (2.0 * step)

    @property
    def limit(self) -> float:
        """The |r| from which on φ is infinite."""
        return float(np.inf)


class _Scaled(Penalty):
    """A penalty with one parameter a > 0, in the unit of the residuals."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {"a": [POSITIVE]}

    def __init__(self, a: float = 1.0):
        self.a = a


class Squared(Penalty):
    """φ(r) = r²: the mean, and least squares; large errors count most.

    Examples
    --------
    >>> from mercer.penalties import Squared
    >>> Squared().value([3.0])
    array([9.])
    """

    def value(self, r: Any) -> np.ndarray:
        """Return r²."""
        return np.square(r, dtype=np.float64)

    def derivative(self, r: Any) -> np.ndarray:
        """Return 2r."""
        return np.multiply(2.0, r)

    def second_derivative(self, r: Any) -> np.ndarray:
        """Return 2."""
        return np.full(np.shape(r), 2.0)


class DeadZone(_Scaled):
    """φ(r) = max(0, |r| − a): errors up to a cost nothing.

    Parameters
    ----------
    a : float, default=1.0
        Half the width of the zone, a > 0.

    Examples
    --------
    >>> from mercer.penalties import DeadZone
    >>> DeadZone(a=1.0).value([0.5, 3.0])
    array([0., 2.])
    """

    smooth = False

    def value(self, r: Any) -> np.ndarray:
        """Return max(0, |r| − a)."""
        return np.maximum(np.abs(r) - self.a, 0.0)

    def derivative(self, r: Any) -> np.ndarray:
        """Return the sign of r outside the zone, 0 inside."""
        return np.where(np.abs(r) > self.a, np.sign(r), 0.0)

    def second_derivative(self, r: Any) -> np.ndarray:
        """Return 0: the penalty is made of straight lines."""
        return np.zeros(np.shape(r))


class Absolute(Penalty):
    """φ(r) = |r|: the median; a single large error does not move the fit.

    Examples
    --------
    >>> from mercer.penalties import Absolute
    >>> Absolute().value([-3.0])
    array([3.])
    """

    smooth = False

    def value(self, r: Any) -> np.ndarray:
        """Return |r|."""
        return np.abs(np.asarray(r, dtype=np.float64))

    def derivative(self, r: Any) -> np.ndarray:
        """Return the sign of r."""
        return np.sign(np.asarray(r, dtype=np.float64))

    def second_derivative(self, r: Any) -> np.ndarray:
        """Return 0: the penalty is made of straight lines."""
        return np.zeros(np.shape(r))


class Huber(_Scaled):
    """φ(r) = r² up to |r| = a, then the straight line a(2|r| − a): `mercer.losses.Huber` of r.

    Parameters
    ----------
    a : float, default=1.0
        The error at which the line begins, a > 0.

    Examples
    --------
    >>> from mercer.penalties import Huber
    >>> Huber(a=1.0).value([0.5, 3.0])
    array([0.25, 5.  ])
    """

    def value(self, r: Any) -> np.ndarray:
        """Return r² or a(2|r| − a)."""
        size = np.abs(np.asarray(r, dtype=np.float64))
        inner = np.minimum(size, self.a)
        return inner**2 + 2.0 * self.a * (size - inner)

    def derivative(self, r: Any) -> np.ndarray:
        """Return 2r, cut off at ±2a."""
        return 2.0 * np.clip(np.asarray(r, dtype=np.float64), -self.a, self.a)

    def second_derivative(self, r: Any) -> np.ndarray:
        """Return 2 up to |r| = a, then 0."""
        return np.where(np.abs(r) <= self.a, 2.0, 0.0)


class LogBarrier(_Scaled):
    """φ(r) = −a² log(1 − (r/a)²) for |r| < a, else infinite: no error reaches the limit.

    Parameters
    ----------
    a : float, default=1.0
        The limit, a > 0.

    Examples
    --------
    >>> from mercer.penalties import LogBarrier
    >>> LogBarrier(a=2.0).value([0.0, 1.0, 3.0]).round(4)
    array([0.    , 1.1507,    inf])
    """

    @property
    def limit(self) -> float:
        """The limit a."""
        return float(self.a)

    def value(self, r: Any) -> np.ndarray:
        """Return −a² log(1 − (r/a)²)."""
        t = self._share(r)
        safe = np.where(t < 1.0, t, 0.0)
        return np.where(t < 1.0, 0.0 - self.a**2 * (np.log1p(-safe) + np.log1p(safe)), np.inf)

    def derivative(self, r: Any) -> np.ndarray:
        """Return 2r / (1 − (r/a)²); infinite from the limit on."""
        t = self._share(r)
        r = np.asarray(r, dtype=np.float64)
        room = np.where(t < 1.0, (1.0 - t) * (1.0 + t), 1.0)
        return np.where(t < 1.0, 2.0 * r / room, np.copysign(np.inf, r))

    def second_derivative(self, r: Any) -> np.ndarray:
        """Return 2(1 + (r/a)²) / (1 − (r/a)²)²; infinite from the limit on."""
        t = self._share(r)
        room = np.where(t < 1.0, (1.0 - t) * (1.0 + t), 1.0)
        return np.where(t < 1.0, 2.0 * (1.0 + t**2) / room**2, np.inf)

    def _share(self, r: Any) -> np.ndarray:
        return np.abs(np.asarray(r, dtype=np.float64)) / self.a


class LargeError(_Scaled):
    """φ(r) = min(r², a²): a large error costs the same however large it is. Not convex.

    Parameters
    ----------
    a : float, default=1.0
        The error from which on the cost stays a², a > 0.

    Examples
    --------
    >>> from mercer.penalties import LargeError
    >>> LargeError(a=2.0).value([1.0, 50.0])
    array([1., 4.])
    """

    convex = False

    def value(self, r: Any) -> np.ndarray:
        """Return min(r², a²)."""
        return np.minimum(np.abs(np.asarray(r, dtype=np.float64)), self.a) ** 2

    def derivative(self, r: Any) -> np.ndarray:
        """Return 2r up to |r| = a, then 0."""
        r = np.asarray(r, dtype=np.float64)
        return np.where(np.abs(r) <= self.a, 2.0 * r, 0.0)

    def second_derivative(self, r: Any) -> np.ndarray:
        """Return 2 up to |r| = a, then 0."""
        return np.where(np.abs(r) <= self.a, 2.0, 0.0)
