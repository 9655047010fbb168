"""Units of columns, and covariances in which a column depends on the k before it, or on all.

A *full* covariance is its Cholesky factor L, Σ = LLᵀ. A *banded* one is the factorisation of the
density, p(x) = Π p(x_j | x_{j−k}, …, x_{j−1}): rows u_j with y_j = Σ_l u_jl x_{j−l} independent of
variance 1, so that the precision is UᵀU with a band U. Both whiten rows, and both are fitted to
moments whose diagonal is never 0 and whose other entries are shrunk by a factor 1 − s.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from mercer._array import ranges
from mercer._compiled import compiled
from mercer._floats import COLUMN_NOISE

LOG_2PI = float(np.log(2.0 * np.pi))
FLOOR = 1e-9  # the least variance, in the units of the columns
SINGULAR = 1e-10  # share of a variance that is left when other columns are known
REGULAR = 1e-8  # shrinkage after which they are told apart, also in spite of rounding
WINDOWS = 2**20  # numbers in windows that are solved at once
SAFE_CONDITION = 1e3  # of L: its inverse costs three digits more than L at most


# ------------------------------------------------------------------------ units of columns
class ColumnUnits(NamedTuple):
    """The centre and the unit of each column."""

    center: np.ndarray  # (d,)
    scale: np.ndarray  # (d,), positive

    @classmethod
    def of(cls, X: np.ndarray, weight: np.ndarray, *, common: bool = False) -> ColumnUnits:
        """Return mean and deviation of the columns (1 if constant), or one unit for all."""
        center = weighted_mean(X, weight)
        spread = deviations(np.subtract(X, center, dtype=np.float64), weight, np.abs(center))
        if common and spread.any():
            largest = spread.max()
            spread = np.full_like(spread, largest * np.sqrt(np.mean((spread / largest) ** 2)))
        return cls(center, np.where(spread > 0, spread, 1.0))

    def standard(self, X: np.ndarray) -> np.ndarray:
        """Return rows in these units, in float64."""
        rows = np.subtract(X, self.center, dtype=np.float64)
        rows /= self.scale
        return rows

    @property
    def log_volume(self) -> float:
        """What a log-density loses when rows go back to their own units."""
        return float(np.log(self.scale).sum())


def weighted_mean(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the mean of rows, exact for a constant column."""
    share = weight / weight.sum()
    mean = share @ np.asarray(X, dtype=np.float64)
    return mean + share @ np.subtract(X, mean, dtype=np.float64)  # a long sum rounds


