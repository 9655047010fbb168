"""The loss as an object: what a prediction costs, its slope, its curvature, its conjugate."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from mercer._floats import EPS
from mercer._parameters import ParameterValue

CLASSIFY, REGRESS = "classify", "regress"
REACH = 60  # doublings of the interval in which a conjugate is looked for
HALVINGS = 120  # from the widest interval down to rounding


class Tube(NamedTuple):
    """A loss of two slopes: hi·max(0, r − ε) + |lo|·max(0, −r − ε) with r = z − f."""

    z: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    eps: float


class Loss(ParameterValue):
    """A convex cost ℓ(y, f) ≥ 0 of predicting f where y is the truth.

    A loss of one's own states ``kind`` and has two methods, ``value`` and ``derivative``, on arrays
    of equal shape. All else follows numerically and is overridden where a formula is known:
    ``curvature``, ``conjugate`` and its ``domain``. A loss with kinks says ``smooth = False`` and
    gives its ``tube``. `mercer.check_loss` tells whether the parts agree.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Loss
    >>> class LogCosh(Loss):
    ...     kind = "regress"
    ...     def value(self, y, f):
    ...         return np.logaddexp(f - y, y - f) - np.log(2.0)
    ...     def derivative(self, y, f):
    ...         return np.tanh(f - y)
    >>> LogCosh().conjugate(np.zeros(2), np.array([0.0, 1.0])).round(4)
    array([0.    , 0.6931])
    """

    kind: ClassVar[str] = REGRESS
    """``"classify"`` if y is ±1, ``"regress"`` if y is any number."""

    smooth: ClassVar[bool] = True
    """Whether the derivative is continuous in f."""

    # ------------------------------------------------------------ what a loss implements
    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return ℓ(y, f)."""
        raise NotImplementedError(self._missing("value(y, f), the cost"))

    def derivative(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return dℓ/df; at a kink any slope between the two sides."""
        raise NotImplementedError(self._missing("derivative(y, f), the slope dℓ/df of the cost"))

    # ------------------------------------------------------------ what follows
    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return d²ℓ/df² ≥ 0, one-sided where it jumps; by differences if no formula is given."""
        step = 1e-5 * (1.0 + np.abs(f - y))
        rise = self.derivative(y, f + step) - self.derivative(y, f - step)
        return np.maximum(rise / (2.0 * step), 0.0)

    def conjugate(self, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return ℓ*(y, v) = sup over f of vf − ℓ(y, f), infinite outside its domain."""
        return conjugate_by_bisection(self, y, v)

    def domain(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest v at which the conjugate is finite."""
        return np.full(np.shape(y), -np.inf), np.full(np.shape(y), np.inf)

    def tube(self, y: np.ndarray) -> Tube | None:
        """Return the loss as a tube, if it is one: then a margin solver minimises it."""
        return None

    # ------------------------------------------------------------ checks
    def check(self) -> None:
        """Raise if a parameter is not allowed."""
        super().check()
        if self.kind not in (CLASSIFY, REGRESS):
            raise ValueError(
                f"kind of a loss must be {CLASSIFY!r} or {REGRESS!r}; {type(self).__name__} has "
                f"{self.kind!r}"
            )

    def _missing(self, what: str) -> str:
        return f"{type(self).__name__} is a loss and must have a method {what}"


def conjugate_by_bisection(loss: Loss, y: Any, v: Any) -> np.ndarray:
    """Return sup over f of vf − ℓ(y, f) from the derivative, which grows with f.

    The supremum lies where ℓ′(f) = v. Every f that is tried gives a lower bound, and the largest is
    returned: near the root the bound errs by the square of its distance.
    """
    y, v = np.broadcast_arrays(np.asarray(y, np.float64), np.asarray(v, np.float64))
    reach = 1.0 + np.abs(y)
    low, high, best = y - reach, y + reach, np.full(y.shape, -np.inf)
    slack = 4.0 * EPS * (1.0 + np.abs(v))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for _ in range(REACH):
            reach = 2.0 * reach
            low = np.where(loss.derivative(y, low) > v, y - reach, low)
            high = np.where(loss.derivative(y, high) < v, y + reach, high)
        inside = (loss.derivative(y, low) <= v + slack) & (loss.derivative(y, high) >= v - slack)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            best = np.fmax(best, v * middle - loss.value(y, middle))
            rising = loss.derivative(y, middle) < v
            low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return np.where(inside, best, np.inf)
