"""Kernel values among pairs of groups of points, each value computed once."""

from __future__ import annotations

import numpy as np

from mercer._scratch import scratch
from mercer.gram.base import Gram


class PairBlocks:
    """The values of any two groups as one matrix, from blocks that pairs share.

    Pairs are asked for group by group: ``start(i)`` computes the blocks of group i against all
    later ones at once, in all threads; ``matrix(i, j)`` puts a pair together and may be called by
    several threads.
    """

    def __init__(self, K: Gram, groups: list[np.ndarray]):
        self.K, self.groups = K, groups
        self._own = [K.among(group) for group in groups]
        self._edges = np.cumsum([0, *map(len, groups)])
        self._first, self._strip = -1, np.empty((0, 0))

    @staticmethod
    def nbytes(sizes: list[int], itemsize: int) -> int:
        """Return the bytes that blocks of groups of these sizes take."""
        return (sum(n * n for n in sizes) + max(sizes) * sum(sizes)) * itemsize

    def start(self, i: int) -> None:
        """Compute the blocks of group i with all later ones."""
        later = np.concatenate([*self.groups[i + 1 :], np.empty(0, np.intp)])
        self._first, self._strip = i, self.K._block(self.groups[i], later)

    def matrix(self, i: int, j: int) -> np.ndarray:
        """Return the values among groups i < j, those of group i first."""
        if i != self._first:
            raise ValueError(f"group {i} has not been started; the current one is {self._first}")
        n, m = len(self.groups[i]), len(self.groups[j])
        offset = self._edges[i + 1]
        cross = self._strip[:, self._edges[j] - offset : self._edges[j + 1] - offset]
        out = scratch((n + m, n + m), self.K.dtype, brief=True)
        out[:n, :n], out[n:, n:] = self._own[i], self._own[j]
        out[:n, n:], out[n:, :n] = cross, cross.T
        return out
