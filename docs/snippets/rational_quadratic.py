"""A kernel of one's own: the whole of it."""

from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval

from mercer.kernels import VectorKernel


class RationalQuadratic(VectorKernel):
    """Rational quadratic kernel k(x, y) = (1 + γ‖x − y‖² / α)^(−α)."""

    statistic = "squared_distance"
    _parameter_constraints = {
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "alpha": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, gamma=1.0, alpha=1.0):
        self.gamma = gamma
        self.alpha = alpha

    @property
    def definiteness(self):
        return "psd"

    def epilogue(self, values):
        values *= self.gamma / self.alpha
        values += 1.0
        np.power(values, -self.alpha, out=values)
