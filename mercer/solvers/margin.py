"""Margin problems solved and proved: fast in float32, exact in float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.certify import duality_gap
from mercer.gram import Gram
from mercer.margin import MarginProblem
from mercer.result import Certificate, Solution, Status
from mercer.solvers.polish import polish
from mercer.solvers.smo import Limits, SmoState, solve_smo

CHECK_ALL = 2**26  # work (kernel values × columns); larger proofs leave out points that are clear
CLEARANCE = 0.02  # of the margin, beyond which a point is clear
POLISH_UP_TO = 1000  # points; small problems are solved to rounding
SETTLED = 1e-9  # violation at which a small problem is solved to rounding
ROUNDS = 8  # of tightening the tolerance until the duality gap is small too
SMALL_ROUNDS = 300  # turns of pairwise and of Newton steps, which together beat bad conditioning


def solve_margin(
    K: Gram,
    index: np.ndarray,
    problem: MarginProblem,
    *,
    tol: float = 1e-3,
    limits: Limits | None = None,
    start: SmoState | None = None,
    exact: Callable[[], Gram] | None = None,
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

    Returns
    -------
    Solution
        ``value`` is β, ``intercept`` b, ``state`` what a warm start needs.
    """
    limits = limits or Limits()
    state = start or SmoState(np.zeros(len(index)), problem.z)
    proof, target = K.in_double(), tol
    small = len(index) <= POLISH_UP_TO
    for number in range(SMALL_ROUNDS if small else ROUNDS):
        turn = limits.for_steps(state.steps, 20 * len(index) + 1000) if small else limits
        state, target = _solve_to_gap(K, index, problem, tol, target, turn, state)
        limits.interrupted |= turn.interrupted
        state.e, drift, checked = _exact_residuals(proof, index, problem, state)
        stopped = limits.stopped(state.steps) or state.status is Status.NOT_SEPARABLE
        if not stopped and small:
            state.beta, state.e = polish(proof, index, problem, state.beta, state.e)
        extra = {"checked": checked, "steps": state.steps, "storage": K.storage}
        certificate = duality_gap(
            state.beta, state.e, problem, tolerance=tol, about=about, extra=extra
        )
        pair = certificate.kkt["pair"]
        patient = small and number < 3 and K.dtype == np.float64
        settled = pair < SETTLED or not patient
        if stopped or (certificate.ok and settled):
            break
        stalled = state.status is Status.STALLED
        if K.dtype == np.float32 and (stalled or drift > 0.05 * target) and exact is not None:
            K = exact()
        elif stalled:
            break
        elif not small:
            target *= 0.3
        elif state.status.ok:  # else the turn was over, and Newton's steps have moved the rest
            target = min(0.3 * target, 0.1 * pair)
    b, _ = problem.offset(state.beta, state.e)
    status = _status(state.status, certificate, limits.stopped(state.steps))
    return Solution(state.beta, status, certificate, intercept=b, state=state)


def _solve_to_gap(
    K: Gram,
    index: np.ndarray,
    problem: MarginProblem,
    tol: float,
    target: float,
    limits: Limits,
    state: SmoState,
) -> tuple[SmoState, float]:
    """Lower the violation until the gap, by the solver's own residuals, is small as well."""
    for _ in range(ROUNDS):
        state = solve_smo(K, index, problem, target, limits, state)
        estimate = duality_gap(state.beta, state.e, problem, tolerance=0.95 * tol)
        small = len(index) <= POLISH_UP_TO  # Newton's steps will do the rest
        if small or estimate.relative_gap <= estimate.tolerance or not state.status.ok:
            break
        target *= max(0.1, min(0.7, 0.8 * tol / estimate.relative_gap))
    return state, target


def _status(ended: Status, certificate: Certificate, stopped: Status | None) -> Status:
    if certificate.ok or ended is Status.NOT_SEPARABLE:
        return Status.OPTIMAL if certificate.ok else ended
    return stopped or Status.STALLED


def _exact_residuals(
    K: Gram, index: np.ndarray, problem: MarginProblem, state: SmoState
) -> tuple[np.ndarray, float, int]:
    """Return z − Kβ in float64, how far the solver's residuals were off, and the points checked.

    In large problems a point with β = 0 whose float32 residual keeps clear of the margin by far
    more than float32 is off anywhere else is not recomputed: its loss is 0 either way.
    """
    beta, z = state.beta, problem.z
    support = np.flatnonzero(beta)
    if not len(support):
        return z.astype(np.float64), 0.0, len(z)
    check = np.ones(len(z), bool)
    if len(z) * len(support) * K.work > CHECK_ALL:
        b, _ = problem.offset(beta, state.e)
        check = ~problem.clear(beta, state.e - b, CLEARANCE)
    e = state.e.copy()
    _recompute(K, index, z, beta, support, check, e)
    drift = float(np.abs(e - state.e).max())
    if not check.all() and drift > 0.1 * CLEARANCE:
        _recompute(K, index, z, beta, support, ~check, e)
        check[:] = True
        drift = float(np.abs(e - state.e).max())
    return e, drift, int(check.sum())


def _recompute(
    K: Gram,
    index: np.ndarray,
    z: np.ndarray,
    beta: np.ndarray,
    support: np.ndarray,
    which: np.ndarray,
    e: np.ndarray,
) -> None:
    """Write exact residuals of some points; support vectors among themselves cost half."""
    is_support = beta != 0
    for part in (np.flatnonzero(which & is_support), np.flatnonzero(which & ~is_support)):
        if len(part):
            e[part] = z[part] - K.combine(index[support], beta[support], index[part])
