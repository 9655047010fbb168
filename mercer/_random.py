"""Seeds and generators from what scikit-learn takes for a ``random_state``."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

LARGEST_SEED = 2**31 - 1


def seed_of(random_state: Any) -> int:
    """Return a seed: the same one for the same integer."""
    return int(check_random_state(random_state).randint(LARGEST_SEED))


def drawn_in_order(chance: np.ndarray, order: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return numbers of rows, drawn in proportion to ``chance`` by u uniform in [0, 1).

    Rows are gone through in a fixed ``order``, so that how they are sorted changes no draw.
    """
    sums = np.cumsum(chance[order])
    place = np.searchsorted(sums, u * sums[-1], side="right")
    return order[np.minimum(place, len(order) - 1)]


def generator_of(random_state: Any) -> np.random.Generator:
    """Return a generator; one that is given is used as it is."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(seed_of(random_state))
