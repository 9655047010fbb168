"""Columns in units of their own deviations, so that no scale is too small or too large."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer._floats import EPS

NOISE = 8 * EPS  # of a column, relative to its mean: values are equal


class Units(NamedTuple):
    """The centre and the unit of each column."""

    center: np.ndarray  # (d,)
    scale: np.ndarray  # (d,), positive

    @classmethod
    def of(cls, X: np.ndarray, weight: np.ndarray, *, common: bool = False) -> Units:
        """Return mean and deviation of the columns (1 if constant), or one unit for all."""
        center = weighted_mean(X, weight)
        spread = deviations(np.subtract(X, center, dtype=np.float64), weight, np.abs(center))
        if common and spread.any():
            largest = spread.max()
            spread = np.full_like(spread, largest * np.sqrt(np.mean((spread / largest) ** 2)))
        return cls(center, np.where(spread > 0, spread, 1.0))

    def standard(self, X: np.ndarray) -> np.ndarray:
        """Return rows in these units, in float64."""
        rows = np.subtract(X, self.center, dtype=np.float64)
        rows /= self.scale
        return rows

    @property
    def log_volume(self) -> float:
        """What a log-density loses when rows go back to their own units."""
        return float(np.log(self.scale).sum())


def weighted_mean(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the mean of rows, exact for a constant column."""
    share = weight / weight.sum()
    mean = share @ np.asarray(X, dtype=np.float64)
    return mean + share @ np.subtract(X, mean, dtype=np.float64)  # a long sum rounds


def deviations(rows: np.ndarray, weight: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return the root mean square of centred columns, 0 where there is only rounding.

    ``size`` is that of what was subtracted, which tells how large rounding can be.
    """
    largest = np.abs(rows).max(axis=0)
    constant = largest <= NOISE * size
    unit = np.where(constant | (largest == 0.0), 1.0, largest)
    squares = (weight / weight.sum()) @ (rows / unit) ** 2
    return np.where(constant, 0.0, unit * np.sqrt(squares))
