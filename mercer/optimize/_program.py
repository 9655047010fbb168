"""A linear program as arrays, its dual bound, and HiGHS, which solves it in stages.

SciPy's `linprog` says nothing of a run that does not end by itself. The same library underneath can
be called with a limit of iterations and go on from its basis; between iterations it asks whether to
stop. SciPy has no public door to it: where the private one is missing, `linprog` is used, and the
run is one stage.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from mercer._limits import Limits
from mercer.optimize.problem import Multipliers, as_point
from mercer.result import Certificate, Status

FIRST_STAGE, STAGE_GROWTH = 16, 4  # iterations of the first stage, and the ratio of the next ones
WATCHED_SECONDS = (
    0.5  # seconds after which the rest is one stage: after presolve a stage may start anew
)


@dataclass(frozen=True)
class Program:
    """The program min cᵀx over Ax ≤ b, Ex = e, lower ≤ x ≤ upper."""

    c: np.ndarray
    A: Any
    b: np.ndarray
    E: Any
    e: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @classmethod
    def of(cls, c: Any, A: Any, b: Any, E: Any, e: Any, bounds: Any) -> Program:
        """Check what the user gave."""
        c = as_point(c, "c")
        sides = (*_rows(A, b, len(c), "ub"), *_rows(E, e, len(c), "eq"))
        return cls(c, *sides, *_bounds(bounds, len(c)))

    def anywhere(self) -> np.ndarray:
        """Return the point of the box that is nearest to 0."""
        return np.clip(np.zeros(len(self.c)), self.lower, self.upper)

    def infeasibility(self, x: np.ndarray) -> float:
        """Return the worst violation of a constraint, relative to the terms that meet in it."""
        worst = [_excess(self.A, x, self.b, np.positive), _excess(self.E, x, self.e, np.abs)]
        box = np.maximum(self.lower - x, x - self.upper)
        return max(*worst, float((box / (1.0 + np.abs(x))).max()), 0.0)

    def dual(self, multipliers: Multipliers, c: np.ndarray) -> tuple[float, float]:
        """Return the bound that multipliers prove, and the reduced costs that no bound holds."""
        lam, nu = np.maximum(multipliers.inequality, 0.0), multipliers.equality
        r = c + self.A.T @ lam + self.E.T @ nu
        end = np.where(r > 0, self.lower, self.upper)
        held = np.isfinite(end)
        bound = float((r * np.where(held, end, 0.0)).sum() - self.b @ lam - self.e @ nu)
        size = 1.0 + np.abs(c) + abs(self.A).T @ lam + abs(self.E).T @ np.abs(nu)
        loose = np.where(held, 0.0, np.abs(r) / size)
        negative = np.maximum(-multipliers.inequality, 0.0)
        return bound, max(float(loose.max()), float(negative.max(initial=0.0)))

    # ------------------------------------------------------------ programs beside this one
    def elastic(self) -> Program:
        """Return the program of the least total violation, in (x, excess, surplus, deficit)."""
        m, p = len(self.b), len(self.e)
        A = sp.hstack([self.A, -sp.eye_array(m), sp.csr_array((m, 2 * p))], format="csr")
        E = sp.hstack([self.E, sp.csr_array((p, m)), -sp.eye_array(p), sp.eye_array(p)], "csr")
        c = np.concatenate([np.zeros(len(self.c)), np.ones(m + 2 * p)])
        lower = np.concatenate([self.lower, np.zeros(m + 2 * p)])
        upper = np.concatenate([self.upper, np.full(m + 2 * p, np.inf)])
        return Program(c, A, self.b, E, self.e, lower, upper)

    def without_costs(self) -> Program:
        """Return the program that any feasible point solves."""
        return replace(self, c=np.zeros(len(self.c)))

    def cone(self) -> Program:
        """Return the program of the steepest ray that never leaves the feasible set."""
        lower, upper = -1.0 * np.isinf(self.lower), 1.0 * np.isinf(self.upper)
        zero = np.zeros_like
        return replace(self, b=zero(self.b), e=zero(self.e), lower=lower, upper=upper)

    # ------------------------------------------------------------ proofs
    def prove(self, x: np.ndarray, multipliers: Multipliers, tol: float) -> Certificate:
        """Prove that x is feasible and that no feasible point costs less."""
        primal, (dual, loose) = float(self.c @ x), self.dual(multipliers, self.c)
        gap = primal - dual
        parts = {
            "primal": primal,
            "dual": dual,
            "gap": gap,
            "relative_gap": abs(gap) / (1.0 + abs(primal)),
            "primal_infeasibility": self.infeasibility(x),
            "dual_infeasibility": loose,
        }
        worst = max(parts[n] for n in list(parts)[3:])
        about = f"min cᵀx in {len(x)} variables, {len(self.b)} rows ≤, {len(self.e)} rows ="
        return Certificate("relative gap, infeasibility", worst, tol, about, parts)


def _excess(A: Any, x: np.ndarray, b: np.ndarray, size: Any) -> float:
    terms = 1.0 + np.abs(b) + abs(A) @ np.abs(x)
    return float((size(A @ x - b) / terms).max(initial=0.0))


def _rows(A: Any, b: Any, d: int, name: str) -> tuple[Any, np.ndarray]:
    """Return the rows of a constraint in CSR, and its right-hand side."""
    if (A is None) != (b is None):
        raise ValueError(f"A_{name} and b_{name} must be given together; one of them is None")
    if A is None:
        return sp.csr_array((0, d)), np.zeros(0)
    A = sp.csr_array(np.atleast_2d(A) if not sp.issparse(A) else A, dtype=np.float64)
    b = np.atleast_1d(np.asarray(b, dtype=np.float64))
    if A.shape != (len(b), d) or b.ndim != 1:
        raise ValueError(
            f"A_{name} must have shape ({len(b)}, {d}), a row for each number of b_{name} and a "
            f"column for each of c; got {A.shape}"
        )
    if not (np.isfinite(A.data).all() and np.isfinite(b).all()):
        raise ValueError(f"A_{name} and b_{name} must be finite")
    return A, b


def _bounds(bounds: Any, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper bounds; None is infinite."""
    try:
        pairs = [(None, None)] if bounds is None else list(bounds)
        pairs = [pairs] if len(pairs) == 2 and not np.iterable(pairs[0]) else pairs
        filled = [(-np.inf if a is None else a, np.inf if b is None else b) for a, b in pairs]
        table = np.array(np.broadcast_to(np.array(filled, dtype=np.float64), (d, 2)))
    except (TypeError, ValueError):
        raise ValueError(
            f"bounds must be (lower, upper), or {d} such pairs, with None for no bound; got "
            f"{bounds!r}"
        ) from None
    if np.isnan(table).any():
        raise ValueError("bounds must not be NaN")
    return table[:, 0], table[:, 1]


