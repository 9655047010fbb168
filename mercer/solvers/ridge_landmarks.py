"""Kernel ridge regression in the span of landmarks, in few passes over the rows."""

from __future__ import annotations

import numpy as np

from mercer._floats import EPS
from mercer.rows.checkpoint import Passes
from mercer.solvers._factors import CholeskyForm, EigenForm, norm_of_symmetric
from mercer.solvers.ridge_folds import FOLDS, FoldErrors
from mercer.solvers.ridge_run import RidgeRun, Slope, SpanSolution
from mercer.solvers.span import Span, SpanProblem

STEPS = 4  # the first solves, the others refine by what fresh kernel values leave
GOAL = 0.01  # of the tolerance: how far the refinement goes before the proof
FIRST = np.array([0])  # the only λ of a factor
TOLERANCE = 1e-8


def solve_ridge_landmarks(
    span: Span,
    problem: SpanProblem,
    lam: float | np.ndarray | None,
    *,
    fit_intercept: bool = True,
    tolerance: float = TOLERANCE,
    shift: np.ndarray | None = None,
    passes: Passes | None = None,
) -> SpanSolution:
    """Minimise Σᵢ wᵢ(yᵢ − f(xᵢ) − b)² + λ‖f‖² over f in the span of landmarks and b.

    A pass over the rows gathers Σ w φφᵀ and Σ w φy, for each fold if there are several λ: all of
    them are then cross-validated without another look at the rows. A second pass, over kernel
    values that are computed afresh, gives the gradient of the whole problem, by which c is refined
    and proved. Time n·m², memory m² for each fold and worker.

    Parameters
    ----------
    span : Span
        The functions to choose from.
    problem : SpanProblem
        Rows, targets of t problems, and weights ≥ 0.
    lam : float, array or None
        λ ≥ 0; of several λ > 0 the one with the smallest error over five folds; None makes a grid.
    shift : array of shape (t,), default=None
        About the mean of the targets: sums about it lose no digits.
    passes : Passes, default=None
        What runs the passes.

    Returns
    -------
    SpanSolution
        ``value`` is β, shape (m, t), ``intercept`` has shape (t,). The certificate has
        ``trace_error``, the part of Σ w k(xᵢ, xᵢ) that the landmarks do not reach.
    """
    passes = Passes() if passes is None else passes
    run = RidgeRun(span, problem, fit_intercept, shift, passes)
    moments, trace = run.gathered(1 if isinstance(lam, (int, float)) else FOLDS)
    errors = None if isinstance(lam, (int, float)) else moments.errors(lam)
    lam = float(lam) if errors is None else errors.best  # type: ignore[arg-type]
    whole = moments.centred(moments.total)
    factor, condition = _factored(whole.A, lam)
    c, slope = np.zeros_like(whole.T), Slope(whole.T, whole.level, np.inf, 0.0)
    for _ in range(STEPS):
        c = c + factor.solve(slope.gradient.T[None], FIRST)[0].T
        slope = run.slope(c, lam)
        if np.linalg.norm(slope.gradient) <= GOAL * tolerance * slope.size:
            break
    extra = {
        "route": "normal",
        "condition": condition,
        "trace_error": max(1.0 - moments.explained / trace, 0.0) if trace > 0.0 else 0.0,
    }
    return run.solution(c, slope, lam, tolerance, extra, errors)


def cross_validated(
    span: Span,
    problem: SpanProblem,
    lams: np.ndarray | None,
    *,
    fit_intercept: bool,
    shift: np.ndarray,
    passes: Passes,
) -> FoldErrors:
    """Return the errors of several λ over five folds, in one pass; None makes a grid."""
    return RidgeRun(span, problem, fit_intercept, shift, passes).gathered(FOLDS)[0].errors(lams)


def _factored(A: np.ndarray, lam: float) -> tuple[CholeskyForm | EigenForm, float]:
    """Return a factor of A + λ, of its eigenvalues where that is singular, and its condition."""
    factor = CholeskyForm(np.array(A, order="F"), lam)
    if factor.usable.all():
        condition = factor.condition(norm_of_symmetric(A) + lam)
        if condition * len(A) * EPS < 1.0:
            return factor, condition
    return EigenForm.of(np.array(A, order="F"), np.array([lam])), np.inf
