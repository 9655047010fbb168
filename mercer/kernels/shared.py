"""Statistics of one sample, computed once and read by every kernel on it.

Squared distances serve every γ, inner products every degree: of each further kernel only the
elementwise part is left to do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mercer._array import allocate
from mercer.kernels.base import Kernel
from mercer.kernels.sample import STATISTICS, Sample
from mercer.kernels.tiles import fill_tiles, working_dtype
from mercer.kernels.vector import VectorKernel


class SharedStatistics:
    """The Gram matrices of many kernels on one sample, from statistics that are kept.

    Parameters
    ----------
    X : Sample
        The rows.
    dtype : float32 or float64
        The precision of statistics and Gram matrices.
    statistics : iterable of str or Kernel
        Which statistics to keep, once a kernel has asked for them; a kernel that needs others is
        computed as usual.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> from mercer.kernels.sample import Sample
    >>> from mercer.kernels.shared import SharedStatistics
    >>> shared = SharedStatistics(Sample(np.eye(2)), np.float64, ["squared_distance"])
    >>> shared.gram(RBF(gamma=0.5)).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    def __init__(self, X: Sample, dtype: Any, statistics: Iterable[Any] = ()):
        self.X, self.dtype, self.statistics = X, np.dtype(dtype), frozenset(statistics)
        self._stored: dict[Any, np.ndarray] = {}

    def statistic(self, name: Any) -> np.ndarray:
        """Return a statistic of all pairs of rows, computed once."""
        if name not in self._stored:
            self._stored[name] = self._compute(name)
        return self._stored[name]

    def _compute(self, statistic: Any) -> np.ndarray:
        kernel = RAW[statistic]() if isinstance(statistic, str) else statistic
        # float32 has no room for the statistics of very large or small rows
        dtype = working_dtype(kernel, self.X, self.X, self.dtype)
        out = allocate((len(self.X), len(self.X)), dtype)
        fill_tiles(kernel, self.X, self.X, out)
        return out

    def gram(self, kernel: Kernel, out: np.ndarray | None = None) -> np.ndarray:
        """Return the values of a bound kernel on all pairs of rows."""
        if out is None:
            out = allocate((len(self.X), len(self.X)), self.dtype)
        used = statistics_of(kernel)
        if not used or not used <= self.statistics:
            fill_tiles(kernel, self.X, self.X, out)
            return out
        for name in used:
            self.statistic(name)
        fill_tiles(kernel, self.X, self.X, out, self._stored)
        return out


def statistics_of(kernel: Kernel) -> set[Any]:
    """Return the statistics that a kernel is made of and that may be kept."""
    return {s for s in kernel._uses() if isinstance(s, Kernel) or s in STATISTICS}


class RawStatistic(VectorKernel):
    """A statistic as it is, as the values of a tile (it is no kernel)."""

    def epilogue(self, values: np.ndarray) -> None:
        pass


RAW: dict[str, type[RawStatistic]] = {
    name: type(f"Raw_{name}", (RawStatistic,), {"statistic": name}) for name in STATISTICS
}
