"""Arrays at the border: validation, the byte budget, tiles and the threads that fill them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from threading import current_thread
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from mercer._clock import deadline, look
from mercer._crew import Crew
from mercer._floats import LARGEST, require_squares
from mercer._machine import free_memory, give_back_freed
from mercer._numbers import TEXT_FOR_KERNELS, refuse_no_numbers
from mercer._scratch import scratch, settle
from mercer._threads import one_blas_thread

FREE_SHARE = 0.5
"""The share of the free memory that the library allows itself when no budget is given."""

COMPARED = 2**20  # values that are compared with their mirror images at once

SMALL = 2**24
"""Arrays below this size are taken without asking how much memory is free."""

LARGE, TIGHT = 2**22, 2**29
"""Before arrays of this size, memory that waits to be used again goes back where the budget is no
larger than this."""

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


# ---------------------------------------------------------------- byte budget
def parse_memory(memory: int | float | str | None) -> int:
    """Return a budget in bytes: ``None`` is half of what is free, ``"2GB"`` is 2·10⁹."""
    if memory is None:
        settle()  # working memory that is no longer used may be much
        return int(FREE_SHARE * free_memory())
    if isinstance(memory, str):
        return _parse_size(memory)
    if isinstance(memory, bool) or not isinstance(memory, (int, float, np.integer, np.floating)):
        raise TypeError(_memory_message(memory))
    if not (np.isfinite(memory) and memory > 0):
        raise ValueError(_memory_message(memory))
    return int(memory)


def _parse_size(text: str) -> int:
    match = re.fullmatch(r"\s*(\d+\.?\d*)\s*([KMGT]?)(i?)B?\s*", text, re.IGNORECASE)
    if match is None or float(match[1]) == 0 or (match[3] and not match[2]):
        raise ValueError(_memory_message(text))
    units = _BINARY_UNITS if match[3] else _UNITS
    return int(float(match[1]) * units[match[2].upper()])


def _memory_message(memory: object) -> str:
    return (
        f"memory must be a positive number of bytes, a text such as '2GB' or '500MiB', or None "
        f"(half of the free memory); got {memory!r}"
    )


def format_bytes(n: float) -> str:
    """Return a size for people: ``format_bytes(3.2e9)`` is ``'3.2 GB'``."""
    for unit in ("B", "kB", "MB", "GB"):
        if n < 1000:
            return f"{n:.3g} {unit}"
        n /= 1000
    return f"{n:.3g} TB"


def allocate(shape: tuple[int, ...], dtype: Any, memory: int | float | str | None = None) -> Any:
    """Return an uninitialised array, or say how much was asked for and how much is allowed."""
    needed = int(np.prod(shape, dtype=object)) * np.dtype(dtype).itemsize
    if memory is None and needed < SMALL:
        return scratch(shape, dtype)
    allowed = parse_memory(memory)
    if needed > allowed:
        what = "×".join(map(str, shape))
        raise MemoryError(
            f"an array of {what} {np.dtype(dtype)} takes {format_bytes(needed)}, the budget is "
            f"{format_bytes(allowed)}: use gram(kernel, X, storage='blocked') or a smaller sample"
        )
    if memory is None or allowed > TIGHT:
        return scratch(shape, dtype)
    if needed >= LARGE:
        give_back_freed()
    return scratch(shape, dtype, budget=allowed)


# ---------------------------------------------------------------- validation
def check_out(out: Any, shape: tuple[int, int]) -> None:
    """Raise if kernel values of this shape cannot be written into ``out``."""
    if not isinstance(out, np.ndarray) or out.dtype not in (np.float32, np.float64):
        got = f"{out.dtype} array" if isinstance(out, np.ndarray) else type(out).__name__
        raise TypeError(f"out must be an array of float32 or float64; got a {got}")
    if out.shape != shape:
        raise ValueError(f"out must have shape {shape}; got {out.shape}")


def as_table(X: Any, name: str, owner: str) -> Any:
    """Return X as a finite float32 or float64 table, C-ordered or CSR, or say what is wrong."""
    if _is_plain_table(X) and largest_size(X) <= LARGEST:
        return X  # most rows come checked already, and a second check by scikit-learn is slow
    refuse_no_numbers(X, name, owner, TEXT_FOR_KERNELS)
    try:
        table = check_array(
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            input_name=name,
            estimator=owner,
        )
    except (TypeError, ValueError) as error:
        reason = str(error).splitlines()[0].rstrip(": ")
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(
            f"{name} must be a finite table of numbers (rows × columns) for {owner}: {reason}"
        ) from None
    if sp.issparse(table) and not table.has_canonical_format:
        table = table.copy()
        table.sum_duplicates()
    if (largest := largest_size(table)) > LARGEST:
        require_squares(largest, name)
    return table


def _is_plain_table(X: Any) -> bool:
    if not isinstance(X, np.ndarray) or X.dtype not in (np.float32, np.float64):
        return False
    return bool(X.flags.c_contiguous and X.ndim == 2 and X.size)


def largest_size(table: Any) -> float:
    """Return the largest |value| of an array or a sparse matrix."""
    values = table.data if sp.issparse(table) else table
    high, low = float(values.max(initial=0.0)), float(values.min(initial=0.0))
    return high if high > -low else -low  # NaN if there is one


def as_vector(values: Any, n: int, name: str) -> np.ndarray:
    """Return n finite numbers in float64, or say what was got."""
    vector = np.asarray(values)
    if vector.dtype.kind not in "biuf" or vector.shape != (n,) or not np.isfinite(vector).all():
        raise ValueError(
            f"{name} must be {n} finite numbers, one for each point; got {vector.dtype} values of "
            f"shape {vector.shape}"
        )
    return vector.astype(np.float64)


def spread_out(count: int, most: int) -> np.ndarray:
    """Return up to ``most`` of the numbers 0 … count − 1, evenly spread."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.intp))


