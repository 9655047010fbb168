"""How far kernel values in float32 are from those in float64, estimated: what predictions ask.

A value of a positive semidefinite kernel is bounded by its diagonal, |k(x, y)| ≤ κ(x) κ(y) with
κ(x)² = k(x, x), and so is its rounding error: ``rounding(kernel, Y)`` says by how many units of
float32. What each value rounds for itself adds up like a random walk over many values; what all
values of a row share (the row itself, rounded to float32) adds up without end.
"""

from __future__ import annotations

from functools import singledispatch
from typing import NamedTuple

import numpy as np

from mercer._floats import DOUBLE
from mercer.kernels.base import PSD, Constant, Kernel, Normalized, Power, Product, Sum
from mercer.kernels.cells import CellKernel
from mercer.kernels.columns import On
from mercer.kernels.radial import Radial
from mercer.kernels.sample import Sample
from mercer.kernels.text import Cosine
from mercer.kernels.vector import Linear, Polynomial

UNIT = 2.0**-24  # half of the relative distance between numbers of float32
RADIAL = 2.5  # units: distances are right to 20, and exp(−t) t is at most 1/e; measured are 2.3


class Rounding(NamedTuple):
    """Errors of kernel values in units of float32, relative to κ(x) κ(y)."""

    own: float
    shared: float

    def both(self, other: Rounding, extra: float = 0.0) -> Rounding:
        """Return what a product of two kernels is off by."""
        return Rounding(self.own + other.own + extra, self.shared + other.shared)

    def worse(self, other: Rounding) -> Rounding:
        """Return what a sum of two kernels is off by: κ² is the sum of theirs."""
        return Rounding(max(self.own, other.own), max(self.shared, other.shared))

    def times(self, factor: float) -> Rounding:
        return Rounding(self.own * factor, self.shared * factor)


NOT_KNOWN = Rounding(np.inf, np.inf)


def rounding(kernel: Kernel, Y: Sample) -> Rounding:
    """Return how far float32 values k(·, Y) of a bound kernel are off; inf if that is not known."""
    return _rounding(kernel, Y) if kernel.definiteness == PSD else NOT_KNOWN


def sum_error(kernel: Kernel, X: Sample, Y: Sample, weights: np.ndarray) -> float:
    """Estimate the error of k(X, Y) @ weights in float32: the largest of all rows and columns.

    (own · ‖κβ‖₂ + shared · ‖κβ‖₁) · κ(x) units of float32, β a column of the weights.
    """
    found = rounding(kernel, Y)
    if not (len(X) and len(Y) and np.isfinite(found).all()):
        return float("inf")
    reach = float(np.sqrt(kernel.diagonal_of(X, DOUBLE).max()))
    sizes = np.sqrt(kernel.diagonal_of(Y, DOUBLE))[:, None] * np.abs(weights)
    walks = found.own * np.sqrt(np.square(sizes).sum(axis=0))
    return UNIT * reach * float((walks + found.shared * sizes.sum(axis=0)).max(initial=0.0))


# -------------------------------------------------------------------- one rule a kernel
@singledispatch
def _rounding(kernel: Kernel, Y: Sample) -> Rounding:
    return NOT_KNOWN


@_rounding.register
def _(kernel: Constant, Y: Sample) -> Rounding:
    return Rounding(1.0, 0.0)


@_rounding.register
def _(kernel: On, Y: Sample) -> Rounding:
    return rounding(kernel.kernel, kernel.inside(Y))


@_rounding.register
def _(kernel: CellKernel, Y: Sample) -> Rounding:
    # each column adds a value of at most 1, rounded, to a sum that is divided at the end; weights
    # of rare categories keep κ below 1, so that what is off by units of 1 is more of κ²
    smallest = float(kernel.diagonal_of(Y, DOUBLE).min(initial=1.0))
    return Rounding((2.0 + Y.data.shape[1]) / smallest, 0.0) if smallest > 0 else NOT_KNOWN


@_rounding.register
def _(kernel: Radial, Y: Sample) -> Rounding:
    if kernel.p == 2.0:
        return Rounding(RADIAL, 0.0)
    # rows are rounded after a shift, column by column, and differences are not computed again
    if kernel.p != 1.0 or not kernel.is_plain:
        return NOT_KNOWN
    shifted = Y.shifted(DOUBLE, Y).squared_norms(DOUBLE)
    rate = float(kernel.get_params()["gamma"])
    return Rounding(RADIAL + rate * float(np.sqrt(shifted.max(initial=0.0))), 0.0)


@_rounding.register
def _(kernel: Linear, Y: Sample) -> Rounding:
    return Rounding(1.0, 2.0 + float(np.sqrt(Y.data.shape[1])))


@_rounding.register
def _(kernel: Polynomial, Y: Sample) -> Rounding:
    return _rounding(Linear(), Y).times(float(max(kernel.degree, 1)))


@_rounding.register
def _(kernel: Sum, Y: Sample) -> Rounding:
    return _parts(kernel, Y)[0].worse(_parts(kernel, Y)[1])


@_rounding.register
def _(kernel: Product, Y: Sample) -> Rounding:
    left, right = _parts(kernel, Y)
    return left.both(right, 1.0)


@_rounding.register
def _(kernel: Power, Y: Sample) -> Rounding:
    return _parts(kernel, Y)[0].times(float(max(kernel.exponent, 1)))


@_rounding.register
def _(kernel: Cosine, Y: Sample) -> Rounding:
    return _rounding(Linear().normalized(), Y)


@_rounding.register
def _(kernel: Normalized, Y: Sample) -> Rounding:
    return _parts(kernel, Y)[0].both(Rounding(1.0, 0.0))


def _parts(kernel: Kernel, Y: Sample) -> list[Rounding]:
    return [rounding(part, Y) for part in kernel.parts()]
