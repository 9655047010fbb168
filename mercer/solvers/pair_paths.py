"""Pairs of classes along growing bounds, all in compiled loops: what a search asks for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer._limits import Limits
from mercer._scratch import scratch
from mercer.gram import SINGLE_RANGE
from mercer.solvers._path_loops import follow_each
from mercer.solvers._turn_loops import ALL_UNCLEAR
from mercer.solvers.dense import OPERATIONS_BETWEEN_CHECKS

SQUARES_TOGETHER = 2**22  # kernel values of what is solved between two looks at the clock
MOST_POINTS = 2000  # of a pair; a larger one fills the time between looks by itself


class ClassPair(NamedTuple):
    """The points of two classes, increasing, and their labels ±1."""

    rows: np.ndarray
    sign: np.ndarray


class PairValues(NamedTuple):
    """Decision values (path, pairs, asked), and which pairs have them: hard ones are left."""

    values: np.ndarray
    done: np.ndarray


def follow_pairs(
    K: np.ndarray,
    pairs: list[ClassPair],
    bounds: np.ndarray,
    asked: np.ndarray,
    *,
    tol: float,
    limits: Limits,
    most_points: int = MOST_POINTS,
    between: float = OPERATIONS_BETWEEN_CHECKS,
) -> PairValues:
    """Solve C-machines of pairs of classes for bounds (path, n), each step from the one before.

    Violation and relative gap are at most ``tol``, as `follow` has them. Pairs of more than
    ``most_points``, and those that take more than ``between`` operations, are left.
    """
    offsets = np.cumsum([0, *(len(pair.rows) for pair in pairs)])
    index = np.concatenate([pair.rows for pair in pairs]).astype(np.int64)
    sign = np.concatenate([pair.sign for pair in pairs]).astype(np.float64)
    found = PairValues(
        np.zeros((len(bounds), len(pairs), len(asked))), np.zeros(len(pairs), np.bool_)
    )
    most = int(np.diff(offsets).max())
    if most > most_points or not K.diagonal().max(initial=0.0) < SINGLE_RANGE:
        return found
    square = scratch((most * most,), K.dtype, brief=True)
    fixed = square.view()
    fixed.flags.writeable = False
    rows = scratch((most * most,), np.float32, brief=True)
    room = scratch((most * most if most > ALL_UNCLEAR else 0,), np.float32, brief=True)
    across = np.ascontiguousarray(K[asked].T)
    together = max(1, SQUARES_TOGETHER // (len(bounds) * most * most))
    for first in range(0, len(pairs), together):
        if limits.stopped():
            break
        todo = np.arange(first, min(first + together, len(pairs)))
        follow_each(
            K, across, todo, offsets, index, sign, bounds, tol, between, square, fixed, rows, room,
            found.values, found.done,
        )  # fmt: skip
    return found
