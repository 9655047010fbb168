"""What a fit says about its coefficients: standard errors, tests, intervals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from mercer._display import Row, Shown
from mercer.linear._base import DenseDesign, Range


@dataclass(frozen=True, repr=False)
class CoefficientTable(Shown):
    """Coefficients with their standard errors, z = coefficient / error and p = 2 P(Z > |z|).

    Parameters
    ----------
    names : list of str
        A name for each coefficient, the class or the target first if there are several.
    coef, standard_error, z, p_value : array
        The columns.
    degrees_of_freedom : float
        Of Student's t distribution, which Z then has; infinite for the normal one.
    """

    _title = "coefficients"

    names: list[str]
    coef: np.ndarray
    standard_error: np.ndarray
    z: np.ndarray
    p_value: np.ndarray
    degrees_of_freedom: float = np.inf

    @classmethod
    def of(
        cls,
        names: list[str],
        coef: np.ndarray,
        errors: np.ndarray,
        degrees_of_freedom: float = np.inf,
    ) -> CoefficientTable:
        with np.errstate(divide="ignore", invalid="ignore"):
            z = coef / errors
        normal = np.isinf(degrees_of_freedom)
        tail = ndtr(-np.abs(z)) if normal else stdtr(degrees_of_freedom, -np.abs(z))
        return cls(names, coef, errors, z, 2.0 * tail, degrees_of_freedom)

    def interval(self, level: float = 0.95) -> np.ndarray:
        """Return an interval for each coefficient, (m, 2), that covers it with this probability."""
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must be between 0 and 1; got {level!r}")
        share, free = 0.5 * (1.0 - level), self.degrees_of_freedom
        lowest = ndtri(share) if np.isinf(free) else stdtrit(free, share)
        reach = np.outer(self.standard_error, [lowest, -lowest])
        return self.coef[:, None] + reach

    def rows(self) -> Iterator[Row]:
        """Yield the lines of the table."""
        letter = "z" if np.isinf(self.degrees_of_freedom) else "t"
        yield "", f"{'coef':>10} {'std error':>10} {letter:>8} {'p':>8}"
        figures = (self.names, self.coef, self.standard_error, self.z, self.p_value)
        for name, coef, error, z, p in zip(*figures, strict=True):
            yield name, f"{coef:>10.4g} {error:>10.4g} {z:>8.3f} {p:>8.3g}"

    def __str__(self) -> str:
        width = max(len(name) for name in self.names)
        return "\n".join(f"{name:<{width}}  {text}" for name, text in self.rows())

    __repr__ = __str__


def least_squares_errors(
    design: DenseDesign, basis: Range, residual: np.ndarray, intercept: bool
) -> tuple[np.ndarray, int] | None:
    """Return the standard errors (d + 1, t) of w and, in the last row, b; and what is left of n.

    They are √(σ² diag (XᵀWX)⁻¹), with σ² = Σ w r² / (n − d − 1). None where the columns do not
    determine the coefficients, or where no row is left to tell σ² from.
    """
    n, d = design.X.shape
    free = n - d - int(intercept)
    if basis.rank < d or free < 1:
        return None
    unit, y_unit = design.unit, design.y_unit
    sigma = np.sqrt(np.einsum("it,it->t", residual, residual) / free)
    root = basis.V / basis.sizes / basis.scale[:, None]  # (XᵀWX)⁻¹ = root rootᵀ
    spread = np.sqrt(np.einsum("ij,ij->i", root, root)) / unit
    at_zero = (design.mean / unit) @ root
    offset = (1.0 / n + float(at_zero @ at_zero)) ** 0.5 if intercept else 0.0
    return np.outer(np.append(spread, offset), sigma) * y_unit, free
