"""Minimising functions: descent in any norm, Newton, L-BFGS, proximal steps, linear programs.

Every method returns a `Solution` with a certificate recomputed from the returned point, and a trace
of the run that `mercer.plot.trace` draws. `kkt_residuals`, `duality_gap`, `check_convex`,
`check_slater` and `check_gradient` look at problems and points from elsewhere.
"""

from mercer.optimize.checks import (
    ConvexityReport,
    SlaterReport,
    check_convex,
    check_gradient,
    check_slater,
)
from mercer.optimize.composite import coordinate_descent, proximal_gradient, soft_threshold
from mercer.optimize.descent import gradient_descent, lbfgs, newton
from mercer.optimize.duality import dual_function, duality_gap, kkt_residuals
from mercer.optimize.linear_program import linear_program
from mercer.optimize.problem import Constraint, Multipliers, Problem, affine

__all__ = [
    "Constraint",
    "ConvexityReport",
    "Multipliers",
    "Problem",
    "SlaterReport",
    "affine",
    "check_convex",
    "check_gradient",
    "check_slater",
    "coordinate_descent",
    "dual_function",
    "duality_gap",
    "gradient_descent",
    "kkt_residuals",
    "lbfgs",
    "linear_program",
    "newton",
    "proximal_gradient",
    "soft_threshold",
]
