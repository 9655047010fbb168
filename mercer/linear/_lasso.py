"""The lasso on a growing set of columns.

min ½‖y − Xw‖² + λ‖w‖₁. Columns enter the set when their condition |xᵀr| ≤ λ fails, or is about to;
the rest of the table is touched once for each λ, by the product Xᵀr that also proves the solution.
"""

from __future__ import annotations

import numpy as np

from mercer._floats import EPS
from mercer._limits import Limits
from mercer.linear._lasso_columns import Columns, Gap
from mercer.result import Status

INNER = 0.3  # of the tolerance: how far the small problem is solved
POLISH = 200  # coefficients that are not 0, up to which their equations are solved at the end
NEAR = 0.8  # of the bound λ, from which a column is expected to reach it
MORE = 10  # columns that enter at least, if so many violate their condition


class WorkingSet:
    """Columns that may be used and their coefficients; a child solves the small problem."""

    def __init__(self, columns: Columns, y: np.ndarray):
        self.columns, self.y, self.yy = columns, y, float(y @ y)
        self.b = columns.correlate(y)
        self.index = np.empty(0, np.intp)  # the columns of the set
        self.inside = np.zeros(columns.shape[1], bool)
        self.w = np.empty(0)
        self.gradient = self.b.copy()  # Xᵀr of all columns, at the last proof
        self.steps = 0
        self.exact = False  # whether few coefficients are solved for to rounding

    # ------------------------------------------------------------ what a child implements
    def add(self, new: np.ndarray) -> None:
        """Take columns into the set."""
        raise NotImplementedError

    def _descend(self, lam: float, tol: float, limits: Limits) -> Status | None:
        """Solve the problem of the set to a relative gap; return why it ended early, if so."""
        raise NotImplementedError

    def _proof(self, lam: float) -> Gap:
        """Return the gap of the whole problem, from w alone, and keep the gradient."""
        raise NotImplementedError

    # ------------------------------------------------------------ one λ
    def solve(self, lam: float, before: float, tol: float, limits: Limits) -> tuple[Gap, Status]:
        """Go on to λ from the solution for ``before`` ≥ λ; return the proof and how it ended.

        Out of time or interrupted, the proof is that of the coefficients as they are.
        """
        try:
            stopped = limits.stopped(self.steps)
            return (self._proof(lam), stopped) if stopped else self._solve(lam, before, tol, limits)
        except KeyboardInterrupt:
            limits.interrupt()
            self.index = self.index[: len(self.w)]  # columns may have been about to enter
            gap = self._proof(lam)
            return gap, Status.OPTIMAL if gap.relative <= tol else Status.INTERRUPTED

    def _solve(self, lam: float, before: float, tol: float, limits: Limits) -> tuple[Gap, Status]:
        self._expect(lam, before)
        inner = INNER * tol
        while True:
            stopped = self._descend(lam, inner, limits)
            gap = self._proof(lam)
            if gap.relative <= tol:
                return gap, Status.OPTIMAL
            new = self._violators(lam)
            if stopped or (inner < EPS and not len(new)):
                return gap, stopped or Status.ROUNDING
            self.add(new)
            inner = inner if len(new) else 0.1 * inner

    def _expect(self, lam: float, before: float) -> None:
        """Take in the columns that are expected to be used (the sequential strong rule).

        After a long way that rule expects all columns: then those near their bound must do.
        """
        likely = np.abs(self.gradient) >= max(2.0 * lam - before, NEAR * lam)
        self.add(np.flatnonzero(likely & ~self.inside))

    def _violators(self, lam: float) -> np.ndarray:
        """Return the columns outside whose condition fails, the worst half of them."""
        excess = np.where(self.inside, -np.inf, np.abs(self.gradient) - lam * (1.0 + 1e-12))
        found = np.flatnonzero(excess > 0)
        count = max(MORE, len(found) // 2, len(self.index) // 2)
        return found[np.argsort(-excess[found])[:count]]
