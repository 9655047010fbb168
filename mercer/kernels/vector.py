"""Kernels on vectors: a statistic of two rows, then an elementwise epilogue in place."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from mercer._array import largest_size
from mercer._floats import EPS, SMALLEST, require_squares
from mercer._sklearn import Interval
from mercer.kernels.base import INDEFINITE, PSD, Kernel
from mercer.kernels.powers import integer_power
from mercer.kernels.sample import STATISTICS, Pair, Sample, row_sizes, unit_rows

_REAL = [Interval(Real, None, None, closed="neither")]
_POSITIVE = Interval(Real, 0, None, closed="neither")


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
        statistic = getattr(cls, "statistic", "inner")
        if isinstance(statistic, str) and statistic not in STATISTICS:
            raise TypeError(f"{cls.__name__}.statistic must be one of {STATISTICS}")

    def epilogue(self, values: np.ndarray) -> None:
        """Turn statistics into kernel values, in place."""
        raise NotImplementedError

    def slope(self, values: np.ndarray) -> None:
        """Turn statistics into the derivative of the kernel by the statistic, in place.

        Only gradients need it.
        """
        raise TypeError(f"the gradient of {self!r} is not known: the kernel has no slope()")

    @property
    def shares(self) -> str:
        """The statistic of the rows as they are that this kernel needs."""
        return self.statistic

    def _fill(self, pair: Pair, out: np.ndarray) -> None:
        self._fill_statistic(pair, out)
        self.epilogue(out)

    def _fill_statistic(self, pair: Pair, out: np.ndarray) -> None:
        pair.fill(self.statistic, out, getattr(self, "p", 2.0))

    def _diagonal(self, X: Sample) -> np.ndarray:
        if self.statistic == "inner":
            values = X.squared_norms(np.dtype(np.float64)).copy()
        else:
            values = np.zeros(len(X))
        self.epilogue(values)
        return values

    def check_pair(self, X: Sample, Y: Sample) -> None:
        require_same_columns(X, Y)


def require_same_columns(X: Sample, Y: Sample) -> None:
    """Raise if the rows of two samples are not of one length."""
    n_x, n_y = X.data.shape[1], Y.data.shape[1]
    if n_x != n_y:
        raise ValueError(f"X and Y must have the same number of columns; got {n_x} and {n_y}")


def require_counting_squares(X: Sample, factor: float, power: int = 2) -> None:
    """Raise if squares of the rows vanish though a factor would make them count."""
    largest = float(X.summary("largest", largest_size))
    if 0.0 < largest < SMALLEST and factor * largest * largest ** (power - 1) > EPS:
        require_squares(largest)


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

    def _fill_normalized(self, pair: Pair, out: np.ndarray) -> None:
        if self.bias:
            super()._fill_normalized(pair, out)
        else:  # of rows of length one, whose squares neither vanish nor overflow
            pair.derive("unit rows", unit_rows).fill("inner", out)

    def _diagonal_normalized(self, X: Sample) -> np.ndarray:
        if self.bias:
            return super()._diagonal_normalized(X)
        return (row_sizes(X.data) > 0).astype(np.float64)

    def slope(self, values: np.ndarray) -> None:
        values[...] = 1.0


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
        require_counting_squares(X, self.scale)
        return {}

    def epilogue(self, values: np.ndarray) -> None:
        values *= self.scale
        values += self.bias
        integer_power(values, self.degree)

    def slope(self, values: np.ndarray) -> None:
        values *= self.scale
        values += self.bias
        integer_power(values, max(self.degree - 1, 0))
        values *= self.degree * self.scale


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
        require_counting_squares(X, abs(self.scale))
        return {}

    def epilogue(self, values: np.ndarray) -> None:
        values *= self.scale
        values += self.bias
        np.tanh(values, out=values)

    def slope(self, values: np.ndarray) -> None:
        self.epilogue(values)
        np.square(values, out=values)
        np.subtract(self.scale, self.scale * values, out=values)
