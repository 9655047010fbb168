"""The time that a report may take, and how it is shared."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

DEFAULT_SECONDS = 10.0


class Clock:
    """Seconds since the start, and what is left of the limit."""

    def __init__(self, limit: Any = None):
        if limit is not None and not _is_positive(limit):
            raise ValueError(f"time_limit must be a number of seconds > 0 or None; got {limit!r}")
        self.limit = DEFAULT_SECONDS if limit is None else float(limit)
        self.start = time.monotonic()

    def passed(self) -> float:
        """Return the seconds since the start."""
        return time.monotonic() - self.start

    def left(self) -> float:
        """Return the seconds until the limit, never below 0."""
        return max(self.limit - self.passed(), 0.0)

    def share(self, part: float) -> float:
        """Return the seconds of a section that may take this part of the whole."""
        return min(part * self.limit, self.left())


def _is_positive(value: Any) -> bool:
    number = isinstance(value, (int, float, np.integer, np.floating))
    return number and not isinstance(value, bool) and bool(value > 0)