# -------------------------------------------------------------------- HiGHS
def _core() -> Any:
    try:
        core = import_module("scipy.optimize._highspy._core")
    except ImportError:
        return None
    return core if hasattr(getattr(core, "_Highs", None), "setCallback") else None


CORE = _core()


@dataclass(frozen=True)
class ProgramRun:
    """Where a run stands: a point (None if there is none), multipliers, and why it ended.

    The status is OPTIMAL, a limit, INTERRUPTED, or INACCURATE for all else.
    """

    x: np.ndarray | None
    multipliers: Multipliers
    status: Status
    iterations: int
    message: str


@dataclass
class Highs:
    """HiGHS with the limits of the user, for several programs one after the other."""

    limits: Limits
    first: int = FIRST_STAGE  # iterations of the first stage
    watched: float = WATCHED_SECONDS
    core: Any = CORE

    def __call__(
        self, program: Program, watch: Callable[[ProgramRun], None] = lambda outcome: None
    ) -> ProgramRun:
        """Solve a program; ``watch`` is called at the end of each stage but the last."""
        if self.core is None:
            return self._in_one(program)
        run, most = _Stages(program, self.limits), self.limits.max_iter
        began, limit = time.monotonic(), self.first
        while True:
            if time.monotonic() - began > self.watched:
                limit = CORE.kHighsIInf
            outcome = run.stage(limit if most < 0 else min(limit, most - run.iterations))
            if outcome.status is not Status.MAX_ITER or 0 <= most <= run.iterations:
                return outcome
            watch(outcome)
            limit *= STAGE_GROWTH

    def _in_one(self, p: Program) -> ProgramRun:
        most = self.limits.max_iter
        given = {
            "maxiter": most if most >= 0 else None,
            "time_limit": self.limits.seconds_left(),
        }
        found = linprog(
            p.c,
            *((p.A, p.b) if len(p.b) else (None, None)),
            *((p.E, p.e) if len(p.e) else (None, None)),
            bounds=np.column_stack([p.lower, p.upper]),
            method="highs",
            options={name: value for name, value in given.items() if value is not None},
        )
        rows = [getattr(found, name).marginals for name in ("ineqlin", "eqlin")]
        duals = np.concatenate([[] if v is None else v for v in rows])
        status = _reason(str(found.message)) if found.status else Status.OPTIMAL
        return ProgramRun(found.x, _signed(duals, p), status, int(found.nit), str(found.message))


