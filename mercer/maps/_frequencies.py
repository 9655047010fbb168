"""Frequencies whose cosines average to a kernel (Bochner's theorem)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.kernels import RBF, Exponential, Kernel, Laplacian


def draw_frequencies(kernel: Kernel, h: int, d: int, orthogonal: bool, random: Any) -> np.ndarray:
    """Return W of shape (h, d) with E cos(w·(x − y)) = k(x, y) for each row w."""
    return DRAWS[type(kernel)](float(kernel.gamma), h, d, orthogonal, random)


def _rbf(gamma: float, h: int, d: int, orthogonal: bool, random: Any) -> np.ndarray:
    """exp(−γ‖δ‖²): normal with variance 2γ."""
    return np.sqrt(2.0 * gamma) * _normal(h, d, orthogonal, random)


def _exponential(gamma: float, h: int, d: int, orthogonal: bool, random: Any) -> np.ndarray:
    """exp(−γ‖δ‖): the Cauchy distribution of vectors, a normal one over a normal number."""
    spread = np.abs(random.standard_normal((h, 1)))
    return gamma * _normal(h, d, orthogonal, random) / np.maximum(spread, 1e-300)


def _laplacian(gamma: float, h: int, d: int, orthogonal: bool, random: Any) -> np.ndarray:
    """exp(−γ‖δ‖₁): independent Cauchy numbers; directions are not free, so none are orthogonal."""
    return gamma * random.standard_cauchy((h, d))


def _normal(h: int, d: int, orthogonal: bool, random: Any) -> np.ndarray:
    """Return normal rows; ``orthogonal`` ones are so in blocks of d, each normal by itself.

    Directions that avoid each other make the average more even: the error falls (Yu and others,
    "Orthogonal random features").
    """
    if not orthogonal:
        return random.standard_normal((h, d))
    lengths = np.sqrt(random.chisquare(d, size=(h, 1)))
    Q, R = np.linalg.qr(random.standard_normal((-(-h // d), d, d)))
    # with these signs the distribution of Q is uniform
    Q *= np.where(np.diagonal(R, axis1=1, axis2=2) < 0.0, -1.0, 1.0)[:, None, :]
    return lengths * Q.reshape(-1, d)[:h]


DRAWS: dict[type[Kernel], Callable[..., np.ndarray]] = {
    RBF: _rbf,
    Exponential: _exponential,
    Laplacian: _laplacian,
}
