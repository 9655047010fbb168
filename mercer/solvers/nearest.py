"""Nearest points in the feature space of a kernel or in a norm: no matrix of all distances.

‖φ(x) − φ(y)‖² = k(x, x) − 2k(x, y) + k(y, y)

Where the kernel is a falling function of a distance between rows the search is for that distance,
which does not cancel: a Gaussian kernel has the neighbours of the Euclidean distance, and its
feature distance is −2(exp(−γd²) − 1).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._array import allocate, ranges
from mercer._floats import DOUBLE, EPS, LEAST_DIVISOR, TINY
from mercer.gram import require_finite
from mercer.kernels import Kernel, Linear
from mercer.kernels.base import INDEFINITE, UNKNOWN
from mercer.kernels.distance import (
    L1Distance,
    SquaredDistance,
    feature_lengths,
    feature_squares,
    in_unit,
    row_distance,
    row_unit,
)
from mercer.kernels.sample import Sample, csr_parts
from mercer.kernels.tiles import Tile, count_workers, each_tile
from mercer.norms import L1, Norm
from mercer.result import Certificate, Solution, Status
from mercer.solvers import _neighbour_loops as loops
from mercer.solvers.euclidean import find_nearest, tree_is_faster
from mercer.solvers.forest import find_most

BLOCK_VALUES = 2**15  # differences of rows that the proof looks at together: they stay in cache
BLOCK = 64, 4096  # rows and points whose distances in a norm are computed together
ROUNDED = 1e-12  # of a distance: two that are nearer than this are equal
NEGATIVE = 1e-6  # a squared distance below minus this share of k(x, x) is no rounding error


class FeatureSearch:
    """The points of a sample, to be searched for the nearest in feature space.

    Parameters
    ----------
    kernel : Kernel
        A bound kernel.
    Y : Sample
        The points to be found.
    """

    def __init__(self, kernel: Kernel, Y: Sample):
        self.kernel, self.Y = kernel, Y
        self.values: Kernel = row_distance(kernel) or kernel

    @property
    def by_distance(self) -> bool:
        """Whether the search is for a distance between rows, not for kernel values."""
        return self.values is not self.kernel

    @property
    def _is_euclidean(self) -> bool:
        return isinstance(self.values, SquaredDistance)

    @cached_property
    def _shift(self) -> np.ndarray:
        """k(y, y), or 0 where it plays no part."""
        return np.zeros(len(self.Y)) if self.by_distance else self._diagonal(self.Y)

    def _diagonal(self, X: Sample) -> np.ndarray:
        return self.kernel.diagonal_of(X, DOUBLE)

    def find(self, X: Sample, k: int, memory: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the ranks and the positions of the k nearest points, each of shape (m, k).

        They are in the order of (rank, position); what a rank is, `squared_distances` knows. Rows
        whose squares would vanish or overflow are searched in a unit of their own.
        """
        unit = row_unit(self.values, X, self.Y)
        if unit != 1.0:
            return self._in_unit(unit).find(in_unit(X, unit), k, memory)
        if self._is_euclidean and not (X.is_sparse or self.Y.is_sparse):
            ranks, positions = self._lists(1, len(X), k, memory)
            find_nearest(X.rows(DOUBLE), self.Y.rows(DOUBLE), ranks[0], positions[0])
        else:
            ranks, positions = self._by_tiles(X, k, memory)
        ranks, positions = _merged(ranks, positions)
        require_finite(ranks)  # NaN never enters a list and leaves a gap, which is inf
        return ranks, positions

    @property
    def finds_most(self) -> bool:
        """Whether `find_most` can be used: a tree of all distances is slow, and rows are dense."""
        n, d = self.Y.data.shape
        return self._is_euclidean and not self.Y.is_sparse and not tree_is_faster(n, d, 1)

    def find_most(self, k: int, memory: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return ranks and positions of near points of each point; some nearest may be missing."""
        unit = row_unit(self.values, self.Y, self.Y)
        points = self.Y if unit == 1.0 else in_unit(self.Y, unit)
        return find_most(points.rows(DOUBLE), k, memory)

    def share_found(self, ranks: np.ndarray, some: np.ndarray) -> float:
        """Return what part of the lists of some points is among the nearest, by exact search."""
        k = ranks.shape[1]
        wanted, _ = self.find(self.Y[some], k + 1)  # each point finds itself, too
        return float((ranks[some] <= (1.0 + ROUNDED) * wanted[:, -1:]).mean())

    def _in_unit(self, unit: float) -> FeatureSearch:
        return FeatureSearch(self.kernel, in_unit(self.Y, unit))

    def _lists(self, workers: int, m: int, k: int, memory: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return lists that are empty yet: ranks of inf, positions behind the last point."""
        shape = (workers, m, k)
        best, index = allocate(shape, DOUBLE, memory), allocate(shape, np.int64, memory)
        best[...], index[...] = np.inf, len(self.Y)
        return best, index

    def _by_tiles(self, X: Sample, k: int, memory: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the lists of all workers, shape (workers, m, k)."""
        Y = self.Y
        if X.is_sparse != Y.is_sparse:
            X, Y = (sample.derive("csr", sp.csr_array) for sample in (X, Y))
        best, index = self._lists(count_workers(self.values, X, Y), len(X), k, memory)
        keep = self._keeper(X, Y)

        def use(tile: Tile, values: np.ndarray, worker: int) -> None:
            rows, columns = tile
            keep(values, rows, columns.start, best[worker, rows], index[worker, rows])

        each_tile(self.values, X, Y, DOUBLE, use, mirror=False)
        return best, index

    def _keeper(self, X: Sample, Y: Sample) -> Any:
        """Return what brings the lists of some rows up to date with a tile."""
        if not isinstance(self.values, SquaredDistance):
            factor, shift = (1.0 if self.by_distance else -2.0), self._shift
            return lambda values, rows, start, best, index: loops.keep_least(
                values, factor, shift, start, best, index
            )
        left, points = X.rows(DOUBLE), csr_parts(Y.rows(DOUBLE))
        # a tile is off by 20 ulp and by what adding up the columns costs
        slack = 1.0 + 40.0 * (left.shape[1] + 8) * EPS
        return lambda values, rows, start, best, index: loops.keep_nearest_sparse(
            values, slack, *csr_parts(left[rows]), *points, start, best, index
        )

    def squared_distances(self, ranks: np.ndarray, X: Sample) -> np.ndarray:
        """Return ‖φ(x) − φ(y)‖² from the ranks of a search for X, shape (m, k)."""
        if not self.by_distance:
            return self._from_kernel(ranks, X)
        return feature_squares(self.kernel, ranks, row_unit(self.values, X, self.Y))

    def distances(self, ranks: np.ndarray, X: Sample) -> np.ndarray:
        """Return the distances from the ranks of a search for X, shape (m, k)."""
        if not self.by_distance:
            return np.sqrt(self._from_kernel(ranks, X))
        return feature_lengths(self.kernel, ranks, row_unit(self.values, X, self.Y))

    # ------------------------------------------------------------ proof
    def prove(self, some: np.ndarray, k: int, tolerance: float = 1e-9) -> Solution:
        """Find the k nearest of some of the points themselves, and again by brute force."""
        unit = row_unit(self.values, self.Y, self.Y)
        if unit != 1.0:
            return self._in_unit(unit).prove(some, k, tolerance)
        found, index = self.find(self.Y[some], k)
        worst, least = 0.0, 0.0
        for row, ranks in zip(some, found, strict=True):
            wanted = self._all_ranks(row)
            if self._vanishes(row, wanted):
                worst = np.inf
            least_k = np.sort(np.partition(wanted, k - 1)[:k])
            scale = least_k[-1] if self.by_distance else np.abs(self._shift).max()
            error = float(np.abs(least_k - ranks).max())
            worst = max(worst, error / max(float(scale), TINY))
            if not self.by_distance:
                least = min(
                    least, float((wanted + self._shift[row]).min()) / max(scale, LEAST_DIVISOR)
                )
        parts = {
            "rank_error": worst,
            "checked": len(some),
            "least_squared_distance": least if least < -NEGATIVE else 0.0,
            "metric": self._metric(least),
            "storage": "blocked",
        }
        about = f"the {k} nearest of {len(self.Y)} points"
        certificate = Certificate("rank error", worst, tolerance, about, parts)
        status = Status.OPTIMAL if certificate.ok else Status.INACCURATE
        return Solution(
            index, Status.INDEFINITE if parts["metric"] == "no" else status, certificate
        )

    def _vanishes(self, row: int, ranks: np.ndarray) -> bool:
        """Tell whether squares of distances vanish though the rows differ: no order is known."""
        if not isinstance(self.values, SquaredDistance):
            return False
        Y, small = self.Y.rows(DOUBLE), np.flatnonzero(ranks < TINY / EPS)
        return bool((_sum_of_gaps(Y[small], Y[[row]], 1) > 0.0).any()) if len(small) else False

    def _metric(self, least: float) -> str:
        """Say whether distances in feature space are distances."""
        if self.by_distance:
            return "yes"
        if self.kernel.definiteness == INDEFINITE or least < -NEGATIVE:
            return "no"
        return "taken for granted" if self.kernel.definiteness == UNKNOWN else "yes"

    def _all_ranks(self, row: int) -> np.ndarray:
        """Return the ranks of all points for one of them, straight from the formula."""
        if not self.by_distance:
            values = np.empty((1, len(self.Y)))
            self.kernel.block_of(self.Y[[row]], self.Y, values)
            return self._shift - 2.0 * values[0]
        Y = self.Y.rows(DOUBLE)
        power = 2 if isinstance(self.values, SquaredDistance) else 1
        parts = ranges(len(self.Y), max(1, BLOCK_VALUES // max(1, Y.shape[1])))
        return np.concatenate([_sum_of_gaps(Y[part], Y[[row]], power) for part in parts])

    def _from_kernel(self, ranks: np.ndarray, X: Sample) -> np.ndarray:
        own = self._diagonal(X)
        D = ranks + own[:, None]
        scale = max(float(np.abs(own).max(initial=0.0)), float(np.abs(self._shift).max()))
        if D.min(initial=0.0) < -NEGATIVE * scale:
            raise ValueError(
                f"k(x, x) + k(y, y) − 2k(x, y) is negative ({D.min():.3g}): {self.kernel!r} is not "
                f"a positive semidefinite kernel; see check_kernel"
            )
        return np.maximum(D, 0.0)


class NormSearch(FeatureSearch):
    """The same search in a norm that no kernel stands for; ranks are distances.

    Parameters
    ----------
    norm : Norm
        The length of differences.
    Y : Sample
        The points to be found: dense rows, unless the norm is L1.
    """

    def __init__(self, norm: Norm, Y: Sample, block: tuple[int, int] = BLOCK):
        super().__init__(Linear(), Y)
        self.norm, self.block = norm, block
        if norm == L1:
            self.values = L1Distance()

    def find(self, X: Sample, k: int, memory: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances and the positions of the k nearest points, each of shape (m, k)."""
        unit = row_unit(self.values, X, self.Y)
        if unit == 1.0:
            return super().find(X, k, memory)
        ranks, index = self._in_unit(unit).find(in_unit(X, unit), k, memory)
        return ranks * unit, index

    def _in_unit(self, unit: float) -> NormSearch:
        return NormSearch(self.norm, in_unit(self.Y, unit), self.block)

    def _by_tiles(self, X: Sample, k: int, memory: Any) -> tuple[np.ndarray, np.ndarray]:
        return super()._by_tiles(X, k, memory) if self.norm == L1 else self._by_norm(X, k, memory)

    @property
    def _is_euclidean(self) -> bool:
        return False

    def _by_norm(self, X: Sample, k: int, memory: Any) -> tuple[np.ndarray, np.ndarray]:
        best, index = self._lists(1, len(X), k, memory)
        left, right, shift = X.rows(DOUBLE), self.Y.rows(DOUBLE), self._shift
        for rows in ranges(len(X), self.block[0]):
            for points in ranges(len(self.Y), self.block[1]):
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


class DistanceSearch(FeatureSearch):
    """The same search where rows are distances to all points; ranks are distances.

    Parameters
    ----------
    Y : Sample
        The distances between the points to be found, (n, n).
    """

    def __init__(self, Y: Sample):
        super().__init__(Linear(), Y)

    def find(self, X: Sample, k: int, memory: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the least k entries of each row and their positions."""
        best, index = self._lists(1, len(X), k, memory)
        loops.keep_least(X.rows(DOUBLE), 1.0, np.zeros(len(self.Y)), 0, best[0], index[0])
        return best[0], index[0]

    def squared_distances(self, ranks: np.ndarray, X: Sample) -> np.ndarray:
        """Return the squares of the ranks."""
        return ranks**2

    def distances(self, ranks: np.ndarray, X: Sample) -> np.ndarray:
        """Return the ranks."""
        return ranks

    def prove(self, some: np.ndarray, k: int, tolerance: float = 1e-9) -> Solution:
        """Find the k nearest of some of the points, and again by sorting."""
        found, index = self.find(self.Y[some], k)
        wanted = np.sort(self.Y[some].rows(DOUBLE), axis=1)[:, :k]
        scale = max(float(wanted.max(initial=0.0)), TINY)
        error = float(np.abs(wanted - found).max(initial=0.0)) / scale
        parts = {"rank_error": error, "checked": len(some), "metric": "taken for granted"}
        about = f"the {k} nearest of {len(self.Y)} points, of given distances"
        certificate = Certificate("rank error", error, tolerance, about, parts)
        status = Status.OPTIMAL if certificate.ok else Status.INACCURATE
        return Solution(index, status, certificate)


def _sum_of_gaps(Y: Any, x: Any, power: int) -> np.ndarray:
    """Return Σ|y − x|ᵖ for each row of Y and one row x, from the differences."""
    if sp.issparse(Y):
        gaps = abs(Y - sp.csr_array(np.ones((Y.shape[0], 1))) @ sp.csr_array(x)).power(power)
    elif power == 2:
        gaps = Y - x
        return np.einsum("ij,ij->i", gaps, gaps)
    else:
        gaps = np.abs(Y - x)
    return np.asarray(gaps.sum(axis=1)).ravel()


def _merged(best: np.ndarray, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return one list for each row from those of the workers, shapes (workers, m, k)."""
    if len(best) == 1:
        return best[0], index[0]
    workers, m, k = best.shape
    values, places = (a.transpose(1, 0, 2).reshape(m, workers * k) for a in (best, index))
    order = np.lexsort((places, values), axis=1)[:, :k]
    return np.take_along_axis(values, order, axis=1), np.take_along_axis(places, order, axis=1)
