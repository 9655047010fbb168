"""Distances in feature space by the distance between rows that a kernel falls with.

‖φ(x) − φ(y)‖² = k(x, x) − 2k(x, y) + k(y, y) cancels where the rows are near one another or far
from 0. A Gaussian kernel has −2(exp(−γ‖x − y‖²) − 1) instead, and a linear one ‖x − y‖².
"""

from __future__ import annotations

import numpy as np

from mercer._array import largest_size
from mercer._floats import safe_unit
from mercer.kernels.base import Kernel
from mercer.kernels.radial import RBF, Exponential, Laplacian
from mercer.kernels.sample import Sample
from mercer.kernels.shared import RAW, RawStatistic
from mercer.kernels.vector import Linear

SquaredDistance, L1Distance = RAW["squared_distance"], RAW["l1"]


def row_distance(kernel: Kernel) -> RawStatistic | None:
    """Return the distance between rows that distances in feature space grow with, if there is."""
    if not getattr(kernel, "is_plain", True):
        return None
    if isinstance(kernel, (Linear, RBF, Exponential)):
        return SquaredDistance()
    return L1Distance() if isinstance(kernel, Laplacian) else None


def row_unit(distance: Kernel, X: Sample, Y: Sample) -> float:
    """Return what rows are to be divided by, so that squares neither overflow nor vanish; mostly 1.

    It is a power of two: dividing loses nothing.
    """
    if not isinstance(distance, SquaredDistance):
        return 1.0
    return safe_unit(max(float(sample.summary("largest", largest_size)) for sample in (X, Y)))


def in_unit(sample: Sample, unit: float) -> Sample:
    """Return the rows divided by their unit."""
    if unit == 1.0:
        return sample
    return sample.derive(("in unit", unit), lambda data: data / unit)


def feature_squares(kernel: Kernel, distances: np.ndarray, unit: float = 1.0) -> np.ndarray:
    """Return ‖φ(x) − φ(y)‖² from distances of `row_distance`, of rows that are in a unit."""
    if isinstance(kernel, Linear):
        return distances * unit * unit
    gamma = kernel.get_params()["gamma"]
    with np.errstate(over="ignore"):  # exp(−inf) = 0 is right
        if isinstance(kernel, Exponential):
            return -2.0 * np.expm1(-gamma * unit * np.sqrt(distances))
        return -2.0 * np.expm1(-gamma * unit * unit * distances)


def feature_lengths(kernel: Kernel, distances: np.ndarray, unit: float = 1.0) -> np.ndarray:
    """Return ‖φ(x) − φ(y)‖; of a linear kernel also where its square would vanish."""
    if isinstance(kernel, Linear):
        return np.sqrt(distances) * unit
    return np.sqrt(feature_squares(kernel, distances, unit))
