"""Linear programs through HiGHS, with a proof of every outcome.

A best point is proved by multipliers, an empty set of points by Farkas' contradiction, a fall
without end by a ray.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer.optimize._program import Highs, Program, ProgramRun
from mercer.optimize._run import checked_limits
from mercer.optimize.problem import Multipliers
from mercer.result import Certificate, Solution, Status


@dataclass(frozen=True)
class ProgramSolution(Solution):
    """A point, the multipliers that prove what is claimed of it, and a ray if there is no end."""

    multipliers: Multipliers | None = None
    ray: np.ndarray | None = None


def linear_program(
    c: Any,
    A_ub: Any = None,
    b_ub: Any = None,
    A_eq: Any = None,
    b_eq: Any = None,
    bounds: Any = (0, None),
    *,
    tol: float = 1e-7,
    max_iter: int | None = None,
    time_limit: float | None = None,
) -> ProgramSolution:
    """Minimise cᵀx over A_ub x ≤ b_ub, A_eq x = b_eq and lower ≤ x ≤ upper.

    For multipliers λ ≥ 0 and ν with reduced costs r = c + A_ubᵀλ + A_eqᵀν every such x has

        cᵀx ≥ −b_ubᵀλ − b_eqᵀν + Σ min(rᵢxᵢ over lowerᵢ ≤ xᵢ ≤ upperᵢ),

    and the gap between the two sides proves that x is a solution.

    Parameters
    ----------
    c : array of shape (d,)
        The costs.
    A_ub, A_eq : array or sparse matrix of shape (m, d), (p, d), default=None
        The rows of the constraints.
    b_ub, b_eq : array of shape (m,), (p,)
        Their right-hand sides.
    bounds : pair, or list of d pairs, default=(0, None)
        Lower and upper bounds as in SciPy: x ≥ 0 unless another is given; None is no bound.
    tol : float, default=1e-7
        What the relative gap and the infeasibilities must not exceed.
    max_iter, time_limit : int, float or None
        Limits of iterations and seconds; then, and on Ctrl-C, the best point is returned, which may
        violate constraints: the certificate says by how much.

    Returns
    -------
    ProgramSolution
        ``multipliers`` holds λ and ν. ``stats["trace"]`` has the start and the end of each
        stage of the run: ``values`` cᵀx, the lower ``bounds`` of the multipliers, the worst of gap
        and infeasibilities (``gradient_norms``), ``iterations`` and ``seconds``. The simplex method
        may come from outside, so that cᵀx may rise. If the status is INFEASIBLE, ``value`` violates
        the constraints by the least total and λ, ν are a contradiction between them; if it is
        UNBOUNDED, ``value`` satisfies them and ``ray`` is a direction without end.

    Examples
    --------
    >>> from mercer.optimize import linear_program
    >>> solution = linear_program([-1.0, -2.0], A_ub=[[1.0, 1.0]], b_ub=[4.0], bounds=(0, 3))
    >>> solution.value.tolist(), solution.certificate.primal, solution.certificate.dual
    ([1.0, 3.0], -7.0, -7.0)
    """
    program = Program.of(c, A_ub, b_ub, A_eq, b_eq, bounds)
    return solve_program(program, Highs(checked_limits(tol, max_iter, time_limit)), tol)


def solve_program(program: Program, solve: Highs, tol: float) -> ProgramSolution:
    """Solve a program and prove the outcome, whatever it is."""
    trace = _Trace(program, tol)
    found = solve(program, trace.add)
    trace.add(found)
    x, multipliers, proof = trace.best
    stats = {"iterations": found.iterations, "message": found.message, "trace": trace.arrays()}
    if found.x is None and found.status is Status.INACCURATE:  # infeasible, or unbounded, or both
        none = _infeasible(program, solve, tol) or _unbounded(program, solve, tol, found)
        return replace(none, stats=stats)
    status = Status.OPTIMAL if proof.ok else _unproved(found.status)
    return ProgramSolution(x, status, proof, stats=stats, multipliers=multipliers)


def _unproved(status: Status) -> Status:
    return Status.INACCURATE if status.ok else status


@dataclass
class _Trace:
    """What the stages of a run looked like, each proved as if it were the end."""

    program: Program
    tol: float
    began: float = field(default_factory=time.perf_counter)
    rows: list[tuple[float, ...]] = field(default_factory=list)
    best: tuple[np.ndarray, Multipliers, Certificate] = field(init=False)

    def __post_init__(self) -> None:
        nothing = Multipliers(np.zeros(len(self.program.b)), np.zeros(len(self.program.e)))
        self.add(ProgramRun(None, nothing, Status.MAX_ITER, 0, "not started"))

    def add(self, found: ProgramRun) -> None:
        """Note where a stage ended; without a point, where x is nearest to 0."""
        x = self.program.anywhere() if found.x is None else found.x
        proof = self.program.prove(x, found.multipliers, self.tol)
        seconds = time.perf_counter() - self.began
        cost = float(self.program.c @ x)
        bound, _ = self.program.dual(found.multipliers, self.program.c)
        self.rows.append((cost, proof.value, found.iterations, seconds, bound))
        if len(self.rows) == 1 or proof.value <= self.best[-1].value:
            self.best = (x, found.multipliers, proof)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the columns of the trace."""
        names = ("values", "gradient_norms", "iterations", "seconds", "bounds")
        return dict(zip(names, np.array(self.rows).T.copy(), strict=True))


