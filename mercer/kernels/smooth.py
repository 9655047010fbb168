"""Kernels of smooth functions: rational, periodic, splines, Sobolev spaces, wavelets, ANOVA."""

from __future__ import annotations

from math import comb, pi
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer._floats import DOUBLE
from mercer._sklearn import Interval, Options, StrOptions
from mercer.kernels import _smooth_loops as loops
from mercer.kernels.base import PSD, Kernel
from mercer.kernels.radial import POSITIVE, Radial, entry_variance, finite_rate, negative_exp
from mercer.kernels.sample import Pair, Sample, dense
from mercer.kernels.vector import VectorKernel, require_same_columns
from mercer.kernels.widths import widths


class RationalQuadratic(Radial):
    """Rational quadratic kernel k(x, y) = (1 + γ‖x − y‖²/α)^(−α), a mixture of Gaussian widths.

    It tends to `RBF` as α grows, and falls more slowly for small α.

    Parameters
    ----------
    alpha : float, default=1.0
        α > 0.
    gamma : float, "scale" or "auto", default="scale"
        γ > 0, as for `RBF`.
    metric : array of shape (d,) or (d, d), default=None
        As for `RBF`.

    Examples
    --------
    >>> from mercer.kernels import RationalQuadratic
    >>> RationalQuadratic(alpha=2.0, gamma=1.0)([[0.0]], [[2.0]]).round(4)
    array([[0.1111]])
    """

    statistic = "squared_distance"
    p = 2.0
    gamma_power = 2
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Radial._parameter_constraints,
        "alpha": [POSITIVE],
    }

    def __init__(self, alpha: float = 1.0, gamma: float | str = "scale", *, metric: Any = None):
        self.alpha = alpha
        self.gamma = gamma
        self.metric = metric

    def epilogue(self, values: np.ndarray) -> None:
        self._to_log(values)
        negative_exp(values, float(self.alpha))

    def _to_log(self, values: np.ndarray) -> None:
        """Replace squared distances s by log(1 + γs/α), which is exact for large α too."""
        rate = float(self.gamma) * self._unit / float(self.alpha)
        with np.errstate(over="ignore"):
            values *= values.dtype.type(finite_rate(rate, values.dtype))
        np.minimum(values, np.finfo(values.dtype).max, out=values)
        np.log1p(values, out=values)

    def slope(self, values: np.ndarray) -> None:
        self._to_log(values)
        negative_exp(values, float(self.alpha) + 1.0)
        values *= -float(self.gamma) * self._unit


class Periodic(VectorKernel):
    """Periodic kernel k(x, y) = exp(−γ Σⱼ sin²(π(xⱼ − yⱼ)/p)).

    It is a Gaussian kernel on circles: each column goes around one of them in a period p. (With
    sin² of ‖x − y‖ in place of the sum it would be no kernel for more than one column.)

    Parameters
    ----------
    period : float or array of shape (d,), default=1.0
        p > 0, for all columns or for each.
    gamma : float, default=1.0
        γ > 0; 2/ℓ² of a length scale ℓ.

    Examples
    --------
    >>> from mercer.kernels import Periodic
    >>> Periodic(period=24.0)([[1.0]], [[25.0], [13.0]]).round(4)
    array([[1.    , 0.3679]])
    """

    statistic = "squared_distance"
    shares = "none"  # of the rows as they are it needs nothing
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "period": [POSITIVE, "array-like"],
        "gamma": [POSITIVE],
    }

    def __init__(self, period: Any = 1.0, gamma: float = 1.0):
        self.period = period
        self.gamma = gamma

    @property
    def definiteness(self) -> str:
        return PSD

    def _bound_values(self, X: Sample, weights: np.ndarray | None) -> dict[str, Any]:
        if isinstance(self.period, Real):
            return {}
        periods = np.array(self.period)
        columns = X.data.shape[1]
        numbers = periods.dtype.kind in "iuf" and periods.shape == (columns,)
        if not (numbers and np.isfinite(periods).all() and (periods > 0).all()):
            raise ValueError(
                f"period must be a number > 0, or {columns} of them, one for each column; got "
                f"{self.period!r}"
            )
        return {"period": periods.astype(np.float64)}

    def grid(self, X: Sample) -> dict[str, tuple[Any, ...]]:
        return {"gamma": widths(1.0)}  # sin² is at most 1

    def _on_circles(self, data: Any) -> np.ndarray:
        """Return (cos, sin) of the angle of each cell, at half the radius: sin² is a distance²."""
        angles = 2.0 * pi * np.remainder(dense(data) / np.asarray(self.period), 1.0)
        return np.hstack([np.cos(angles), np.sin(angles)]) / 2.0

    def _fill(self, pair: Pair, out: np.ndarray) -> None:
        period = np.asarray(self.period, dtype=np.float64).tobytes()
        super()._fill(pair.derive(("circles", period), self._on_circles), out)

    def epilogue(self, values: np.ndarray) -> None:
        negative_exp(values, float(self.gamma))


