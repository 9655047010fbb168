"""Ctrl-C is remembered: compiled code of other libraries may make another error of it.

Cython, for one, says that a buffer has no valid format if Ctrl-C comes while it reads the format.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import Any

OF_COMPILED_CODE = (ValueError, SystemError)
"""What compiled code makes of Ctrl-C."""

_heard: list[int] = []


@contextmanager
def remembered() -> Iterator[None]:
    """Remember each Ctrl-C from here on, and raise KeyboardInterrupt as ever."""
    _heard.clear()
    usual = signal.getsignal(signal.SIGINT)
    if usual is not signal.default_int_handler or current_thread() is not main_thread():
        yield  # whoever runs us hears it first
        return
    signal.signal(signal.SIGINT, _hear)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


def _hear(number: int, frame: Any) -> None:
    _heard.append(number)
    signal.default_int_handler(number, frame)


def is_interrupt(error: BaseException) -> bool:
    """Whether an error is Ctrl-C, or may be what a library has made of it."""
    return isinstance(error, KeyboardInterrupt) or bool(_heard)
