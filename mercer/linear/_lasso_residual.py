"""The lasso where columns are many and short: coordinate descent on the residual.

Sweeps are extrapolated (Anderson), and where that is slow turns of Newton's method solve the
equations of all coefficients that are not 0.
"""

from __future__ import annotations

import numpy as np

from mercer._array import allocate
from mercer._floats import EPS
from mercer._limits import Limits
from mercer.linear._lasso import POLISH, WorkingSet
from mercer.linear._lasso_columns import Columns, Gap
from mercer.linear._lasso_gram import signed_steps, solve_signed
from mercer.linear._lasso_loops import residual_sweep
from mercer.result import Status

DEPTH = 5  # sweeps that are combined into an extrapolation
ROUNDS = 2  # extrapolations between looks at the gap
MOST = 1000  # looks at the gap before an idle solve is given up
PATIENCE = 3  # looks at the gap before Newton's method has its turns


class ResidualSet(WorkingSet):
    """A working set with a copy of its columns and r = y − Xw: a step costs n."""

    def __init__(self, columns: Columns, y: np.ndarray):
        super().__init__(columns, y)
        self.r = y.copy()
        self._columns, self.norms = np.empty((0, len(y))), np.empty(0)
        self._G, self._member = np.empty((0, 0)), np.empty(0, np.intp)

    @property
    def rows(self) -> np.ndarray:
        """The columns of the set, as rows."""
        return self._columns[: len(self.index)]

    def add(self, new: np.ndarray) -> None:
        """Take columns into the set."""
        if not len(new):
            return
        m, k = len(self.index), len(new)
        if m + k > len(self._columns):
            size = min(max(2 * len(self._columns), m + k, 64), len(self.inside))
            grown = allocate((size, len(self.y)), np.float64)
            grown[:m] = self.rows
            self._columns = grown
        rows = self.columns.take(new)
        self._columns[m : m + k] = rows
        self.norms = np.concatenate([self.norms, np.einsum("ij,ij->i", rows, rows)])
        self.index = np.concatenate([self.index, new])
        self.inside[new] = True
        self.w = np.concatenate([self.w, np.zeros(k)])

    # ------------------------------------------------------------ the small problem
    def _descend(self, lam: float, tol: float, limits: Limits) -> Status | None:
        slopes, looks, least = self.gradient[self.index], 0, np.inf
        while len(self.w):
            gap = self._gap(slopes, lam)
            if gap.relative <= tol:
                break
            stopped = limits.stopped(self.steps)
            if stopped:
                return stopped
            moved = looks > PATIENCE and self._newton(lam)
            idle = looks > PATIENCE and not moved and gap.relative > 0.999 * least
            if idle and (gap.relative < 1e3 * EPS or looks > MOST):
                break
            least = min(least, gap.relative)
            used = np.flatnonzero((self.w != 0.0) | (np.abs(slopes) > lam))
            for _ in range(ROUNDS):
                self._extrapolated(used, lam)
            slopes, looks = self.rows @ self.r, looks + 1
        if self.exact and np.count_nonzero(self.w) <= POLISH:
            self._newton(lam)
        return None

    def _extrapolated(self, used: np.ndarray, lam: float) -> None:
        """Sweep a few times, then go to where the sweeps tend, if that is lower."""
        W, R = np.empty((DEPTH + 1, len(used))), np.empty((DEPTH + 1, len(self.y)))
        for k in range(DEPTH + 1):
            if k:
                residual_sweep(self.rows, self.norms, self.r, self.w, lam, used)
            W[k], R[k] = self.w[used], self.r
        self.steps += DEPTH
        steps = np.diff(W, axis=0)
        M = steps @ steps.T
        size = np.trace(M)
        if not size > 0.0:
            return
        z = np.linalg.solve(M + 1e-12 * size * np.eye(DEPTH), np.ones(DEPTH))
        share = z / z.sum()
        w, r = share @ W[1:], share @ R[1:]
        if _objective(w, r, lam) < _objective(W[-1], self.r, lam):
            self.w[used], self.r = w, r

    def _newton(self, lam: float) -> bool:
        """Solve the equations of the coefficients that are not 0; those that change sign are 0."""
        used = np.flatnonzero(self.w)
        old = self.w[used]
        exact = solve_signed(self._gram(used), self.b[self.index[used]], lam, old)
        if exact is None:
            return False
        here = _objective(old, self.r, lam)
        for w in signed_steps(old, exact):
            r = self.y - w @ self.rows[used]
            if _objective(w, r, lam) < here:
                self.w[used], self.r = w, r
                return True
        return False

    def _gram(self, used: np.ndarray) -> np.ndarray:
        """Return the Gram matrix of some columns; what was computed before is kept."""
        place = np.full(len(self.index), -1)
        place[self._member] = np.arange(len(self._member))
        new = used[place[used] < 0]
        if len(new):
            m, k = len(self._member), len(new)
            grown = allocate((m + k, m + k), np.float64)
            grown[:m, :m] = self._G
            members = np.concatenate([self._member, new])
            cross = self.rows[members] @ self.rows[new].T
            grown[:, m:], grown[m:, :m] = cross, cross[:m].T
            self._G, self._member = grown, members
            place[new] = np.arange(m, m + k)
        return self._G[np.ix_(place[used], place[used])]

    # ------------------------------------------------------------ proofs
    def _proof(self, lam: float) -> Gap:
        used = np.flatnonzero(self.w)
        self.r = self.y - self.w[used] @ self.rows[used]
        self.gradient = self.columns.correlate(self.r)
        return self._gap(self.gradient, lam)

    def _gap(self, slopes: np.ndarray, lam: float) -> Gap:
        rr, ry = float(self.r @ self.r), float(self.r @ self.y)
        steepest = float(np.abs(slopes).max(initial=0.0))
        return Gap.of(rr, ry, float(np.abs(self.w).sum()), steepest, lam, self.yy)


def _objective(w: np.ndarray, r: np.ndarray, lam: float) -> float:
    return 0.5 * float(r @ r) + lam * float(np.abs(w).sum())
