"""One pass over blocks by the workers of a Dask cluster.

All that a pass needs is one value of the graph, so that the scheduler can make it again wherever a
worker has died; a partition comes to its task as another one. Nothing is scattered.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any, NamedTuple

from mercer._array import by_itself
from mercer._threads import one_blas_thread
from mercer.rows.collections import supplied
from mercer.rows.stored import RowsError

GROUP = 4  # blocks of one part that are summed where they are read: fewer sums travel
CANCELLED = (asyncio.CancelledError, concurrent.futures.CancelledError)
GROUPS_AHEAD = 2  # groups under way for each thread of the cluster


class Pass(NamedTuple):
    """What is done with every block, as it goes to the workers."""

    task: Callable[[Any, Any], Any]
    blocks: Sequence[Any]
    state: Any
    add: Callable[[Any, Any], Any]


def client_for(blocks: Sequence[Any]) -> Any:
    """Return the default client of Dask if there is one, and the workers can read these blocks.

    Rows in memory stay here: to send them takes longer than to go through them.
    """
    distributed = sys.modules.get("distributed")
    if distributed is None or not blocks or not all(getattr(b, "travels", False) for b in blocks):
        return None
    if _in_worker(distributed):
        return None
    try:
        return distributed.default_client()
    except ValueError:
        return None


def _in_worker(distributed: Any) -> bool:
    try:
        return distributed.get_worker() is not None
    except ValueError:
        return False


def sums_in_order(client: Any, work: Pass) -> Iterator[tuple[int, Any]]:
    """Yield the number of blocks and the sum of each group, in order; few are under way."""
    waiting: deque[tuple[int, Any]] = deque()
    with _told_of_cluster(client):
        most = GROUPS_AHEAD * max(sum(client.nthreads().values()), 1)
        shared = client.submit(_itself, work, pure=False)
        try:
            for start, stop, part in _groups(work.blocks):
                data = None if part is None else client.compute(part)
                one = client.submit(_summed, shared, start, stop, data, pure=False)
                waiting.append((stop - start, one))
                if len(waiting) > most:
                    yield _next(waiting)
            while waiting:
                yield _next(waiting)
        finally:
            if client.status == "running":
                client.cancel([future for _, future in waiting])


def _next(waiting: deque[tuple[int, Any]]) -> tuple[int, Any]:
    number, future = waiting.popleft()
    return number, future.result()


def _groups(blocks: Sequence[Any]) -> Iterator[tuple[int, int, Any]]:
    """Yield ranges of blocks of one part, at most a few, and the part's value in the graph."""
    for _, same in groupby(range(len(blocks)), key=lambda i: blocks[i].part_number):
        numbers = list(same)
        delayed = getattr(blocks[numbers[0]].part, "delayed", None)
        for start in range(numbers[0], numbers[-1] + 1, GROUP):
            yield start, min(start + GROUP, numbers[-1] + 1), delayed


def _itself(work: Pass) -> Pass:
    return work


def _summed(work: Pass, start: int, stop: int, data: Any) -> Any:
    """Return the sum over some blocks: what a worker does, in one thread."""
    total = None
    with one_blas_thread(), by_itself(), supplied(work.blocks[start].part, data):
        for block in work.blocks[start:stop]:
            one = work.task(block, work.state)
            total = one if total is None else work.add(total, one)
    return total


@contextmanager
def _told_of_cluster(client: Any) -> Iterator[None]:
    """Say what has happened where the cluster, and not the rows, ends a pass."""
    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker

    try:
        yield
    except (CommClosedError, KilledWorker, TimeoutError, *CANCELLED) as error:
        address = getattr(client.scheduler, "address", "of this session")
        raise RowsError(
            f"the Dask cluster {address} has gone away in the middle of a pass "
            f"({type(error).__name__}: {error}); with checkpoint='folder' a new fit goes on from "
            f"the last pass"
        ) from error
