"""HiGHS in stages, so that a run can be watched, stopped, and give what it has.

SciPy's `linprog` says nothing of a run that does not end by itself. The same library underneath can
be called with a limit of iterations and go on from its basis; between iterations it asks whether to
stop. SciPy has no public door to it: where the private one is missing, `linprog` is used, and the
run is one stage.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from mercer.optimize._program import Program
from mercer.optimize.problem import Multipliers
from mercer.result import Status

FIRST, GROWTH = 16, 4  # iterations of the first stage, and the ratio of the next ones
WATCHED = 0.5  # seconds after which the rest is one stage: after presolve a stage may start anew


def _core() -> Any:
    try:
        core = import_module("scipy.optimize._highspy._core")
    except ImportError:
        return None
    return core if hasattr(getattr(core, "_Highs", None), "setCallback") else None


CORE = _core()


@dataclass(frozen=True)
class Outcome:
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
    """HiGHS with the limits of the user; time runs from the construction."""

    max_iter: int | None
    deadline: float
    interrupted: bool = False

    @classmethod
    def of(cls, max_iter: int | None, time_limit: float | None) -> Highs:
        if not all(limit is None or limit >= 0 for limit in (max_iter, time_limit)):
            raise ValueError(
                f"max_iter and time_limit must be ≥ 0 or None; got {max_iter!r}, {time_limit!r}"
            )
        return cls(max_iter, np.inf if time_limit is None else time.monotonic() + time_limit)

    def __call__(
        self, program: Program, watch: Callable[[Outcome], None] = lambda outcome: None
    ) -> Outcome:
        """Solve a program; ``watch`` is called at the end of each stage but the last."""
        if CORE is None:
            return self._in_one(program)
        run = _Stages(program, self)
        began, limit, outcome = time.monotonic(), FIRST, run.nothing
        while True:
            if time.monotonic() - began > WATCHED:
                limit = CORE.kHighsIInf
            left = limit if self.max_iter is None else min(limit, self.max_iter - run.iterations)
            outcome = run.stage(left)
            full = self.max_iter is not None and run.iterations >= self.max_iter
            if outcome.status is not Status.MAX_ITER or full:
                return outcome
            watch(outcome)
            limit *= GROWTH

    @property
    def over(self) -> bool:
        """Whether a run must stop now."""
        return self.interrupted or time.monotonic() > self.deadline

    def _in_one(self, p: Program) -> Outcome:
        left = self.deadline - time.monotonic()
        given = {"maxiter": self.max_iter, "time_limit": left if np.isfinite(left) else None}
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
        return Outcome(found.x, _signed(duals, p), status, int(found.nit), str(found.message))


class _Stages:
    """One program inside HiGHS, solved bit by bit."""

    def __init__(self, program: Program, limits: Highs):
        self.program, self.limits, self.iterations = program, limits, 0
        self.nothing = Outcome(None, _signed((), program), Status.INACCURATE, 0, "not started")
        self.highs = CORE._Highs()
        self.highs.setOptionValue("output_flag", False)
        self.loaded = self.highs.passModel(_model(program)) != CORE.HighsStatus.kError
        self.highs.setCallback(self._asked, None)
        for event in (CORE.cb.kCallbackSimplexInterrupt, CORE.cb.kCallbackIpmInterrupt):
            self.highs.startCallback(event)

    def _asked(self, event: int, message: str, given: Any, answer: Any, user: Any) -> None:
        """Answer whether to stop; Ctrl-C is heard here, where Python runs at all."""
        try:
            answer.user_interrupt = self.limits.over
        except KeyboardInterrupt:
            self.limits.interrupted = answer.user_interrupt = True

    def stage(self, limit: int) -> Outcome:
        """Go on for some iterations at most."""
        if not self.loaded:
            return self.nothing
        highs, left = self.highs, self.limits.deadline - time.monotonic()
        if np.isfinite(left):
            highs.setOptionValue("time_limit", highs.getRunTime() + max(left, 0.0))
        highs.setOptionValue("simplex_iteration_limit", max(limit, 0))
        try:
            highs.run()
        except KeyboardInterrupt:
            self.limits.interrupted = True
        return self._outcome()

    def _outcome(self) -> Outcome:
        highs, info = self.highs, self.highs.getInfo()
        self.iterations += max(info.simplex_iteration_count, 0) + max(info.ipm_iteration_count, 0)
        message = highs.modelStatusToString(highs.getModelStatus())
        status = self._status(message)
        solution = highs.getSolution()
        known = status is not Status.INACCURATE and solution.value_valid
        x = np.array(solution.col_value) if known else None
        duals = solution.row_dual if known and solution.dual_valid else ()
        return Outcome(x, _signed(duals, self.program), status, self.iterations, message)

    def _status(self, message: str) -> Status:
        if message == "Optimal":
            return Status.OPTIMAL
        if self.limits.interrupted:
            return Status.INTERRUPTED
        if self.limits.over and "nterrupt" in message:
            return Status.TIME_LIMIT
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
