"""Values of options that are more than a word: names, times, memory."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mercer._array import parse_memory
from mercer._words import listing, nearest, short
from mercer.cli.errors import USAGE, CommandError

LONGEST_NAME = 60  # characters of a wrong one that are shown
MOST_NAMES = 30  # that are shown where none is near
SURELY = 0.7  # likeness of a name that was meant; less is a guess, beside which all are named
LEAST_MEMORY = 1_000_000  # bytes
UNITS = {"": 1.0, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def chosen(option: str, name: str, table: Iterable[str]) -> str:
    """Return a name that must be one of a table's; another one is told the nearest of them."""
    names = list(table)
    if name in names:
        return name
    name = short(name, LONGEST_NAME)
    raise CommandError(f"{option}: there is no {name!r}; {_hint(name, names)}", USAGE)


def _hint(name: str, names: list[str]) -> str:
    """Return the names that may have been meant, and all of them unless that is sure."""
    near = nearest(name, names)
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    known = f"there are {', '.join(names[:MOST_NAMES])}{more}"
    if not near:
        return known
    guess = f"did you mean {listing(near, 'or')}?"
    return guess if nearest(name, names, SURELY) else f"{guess} ({known})"


def seconds(text: str | None) -> float | None:
    """Return the seconds of "60", "60s", "2m", "1.5h" or "none"."""
    if text is None or text.strip().lower() in ("none", "inf"):
        return None
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([a-z]*)\s*", text.lower())
    if not match or match[2] not in UNITS or float(match[1]) <= 0:
        raise CommandError(
            f"--time-limit: {text!r} is not a time; write e.g. 60s, 5m, 1h or none", USAGE
        )
    return float(match[1]) * UNITS[match[2]]


def budget(text: str | None) -> int | None:
    """Return the bytes of "2GB" or "500MB"; None stays None."""
    if text is None:
        return None
    try:
        found = parse_memory(text)
    except ValueError:
        message = f"--memory: {text!r} is no amount of memory; write e.g. 500MB or 2GB"
        raise CommandError(message, USAGE) from None
    if found < LEAST_MEMORY:
        raise CommandError(f"--memory: {text!r} is too little for any fit; give 1MB or more", USAGE)
    return found
