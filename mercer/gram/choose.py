"""``gram()``: the only place that chooses a storage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mercer._array import allocate, format_bytes, parse_memory
from mercer.gram.base import COSTLY, SINGLE_RANGE, Gram
from mercer.gram.storages import (
    BlockedGram,
    CachedGram,
    DenseGram,
    PrecomputedGram,
    TriangleGram,
)
from mercer.kernels import Kernel, Precomputed
from mercer.kernels.names import bound_samples
from mercer.kernels.sample import Sample
from mercer.kernels.tiles import TILE, differences, fill_tiles, work_per_value

MARGIN_WHOLE = 8000  # points of a margin machine whose values are all held
MARGIN_DOUBLE = 300  # points whose values are so few that they may as well be in float64
MARGIN_GROUPS = 4  # classes from which on pairs use few of the values, and rows may be wider
MARGIN_COLUMNS = 64  # of rows of fewer classes: of wider ones all values are sooner there
ROWS_WHOLE = 1000  # points whose values are all held where only some rows are asked for
ROWS_CACHED = 64  # rows that make a cache worth having
TRIANGLE_ALWAYS = 2**28  # bytes of a triangle kept in any case: the next fit uses them again
TRIANGLE_FROM = 100  # operations a value: if it costs more, a larger triangle is kept as well


def gram(
    kernel: Any,
    X: Any,
    Y: Any = None,
    *,
    storage: str = "auto",
    purpose: str | None = None,
    memory: int | float | str | None = None,
    dtype: Any = None,
    groups: Any = None,
) -> Gram:
    """Return the Gram matrix K_ij = k(x_i, y_j) as an operator within a byte budget.

    The storage "auto" depends on what the matrix is for. A matrix that was `Precomputed` is used
    as it is; of any other kernel the first that holds is taken.

    Purpose None, or "direct", which asks for float64:

    1. "dense": all values fit into the budget;
    2. "cached": a training matrix (Y is None) of which at least 64 rows fit (or no tile does);
       products recompute tiles, rows are kept, least recently used out first;
    3. "blocked": nothing is stored, tiles are recomputed by all cores.

    Purpose "margin", the rows of some points again and again:

    1. up to 300 points, or a kernel that runs Python code: as "direct";
    2. "blocked" where rows have few columns and a value costs next to nothing: 64, or 128 where
       there are groups of four classes or more;
    3. else in float32, if its range is enough: up to 8,000 points "dense" if all values fit;
       "cached" where a value costs more than 300 operations (or no tile fits), "blocked" where it
       is cheaper to compute it again.

    Purpose "rows", some rows in float64 that the solver keeps itself:

    1. up to 1,000 points of a kernel that is compiled: as "direct";
    2. "blocked"; where no tile fits "cached".

    Purpose "products", many products with a few vectors, in float32:

    1. "triangle", the tiles of the upper triangle: the kernel is symmetric, they fit into the
       budget, and they are less than 256 MB or a value costs more than 100 operations;
    2. "blocked".

    Parameters
    ----------
    kernel : Kernel, str or callable
        The kernel, or what `as_kernel` understands. Data-dependent parameters are bound to Y if it
        is given, else to X.
    X, Y : table or list of objects
        The points of the rows and of the columns; ``Y=None`` means ``Y = X``.
    storage : {"auto", "dense", "triangle", "cached", "blocked", "precomputed"}
        Where the values live.
    purpose : {"direct", "margin", "rows", "products"} or None, default=None
        What the matrix is for.
    memory : int, str or None, default=None
        The budget: bytes or a text such as "2GB". None is half of the memory that is free.
    dtype : float32, float64 or None, default=None
        The precision of the values; None is that of the purpose, and without one that of the input.
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
    _require_name(storage, ("auto", *STORAGES), "storage")
    _require_name(purpose, tuple(LADDERS), "purpose")
    budget = parse_memory(memory)
    kernel, left, right = bound_samples(kernel, X, Y)
    precision = _precision(dtype, kernel, left, right, purpose)
    request = Request(kernel, left, right, precision, budget, groups)
    if storage == "auto" and isinstance(kernel, Precomputed):
        storage = "precomputed"
    elif storage == "auto":
        storage = LADDERS[purpose](request)
    return STORAGES[storage](request)


class Request(NamedTuple):
    """What is asked for, checked."""

    kernel: Kernel
    X: Sample
    Y: Sample
    dtype: np.dtype
    budget: int
    groups: Any

    @property
    def row_bytes(self) -> int:
        return len(self.Y) * self.dtype.itemsize

    @property
    def tile_bytes(self) -> int:
        return min(len(self.X), TILE) * min(len(self.Y), TILE) * self.dtype.itemsize

    @property
    def triangle_bytes(self) -> int:
        return TriangleGram.bytes_of(len(self.X), self.dtype.itemsize)

    @property
    def is_mirrored(self) -> bool:
        return self.X is self.Y and self.kernel.symmetric


def _require_name(value: Any, names: tuple[str | None, ...], what: str) -> None:
    if value not in names:
        raise ValueError(f"{what} must be one of {names}; got {value!r}")


