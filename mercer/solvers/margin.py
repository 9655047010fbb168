"""Margin problems solved and proved: fast in float32, exact in float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from mercer._limits import Limits
from mercer.certify import duality_gap
from mercer.gram import Gram
from mercer.kernels.tiles import TILE
from mercer.margin import MarginProblem
from mercer.result import Certificate, Solution, Status
from mercer.solvers.dense import ROUNDS, DenseMatrix, solve_dense, solve_to_gap
from mercer.solvers.smo import SmoState, solve_smo

CHECK_ALL = 2**26  # work (kernel values × columns); larger proofs leave out points that are clear
CLEARANCE = 0.02  # of the margin, beyond which a point is clear
# points whose kernel values are all computed; float64 is asked for where the problem is hard, and
# then Newton steps are worth the memory
DENSE_UP_TO = {np.dtype(np.float32): 2500, np.dtype(np.float64): 6000}
CHEAP = 300  # operations for a kernel value; costlier ones are computed only where needed


def solve_margin(
    K: Gram,
    index: np.ndarray,
    problem: MarginProblem,
    *,
    tol: float = 1e-3,
    limits: Limits | None = None,
    start: SmoState | None = None,
    exact: Callable[[], Gram] | None = None,
    values: Callable[[], np.ndarray] | None = None,
    about: str = "",
) -> Solution:
    """Solve a margin problem on some points of a Gram matrix, and prove it.

    Steps use K in its own precision; the proof recomputes the residuals in float64. Where float32
    is too coarse for the tolerance (large C), the solve goes on in float64.

    Parameters
    ----------
    K : Gram
        The Gram matrix of all points.
    index : array of int, increasing
        The points of the problem.
    exact : callable, default=None
        Returns a float64 Gram of the same points that is fit for a solve, if it comes to that.
    values : callable, default=None
        Returns the kernel values among the points as an array, in the precision of K, in place of
        ``K.among(index)``.

    Returns
    -------
    Solution
        ``value`` is β, ``intercept`` b, ``state`` what a warm start needs.
    """
    limits = limits or Limits()
    state = start or SmoState(np.zeros(len(index)), problem.z)
    proof, target = K.in_double(), tol
    if limits.interrupted:
        return _unproved(K, problem, state, tol, about)
    matrix = _dense_matrix(K, index, limits.memory, values)
    for _ in range(ROUNDS):
        state, target = solve_to_gap(
            partial(_solve, K, matrix, index, problem, limits), problem, tol, target, state
        )
        if matrix is not None and matrix.K.dtype == np.float64:
            e, checked = problem.z - matrix.K @ state.beta, len(index)
        elif state.status is Status.INTERRUPTED:  # who has pressed Ctrl-C does not wait for a proof
            return _unproved(K, problem, state, tol, about)
        else:
            e, checked = _exact_residuals(proof, index, problem, state)
        drift, state.e = float(np.abs(e - state.e).max()), e
        extra = {"checked": checked, "steps": state.steps, "storage": K.storage}
        certificate = duality_gap(
            state.beta, state.e, problem, tolerance=tol, about=about, extra=extra
        )
        stopped = limits.stopped(state.steps) or state.status is Status.NOT_SEPARABLE
        if stopped or certificate.ok:
            break
        stalled = state.status is Status.STALLED
        if K.dtype == np.float32 and (stalled or drift > 0.05 * target) and exact is not None:
            K = exact()
            matrix = _dense_matrix(K, index, limits.memory)
        elif stalled:
            break
        else:
            target *= 0.3
    b, _ = problem.offset(state.beta, state.e)
    status = _status(state.status, certificate, limits.stopped(state.steps))
    return Solution(state.beta, status, certificate, intercept=b, state=state)


def _unproved(K: Gram, problem: MarginProblem, state: SmoState, tol: float, about: str) -> Solution:
    """Return an interrupted solution with figures by the solver's own residuals, proving none."""
    extra = {"checked": 0, "steps": state.steps, "storage": K.storage}
    figures = duality_gap(state.beta, state.e, problem, tolerance=tol, about=about, extra=extra)
    b, _ = problem.offset(state.beta, state.e)
    certificate = replace(figures, value=np.nan)
    return Solution(state.beta, Status.INTERRUPTED, certificate, intercept=b, state=state)


def is_dense(K: Gram, n: int, memory: int) -> bool:
    """Tell whether a problem on n points has all its kernel values in one matrix."""
    return n <= DENSE_UP_TO[K.dtype] and K.work <= CHEAP and DenseMatrix.nbytes(n) <= memory


def _dense_matrix(
    K: Gram, index: np.ndarray, memory: int, values: Callable[[], np.ndarray] | None = None
) -> DenseMatrix | None:
    if not is_dense(K, len(index), memory):
        return None
    return DenseMatrix.of(values() if values else K.among(index))


def _solve(
    K: Gram,
    matrix: DenseMatrix | None,
    index: np.ndarray,
    problem: MarginProblem,
    limits: Limits,
    target: float,
    state: SmoState,
) -> SmoState:
    if matrix is not None:
        return solve_dense(matrix, problem, target, limits, state)
    return solve_smo(K, index, problem, target, limits, state)


def _status(ended: Status, certificate: Certificate, stopped: Status | None) -> Status:
    if certificate.ok or ended is Status.NOT_SEPARABLE:
        return Status.OPTIMAL if certificate.ok else ended
    return stopped or Status.STALLED


def _exact_residuals(
    K: Gram, index: np.ndarray, problem: MarginProblem, state: SmoState
) -> tuple[np.ndarray, int]:
    """Return z − Kβ in float64, and the number of points that were recomputed.

    In large problems a point with β = 0 whose float32 residual keeps clear of the margin by far
    more than float32 is off anywhere else is not recomputed: its loss is 0 either way.
    """
    beta, z = state.beta, problem.z
    support = np.flatnonzero(beta)
    if not len(support):
        return z.astype(np.float64), len(z)
    check = np.ones(len(z), bool)
    if len(z) * len(support) * K.work > CHECK_ALL:
        b, _ = problem.offset(beta, state.e)
        check = ~problem.clear(beta, state.e - b, CLEARANCE)
    e = state.e.copy()
    _recompute(K, index, z, beta, support, check, e)
    if not check.all() and np.abs(e - state.e).max() > 0.1 * CLEARANCE:
        _recompute(K, index, z, beta, support, ~check, e)
        check[:] = True
    return e, int(check.sum())


def _recompute(
    K: Gram,
    index: np.ndarray,
    z: np.ndarray,
    beta: np.ndarray,
    support: np.ndarray,
    which: np.ndarray,
    e: np.ndarray,
) -> None:
    """Write exact residuals of some points."""
    parts = [which]
    if len(support) > TILE:  # among themselves they cost half
        parts = [which & (beta != 0), which & (beta == 0)]
    for part in map(np.flatnonzero, parts):
        if len(part):
            e[part] = z[part] - K.combine(index[support], beta[support], index[part])
