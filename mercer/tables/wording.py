"""Sentences for people: plurals, short numbers, lists of names."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches


def count(n: int, noun: str, plural: str = "") -> str:
    """Return a number and its noun: ``count(1, "row")`` is "1 row", 1200 is "1,200 rows"."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def short(value: float) -> str:
    """Return a number in at most four digits: 37, 0.25, 1.2e+09."""
    return f"{value:,.0f}" if value == round(value) and abs(value) < 1e6 else f"{value:.4g}"


def listing(names: Sequence[str], joint: str = "and", most: int = 4) -> str:
    """Return quoted names: "'a', 'b' and 'c'", cut after ``most``."""
    quoted = [repr(name) for name in names]
    if len(quoted) > most:
        quoted = [*quoted[: most - 1], f"{len(quoted) - most + 1} others"]
    return f" {joint} ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def nearest(name: str, names: Sequence[str]) -> str:
    """Return "; did you mean …?" with the names most like this one, or which names there are."""
    near = get_close_matches(name, names, n=3, cutoff=0.5)
    return f"; did you mean {listing(near, 'or')}?" if near else f"; X has {listing(names)}"
