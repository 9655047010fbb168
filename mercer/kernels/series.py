"""Power series of a kernel."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mercer.kernels.base import PSD, UNKNOWN, Kernel, Unary
from mercer.kernels.sample import Sample


class PowerSeries(Unary):
    """The series Σᵢ cᵢ k(x, y)ⁱ; coefficients ≥ 0 keep it positive semidefinite.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    coefs : sequence of float
        c₀, c₁, c₂, …
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"kernel": [Kernel], "coefs": ["array-like"]}

    def __init__(self, kernel: Kernel, coefs: Any):
        self.kernel = kernel
        self.coefs = coefs

    @property
    def definiteness(self) -> str:
        nonnegative = all(c >= 0 for c in self.coefs)
        return PSD if nonnegative and self.kernel.definiteness == PSD else UNKNOWN

    def _bound_values(self, X: Sample, weights: np.ndarray | None) -> dict[str, Any]:
        coefs = np.asarray(self.coefs)
        numbers = coefs.dtype.kind in "biuf" and coefs.ndim == 1 and coefs.size > 0
        if not (numbers and np.isfinite(coefs).all()):
            raise ValueError(f"coefs must be a list of finite numbers; got {self.coefs!r}")
        return {}

    def _apply(self, values: np.ndarray) -> None:
        base = values.copy()
        values[...] = self.coefs[-1]
        for c in self.coefs[-2::-1]:  # Horner
            values *= base
            values += values.dtype.type(c)
