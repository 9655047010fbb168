"""Standard errors of coefficients from a Hessian, and the table of both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.special import ndtr

from mercer._floats import EPS
from mercer.linear._logistic_design import Design
from mercer.result import html_table


@dataclass(frozen=True)
class CoefficientTable:
    """Coefficients with their standard errors, z = coefficient / error and p = 2 P(Z > |z|).

    Parameters
    ----------
    names : list of str
        A name for each coefficient, the class first if there are several.
    coef, standard_error, z, p_value : array
        The columns.
    """

    names: list[str]
    coef: np.ndarray
    standard_error: np.ndarray
    z: np.ndarray
    p_value: np.ndarray

    @classmethod
    def of(cls, names: list[str], coef: np.ndarray, errors: np.ndarray) -> CoefficientTable:
        with np.errstate(divide="ignore", invalid="ignore"):
            z = coef / errors
        return cls(names, coef, errors, z, 2.0 * ndtr(-np.abs(z)))

    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield the lines of the table."""
        yield "", f"{'coef':>10} {'std error':>10} {'z':>8} {'p':>8}"
        figures = (self.names, self.coef, self.standard_error, self.z, self.p_value)
        for name, coef, error, z, p in zip(*figures, strict=True):
            yield name, f"{coef:>10.4g} {error:>10.4g} {z:>8.3f} {p:>8.3g}"

    def __str__(self) -> str:
        width = max(len(name) for name in self.names)
        return "\n".join(f"{name:<{width}}  {text}" for name, text in self.rows())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table("coefficients", self.rows())


def standard_errors(H: np.ndarray, design: Design, k: int) -> np.ndarray:
    """Return √diag(M H⁻¹ Mᵀ) of the map M from coordinates to coefficients, (d + 1, k).

    The last row is that of the intercepts. Directions without curvature, along which nothing is
    known, have no part in it.
    """
    values, V = eigh(H, check_finite=False)
    keep = values > len(H) * EPS * values[-1]
    root = V[:, keep] / np.sqrt(values[keep])  # H⁻¹ = root rootᵀ
    m = len(H) // k
    errors = []
    for c in range(k):
        w, b = design.back(root[c * m : (c + 1) * m])
        errors.append(np.sqrt(np.append(np.sum(w**2, axis=1), np.sum(b**2))))
    return np.column_stack(errors)
