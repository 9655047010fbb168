"""The span of landmarks, and passes over rows that see them through it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dtrcon

from mercer._array import n_threads, ranges
from mercer._floats import TINY
from mercer.gram import fresh_array, gram
from mercer.kernels import Kernel
from mercer.kernels.sample import Sample
from mercer.kernels.tiles import fill_tiles
from mercer.solvers import _lapack
from mercer.solvers.pivoted import pivoted_cholesky

BLOCK_VALUES = 2**21  # of the kernel; more are not faster
ROW_BYTES = 2**24  # of rows that are read at once
BLOCK_WORK = 2e10  # about half a second
CORES = 6  # matrices of the landmarks alone
COPIES = 5  # of kernel values that a worker has at once: features, weighted ones, parts of them
NEARLY_DEPENDENT = 1e-10  # pivots, relative to the largest: with less no gradient can be proved
CLEAR_CONDITION = 1e-3  # of 1 / U: products of kernel values say as much as those of features


@dataclass(frozen=True)
class Piece:
    """Rows with their targets (b, t) and weights (b,)."""

    rows: Sample
    Y: np.ndarray
    weight: np.ndarray

    def __getitem__(self, index: Any) -> Piece:
        return Piece(self.rows[index], self.Y[index], self.weight[index])


class PieceBlock(Protocol):
    """A block of rows that is read when it is asked for."""

    @property
    def start(self) -> int:
        """The number of its first row."""
        ...

    @property
    def stop(self) -> int:
        """The number after that of its last row."""
        ...

    def read(self) -> Piece:
        """Return its rows."""
        ...


class SpanProblem(Protocol):
    """Rows, targets and weights that are gone through in passes."""

    n: int
    n_targets: int

    def blocks(self, size: int) -> Sequence[PieceBlock]:
        """Return blocks of at most so many rows."""
        ...

    def take(self, index: np.ndarray) -> Piece:
        """Return rows by their numbers."""
        ...

    def row_bytes(self) -> int:
        """Return the bytes of a row."""
        ...


@dataclass(frozen=True)
class _Slice:
    start: int
    stop: int
    whole: Piece

    def read(self) -> Piece:
        return self.whole[self.start : self.stop]


class InMemory:
    """Rows that are in memory."""

    def __init__(self, rows: Sample, Y: np.ndarray, weight: np.ndarray):
        self._whole = Piece(rows, Y, weight)
        self.n, self.n_targets = len(rows), Y.shape[1]

    def blocks(self, size: int) -> list[_Slice]:
        """Return blocks of at most so many rows."""
        return [_Slice(part.start, part.stop, self._whole) for part in ranges(self.n, size)]

    def take(self, index: np.ndarray) -> Piece:
        """Return rows by their numbers."""
        return self._whole[index]

    def row_bytes(self) -> int:
        """Return the bytes of a row, which are there already."""
        return 8


class Span:
    """f = Σⱼ βⱼ k(·, zⱼ) = c·φ: with k(Z, Z) = UᵀU, pivoted, φ(x) = U⁻ᵀk(Z, x) and ‖f‖ = ‖c‖.

    Parameters
    ----------
    kernel : Kernel
        Bound to the training rows.
    points : Sample
        The m landmarks.
    budget : int
        Bytes.
    block_values : int
        Kernel values that a worker has at once, unless the budget is smaller.
    block_work : float
        Operations of a block, after which a pass can be stopped.
    """

    def __init__(
        self,
        kernel: Kernel,
        points: Sample,
        budget: int,
        block_values: int = BLOCK_VALUES,
        block_work: float = BLOCK_WORK,
    ):
        self.kernel, self.n_points, self._block_work = kernel, len(points), block_work
        core = fresh_array(gram(kernel, points, dtype=np.float64, memory=budget))
        largest = float(np.diagonal(core).max(initial=0.0))
        U, order = pivoted_cholesky(core, NEARLY_DEPENDENT * max(largest, TINY))
        self.U, self.order = U[:, : len(U)], order[: len(U)]
        self.rank = len(U)
        """The number of landmarks that are not combinations of others."""
        self.kept = points[self.order]
        self.budget = budget
        m = max(self.n_points, 1)
        room = max(budget - 8 * CORES * m * m, budget // 4) // (8 * COPIES * n_threads())
        self.step = max(1, min(block_values, room) // m)
        """Rows whose kernel values are in memory at once."""

    def without_factor(self) -> Span:
        """Return what knows kernel values alone: it is sent to workers without m × m numbers."""
        lean = copy(self)
        lean.U = np.empty((0, 0))
        return lean

    @cached_property
    def is_clear(self) -> bool:
        """Whether landmarks are so different that φφᵀ can be had from sums of k kᵀ."""
        return bool(self.rank and dtrcon(self.U)[0] > CLEAR_CONDITION)

    def rows_of_block(self, problem: SpanProblem, work_per_row: float) -> int:
        """Return how many rows make a block: what is read at once, and worth half a second."""
        most = min(self._block_work / max(work_per_row, 1.0), ROW_BYTES / problem.row_bytes())
        return max(self.step, int(most))

    def pieces(self, block: PieceBlock) -> Iterator[tuple[slice, Piece]]:
        """Yield parts of a block that are small enough for their kernel values."""
        whole = block.read()
        for part in ranges(len(whole.rows), self.step):
            yield slice(block.start + part.start, block.start + part.stop), whole[part]

    def values(self, rows: Sample, dtype: Any = np.float64) -> np.ndarray:
        """Return the kernel values of rows against the landmarks in use, (b, r)."""
        out = np.empty((len(rows), self.rank), dtype)
        fill_tiles(self.kernel, rows, self.kept, out)
        return out

    def features(self, values: np.ndarray) -> np.ndarray:
        """Return φ of rows, (r, b), from their kernel values, (r, b)."""
        return _lapack.solve_transposed(self.U, values)

    def missed(self, rows: Sample, features: np.ndarray) -> np.ndarray:
        """Return k(x, x) − ‖φ(x)‖² of rows, (b,): what lies outside the span."""
        diagonal = self.kernel.diagonal_of(rows, np.float64)
        return np.maximum(diagonal - np.einsum("ij,ij->j", features, features), 0.0)

    def on_kept(self, c: np.ndarray) -> np.ndarray:
        """Return β of the landmarks in use, with Σ βⱼ k(x, zⱼ) = c·φ(x)."""
        return solve_triangular(self.U, c, check_finite=False)

    def coefficients(self, c: np.ndarray) -> np.ndarray:
        """Return β of all landmarks; those that add nothing have 0."""
        beta = np.zeros((self.n_points, c.shape[1]))
        beta[self.order] = self.on_kept(c)
        return beta