def boxed(values: Sequence[Any]) -> np.ndarray:
    """Return values, which may be arrays of any lengths, as the objects of one array."""
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def as_objects(X: Any, name: str) -> Any:
    """Return X as an indexable sequence of objects (arrays, CSR and lists stay what they are)."""
    if isinstance(X, (str, bytes, dict)) or (not hasattr(X, "__len__") and not sp.issparse(X)):
        raise TypeError(f"{name} must be a list or an array of objects; got {type(X).__name__}")
    if sp.issparse(X):
        X = X.tocsr()
    elif hasattr(X, "to_numpy"):  # pandas and polars
        X = X.to_numpy()
    elif not isinstance(X, (np.ndarray, Sequence)):
        X = list(X)
    if count_rows(X) == 0:
        raise ValueError(f"{name} must hold at least one object; got an empty sample")
    return X


def count_rows(X: Any) -> int:
    """Return the number of rows of an array, a sparse matrix or a list."""
    return X.shape[0] if hasattr(X, "shape") else len(X)


def take(data: Any, index: Any) -> Any:
    """Return the rows of an array, sparse matrix or list that a slice or integers name."""
    if hasattr(data, "shape") or isinstance(index, slice):
        return data[index]
    return [data[i] for i in index]


def as_index(index: Any, n: int, name: str) -> np.ndarray:
    """Return integers in [0, n) from integers, a slice or a mask; out of range is an error."""
    if isinstance(index, slice):
        return np.arange(n)[index]
    index = np.atleast_1d(np.asarray(index))
    if index.dtype == bool:
        if index.shape != (n,):
            raise ValueError(f"{name} is a mask of shape {index.shape}; it must be ({n},)")
        return np.flatnonzero(index)
    if index.size == 0:
        return index.astype(np.intp).ravel()
    if index.dtype.kind not in "iu" or index.ndim != 1:
        raise TypeError(
            f"{name} must be integers, a mask or a slice; got {index.dtype} {index.shape}"
        )
    if index.min() < -n or index.max() >= n:
        raise ValueError(f"{name} must lie in [0, {n}); got {index.min()} … {index.max()}")
    return np.where(index < 0, index + n, index).astype(np.intp)


