"""Confidence intervals by drawing the rows again, each class by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from mercer._array import ranges

BLOCK_VALUES = 2**20  # counts that are drawn together


class Interval(NamedTuple):
    """The ends of a confidence interval: numbers, or arrays with one entry for each class."""

    low: Any
    high: Any


class Resampling:
    """Rows drawn with replacement, as many from each stratum as it holds.

    Parameters
    ----------
    strata : array of shape (n,)
        The stratum of each cell, as integers.
    sizes : array of shape (n,)
        How many equal rows a cell stands for.
    n_draws, seed : int
        How many samples are drawn, and what decides them.
    width : int, default=1
        How many values the statistic takes for one sample, if that is more than its cells.
    """

    def __init__(
        self, strata: np.ndarray, sizes: np.ndarray, n_draws: int, seed: int, width: int = 1
    ):
        self.height = max(1, BLOCK_VALUES // max(width, len(sizes)))
        self.groups = [np.flatnonzero(strata == s) for s in np.unique(strata)]
        self.sizes, self.n_draws, self.seed = sizes, n_draws, seed

    def __iter__(self) -> Iterator[np.ndarray]:
        """Yield how often each cell was drawn, shapes (b, n)."""
        rng, n = np.random.default_rng(self.seed), len(self.sizes)
        for block in ranges(self.n_draws, self.height):
            counts = np.empty((block.stop - block.start, n))
            for cells in self.groups:
                counts[:, cells] = _drawn(rng, self.sizes[cells], len(counts))
            yield counts

    def values(self, statistic: Callable[[np.ndarray], np.ndarray], weight: Any) -> np.ndarray:
        """Return the statistic of all samples; it takes weights of the cells, shape (b, n)."""
        return np.concatenate([statistic(counts * weight) for counts in self])


def _drawn(rng: np.random.Generator, sizes: np.ndarray, b: int) -> np.ndarray:
    total = int(sizes.sum())
    if total > len(sizes):  # a cell with many rows: how often is one binomial number
        return rng.multinomial(total, sizes / total, size=b)
    places = rng.integers(total, size=(b, total)) + total * np.arange(b)[:, None]
    return np.bincount(places.ravel(), minlength=b * total).reshape(b, total)


def percentiles(values: np.ndarray, level: float) -> Interval:
    """Return the middle share ``level`` of the values, column by column; NaN do not count."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must be a number between 0 and 1; got {level!r}")
    columns = values.reshape(len(values), -1)
    ends = np.full((2, columns.shape[1]), np.nan)
    known = ~np.isnan(columns).all(axis=0)
    tails = [(1.0 - level) / 2, (1.0 + level) / 2]
    ends[:, known] = np.nanquantile(columns[:, known], tails, axis=0) if known.any() else np.nan
    if values.ndim == 1:
        return Interval(float(ends[0, 0]), float(ends[1, 0]))
    return Interval(ends[0], ends[1])
