"""Widths of kernels that a search tries: γ by the distances of the rows."""

from __future__ import annotations

import numpy as np

EXPONENTS = range(-6, 5, 2)


def widths(distance: float) -> tuple[float, ...]:
    """Return values of γ for which γ times a typical distance is 2⁻⁶, 2⁻⁴, …, 2⁴.

    The scale is rounded to three digits for the reader.

    Examples
    --------
    >>> widths(0.5)
    (0.03125, 0.125, 0.5, 2.0, 8.0, 32.0)
    """
    scale = float(f"{1.0 / distance:.3g}")
    return tuple(2.0**k * scale for k in EXPONENTS)


def median_distance(distances: np.ndarray) -> float:
    """Return the median of distances, shape (n, n), between different rows; equal ones not counted.

    Where all rows are equal it is 1.
    """
    values = distances[np.triu_indices(len(distances), 1)]
    positive = values[values > 0]
    return float(np.median(positive)) if len(positive) else 1.0
