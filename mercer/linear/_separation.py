"""Whether a linear function separates the classes: then the likelihood has no maximum.

It has none if and only if some θ ≠ 0 puts no label behind another class and some label ahead of
one. If all are ahead the separation is complete, else it is quasi-complete.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer._limits import Limits
from mercer.optimize import linear_program
from mercer.result import Status

BEHIND = 1e-7  # margin, relative to the largest, that a linear program may leave below 0
AHEAD = 1e-7  # margin, relative to what is possible, that is more than rounding


class Separation(NamedTuple):
    """A separating direction θ (m, k) and whether all labels are strictly ahead."""

    theta: np.ndarray
    complete: bool

    @property
    def kind(self) -> str:
        """The name of the case."""
        return "complete" if self.complete else "quasi-complete"


def find_separation(
    A: Any, codes: np.ndarray, k: int, limits: Limits
) -> tuple[Separation | None, Status | None]:
    """Return a separating direction, or None: then the likelihood has a maximum.

    The linear program max Σ margins with all margins ≥ 0 and |θ| ≤ 1 has the value 0 if and only
    if there is none. The status says if it was stopped before that was known.
    """
    M = _margin_table(A, codes, k)
    some, stopped = _program(M, np.asarray(M.sum(axis=0)).ravel(), 0.0, limits)
    if some is None:
        return None, stopped
    every, _ = _program(M, np.zeros(M.shape[1]), 1.0, limits)
    theta = some if every is None else every
    return Separation(theta.reshape(k, -1).T, every is not None), None


def _program(
    M: Any, gains: np.ndarray, share: float, limits: Limits
) -> tuple[np.ndarray | None, Status | None]:
    """Maximise gains·θ + share · t with all margins ≥ share · t and |θ| ≤ 1; None if that is 0."""
    room = np.full((M.shape[0], 1), share)
    table = sp.hstack([-M, room], "csr") if sp.issparse(M) else np.hstack([-M, room])
    left = limits.deadline - time.monotonic()
    found = linear_program(
        -np.append(gains, share),
        table,
        np.zeros(M.shape[0]),
        bounds=(-1.0, 1.0),
        time_limit=max(left, 0.0) if np.isfinite(left) else None,
    )
    theta = found.value[:-1]
    margins = np.asarray(M @ theta)
    possible = float(np.max(abs(M).sum(axis=1)))
    ahead = float(margins.min() if share else margins.max())
    if ahead <= AHEAD * possible or margins.min() < -BEHIND * float(np.abs(margins).max()):
        stopped = found.status in (Status.TIME_LIMIT, Status.INTERRUPTED)
        return None, found.status if stopped else None
    return theta, None


def _margin_table(A: Any, codes: np.ndarray, k: int) -> Any:
    """Return the table whose products with θ (class by class) are the margins of all labels."""
    if k == 1:
        sign = 2.0 * codes - 1.0
        return sp.diags_array(sign) @ A if sp.issparse(A) else A * sign[:, None]
    A = sp.csr_array(A)
    return sp.vstack([_against(A[codes != c], codes[codes != c], c, k) for c in range(k)], "csr")


def _against(A: Any, codes: np.ndarray, other: int, k: int) -> Any:
    """Return the table of the margins of rows against one class that is not theirs."""
    parts = [sp.diags_array((codes == c) - 1.0 * (c == other)) @ A for c in range(k)]
    return sp.hstack(parts, "csr")