def _precision(dtype: Any, kernel: Kernel, X: Sample, Y: Sample, purpose: str | None) -> np.dtype:
    if dtype is None and purpose is not None:
        dtype = _precision_for(purpose, kernel, X)
    try:
        precision = np.result_type(X.dtype, Y.dtype) if dtype is None else np.dtype(dtype)
    except TypeError:  # no dtype at all
        precision = np.dtype(object)
    if precision not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32, float64 or None; got {dtype!r}")
    return precision


def _precision_for(purpose: str, kernel: Kernel, X: Sample) -> Any:
    if purpose != "margin":
        return np.float32 if purpose == "products" else np.float64
    if isinstance(kernel, Precomputed):
        return None  # what is given is not copied
    if len(X) <= MARGIN_DOUBLE or not kernel.releases_gil:
        return np.float64
    largest = float(kernel.diagonal_of(X, np.float64).max())
    return np.float32 if largest < SINGLE_RANGE else np.float64


def _is_held_for_margin(kernel: Kernel, X: Sample) -> bool:
    return len(X) <= MARGIN_WHOLE or not kernel.releases_gil


# -------------------------------------------------------------------- the ladders
def _for_direct(r: Request) -> str:
    if len(r.X) * r.row_bytes <= r.budget:
        return "dense"
    a_few_fit = r.budget // r.row_bytes >= ROWS_CACHED or r.tile_bytes > r.budget
    return "cached" if r.X is r.Y and a_few_fit else "blocked"


def _for_margin(r: Request) -> str:
    many = len(r.X) > MARGIN_DOUBLE and r.tile_bytes <= r.budget
    in_pairs = r.groups is not None and len(r.groups) > MARGIN_GROUPS
    widest = {} if in_pairs else {"most_columns": MARGIN_COLUMNS}
    if many and differences(r.kernel, r.X, r.Y, r.dtype, **widest) is not None:
        return "blocked"
    if _is_held_for_margin(r.kernel, r.X):
        return _for_direct(r)
    keep = work_per_value(r.X, r.kernel) > COSTLY or r.tile_bytes > r.budget
    return "cached" if keep else "blocked"


def _for_rows(r: Request) -> str:
    if len(r.X) <= ROWS_WHOLE and r.kernel.releases_gil:
        return _for_direct(r)
    return "blocked" if r.tile_bytes <= r.budget else "cached"


def _for_products(r: Request) -> str:
    size = r.triangle_bytes
    keep = size <= TRIANGLE_ALWAYS or work_per_value(r.X, r.kernel) > TRIANGLE_FROM
    return "triangle" if r.is_mirrored and keep and size <= r.budget else "blocked"


LADDERS: dict[str | None, Callable[[Request], str]] = {
    None: _for_direct,
    "direct": _for_direct,
    "margin": _for_margin,
    "rows": _for_rows,
    "products": _for_products,
}


# -------------------------------------------------------------------- the storages
def _dense(r: Request) -> Gram:
    if len(r.X) * r.row_bytes > r.budget:
        raise ValueError(
            f"memory is too small for storage='dense': {len(r.X)}×{len(r.Y)} {r.dtype} values take "
            f"{format_bytes(len(r.X) * r.row_bytes)}, the budget is {format_bytes(r.budget)}: use "
            f"storage='blocked' or a smaller sample"
        )
    K = allocate((len(r.X), len(r.Y)), r.dtype, r.budget)
    fill_tiles(r.kernel, r.X, r.Y, K)
    return DenseGram(K, BlockedGram(*r[:4]))


def _triangle(r: Request) -> Gram:
    if not r.is_mirrored:
        raise ValueError(
            f"storage='triangle' is for a symmetric matrix: one sample (Y=None) and a symmetric "
            f"kernel; got {r.kernel!r} and {'one sample' if r.X is r.Y else 'two samples'}"
        )
    _require(r.triangle_bytes, r.budget, "the upper triangle")
    return TriangleGram(BlockedGram(*r[:4]))


def _cached(r: Request) -> Gram:
    _require(r.row_bytes, r.budget, "even one row")
    return CachedGram(*r)


def _blocked(r: Request) -> Gram:
    _require(r.tile_bytes, r.budget, "even one block")
    return BlockedGram(*r[:4])


def _precomputed(r: Request) -> Gram:
    if not isinstance(r.kernel, Precomputed):
        raise ValueError(
            f"storage='precomputed' needs the kernel Precomputed() and its matrix as X; "
            f"got {r.kernel!r}"
        )
    return PrecomputedGram(r.X.rows(r.dtype)[:, r.Y.index], BlockedGram(*r[:4]))


def _require(needed: int, budget: int, what: str) -> None:
    if needed > budget:
        raise ValueError(
            f"memory is too small for {what} of the Gram matrix: got {format_bytes(budget)}, "
            f"needed are at least {format_bytes(needed)}"
        )


STORAGES: dict[str, Callable[[Request], Gram]] = {
    "dense": _dense,
    "triangle": _triangle,
    "cached": _cached,
    "blocked": _blocked,
    "precomputed": _precomputed,
}
