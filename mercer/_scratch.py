"""Working memory that is used again.

The first touch of fresh memory costs more than the arithmetic that fills it (a page fault for every
4 KB). Arrays that live for one fit come from buffers that earlier ones have given back.
"""

from __future__ import annotations

import sys
from threading import Lock
from typing import Any

import numpy as np

SMALLEST, LARGEST = 2**16, 2**28  # bytes; what is smaller is cheap, what is larger goes back
MOST = 2**29  # bytes kept in all
FREE = 3  # references to a buffer that nobody uses: the list's, the loop's, and getrefcount's own

_buffers: list[np.ndarray] = []
_lock = Lock()


def scratch(shape: tuple[int, ...], dtype: Any, *, brief: bool = False) -> np.ndarray:
    """Return an uninitialised array; its memory is used again once nobody refers to it.

    A ``brief`` array, which does not outlive the fit, may sit in a buffer that is much larger.
    """
    nbytes = int(np.prod(shape, dtype=object)) * np.dtype(dtype).itemsize
    if not SMALLEST <= nbytes <= LARGEST:
        return np.empty(shape, dtype)
    with _lock:
        return _take(nbytes, LARGEST if brief else 2 * nbytes)[:nbytes].view(dtype).reshape(shape)


def _take(nbytes: int, most: int) -> np.ndarray:
    """Return the smallest buffer of this size that nobody uses, or a new one."""
    for buffer in sorted(_buffers, key=lambda b: b.nbytes):
        # the sorted list refers to it as well
        if nbytes <= buffer.nbytes <= most and sys.getrefcount(buffer) == FREE + 1:
            return buffer
    while _buffers and sum(b.nbytes for b in _buffers) + nbytes > MOST:
        del _buffers[0]  # in use or not: who uses it keeps it alive
    _buffers.append(np.empty(nbytes, np.uint8))
    return _buffers[-1]
