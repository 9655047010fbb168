"""Kernel values as a fresh array, and their products with vectors, tile by tile."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._array import allocate
from mercer.gram.combine import add_products
from mercer.kernels import Kernel
from mercer.kernels.counting import sums_of_counts
from mercer.kernels.sample import Sample
from mercer.kernels.tiles import Tile, block_differences, count_workers, each_tile, fill_tiles


def compute(
    kernel: Kernel, X: Sample, Y: Sample, dtype: Any, memory: int | float | str | None = None
) -> np.ndarray:
    """Return k(X, Y) as a fresh array within the budget."""
    out = allocate((len(X), len(Y)), dtype, memory)
    fill_tiles(kernel, X, Y, out)
    return out


def sums_of(kernel: Kernel, X: Sample, Y: Sample, V: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return k(X, Y) V, added up in float64; of a symmetric matrix a tile serves its mirror too."""
    direct = block_differences(kernel, X, Y, dtype)
    if direct is not None:
        return direct.sums(V)
    V = np.ascontiguousarray(V, dtype=dtype)
    mirror = X is Y and kernel.symmetric
    sums = TileSums(len(X), V, count_workers(kernel, X, Y), mirror)
    each_tile(kernel, X, Y, dtype, sums.add, mirror)
    return sums.total()


def weighted_sums(
    kernel: Kernel, X: Sample, Y: Sample, weights: np.ndarray, dtype: Any
) -> np.ndarray:
    """Return k(X, Y) @ weights of values in a precision, multiplied and added up in float64.

    In float32 a sum of many values of one sign is off by much more than the values are.
    """
    kernel.check_pair(X, Y)
    counted = sums_of_counts(kernel, X, Y, weights)
    if counted is not None:
        return counted
    direct = block_differences(kernel, X, Y, np.dtype(dtype))
    if direct is not None:
        return direct.sums(weights)
    sums = np.zeros((count_workers(kernel, X, Y), len(X), weights.shape[1]))
    columns_of = np.ascontiguousarray(weights.T, dtype=np.float64)

    def use(tile: Tile, values: np.ndarray, worker: int) -> None:
        rows, columns = tile
        add_products(values, columns_of[:, columns], sums[worker, rows])

    each_tile(kernel, X, Y, np.dtype(dtype), use, mirror=False)
    return sums.sum(axis=0)


class TileSums:
    """K V from the tiles of K; of a symmetric matrix a tile serves its mirror too.

    Tiles of one worker add up in its own float64 sum: no race, and no loss over many tiles.
    """

    def __init__(self, n: int, V: np.ndarray, workers: int, mirror: bool):
        self._V, self._mirror = V, mirror
        self._sums = np.zeros((workers, n, V.shape[1]))

    def add(self, tile: Tile, values: np.ndarray, worker: int) -> None:
        rows, columns = tile
        self._sums[worker, rows] += values @ self._V[columns]
        if self._mirror and columns.start > rows.start:
            self._sums[worker, columns] += values.T @ self._V[rows]

    def total(self) -> np.ndarray:
        return self._sums.sum(axis=0)
