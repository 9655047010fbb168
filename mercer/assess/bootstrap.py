"""Confidence intervals by drawing the rows again, each class by itself, and tables of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, stdtrit

from mercer._array import ranges
from mercer._display import four_digits, html_table, text_table
from mercer._words import count

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
    block_values : int, default=2**20
        How many values are drawn together.
    clusters : array of shape (n,), default=None
        The group of each cell: groups are drawn whole, whatever their stratum, since rows of one
        group say nearly the same.
    """

    def __init__(
        self,
        strata: np.ndarray,
        sizes: np.ndarray,
        n_draws: int,
        seed: int,
        width: int = 1,
        block_values: int = BLOCK_VALUES,
        clusters: np.ndarray | None = None,
    ):
        self.clusters = clusters
        self.height = max(1, block_values // max(width, len(sizes)))
        self.groups = [np.flatnonzero(strata == s) for s in np.unique(strata)]
        self.sizes, self.n_draws, self.seed = sizes, n_draws, seed

    def __iter__(self) -> Iterator[np.ndarray]:
        """Yield how often each cell was drawn, shapes (b, n)."""
        rng, n = np.random.default_rng(self.seed), len(self.sizes)
        if self.clusters is not None:
            yield from self._drawn_groups(rng, self.clusters)
            return
        for block in ranges(self.n_draws, self.height):
            counts = np.empty((block.stop - block.start, n))
            for cells in self.groups:
                counts[:, cells] = _drawn(rng, self.sizes[cells], len(counts))
            yield counts

    def _drawn_groups(self, rng: np.random.Generator, clusters: np.ndarray) -> Iterator[np.ndarray]:
        names, member = np.unique(clusters, return_inverse=True)
        for block in ranges(self.n_draws, self.height):
            drawn = _drawn(rng, np.ones(len(names), np.intp), block.stop - block.start)
            yield drawn[:, member] * self.sizes

    def values(self, statistic: Callable[[np.ndarray], np.ndarray], weight: Any) -> np.ndarray:
        """Return the statistic of all samples; it takes weights of the cells, shape (b, n)."""
        if self.n_draws == 0:
            raise ValueError("n_bootstrap is 0: there are no samples to draw intervals from")
        return np.concatenate([statistic(counts * weight) for counts in self])


def _drawn(rng: np.random.Generator, sizes: np.ndarray, b: int) -> np.ndarray:
    total = int(sizes.sum())
    if total > len(sizes):  # a cell with many rows: how often is one binomial number
        return rng.multinomial(total, sizes / total, size=b)
    places = rng.integers(total, size=(b, total)) + total * np.arange(b)[:, None]
    return np.bincount(places.ravel(), minlength=b * total).reshape(b, total)


def percentiles(values: np.ndarray, level: float, clusters: np.ndarray | None = None) -> Interval:
    """Return the middle share ``level`` of the values, column by column; NaN do not count.

    Where they come from ``clusters`` that were drawn whole, more than that share, see `tail`.
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must be a number between 0 and 1; got {level!r}")
    beyond = tail(level, clusters)
    columns = values.reshape(len(values), -1)
    ends = np.full((2, columns.shape[1]), np.nan)
    known = ~np.isnan(columns).all(axis=0)
    tails = [beyond, 1.0 - beyond]
    ends[:, known] = np.nanquantile(columns[:, known], tails, axis=0) if known.any() else np.nan
    if values.ndim == 1:
        return Interval(float(ends[0, 0]), float(ends[1, 0]))
    return Interval(ends[0], ends[1])


def tail(level: float, clusters: np.ndarray | None = None) -> float:
    """Return the share of the drawn values beyond each end of an interval.

    Draws of G groups vary by (G − 1)/G of what new groups do, and how much that is, is known from
    G of them only. Hesterberg's expanded percentiles leave Φ(√(G/(G − 1)) t) beyond each end, t the
    quantile of Student's distribution with G − 1 degrees of freedom.
    """
    share = (1.0 - level) / 2
    if clusters is None:
        return share
    groups = len(np.unique(clusters))
    widened = stdtrit(groups - 1, share) * (groups / (groups - 1)) ** 0.5 if groups > 1 else -np.inf
    return float(ndtr(widened))


# ---------------------------------------------------------------- for people
class Tabulated:
    """A result that prints as a table: a child has ``rows``, ``_about`` and ``_title``."""

    _title = "evaluation"

    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield the lines of the table: a name and a text."""
        raise NotImplementedError

    def _about(self) -> str:
        raise NotImplementedError

    def __str__(self) -> str:
        return text_table(self._title, self.rows(), self._about())

    def _repr_html_(self) -> str:
        return html_table(self._title, self.rows(), self._about())


class Drawn(Tabulated):
    """An evaluation whose figures have intervals: the rows in ``_answers`` are drawn again."""

    _answers: Any

    @property
    def n_bootstrap(self) -> int:
        """How many samples intervals are drawn from."""
        return self._answers.n_bootstrap

    @property
    def groups(self) -> np.ndarray | None:
        """The group of each row, where groups are drawn whole."""
        return self._answers.clusters

    @property
    def drawn_from(self) -> str:
        """What samples are drawn from, in words."""
        if self.groups is None:
            return "these rows"
        return f"the {count(len(np.unique(self.groups)), 'group')} of these rows"

    def draws(self, name: str) -> np.ndarray:
        """Return the values of a figure in the drawn samples, shape (n_bootstrap, …)."""
        raise NotImplementedError

    def _estimate(self, name: str, with_interval: bool) -> str:
        """Return a value, with its 95 % interval where that is asked for."""
        value = getattr(self, name)
        if not with_interval or value != value:
            return number(value)
        return with_ends(value, self._ends(name, 0.95))

    def _ends(self, name: str, level: float) -> Interval:
        """Return the interval of a figure, which holds the figure.

        That need not be so of draws alone: a sample has a mean of its own, so that R² of a constant
        is below 0 in each.
        """
        low, high = percentiles(self.draws(name), level, self.groups)
        value = getattr(self, name)
        low, high = np.fmin(low, value), np.fmax(high, value)
        return Interval(low, high) if np.ndim(value) else Interval(float(low), float(high))


def number(value: Any) -> str:
    """Return a short text for a rate or a count; what is undefined says so."""
    return "0/0" if value != value else four_digits(float(value))


def with_ends(value: float, interval: Interval) -> str:
    """Return a value and its interval."""
    return f"{number(value)}  ({number(interval.low)} … {number(interval.high)})"
