"""Margin problems solved and proved: fast in float32, exact in float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from mercer._clock import OutOfTimeError
from mercer._floats import EPS, TINY
from mercer._limits import Limits
from mercer.certify import duality_gap
from mercer.gram import Gram
from mercer.kernels.tiles import TILE
from mercer.margin import MarginProblem
from mercer.result import Certificate, Solution, Status
from mercer.solvers._many_loops import ROUNDS
from mercer.solvers._turn_loops import rescale
from mercer.solvers.coarse import POINTS, coarse_start
from mercer.solvers.dense import DenseMatrix, solve_dense
from mercer.solvers.smo import ALL_ACTIVE, SmoState, solve_smo

CHECK_ALL = 2**26  # work (kernel values × columns); larger proofs leave out points that are clear
CLEARANCE = 0.02  # of the margin, beyond which a point is clear; more where values are less exact
LARGE = 4 * POINTS  # points of a problem that is worth a small one before it
DENSE_UP_TO = 8000  # points whose kernel values all lie in one matrix, for Newton steps as well


class Sizes(NamedTuple):
    """When a problem counts as large: small ones can be made so."""

    dense: bool | None = None  # whether all values lie in one matrix; None: if `is_dense`
    all_active: int = ALL_ACTIVE  # points that `solve_smo` makes active at once
    check_all: int = CHECK_ALL  # work of a proof that leaves out no point


@dataclass(frozen=True)
class MarginSolution(Solution):
    """β, b, the proof, the steps in ``stats``, and ‖f‖² = βᵀKβ."""

    squared_norm: float = 0.0


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
    sizes: Sizes | None = None,
) -> MarginSolution:
    """Solve a margin problem on some points of a Gram matrix, and prove it.

    Each round lowers the violation of the worst pair of points to a target. The target falls until
    the duality gap by the solver's own residuals, in the precision of K, is small as well; then the
    residuals are recomputed in float64 for the proof. Where float32 is too coarse for the tolerance
    (large C) the rounds go on in float64.

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
    MarginSolution
        ``value`` is β, ``intercept`` b, ``state`` what a warm start needs.
    """
    limits = limits or Limits()
    stopped = limits.stopped()
    if start is None and stopped and not problem.total:
        return _not_begun(problem, stopped, tol, about)
    engine = Engine(K, index, problem, limits, sizes, values)
    state, target = start or engine.start(), tol
    for number in range(1, ROUNDS**2 + 1):
        state = engine.solve(target, state)
        lower = _lower_target(target, problem, state, tol)
        proof_is_due = lower == target or number % ROUNDS == 0
        target = lower
        if not proof_is_due:
            continue
        certificate, drift = engine.prove(state, tol, about)
        stopped = limits.stopped(state.steps)
        if certificate.ok or stopped or state.status is Status.NOT_SEPARABLE:
            break
        stalled = state.status is Status.STALLED
        too_coarse = engine.K.dtype == np.float32 and (stalled or drift > 0.05 * target)
        if too_coarse and exact is not None:
            engine = Engine(exact(), index, problem, limits, sizes)
        elif stalled:
            break
        else:
            target *= 0.3
    b, _ = problem.offset(state.beta, state.e)
    norm2 = problem.figures(state.beta, state.e, b).squared_norm
    status = Status.OPTIMAL
    if not certificate.ok:
        not_separable = state.status is Status.NOT_SEPARABLE
        status = state.status if not_separable else stopped or Status.STALLED
    elif norm2 < 0 and norm2 < -engine.rounding_of_norm2(state.beta):
        status, certificate = Status.INDEFINITE, only_stationary(certificate, "K")
    stats = {"steps": state.steps}
    return MarginSolution(state.beta, status, certificate, b, stats, state, norm2)


def _not_begun(problem: MarginProblem, stopped: Status, tol: float, about: str) -> MarginSolution:
    """Return β = 0 for a problem that there is no time for: it needs no kernel value."""
    beta, extra = np.zeros(len(problem.z)), {"checked": 0, "steps": 0}
    proof = duality_gap(beta, problem.z, problem, tolerance=tol, about=about, extra=extra)
    b, _ = problem.offset(beta, problem.z)
    status = Status.OPTIMAL if proof.ok else stopped
    state = SmoState(beta, problem.z.copy())
    return MarginSolution(beta, status, proof, b, {"steps": 0}, state, 0.0)


def follow(
    matrix: DenseMatrix,
    problem: MarginProblem,
    tol: float,
    limits: Limits,
    before: SmoState | None = None,
    ratio: float = 1.0,
) -> SmoState:
    """Solve to a relative gap and a violation of ``tol``, from the solution for bounds / ratio.

    The same rounds without a proof, which the caller does not ask for.
    """
    if before is None:
        state = SmoState(np.zeros(len(problem.z)), problem.z.copy())
    else:
        state = SmoState(before.beta.copy(), before.e.copy())
        rescale(matrix.fixed, *problem, ratio, state.beta, state.e)
    target = tol
    for _ in range(ROUNDS):
        state = solve_dense(matrix, problem, target, limits, state, few_free=0)
        lower = _lower_target(target, problem, state, tol)
        if lower == target:
            break
        target = lower
    return state


def _lower_target(target: float, problem: MarginProblem, state: SmoState, tol: float) -> float:
    """Return the target of the next round; the same if the gap is small, or the solve ended."""
    gap = problem.relative_gap(state.beta, state.e)
    if gap <= 0.95 * tol or not state.status.ok:
        return target
    return target * max(0.1, min(0.7, 0.8 * tol / gap))


class Engine:
    """What solves a problem, in one matrix or on a growing set of points, and proves it."""

    def __init__(
        self,
        K: Gram,
        index: np.ndarray,
        problem: MarginProblem,
        limits: Limits,
        sizes: Sizes | None,
        values: Callable[[], np.ndarray] | None = None,
    ):
        self.K, self.index, self.problem = K, index, problem
        self.limits, self.sizes, self.values = limits, sizes or Sizes(), values
        self.matrix: DenseMatrix | None = None

    def start(self) -> SmoState:
        """Return where to begin: β = 0, or what a small problem tells of a large one."""
        large = not self._is_dense() and len(self.index) >= LARGE and not self.K.keeps_rows
        guess = None
        if large and np.isfinite(self.problem.hi - self.problem.lo).all():
            guess = coarse_start(self.K, self.index, self.problem, self.limits)
        return guess or SmoState(np.zeros(len(self.index)), self.problem.z)

    def solve(self, target: float, state: SmoState) -> SmoState:
        """Go on until the largest violation of a pair of points is at most the target."""
        if stopped := self.limits.stopped(state.steps):  # the start is the best so far
            return replace(state, status=stopped)
        if (matrix := self._dense()) is not None:
            return solve_dense(matrix, self.problem, target, self.limits, state)
        return solve_smo(
            self.K, self.index, self.problem, target, self.limits, state, self.sizes.all_active
        )

    def _dense(self) -> DenseMatrix | None:
        """Return all values in one matrix, where they fit into one."""
        if self.matrix is None and self._is_dense():
            values = self.values() if self.values else self.K.among(self.index)
            self.matrix = DenseMatrix.of(values)
        return self.matrix

    def product(self, beta: np.ndarray) -> np.ndarray:
        """Return Kβ, in the precision of K."""
        if (matrix := self._dense()) is not None:
            return matrix.K @ beta.astype(matrix.K.dtype)
        used = np.flatnonzero(beta)
        return self.K.combine(self.index[used], beta[used], self.index)

    def _is_dense(self) -> bool:
        if self.sizes.dense is not None:
            return self.sizes.dense
        return is_dense(self.K, len(self.index), self.limits.memory)

    def prove(self, state: SmoState, tol: float, about: str) -> tuple[Certificate, float]:
        """Set the residuals to exact ones; return the proof, and how far they were off."""
        before, found = state.e, self.exact_in_time(state)
        state.e, checked = found or (before, 0)
        extra = {"checked": checked, "steps": state.steps, "storage": self.K.storage}
        certificate = duality_gap(
            state.beta, state.e, self.problem, tolerance=tol, about=about, extra=extra
        )
        certificate = self.doubted(certificate, state.beta, state.e)
        drift = float(np.abs(state.e - before).max())
        return (certificate if found else replace(certificate, value=np.nan)), drift

    def doubted(self, proof: Certificate, beta: np.ndarray, e: np.ndarray) -> Certificate:
        """Return a proof, or none where rounding of kernel values may hide that it fails."""
        if not proof.ok:
            return proof
        hidden = hidden_gap(self.problem, beta, e, self.K.diagonal()[self.index])
        if hidden <= proof.tolerance:  # it says nothing that the figures do not say
            return proof
        return replace(proof.with_parts(rounding=hidden), value=max(proof.value, hidden))

    def exact_in_time(self, state: SmoState) -> tuple[np.ndarray, int] | None:
        """Return `exact_residuals`; None where nobody would wait for them: Ctrl-C, a limit."""
        if state.status is Status.INTERRUPTED and self._exact_values() is None:
            return None
        try:
            with self.limits.for_proof():
                return self.exact_residuals(state)
        except OutOfTimeError:
            return None

    def _exact_values(self) -> np.ndarray | None:
        """Return all values in float64, if they are there."""
        if self.matrix is None or self.matrix.K.dtype != np.float64:
            return None
        return self.matrix.K

    def exact_residuals(self, state: SmoState) -> tuple[np.ndarray, int]:
        """Return z − Kβ in float64, and the number of points that were recomputed."""
        if (K := self._exact_values()) is not None:
            return self.problem.z - K @ state.beta, len(state.beta)
        check_all = self.sizes.check_all
        return exact_residuals(self.K, self.index, self.problem, state, check_all)

    def rounding_of_norm2(self, beta: np.ndarray) -> float:
        """Return what rounding may leave in βᵀKβ."""
        sizes = np.sqrt(np.abs(self.K.diagonal()[self.index]).astype(np.float64))
        return max(len(beta), 64) * EPS * float(sizes @ np.abs(beta)) ** 2


def hidden_gap(
    problem: MarginProblem, beta: np.ndarray, e: np.ndarray, diagonal: np.ndarray
) -> float:
    """Return by how much the relative gap may be wrong where kernel values are rounded to float64.

    |k(x, x')| ≤ √k(x, x) √k(x', x'), so that an f(xᵢ) is off by ηᵢ = EPS √Kᵢᵢ Σⱼ √Kⱼⱼ |βⱼ|. Only
    points that are nearer to a kink of their loss than that contribute, with their steepest slope.
    """
    b, _ = problem.offset(beta, e)
    sizes = np.sqrt(np.abs(diagonal).astype(np.float64))
    eta = EPS * float(sizes @ np.abs(beta)) * sizes
    near = np.abs(np.abs(e - b) - problem.eps) <= 2.0 * eta
    slope = np.maximum(problem.hi, -problem.lo)
    slope = np.where(np.isfinite(slope), slope, np.abs(beta))
    primal, dual, *_ = problem.objectives(problem.figures(beta, e, b), b)
    return float(2.0 * (slope * eta)[near].sum()) / max(abs(primal), abs(dual), TINY)


def is_dense(K: Gram, n: int, memory: int) -> bool:
    """Tell whether a problem on n points has all its kernel values in one matrix."""
    return n <= DENSE_UP_TO and not K.is_costly and DenseMatrix.nbytes(n) <= memory


def only_stationary(certificate: Certificate, indefinite: str) -> Certificate:
    """Return the proof as that of a stationary point, which is all it is without convexity."""
    parts = {"stationarity": certificate.value, **certificate.parts}
    about = f"{certificate.about} (not convex: {indefinite} is indefinite)"
    return Certificate("global optimum", np.nan, certificate.tolerance, about, parts)


def exact_residuals(
    K: Gram,
    index: np.ndarray,
    problem: MarginProblem,
    state: SmoState,
    check_all: int = CHECK_ALL,
) -> tuple[np.ndarray, int]:
    """Return z − Kβ in float64, and the number of points that were recomputed.

    In large problems points with β = 0 are computed from float32 values first. Those that keep
    clear of the margin by more than these can be off have no loss either way, and are left so.
    """
    beta, z, exact = state.beta, problem.z, K.in_double()
    support = np.flatnonzero(beta)
    if not len(support):
        return z.astype(np.float64), len(z)
    e, check, clearance = state.e.copy(), np.ones(len(z), bool), np.inf
    if len(z) * len(support) * exact.work > check_all:
        clearance = max(CLEARANCE, 2 * K.error(index[support], beta[support], index))
        check = ~_clear(K, index, problem, support, beta, e, clearance)
    _recompute(exact, index, z, beta, support, check, e)
    b, _ = problem.offset(beta, e)  # which the solver's own residuals may have told wrongly
    unclear = ~check & ~problem.clear(beta, e - b, 0.5 * clearance)
    _recompute(exact, index, z, beta, support, unclear, e)
    return e, int((check | unclear).sum())


def _clear(
    K: Gram,
    index: np.ndarray,
    problem: MarginProblem,
    support: np.ndarray,
    beta: np.ndarray,
    e: np.ndarray,
    clearance: float,
) -> np.ndarray:
    """Tell which points are clear of the margin whatever float32 is off; set their residuals."""
    b, _ = problem.offset(beta, e)
    clear = problem.clear(beta, e - b, clearance)
    likely = np.flatnonzero(clear)
    if len(likely):
        e[likely] = problem.z[likely] - K.bounded_sums(index[support], beta[support], index[likely])
    return clear & problem.clear(beta, e - b, clearance)


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
