"""Matérn kernels: between the exponential kernel and the Gaussian."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from mercer._sklearn import Options
from mercer.kernels.radial import Radial, finite_rate, negative_exp


class Matern(Radial):
    """Matérn kernel of r = γ‖x − y‖, once or twice differentiable.

    Parameters
    ----------
    nu : {0.5, 1.5, 2.5}, default=1.5
        Smoothness: exp(−r), (1 + √3 r) exp(−√3 r) or (1 + √5 r + 5r²/3) exp(−√5 r).
    gamma : float, "scale" or "auto", default="scale"
        γ > 0, as for `Exponential`.
    metric : array of shape (d,) or (d, d), default=None
        As for `RBF`.

    Examples
    --------
    >>> from mercer.kernels import Matern
    >>> Matern(nu=1.5, gamma=1.0)([[0.0]], [[1.0]]).round(4)
    array([[0.4834]])
    """

    statistic = "squared_distance"
    p = 2.0
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Radial._parameter_constraints,
        "nu": [Options(Real, {0.5, 1.5, 2.5})],
    }

    def __init__(self, nu: float = 1.5, gamma: float | str = "scale", *, metric: Any = None):
        self.nu = nu
        self.gamma = gamma
        self.metric = metric

    @property
    def _rate(self) -> float:
        """What makes √(2ν) r of a distance."""
        with np.errstate(over="ignore"):
            rate = np.sqrt(2.0 * self.nu * self._unit) * np.float64(self.gamma)
        return finite_rate(float(rate), np.dtype(np.float64))

    def epilogue(self, values: np.ndarray) -> None:
        self._to_radius(values)
        polynomial = self._polynomial(values)
        negative_exp(values, 1.0)
        values *= polynomial

    def _to_radius(self, values: np.ndarray) -> None:
        np.sqrt(values, out=values)
        with np.errstate(over="ignore"):
            values *= values.dtype.type(finite_rate(self._rate, values.dtype))
        np.minimum(values, 1e4, out=values)  # the kernel is 0 there; inf · 0 would be NaN

    def _polynomial(self, r: np.ndarray) -> Any:
        if self.nu == 0.5:
            return 1.0
        return 1.0 + r if self.nu == 1.5 else 1.0 + r * (1.0 + r / 3.0)

    def slope(self, values: np.ndarray) -> None:
        # with r² = c s: d/ds of e⁻ʳ, (1 + r)e⁻ʳ and (1 + r + r²/3)e⁻ʳ is −c/2 e⁻ʳ times these
        self._to_radius(values)
        if self.nu == 0.5:
            factor = np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
        else:
            factor = 1.0 if self.nu == 1.5 else (1.0 + values) / 3.0
        negative_exp(values, 1.0)
        values *= factor
        values *= -0.5 * self._rate**2
