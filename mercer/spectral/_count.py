"""How many principal components to keep."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq


def count_components(wanted: Any, singular: np.ndarray, shape: tuple[int, int]) -> int:
    """Return how many of the singular values, falling and not 0, are kept.

    Parameters
    ----------
    wanted : int, float in (0, 1), "auto" or None
        A number, a share of the variance (the fewest components that exceed it), Gavish and
        Donoho's rule, or all.
    singular : array
        All singular values of the centred table that are not 0.
    shape : tuple of int
        The shape of the table.
    """
    if wanted is None or len(singular) == 0:
        return len(singular)
    if isinstance(wanted, str):
        return max(int(np.sum(singular > noise_threshold(singular, shape))), 1)
    if isinstance(wanted, Integral):
        return min(int(wanted), len(singular))
    unit = singular / singular[:1]  # squares of tiny values would underflow
    shares = np.cumsum(unit**2) / np.sum(unit**2)
    return min(int(np.searchsorted(shares, wanted, side="right")) + 1, len(singular))


def noise_threshold(singular: np.ndarray, shape: tuple[int, int]) -> float:
    """Return the singular value below which a component costs more than it tells.

    τ = √(2(β + 1) + 8β/(β + 1 + √(β² + 14β + 1))) · median(σ)/√μ, where β ≤ 1 is the ratio of
    the sides and μ the median of the law of Marchenko and Pastur: of all hard thresholds the best
    for a low-rank table in white noise of unknown size (Gavish and Donoho, 2014).
    """
    n, d = shape[0] - 1, shape[1]  # the mean takes one row
    small, large = min(n, d), max(n, d)
    beta = small / large
    padded = np.zeros(small)  # components without variance count for the median
    padded[: len(singular)] = singular[:small]
    ratio = 2 * (beta + 1) + 8 * beta / (beta + 1 + np.sqrt(beta**2 + 14 * beta + 1))
    return float(np.sqrt(ratio / marchenko_pastur_median(beta)) * np.median(padded))


def marchenko_pastur_median(beta: float) -> float:
    """Return the median eigenvalue of a large white-noise covariance of aspect ratio β ≤ 1."""
    low, high = (1 - np.sqrt(beta)) ** 2, (1 + np.sqrt(beta)) ** 2

    def density(angle: float) -> float:
        # x = 1 + β + 2√β cos φ takes the square roots at both ends away
        x = 1 + beta + 2 * np.sqrt(beta) * np.cos(angle)
        return 2 * np.sin(angle) ** 2 / (np.pi * x)

    def surplus(angle: float) -> float:
        return float(quad(density, 0.0, angle)[0]) - 0.5  # the share above x(angle), less a half

    angle = brentq(surplus, 0.0, np.pi, xtol=1e-14)
    return float(np.clip(1 + beta + 2 * np.sqrt(beta) * np.cos(angle), low, high))
