"""The clock that every long computation of kernel values looks at.

A deadline holds for all that is called within `until`, so that a matrix, a product or a proof that
no solver's loop can look into ends in time, too.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

NEVER = float("inf")
_deadline: ContextVar[float] = ContextVar("deadline", default=NEVER)


class OutOfTimeError(Exception):
    """The time of a run is over; who set the limit catches it and returns the best so far."""


@contextmanager
def until(deadline: float) -> Iterator[None]:
    """Let computations within raise `OutOfTimeError` once ``time.monotonic()`` is past this."""
    token = _deadline.set(min(deadline, _deadline.get()))
    try:
        yield
    finally:
        _deadline.reset(token)


def deadline() -> float:
    """Return when the innermost computation must end."""
    return _deadline.get()


def look(limit: float) -> None:
    """Raise if the time is over."""
    if limit < NEVER and time.monotonic() > limit:
        raise OutOfTimeError
