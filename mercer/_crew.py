"""Threads that work side by side, with nothing that a Ctrl-C could leave locked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from queue import SimpleQueue
from threading import Thread


class Crew:
    """Threads that take calls from a queue.

    The executors of the standard library have locks that are closed and opened by Python's own
    instructions. A Ctrl-C between two of them leaves a lock closed, and whoever asks that executor
    next waits for ever. To put something into a `SimpleQueue`, or to take it, is one instruction.

    Parameters
    ----------
    count : int
        The number of threads.
    name : str
        What their names begin with.
    """

    def __init__(self, count: int, name: str):
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        for number in range(count):
            Thread(target=self._serve, name=f"{name}_{number}", daemon=True).start()

    def _serve(self) -> None:
        while True:
            self._calls.get()()

    def side_by_side(self, calls: Sequence[Callable[[], None]], stop: Callable[[], None]) -> None:
        """Make all calls and wait for them.

        The first exception of one, Ctrl-C included, is raised here; before, ``stop`` is called,
        those that have begun are waited for, and the others never begin.
        """
        begun, ended, stopped = set[int](), set[int](), list[bool]()
        found: SimpleQueue[BaseException | None] = SimpleQueue()

        def made(number: int) -> None:
            begun.add(number)  # before the look at `stopped`: who stops sees it, or it is seen here
            error: BaseException | None = None
            try:
                if not stopped:
                    calls[number]()
            except BaseException as raised:
                error = raised
            ended.add(number)
            found.put(error)
            del error  # its traceback holds this frame

        try:
            for number in range(len(calls)):
                self._calls.put(partial(made, number))
            for _ in calls:
                error = found.get()
                if error is not None:
                    try:
                        raise error
                    finally:
                        del error
        except BaseException:
            stopped.append(True)
            stop()
            raise
        finally:
            # by sets: what a Ctrl-C made of an answer that was just taken, or of a call that was
            # just put, is not known
            while begun - ended:
                found.get()