class ColumnKernel(Kernel):
    """A kernel that is computed column by column, by compiled loops over dense rows."""

    domain = "vectors"
    releases_gil = True

    @property
    def definiteness(self) -> str:
        return PSD

    def check_pair(self, X: Sample, Y: Sample) -> None:
        require_same_columns(X, Y)

    def _fill(self, pair: Pair, out: np.ndarray) -> None:
        # differences are taken in double precision: the loops read a cell once for many values
        X, Y = (np.ascontiguousarray(dense(s.rows(DOUBLE))) for s in (pair.X, pair.Y))
        self._loop(X, np.ascontiguousarray(Y.T), out)

    def _loop(self, X: np.ndarray, YT: np.ndarray, out: np.ndarray) -> None:
        raise NotImplementedError

    def _diagonal(self, X: Sample) -> np.ndarray:
        rows = np.ascontiguousarray(dense(X.rows(DOUBLE)))
        out = np.empty((1, 1))
        found = np.empty(len(rows))
        for i, row in enumerate(rows):
            self._loop(row[None, :], row[:, None].copy(), out)
            found[i] = out[0, 0]
        return found


class Anova(ColumnKernel):
    """ANOVA kernel: Gaussian kernels of single columns, multiplied over all sets of n columns.

    k(x, y) = Σ over j₁ < … < jₙ of Π exp(−γ(xⱼ − yⱼ)²): functions that are sums of functions of n
    columns each.

    Parameters
    ----------
    degree : int, default=2
        n ≥ 1, the number of columns that interact; at most the number of columns.
    gamma : float or "scale", default="scale"
        γ > 0. "scale" is 1/var(X).

    Examples
    --------
    >>> from mercer.kernels import Anova
    >>> Anova(degree=2, gamma=1.0)([[0.0, 0.0, 0.0]], [[0.0, 0.0, 9.0]]).round(4)
    array([[1.]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "degree": [Interval(Integral, 1, None, closed="left")],
        "gamma": [POSITIVE, StrOptions({"scale"})],
    }

    def __init__(self, degree: int = 2, gamma: float | str = "scale"):
        self.degree = degree
        self.gamma = gamma

    def check_pair(self, X: Sample, Y: Sample) -> None:
        super().check_pair(X, Y)
        if X.data.shape[1] < self.degree:
            raise ValueError(
                f"degree of Anova must be at most the number of columns, {X.data.shape[1]}; got "
                f"{self.degree}"
            )

    def _bound_values(self, X: Sample, weights: np.ndarray | None) -> dict[str, Any]:
        return {"gamma": _gamma(self.gamma, X, weights, 1)}

    def grid(self, X: Sample) -> dict[str, tuple[Any, ...]]:
        degrees = tuple(n for n in (1, 2, 3) if n <= X.data.shape[1])
        return {"degree": degrees, "gamma": widths(2.0 / _gamma("scale", X, None, 1))}

    def _loop(self, X: np.ndarray, YT: np.ndarray, out: np.ndarray) -> None:
        loops.anova(X, YT, float(self.gamma), int(self.degree), out)

    def _diagonal(self, X: Sample) -> np.ndarray:
        return np.full(len(X), float(comb(X.data.shape[1], self.degree)))


def _gamma(gamma: float | str, X: Sample, weights: np.ndarray | None, columns: int) -> float:
    """Return γ, or by the rule "scale" 1/(columns · var(X))."""
    if not isinstance(gamma, str):
        return float(gamma)
    spread = columns * entry_variance(X.data, weights)
    return 1.0 / spread if spread > 0 else 1.0


class Wavelet(ColumnKernel):
    """Wavelet kernel k(x, y) = Πⱼ h((xⱼ − yⱼ)/a) with h(u) = cos(1.75u) exp(−u²/2).

    Its Fourier transform is a product of two bells around ±1.75/a, and so nowhere negative
    (Zhang, Zhou and Jiao, 2004).

    Parameters
    ----------
    gamma : float or "scale", default="scale"
        γ = 1/(2a²) > 0. "scale" is 1/(d · var(X)), as for `RBF`.

    Examples
    --------
    >>> from mercer.kernels import Wavelet
    >>> Wavelet(gamma=0.5)([[0.0]], [[1.0]]).round(4)
    array([[-0.1081]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"gamma": [POSITIVE, StrOptions({"scale"})]}

    def __init__(self, gamma: float | str = "scale"):
        self.gamma = gamma

    def _bound_values(self, X: Sample, weights: np.ndarray | None) -> dict[str, Any]:
        return {"gamma": _gamma(self.gamma, X, weights, X.data.shape[1])}

    def grid(self, X: Sample) -> dict[str, tuple[Any, ...]]:
        return {"gamma": widths(2.0 / _gamma("scale", X, None, X.data.shape[1]))}

    def _loop(self, X: np.ndarray, YT: np.ndarray, out: np.ndarray) -> None:
        loops.wavelet(X, YT, float(self.gamma), out)

    def _diagonal(self, X: Sample) -> np.ndarray:
        return np.ones(len(X))


class Spline(ColumnKernel):
    """Linear splines with knots everywhere: Πⱼ [1 + xy + xy·m − (x + y)m²/2 + m³/3], m = min(x, y).

    This is 1 + xy + ∫ (x − t)₊(y − t)₊ dt over t > 0, for x, y ≥ 0; functions of the kernel's space
    are cubic between rows. Below 0 knots lie on the other side, in the same way: with opposite
    signs 1 + xy is left. Columns should be of size one, such as [0, 1] or [−1, 1].

    Examples
    --------
    >>> from mercer.kernels import Spline
    >>> Spline()([[1.0]], [[0.5]]).round(4)
    array([[1.6042]])
    """

    def _loop(self, X: np.ndarray, YT: np.ndarray, out: np.ndarray) -> None:
        loops.spline(X, YT, out)


class Sobolev(ColumnKernel):
    """Kernel of a Sobolev space of functions on [0, 1], multiplied over the columns.

    Their derivatives of order m are square integrable, and
    k(x, y) = Σ over r ≤ m of Bᵣ(x)Bᵣ(y)/(r!)² + (−1)^(m+1) B₂ₘ(|x − y|)/(2m)! with the Bernoulli
    polynomials B (Wahba, 1990). Its norm is ‖f‖² = Σ over r < m of (∫f⁽ʳ⁾)² + ∫(f⁽ᵐ⁾)².

    Parameters
    ----------
    order : {1, 2, 3}, default=1
        m; machines with m = 2 fit smoothing splines.

    Examples
    --------
    >>> from mercer.kernels import Sobolev
    >>> Sobolev(order=1)([[0.5]], [[0.5], [1.0]]).round(4)
    array([[1.0833, 0.9583]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"order": [Options(Integral, {1, 2, 3})]}

    def __init__(self, order: int = 1):
        self.order = order

    def grid(self, X: Sample) -> dict[str, tuple[Any, ...]]:
        return {"order": (1, 2, 3)}

    def check_pair(self, X: Sample, Y: Sample) -> None:
        super().check_pair(X, Y)
        for sample in (X, Y):
            sample.summary("unit interval", _require_unit_interval)

    def _loop(self, X: np.ndarray, YT: np.ndarray, out: np.ndarray) -> None:
        loops.sobolev(X, YT, int(self.order), out)

    def _diagonal(self, X: Sample) -> np.ndarray:
        X.summary("unit interval", _require_unit_interval)
        return super()._diagonal(X)


def _require_unit_interval(data: Any) -> None:
    """Raise if a cell lies outside [0, 1], and say which."""
    low, high = (_each_column(data, name) for name in ("min", "max"))
    outside = np.flatnonzero((low < 0.0) | (high > 1.0))
    if len(outside):
        j = int(outside[0])
        raise ValueError(
            f"a Sobolev kernel needs columns within [0, 1]; column {j} goes from {low[j]:g} to "
            f"{high[j]:g}: scale the columns, for example by MinMaxScaler(clip=True)"
        )


def _each_column(data: Any, name: str) -> np.ndarray:
    found = getattr(data, name)(axis=0)
    return found.toarray().ravel() if sp.issparse(found) else np.asarray(found)
