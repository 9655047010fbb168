"""Solvers: they take a Gram matrix and targets and return a Solution."""

from mercer.solvers.dense import SINGLE_RANGE, DenseMatrix, follow
from mercer.solvers.dual_coordinate import solve_dual_coordinate
from mercer.solvers.eigen import leading_eigenpairs
from mercer.solvers.margin import is_dense, solve_margin
from mercer.solvers.ridge import solve_ridge
from mercer.solvers.smo import Limits, SmoState

__all__ = [
    "SINGLE_RANGE",
    "DenseMatrix",
    "Limits",
    "SmoState",
    "follow",
    "is_dense",
    "leading_eigenpairs",
    "solve_dual_coordinate",
    "solve_margin",
    "solve_ridge",
]
