"""Solvers: they take a Gram matrix and targets and return a Solution."""

from mercer._limits import Limits
from mercer.gram import SINGLE_RANGE
from mercer.solvers.dense import DenseMatrix
from mercer.solvers.dual_coordinate import solve_dual_coordinate
from mercer.solvers.eigen import (
    EigenSolution,
    fix_signs,
    pencil_eigenpairs,
    smallest_eigenpairs,
    symmetric_eigenpairs,
)
from mercer.solvers.gram_eigen import leading_centered_eigenpairs, leading_eigenpairs
from mercer.solvers.many import solve_many
from mercer.solvers.margin import MarginSolution, follow, is_dense, only_stationary, solve_margin
from mercer.solvers.nu import solve_nu
from mercer.solvers.ridge import solve_ridge
from mercer.solvers.smo import SmoState

__all__ = [
    "SINGLE_RANGE",
    "DenseMatrix",
    "EigenSolution",
    "Limits",
    "MarginSolution",
    "SmoState",
    "fix_signs",
    "follow",
    "is_dense",
    "leading_centered_eigenpairs",
    "leading_eigenpairs",
    "only_stationary",
    "pencil_eigenpairs",
    "smallest_eigenpairs",
    "solve_dual_coordinate",
    "solve_many",
    "solve_margin",
    "solve_nu",
    "solve_ridge",
    "symmetric_eigenpairs",
]
