"""What passes over a table tell: means, squares and scatter, the latter for batches as a factor."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer.spectral._centered import Centered, centered, gram_tiles, sum_over, tiles, triangle_of

SAMPLED = 1000  # rows of the first guess of a mean
WRONG_GUESS = 10.0  # times the scatter may be what a wrong guess adds to it
EXACT_UP_TO = 2000  # columns: all d×d figures are kept
SPARE_ROWS = 10  # rows of a cut factor beyond twice the components: later batches may need them


class TableMoments(NamedTuple):
    """What one pass over a table tells."""

    mean: np.ndarray  # (d,)
    squares: float  # ‖X − 1 meanᵀ‖², Frobenius
    raw: float  # ‖X‖²
    scatter: np.ndarray | None = None  # (X − 1 meanᵀ)ᵀ(X − 1 meanᵀ), if it was asked for

    @classmethod
    def about(cls, mean: np.ndarray, squares: float, n: int, scatter: Any = None) -> TableMoments:
        """Return the moments; ‖X‖² is that of the centred rows and of the means."""
        squares = max(squares, 0.0)
        return cls(mean, squares, squares + n * float(np.vdot(mean, mean)), scatter)


def moments(X: Any) -> TableMoments:
    """Return means and squares in float64; the mean of a constant column is exact.

    Sums are of differences to the first row, so that neither a large common offset nor many rows
    cost digits.
    """
    n, d = X.shape
    if sp.issparse(X):
        mean = np.asarray(X.sum(axis=0, dtype=np.float64)).ravel() / n
        values = X.data.astype(np.float64, copy=False)
        squares = float(np.vdot(values, values)) - n * float(np.vdot(mean, mean))
        return TableMoments.about(mean, squares, n)
    first = X[0].astype(np.float64)

    def add(rows: slice, total: np.ndarray) -> None:
        D = np.subtract(X[rows], first, dtype=np.float64, order="C")
        total[:d] += D.sum(axis=0)
        total[d] += np.vdot(D, D)

    sums = sum_over(tiles(X.shape), add, (d + 1,))
    shift = sums[:d] / n
    return TableMoments.about(first + shift, float(sums[d]) - n * float(np.vdot(shift, shift)), n)


def scatter_moments(X: np.ndarray, *, sampled: int = SAMPLED) -> TableMoments:
    """Return the moments and the scatter of a dense table in one pass.

    The pass takes off the mean of some rows (``sampled``) spread over the table, and the product
    of the small rest at the end. If these rows were far off, that loses digits, and a second pass
    is made.
    """
    n, d = X.shape
    sample = X[:: max(n // sampled, 1)].astype(np.float64, order="C")
    rough = sample[0] + (sample - sample[0]).mean(axis=0)

    def add(rows: slice, total: np.ndarray) -> None:
        B = np.subtract(X[rows], rough, dtype=np.float64, order="C")
        total[:d] += B.T @ B
        total[d] += B.sum(axis=0)

    sums = sum_over(gram_tiles(X.shape), add, (d + 1, d))
    shift, S = sums[d] / n, sums[:d]
    with np.errstate(over="ignore", invalid="ignore"):
        S -= np.multiply.outer(n * shift, shift)
        is_far_off = n * float(np.vdot(shift, shift)) > WRONG_GUESS * float(np.trace(S))
    if is_far_off:
        mean = moments(X).mean
        S = Centered(X, mean).gram()
        return TableMoments.about(mean, float(np.trace(S)), n, S)
    return TableMoments.about(rough + shift, float(np.trace(S)), n, S)


# ---------------------------------------------------------------- batches
class ScatterFactor(NamedTuple):
    """All rows so far, as far as their covariance goes: FᵀF = Σᵢ (xᵢ − mean)(xᵢ − mean)ᵀ.

    A batch of m rows about its own mean goes below F, with one row √(nm/(n + m))·(difference of
    the means), and QR reduces the stack. Nothing is squared, so that the singular values of F are
    as accurate as those of all rows at once. Where d×d is too large, the factor is cut to a rank
    (Ross, Lim, Lin and Yang, 2008), and what was cut is counted.
    """

    n: int
    mean: np.ndarray  # (d,)
    F: np.ndarray  # (r, d)
    cut: float = 0.0  # the sum of the eigenvalues that were cut off
    shortfall: float = 0.0  # the most that an eigenvalue of FᵀF is too small by

    @classmethod
    def empty(cls, d: int) -> ScatterFactor:
        """Return the factor of no rows."""
        return cls(0, np.zeros(d), np.empty((0, d)))

    def extended(self, X: Any, k: int | None) -> ScatterFactor:
        """Return the factor of these rows and the rows of X, for k components (None: all)."""
        m = X.shape[0]
        mean = moments(X).mean
        weight = m / (self.n + m)
        step = mean - self.mean if self.n else np.zeros(X.shape[1])
        bridge = np.sqrt(self.n * weight) * step
        stack = np.vstack([self.F, _rows_about(X, mean), bridge])
        moved = self.mean + weight * step if self.n else mean
        return self._replace(n=self.n + m, mean=moved, F=stack)._reduced(k)

    def _reduced(self, k: int | None) -> ScatterFactor:
        """Shorten the factor once it has twice the rows that are needed."""
        d = self.F.shape[1]
        most = d if k is None or d <= EXACT_UP_TO else min(d, 2 * k + SPARE_ROWS)
        if len(self.F) <= 2 * most:
            return self
        if most == d:
            return self._replace(F=triangle_of(self.F))
        return self._cut_to(most)

    def _cut_to(self, most: int) -> ScatterFactor:
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
    A = centered(X, mean)
    return A.triangle() if X.shape[0] > X.shape[1] else A.tile(slice(None))
