"""Working memory that is used again.

The first touch of fresh memory costs more than the arithmetic that fills it (a page fault for every
4 KB). Arrays that live for one fit come from blocks that earlier ones have given back.

A block has one owner at a time: it is free, or a lease owns it. Every array made of the block
refers to its lease, whatever else refers to the array (views, frames, other threads). When the
lease is destroyed, the weak reference to it dies, and the next who asks for memory makes the block
free. Nothing counts references, and there is no lock that a fork could leave closed: who takes a
block out of a dictionary has it. No Python code runs when a lease is destroyed: a Ctrl-C in the
middle of it would be lost. And a Ctrl-C anywhere here loses at most a block to the allocator: what
is leased and what is free can be read from the dictionaries at any moment.
"""

from __future__ import annotations

import math
from typing import Any
from weakref import ref

import numpy as np

LEAST_BYTES, MOST_BYTES = 2**16, 2**28  # what is smaller is cheap, what is larger goes back
MOST_KEPT = 2**29  # bytes in all


class _Memory:
    """Memory of so many bytes."""

    def __init__(self, nbytes: int):
        self.memory, self.nbytes = np.empty(nbytes, np.uint8), nbytes
        self.interface = self.memory.__array_interface__


class _Lease:
    """The owner of a block for as long as an array refers to it."""

    def __init__(self, block: _Memory):
        self.block, self.__array_interface__ = block, block.interface


class _Return(ref):
    """A weak reference to a lease that keeps its block."""

    __slots__ = ("block",)
    block: _Memory


_free: dict[int, _Memory] = {}  # blocks that nobody uses by their identity, the oldest first
_leased: dict[int, _Return] = {}  # and those that somebody uses, or used when last looked at


def _lease(block: _Memory) -> _Lease:
    lease = _Lease(block)
    back = _Return(lease)
    back.block = block
    _leased[id(back)] = back
    return lease


def settle(budget: int | None = None, most: int = MOST_KEPT) -> None:
    """Make the blocks of leases that are gone free, and let go of what is too much.

    At most so many bytes are kept; of a budget, no more than those in use leave.
    """
    for key, back in list(_leased.items()):
        if back() is None and _leased.pop(key, None) is not None:  # else another thread was quicker
            _free[id(back.block)] = back.block
    in_use = 0 if budget is None else sum(back.block.nbytes for back in list(_leased.values()))
    _keep_at_most(most if budget is None else min(most, budget - in_use), _free)


def _keep_at_most(most: int, free: dict[int, _Memory]) -> None:
    """Let the oldest blocks go where there are too many."""
    kept = list(free.items())
    excess = sum(block.nbytes for _, block in kept) - most
    for key, oldest in kept:
        if excess <= 0:
            return
        if free.pop(key, None) is not None:
            excess -= oldest.nbytes


def scratch(
    shape: tuple[int, ...], dtype: Any, *, brief: bool = False, budget: int | None = None
) -> np.ndarray:
    """Return an uninitialised array; its memory is used again once nobody refers to it.

    A ``brief`` array, which does not outlive the fit, may sit in a block that is much larger. Of a
    ``budget`` in bytes, blocks that wait to be used again are a part.
    """
    nbytes = math.prod(map(int, shape)) * np.dtype(dtype).itemsize
    if not LEAST_BYTES <= nbytes <= MOST_BYTES:
        return np.empty(shape, dtype)
    settle()
    lease = _lease(_take(nbytes, MOST_BYTES if brief else 2 * nbytes))
    if budget is not None:  # fresh memory is not there before it is written to
        settle(budget)
    return np.asarray(lease)[:nbytes].view(dtype).reshape(shape)


def _take(nbytes: int, most: int) -> _Memory:
    """Return the smallest free block of this size, or a new one."""
    fitting = [b for b in list(_free.values()) if nbytes <= b.nbytes <= most]
    for block in sorted(fitting, key=lambda b: b.nbytes):
        if _free.pop(id(block), None) is not None:  # else another thread was quicker
            return block
    try:
        return _Memory(nbytes)
    except MemoryError:  # blocks of other sizes may be in the way
        _free.clear()
        return _Memory(nbytes)
