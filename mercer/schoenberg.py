"""Schoenberg transforms: functions that turn squared Euclidean distances into others of the kind.

Φ(d) = ∫ (1 − e^(−λd))/λ dg(λ) with a measure g ≥ 0 on [0, ∞), which may be a point mass. If D holds
squared Euclidean distances then Φ(D) does too, in another space: it is conditionally negative
definite, vᵀΦ(D)v ≤ 0 for Σv = 0.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from mercer._parameters import ParameterValue
from mercer._sklearn import Interval

__all__ = [
    "Exponential",
    "Identity",
    "Logarithm",
    "Power",
    "Rational",
    "Transform",
    "as_transform",
    "gaussian",
]


class Transform(ParameterValue):
    """A Schoenberg transform Φ of squared distances, callable on an array of them.

    A child stores its parameters and implements ``apply(values)``.
    """

    def __call__(self, squared_distances: Any) -> np.ndarray:
        """Return Φ(d) of each squared distance, in float64."""
        self.check()
        values = np.array(squared_distances, dtype=np.float64)
        if not np.isfinite(values).all() or values.min(initial=0.0) < 0:
            raise ValueError(
                "squared_distances must be finite and ≥ 0; the least is "
                f"{values.min(initial=np.inf)}"
            )
        self.apply(values)
        return values

    def apply(self, values: np.ndarray) -> None:
        """Write Φ(d) over an array of d ≥ 0."""
        raise NotImplementedError


class Identity(Transform):
    """The transform Φ(d) = d.

    Examples
    --------
    >>> from mercer import schoenberg
    >>> schoenberg.Identity()([0.0, 4.0])
    array([0., 4.])
    """

    def apply(self, values: np.ndarray) -> None:
        """Leave d as it is."""


class _WithUnit(Transform):
    """A transform whose shape is fixed up to the unit a > 0 of squared distances."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "a": [Interval(Real, 0, None, closed="neither")]
    }

    def __init__(self, a: float = 1.0):
        self.a = a


class Exponential(_WithUnit):
    """The transform Φ(d) = (1 − e^(−ad))/a: distances in the feature space of a Gaussian kernel.

    Parameters
    ----------
    a : float, default=1.0
        The rate a > 0.

    Examples
    --------
    >>> from mercer import schoenberg
    >>> schoenberg.Exponential(a=2.0)([0.0, 100.0])
    array([0. , 0.5])
    """

    def apply(self, values: np.ndarray) -> None:
        """Write (1 − e^(−ad))/a over d; small d lose no digits."""
        values *= -self.a
        np.expm1(values, out=values)
        values /= -self.a


class Logarithm(_WithUnit):
    """The transform Φ(d) = ln(1 + d/a).

    Parameters
    ----------
    a : float, default=1.0
        The scale a > 0.

    Examples
    --------
    >>> from mercer import schoenberg
    >>> schoenberg.Logarithm()([0.0, 1.0]).round(4)
    array([0.    , 0.6931])
    """

    def apply(self, values: np.ndarray) -> None:
        """Write ln(1 + d/a) over d."""
        values /= self.a
        np.log1p(values, out=values)


class Rational(_WithUnit):
    """The transform Φ(d) = d/(a(a + d)).

    Parameters
    ----------
    a : float, default=1.0
        The scale a > 0.

    Examples
    --------
    >>> from mercer import schoenberg
    >>> schoenberg.Rational()([0.0, 1.0])
    array([0. , 0.5])
    """

    def apply(self, values: np.ndarray) -> None:
        """Write d/(a(a + d)) over d."""
        values /= self.a + values
        values /= self.a


class Power(Transform):
    """The transform Φ(d) = dᵖ with 0 < p ≤ 1.

    Parameters
    ----------
    p : float, default=0.5
        The exponent.

    Examples
    --------
    >>> from mercer import schoenberg
    >>> schoenberg.Power(p=0.5)([0.0, 4.0])
    array([0., 2.])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"p": [Interval(Real, 0, 1, closed="right")]}

    def __init__(self, p: float = 0.5):
        self.p = p

    def apply(self, values: np.ndarray) -> None:
        """Write dᵖ over d."""
        np.power(values, self.p, out=values)


NAMES: dict[str, type[Transform]] = {
    "identity": Identity,
    "exponential": Exponential,
    "logarithm": Logarithm,
    "rational": Rational,
    "power": Power,
}


def as_transform(transform: Any) -> Transform:
    """Return a Schoenberg transform from a transform or a name; None is the identity.

    Examples
    --------
    >>> from mercer import schoenberg
    >>> schoenberg.as_transform("power")
    Power()
    """
    if transform is None:
        return Identity()
    if isinstance(transform, str) and transform.lower() in NAMES:
        return NAMES[transform.lower()]()
    if not isinstance(transform, Transform):
        raise ValueError(
            f"transform must be one of {sorted(NAMES)}, a Schoenberg transform (an object of "
            f"mercer.schoenberg, with brackets) or None; got {transform!r}"
        )
    transform.check()
    return transform


def gaussian(distances: Any, lam: Any = 1.0) -> np.ndarray:
    """Return e^(−λd²) of distances: a kernel matrix for every λ > 0 if and only if d is Euclidean.

    This is Schoenberg's embedding theorem; the matrix serves as a precomputed kernel.

    Parameters
    ----------
    distances : array of shape (n, m)
        Distances d ≥ 0 (not their squares).
    lam : float, default=1.0
        λ > 0.

    Examples
    --------
    >>> from mercer import schoenberg
    >>> schoenberg.gaussian([[0.0, 1.0], [1.0, 0.0]], lam=2.0).round(3)
    array([[1.   , 0.135],
           [0.135, 1.   ]])
    """
    if not isinstance(lam, Real) or not 0 < float(lam) < np.inf:
        raise ValueError(f"lam must be a number > 0; got {lam!r}")
    values = np.array(distances, dtype=np.float64)
    if not np.isfinite(values).all() or values.min(initial=0.0) < 0:
        raise ValueError("distances must be finite and ≥ 0")
    with np.errstate(over="ignore"):  # exp(−inf) = 0 is right
        return np.exp(-float(lam) * values**2)
