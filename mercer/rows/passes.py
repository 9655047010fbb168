"""One pass over blocks: ``map_reduce``, by threads of this process."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import numpy as np

from mercer._array import POOL, in_pool, n_threads, pool
from mercer._threads import one_blas_thread

S = TypeVar("S")


def map_reduce(
    task: Callable[[Any, S], Any],
    blocks: Iterable[Any],
    state: S = None,  # type: ignore[assignment]
    *,
    workers: int | None = None,
) -> Any:
    """Return the sum of ``task(block, state)`` over all blocks, added up in their order.

    Each block is one thread's work: BLAS and tiles of kernel values have one thread inside. As the
    sums are taken in the order of the blocks, the number of workers changes no bit of the result.
    At most one result for each worker, and one more, is held beside the sum.

    Parameters
    ----------
    task : callable
        Takes a block and the state; returns an array, a number, or a tuple of these, which may be
        written over.
    blocks : iterable
        What to go through, such as ``rows.blocks()``.
    state : object
        What every task gets, and none changes.
    workers : int, default=None
        Threads; None: one for each core.

    Returns
    -------
    array, number or tuple
        The sum; None if there is no block.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import rows
    >>> some = rows.open(np.arange(12.0).reshape(6, 2))
    >>> power_sums = lambda block, power: (block.read().X ** power).sum(axis=0)
    >>> rows.map_reduce(power_sums, some.blocks(4), 2)
    array([220., 286.])
    """
    total = None
    for part in _in_order(task, blocks, state, n_threads() if workers is None else workers):
        total = part if total is None else added(total, part)
    return total


def _in_order(
    task: Callable[[Any, S], Any], blocks: Iterable[Any], state: S, workers: int
) -> Iterator[Any]:
    """Yield the results in the order of the blocks; few are under way at a time."""
    waiting: deque[Future[Any]] = deque()
    with one_blas_thread(), _threads(workers) as threads:
        try:
            for block in blocks:
                waiting.append(threads.submit(task, block, state))
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
            wait(waiting)


def _threads(workers: int) -> AbstractContextManager[ThreadPoolExecutor]:
    """Return the threads of this process, or as many as are asked for.

    Their name tells tiles to stay in the thread that they are asked for in.
    """
    if workers == n_threads() and not in_pool():
        return nullcontext(pool())
    return ThreadPoolExecutor(workers, thread_name_prefix=POOL)


def added(total: Any, part: Any) -> Any:
    """Return total + part; arrays are written over."""
    if isinstance(total, tuple):
        pairs = (added(a, b) for a, b in zip(total, part, strict=True))
        return type(total)(*pairs) if hasattr(total, "_fields") else tuple(pairs)
    if isinstance(total, np.ndarray) and total.ndim:
        total += part
        return total
    return total + part
