"""Kernels on vectors: a statistic of two rows, then an elementwise epilogue in place."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer._array import largest_size
from mercer._floats import EPS, SMALLEST, require_squares
from mercer._sklearn import Interval, StrOptions
from mercer.kernels._loops import scaled_exp
from mercer.kernels.base import INDEFINITE, PSD, Kernel, integer_power
from mercer.kernels.sample import STATISTICS, Pair, Sample

_REAL = [Interval(Real, None, None, closed="neither")]
_POSITIVE = Interval(Real, 0, None, closed="neither")
_GAMMA = [_POSITIVE, StrOptions({"scale", "auto"})]


class VectorKernel(Kernel):
    """A kernel that is a statistic of two vectors followed by an elementwise function.

    A subclass names its ``statistic`` (``"inner"``, ``"squared_distance"`` or ``"l1"``), stores
    its parameters in ``__init__``, says its ``definiteness``, and implements ``epilogue``. Blocks,
    diagonals, sparse rows, both precisions, threads and the algebra follow from that.
    """

    statistic: ClassVar[str]
    domain = "vectors"
    releases_gil = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if getattr(cls, "statistic", "inner") not in STATISTICS:
            raise TypeError(f"{cls.__name__}.statistic must be one of {STATISTICS}")

    def epilogue(self, values: np.ndarray) -> None:
        """Turn statistics into kernel values, in place."""
        raise NotImplementedError

    def _fill(self, pair: Pair, out: np.ndarray) -> None:
        pair.fill(self.statistic, out)
        self.epilogue(out)

    def _diagonal(self, X: Sample) -> np.ndarray:
        if self.statistic == "inner":
            values = X.squared_norms(np.dtype(np.float64)).copy()
        else:
            values = np.zeros(len(X))
        self.epilogue(values)
        return values

    def check_pair(self, X: Sample, Y: Sample) -> None:
        n_x, n_y = X.data.shape[1], Y.data.shape[1]
        if n_x != n_y:
            raise ValueError(f"X and Y must have the same number of columns; got {n_x} and {n_y}")


class Linear(VectorKernel):
    """Linear kernel k(x, y) = x·y + c.

    Parameters
    ----------
    bias : float, default=0.0
        The offset c; a negative one gives a function that is not positive semidefinite.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear(bias=1.0)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[12.]])
    """

    statistic = "inner"
    _parameter_constraints: ClassVar[dict[str, Any]] = {"bias": _REAL}

    def __init__(self, bias: float = 0.0):
        self.bias = bias

    @property
    def definiteness(self) -> str:
        return PSD if self.bias >= 0 else INDEFINITE

    def epilogue(self, values: np.ndarray) -> None:
        if self.bias:
            values += self.bias


class Polynomial(VectorKernel):
    """Polynomial kernel k(x, y) = (a x·y + c)ⁿ.

    Parameters
    ----------
    degree : int, default=3
        The exponent n ≥ 0.
    scale : float, default=1.0
        The factor a > 0.
    bias : float, default=1.0
        The offset c; 0 gives the homogeneous kernel.

    Examples
    --------
    >>> from mercer.kernels import Polynomial
    >>> Polynomial(degree=2)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    statistic = "inner"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "degree": [Interval(Integral, 0, None, closed="left")],
        "scale": [_POSITIVE],
        "bias": _REAL,
    }

    def __init__(self, degree: int = 3, scale: float = 1.0, bias: float = 1.0):
        self.degree = degree
        self.scale = scale
        self.bias = bias

    @property
    def definiteness(self) -> str:
        # with c < 0 some coefficient of the expansion in (x·y) is negative
        return PSD if self.bias >= 0 or self.degree == 0 else INDEFINITE

    def _bound_values(self, X: Sample, weights: np.ndarray | None) -> dict[str, Any]:
        _require_squares(X, self.scale)
        return {}

    def epilogue(self, values: np.ndarray) -> None:
        values *= self.scale
        values += self.bias
        integer_power(values, self.degree)


class Sigmoid(VectorKernel):
    """Sigmoid function k(x, y) = tanh(a x·y + c): popular, but not positive semidefinite.

    Parameters
    ----------
    scale : float, default=1.0
        The factor a.
    bias : float, default=0.0
        The offset c.
    """

    statistic = "inner"
    _parameter_constraints: ClassVar[dict[str, Any]] = {"scale": _REAL, "bias": _REAL}

    def __init__(self, scale: float = 1.0, bias: float = 0.0):
        self.scale = scale
        self.bias = bias

    @property
    def definiteness(self) -> str:
        return INDEFINITE

    def _bound_values(self, X: Sample, weights: np.ndarray | None) -> dict[str, Any]:
        _require_squares(X, abs(self.scale))
        return {}

    def epilogue(self, values: np.ndarray) -> None:
        values *= self.scale
        values += self.bias
        np.tanh(values, out=values)


