"""Several generators as one: in turns, or side by side in threads."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from threading import Event
from typing import Any

from sklearn import config_context, get_config

from mercer._array import one_blas_thread


def in_turns(generators: list[Iterator[Any]]) -> Iterator[Any]:
    """Yield one item of each generator after the other until all have ended."""
    running = list(generators)
    try:
        while running:
            for generator in tuple(running):
                try:
                    yield next(generator)
                except StopIteration:
                    running.remove(generator)
    finally:  # a generator with threads must hear that nobody listens any more
        for generator in running:
            close(generator)


def close(iterator: Iterator[Any]) -> None:
    """End an iterator that may be a generator."""
    if isinstance(iterator, Generator):
        iterator.close()


def in_threads(
    work: Callable[[Any], Iterator[Any]],
    parts: list[Any],
    on_stop: Callable[[], None] = lambda: None,
) -> Iterator[Any]:
    """Yield what ``work(part)`` yields for all parts, each in a thread, as it comes.

    An exception in one of them, Ctrl-C included, is raised here and stops the others after what
    they are at; ``on_stop`` is called before that is waited for. BLAS is held at one thread: the
    parts bring their own parallelism.
    """
    if not parts:
        return
    found: SimpleQueue[tuple[str, Any]] = SimpleQueue()
    stop, config = Event(), get_config()

    def run(part: Any) -> None:
        try:
            with config_context(**config):  # scikit-learn's settings belong to a thread
                for item in work(part):
                    found.put(("item", item))
                    if stop.is_set():
                        break
            found.put(("end", None))
        except BaseException as error:
            found.put(("error", error))

    with one_blas_thread, ThreadPoolExecutor(len(parts)) as pool:
        for part in parts:
            pool.submit(run, part)
        try:
            left = len(parts)
            while left:
                kind, value = found.get()
                if kind == "error":
                    raise value
                if kind == "end":
                    left -= 1
                else:
                    yield value
        finally:
            stop.set()
            on_stop()
