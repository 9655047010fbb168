"""Ctrl-C is remembered: compiled code of other libraries may make another error of it, or none.

Cython says that a buffer has no valid format if Ctrl-C comes while it reads the format. LLVM calls
Python back when it loads compiled code, and what is raised there can go nowhere.
"""

from __future__ import annotations

import signal
import sys
from _thread import interrupt_main
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer, current_thread, main_thread
from typing import Any

OF_COMPILED_CODE = (ValueError, SystemError)
"""What compiled code makes of Ctrl-C."""

SOON = 0.05  # seconds after which a lost Ctrl-C is raised again

_heard: list[int] = []


@contextmanager
def remembered() -> Iterator[None]:
    """Remember each Ctrl-C from here on, and raise KeyboardInterrupt as ever."""
    _heard.clear()
    usual = signal.getsignal(signal.SIGINT)
    if usual is not signal.default_int_handler or current_thread() is not main_thread():
        yield  # whoever runs us hears it first
        return
    hook = sys.unraisablehook

    def lost(found: Any) -> None:
        if not issubclass(found.exc_type, KeyboardInterrupt):
            hook(found)
            return
        again = Timer(SOON, _press)
        again.daemon = True
        again.start()

    signal.signal(signal.SIGINT, _hear)
    sys.unraisablehook = lost
    try:
        yield
    finally:
        sys.unraisablehook = hook
        signal.signal(signal.SIGINT, usual)


def _press() -> None:
    """Send Ctrl-C to the main thread, which wakes from what it waits for."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main_thread().ident or 0, signal.SIGINT)
    else:
        interrupt_main()


def _hear(number: int, frame: Any) -> None:
    _heard.append(number)
    signal.default_int_handler(number, frame)


def was_heard() -> bool:
    """Whether Ctrl-C was pressed, whatever became of it."""
    return bool(_heard)


def is_interrupt(error: BaseException) -> bool:
    """Whether an error is Ctrl-C, or may be what a library has made of it."""
    return isinstance(error, KeyboardInterrupt) or bool(_heard)
