"""Arithmetic on arrays of kernel values."""

from __future__ import annotations

import numpy as np


def integer_power(values: np.ndarray, exponent: int) -> None:
    """Raise to an integer power in place by squarings, far faster than ``np.power``."""
    if exponent == 0:
        values[...] = 1
    elif exponent % 2:
        rest = values.copy() if exponent > 1 else None
        if rest is not None:
            integer_power(values, exponent - 1)
            values *= rest
    else:
        np.square(values, out=values)
        integer_power(values, exponent // 2)


def inverse_lengths(diagonal: np.ndarray) -> np.ndarray:
    """Return 1/√k(x, x), and 0 where k(x, x) = 0."""
    if np.any(diagonal < 0):
        raise ValueError("a kernel with k(x, x) < 0 cannot be normalised")
    return np.divide(1.0, np.sqrt(diagonal), out=np.zeros(len(diagonal)), where=diagonal > 0)
