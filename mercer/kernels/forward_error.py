"""How far kernel values in float32 can be from exact ones: bounds for proofs, not estimates.

Every operation of float32 returns its result times 1 + δ, |δ| ≤ u = 2⁻²⁴, and a sum of g products,
added up in any order, is off by at most γ = gu / (1 − gu) times the sum of their sizes (Higham,
*Accuracy and Stability of Numerical Algorithms*, 2002, section 3). Followed through all that is
computed of two rows, that bounds a value by a multiple of κ(x) κ(y), κ(x)² = k(x, x). What
underflows is far below a unit of that in the ranges that are asked for; of all other rows and
kernels nothing is known.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from mercer.kernels.base import PSD, Constant, Kernel, Normalized, Product, Sum
from mercer.kernels.columns import On
from mercer.kernels.direct import MOST_OF_BLOCKS
from mercer.kernels.matern import Matern
from mercer.kernels.radial import PowerExponential, Radial
from mercer.kernels.rounding import UNIT
from mercer.kernels.sample import Sample
from mercer.kernels.vector import Linear, Polynomial

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
EXP = 3.0  # units: `scaled_exp` is off by less than 2 for every number of float32, NumPy's by 3
LOST_RATIO = 20.4  # ‖x‖² + ‖y‖² over ‖x − y‖²: above, `_loops` uses no product (1/CANCELLED_SHARE)
LARGEST_SHARE = 0.05  # of a distance that may be rounding: the bounds are made for no more
RANGE = (1e-30, 1e30)  # of k(x, x) and of factors: far from what over- or underflows
T_EXP = float(np.exp(-1.0))  # the largest t e⁻ᵗ
ROOT_EXP = float(np.sqrt(0.5) * np.exp(-0.5))  # the largest √t e⁻ᵗ
SQUARE = 0.61  # the largest r |k'(r)| of the Matérn kernels


class Operands(NamedTuple):
    """Two samples, and how their values are computed."""

    X: Sample
    Y: Sample
    direct: bool = False  # straight from differences of rows, where the kernel can
    shared: bool = False  # an inner product may serve squared distances too, of rows not shifted

    def of(self, X: Sample, Y: Sample) -> Operands:
        return Operands(X, Y, False, self.shared)

    @property
    def both(self) -> tuple[Sample, Sample]:
        return self.X, self.Y

    @property
    def terms(self) -> int:
        """The most products of an inner product that are not 0."""
        if self.X.is_sparse and self.Y.is_sparse:
            counts = [np.diff(s.data.indptr).max(initial=0) for s in self.both]
            return int(min(counts))
        return int(self.X.data.shape[1])

    def largest(self, p: float) -> tuple[float, float]:
        """Return the largest Σ|x|ᵖ of each side, of rows as they are multiplied or subtracted."""
        shifted = [s.shifted(SINGLE, self.Y) for s in self.both]
        found = [_largest(s, p) for s in shifted]
        if self.shared:
            found = [max(size, _largest(s, p)) for size, s in zip(found, self.both, strict=True)]
        return found[0], found[1]


def _largest(rows: Sample, p: float) -> float:
    if p == 2.0:
        return float(rows.squared_norms(SINGLE).max(initial=0.0)) * (1 + 4 * UNIT)
    sizes = np.asarray(abs(rows.data).sum(axis=1, dtype=DOUBLE))
    return float(sizes.max(initial=0.0)) * (1 + 4 * UNIT)


def value_error(kernel: Kernel, X: Sample, Y: Sample, direct: bool = False) -> float:
    """Return the largest |fl(k(x, y)) − k(x, y)| / κ(x) κ(y) in float32; inf if it is not known."""
    inner = any(getattr(leaf, "statistic", "") == "inner" for leaf in kernel.leaves())
    return _error(kernel, Operands(X, Y, direct, inner))


def largest_sum_error(
    kernel: Kernel, X: Sample, Y: Sample, weights: np.ndarray, direct: bool = False
) -> float:
    """Return the largest |fl(Σⱼ k(x, yⱼ) wⱼ) − Σⱼ k(x, yⱼ) wⱼ| of a row x of X.

    Values are those of float32, sums of float64. inf if nothing is known.
    """
    if not (len(X) and len(Y)):
        return 0.0
    error = value_error(kernel, X, Y, direct) + (len(Y) + 2) * 2.0**-53
    if not np.isfinite(error):
        return float("inf")
    reach = float(np.sqrt(kernel.diagonal_of(X, DOUBLE).max()))
    return error * reach * float(np.sqrt(kernel.diagonal_of(Y, DOUBLE)) @ np.abs(weights))


def _error(kernel: Kernel, sides: Operands) -> float:
    if kernel.definiteness != PSD or not len(sides.X) or not len(sides.Y):
        return float("inf")
    sizes = [kernel.diagonal_of(s, DOUBLE) for s in sides.both]
    if not all(_in_range(size[size != 0]) for size in sizes):
        return float("inf")
    return _rule(kernel, sides)


def _in_range(values: np.ndarray | float) -> bool:
    values = np.abs(values)
    return bool(np.all((values >= RANGE[0]) & (values <= RANGE[1])))


# -------------------------------------------------------------------- one rule a kernel
@singledispatch
def _rule(kernel: Kernel, sides: Operands) -> float:
    return float("inf")


@_rule.register
def _(kernel: Constant, sides: Operands) -> float:
    return UNIT


@_rule.register
def _(kernel: On, sides: Operands) -> float:
    return _error(kernel.kernel, sides.of(*map(kernel.inside, sides.both)))


@_rule.register
def _(kernel: Linear, sides: Operands) -> float:
    # two rounded rows, products added up, an offset; |x·y| + c ≤ κ(x) κ(y)
    return UNIT * (sides.terms + 5) if _fits(kernel.bias, sides) else float("inf")


@_rule.register
def _(kernel: Polynomial, sides: Operands) -> float:
    if not (_fits(kernel.bias, sides) and _in_range(kernel.scale)):
        return float("inf")
    base = _error(Linear(), sides) + 4 * UNIT
    return float(np.expm1(kernel.degree * np.log1p(base + UNIT)))


def _fits(bias: float, sides: Operands) -> bool:
    return (bias == 0 or _in_range(bias)) and all(s.fits_single for s in sides.both)


@_rule.register
def _(kernel: Sum, sides: Operands) -> float:
    # κ² is the sum of the parts'
    return (1 + max(_parts(kernel, sides))) * (1 + UNIT) - 1


@_rule.register
def _(kernel: Product, sides: Operands) -> float:
    left, right = _parts(kernel, sides)
    return (1 + left) * (1 + right) * (1 + UNIT) - 1


@_rule.register
def _(kernel: Normalized, sides: Operands) -> float:
    if isinstance(kernel.kernel, (Linear, Polynomial, Radial)):  # 1/κ of each side, from float64
        return (1 + _error(kernel.kernel, sides)) * (1 + UNIT) ** 4 - 1
    return float("inf")


def _parts(kernel: Kernel, sides: Operands) -> list[float]:
    return [_error(part, sides._replace(direct=False)) for part in kernel.parts()]


@_rule.register
def _(kernel: PowerExponential, sides: Operands) -> float:
    rules = {(2.0, 1.0): _of_squares, (2.0, 0.5): _of_roots, (1.0, 1.0): _of_sizes}
    rows, kind = _mapped(kernel, sides), (float(kernel.p), kernel._power)
    if kind not in rules or not _radius_fits(kernel, rows, kernel._power):
        return float("inf")
    return UNIT * (rules[kind](kernel._rate, rows) + EXP + 1)


@_rule.register
def _(kernel: Matern, sides: Operands) -> float:
    rows = _mapped(kernel, sides)
    if not _radius_fits(kernel, rows, 0.5):
        return float("inf")
    return UNIT * (SQUARE * _of_product(rows.terms, 0.5, 3) + EXP + 6)


def _mapped(kernel: Radial, sides: Operands) -> Operands:
    X, Y = kernel.mapped(sides.X, sides.Y)
    return sides._replace(X=X, Y=Y)


def _radius_fits(kernel: Any, rows: Operands, power: float) -> bool:
    """Tell whether what underflows in a sum of squares, or in its root, is nothing beside 1."""
    most = RANGE[1] if power == 1.0 else 1e13
    return RANGE[0] <= kernel._rate <= most and all(s.fits_single for s in rows.both)


# -------------------------------------------------------------------- units that e⁻ᵗ is off by
def _of_sizes(rate: float, sides: Operands) -> float:
    """t = rate Σ|x − y|: rounded rows, and sums of no more terms than there are columns."""
    terms = sides.X.data.shape[1] + 3
    far = rate * sum(sides.largest(1.0))
    return _growth(terms + far) * (T_EXP * terms + far)


def _of_squares(rate: float, sides: Operands) -> float:
    """t = rate ‖x − y‖², by differences of rows or by a product."""
    left, right = (rate * size for size in sides.largest(2.0))
    terms, far = sides.X.data.shape[1] // 4 + 11, float(np.sqrt(left) + np.sqrt(right))
    direct = _growth(terms + far) * (T_EXP * terms + 2 * ROOT_EXP * far + UNIT * far**2)
    if _is_direct(sides):
        return direct
    # a product is used where ‖x‖² + ‖y‖² ≤ LOST_RATIO ‖x − y‖²
    c, near = 1 - UNIT * _distance_by_product(sides.terms), left + right
    if c < 1 - LARGEST_SHARE:
        return float("inf")
    # the largest e^(−ct) min(near, LOST_RATIO t), then rounded rows, then what is computed again
    most = (
        LOST_RATIO * T_EXP / c if near * c > LOST_RATIO else near * np.exp(-near * c / LOST_RATIO)
    )
    rows = float(np.sqrt(8.0)) * min(
        float(np.sqrt(near)) * ROOT_EXP, float(np.sqrt(LOST_RATIO)) * T_EXP
    )
    product = (sides.terms + 8) * most + (3 * T_EXP + rows) / c
    again = min(T_EXP, 2 * near) * (2 * sides.terms + 4) / c
    return float(max(direct, product, again))


def _of_roots(rate: float, sides: Operands) -> float:
    """t = rate ‖x − y‖."""
    far = rate * float(sum(np.sqrt(size) for size in sides.largest(2.0)))
    terms = sides.X.data.shape[1] // 8 + 9
    direct = _growth(terms + far) * (T_EXP * terms + far)
    return direct if _is_direct(sides) else max(direct, T_EXP * _of_product(sides.terms, 0.5, 3))


def _is_direct(sides: Operands) -> bool:
    """Tell whether all values come from differences of rows."""
    few = sides.X.data.shape[1] <= MOST_OF_BLOCKS[SINGLE]
    return sides.direct and few and not (sides.X.is_sparse or sides.Y.is_sparse)


def _distance_by_product(terms: int) -> float:
    """Return the units that ‖x − y‖² is off by, relative, where an inner product is used."""
    return LOST_RATIO * (terms + 8) + 16


def _of_product(terms: int, power: float, more: float) -> float:
    """Return the units that t is off by, relative, of t = (rate ‖x − y‖²)^power and some more."""
    units = power * _distance_by_product(terms) + more
    return units * _growth(units)


def _growth(units: float) -> float:
    """Return what e^δ − 1 is of δ at most, and e⁻ᵗ of a t that is smaller by such a share."""
    share = UNIT * units
    return float(np.exp(2 * share)) / (1 - share) if share <= LARGEST_SHARE else float("inf")
