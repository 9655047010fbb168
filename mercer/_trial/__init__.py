"""Files that might end the process are read by another one first.

Parquet and Arrow files say how much memory their parts take, in pages that may be packed, and
polars asks the system for what they say: memory that cannot be had ends the process, and no
exception could be caught. So a process of its own (`reading.py`, which loads polars and nothing
else) reads each file once and lets go of what it read. If that process dies, the file is refused;
if it comes back, this process may read the file. What does not read in another way fails here as
it would have: only the end of the process is told.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from mercer._machine import free_memory

READING = Path(__file__).with_name("reading.py")
LIBRARIES = 2**32  # bytes of addresses for libraries and threads: few of them are memory
MOST_KNOWN = 10_000  # files that are remembered
_harmless: dict[tuple[object, ...], None] = {}


def first_fatal(paths: Sequence[Path], kind: str) -> Path | None:
    """Return the first file that ends the process which reads it, or None.

    A file is tried once, and again when it has changed.

    Parameters
    ----------
    paths : sequence of Path
        Files.
    kind : {"parquet", "arrow"}
        What they are.
    """
    new = [path for path in paths if _identity(path, kind) not in _harmless]
    if not new or not _can_start():
        return None
    known = [_identity(path, kind) for path in new]
    names = "".join(f"{path.absolute()}\0" for path in new)
    count = _read(kind, os.fsencode(names), max(path.stat().st_size for path in new))
    _harmless.update(dict.fromkeys(known[:count]))
    for oldest in list(_harmless)[:-MOST_KNOWN]:
        _harmless.pop(oldest, None)
    return None if count == len(new) else new[count]


def is_fatal(content: bytes, kind: str) -> bool:
    """Whether bytes, of a file that was unpacked, end the process that reads them.

    Parameters
    ----------
    content : bytes
        The file.
    kind : {"parquet", "arrow", "stream"}
        What it is.
    """
    return _can_start() and _read(f"{kind} content", content, len(content)) == 0


def _identity(path: Path, kind: str) -> tuple[object, ...]:
    found = path.stat()
    return kind, str(path.absolute()), found.st_ino, found.st_size, found.st_mtime_ns


def _can_start() -> bool:
    """Whether there is an interpreter: a program that Python is built into would start itself."""
    return bool(sys.executable) and not getattr(sys, "frozen", False)


def _read(kind: str, given: bytes, size: int) -> int:
    """Return how many files another process has read before it ended."""
    import polars

    room = free_memory() + LIBRARIES + 2 * size
    home = str(Path(polars.__file__).parents[1])
    # -P: a polars.py where this process works is not the library
    command = [sys.executable, "-P", str(READING), home, str(room), kind]
    done = subprocess.run(
        command, input=given, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
    )
    said = done.stdout.splitlines()
    if not said:
        raise ChildProcessError(
            f"no other process could be started to try the file with: {' '.join(command[:3])} "
            f"ended with {done.returncode}"
        )
    return len(said) - 1
