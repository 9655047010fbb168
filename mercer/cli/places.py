"""Where a command reads and writes: an output is no input, no other output, and can be written."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Mapping
from pathlib import Path

from mercer.cli.errors import USAGE, CommandError


def check_places(reads: Mapping[str, Path | None], writes: Mapping[str, Path | None]) -> None:
    """Refuse before any work what would be lost by it; files stand under the names of options.

    Every command that writes calls this first, with all of its files.
    """
    taken = {option: path for option, path in reads.items() if path is not None}
    for option, path in writes.items():
        if path is None:
            continue
        _check_writable(path, option)
        for other, place in taken.items():
            if same_place(path, place):
                raise _taken(option, path, other, place)
        taken[option] = path


def _taken(option: str, path: Path, other: str, place: Path) -> CommandError:
    where = "" if path == place else f" ({str(place)!r})"
    return CommandError(
        f"{option}: {str(path)!r} is the file of {other}{where} as well, which would be lost: name "
        f"another file",
        USAGE,
    )


def same_place(a: Path, b: Path) -> bool:
    """Tell whether two paths lead to one file, now or when it is written.

    Names of new files that differ in nothing but case or in how accents are coded count as one:
    not every disk tells them apart.
    """
    a, b = a.expanduser(), b.expanduser()
    if a.exists() and b.exists():
        return os.path.samefile(a, b)
    return _folded(a) == _folded(b)


def _folded(path: Path) -> str:
    return unicodedata.normalize("NFC", os.path.realpath(path)).casefold()


def _check_writable(path: Path, option: str) -> None:
    """Raise where a path cannot be written: better before an hour of work than after it."""
    if path.is_dir():
        raise CommandError(f"{option}: {str(path)!r} is a folder: name a file in it", USAGE)
    if path.exists() and not path.is_file():  # a device would be replaced, not written to
        raise CommandError(f"{option}: {str(path)!r} is no ordinary file: name another", USAGE)
    folder = Path(os.path.realpath(path)).parent  # of what a link points to
    if not folder.is_dir():
        raise CommandError(
            f"{option}: the folder {str(path.parent)!r} does not exist: make it first", USAGE
        )
    if not os.access(folder, os.W_OK):
        raise CommandError(f"{option}: no right to write in {str(path.parent)!r}", USAGE)
