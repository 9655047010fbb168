"""Files that take the place of others when they are complete: the old one or the new one."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EIO
from pathlib import Path
from typing import BinaryIO

READABLE = 0o666  # less what the umask takes, as for any new file


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a file that takes the place of ``path`` at the end, if nothing went wrong.

    Whatever ends the process on the way, ``path`` holds all of the old content or all of the new
    one. A symbolic link stays one, and what it points to is replaced. The new file has the
    permissions of the old one from its first byte on: what was private is private all the time.

    Parameters
    ----------
    path : path
        Where the file is to appear; its folder must be there.
    """
    target = Path(os.path.realpath(path))
    mode = stat.S_IMODE(target.stat().st_mode) & 0o777 if target.exists() else None
    beside = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with open(_created(beside, mode), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise _said_of(error, path, beside) from error
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _said_of(error: OSError, path: str | os.PathLike[str], beside: Path) -> OSError:
    """Return the error under the name that the caller knows; a full disk names no file at all."""
    if error.filename not in (None, str(beside)):
        return error
    return OSError(error.errno or EIO, error.strerror or str(error), os.fspath(path))


def _created(path: Path, mode: int | None) -> int:
    """Return the number of a new file, with these permissions or those of any new file."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    number = os.open(path, flags, READABLE if mode is None else mode)
    if mode is not None:
        os.chmod(path, mode)  # the umask may have taken some away
    return number
