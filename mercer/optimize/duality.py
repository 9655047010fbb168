"""Optimality of a constrained problem: the KKT conditions, the dual function, the duality gap."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.norms import Linf
from mercer.optimize.descent import lbfgs
from mercer.optimize.problem import Multipliers, Problem, as_point
from mercer.result import Certificate, Solution


def kkt_residuals(
    problem: Problem, x: Any, multipliers: Any = ((), ()), *, tol: float = 1e-6
) -> Certificate:
    """Measure how far x and its multipliers are from the conditions of Karush, Kuhn and Tucker.

    - stationarity: ∇f(x) + Σ λᵢ∇gᵢ(x) + Σ νⱼ∇hⱼ(x) = 0
    - primal feasibility: g(x) ≤ 0 and h(x) = 0
    - dual feasibility: λ ≥ 0
    - complementarity: λᵢgᵢ(x) = 0

    For a convex problem they are sufficient, and necessary where Slater's condition holds.

    Parameters
    ----------
    problem : Problem
        The functions.
    x : array of shape (d,)
        A point.
    multipliers : (λ, ν), or λ alone if there are no equalities
        One number for each inequality and equality.
    tol : float, default=1e-6
        What the worst residual must not exceed.

    Returns
    -------
    Certificate
        With the parts ``stationarity``, ``primal``, ``dual`` and ``complementarity``, each the
        largest violation.

    Examples
    --------
    >>> from mercer.optimize import Problem, affine, kkt_residuals
    >>> nearest = Problem(lambda x: x @ x, lambda x: 2 * x, equalities=[affine([1.0, 1.0], 2.0)])
    >>> kkt_residuals(nearest, [1.0, 1.0], ([], [-2.0])).ok
    True
    >>> kkt_residuals(nearest, [2.0, 0.0], ([], [-2.0])).stationarity
    2.0
    """
    x = as_point(x, "x")
    lam, nu = problem.multipliers(x, multipliers)
    g, h = problem.g(x), problem.h(x)
    parts = {
        "stationarity": Linf.value(problem.lagrangian_gradient(x, (lam, nu))),
        "primal": _violation(g, h),
        "dual": float(np.maximum(-lam, 0.0).max(initial=0.0)),
        "complementarity": float(np.abs(lam * g).max(initial=0.0)),
    }
    about = f"KKT conditions in {len(x)} variables, {len(g)} inequalities, {len(h)} equalities"
    worst = max(parts.values())
    return Certificate(
        "KKT residual", worst, tol, about, {"objective": problem.objective(x), **parts}
    )


def _violation(g: np.ndarray, h: np.ndarray) -> float:
    return max(float(np.maximum(g, 0.0).max(initial=0.0)), float(np.abs(h).max(initial=0.0)))


def dual_function(
    problem: Problem, multipliers: Any, x0: Any, *, tol: float = 1e-8, **limits: Any
) -> Solution:
    """Return inf over x of L(x, λ, ν), found by L-BFGS: a lower bound of the problem if λ ≥ 0.

    Parameters
    ----------
    problem : Problem
        Convex, so that a stationary point of the Lagrangian is its infimum.
    multipliers : (λ, ν), or λ alone if there are no equalities
        With λ ≥ 0.
    x0 : array of shape (d,)
        Where the search starts.
    tol, **limits
        As in `lbfgs`.

    Returns
    -------
    Solution
        ``certificate.objective`` is the bound; −∞ is told by the status UNBOUNDED.

    Examples
    --------
    >>> from mercer.optimize import Problem, affine, dual_function
    >>> nearest = Problem(lambda x: x @ x, lambda x: 2 * x, equalities=[affine([1.0, 1.0], 2.0)])
    >>> round(dual_function(nearest, ([], [-2.0]), [0.0, 0.0]).certificate.objective, 6)
    2.0
    """
    given = problem.multipliers(as_point(x0, "x0"), multipliers)
    if (given.inequality < 0).any():
        raise ValueError(f"λ must be ≥ 0 for a lower bound; its least is {given.inequality.min()}")
    weights = Multipliers(*given)
    return lbfgs(
        lambda x: problem.lagrangian(x, weights),
        x0,
        lambda x: problem.lagrangian_gradient(x, weights),
        tol=tol,
        **limits,
    )


def duality_gap(
    problem: Problem, x: Any, multipliers: Any = ((), ()), *, tol: float = 1e-6, **limits: Any
) -> Certificate:
    """Bound how far f(x) is from the minimum of a convex problem: f(x) − inf L(·, λ, ν).

    Parameters
    ----------
    problem : Problem
        Convex.
    x : array of shape (d,)
        A point; if it is not feasible the proof does not hold, and says so.
    multipliers : (λ, ν), or λ alone if there are no equalities
        With λ ≥ 0.
    tol : float, default=1e-6
        What the gap relative to 1 + |f(x)|, and the violation of a constraint, must not exceed.
    **limits
        ``max_iter`` and ``time_limit`` of the search for the infimum.

    Returns
    -------
    Certificate
        With the parts ``primal``, ``dual``, ``gap``, ``relative_gap``, ``infeasibility`` and
        ``inner_gradient``, the gradient at which the search for the infimum ended.

    Examples
    --------
    >>> from mercer.optimize import Problem, affine, duality_gap
    >>> nearest = Problem(lambda x: x @ x, lambda x: 2 * x, equalities=[affine([1.0, 1.0], 2.0)])
    >>> round(duality_gap(nearest, [2.0, 0.0], ([], [-2.0])).gap, 6)
    2.0
    """
    x = as_point(x, "x")
    inner = dual_function(problem, multipliers, x, **limits)
    primal = float(problem.objective(x))
    # a search that rounding ended is near enough; one that was cut off, or fell, bounds nothing
    gradient = inner.certificate.value
    near = gradient <= tol * (1.0 + abs(primal))
    dual = problem.lagrangian(inner.value, multipliers) if near else -np.inf
    relative = abs(primal - dual) / (1.0 + abs(primal))
    outside = _violation(problem.g(x), problem.h(x))
    parts = {
        "primal": primal,
        "dual": dual,
        "gap": primal - dual,
        "relative_gap": relative,
        "infeasibility": outside,
        "inner_gradient": gradient,
        "inner_status": inner.status.name.lower(),
    }
    about = f"f(x) − inf L(·, λ, ν) in {len(x)} variables, for a convex problem"
    return Certificate("relative gap, infeasibility", max(relative, outside), tol, about, parts)
