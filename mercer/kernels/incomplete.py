"""Rows of numbers with missing cells: a kernel's mean over what could stand there.

A row with missing cells is the mean of the feature vectors that it has with the values of the
training rows in their place. That is an inner product, so a kernel stays positive semidefinite.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer.kernels.base import Kernel
from mercer.kernels.cell_codes import MOST_VALUES
from mercer.kernels.frames import Name
from mercer.kernels.sets import MeanEmbedding

MOST_ROWS = 16  # that stand for the missing cells of a row of several columns


def stand_ins(rows: np.ndarray, names: Sequence[Name], weights: np.ndarray | None) -> np.ndarray:
    """Return rows whose values stand for missing cells in turn, each as often as the others.

    Of one column these are all its values, of more than 256 as many quantiles. Of several columns
    they are up to 16 quantiles of each, in an order of its own: columns are as if independent.
    """
    weight = np.ones(len(rows)) if weights is None else weights
    most = MOST_VALUES if len(names) == 1 else MOST_ROWS
    present = [_present(rows[:, j], name, weight) for j, name in enumerate(names)]
    whole = all((counts == np.round(counts)).all() for _, counts in present)
    n = min(most, int(max(counts.sum() for _, counts in present))) if whole else most
    columns = [_quantiles(*one, n) for one in present]
    orders = [
        np.arange(n),
        *(np.random.RandomState(j).permutation(n) for j in range(1, len(names))),
    ]
    return np.column_stack([column[order] for column, order in zip(columns, orders, strict=True)])


def _present(values: np.ndarray, name: Name, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of a column in their order, and how often each counts."""
    counts = ~np.isnan(values) & (weight > 0)
    if not counts.any():
        raise ValueError(f"column {name!r} has no number in the training rows: leave it out")
    order = np.argsort(values[counts], kind="stable")
    return values[counts][order].astype(np.float64), weight[counts][order]


def _quantiles(values: np.ndarray, counts: np.ndarray, n: int) -> np.ndarray:
    total = np.cumsum(counts)
    middles = (np.arange(n) + 0.5) * (total[-1] / n)
    return values[np.searchsorted(total, middles).clip(max=len(values) - 1)]


def is_incomplete(rows: np.ndarray) -> np.ndarray:
    """Return which rows have missing cells."""
    return np.isnan(rows).any(axis=1)


def mean_values(kernel: Kernel, X: np.ndarray, Y: np.ndarray, fill: np.ndarray) -> np.ndarray:
    """Return a kernel's means over all that could stand in the missing cells of two samples."""
    (bags, of_x), (others, of_y) = _bags(X, fill), _bags(Y, fill)
    values = np.empty((len(bags), len(others)))
    if values.size:
        MeanEmbedding(kernel)._means(bags, others, values)
    return values[np.ix_(of_x, of_y)]


def mean_diagonal(kernel: Kernel, X: np.ndarray, fill: np.ndarray) -> np.ndarray:
    """Return the same of each row and itself."""
    bags, of_x = _bags(X, fill)
    values = np.empty((len(bags), 1, 1))
    for bag, value in zip(bags, values, strict=True):
        MeanEmbedding(kernel)._means([bag], [bag], value)
    return values[of_x, 0, 0]


def _bags(rows: np.ndarray, fill: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Return what each different row could be, and which of these the rows are."""
    missing = np.isnan(rows)
    told = np.column_stack([np.where(missing, 0.0, rows), missing])
    _, first, which = np.unique(told, axis=0, return_index=True, return_inverse=True)
    return [_filled(rows[i], missing[i], fill) for i in first], which.ravel()


def _filled(row: np.ndarray, missing: np.ndarray, fill: np.ndarray) -> np.ndarray:
    return np.where(missing, fill, row) if missing.any() else row[None, :]
