"""What every made-up data set checks and draws from."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def check_size(name: str, value: Any, least: int) -> int:
    """Return a whole number of at least ``least``, or say what was got."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}")
    return int(value)


def check_noise(noise: Any) -> float:
    """Return a standard deviation, or say what was got."""
    if isinstance(noise, bool) or not isinstance(noise, Real) or not 0 <= float(noise) < np.inf:
        raise ValueError(f"noise must be a standard deviation, a number ≥ 0; got {noise!r}")
    return float(noise)


def generator(random_state: Any) -> np.random.Generator:
    """Return a generator from what scikit-learn takes for one."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


def halves(n: int) -> np.ndarray:
    """Return n labels, 0 for the first half (the larger one) and 1 for the second."""
    return (np.arange(n) >= (n + 1) // 2).astype(np.int64)


def shuffled(rng: np.random.Generator, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return arrays in one new order."""
    order = rng.permutation(len(arrays[0]))
    return tuple(array[order] for array in arrays)
