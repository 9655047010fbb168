"""How loops are compiled: once, kept on disk, without the GIL, and no more of them than is called.

Compiled code lies beside the sources, in ``__pycache__``; where that is read-only, in the user's
cache folder; where there is none, in a folder of the user's among the temporary files; and in
``NUMBA_CACHE_DIR`` if that is set. Where none of them can be written, every process compiles anew.

With ``NUMBA_DISABLE_JIT=1`` nothing is compiled, and loops run as Python: for debuggers.
"""

from __future__ import annotations

import os
import signal
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import current_thread, main_thread
from types import FrameType, ModuleType
from typing import Any

import numba
from numba import njit
from numba.extending import intrinsic

_settings: Any = numba.config

REORDER = {"reassoc", "contract", "nsz"}  # fastmath: sums in any order, and nothing more


def compiled(**flags: Any) -> Any:
    """Return a decorator for a loop that Python calls; flags as for ``numba.njit``."""
    options: Any = {"nogil": True, "no_cfunc_wrapper": True, **flags}
    return lambda function: _kept(function, options)


def compiled_part(**flags: Any) -> Any:
    """Return a decorator for a loop that only other compiled loops call.

    It cannot be called from Python: what translates arguments is left out, which is a third of
    the time that compiling takes. One that has a single caller and is large may be
    ``inline="always"``: LLVM goes through a part once more for each caller above it. Of many small
    parts that costs more than it saves.
    """
    return compiled(no_cpython_wrapper=True, **flags)


def instruction(twin: Callable[..., Any]) -> Any:
    """Return a decorator for an intrinsic of Numba, for which Python has a slow twin."""
    return lambda generator: twin if _settings.DISABLE_JIT else intrinsic(generator)


# ---------------------------------------------------------------- where it is kept
def _kept(function: Any, options: Any) -> Any:
    try:
        return _whole(_stamped(njit(cache=True, **options)(function)))
    except RuntimeError:  # Numba finds no folder that it can write to
        pass
    folder = _own_folder()
    if folder is None:
        return _whole(njit(**options)(function))
    before = _settings.CACHE_DIR
    _settings.CACHE_DIR = str(folder)  # read when the function is decorated, not later
    try:
        return _whole(_stamped(njit(cache=True, **options)(function)))
    finally:
        _settings.CACHE_DIR = before


def _stamped(loop: Any) -> Any:
    """Let what is kept be out of date as well when a part or a constant of another file changes.

    Numba looks at the loop's own file alone, and would go on with code of which half is new.
    """
    kept = getattr(getattr(loop, "_cache", None), "_cache_file", None)
    if kept is not None:  # else nothing is kept, or nothing is compiled
        kept._source_stamp = kept._source_stamp, *map(_stamp, _used(loop.py_func))
    return loop


def _used(function: Any) -> Iterator[Any]:
    """Yield what a function calls by its name, or by that of the module that holds it."""
    names, scope = function.__code__.co_names, function.__globals__
    for found in (scope[name] for name in names if name in scope):
        if isinstance(found, ModuleType):
            yield from (getattr(found, name, None) for name in names)
        else:
            yield found


def _stamp(used: Any) -> Any:
    kept = getattr(getattr(used, "_cache", None), "_cache_file", None)
    return repr(used) if isinstance(used, (int, float)) else getattr(kept, "_source_stamp", None)


@cache
def _own_folder() -> Path | None:
    """Return a folder that nobody else can write to: compiled code is code."""
    if not hasattr(os, "getuid"):
        return None
    try:
        folder = Path(tempfile.gettempdir()) / f"mercer-compiled-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    private = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
    return folder if private and found.st_uid == os.getuid() else None


# ---------------------------------------------------------------- Ctrl-C while something compiles
def _whole(loop: Any) -> Any:
    """Let a Ctrl-C wait until the loop, or the part of it that is being compiled, is done.

    LLVM calls back while it compiles. An exception there has nobody to go to: Ctrl-C would be lost,
    or come out as an error of Numba's that says nothing of it.
    """
    compile = getattr(loop, "compile", None)  # there is none where nothing is compiled
    if compile is not None:

        def interrupted_after(signature: Any) -> Any:
            with _held_back():
                return compile(signature)

        loop.compile = interrupted_after
    return loop


_waiting: list[tuple[int, FrameType | None]] = []  # signals that came while something compiled
_handlers: list[Any] = []  # the last one is what they wait for


@contextmanager
def _held_back() -> Iterator[None]:
    """Return a context at whose end, or at the next one inside of it, a Ctrl-C is handled."""
    handler = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or not callable(handler):
        yield
    elif handler is _wait:  # a part of what compiles: what is done so far is kept
        _handle(_handlers[-1])
        yield
    else:
        _waiting.clear()
        _handlers[:] = [handler]
        try:
            signal.signal(signal.SIGINT, _wait)
            yield
        finally:
            signal.signal(signal.SIGINT, handler)
            _handle(handler)


def _wait(number: int, frame: FrameType | None) -> None:
    _waiting.append((number, frame))


def _handle(handler: Any) -> None:
    """Handle the last signal that has come, if one has."""
    if _waiting:
        number, frame = _waiting[-1]
        _waiting.clear()
        handler(number, frame)
