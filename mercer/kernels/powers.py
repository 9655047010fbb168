"""Integer powers of arrays, in place."""

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
