"""Slices of a response: classes, or ranges of a number that hold about as many rows each."""

from __future__ import annotations

import numpy as np


def slice_codes(y: np.ndarray, n_slices: int) -> np.ndarray:
    """Return the slice of each row, 0, 1, …; rows with the same y are in the same slice.

    Labels, and numbers with at most n_slices different values, are slices by themselves; other
    numbers are cut at their quantiles, so that slices may be fewer where values repeat.
    """
    values, codes = np.unique(y, return_inverse=True)
    if len(values) < 2:
        raise ValueError(f"y must take at least two different values; got only {values[0]!r}")
    if len(values) <= n_slices or y.dtype.kind not in "iuf":
        return codes
    rows = np.bincount(codes)
    middle = np.cumsum(rows) - 0.5 * rows  # of each value, in the order of the rows
    coarse = np.floor(n_slices * middle / len(y)).astype(np.intp)
    return np.unique(coarse, return_inverse=True)[1][codes]


def slice_means(rows: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of rows and the mean row of each slice, shapes (S,) and (S, d)."""
    sizes = np.bincount(codes)
    order = np.argsort(codes, kind="stable")
    sums = np.add.reduceat(rows[order], np.cumsum(sizes) - sizes, axis=0)
    return sizes, sums / sizes[:, None]
