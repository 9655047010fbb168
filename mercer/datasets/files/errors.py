"""What goes wrong with files, in one line that says what to do."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

MOST_NAMES = 3


class DataError(ValueError):
    """A file, or a column of it, that cannot be used, and what to do about it."""


def missing_file(path: Path) -> DataError:
    """Return the error for a path where no file is, with the nearest names of the folder."""
    folder = path.parent
    if not folder.is_dir():
        return DataError(f"there is no folder {str(folder)!r}: check the path {str(path)!r}")
    names = sorted(entry.name for entry in folder.iterdir())
    return DataError(f"there is no file {str(path)!r}{_instead(path.name, names)}")


def unknown_column(name: str, columns: Sequence[str], path: Path | None = None) -> DataError:
    """Return the error for a column that is not there, with the nearest names."""
    where = f" of {str(path)!r}" if path is not None else ""
    count = f"{len(columns)} column{'s' * (len(columns) != 1)}{where}"
    near = nearest(name, columns) or list(columns[:MOST_NAMES])
    return DataError(f"there is no column {name!r} among the {count}: did you mean {quoted(near)}?")


def nearest(name: str, known: Sequence[str]) -> list[str]:
    """Return at most three known names that look like this one, the nearest first."""
    lower = {other.lower(): other for other in reversed(known)}
    found = difflib.get_close_matches(name.lower(), lower, n=MOST_NAMES, cutoff=0.5)
    return [lower[match] for match in found]


def quoted(names: Sequence[str]) -> str:
    """Return names as a list for people: ``'a', 'b' or 'c'``."""
    texts = [repr(name) for name in names]
    return " or ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else "".join(texts)


def _instead(name: str, names: Sequence[str]) -> str:
    near = nearest(name, names)
    if near:
        return f": did you mean {quoted(near)}?"
    if not names:
        return ": its folder is empty"
    shown = quoted(names[:MOST_NAMES]) + (" …" if len(names) > MOST_NAMES else "")
    return f": its folder holds {shown}"
