"""``gram()``: the only place that chooses a storage."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._array import allocate, format_bytes, parse_memory
from mercer.gram.base import Gram
from mercer.gram.cached import CachedGram
from mercer.gram.storages import BlockedGram, DenseGram, PrecomputedGram, TriangleGram
from mercer.kernels import Kernel, Precomputed, as_kernel
from mercer.kernels.sample import Sample
from mercer.kernels.tiles import TILE, fill_tiles

STORAGES = ("auto", "dense", "triangle", "cached", "blocked", "precomputed")


def gram(
    kernel: Any,
    X: Any,
    Y: Any = None,
    *,
    storage: str = "auto",
    memory: int | float | str | None = None,
    dtype: Any = None,
    groups: Any = None,
) -> Gram:
    """Return the Gram matrix K_ij = k(x_i, y_j) as an operator within a byte budget.

    The storage "auto" is the first of these that fits:

    1. "precomputed": the kernel is `Precomputed`; the matrix is used as it is;
    2. "dense": all values fit into the budget;
    3. "cached": a training matrix (Y is None) of which at least 64 rows fit (or no tile does);
       products recompute tiles, rows are kept, least recently used out first;
    4. "blocked": nothing is stored, tiles are recomputed by all cores.

    On request there is "triangle": the upper triangle of a training matrix in tiles, for products.

    Parameters
    ----------
    kernel : Kernel, str or callable
        The kernel, or what `as_kernel` understands. Data-dependent parameters are bound to Y if it
        is given, else to X.
    X, Y : table or list of objects
        The points of the rows and of the columns; ``Y=None`` means ``Y = X``.
    storage : {"auto", "dense", "triangle", "cached", "blocked", "precomputed"}
        Where the values live.
    memory : int, str or None, default=None
        The budget: bytes or a text such as "2GB". None is half of the memory that is free.
    dtype : float32, float64 or None, default=None
        The precision of the values; None keeps that of the input.
    groups : array of int, default=None
        Edges 0 = g₀ < g₁ < … = m of groups of columns that are asked for together (classes); the
        storage "cached" computes a row group by group.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import gram
    >>> G = gram("linear", np.eye(3))
    >>> G @ np.ones(3)
    array([1., 1., 1.])
    """
    if storage not in STORAGES:
        raise ValueError(f"storage must be one of {STORAGES}; got {storage!r}")
    kernel = as_kernel(kernel)
    budget = parse_memory(memory)
    right = kernel.sample(X if Y is None else Y, "X" if Y is None else "Y")
    left = right if Y is None else kernel.sample(X, "X")
    kernel = kernel.bind(right)
    kernel.check_pair(left, right)
    precision = _precision(dtype, left, right)
    if storage == "auto":
        storage = _choose(kernel, left, right, precision, budget)
    return _BUILDERS[storage](kernel, left, right, precision, budget, groups)


def _precision(dtype: Any, X: Sample, Y: Sample) -> np.dtype:
    try:
        precision = np.result_type(X.dtype, Y.dtype) if dtype is None else np.dtype(dtype)
    except TypeError:  # no dtype at all
        precision = np.dtype(object)
    if precision not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32, float64 or None; got {dtype!r}")
    return precision


def _choose(kernel: Kernel, X: Sample, Y: Sample, dtype: np.dtype, budget: int) -> str:
    if isinstance(kernel, Precomputed):
        return "precomputed"
    if len(X) * len(Y) * dtype.itemsize <= budget:
        return "dense"
    rows_that_fit = budget // (len(Y) * dtype.itemsize)
    tile = min(len(X), TILE) * min(len(Y), TILE) * dtype.itemsize
    return "cached" if X is Y and (rows_that_fit >= 64 or tile > budget) else "blocked"


def _dense(kernel: Kernel, X: Sample, Y: Sample, dtype: np.dtype, budget: int, groups: Any) -> Gram:
    try:
        K = allocate((len(X), len(Y)), dtype, budget)
    except MemoryError as error:
        raise ValueError(f"memory is too small for storage='dense': {error}") from None
    fill_tiles(kernel, X, Y, K)
    return DenseGram(K, BlockedGram(kernel, X, Y, dtype))


def _triangle(
    kernel: Kernel, X: Sample, Y: Sample, dtype: np.dtype, budget: int, groups: Any
) -> Gram:
    if X is not Y or not kernel.symmetric:
        raise ValueError(
            f"storage='triangle' is for a symmetric matrix: one sample (Y=None) and a symmetric "
            f"kernel; got {kernel!r} and {'one sample' if X is Y else 'two samples'}"
        )
    _require(TriangleGram.bytes_of(len(X), dtype.itemsize), budget, "the upper triangle")
    return TriangleGram(BlockedGram(kernel, X, Y, dtype))


def _cached(
    kernel: Kernel, X: Sample, Y: Sample, dtype: np.dtype, budget: int, groups: Any
) -> Gram:
    _require(len(Y) * dtype.itemsize, budget, "even one row")
    return CachedGram(kernel, X, Y, dtype, budget, groups)


def _blocked(
    kernel: Kernel, X: Sample, Y: Sample, dtype: np.dtype, budget: int, groups: Any
) -> Gram:
    _require(min(len(X), TILE) * min(len(Y), TILE) * dtype.itemsize, budget, "even one block")
    return BlockedGram(kernel, X, Y, dtype)


def _precomputed(
    kernel: Kernel, X: Sample, Y: Sample, dtype: np.dtype, budget: int, groups: Any
) -> Gram:
    if not isinstance(kernel, Precomputed):
        raise ValueError(
            f"storage='precomputed' needs the kernel Precomputed() and its matrix as X; "
            f"got {kernel!r}"
        )
    return PrecomputedGram(X.rows(dtype)[:, Y.index], BlockedGram(kernel, X, Y, dtype))


def _require(needed: int, budget: int, what: str) -> None:
    if needed > budget:
        raise ValueError(
            f"memory is too small for {what} of the Gram matrix: got {format_bytes(budget)}, "
            f"needed are at least {format_bytes(needed)}"
        )


_BUILDERS = {
    "dense": _dense,
    "triangle": _triangle,
    "cached": _cached,
    "blocked": _blocked,
    "precomputed": _precomputed,
}
