"""Rows as a metric sees them: columns in units of their spread, levels of a category in one."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from mercer.gram import gram
from mercer.kernels.radial import Radial
from mercer.kernels.sample import Sample
from mercer.solvers.ridge_loo import LooSolution, solve_ridge_loo

FEWEST = 16  # rows: with fewer nothing is learned
CONSTANT = 1e-12  # of the largest entry: a column that varies less is constant


class TargetRows(NamedTuple):
    """Some rows with their targets and weights."""

    rows: Sample
    Y: np.ndarray
    weight: np.ndarray
    category: np.ndarray
    """The number of each column's category, from 0 on; a number has one of its own."""

    def take(self, index: np.ndarray) -> TargetRows:
        return self._replace(
            rows=Sample(self.rows.data[index]), Y=self.Y[index], weight=self.weight[index]
        )


def category_of(X: np.ndarray) -> np.ndarray:
    """Return the number of each column's category, from 0 on.

    Levels of one category are neighbours of which each row has exactly one; the other entries of
    the row are 0.
    """
    largest = X.max(axis=0, initial=0.0)
    on = largest * (largest == X)
    two_valued = (on == X).all(axis=0)  # 0, and one value above
    ends = np.r_[0, np.cumsum(np.count_nonzero(on, axis=0))]
    first, place = np.arange(X.shape[1]), 0
    while place < X.shape[1]:
        end = int(np.searchsorted(ends, ends[place] + len(X)))
        levels = slice(place, end)
        if end < len(ends) and two_valued[levels].all() and _is_one_each(on[:, levels]):
            first[levels] = place
            place = end
        else:
            place += 1
    return np.unique(first, return_inverse=True)[1]


def _is_one_each(on: np.ndarray) -> bool:
    """Tell whether each row has one entry, all of the same size."""
    sums = on.sum(axis=1)
    return bool((np.count_nonzero(on, axis=1) == 1).all() and (sums == sums[0]).all())


class StandardColumns(NamedTuple):
    """Rows around their mean in units that make columns comparable.

    A number has the variance 1; so have the levels of one category together, on one scale: a rare
    level is as far from the others as a frequent one.
    """

    rows: np.ndarray
    scale: np.ndarray
    """What each column was multiplied by; 0 of a constant one."""

    own: np.ndarray
    """1/std of each column by itself; 0 of a constant one."""

    category: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, weight: np.ndarray) -> Self:
        share = weight / weight.sum()
        largest = np.abs(X).max(axis=0).astype(np.float64)
        unit = np.where(largest > 0, largest, 1.0)  # squares of very large or small columns fit
        category = category_of(X)
        X = X / unit
        X = X - share @ X
        variance = share @ X**2
        together = np.bincount(category, variance)[category]
        scale, own = (_inverse(np.sqrt(sizes)) for sizes in (together, variance))
        return cls(X * scale, scale / unit, own / unit, category)


def _inverse(spread: np.ndarray) -> np.ndarray:
    return np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > CONSTANT)


def on_given_columns(kernel: Radial, scale: np.ndarray) -> Radial:
    """Return a kernel of rows in these units as one of the rows as they were given."""
    metric = np.ones(len(scale)) if kernel.metric is None else kernel.metric
    if metric.ndim == 1:
        metric = metric * scale**kernel.p
    else:
        metric = scale[:, None] * metric * scale
    if not metric.any():  # every column is constant: no distance can be seen
        metric = np.ones(len(scale))
    return type(kernel)(**kernel.get_params(deep=False) | {"metric": metric})


def rows_within(memory: float) -> int:
    """Return how many rows `fit_loo` can take, with four matrices of all pairs and some room."""
    return max(int((memory / (5 * 8)) ** 0.5), FEWEST)


def fit_loo(
    kernel: Radial,
    part: TargetRows,
    lams: np.ndarray | None = None,
    memory: int | None = None,
    near: float | None = None,
) -> LooSolution:
    """Fit ridge regression with the λ of the smallest leave-one-out error, sought near one."""
    K = gram(kernel, part.rows, purpose="direct", memory=memory)
    return solve_ridge_loo(K, part.Y, part.weight, lams, memory=memory, near=near)


class Step(NamedTuple):
    """A metric (None: plain), the λ of the fit with it, and that fit's errors on rows held out."""

    metric: np.ndarray | None
    lam: float
    errors: np.ndarray


class Start(NamedTuple):
    """A plain kernel, how it did, and its fit, which teaches the first metric."""

    kernel: Radial
    step: Step
    found: LooSolution


class MetricFold(NamedTuple):
    """Rows to learn from, and rows to judge by."""

    learn: TargetRows
    judge: TargetRows

    def step(
        self, kernel: Radial, metric: np.ndarray | None, near: float | None = None
    ) -> tuple[Step, LooSolution]:
        """Fit with a kernel, λ about ``near``, and see how it does on the rows held out."""
        found = fit_loo(kernel, self.learn, near=near)
        K = gram(kernel, self.judge.rows, self.learn.rows, storage="blocked")
        gaps = self.judge.Y - K @ found.value - found.intercept
        errors = (gaps**2).mean(axis=1) * self.judge.weight
        return Step(metric, found.errors.best, errors), found
