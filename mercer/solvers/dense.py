"""Margin problems whose kernel values all lie in one matrix: turns of pairwise and Newton steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mercer._limits import Limits
from mercer._scratch import scratch
from mercer.margin import MarginProblem
from mercer.result import Status
from mercer.solvers import _dense_loops as loops
from mercer.solvers._newton_loops import free_points, newton
from mercer.solvers.smo import SmoState, hulls_meet

OPERATIONS_BETWEEN_CHECKS = 3e8  # compiled loops come back so often for Ctrl-C and the clock
SINGLE_RANGE = 1e20  # sums of larger kernel values leave the range of float32
ROUNDS = 8  # of tightening the tolerance until the duality gap is small too
FEW_FREE = 300  # free points whose conditions are solved to rounding


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
        rows = K
        if K.dtype != np.float32 and diagonal.max(initial=0.0) < SINGLE_RANGE:
            rows = scratch(K.shape, np.float32, brief=True)
            rows[...] = K
        return cls(K, rows, diagonal, cls._room(len(K), rows.dtype))

    def in_full_precision(self) -> DenseMatrix:
        """Return the same matrix with pairwise steps in the precision of K."""
        return self._replace(rows=self.K, room=self._room(len(self.K), self.K.dtype))

    def beside(self) -> DenseMatrix:
        """Return the same matrix with room for another solve at the same time."""
        return self._replace(room=self._room(len(self.K), self.rows.dtype))

    @staticmethod
    def nbytes(n: int) -> int:
        """Return the bytes that n points may take."""
        return 16 * n * n

    @staticmethod
    def _room(n: int, dtype: np.dtype) -> np.ndarray:
        """Return memory for one solve; what is not used is never touched."""
        return scratch((n * n if n > loops.ALL_UNCLEAR else 0,), dtype, brief=True)


def solve_dense(
    matrix: DenseMatrix,
    problem: MarginProblem,
    tol: float,
    limits: Limits,
    start: SmoState,
    few_free: int = FEW_FREE,
) -> SmoState:
    """Go on from a state until the largest violation of a pair of points is at most ``tol``.

    The conditions of up to ``few_free`` free points are then solved to rounding.
    """
    beta, e = start.beta.copy(), np.array(start.e, dtype=np.float64)
    z, lo, hi, eps, total = problem
    hard = bool(np.isinf(hi).any())
    steps, status, violation = start.steps, Status.OPTIMAL, np.inf
    try:
        while status.ok:
            most = 2**62 if limits.max_iter < 0 else max(0, limits.max_iter - steps)
            taken, violation, ended = loops.solve(
                matrix.K, matrix.rows, matrix.diagonal, z, lo, hi, eps, total, tol, beta, e,
                matrix.room, most, OPERATIONS_BETWEEN_CHECKS,
            )  # fmt: skip
            steps += taken
            if violation <= tol:
                break
            status = limits.stopped(steps) or Status.OPTIMAL
            if hard and hulls_meet(beta, z - e, matrix.diagonal):
                status = Status.NOT_SEPARABLE
            elif ended and matrix.rows.dtype != matrix.K.dtype:
                matrix = matrix.in_full_precision()
            elif ended and status.ok:
                status = Status.STALLED
        if status.ok and few_free and len(free_points(beta, lo, hi)) <= few_free:
            newton(matrix.K, z, lo, hi, eps, total, loops.NOTHING, beta, e)
    except KeyboardInterrupt:
        limits.interrupted = True
        status = Status.INTERRUPTED
    return SmoState(beta, e, violation, steps, status)


def follow(
    matrix: DenseMatrix,
    problem: MarginProblem,
    tol: float,
    limits: Limits,
    before: SmoState | None = None,
    ratio: float = 1.0,
) -> SmoState:
    """Solve to a relative gap and a violation of ``tol``, from the solution for bounds / ratio."""
    if before is None:
        state = SmoState(np.zeros(len(problem.z)), problem.z.copy())
    else:
        state = SmoState(before.beta.copy(), before.e.copy())
        loops.rescale(matrix.K, *problem, ratio, state.beta, state.e)
    return solve_to_gap(
        lambda target, start: solve_dense(matrix, problem, target, limits, start, few_free=0),
        problem,
        tol,
        tol,
        state,
    )[0]


def solve_to_gap(
    solve: Callable[[float, SmoState], SmoState],
    problem: MarginProblem,
    tol: float,
    target: float,
    state: SmoState,
) -> tuple[SmoState, float]:
    """Lower the violation until the gap, by the solver's own residuals, is small as well."""
    for _ in range(ROUNDS):
        state = solve(target, state)
        relative_gap = problem.relative_gap(state.beta, state.e)
        if relative_gap <= 0.95 * tol or not state.status.ok:
            break
        target *= max(0.1, min(0.7, 0.8 * tol / relative_gap))
    return state, target
