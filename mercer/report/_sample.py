"""Some of many rows, drawn at random so that no class is lost."""

from __future__ import annotations

import numpy as np


def some_rows(y: np.ndarray, most: int, rng: np.random.Generator, *, classes: bool) -> np.ndarray:
    """Return at most about ``most`` rows in order; of each class its share, and at least one."""
    n = len(y)
    if n <= most:
        return np.arange(n)
    if not classes:
        return np.sort(rng.choice(n, most, replace=False))
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    kept = np.maximum(np.floor(counts * (most / n)).astype(int), 1)
    parts = [
        rng.choice(np.flatnonzero(codes == code), size, replace=False)
        for code, size in enumerate(kept)
    ]
    return np.sort(np.concatenate(parts))
