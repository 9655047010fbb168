"""Kernels of a distance between rows, plain or under a metric."""

from __future__ import annotations

from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from mercer._array import allocate, largest_size
from mercer._floats import require_squares
from mercer._sklearn import Interval, StrOptions
from mercer.kernels._loops import scaled_exp, scaled_exp_double
from mercer.kernels.base import PSD
from mercer.kernels.direct import Differences
from mercer.kernels.metric import RowMap, check_metric
from mercer.kernels.sample import Pair, Sample
from mercer.kernels.vector import VectorKernel, require_counting_squares
from mercer.kernels.widths import median_distance, widths

POSITIVE = Interval(Real, 0, None, closed="neither")
UP_TO_TWO = Interval(Real, 0, 2, closed="right")


class Radial(VectorKernel):
    """A function of γ · distance, with γ given or taken from the data, and a metric.

    A child names its ``statistic`` and ``p``, the exponent of the differences that it sums, and
    what γ multiplies (`_unit_of_gamma`).
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "gamma": [POSITIVE, StrOptions({"scale", "auto"})],
        "metric": ["array-like", None],
    }
    p: float
    gamma_power = 1  # of the distance that γ multiplies
    metric: Any = None  # of models that were saved before there were metrics

    def __init__(self, gamma: float | str = "scale", *, metric: Any = None):
        self.gamma = gamma
        self.metric = metric

    @property
    def definiteness(self) -> str:
        return PSD

    @property
    def is_plain(self) -> bool:
        """Whether this is the kernel that its name says: no metric, no other exponent."""
        return self.metric is None

    @property
    def shares(self) -> str:
        return "none" if self.metric is not None else self.statistic

    # ------------------------------------------------------------ the metric
    @cached_property
    def _map(self) -> RowMap | None:
        """What makes a plain distance of the metric."""
        return None if self.metric is None else RowMap.of(np.asarray(self.metric), self.p)

    def set_params(self, **params: Any) -> Self:
        self.__dict__.pop("_map", None)
        return super().set_params(**params)

    def mapped(self, X: Sample, Y: Sample) -> tuple[Sample, Sample]:
        """Return the rows of both in which the metric is a plain distance."""
        if self._map is None:
            return X, Y
        how = self._map.around(Y)
        return X.derive(*how), Y.derive(*how)

    def mapped_pair(self, pair: Pair) -> Pair:
        return pair if self._map is None else pair.derive(*self._map.around(pair.Y))

    @property
    def _unit(self) -> float:
        return 1.0 if self._map is None else self._map.unit

    def _fill(self, pair: Pair, out: np.ndarray) -> None:
        super()._fill(self.mapped_pair(pair), out)

    # ------------------------------------------------------------ γ from the data
    def _bound_values(self, X: Sample, weights: np.ndarray | None) -> dict[str, Any]:
        bound: dict[str, Any] = {}
        if self.metric is not None:
            bound["metric"] = check_metric(self.metric, X.data.shape[1])
        if not isinstance(self.gamma, str):
            if self.p == 2.0:  # of squares
                require_counting_squares(X, float(self.gamma), self.gamma_power)
            return bound | {"gamma": float(self.gamma)}
        if self.gamma == "auto":
            return bound | {"gamma": 1.0 / X.data.shape[1]}
        under = type(self)(**{**self.get_params(deep=False), **bound})
        rows = X if under._map is None else Sample(under._map.rows(X.data))
        variance = entry_variance(rows.data, weights)
        require_squares(float(rows.summary("largest", largest_size)))
        size = rows.data.shape[1] ** (1.0 / self.p) * np.sqrt(variance)
        return bound | {"gamma": 1.0 / under._reach(size) if variance > 0 else 1.0}

    def _reach(self, distance: Any) -> Any:
        """Return what γ multiplies, from plain distances of mapped rows."""
        return (self._unit ** (1.0 / self.p) * distance) ** self.gamma_power

    def grid(self, X: Sample) -> dict[str, tuple[Any, ...]]:
        return {"gamma": widths(median_distance(self.distances(X)))}

    def distances(self, X: Sample) -> np.ndarray:
        """Return what γ multiplies, for all pairs of rows of a sample, shape (n, n)."""
        values = allocate((len(X), len(X)), np.float64)
        pair = Pair(*self.mapped(X, X), self._uses(), np.dtype(np.float64))
        VectorKernel._fill_statistic(self, pair, values)
        return self._reach(values ** (1.0 / self.p))


class PowerExponential(Radial):
    """exp(−rate · statisticᵉ), which all but the Matérn kernels are."""

    @property
    def _power(self) -> float:
        """e, the power of the statistic."""
        return 1.0

    @property
    def _rate(self) -> float:
        return float(self.gamma) * self._unit

    def epilogue(self, values: np.ndarray) -> None:
        raise_to(values, self._power)
        negative_exp(values, self._rate)

    def differences(
        self, X: Sample, Y: Sample, dtype: np.dtype, **most_columns: int
    ) -> Differences | None:
        X, Y = self.mapped(X, Y)
        p, power, rate = float(self.p), self._power, self._rate
        return Differences.of(X, Y, dtype, p, power, rate, **most_columns)

    def slope(self, values: np.ndarray) -> None:
        e, rate = self._power, self._rate
        if e == 1.0:
            negative_exp(values, rate)
            values *= -rate
            return
        statistic = values.copy()
        raise_to(values, e)
        raised = values.copy()
        negative_exp(values, rate)
        values *= raised
        values *= -rate * e
        # the direction vanishes where the distance does: no slope is the mean of all of them
        np.divide(values, statistic, out=values, where=statistic > 0)
        values[statistic == 0] = 0.0


def raise_to(values: np.ndarray, power: float) -> None:
    """Raise values ≥ 0 to a power in place; quarters by square roots, far faster."""
    quarters = power * 4.0
    if power == 1.0:
        return
    if quarters not in (1.0, 2.0, 3.0):
        np.power(values, power, out=values)
        return
    np.sqrt(values, out=values)
    if quarters == 1.0:
        np.sqrt(values, out=values)
    elif quarters == 3.0:
        values *= np.sqrt(values)


EXPONENTIALS = {np.dtype(np.float32): scaled_exp, np.dtype(np.float64): scaled_exp_double}


def finite_rate(rate: float, dtype: np.dtype) -> float:
    """Return a rate within the range of a precision: 0 · inf would make NaN of equal points."""
    return min(rate, float(np.finfo(dtype).max))


def negative_exp(values: np.ndarray, rate: float) -> None:
    """Replace values ≥ 0 by exp(−rate · value), in place."""
    scale = -finite_rate(rate, values.dtype)
    if values.flags.c_contiguous and values.dtype in EXPONENTIALS:
        EXPONENTIALS[values.dtype](values.reshape(-1), values.dtype.type(scale))
        return
    with np.errstate(over="ignore"):  # exp(−inf) = 0 is right
        values *= scale
    np.exp(values, out=values)


def entry_variance(data: Any, weights: np.ndarray | None) -> float:
    """Return the (weighted) variance of all entries, in float64 and stable for large offsets."""
    if weights is None:
        weights = np.ones(data.shape[0])
    total = weights.sum() * data.shape[1]
    mean = float(weights @ _row_sums(data)) / total
    if not sp.issparse(data):
        return (
            float(weights @ np.square(np.subtract(data, mean, dtype=np.float64)).sum(axis=1))
            / total
        )
    squares = data.astype(np.float64)
    squares.data = np.square(squares.data - mean) - mean**2  # an empty cell adds mean²
    return float(weights @ _row_sums(squares)) / total + mean**2


def _row_sums(data: Any) -> np.ndarray:
    return np.asarray(data.sum(axis=1, dtype=np.float64)).ravel()


class RBF(PowerExponential):
    """Gaussian kernel k(x, y) = exp(−γ‖x − y‖²), γ = 1/(2σ²).

    Parameters
    ----------
    gamma : float, "scale" or "auto", default="scale"
        γ > 0. "scale" is 1/(d · var(X)) and "auto" is 1/d for d columns; both are made concrete by
        ``bind``.
    metric : array of shape (d,) or (d, d), default=None
        Weights w ≥ 0 of the columns, or a positive semidefinite matrix P: ‖x − y‖² is then
        Σ wⱼ(xⱼ − yⱼ)² or (x − y)ᵀP(x − y), and "scale" looks at the rows under it.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> RBF(gamma=0.5)([[0.0], [1.0]]).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    >>> RBF(gamma=0.5, metric=[1.0, 0.0])([[0.0, 5.0], [1.0, 7.0]]).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """

    statistic = "squared_distance"
    p = 2.0
    gamma_power = 2

    @classmethod
    def from_sigma(cls, sigma: Any) -> RBF:
        """Return the Gaussian kernel exp(−‖x − y‖² / (2σ²))."""
        width = float(sigma) if isinstance(sigma, Real) else 0.0
        gamma = 0.5 / width / width if width > 0 else 0.0
        if not 0.0 < gamma < np.inf:
            raise ValueError(f"sigma must be a number > 0 with a finite 1/(2σ²); got {sigma!r}")
        return cls(gamma=gamma)


class _OfDistance(PowerExponential):
    """exp(−(γ · distance)^q)."""

    exponent: Any = 1.0

    @property
    def is_plain(self) -> bool:
        return self.metric is None and self.exponent == 1.0

    @property
    def _power(self) -> float:
        return float(self.exponent) / float(self.p)

    @property
    def _rate(self) -> float:
        with np.errstate(over="ignore"):  # inf is cut to the precision's range
            size = np.float64(self.gamma) * np.float64(self._unit) ** (1.0 / self.p)
            return float(size**self.exponent)


class Exponential(_OfDistance):
    """Exponential kernel k(x, y) = exp(−(γ‖x − y‖)^q), by itself with q = 1 and the Euclidean norm.

    Parameters
    ----------
    gamma : float, "scale" or "auto", default="scale"
        γ > 0. "scale" is 1/√(d · var(X)) and "auto" is 1/d for d columns.
    metric : array of shape (d,) or (d, d), default=None
        Weights w ≥ 0 of the columns, Σ wⱼ|xⱼ − yⱼ|ᵖ, or (with p = 2) a positive semidefinite
        matrix P, (x − y)ᵀP(x − y).
    exponent : float, default=1.0
        q in (0, p]: beyond p the function is not positive semidefinite.
    p : float, default=2.0
        p in (0, 2] of the norm (Σ|xⱼ − yⱼ|ᵖ)^(1/p); below 1 that is no norm, but the kernel is one.

    Examples
    --------
    >>> from mercer.kernels import Exponential
    >>> Exponential(gamma=1.0, exponent=0.5)([[0.0, 0.0]], [[3.0, 4.0]]).round(4)
    array([[0.1069]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Radial._parameter_constraints,
        "exponent": [UP_TO_TWO],
        "p": [UP_TO_TWO],
    }
    p = 2.0  # of models that were saved before there was a choice

    def __init__(
        self,
        gamma: float | str = "scale",
        *,
        metric: Any = None,
        exponent: float = 1.0,
        p: float = 2.0,
    ):
        self.gamma = gamma
        self.metric = metric
        self.exponent = exponent
        self.p = p

    def check(self) -> None:
        super().check()
        if self.exponent > self.p:
            raise ValueError(
                f"exponent must not exceed p, or the kernel is not positive semidefinite; got "
                f"exponent={self.exponent} and p={self.p}"
            )
        if self.p != 2 and self.metric is not None and np.ndim(self.metric) == 2:
            raise ValueError(f"a matrix as metric needs p=2; got p={self.p}: give weights")

    @property
    def statistic(self) -> str:  # type: ignore[override]
        return {2.0: "squared_distance", 1.0: "l1"}.get(float(self.p), "lp")

    @property
    def is_plain(self) -> bool:
        return super().is_plain and self.p == 2


class Laplacian(_OfDistance):
    """Laplacian kernel k(x, y) = exp(−γ‖x − y‖₁), with the sum of absolute differences.

    Parameters
    ----------
    gamma : float, "scale" or "auto", default="scale"
        γ > 0. "scale" is 1/(d · std(X)) and "auto" is 1/d for d columns.
    metric : array of shape (d,), default=None
        Weights w ≥ 0 of the columns, Σ wⱼ|xⱼ − yⱼ|.
    exponent : float, default=1.0
        q in (0, 1] of exp(−(γ‖x − y‖₁)^q).
    """

    statistic = "l1"
    p = 1.0
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Radial._parameter_constraints,
        "exponent": [Interval(Real, 0, 1, closed="right")],
    }

    def __init__(self, gamma: float | str = "scale", *, metric: Any = None, exponent: float = 1.0):
        self.gamma = gamma
        self.metric = metric
        self.exponent = exponent

    def check(self) -> None:
        super().check()
        if self.metric is not None and np.ndim(self.metric) == 2:
            raise ValueError(
                "the metric of a Laplacian kernel must be weights of the columns; got a matrix"
            )
