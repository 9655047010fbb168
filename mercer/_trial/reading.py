"""The process that tries files: it loads polars alone, says when it begins and after each file."""

from __future__ import annotations

import glob
import io
import os
import signal
import sys
from typing import Any

if sys.platform != "win32":
    import resource


def main(home: str, room: int, kind: str) -> None:
    """Read the files that the standard input names, or the one that it holds."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is for the first process
    if sys.platform != "win32":
        _lower(resource.RLIMIT_CORE, 0)  # no image of memory is left where this process dies
        _lower(resource.RLIMIT_AS, room)
    sys.path.append(home)
    import polars as pl

    given = sys.stdin.buffer.read()
    held = kind.endswith("content")
    _tell("begun")
    for source in [io.BytesIO(given)] if held else given.split(b"\0")[:-1]:
        where = glob.escape(os.fsdecode(source)) if isinstance(source, bytes) else source
        _attempt(pl, where, kind.split()[0])
        _tell("read")


def _tell(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def _lower(which: int, most: int) -> None:
    soft, hard = resource.getrlimit(which)
    known = [limit for limit in (soft, hard, most) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(which, (min(known), hard))


def _attempt(pl: Any, source: Any, kind: str) -> None:
    """Read a file; an error, or a panic of compiled code, is for the first process to meet."""
    try:
        _count_missing(pl, source, kind)
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise


def _count_missing(pl: Any, source: Any, kind: str) -> None:
    """Have every value unpacked, a few rows at a time where polars can."""
    if kind == "stream":
        lazy = pl.read_ipc_stream(source).lazy()
    else:
        lazy = pl.scan_parquet(source) if kind == "parquet" else pl.scan_ipc(source)
    count = lazy.select(pl.all().null_count())
    try:
        count.collect(engine="streaming")
    except TypeError:  # polars before 1.23
        count.collect()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