def deviations(rows: np.ndarray, weight: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return the root mean square of centred columns, 0 where there is only rounding.

    ``size`` is that of what was subtracted, which tells how large rounding can be.
    """
    largest = np.abs(rows).max(axis=0)
    constant = largest <= COLUMN_NOISE * size
    unit = np.where(constant | (largest == 0.0), 1.0, largest)
    squares = (weight / weight.sum()) @ (rows / unit) ** 2
    return np.where(constant, 0.0, unit * np.sqrt(squares))


# ------------------------------------------------------------------------ covariances
class Moments(NamedTuple):
    """Second moments of centred rows: all of them (d, d), or those of lags 0 … k (d, k + 1)."""

    values: np.ndarray
    full: bool
    shrinkage: float = 0.0
    instead_of_zero: np.ndarray | float = FLOOR  # the variance of columns that have none

    @classmethod
    def of(cls, rows: np.ndarray, weight: np.ndarray, count: float, order: int) -> Moments:
        """Return Σ w x xᵀ / count, with lags up to the order."""
        d = rows.shape[1]
        if order >= d - 1:
            return cls((rows.T * weight) @ rows / count, True)
        values = np.zeros((d, order + 1))
        for lag in range(order + 1):
            values[lag:, lag] = weight @ (rows[:, lag:] * rows[:, : d - lag]) / count
        return cls(values, False)

    @classmethod
    def of_covariance(cls, S: np.ndarray, order: int) -> Moments:
        """Return those of a covariance, with lags up to the order."""
        d = len(S)
        if order >= d - 1:
            return cls(S, True)
        values = np.zeros((d, order + 1))
        for lag in range(order + 1):
            values[lag:, lag] = np.diagonal(S, -lag)
        return cls(values, False)

    def independent(self) -> Moments:
        """Return the moments of independent columns of variance 1."""
        d = len(self.values)
        values = np.zeros_like(self.values)
        values[np.arange(d), np.arange(d) if self.full else 0] = 1.0
        return self._replace(values=values)

    @property
    def variances(self) -> np.ndarray:
        """The diagonal, with another number in the place of 0."""
        own = np.diagonal(self.values) if self.full else self.values[:, 0]
        return np.where(own > FLOOR, own, self.instead_of_zero)

    def correlations(self) -> np.ndarray:
        """Return the other entries in units of the deviations, shrunk; 1 on the diagonal."""
        s = np.sqrt(self.variances)
        keep = 1.0 - self.shrinkage
        if self.full:
            R = keep * self.values / s[:, None] / s
            np.fill_diagonal(R, 1.0)
            return R
        R = keep * self.values / s[:, None] / lagged(s, self.values.shape[1] - 1)
        R[:, 0] = 1.0
        return R

    def intensity(self, rows: np.ndarray, weight: np.ndarray) -> float:
        """Return the shrinkage towards independent columns of least expected squared error.

        It is Σ Var(r) / Σ r² over the correlations r, as Ledoit and Wolf (2004) and Schäfer and
        Strimmer (2005) have it, and at least the weight of one row; never so little that columns
        still determine others.
        """
        n = float(weight.sum())
        Z = rows / np.sqrt(self.variances)
        R = self.correlations()
        if self.full:
            squares = float(np.sum(R**2)) - len(R)
            fourth = np.sum(Z**2, axis=1) ** 2 - np.sum(Z**4, axis=1)
        else:
            squares = float(np.sum(R[:, 1:] ** 2))
            fourth = sum(
                np.sum((Z[:, lag:] * Z[:, :-lag]) ** 2, axis=1) for lag in range(1, R.shape[1])
            )
        error = (float(np.sum(weight * fourth)) / n - squares) / n
        least = max(min(1.0, 1.0 / n), REGULAR)
        return float(np.clip(error / squares if squares > 0 else 1.0, least, 1.0))

    def normal_intensity(self, n: float) -> float:
        """Return the same from the moments of n rows alone: those of Gaussians, as rows are gone.

        The variance of a correlation r is then (1 − r²)²/n.
        """
        R = self.correlations()
        others = ~np.eye(len(R), dtype=bool) if self.full else np.arange(R.shape[1]) > 0
        squares = R[others] ** 2 if self.full else R[:, others] ** 2
        total = float(squares.sum())
        error = float(((1.0 - np.minimum(squares, 1.0)) ** 2).sum()) / n
        least = max(min(1.0, 1.0 / n), REGULAR)
        return float(np.clip(error / total if total > 0 else 1.0, least, 1.0))

    def factor(self) -> np.ndarray | None:
        """Return L or U, or None if columns determine others."""
        return full_factor(self) if self.full else band_factor(self)

    def misfit(self, factor: np.ndarray) -> float:
        """Return by how much the model of a factor misses these moments, in their units."""
        s = np.sqrt(self.variances)
        if self.full:
            L = factor / s[:, None]
            return float(np.abs(L @ L.T - self.correlations()).max())
        return _band_misfit(self.correlations(), factor * lagged(s, factor.shape[1] - 1))


class ClassRows(NamedTuple):
    """Rows that share a covariance, about their means and in their units."""

    rows: np.ndarray
    weight: np.ndarray
    divisor: float  # of their sum of squares
    instead_of_zero: np.ndarray  # (d,), the variance of columns that have none

    @classmethod
    def of(
        cls, rows: np.ndarray, weight: np.ndarray, divisor: float, varies: np.ndarray
    ) -> ClassRows:
        """Borrow, where rows are equal, as if one more had the variance within all classes.

        Where no class varies there is nothing to borrow.
        """
        return cls(rows, weight, divisor, np.where(varies, 1.0 / (weight.sum() + 1.0), FLOOR))

    def moments(self, order: int) -> Moments:
        """Return their moments; rows without any variance get the pooled variances."""
        moments = Moments.of(self.rows, self.weight, self.divisor, order)
        moments = moments._replace(instead_of_zero=self.instead_of_zero)
        return moments if self.rows.any() else moments.independent()

    def scatter(self, order: int) -> np.ndarray:
        """Return Σ w x xᵀ, with lags up to the order."""
        return Moments.of(self.rows, self.weight, 1.0, order).values

    def factor(self, order: int, shrinkage: Any) -> tuple[np.ndarray, float]:
        """Return the factor of their covariance and by how much it was shrunk."""
        moments = self.moments(order)
        intensity = partial(moments.intensity, self.rows, self.weight)
        return shrunk_factor(moments, shrinkage, intensity, len(self.rows))


def shrunk_factor(
    moments: Moments, shrinkage: Any, intensity: Callable[[], float], n: float
) -> tuple[np.ndarray, float]:
    """Return the factor of a covariance of n rows, and by how much it was shrunk."""
    given = 0.0 if shrinkage in ("auto", None) else float(shrinkage)
    factor = moments._replace(shrinkage=given).factor()
    if factor is None and shrinkage == "auto":
        given = intensity()
        factor = moments._replace(shrinkage=given).factor()
    if factor is None:
        raise ValueError(
            f"a covariance is singular: {n:g} rows, {len(moments.values)} columns, of which some "
            f"determine others; use shrinkage='auto' or more than {given:g}, or a smaller order"
        )
    return factor, given


def lagged(values: np.ndarray, order: int) -> np.ndarray:
    """Return values_{j−l}, shape (d, order + 1); the first where there is none before."""
    return values[np.maximum(np.arange(len(values))[:, None] - np.arange(order + 1), 0)]


def lag_products(values: np.ndarray, order: int) -> np.ndarray:
    """Return x_j x_k of all pairs if the order is d − 1, else x_j x_{j−l} of lags l up to it."""
    if order >= len(values) - 1:
        return np.multiply.outer(values, values)
    return np.where(inside(len(values), order), values[:, None] * lagged(values, order), 0.0)


def inside(d: int, order: int) -> np.ndarray:
    """Return where j − l ≥ 0, shape (d, order + 1)."""
    return np.arange(d)[:, None] >= np.arange(order + 1)


def full_factor(moments: Moments) -> np.ndarray | None:
    """Return the Cholesky factor L of the covariance."""
    try:
        L = cholesky(moments.correlations(), lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    if np.diagonal(L).min() ** 2 < SINGULAR:
        return None
    return L * np.sqrt(moments.variances)[:, None]


def band_factor(moments: Moments) -> np.ndarray | None:
    """Return U: the last row of the inverse Cholesky factor of each window of k + 1 columns."""
    R = moments.correlations()
    d, size = R.shape
    U = np.empty((d, size))
    last = np.zeros((size, 1))
    last[-1] = 1.0
    for part in _parts(d, size):
        try:
            L = np.linalg.cholesky(_windows(R, part))
        except np.linalg.LinAlgError:
            return None
        U[part] = np.linalg.solve(L.transpose(0, 2, 1), last)[:, ::-1, 0]
    if (U[:, 0] ** -2.0).min() < SINGULAR:
        return None
    U[~inside(d, size - 1)] = 0.0
    return U / lagged(np.sqrt(moments.variances), size - 1)


def _band_misfit(R: np.ndarray, U: np.ndarray) -> float:
    """Return how far windows of correlations miss R u = e/u₀, what remains in units of y."""
    worst = 0.0
    for part in _parts(*R.shape):
        own = U[part, :1]  # 1/own is the deviation that is left when the columns before are known
        left = np.matmul(_windows(R, part), (U[part, ::-1] / own)[:, :, None])[:, :, 0]
        left[:, -1] -= (1.0 / own[:, 0]) ** 2
        worst = max(worst, float(np.abs(left).max()))
    return worst


def _parts(d: int, size: int) -> list[slice]:
    return ranges(d, max(1, WINDOWS // size**2))


def _windows(R: np.ndarray, part: slice) -> np.ndarray:
    """Return the correlations of columns j − k … j; those before the first are independent."""
    size = R.shape[1]
    back = np.arange(size)[::-1]  # lags of the rows of a window
    near, lag = np.minimum.outer(back, back), np.abs(np.subtract.outer(back, back))
    far = np.maximum.outer(back, back)
    j = np.arange(part.start, part.stop)[:, None, None]
    values = R[np.maximum(j - near, 0), lag]
    return np.where(j - far >= 0, values, np.eye(size))


# ------------------------------------------------------------------------ use of a factor
def is_full(factor: np.ndarray) -> bool:
    """Whether a factor is L and not a band."""
    return factor.shape[0] == factor.shape[1]


def whiten(rows: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """Return y of centred rows: independent, of variance 1. The rows are written over."""
    if is_full(factor):
        return _whitened_by(factor, rows)
    Y = rows * factor[:, 0]
    d = len(factor)
    for lag in range(1, factor.shape[1]):
        Y[:, lag:] += rows[:, : d - lag] * factor[lag:, lag]
    return Y


def _whitened_by(factor: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return rows L⁻ᵀ: by a product, many times quicker, where the inverse is as good as L."""
    if len(rows) > len(factor):
        inverse = solve_triangular(factor, np.eye(len(factor)), lower=True, check_finite=False)
        if np.abs(factor).sum(axis=1).max() * np.abs(inverse).sum(axis=1).max() <= SAFE_CONDITION:
            return rows @ inverse.T
    return solve_triangular(factor, rows.T, lower=True, overwrite_b=True, check_finite=False).T


def log_volume(factor: np.ndarray) -> float:
    """Return log of the density of y over that of x: −½ log det Σ."""
    if is_full(factor):
        return -float(np.log(np.diagonal(factor)).sum())
    return float(np.log(factor[:, 0]).sum())


def covariance_of(factor: np.ndarray) -> np.ndarray:
    """Return Σ, shape (d, d)."""
    if is_full(factor):
        return factor @ factor.T
    d = len(factor)
    U = np.zeros((d, d))
    for lag in range(factor.shape[1]):
        U[np.arange(lag, d), np.arange(d - lag)] = factor[lag:, lag]
    half = solve_triangular(U, np.eye(d), lower=True)
    return half @ half.T


@compiled(fastmath={"reassoc", "contract"})
def squares_of_bands(X, means, scale, bands, out):
    """Write Σ_j y_j² to out (n, C), y_j = Σ_l u_jl z_{j−l} with z = (x − μ_c) / scale.

    ``bands`` (C, d, k + 1) holds u of each class, 0 where there is no column j − l.
    """
    d, size = bands.shape[1:]
    z, y = np.zeros(d), np.empty(d)
    for i in range(X.shape[0]):
        for c in range(len(means)):
            for j in range(d):
                z[j] = (X[i, j] - means[c, j]) / scale[j]
                y[j] = bands[c, j, 0] * z[j]
            for lag in range(1, size):
                for j in range(lag, d):
                    y[j] += bands[c, j, lag] * z[j - lag]
            total = 0.0
            for j in range(d):
                total += y[j] * y[j]
            out[i, c] = total
