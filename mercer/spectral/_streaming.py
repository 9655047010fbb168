"""The covariance of rows that come in batches, as a factor.

What is kept of all rows so far is their number n, their mean and a factor F with

    FᵀF = Σᵢ (xᵢ − mean)(xᵢ − mean)ᵀ.

A batch of m rows about its own mean goes below F, with one row √(nm/(n + m))·(difference of the
means), and QR reduces the stack. Nothing is squared, so that the singular values of F are as
accurate as those of all rows at once. Where d×d is too large, the factor is cut to a rank (Ross,
Lim, Lin and Yang, 2008), and what was cut is counted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer.spectral._centered import centered, moments, triangle_of

EXACT_UP_TO = 2000  # columns: all d×d figures are kept
SPARE = 10  # rows of a cut factor beyond twice the components: later batches may need them


class Factor(NamedTuple):
    """All rows so far, as far as their covariance goes."""

    n: int
    mean: np.ndarray  # (d,)
    F: np.ndarray  # (r, d)
    cut: float = 0.0  # the sum of the eigenvalues that were cut off
    shortfall: float = 0.0  # the most that an eigenvalue of FᵀF is too small by

    @classmethod
    def empty(cls, d: int) -> Factor:
        """Return the factor of no rows."""
        return cls(0, np.zeros(d), np.empty((0, d)))

    def extended(self, X: Any, k: int | None) -> Factor:
        """Return the factor of these rows and the rows of X, for k components (None: all)."""
        m = X.shape[0]
        mean = moments(X).mean
        weight = m / (self.n + m)
        step = mean - self.mean if self.n else np.zeros(X.shape[1])
        bridge = np.sqrt(self.n * weight) * step
        stack = np.vstack([self.F, _rows_about(X, mean), bridge])
        moved = self.mean + weight * step if self.n else mean
        return self._replace(n=self.n + m, mean=moved, F=stack)._reduced(k)

    def _reduced(self, k: int | None) -> Factor:
        """Shorten the factor once it has twice the rows that are needed."""
        d = self.F.shape[1]
        most = d if k is None or d <= EXACT_UP_TO else min(d, 2 * k + SPARE)
        if len(self.F) <= 2 * most:
            return self
        if most == d:
            return self._replace(F=triangle_of(self.F))
        return self._cut_to(most)

    def _cut_to(self, most: int) -> Factor:
        """Keep the largest singular values; by Weyl's inequality what the rest can do adds up."""
        _, singular, Vt = np.linalg.svd(self.F, full_matrices=False)
        rest = singular[most:] ** 2
        return self._replace(
            F=singular[:most, None] * Vt[:most],
            cut=self.cut + float(rest.sum()),
            shortfall=self.shortfall + float(rest[0]),
        )


def _rows_about(X: Any, mean: np.ndarray) -> np.ndarray:
    """Return the centred rows, or R of their QR if that has fewer rows."""
    A = centered(X, mean, transposed=False)
    return A.triangle() if X.shape[0] > X.shape[1] else A.tile(slice(None))