# ---------------------------------------------------------------- tiles and threads
def require_equal(counts: list[int], claim: str, one: str) -> None:
    """Raise unless all counts are that of the first; the message begins with what is claimed."""
    for place, count in enumerate(counts):
        if count != counts[0]:
            raise ValueError(f"{claim}; {one} 0 has {counts[0]}, {one} {place} has {count}")


def one_column(values: Any) -> np.ndarray:
    """Return an array; a table of one column is that column."""
    array = np.asarray(values)
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def ranges(n: int, step: int) -> list[slice]:
    """Return the slices of length ``step`` that cover ``range(n)``."""
    return [slice(i, min(i + step, n)) for i in range(0, n, step)]


POOL = "mercer-tiles"


@cache
def pool() -> Crew:
    """Return the threads of this process: what they have taken of memory is used again."""
    return Crew(_cores(), POOL)


def in_pool() -> bool:
    """Whether this thread is one of several that work side by side."""
    return current_thread().name.startswith(POOL) or _by_itself.get()


_by_itself = ContextVar("whether this thread is one of a pool of others", default=False)


@contextmanager
def by_itself() -> Iterator[None]:
    """Return a context in which this thread counts as one of several that work side by side."""
    token = _by_itself.set(True)
    try:
        yield
    finally:
        _by_itself.reset(token)


if hasattr(os, "register_at_fork"):  # threads do not survive a fork: the child makes its own
    os.register_at_fork(after_in_child=pool.cache_clear)


def _cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_most_threads: ContextVar[int | None] = ContextVar("most_threads", default=None)


def n_threads() -> int:
    """Return the number of threads that may work: the cores of this process, or fewer."""
    return min(_cores(), _most_threads.get() or _cores())


@contextmanager
def at_most_threads(n_jobs: int | None) -> Iterator[None]:
    """Hold the threads of a block at ``n_jobs``; None is no limit, −1 all cores, −2 all but one."""
    most = n_jobs if n_jobs is None or n_jobs > 0 else max(1, _cores() + 1 + n_jobs)
    before = _most_threads.set(most)
    try:
        yield
    finally:
        _most_threads.reset(before)


def run_tiles(
    work: Callable[[Any, int], None],
    tiles: Sequence[Any],
    workers: int,
    on_error: Callable[[], None] = lambda: None,
) -> None:
    """Call ``work(tile, worker)`` for every tile; worker w takes the tiles w, w + workers, …

    The assignment is fixed, so that sums per worker do not depend on the scheduler. An exception,
    Ctrl-C included, calls ``on_error`` and stops all workers before their next tile. So does the
    deadline of whoever called (`mercer._clock`).
    """
    workers = max(1, min(workers, len(tiles)))
    limit = deadline()
    if workers == 1 or in_pool():  # a thread of the pool must not wait for its own pool
        with one_blas_thread():
            for worker in range(workers):
                for tile in tiles[worker::workers]:
                    look(limit)
                    work(tile, worker)
        return
    stopped: list[bool] = []

    def loop(worker: int) -> None:
        for tile in tiles[worker::workers]:
            if stopped:
                return
            look(limit)
            work(tile, worker)

    def stop() -> None:
        stopped.append(True)
        on_error()

    with one_blas_thread():
        pool().side_by_side([partial(loop, worker) for worker in range(workers)], stop)


def worst_asymmetry(K: np.ndarray) -> tuple[float, int, int]:
    """Return how far a square matrix is from its transpose, and where; block by block."""
    n, worst, place = len(K), -1.0, (0, 0)
    for rows in ranges(n, max(1, COMPARED // max(n, 1))):
        apart = np.abs(K[rows] - K[:, rows].T)
        row, column = divmod(int(apart.argmax()), n)
        if apart[row, column] > worst:
            worst, place = float(apart[row, column]), (rows.start + row, column)
    return worst, *place
