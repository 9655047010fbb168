"""Linear programs through HiGHS, with a proof of every outcome.

A best point is proved by multipliers, an empty set of points by Farkas' contradiction, a fall
without end by a ray.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog

from mercer.optimize._program import Program
from mercer.optimize.problem import Multipliers
from mercer.result import Certificate, Solution, Status

_LIMITS = {"time limit": Status.TIME_LIMIT, "iteration limit": Status.MAX_ITER}


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
) -> Solution:
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
        Limits of iterations and seconds.

    Returns
    -------
    Solution
        ``stats["multipliers"]`` holds λ and ν. If the status is INFEASIBLE, ``value`` violates the
        constraints by the least total and λ, ν are a contradiction between them; if it is
        UNBOUNDED, ``value`` satisfies them and ``stats["ray"]`` is a direction without end.

    Examples
    --------
    >>> from mercer.optimize import linear_program
    >>> solution = linear_program([-1.0, -2.0], A_ub=[[1.0, 1.0]], b_ub=[4.0], bounds=(0, 3))
    >>> solution.value.tolist(), solution.certificate.primal, solution.certificate.dual
    ([1.0, 3.0], -7.0, -7.0)
    """
    program = Program.of(c, A_ub, b_ub, A_eq, b_eq, bounds)
    solve = _Highs(max_iter, time_limit)
    found = solve(program)
    status = _LIMITS.get(_reason(found), Status.INACCURATE)
    if found.x is None and status is Status.INACCURATE:  # HiGHS may not know which of the two
        return _infeasible(program, solve, tol) or _unbounded(program, solve, tol, found)
    x = program.anywhere() if found.x is None else found.x
    multipliers = _multipliers(found, program)
    proof = program.prove(x, multipliers, tol)
    stats = {"multipliers": multipliers, "iterations": int(found.nit), "message": found.message}
    return Solution(
        x, Status.OPTIMAL if proof.ok else status, proof, stats=stats, state=multipliers
    )


def _reason(found: Any) -> str:
    text = str(found.message).lower()
    return next((limit for limit in _LIMITS if limit in text), "")


@dataclass(frozen=True)
class _Highs:
    """HiGHS with the limits of the user."""

    max_iter: int | None
    time_limit: float | None

    def __call__(self, p: Program) -> Any:
        given = {"maxiter": self.max_iter, "time_limit": self.time_limit}
        options = {name: value for name, value in given.items() if value is not None}
        return linprog(
            p.c,
            *((p.A, p.b) if len(p.b) else (None, None)),
            *((p.E, p.e) if len(p.e) else (None, None)),
            bounds=np.column_stack([p.lower, p.upper]),
            method="highs",
            options=options,
        )


def _multipliers(found: Any, program: Program) -> Multipliers:
    """Return λ and ν in the sign of the Lagrangian; zeros if HiGHS did not get so far."""
    given = (getattr(found, name).marginals for name in ("ineqlin", "eqlin"))
    sizes = (len(program.b), len(program.e))
    return Multipliers(*(_signed(v, n) for v, n in zip(given, sizes, strict=True)))


def _signed(marginals: Any, n: int) -> np.ndarray:
    return np.zeros(n) if marginals is None or not len(marginals) else 0.0 - np.asarray(marginals)


# -------------------------------------------------------------------- no solution
def _infeasible(program: Program, solve: _Highs, tol: float) -> Solution | None:
    """Return the least total violation and the contradiction it proves, if there is one.

    With c = 0 the multipliers of the least violation bound 0 from below by something positive.
    """
    empty = program.lower > program.upper
    if empty.any():
        x = np.where(empty, program.lower, program.anywhere())
        nothing = Multipliers(np.zeros(len(program.b)), np.zeros(len(program.e)))
        about = f"lower > upper in variable {int(np.argmax(empty))}"
        proof = Certificate("contradiction", 0.0, tol, about, {"empty_bounds": int(empty.sum())})
        return _outcome(x, Status.INFEASIBLE, proof, nothing)
    found = solve(program.elastic())
    if found.x is None:
        return None
    x, multipliers = found.x[: len(program.c)], _multipliers(found, program)
    bound, loose = program.dual(multipliers, np.zeros(len(program.c)))
    if bound <= tol * (1.0 + np.abs(program.b).sum() + np.abs(program.e).sum()):
        return None
    parts = {"contradiction": bound, "violation": found.fun, "dual_infeasibility": loose}
    about = "no x satisfies all constraints (Farkas)"
    proof = Certificate("contradiction", loose / min(bound, 1.0), tol, about, parts)
    return _outcome(x, Status.INFEASIBLE, proof, multipliers)


def _unbounded(program: Program, solve: _Highs, tol: float, found: Any) -> Solution:
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
    status = Status.UNBOUNDED if proof.ok else Status.INACCURATE
    return _outcome(x, status, proof, _multipliers(found, program), ray=d)


def _outcome(
    x: np.ndarray, status: Status, proof: Certificate, multipliers: Multipliers, **more: Any
) -> Solution:
    return Solution(x, status, proof, stats={"multipliers": multipliers, **more}, state=multipliers)
