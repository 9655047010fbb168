"""Kernels of texts and counts: the angle between two rows."""

from __future__ import annotations

import numpy as np

from mercer.kernels.base import PSD
from mercer.kernels.sample import Pair, Sample
from mercer.kernels.vector import Linear, VectorKernel


class Cosine(VectorKernel):
    """Cosine kernel k(x, y) = x·y / (‖x‖ ‖y‖): alike in direction, whatever the lengths.

    A row of zeros has no direction: its values are 0. Sparse rows stay sparse.

    Examples
    --------
    >>> from mercer.kernels import Cosine
    >>> Cosine()([[3.0, 4.0], [0.0, 0.0]], [[1.0, 0.0]])
    array([[0.6],
           [0. ]])
    """

    statistic = "inner"

    @property
    def definiteness(self) -> str:
        return PSD

    def _fill(self, pair: Pair, out: np.ndarray) -> None:
        Linear()._fill_normalized(pair, out)

    def _diagonal(self, X: Sample) -> np.ndarray:
        return Linear()._diagonal_normalized(X)
