"""Small point clouds for pictures and first steps: each returns ``(X, y)``."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn import datasets

from mercer._docstrings import described
from mercer._random import LARGEST_SEED, generator_of

SHARED = {
    "n_samples": "n_samples : int, default={n_samples}\n    Number of points.",
    "noise": "noise : float, default={noise}\n    Standard deviation of each coordinate.",
    "random_state": "random_state : int, Generator or None\n    Seed.",
    "X": "X : ndarray of shape (n_samples, 2)\n    Points.",
}
"""Lines of the docstrings, by the name that stands for them there."""

CENTRES = np.array([[0.0, 0.0], [2.0, 0.3], [1.1, 1.8]])
"""Where the three clusters lie."""


@described(SHARED)
def make_xor(
    n_samples: int = 200, *, noise: float = 0.25, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Make four equal clouds at (±1, ±1); opposite corners have the same label.

    x = c + noise · ε with c ∈ {−1, 1}², y = 1 if c₁c₂ < 0 and 0 otherwise. No straight line
    separates the labels; the function x₁x₂, and so a polynomial kernel of degree 2, does.

    Parameters
    ----------
    [n_samples]
    [noise]
    [random_state]

    Returns
    -------
    [X]
    y : ndarray of shape (n_samples,)
        0 or 1.

    Examples
    --------
    >>> from mercer.datasets import make_xor
    >>> X, y = make_xor(8, noise=0.0, random_state=0)
    >>> bool(((X[:, 0] * X[:, 1] < 0) == y).all())
    True
    """
    n, noise, rng = checked(n_samples, noise, random_state)
    corner = np.arange(n) % 4
    signs = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    X, y = _shuffled(rng, signs[corner], corner % 2)
    return X + noise * rng.normal(size=(n, 2)), y


