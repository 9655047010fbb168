"""Gradients of sums of kernel values, tile by tile.

Each kernel on vectors says how its values change with its statistic (``slope``); expressions pass
factors down by the rules of calculus. A radial kernel changes along x − y, a kernel of the inner
product along y: sums over centres are then products of matrices.
"""

from __future__ import annotations

from collections import Counter
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.polynomial import polynomial

from mercer._array import n_threads, ranges, run_tiles
from mercer._floats import DOUBLE
from mercer.kernels import _loops
from mercer.kernels.base import (
    Constant,
    Exp,
    Kernel,
    Normalized,
    Power,
    Product,
    Sum,
    Unary,
)
from mercer.kernels.custom import PowerSeries
from mercer.kernels.metric import RowMap
from mercer.kernels.powers import integer_power
from mercer.kernels.radial import Radial
from mercer.kernels.sample import Pair, Sample, dense
from mercer.kernels.text import Cosine
from mercer.kernels.tiles import TILE
from mercer.kernels.vector import Linear, VectorKernel

SERIAL = 2**22  # values × columns that are worth a second thread
EXPONENT = {"squared_distance": 2.0, "l1": 1.0}

Factor = np.ndarray | None


def gradient_of(kernel: Kernel, X: Sample, Y: Sample, coefs: np.ndarray) -> np.ndarray:
    """Return the gradients of f(x) = Σⱼ cⱼ k(x, yⱼ) at the rows of X.

    Parameters
    ----------
    kernel : Kernel
        A bound kernel on vectors.
    X, Y : Sample
        Where to take the gradients (n rows), and the centres (m).
    coefs : array of shape (m, t)
        c of t functions.

    Returns
    -------
    array of shape (n, d, t)
    """
    kernel.check_pair(X, Y)
    if X.is_sparse != Y.is_sparse:
        X, Y = (s.derive("dense", dense) for s in (X, Y))
    n, d, t = len(X), X.data.shape[1], coefs.shape[1]
    out, uses = np.zeros((n, t, d)), kernel._uses()

    def fill(rows: slice, worker: int) -> None:
        for columns in ranges(len(Y), TILE):
            into = GradientSum(coefs[columns], out[rows])
            add_slopes(kernel, Pair(X[rows], Y[columns], uses, DOUBLE), None, into)

    threads = n_threads() if n * len(Y) * (d + 32) > SERIAL and kernel.releases_gil else 1
    run_tiles(fill, ranges(n, max(1, min(TILE, -(-n // threads)))), threads)
    return out.transpose(0, 2, 1)


def distance_slopes(X: Sample, slopes: np.ndarray, p: float) -> np.ndarray:
    """Return Σ slopesᵢⱼ |xᵢ − xⱼ|ᵖ over all pairs of rows, for each column, shape (d,).

    That is how a sum of functions of Σ w|x − y|ᵖ with these slopes changes with log w, at w = 1.
    The slopes are symmetric, so that the sum is 2/p Σ xᵢ gᵢ with the gradients g of the rows.
    """
    n, d = X.data.shape
    into = GradientSum(np.ones((n, 1)), np.zeros((n, 1, d)))
    into.add_away(Pair(X, X, Counter(), DOUBLE), slopes, p, None)
    return 2.0 / p * np.einsum("ij,ij->j", X.data, into.out[:, 0])


class GradientSum:
    """Gradients at some rows, to which those of some centres are added.

    Parameters
    ----------
    coefs : array of shape (m, t)
        The coefficients of the centres.
    out : array of shape (n, t, d)
        The sum so far.
    """

    def __init__(self, coefs: np.ndarray, out: np.ndarray):
        self.coefs, self.out = np.ascontiguousarray(coefs, dtype=np.float64), out

    def add_toward(self, pair: Pair, slopes: np.ndarray) -> None:
        """Add Σⱼ slopesᵢⱼ cⱼ yⱼ: a kernel of the inner product changes along y."""
        self.out += self._weighted(slopes, dense(pair.Y.rows(DOUBLE)))

    def add_away(self, pair: Pair, slopes: np.ndarray, p: float, rowmap: RowMap | None) -> None:
        """Add the gradients of a function of Σ|z − z'|ᵖ with these slopes; z = x F by a metric."""
        found = self._away(pair, slopes) if p == 2.0 else self._power(pair, slopes, p)
        self.out += found if rowmap is None else rowmap.back(found)

    def add_rows(self, rows: np.ndarray, values: np.ndarray) -> None:
        """Add Σⱼ valuesᵢⱼ cⱼ times a row of its own for each i."""
        self.out += (values @ self.coefs)[:, :, None] * rows[:, None, :]

    def _away(self, pair: Pair, slopes: np.ndarray) -> np.ndarray:
        """Return 2 Σⱼ slopesᵢⱼ cⱼ (xᵢ − yⱼ); a common offset is taken off before it cancels."""
        X, Y = (dense(s.shifted(DOUBLE, pair.Y).rows(DOUBLE)) for s in (pair.X, pair.Y))
        totals = slopes @ self.coefs
        return 2.0 * (totals[:, :, None] * X[:, None, :] - self._weighted(slopes, Y))

    def _weighted(self, slopes: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return Σⱼ slopesᵢⱼ cⱼ yⱼ of all t functions by one product, shape (n, t, d)."""
        m, t = self.coefs.shape
        weighted = (self.coefs[:, :, None] * rows[:, None, :]).reshape(m, -1)
        return (slopes @ weighted).reshape(len(slopes), t, -1)

    def _power(self, pair: Pair, slopes: np.ndarray, p: float) -> np.ndarray:
        X, Y = (dense(s.rows(DOUBLE)) for s in (pair.X, pair.Y))
        X, columns, coefs = (np.ascontiguousarray(a) for a in (X, Y.T, self.coefs.T))
        found = np.zeros((len(X), len(coefs), X.shape[1]))
        _loops.add_power_slopes(X, columns, slopes, coefs, p, found)
        return found


# ---------------------------------------------------------------- the rules
@singledispatch
def add_slopes(kernel: Any, pair: Pair, factor: Factor, into: GradientSum) -> None:
    """Add the gradients of factor · k(x_i, y_j), summed by the coefficients of ``into``."""
    raise TypeError(f"the gradient of {kernel!r} is not known")


@singledispatch
def diagonal_gradient(kernel: Any, X: Sample) -> np.ndarray:
    """Return the gradient of k(x, x), shape (n, d)."""
    raise TypeError(f"the gradient of {kernel!r} is not known")


@add_slopes.register
def _(kernel: VectorKernel, pair: Pair, factor: Factor, into: GradientSum) -> None:
    slopes = _slopes(kernel, pair, factor)
    if kernel.statistic == "inner":
        into.add_toward(pair, slopes)
    else:
        into.add_away(pair, slopes, EXPONENT[kernel.statistic], None)


@add_slopes.register
def _(kernel: Radial, pair: Pair, factor: Factor, into: GradientSum) -> None:
    mapped = kernel.mapped_pair(pair)
    into.add_away(mapped, _slopes(kernel, mapped, factor), kernel.p, kernel._map)


def _slopes(kernel: VectorKernel, pair: Pair, factor: Factor) -> np.ndarray:
    values = np.empty(pair.shape)
    kernel._fill_statistic(pair, values)
    kernel.slope(values)
    return _times(values, factor)


@diagonal_gradient.register
def _(kernel: VectorKernel, X: Sample) -> np.ndarray:
    rows = dense(X.rows(DOUBLE))
    if kernel.statistic != "inner":
        return np.zeros_like(rows)
    slopes = X.squared_norms(DOUBLE).copy()
    kernel.slope(slopes)
    return 2.0 * slopes[:, None] * rows


@add_slopes.register
def _(kernel: Constant, pair: Pair, factor: Factor, into: GradientSum) -> None:
    """A constant has no slope."""


@diagonal_gradient.register
def _(kernel: Constant, X: Sample) -> np.ndarray:
    return np.zeros(X.data.shape)


@add_slopes.register
def _(kernel: Sum, pair: Pair, factor: Factor, into: GradientSum) -> None:
    add_slopes(kernel.left, pair, factor, into)
    add_slopes(kernel.right, pair, factor, into)


@diagonal_gradient.register
def _(kernel: Sum, X: Sample) -> np.ndarray:
    return diagonal_gradient(kernel.left, X) + diagonal_gradient(kernel.right, X)


@add_slopes.register
def _(kernel: Product, pair: Pair, factor: Factor, into: GradientSum) -> None:
    for one, other in ((kernel.left, kernel.right), (kernel.right, kernel.left)):
        if not isinstance(one, Constant):
            add_slopes(one, pair, _times(_tile(other, pair), factor), into)


@diagonal_gradient.register
def _(kernel: Product, X: Sample) -> np.ndarray:
    left, right = (np.asarray(side._diagonal(X))[:, None] for side in (kernel.left, kernel.right))
    return diagonal_gradient(kernel.left, X) * right + diagonal_gradient(kernel.right, X) * left


@add_slopes.register
def _(kernel: Unary, pair: Pair, factor: Factor, into: GradientSum) -> None:
    slopes = derivative(kernel, _tile(kernel.kernel, pair))
    add_slopes(kernel.kernel, pair, _times(slopes, factor), into)


@diagonal_gradient.register
def _(kernel: Unary, X: Sample) -> np.ndarray:
    values = np.asarray(kernel.kernel._diagonal(X), dtype=np.float64)
    return diagonal_gradient(kernel.kernel, X) * derivative(kernel, values)[:, None]


@singledispatch
def derivative(kernel: Any, values: np.ndarray) -> np.ndarray:
    """Return the derivative of a function of one kernel, at that kernel's values."""
    raise TypeError(f"the gradient of {kernel!r} is not known")


@derivative.register
def _(kernel: Power, values: np.ndarray) -> np.ndarray:
    slopes = values.copy()
    integer_power(slopes, max(kernel.exponent - 1, 0))
    return kernel.exponent * slopes


@derivative.register
def _(kernel: Exp, values: np.ndarray) -> np.ndarray:
    return np.exp(values)


@derivative.register
def _(kernel: PowerSeries, values: np.ndarray) -> np.ndarray:
    return polynomial.polyval(values, polynomial.polyder(np.asarray(kernel.coefs, np.float64)))


@add_slopes.register
def _(kernel: Normalized, pair: Pair, factor: Factor, into: GradientSum) -> None:
    """k(x, y) / √(k(x, x) k(y, y)): the length of φ(x) turns the slope, too."""
    inner, values = kernel.kernel, _times(_tile(kernel, pair), factor)
    if isinstance(
        inner, Exp
    ):  # where exp(k) overflows, exp(k(x, y) − ½k(x, x) − ½k(y, y)) does not
        add_slopes(inner.kernel, pair, values, into)
        into.add_rows(-0.5 * diagonal_gradient(inner.kernel, pair.X), values)
        return
    left, right = (inner._inverse_lengths(s) for s in (pair.X, pair.Y))
    add_slopes(inner, pair, _times(left[:, None] * right, factor), into)
    into.add_rows(diagonal_gradient(inner, pair.X) * (-0.5 * left**2)[:, None], values)


@diagonal_gradient.register
def _(kernel: Normalized, X: Sample) -> np.ndarray:
    return np.zeros(X.data.shape)


@add_slopes.register
def _(kernel: Cosine, pair: Pair, factor: Factor, into: GradientSum) -> None:
    add_slopes(Linear().normalized(), pair, factor, into)


@diagonal_gradient.register
def _(kernel: Cosine, X: Sample) -> np.ndarray:
    return np.zeros(X.data.shape)


def _tile(kernel: Kernel, pair: Pair) -> np.ndarray:
    values = np.empty(pair.shape)
    kernel._fill(pair, values)
    return values


def _times(values: np.ndarray, factor: Factor) -> np.ndarray:
    return values if factor is None else values * factor
