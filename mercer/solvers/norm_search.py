"""Nearest rows by a norm of their differences that no kernel stands for."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._array import ranges
from mercer.kernels import Linear
from mercer.kernels.sample import Sample
from mercer.norms import L1, Norm
from mercer.solvers import _nearest_loops as loops
from mercer.solvers.nearest import BLOCK_VALUES, DOUBLE, FeatureSearch, L1Distance

STRIP, WIDTH = 64, 4096  # new rows and points whose distances are computed together


class NormSearch(FeatureSearch):
    """The points of a sample, to be searched for the nearest in a norm; ranks are distances.

    Parameters
    ----------
    norm : Norm
        The length of differences.
    Y : Sample
        The points to be found: dense rows, unless the norm is L1.
    """

    def __init__(self, norm: Norm, Y: Sample):
        super().__init__(Linear(), Y)
        self.norm = norm
        if norm == L1:
            self.values = L1Distance()

    def _by_tiles(self, X: Sample, k: int, memory: Any) -> tuple[np.ndarray, np.ndarray]:
        return super()._by_tiles(X, k, memory) if self.norm == L1 else self._by_norm(X, k, memory)

    @property
    def _is_euclidean(self) -> bool:
        return False

    def _by_norm(self, X: Sample, k: int, memory: Any) -> tuple[np.ndarray, np.ndarray]:
        best, index = self._lists(1, len(X), k, memory)
        left, right, shift = X.rows(DOUBLE), self.Y.rows(DOUBLE), self._shift
        for rows in ranges(len(X), STRIP):
            for points in ranges(len(self.Y), WIDTH):
                values = self.norm.distances(left[rows], right[points])
                loops.keep_least(values, 1.0, shift, points.start, best[0, rows], index[0, rows])
        return best, index

    def squared_distances(self, ranks: np.ndarray, X: Sample) -> np.ndarray:
        """Return the squares of the ranks."""
        return ranks**2

    def distances(self, ranks: np.ndarray, X: Sample) -> np.ndarray:
        """Return the ranks."""
        return ranks

    def _all_ranks(self, row: int) -> np.ndarray:
        if self.norm == L1:
            return super()._all_ranks(row)
        Y = self.Y.rows(DOUBLE)
        parts = ranges(len(Y), max(1, BLOCK_VALUES // max(1, Y.shape[1])))
        return np.concatenate([self.norm.value(Y[part] - Y[row]) for part in parts])
