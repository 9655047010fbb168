"""How long a run may go on: steps, seconds, Ctrl-C. The one clock of every solver."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

import numpy as np

from mercer._clock import until
from mercer.result import Certificate, Solution, Status

UNLIMITED = 2**62
GRACE = 1.0  # seconds after the deadline in which a proof may still be made
MATRIX_SHARE = 0.7  # of the time that is left: a matrix that takes more leaves none to solve


@dataclass
class Limits:
    """What a run may take; shared by all problems of a fit.

    Parameters
    ----------
    max_iter : int
        Steps; below 0 there is no limit.
    deadline : float
        When to stop, on the clock ``time.monotonic()``.
    interrupted : bool
        Whether the user has pressed Ctrl-C.
    memory : int
        Bytes for working memory that can be larger or smaller.
    """

    max_iter: int = -1
    deadline: float = np.inf
    interrupted: bool = False
    memory: int = UNLIMITED

    @classmethod
    def of(
        cls, max_iter: int = -1, time_limit: float | None = None, memory: int = UNLIMITED
    ) -> Limits:
        """Start the clock."""
        deadline = np.inf if time_limit is None else time.monotonic() + time_limit
        return cls(max_iter, deadline, memory=memory)

    def interrupt(self) -> None:
        """Ask all solves under these limits to end with the best so far."""
        self.interrupted = True

    def stopped(self, steps: int = 0) -> Status | None:
        """Return why to stop now, or None to go on."""
        if self.interrupted:
            return Status.INTERRUPTED
        if 0 <= self.max_iter <= steps:
            return Status.MAX_ITER
        return Status.TIME_LIMIT if time.monotonic() > self.deadline else None

    def seconds_left(self) -> float | None:
        """Return the rest of the time as a ``time_limit`` for another run; None if unlimited."""
        return None if self.deadline == np.inf else max(self.deadline - time.monotonic(), 0.0)

    def share(self, part: float) -> float | None:
        """Return a part of the time that is left; None if unlimited."""
        left = self.seconds_left()
        return None if left is None else part * left

    def for_matrix(self) -> AbstractContextManager[None]:
        """Return the time in which a matrix must be there to be of use."""
        seconds = self.share(MATRIX_SHARE)
        return until(np.inf if seconds is None else time.monotonic() + seconds)

    def for_solving(self) -> AbstractContextManager[None]:
        """Return the time in which all but the proof happens."""
        return until(self.deadline)

    def for_proof(self) -> AbstractContextManager[None]:
        """Return the time in which a proof of the best so far must be there."""
        return until(self.deadline + GRACE)


def of_some_rows(found: Solution) -> Solution:
    """Return a solution in the span of some rows as what it is where all were asked for."""
    status = Status.TIME_FOR_SOME if found.status.ok else found.status
    return replace(found, status=status, certificate=proof_of_some_rows(found.certificate))


def proof_of_some_rows(proof: Certificate) -> Certificate:
    """Return a proof in the span of some rows as what it is where all were asked for: none."""
    parts = {"in_span": proof.value, **proof.parts}
    return replace(proof, value=np.nan, parts=parts, about=f"no time for all rows; {proof.about}")
