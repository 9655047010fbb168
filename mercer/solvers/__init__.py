"""Solvers: they take a Gram matrix and targets and return a Solution."""

from mercer.solvers.dual_coordinate import solve_dual_coordinate
from mercer.solvers.eigen import leading_eigenpairs
from mercer.solvers.margin import solve_margin
from mercer.solvers.ridge import solve_ridge
from mercer.solvers.smo import Limits, SmoState

__all__ = [
    "Limits",
    "SmoState",
    "leading_eigenpairs",
    "solve_dual_coordinate",
    "solve_margin",
    "solve_ridge",
]