class _Radial(VectorKernel):
    """exp(−γ · distance), with γ given or taken from the data."""

    _power = 2  # of the distance that γ multiplies
    _parameter_constraints: ClassVar[dict[str, Any]] = {"gamma": _GAMMA}

    def __init__(self, gamma: float | str = "scale"):
        self.gamma = gamma

    @property
    def definiteness(self) -> str:
        return PSD

    def _bound_values(self, X: Sample, weights: np.ndarray | None) -> dict[str, Any]:
        if not isinstance(self.gamma, str):
            _require_squares(X, float(self.gamma), self._power)
            return {"gamma": float(self.gamma)}
        n_columns = X.data.shape[1]
        if self.gamma == "auto":
            return {"gamma": 1.0 / n_columns}
        variance = _variance(X.data, weights)
        require_squares(float(X.summary("largest", largest_size)))
        return {"gamma": self._scale(n_columns, variance) if variance > 0 else 1.0}

    @staticmethod
    def _scale(n_columns: int, variance: float) -> float:
        """Return the γ that makes γ · distance about one."""
        raise NotImplementedError

    def epilogue(self, values: np.ndarray) -> None:
        # a γ beyond the precision's range would make 0 · inf = NaN of equal points
        scale = -min(float(self.gamma), float(np.finfo(values.dtype).max))
        if values.dtype == np.float32 and values.flags.c_contiguous:
            scaled_exp(values.reshape(-1), np.float32(scale))
            return
        with np.errstate(over="ignore"):  # exp(−inf) = 0 is right
            values *= scale
        np.exp(values, out=values)


def _require_squares(X: Sample, factor: float, power: int = 2) -> None:
    """Raise if squares of the rows vanish though a factor would make them count."""
    largest = float(X.summary("largest", largest_size))
    if power and 0.0 < largest < SMALLEST and factor * largest * largest ** (power - 1) > EPS:
        require_squares(largest)


def _variance(data: Any, weights: np.ndarray | None) -> float:
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


class RBF(_Radial):
    """Gaussian kernel k(x, y) = exp(−γ‖x − y‖²), γ = 1/(2σ²).

    Parameters
    ----------
    gamma : float, "scale" or "auto", default="scale"
        γ > 0. "scale" is 1/(d · var(X)) and "auto" is 1/d for d columns; both are made concrete by
        ``bind``.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> RBF(gamma=0.5)([[0.0], [1.0]]).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """

    statistic = "squared_distance"

    @classmethod
    def from_sigma(cls, sigma: Any) -> RBF:
        """Return the Gaussian kernel exp(−‖x − y‖² / (2σ²))."""
        width = float(sigma) if isinstance(sigma, Real) else 0.0
        gamma = 0.5 / width / width if width > 0 else 0.0
        if not 0.0 < gamma < np.inf:
            raise ValueError(f"sigma must be a number > 0 with a finite 1/(2σ²); got {sigma!r}")
        return cls(gamma=gamma)

    @staticmethod
    def _scale(n_columns: int, variance: float) -> float:
        return 1.0 / (n_columns * variance)


class Exponential(_Radial):
    """Exponential kernel k(x, y) = exp(−γ‖x − y‖), with the Euclidean norm.

    Parameters
    ----------
    gamma : float, "scale" or "auto", default="scale"
        γ > 0. "scale" is 1/√(d · var(X)) and "auto" is 1/d for d columns.
    """

    statistic = "squared_distance"
    _power = 1

    @staticmethod
    def _scale(n_columns: int, variance: float) -> float:
        return float(1.0 / np.sqrt(n_columns * variance))

    def epilogue(self, values: np.ndarray) -> None:
        np.sqrt(values, out=values)
        super().epilogue(values)


class Laplacian(_Radial):
    """Laplacian kernel k(x, y) = exp(−γ‖x − y‖₁), with the sum of absolute differences.

    Parameters
    ----------
    gamma : float, "scale" or "auto", default="scale"
        γ > 0. "scale" is 1/(d · std(X)) and "auto" is 1/d for d columns.
    """

    statistic = "l1"
    _power = 0  # no squares

    @staticmethod
    def _scale(n_columns: int, variance: float) -> float:
        return float(1.0 / (n_columns * np.sqrt(variance)))
