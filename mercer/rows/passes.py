"""One pass over blocks: ``map_reduce``, by threads of this process or the workers of a cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

import numpy as np

from mercer._array import POOL, n_threads
from mercer._machine import give_back_freed
from mercer._threads import one_blas_thread
from mercer.rows.cluster import Pass, client_for, sums_in_order

S = TypeVar("S")


def map_reduce(
    task: Callable[[Any, S], Any],
    blocks: Iterable[Any],
    state: S = None,  # type: ignore[assignment]
    *,
    workers: int | None = None,
    told: Callable[[int, int], None] | None = None,
) -> Any:
    """Return the sum of ``task(block, state)`` over all blocks, added up in their order.

    Each block is one thread's work: BLAS and tiles of kernel values have one thread inside. As the
    sums are taken in the order of the blocks, the number of workers changes no bit of the result.
    At most one result for each worker, and one more, is held beside the sum.

    Where Dask has a default client, blocks of files and of Dask collections go to its workers: a
    task for a few blocks of one part, in one thread. These sums come back in the order of the
    blocks, too; a worker that dies costs its tasks, which others do again.

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
        Threads; None: one for each core. A number keeps the pass in this process.
    told : callable, default=None
        Told after each sum how many blocks are done, of how many.

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
    todo, total, done = list(blocks), None, 0
    client = client_for(todo) if workers is None else None
    for number, part in (
        _in_order(task, todo, state, n_threads() if workers is None else workers)
        if client is None
        else sums_in_order(client, Pass(task, todo, state, added))
    ):
        total, done = part if total is None else added(total, part), done + number
        del part  # else it is held until the next one is there
        give_back_freed()  # blocks are of many sizes: what the heap keeps of them adds up
        if told is not None:
            told(done, len(todo))
    return total


def _in_order(
    task: Callable[[Any, S], Any], blocks: Iterable[Any], state: S, workers: int
) -> Iterator[tuple[int, Any]]:
    """Yield 1 and the result of each block, in their order; few are under way at a time."""
    waiting: deque[Future[Any]] = deque()
    with one_blas_thread(), _threads(workers) as threads:
        try:
            for block in blocks:
                waiting.append(threads.submit(task, block, state))
                if len(waiting) > workers:
                    yield 1, waiting.popleft().result()
            while waiting:
                yield 1, waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
            wait(waiting)


def _threads(workers: int) -> ThreadPoolExecutor:
    """Return so many threads; their name tells tiles to stay in the one that asks for them."""
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
