"""Solvers: they take a Gram matrix and targets and return a Solution."""

from mercer.solvers.eigen import leading_eigenpairs
from mercer.solvers.ridge import solve_ridge

__all__ = ["leading_eigenpairs", "solve_ridge"]