# -------------------------------------------------------------------- no solution
def _infeasible(program: Program, solve: Highs, tol: float) -> ProgramSolution | None:
    """Return the least total violation and the contradiction it proves, if there is one.

    With c = 0 the multipliers of the least violation bound 0 from below by something positive.
    """
    empty = program.lower > program.upper
    if empty.any():
        x = np.where(empty, program.lower, program.anywhere())
        nothing = Multipliers(np.zeros(len(program.b)), np.zeros(len(program.e)))
        about = f"lower > upper in variable {int(np.argmax(empty))}"
        proof = Certificate("contradiction", 0.0, tol, about, {"empty_bounds": int(empty.sum())})
        return ProgramSolution(x, Status.INFEASIBLE, proof, multipliers=nothing)
    found = solve(program.elastic())
    if found.x is None:
        return None
    x, multipliers = found.x[: len(program.c)], found.multipliers
    bound, loose = program.dual(multipliers, np.zeros(len(program.c)))
    if bound <= tol * (1.0 + np.abs(program.b).sum() + np.abs(program.e).sum()):
        return None
    parts = {
        "contradiction": bound,
        "violation": float(found.x[len(program.c) :].sum()),
        "dual_infeasibility": loose,
    }
    about = "no x satisfies all constraints (Farkas)"
    proof = Certificate("contradiction", loose / min(bound, 1.0), tol, about, parts)
    return ProgramSolution(x, Status.INFEASIBLE, proof, multipliers=multipliers)


def _unbounded(program: Program, solve: Highs, tol: float, found: ProgramRun) -> ProgramSolution:
    """Return a point and a ray along which the costs fall without end."""
    inside, ray = solve(program.without_costs()), solve(program.cone())
    x = program.anywhere() if inside.x is None else inside.x
    d = np.zeros_like(x) if ray.x is None else ray.x
    slope = float(program.c @ d)
    leaving = max(program.cone().infeasibility(d), program.infeasibility(x))
    proof = Certificate(
        "ray",
        leaving / -slope if slope < 0 else np.inf,
        tol,
        "x + td satisfies all constraints for every t ≥ 0, and cᵀd < 0",
        {"slope": slope, "infeasibility": leaving},
    )
    status = Status.UNBOUNDED if proof.ok else _unproved(ray.status)
    return ProgramSolution(x, status, proof, multipliers=found.multipliers, ray=d)
