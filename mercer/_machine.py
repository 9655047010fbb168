"""What the machine has left for this process: memory under every limit that holds."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from scipy.linalg.blas import dgemm

if sys.platform != "win32":
    import resource

BLAS_BUFFERS = 2**27  # bytes of addresses, of NumPy's library and of SciPy's
BLAS_SIDE = 256  # of a product that is large enough for buffers
_held: list[float] = []  # not empty once BLAS has its buffers, or will have them

GROUPS = Path("/sys/fs/cgroup")
PROCESS = Path("/proc/self")
_FILES = {  # of a control group, version 2 and 1: its limit, what it uses, files that may go
    "": ("memory.max", "memory.current", "inactive_file"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


def free_memory() -> int:
    """Return the bytes that this process can still take.

    The least of what the machine has left, what its container (control group) allows, and what
    ``ulimit -v`` does.
    """
    return _free_memory(int(time.monotonic()))


@lru_cache(maxsize=1)
def _free_memory(second: int) -> int:
    """Ask the system at most once a second: small fits should not wait for it."""
    return max(min([_system_free(), *_group_free(), *_address_space_free()]), 0)


def require_room_for_blas() -> None:
    """Raise where ``ulimit -v`` has no room for the buffers of BLAS, which ends the process then.

    Where there is, BLAS takes them now: what does not fit later is an error that can be caught.
    Without a limit it takes them when it first needs them, and whoever sets one later has them.
    """
    if _held:
        return
    for free in _address_space_free():
        if free < BLAS_BUFFERS:
            raise MemoryError(
                f"ulimit -v leaves {free / 1e6:.0f} MB of addresses, and BLAS needs about "
                f"{BLAS_BUFFERS / 1e6:.0f} MB for itself before anything is fitted: raise the limit"
            )
        square = np.ones((BLAS_SIDE, BLAS_SIDE))
        _held.append(float((square @ square)[0, 0] + dgemm(1.0, square, square)[0, 0]))
    _held.append(0.0)


def give_back_freed() -> None:
    """Let the system have what arrays that are gone have left in the heap, where that is known.

    glibc keeps freed arrays of up to 32 MB for the next one that fits, which none may.
    """
    if (trim := _malloc_trim()) is not None:
        trim(0)


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


def _system_free() -> int:
    try:
        return _fields(Path("/proc/meminfo").read_text())["MemAvailable:"] * 1024
    except (OSError, KeyError):  # not Linux: half of what is installed, if the system tells
        if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
        return 4 * 2**30


def _fields(text: str) -> dict[str, int]:
    """Return the numbers of lines such as ``name 12``."""
    return {name: int(value) for name, value, *_ in map(str.split, text.splitlines())}


def _group_free() -> Iterator[int]:
    """Yield what every control group around this process has left.

    Files that were read and that nobody uses count as the group's, but make room when it is needed.
    """
    for folder, (limit, used, inactive) in _groups():
        try:
            room = int((folder / limit).read_text()) - int((folder / used).read_text())
            yield room + _fields((folder / "memory.stat").read_text()).get(inactive, 0)
        except (OSError, ValueError):  # no such group here, or its limit reads "max"
            continue


def _groups() -> Iterator[tuple[Path, tuple[str, str, str]]]:
    """Yield the folders of the groups, the innermost first; in a container only the root exists."""
    for controller, path in _memory_groups():
        home = GROUPS / controller
        inside = home / path.lstrip("/")
        for folder in (inside, *inside.parents):
            if folder.is_relative_to(home):
                yield folder, _FILES[controller]


def _memory_groups() -> Iterator[tuple[str, str]]:
    try:
        lines = (PROCESS / "cgroup").read_text().splitlines()
    except OSError:  # not Linux
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for controller in set(controllers.split(",")) & set(_FILES):
            yield controller, path


def _address_space_free() -> Iterator[int]:
    """Yield what ``ulimit -v`` leaves, if there is a limit."""
    if sys.platform == "win32":
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        yield limit - _address_space()


def _address_space() -> int:
    if sys.platform == "win32":
        return 0
    try:
        return int((PROCESS / "statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:  # not Linux: at least what was ever resident
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
