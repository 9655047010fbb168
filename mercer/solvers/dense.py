"""Margin problems whose kernel values all lie in one matrix: turns of pairwise and Newton steps.

Pairwise steps find out which points are free, Newton steps solve for these at once. Points with
lo = hi = 0 take no part, but their residuals are kept up to date: held-out points of
cross-validation have their decision values z − e for nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mercer._floats import TINY
from mercer._limits import Limits
from mercer._scratch import scratch
from mercer.gram import SINGLE_RANGE
from mercer.margin import MarginProblem
from mercer.result import Status
from mercer.solvers import _newton_loops as newton
from mercer.solvers._many_loops import FEW_FREE
from mercer.solvers._turn_loops import ALL_UNCLEAR, NEGLIGIBLE, take_turns
from mercer.solvers.smo import SmoState, hulls_meet

OPERATIONS_BETWEEN_CHECKS = 3e8  # compiled loops come back so often for Ctrl-C and the clock
# steps reckon with curvatures of 1e-12 at least, which is in the way of large coefficients where
SMALL_VALUE, LARGE_BOUND = 1e-6, 1e6  # the largest kernel value and the largest bound are such


class DenseMatrix(NamedTuple):
    """Kernel values of all points of a problem.

    ``rows`` are K for pairwise steps, in float32 unless its range is too small; ``room`` is memory
    for them to work in.
    """

    K: np.ndarray
    rows: np.ndarray
    diagonal: np.ndarray
    room: np.ndarray

    @classmethod
    def of(cls, K: np.ndarray) -> DenseMatrix:
        """Return the matrix; K is float32 or float64, symmetric."""
        K = np.ascontiguousarray(K)
        diagonal = np.ascontiguousarray(np.diagonal(K), dtype=np.float64)
        if K.dtype != np.float32 and diagonal.max(initial=0.0) < SINGLE_RANGE:
            rows = scratch(K.shape, np.float32, brief=True)
            rows[...] = K
        else:
            rows = K if K.flags.writeable else K.copy()
        return cls(K, rows, diagonal, cls._room(len(K), rows.dtype))

    def in_full_precision(self) -> DenseMatrix:
        """Return the same matrix with pairwise steps in the precision of K."""
        rows = self.K if self.K.flags.writeable else self.K.copy()
        return self._replace(rows=rows, room=self._room(len(rows), rows.dtype))

    @property
    def fixed(self) -> np.ndarray:
        """K as an array that is not written to: one kind for loops, whoever owns it."""
        view = self.K.view()
        view.flags.writeable = False
        return view

    def with_own_room(self) -> DenseMatrix:
        """Return the same matrix with room for another solve at the same time."""
        return self._replace(room=self._room(len(self.K), self.rows.dtype))

    @staticmethod
    def nbytes(n: int) -> int:
        """Return the bytes that n points may take."""
        return 16 * n * n

    @staticmethod
    def _room(n: int, dtype: np.dtype) -> np.ndarray:
        """Return memory for one solve; what is not used is never touched."""
        return scratch((n * n if n > ALL_UNCLEAR else 0,), dtype, brief=True)


def solve_dense(
    matrix: DenseMatrix,
    problem: MarginProblem,
    tol: float,
    limits: Limits,
    start: SmoState,
    few_free: int = FEW_FREE,
    operations: float = OPERATIONS_BETWEEN_CHECKS,
) -> SmoState:
    """Go on from a state until the largest violation of a pair of points is at most ``tol``.

    The conditions of up to ``few_free`` free points are then solved to rounding. Compiled loops
    come back after so many ``operations`` to look at the limits.
    """
    if (power := _power_of_small(matrix, problem)) != 0:
        found = solve_dense(
            DenseMatrix.of(np.ldexp(matrix.K, -power)), _times(problem, power), tol, limits,
            replace(start, beta=np.ldexp(start.beta, power)), few_free, operations,
        )  # fmt: skip
        return replace(found, beta=np.clip(np.ldexp(found.beta, -power), problem.lo, problem.hi))
    beta, e = start.beta.copy(), np.array(start.e, dtype=np.float64)
    z, lo, hi, eps, total = problem
    hard = bool(np.isinf(hi).any())
    steps, status, violation = start.steps, Status.OPTIMAL, np.inf
    if hard:  # without bounds a pair that float32 cannot tell apart goes too far to come back
        matrix = matrix.in_full_precision()
        if 0.0 < matrix.diagonal.max(initial=0.0) < TINY:  # and these values have no digits
            status = Status.STALLED
    try:
        while status.ok:
            most = 2**62 if limits.max_iter < 0 else max(0, limits.max_iter - steps)
            taken, violation, ended = take_turns(
                matrix.fixed, matrix.rows, matrix.diagonal, z, lo, hi, eps, total, tol, beta, e,
                matrix.room, most, operations,
            )  # fmt: skip
            steps += taken
            if violation <= tol:
                break
            status = limits.stopped(steps) or Status.OPTIMAL
            if hard and hulls_meet(beta, matrix.diagonal, matrix.K.__matmul__):
                status = Status.NOT_SEPARABLE
            elif ended and matrix.rows.dtype != matrix.K.dtype:
                matrix = matrix.in_full_precision()
            elif ended and status.ok:
                status = Status.STALLED
        if status.ok and few_free and len(newton.free_points(beta, lo, hi)) <= few_free:
            newton.newton(matrix.fixed, z, lo, hi, eps, total, NEGLIGIBLE, beta, e)
    except KeyboardInterrupt:
        limits.interrupted = True
        status = Status.INTERRUPTED
    return SmoState(beta, e, violation, steps, status)


def _power_of_small(matrix: DenseMatrix, problem: MarginProblem) -> int:
    """Return the power of two by which small kernel values are divided where bounds are large.

    0 if they are not, or the bounds are none. Values that are 0 are in the unit of the bounds.
    """
    largest, bound = float(matrix.diagonal.max(initial=0.0)), float(problem.hi.max(initial=0.0))
    if largest >= SMALL_VALUE or not LARGE_BOUND < bound < np.inf:
        return 0
    return int(np.frexp(largest)[1]) if largest > 0.0 else -int(np.frexp(bound)[1])


def _times(problem: MarginProblem, power: int) -> MarginProblem:
    """Return the same problem for K / 2ᵖ, whose coefficients are 2ᵖβ."""
    lo, hi = np.ldexp(problem.lo, power), np.ldexp(problem.hi, power)
    return problem._replace(lo=lo, hi=hi, total=float(np.ldexp(problem.total, power)))
