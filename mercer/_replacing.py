"""Files that appear when they are complete: the old one or the new one, never half of one."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EIO
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a file beside ``path`` that takes its place at the end, if nothing went wrong.

    A link stays a link, and what it points to is replaced; a file that was there keeps its mode.
    """
    place = Path(os.path.realpath(path))
    beside = place.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with open(beside, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _keep_mode(place, beside)
        os.replace(beside, place)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise _said_of(error, path, beside) from error
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _keep_mode(old: Path, new: Path) -> None:
    if old.exists():
        new.chmod(stat.S_IMODE(old.stat().st_mode))


def _said_of(error: OSError, path: str | os.PathLike[str], beside: Path) -> OSError:
    """Return the error under the name that the caller knows; a full disk names no file at all."""
    if error.filename not in (None, str(beside)):
        return error
    return OSError(error.errno or EIO, error.strerror or str(error), os.fspath(path))
