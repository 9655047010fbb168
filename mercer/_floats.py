"""What float64 can tell apart."""

from __future__ import annotations

import numpy as np

EPS = float(np.finfo(np.float64).eps)  # relative distance from 1 to the next number
DOUBLE = np.dtype(np.float64)
TINY = float(np.finfo(np.float64).tiny)  # smallest positive number with all its digits
LEAST_DIVISOR = 1e-300  # what a divisor that may be 0 is raised to
COLUMN_NOISE = 8 * EPS  # of a column, relative to its mean

MODERATE = 1e-50, 1e50  # squares of entries of this size can be summed safely
SINGLE_MODERATE = 1e-10, 1e10  # the same in float32


def safe_unit(largest: float, moderate: tuple[float, float] = MODERATE) -> float:
    """Return 1, or a power of two to divide by so that squares neither overflow nor vanish."""
    if largest == 0.0 or moderate[0] < largest < moderate[1]:
        return 1.0
    return float(2.0 ** min(np.frexp(largest)[1], 1023))


def safe_norm(values: np.ndarray) -> float:
    """Return the Euclidean norm of all entries, of any size."""
    unit = safe_unit(float(np.abs(values).max(initial=0.0)))
    return float(np.linalg.norm(values / unit)) * unit


SMALLEST = 1e-140  # squares of differences of smaller values vanish, or keep few digits
LARGEST = 1e150  # squares of larger values overflow


def require_squares(largest: float, name: str = "X") -> None:
    """Raise if the squares of values, of which this is the largest, vanish or overflow."""
    if 0.0 < largest < SMALLEST:
        raise ValueError(f"{name} has no value beyond 1e-140: their squares vanish; rescale {name}")
    if largest > LARGEST:
        raise ValueError(f"{name} has values beyond 1e150: their squares overflow; rescale {name}")


def quantile(values: np.ndarray, share: float | list[float]) -> np.ndarray:
    """Return quantiles of finite numbers; those between two numbers of any size are finite too.

    Examples
    --------
    >>> float(quantile(np.array([1.5e308, 1.7e308]), 0.5)) == 1.6e308
    True
    """
    unit = safe_unit(float(np.abs(values).max(initial=0.0)))
    scaled = values if unit == 1.0 else values / unit
    return np.asarray(np.quantile(scaled, share) * unit)
