"""Leave-one-out errors of λ near one that is known to be good, each from a factor of its own.

A factor and its inverse take a seventh of the time of an eigendecomposition, and a search that
begins near its end needs three or four of them.
"""

from __future__ import annotations

import numpy as np

from mercer._compiled import compiled
from mercer._floats import EPS
from mercer._scratch import scratch
from mercer.solvers import _lapack
from mercer.solvers._factors import CholeskyForm, norm_of_symmetric
from mercer.solvers._scaled import ScaledMatrix, ScaledSystem


class NearFactors:
    """Inverses of P D K D P + λ for one λ after the other.

    Parameters
    ----------
    matrix : ScaledMatrix
        The matrix, which `last_form` writes over.
    system : ScaledSystem
        Its system.
    """

    def __init__(self, matrix: ScaledMatrix, system: ScaledSystem):
        self._matrix, self._system = matrix, system
        n = len(matrix.A)
        self._room = scratch((n, n), np.float64).T
        self._diagonals: dict[float, np.ndarray] = {}
        self.norm = norm_of_symmetric(matrix.A) / matrix.s
        """Of the matrix: no eigenvalue is beyond."""

    @property
    def lowest(self) -> float:
        """The λ below which there is nothing but rounding."""
        return 10.0 * len(self._room) * EPS * self.norm

    def inverse(self, lam: float) -> tuple[np.ndarray, np.ndarray, float] | None:
        """Return solutions (t, n) for the targets, the diagonal of the inverse and its trace.

        The last two are those on the range of P. None if the matrix is not positive definite.
        """
        A, s, c = self._matrix
        _shifted(A.T, s * lam, self._room.T)
        if not _lapack.cholesky(self._room):
            return None
        _lapack.invert_lower(self._room)
        X = s * (self._system.target @ self._room.T) @ self._room
        diagonal = s * _squares(self._room.T)
        trace, unit = float(diagonal.sum()), self._system.unit
        if unit is not None:
            diagonal -= unit**2 / (c + lam)
            trace -= 1.0 / (c + lam)
        self._diagonals[lam] = diagonal
        return X, diagonal, trace

    def diagonal(self, lam: float) -> np.ndarray:
        """Return the diagonal of the inverse for a λ that was asked for."""
        return self._diagonals[lam]

    def last_form(self, lam: float) -> tuple[CholeskyForm, float]:
        """Return what solves for one λ, and an estimate of the condition number."""
        form = CholeskyForm(self._matrix.A, self._matrix.s * lam)
        return form, form.condition((self.norm + lam) * self._matrix.s)


@compiled()
def _shifted(rows, shift, out):
    """Write the upper triangle of a matrix, and more on its diagonal, into ``out``; 0 below."""
    n = len(rows)
    for j in range(n):
        for i in range(j):
            out[j, i] = 0.0
        out[j, j] = rows[j, j] + shift
        for i in range(j + 1, n):
            out[j, i] = rows[j, i]


@compiled(fastmath={"reassoc", "contract"})
def _squares(rows):
    """Return the sum of squares of each row of an upper triangle."""
    sums = np.zeros(len(rows))
    for j in range(len(rows)):
        total = 0.0
        for i in range(j, len(rows)):
            total += rows[j, i] * rows[j, i]
        sums[j] = total
    return sums
