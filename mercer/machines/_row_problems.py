"""Rows of any size as problems that solvers go through in passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from mercer.kernels import Kernel
from mercer.rows import Block, Rows, map_reduce
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

    def read(self) -> Piece:
        X, y = self.block.read()
        return self.problem.piece(X, y, slice(self.start, self.stop))


class RowProblem:
    """Rows with targets and weights, for solvers that go over them in passes.

    Parameters
    ----------
    rows : Rows
        With targets.
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
        weight = np.ones(len(y)) if self._weight is None else self._weight[index]
        return Piece(self._kernel.sample(X), *self._encode(y, weight))

    def row_bytes(self) -> int:
        """Return the bytes of a row."""
        return self._rows.dtype.itemsize * max(self._rows.n_columns, 1)


def class_totals(rows: Rows, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes of the targets, sorted, and the weight of each: one pass over these."""

    def count(block: Block, state: None) -> Counter[Any]:
        y = block.read_target()
        check_classification_targets(y)
        labels, codes = np.unique(y, return_inverse=True)
        own = None if weight is None else weight[block.start : block.stop]
        return Counter(dict(zip(labels.tolist(), np.bincount(codes, own).tolist(), strict=True)))

    totals = map_reduce(count, rows.blocks())
    classes = np.unique(np.array(list(totals)))
    if len(classes) < 2:
        raise ValueError(
            f"y must hold at least two classes; got {len(classes)} class: {classes.tolist()}"
        )
    return classes, np.array([totals[label] for label in classes.tolist()], dtype=np.float64)


def matching(model: Any, rows: Rows) -> Rows:
    """Return rows with the columns that a model was fitted to, which are found by their names."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None and rows.columns is not None and tuple(names) != rows.columns:
        rows = rows.select(list(names))
    if rows.n_columns != model.n_features_in_:
        raise ValueError(
            f"X has {rows.n_columns} columns, but {type(model).__name__} was fitted with "
            f"{model.n_features_in_}"
        )
    return rows
