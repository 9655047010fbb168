"""Numbers as people read them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def number(value: Any) -> str:
    """Return a short text for a rate or a count; what is undefined says so."""
    return "0/0" if value != value else f"{float(value):.4g}"


def with_ends(value: float, interval: Callable[[], tuple[float, float]]) -> str:
    """Return a value and its interval."""
    low, high = interval()
    return f"{number(value)}  ({number(low)} … {number(high)})"


def estimate(evaluation: Any, name: str, with_interval: bool) -> str:
    """Return a value, with its 95 % interval where that is asked for."""
    value = getattr(evaluation, name)
    if not with_interval or value != value:
        return number(value)
    return with_ends(value, lambda: evaluation.interval(name))
