"""The problem that all support vector machines are, and its optimality conditions.

    min ½ βᵀKβ − zᵀβ + ε‖β‖₁   subject to  lo ≤ β ≤ hi,  Σβ = s

with residuals e = z − Kβ; its dual variable for the sum is the offset b of f(x) = Σβk(x, xᵢ) + b.
Classification has z = ±1, ε = 0 and bounds between 0 and ±C; regression bounds ±C; novelty
detection z = 0 and bounds 0, 1/(νn).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer._compiled import compiled, compiled_part
from mercer._floats import EPS, TINY

ROUNDINGS_OF_SUM = 16  # of a sum of coefficients, each by as much as float64 can tell apart


class MarginProblem(NamedTuple):
    """Targets z, bounds lo ≤ β ≤ hi, the half-width ε of the tube, and the sum s of β."""

    z: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    eps: float
    total: float = 0.0

    @classmethod
    def classify(cls, sign: np.ndarray, C: np.ndarray) -> MarginProblem:
        """Return the problem of a classifier for labels ±1 and a bound C for each point."""
        return cls(sign, np.where(sign > 0, 0.0, -C), np.where(sign > 0, C, 0.0), 0.0)

    @classmethod
    def regress(cls, y: np.ndarray, C: np.ndarray, epsilon: float) -> MarginProblem:
        """Return the problem of ε-insensitive regression."""
        return cls(y, -C, C, float(epsilon))

    def is_free(self, beta: np.ndarray) -> np.ndarray:
        """Tell which points lie strictly between their bounds (and off 0 if there is a tube)."""
        free = (beta > self.lo) & (beta < self.hi)
        return free & (beta != 0)

    def offset(self, beta: np.ndarray, e: np.ndarray) -> tuple[float, float]:
        """Return b and the violation of the worst pair of points.

        b is the mean over the free points, and without any the middle of what the others allow.
        A coefficient that is nearer to 0 or to a bound than the rounding of the sum of all bounds
        counts as there: else the last digit of a sum would choose the free point, and with it b.
        """
        return _offset(beta, e, self.lo, self.hi, self.eps)

    def figures(self, beta: np.ndarray, e: np.ndarray, b: float) -> Figures:
        """Return what a proof needs, each recomputed from β and e."""
        return Figures(*_figures(beta, e, self.z, self.lo, self.hi, self.eps, b))

    def unbalanced(self, f: Figures, size: float) -> float:
        """Return what Σβ is off by, in the unit of the coefficients; ``size`` is Σ|β|.

        Where all residuals are equal the gap does not see it.
        """
        return abs(f.total - self.total) / max(size, abs(self.total), TINY)

    def objectives(self, f: Figures, b: float) -> tuple[float, float, float, float]:
        """Return the primal and dual values, their gap, and the gap relative to them.

        Σβ that is off by s bounds the least value only up to s times what b may be off by.
        """
        dual = f.linear - 0.5 * f.squared_norm
        imbalance = abs(f.total - self.total) * f.spread
        if np.isinf(f.loss):  # no slack is allowed: scale f until there is none
            primal = 0.5 * f.squared_norm / max(1.0 - f.slack, 1e-100) ** 2
            gap = max(primal - dual, 0.0) + imbalance
        else:
            primal = 0.5 * f.squared_norm + f.loss + b * self.total
            gap = max(f.gap, 0.0) + imbalance
        return primal, dual, gap, gap / max(abs(primal), abs(dual), TINY)

    def relative_gap(self, beta: np.ndarray, e: np.ndarray) -> float:
        """Return the relative duality gap by these residuals."""
        b, _ = self.offset(beta, e)
        return self.objectives(self.figures(beta, e, b), b)[3]

    def clear(self, beta: np.ndarray, r: np.ndarray, clearance: float) -> np.ndarray:
        """Tell which points take no part: β = 0, and no slack by more than the clearance."""
        above = (self.hi <= 0) | (r < self.eps - clearance)
        below = (self.lo >= 0) | (r > clearance - self.eps)
        return (beta == 0) & above & below


class NuProblem(NamedTuple):
    """A margin problem that is told ‖β‖₁ in place of the price of it.

        min ½ βᵀKβ − yᵀβ   subject to  lo ≤ β ≤ hi,  Σβ = 0,  ‖β‖₁ = size

    The multiplier p of ‖β‖₁ comes with the solution. In ν-classification (y = 0, each class on its
    side of 0) it is the margin ρ, and β/ρ solves the problem of a classifier whose bounds are
    divided by ρ. In ν-regression, where ‖β‖₁ ≤ size, it is the half-width ε of the tube.
    """

    y: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    size: float
    tube: bool

    @classmethod
    def classify(cls, problem: MarginProblem, nu: float) -> NuProblem:
        """Return the problem of a share ν of the sum of the bounds of a classifier."""
        size = nu * float((problem.hi - problem.lo).sum())
        return cls(np.zeros(len(problem.z)), problem.lo, problem.hi, size, False)

    @classmethod
    def regress(cls, y: np.ndarray, C: np.ndarray, nu: float) -> NuProblem:
        """Return the problem of regression with a share ν outside of the tube."""
        return cls(y, -C, C, nu * float(C.sum()), True)

    @property
    def largest(self) -> float:
        """The largest ‖β‖₁ that the bounds allow if Σβ = 0."""
        return 2.0 * min(float(self.hi.sum()), -float(self.lo.sum()))

    def at(self, price: float) -> MarginProblem:
        """Return the margin problem of a price; its β is that of this problem over `unit`."""
        if self.tube:
            return MarginProblem(self.y, self.lo, self.hi, price)
        return MarginProblem(self._sign, self.lo / price, self.hi / price, 0.0)

    def unit(self, price: float) -> float:
        """Return what coefficients of `at` have to be multiplied by."""
        return 1.0 if self.tube else price

    def residuals(self, e: np.ndarray, price: float) -> np.ndarray:
        """Return the residuals of `at` from e = y − Kβ."""
        return e if self.tube else self._sign + e / price

    @property
    def _sign(self) -> np.ndarray:
        return np.where(self.hi > 0, 1.0, -1.0)

    def prices(self, beta: np.ndarray, e: np.ndarray) -> tuple[float, float, float]:
        """Return b, the price, and the violation by the worst pair of points on one side of 0."""
        zero = np.zeros(len(beta))
        upper, above = _offset(np.maximum(beta, 0.0), e, zero, self.hi, 0.0)
        lower, below = _offset(np.minimum(beta, 0.0), e, self.lo, zero, 0.0)
        if self.tube and not upper > lower:  # no tube: all residuals count
            b, violation = _offset(beta, e, self.lo, self.hi, 0.0)
            return b, 0.0, violation
        price = 0.5 * (upper - lower if self.tube else lower - upper)
        return 0.5 * (upper + lower), price, max(above, below)

    def judge(self, beta: np.ndarray, e: np.ndarray) -> NuFigures:
        """Return what a proof needs, recomputed from β and e = y − Kβ.

        The gap is that of the margin problem at the price, Σᵢ [hᵢ(rᵢ) + ε|βᵢ| − βᵢrᵢ], and the
        price times what ‖β‖₁ is off by.
        """
        b, price, pair = self.prices(beta, e)
        if not (np.isfinite(price) and price >= 0) or (price == 0 and not self.tube):
            return NuFigures(None, b, price, np.inf, np.nan, np.nan, np.inf, np.inf)
        unit, at = self.unit(price), self.at(price)
        f = at.figures(beta / unit, self.residuals(e, price), b / unit)
        size = float(np.abs(beta).sum())
        gap = unit**2 * (max(f.gap, 0.0) + abs(f.total) * f.spread)
        gap += price * abs(size - self.size)
        norm2 = 0.5 * unit**2 * f.squared_norm
        dual = float(self.y @ beta) - norm2
        relative = gap / max(abs(dual), abs(dual + gap), TINY)
        return NuFigures(f, b, price, pair / unit, dual + gap, dual, gap, relative)


class NuFigures(NamedTuple):
    """What is known of a solution of a ν-problem."""

    figures: Figures | None  # of the margin problem at the price
    b: float
    price: float
    pair: float  # the worst violation by a pair of points, in the unit of the margin problem
    primal: float
    dual: float
    gap: float
    relative_gap: float


class Figures(NamedTuple):
    """Sums, counts and the largest violation of each optimality condition."""

    squared_norm: float  # βᵀKβ
    linear: float  # zᵀβ − ε‖β‖₁
    total: float  # Σβ
    loss: float  # Σ bound · slack
    slack: float  # the largest slack
    gap: float  # Σ [loss + ε|β| − βr], every term ≥ 0
    spread: float  # of the residuals: how far b may be from another one
    box: float
    zero: float
    free: float
    bounded: float
    n_free: int
    n_bounded: int


@compiled_part()
def _rounding_of_sum(lo, hi):
    """Return what rounding leaves in a sum of coefficients: they may reach their bounds."""
    size = 0.0
    for k in range(len(lo)):
        if np.isfinite(hi[k] - lo[k]):
            size += hi[k] - lo[k]
    return ROUNDINGS_OF_SUM * EPS * size


@compiled_part()
def _limits_of_offset(beta, e, lo, hi, eps, near):
    """Return the range of b that the points allow, and the sum and number of the free ones."""
    high, low, total, count = -np.inf, np.inf, 0.0, 0
    for k in range(len(beta)):
        up = -eps if beta[k] >= -near else eps
        down = -eps if beta[k] > near else eps
        if beta[k] < hi[k] - near:
            high = max(high, e[k] + up)
        if beta[k] > lo[k] + near:
            low = min(low, e[k] + down)
        if lo[k] + near < beta[k] < hi[k] - near and abs(beta[k]) > near:
            total += e[k] + up
            count += 1
    return high, low, total, count


@compiled()
def _offset(beta, e, lo, hi, eps):
    """Return the mean of e ∓ ε over free points, else the middle, and the worst violation."""
    high, low, total, count = _limits_of_offset(beta, e, lo, hi, eps, 0.0)
    violation = max(high - low, 0.0) if high > -np.inf and low < np.inf else 0.0
    near = _limits_of_offset(beta, e, lo, hi, eps, _rounding_of_sum(lo, hi))
    if near[3] > 0 or (near[0] > -np.inf and near[1] < np.inf):
        high, low, total, count = near
    if count > 0:
        return total / count, violation
    if high == -np.inf or low == np.inf:
        return (low if high == -np.inf else high) if high != low else 0.0, violation
    return 0.5 * (high + low), violation


@compiled()
def _figures(beta, e, z, lo, hi, eps, b):
    norm2, linear, total, losses, worst, gap = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    box, zero, free, bounded, n_free, n_bounded = 0.0, 0.0, 0.0, 0.0, 0, 0
    high, low = -np.inf, np.inf
    for k in range(len(beta)):
        v, r = beta[k], e[k] - b
        slack = max(r - eps if hi[k] > 0 else 0.0, -r - eps if lo[k] < 0 else 0.0, 0.0)
        loss = slack * (hi[k] if r > 0 else -lo[k]) if slack > 0 else 0.0
        high, low = max(high, e[k]), min(low, e[k])
        norm2 += v * (z[k] - e[k])
        linear += v * z[k] - eps * abs(v)
        total += v
        losses += loss
        worst = max(worst, slack)
        gap += loss + eps * abs(v) - v * r
        box = max(box, lo[k] - v, v - hi[k])
        if v == 0:
            zero = max(zero, slack)
        elif v >= hi[k]:
            bounded = max(bounded, eps - r)
            n_bounded += 1
        elif v <= lo[k]:
            bounded = max(bounded, r + eps)
            n_bounded += 1
        else:
            free = max(free, abs(r - (eps if v > 0 else -eps)))
            n_free += 1
    return (
        norm2, linear, total, losses, worst, gap, high - low,
        box, zero, free, bounded, n_free, n_bounded,
    )  # fmt: skip


@compiled()
def gap_of(beta, e, z, lo, hi, eps):
    """Return b, the violation of the worst pair and the relative gap; bounds are finite, Σβ = 0."""
    b, violation = _offset(beta, e, lo, hi, eps)
    f = _figures(beta, e, z, lo, hi, eps, b)
    dual, primal = f[1] - 0.5 * f[0], 0.5 * f[0] + f[3]
    gap = max(f[5], 0.0) + abs(f[2]) * f[6]
    return b, violation, gap / max(abs(primal), abs(dual), TINY)
