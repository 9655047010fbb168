"""Rows of any size as problems that solvers go through in passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels import Kernel
from mercer.rows import Block, Rows
from mercer.rows.stored import StoredPart
from mercer.solvers.span import Piece

Encode = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Takes targets and weights of some rows; returns targets (b, t) and weights (b,)."""


@dataclass(frozen=True)
class _RowBlock:
    block: Block
    problem: RowProblem

    @property
    def start(self) -> int:
        return self.block.start

    @property
    def stop(self) -> int:
        return self.block.stop

    @property
    def part_number(self) -> int:
        return self.block.part_number

    @property
    def part(self) -> StoredPart:
        return self.block.part

    @property
    def travels(self) -> bool:
        return self.block.travels

    def read(self) -> Piece:
        X, y = self.block.read()
        return self.problem.piece(X, y, slice(self.start, self.stop))


class RowProblem:
    """Rows with targets and weights, for solvers that go over them in passes.

    Parameters
    ----------
    rows : Rows
        With targets; ``encode`` sees weights in their place where there are none.
    kernel : Kernel
        What makes samples of rows.
    encode : callable
        What makes numbers of targets.
    weight : array of shape (n,) or None
        Weights ≥ 0; None: 1 each.
    n_targets : int
        The number of columns that ``encode`` returns.
    """

    def __init__(self, rows: Rows, kernel: Kernel, encode: Encode, weight: Any, n_targets: int):
        self._rows, self._kernel, self._encode, self._weight = rows, kernel, encode, weight
        self.n, self.n_targets = rows.n, n_targets

    def blocks(self, size: int) -> list[_RowBlock]:
        """Return blocks of at most so many rows."""
        return [_RowBlock(block, self) for block in self._rows.blocks(size)]

    def take(self, index: np.ndarray) -> Piece:
        """Return rows by their numbers."""
        X, y = self._rows.take_both(index)
        return self.piece(X, y, index)

    def piece(self, X: Any, y: Any, index: Any) -> Piece:
        """Return rows that were read as a sample, with numbers for targets."""
        weight = np.ones(X.shape[0]) if self._weight is None else self._weight[index]
        return Piece(self._kernel.sample(X), *self._encode(weight if y is None else y, weight))

    def row_bytes(self) -> int:
        """Return the bytes of a row."""
        return self._rows.dtype.itemsize * max(self._rows.n_columns, 1)