@described(SHARED)
def make_circles(
    n_samples: int = 400, *, factor: float = 0.35, noise: float = 0.05, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Make two rings, one inside the other.

    x = r (cos t, sin t) + noise · ε with r = 1 (label 0) or r = factor (label 1); scikit-learn's
    ``make_circles``.

    Parameters
    ----------
    [n_samples]
    factor : float, default=0.35
        Radius of the inner ring, from 0 to below 1.
    [noise]
    [random_state]

    Returns
    -------
    [X]
    y : ndarray of shape (n_samples,)
        0 (outside) or 1 (inside).

    Examples
    --------
    >>> from mercer.datasets import make_circles
    >>> X, y = make_circles(100, factor=0.5, noise=0.0, random_state=0)
    >>> sorted(set((X**2).sum(axis=1).round(6).tolist()))
    [0.25, 1.0]
    """
    n, noise, rng = checked(n_samples, noise, random_state)
    if isinstance(factor, bool) or not 0 <= factor < 1:
        raise ValueError(f"factor must be a number from 0 to below 1; got {factor!r}")
    return datasets.make_circles(n, factor=float(factor), noise=noise, random_state=_seed(rng))


@described(SHARED)
def make_moons(
    n_samples: int = 400, *, noise: float = 0.1, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Make two half moons that reach into each other.

    x = (cos t, sin t) (label 0) or (1 − cos t, ½ − sin t) (label 1), t from 0 to π, plus
    noise · ε; scikit-learn's ``make_moons``.

    Parameters
    ----------
    [n_samples]
    [noise]
    [random_state]

    Returns
    -------
    [X]
    y : ndarray of shape (n_samples,)
        0 (upper moon) or 1 (lower moon).

    Examples
    --------
    >>> from mercer.datasets import make_moons
    >>> make_moons(100, random_state=0)[0].shape
    (100, 2)
    """
    n, noise, rng = checked(n_samples, noise, random_state)
    return datasets.make_moons(n, noise=noise, random_state=_seed(rng))


@described(SHARED)
def make_swiss_roll(
    n_samples: int = 1000, *, noise: float = 0.0, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Make a rolled-up sheet in space.

    x = (t cos t, h, t sin t) + noise · ε with t uniform on [3π/2, 9π/2] and h on [0, 21];
    scikit-learn's ``make_swiss_roll``.

    Parameters
    ----------
    [n_samples]
    [noise]
    [random_state]

    Returns
    -------
    X : ndarray of shape (n_samples, 3)
        Points.
    t : ndarray of shape (n_samples,)
        The angle along the roll.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import make_swiss_roll
    >>> X, t = make_swiss_roll(100, random_state=0)
    >>> np.allclose(np.hypot(X[:, 0], X[:, 2]), t)
    True
    """
    n, noise, rng = checked(n_samples, noise, random_state)
    return datasets.make_swiss_roll(n, noise=noise, random_state=_seed(rng))


@described(SHARED)
def make_arc(
    n_samples: int = 200, *, noise: float = 0.05, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Make an arc in the plane, the points in order.

    x = (1 + noise · ε) (cos t, sin t) with t uniform on [π/10, 9π/10], increasing. The first
    kernel principal component runs along it.

    Parameters
    ----------
    [n_samples]
    noise : float, default=0.05
        Standard deviation of the radius.
    [random_state]

    Returns
    -------
    [X]
    t : ndarray of shape (n_samples,)
        The angle, increasing.

    Examples
    --------
    >>> from mercer.datasets import make_arc
    >>> X, t = make_arc(5, noise=0.0, random_state=0)
    >>> (X**2).sum(axis=1).round(12).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """
    n, noise, rng = checked(n_samples, noise, random_state)
    t = np.sort(rng.uniform(0.1 * np.pi, 0.9 * np.pi, n))
    radius = 1.0 + noise * rng.normal(size=n)
    return radius[:, None] * np.column_stack([np.cos(t), np.sin(t)]), t


@described(SHARED)
def make_clusters(
    n_samples: int = 180, *, noise: float = 0.22, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Make three equal round clusters in the plane, one after the other.

    x = c_y + noise · ε with the centres c₀ = (0, 0), c₁ = (2, 0.3), c₂ = (1.1, 1.8). In order of
    their clusters, so that a Gram matrix shows three blocks.

    Parameters
    ----------
    [n_samples]
    [noise]
    [random_state]

    Returns
    -------
    [X]
    y : ndarray of shape (n_samples,)
        0, 1 or 2, increasing.

    Examples
    --------
    >>> from mercer.datasets import make_clusters
    >>> make_clusters(6, noise=0.0)[1].tolist()
    [0, 0, 1, 1, 2, 2]
    """
    n, noise, rng = checked(n_samples, noise, random_state)
    y = np.sort(np.arange(n) % len(CENTRES))
    return CENTRES[y] + noise * rng.normal(size=(n, 2)), y


@described(SHARED)
def make_banana(
    n_samples: int = 400, *, noise: float = 1.0, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Make two equal classes shaped like bananas, each lying in the bend of the other.

    x = 5 (sin t, cos t) + noise · ε with t uniform on [π/8, 11π/8] (label 0), and
    x = 5 (sin t, cos t) − 3.75 (1, 1) + noise · ε with t uniform on [−7π/8, 3π/8] (label 1).

    Parameters
    ----------
    [n_samples]
    [noise]
    [random_state]

    Returns
    -------
    [X]
    y : ndarray of shape (n_samples,)
        0 or 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import make_banana
    >>> X, y = make_banana(100, noise=0.0, random_state=0)
    >>> np.allclose(np.hypot(*X[y == 0].T), 5.0)
    True
    """
    n, noise, rng = checked(n_samples, noise, random_state)
    (y,) = _shuffled(rng, (np.arange(n) >= (n + 1) // 2).astype(np.int64))
    t = rng.uniform(np.where(y == 0, 0.125, -0.875), np.where(y == 0, 1.375, 0.375)) * np.pi
    arc = 5.0 * np.column_stack([np.sin(t), np.cos(t)]) - 3.75 * y[:, None]
    return arc + noise * rng.normal(size=(n, 2)), y


# ---------------------------------------------------------------- what is asked for, and draws
def check_size(name: str, value: Any, least: int) -> int:
    """Return a whole number of at least ``least``, or say what was got."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}")
    return int(value)


def _check_noise(noise: Any) -> float:
    """Return a standard deviation, or say what was got."""
    if isinstance(noise, bool) or not isinstance(noise, Real) or not 0 <= float(noise) < np.inf:
        raise ValueError(f"noise must be a standard deviation, a number ≥ 0; got {noise!r}")
    return float(noise)


def checked(
    n_samples: Any, noise: Any, random_state: Any, least: int = 1
) -> tuple[int, float, np.random.Generator]:
    """Return the number of points, their noise and a generator, or say what is wrong."""
    return (
        check_size("n_samples", n_samples, least),
        _check_noise(noise),
        generator_of(random_state),
    )


def _shuffled(rng: np.random.Generator, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return arrays in one new order."""
    order = rng.permutation(len(arrays[0]))
    return tuple(array[order] for array in arrays)


def _seed(rng: np.random.Generator) -> int:
    """Return a seed for scikit-learn, which takes no Generator."""
    return int(rng.integers(LARGEST_SEED))