class _Stages:
    """One program inside HiGHS, solved bit by bit."""

    def __init__(self, program: Program, limits: Limits):
        self.program, self.limits, self.iterations = program, limits, 0
        self.nothing = ProgramRun(None, _signed((), program), Status.INACCURATE, 0, "not started")
        self.highs = CORE._Highs()
        self.highs.setOptionValue("output_flag", False)
        self.loaded = self.highs.passModel(_model(program)) != CORE.HighsStatus.kError
        self.highs.setCallback(self._asked, None)
        for event in (CORE.cb.kCallbackSimplexInterrupt, CORE.cb.kCallbackIpmInterrupt):
            self.highs.startCallback(event)

    def _asked(self, event: int, message: str, given: Any, answer: Any, user: Any) -> None:
        """Answer whether to stop; Ctrl-C is heard here, where Python runs at all."""
        try:
            answer.user_interrupt = self._over() is not None
        except KeyboardInterrupt:
            self.limits.interrupt()
            answer.user_interrupt = True

    def _over(self) -> Status | None:
        """Return why to stop now; HiGHS counts its steps itself."""
        return self.limits.stopped(-1)

    def stage(self, limit: int) -> ProgramRun:
        """Go on for some iterations at most."""
        if not self.loaded:
            return self.nothing
        highs, left = self.highs, self.limits.seconds_left()
        if left is not None:
            highs.setOptionValue("time_limit", highs.getRunTime() + left)
        highs.setOptionValue("simplex_iteration_limit", max(limit, 0))
        try:
            highs.run()
        except KeyboardInterrupt:
            self.limits.interrupt()
        return self._outcome()

    def _outcome(self) -> ProgramRun:
        highs, info = self.highs, self.highs.getInfo()
        self.iterations += max(info.simplex_iteration_count, 0) + max(info.ipm_iteration_count, 0)
        message = highs.modelStatusToString(highs.getModelStatus())
        status = self._status(message)
        solution = highs.getSolution()
        known = status is not Status.INACCURATE and solution.value_valid
        x = np.array(solution.col_value) if known else None
        duals = solution.row_dual if known and solution.dual_valid else ()
        return ProgramRun(x, _signed(duals, self.program), status, self.iterations, message)

    def _status(self, message: str) -> Status:
        if message == "Optimal":
            return Status.OPTIMAL
        over = self._over()
        if over is Status.INTERRUPTED or (over and "nterrupt" in message):
            return over
        return _reason(message)


def _reason(message: str) -> Status:
    text = message.lower()
    limits = {"time limit": Status.TIME_LIMIT, "iteration limit": Status.MAX_ITER}
    return next((status for name, status in limits.items() if name in text), Status.INACCURATE)


def _signed(duals: Any, program: Program) -> Multipliers:
    """Return λ and ν in the sign of the Lagrangian; zeros if HiGHS did not get so far."""
    m, p = len(program.b), len(program.e)
    values = 0.0 - np.asarray(duals, dtype=np.float64) if len(duals) else np.zeros(m + p)
    return Multipliers(values[:m], values[m:])


def _model(p: Program) -> Any:
    """Return the program as HiGHS has it: rows between two sides, by columns."""
    table = sp.csc_array(sp.vstack([p.A, p.E]))
    lp = CORE.HighsLp()
    lp.num_row_, lp.num_col_ = lp.a_matrix_.num_row_, lp.a_matrix_.num_col_ = table.shape
    lp.a_matrix_.format_ = CORE.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = table.indptr, table.indices
    lp.a_matrix_.value_ = table.data
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = p.c, p.lower, p.upper
    lp.row_lower_ = np.concatenate([np.full(len(p.b), -np.inf), p.e])
    lp.row_upper_ = np.concatenate([p.b, p.e])
    return lp
