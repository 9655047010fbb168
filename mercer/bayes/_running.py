"""Counts, means and scatters of classes that grow with every part of the rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer._floats import COLUMN_NOISE
from mercer.bayes._moments import FLOOR, Moments, lag_products, weighted_mean


class RunningMoments(NamedTuple):
    """What is kept of all rows seen: enough for their Gaussians, whatever the parts were.

    A scatter is Σ w (x − μ)(x − μ)ᵀ about the mean of a class: all entries (d, d), or those of lags
    0 … k (d, k + 1); classes that share a covariance share the sum of theirs.
    """

    counts: np.ndarray  # (C,), weights
    means: np.ndarray  # (C, d)
    scatters: np.ndarray  # (C or 1, d, d or k + 1)

    @classmethod
    def of(
        cls,
        X: np.ndarray,
        codes: np.ndarray,
        weight: np.ndarray,
        count: int,
        order: int,
        tied: bool,
    ) -> RunningMoments:
        """Return those of one part; classes without a row have zeros."""
        counts, means, scatters = np.zeros(count), np.zeros((count, X.shape[1])), []
        for c in range(count):
            here = (codes == c) & (weight > 0)
            rows, w = np.asarray(X[here], dtype=np.float64), weight[here]
            counts[c] = w.sum()
            if len(rows):
                means[c] = weighted_mean(rows, w)
            rows = rows - means[c]
            rows[np.abs(rows) <= COLUMN_NOISE * np.abs(means[c])] = 0.0  # equal rows have no spread
            scatters.append(Moments.of(rows, w, 1.0, order).values)
        return cls(counts, means, _shared(np.array(scatters), tied))

    def merged(self, other: RunningMoments) -> RunningMoments:
        """Return those of both parts together."""
        if self.scatters.shape != other.scatters.shape:
            raise ValueError(
                "order and tied must stay what they were at the first call to partial_fit: other "
                "sums were kept of the rows before"
            )
        counts = self.counts + other.counts
        share = np.divide(other.counts, counts, out=np.zeros(len(counts)), where=counts > 0)
        apart, order = other.means - self.means, self.scatters.shape[2] - 1
        between = np.array([lag_products(row, order) for row in apart])
        between *= (self.counts * share)[:, None, None]
        scatters = self.scatters + other.scatters + _shared(between, len(self.scatters) == 1)
        return RunningMoments(counts, self.means + share[:, None] * apart, scatters)

    def unit(self) -> np.ndarray:
        """Return the deviation of each column within classes; of one without any, that of all."""
        total = float(self.counts.sum())
        diagonal = self._diagonals().sum(axis=0)
        size = np.abs(self.means).max(axis=0)
        within = np.where(diagonal > total * (COLUMN_NOISE * size) ** 2, diagonal, 0.0) / total
        center = self.counts @ self.means / total
        between = self.counts @ (self.means - center) ** 2 / total
        unit = np.sqrt(np.where(within > 0, within, between))
        return np.where(unit > 0, unit, 1.0)

    def moments(self, unit: np.ndarray, ddof: int) -> list[Moments]:
        """Return the moments of each covariance in these units, as `ClassRows` has them."""
        tied, varies = len(self.scatters) == 1, self._diagonals().any(axis=0)
        seen = self.counts > 0
        sizes = np.array([self.counts.sum()]) if tied else self.counts
        free = sizes - ddof * (seen.sum() if tied else seen)
        if (free[sizes > 0] <= 0).any():
            raise ValueError(
                f"ddof=1 needs more than one row of each class; got {self.counts[seen].min():g} "
                f"(weights count how often a row is there): use ddof=0"
            )
        units = lag_products(unit, self.scatters.shape[2] - 1)
        units[units == 0] = 1.0  # where there is no column so many before
        found = []
        for scatter, n, divisor in zip(self.scatters, sizes, free, strict=True):
            full = scatter.shape[0] == scatter.shape[1]
            instead = np.where(varies, 1.0 / (n + 1.0), FLOOR)
            values = scatter / units / (divisor if divisor > 0 else 1.0)  # of no rows: zeros
            moments = Moments(values, full, instead_of_zero=instead)
            found.append(moments if scatter.any() else moments.independent())
        return found

    def _diagonals(self) -> np.ndarray:
        if self.scatters.shape[1] == self.scatters.shape[2]:
            return np.array([np.diagonal(scatter) for scatter in self.scatters])
        return self.scatters[:, :, 0]


def _shared(scatters: np.ndarray, tied: bool) -> np.ndarray:
    return scatters.sum(axis=0, keepdims=True) if tied else scatters
