"""The lasso where columns are few or long: coordinate descent on their Gram matrix."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dposv

from mercer._array import allocate
from mercer._limits import Limits
from mercer.linear._lasso import POLISH, WorkingSet
from mercer.linear._lasso_columns import Columns, Gap
from mercer.linear._lasso_loops import sweeps
from mercer.result import Status

WHOLE = 300  # columns, up to which all of them are in the set from the start
MOST = 4  # once a quarter of the columns is in the set, the others follow at once
FLAT = 1e-6  # ratio of pivots at which a matrix counts as singular
NULL = 1e-12  # ratio of eigenvalues that are 0
MODERATE = 500  # coefficients whose singular matrix is decomposed
SWEEPS = 50  # between looks at the clock and at the gap, at most
TURN = 2e8  # multiplications between looks at the clock


class GramSet(WorkingSet):
    """A working set with its Gram matrix G and q = X_Wᵀ(y − Xw): a step costs |W|, not n."""

    def __init__(self, columns: Columns, y: np.ndarray):
        super().__init__(columns, y)
        self._G, self.q = np.empty((0, 0)), np.empty(0)

    @property
    def gram(self) -> np.ndarray:
        """The Gram matrix of the set."""
        m = len(self.index)
        return self._G[:m, :m]

    def add(self, new: np.ndarray) -> None:
        """Take columns into the set, and their inner products with it."""
        if not len(new):
            return
        m, k = len(self.index), len(new)
        self._reserve(m + k)
        cross = self.columns.products(np.concatenate([self.index, new]), new)
        self._G[: m + k, m : m + k] = cross
        self._G[m : m + k, :m] = cross[:m].T
        self.index = np.concatenate([self.index, new])
        self.inside[new] = True
        self.q = np.concatenate([self.q, self.b[new] - self.gram[m:, :m] @ self.w])
        self.w = np.concatenate([self.w, np.zeros(k)])

    def _reserve(self, size: int) -> None:
        if size > len(self._G):
            m, size = len(self.index), min(max(2 * len(self._G), size, 64), self.columns.shape[1])
            grown = allocate((size, size), np.float64)
            grown[:m, :m] = self.gram
            self._G = grown

    def _expect(self, lam: float, before: float) -> None:
        n, d = self.columns.shape
        if d <= WHOLE or (d <= n and len(self.index) > d / MOST):
            self.add(np.flatnonzero(~self.inside))
        else:
            super()._expect(lam, before)

    def _descend(self, lam: float, tol: float, limits: Limits) -> Status | None:
        b, again = self.b[self.index], len(self.w) > 0
        most = int(np.clip(TURN / max(len(self.w), 1) ** 2, 1, SWEEPS))
        while again:
            stopped = limits.stopped(self.steps)
            if stopped:
                return stopped
            done, again = sweeps(self.gram, self.q, self.w, b, self.yy, lam, tol, most)
            self.steps += done
            if again:  # that was slow
                self._newton(lam)
        if self.exact and np.count_nonzero(self.w) <= POLISH:
            self._newton(lam)
        return None

    def _inner_gap(self, lam: float) -> Gap:
        """Return the gap of the problem of the set, from its Gram matrix."""
        ry = self.yy - float(self.b[self.index] @ self.w)
        rr = ry - float(self.q @ self.w)  # r·r = r·y − r·Xw
        steepest = float(np.abs(self.q).max(initial=0.0))
        return Gap.of(max(rr, 0.0), ry, float(np.abs(self.w).sum()), steepest, lam, self.yy)

    def _proof(self, lam: float) -> Gap:
        used = np.flatnonzero(self.w)
        if len(self.index) == len(self.inside):  # all products are in the Gram matrix
            self.q = self.b[self.index] - self.gram[:, used] @ self.w[used]
            self.gradient[self.index] = self.q
            return self._inner_gap(lam)
        r = self.y - self.columns.combine(self.index[used], self.w[used])
        self.gradient = self.columns.correlate(r)
        self.q = self.gradient[self.index]
        steepest = float(np.abs(self.gradient).max(initial=0.0))
        l1 = float(np.abs(self.w).sum())
        return Gap.of(float(r @ r), float(r @ self.y), l1, steepest, lam, self.yy)

    def _newton(self, lam: float) -> bool:
        """Solve the equations of the coefficients that are not 0; return whether that is lower."""
        used = np.flatnonzero(self.w)
        b, old = self.b[self.index], self.w[used]
        exact = solve_signed(self.gram[np.ix_(used, used)], b[used], lam, old)
        if exact is None:
            return False
        here = self._objective(old, b[used], self.q[used], lam)
        for w in signed_steps(old, exact):
            q = b - self.gram[:, used] @ w
            if self._objective(w, b[used], q[used], lam) <= here:
                self.w[used], self.q = w, q
                return True
        return False

    @staticmethod
    def _objective(w: np.ndarray, b: np.ndarray, q: np.ndarray, lam: float) -> float:
        """Return ½wᵀGw − b·w + λ‖w‖₁ from q = b − Gw."""
        return lam * float(np.abs(w).sum()) - 0.5 * float((b + q) @ w)


def solve_signed(G: np.ndarray, b: np.ndarray, lam: float, w: np.ndarray) -> np.ndarray | None:
    """Return the solution of Gw = b − λ sign(w), or None if there is nothing to solve.

    Where G is singular and the right-hand side is not in its range, the fit can stay as it is while
    ‖w‖₁ falls: the way there is returned, beyond the first coefficient that becomes 0.
    """
    sign = np.sign(w)
    if not len(b):
        return None
    factor, exact, failed = dposv(G, b - lam * sign)
    pivots = np.diag(factor)
    if not failed and pivots.min() > FLAT * pivots.max():
        return exact
    if len(b) > MODERATE:
        return None
    values, V = eigh(G, check_finite=False)
    keep = values > NULL * values[-1]
    away = V[:, ~keep] @ (V[:, ~keep].T @ sign)
    if np.abs(away).max() > 1e-6:
        lengths = np.where(away * w > 0.0, w / np.where(away == 0.0, 1.0, away), np.inf)
        return w - 1.5 * lengths.min() * away
    V = V[:, keep]
    return w + V @ ((V.T @ (b - lam * sign - G @ w)) / values[keep])


def signed_steps(old: np.ndarray, exact: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two ways towards ``exact`` that keep signs: those that would change become 0.

    Either all of them, or the step ends where the first of them is 0.
    """
    return np.where(exact * old < 0.0, 0.0, exact), _up_to_zero(old, exact)


def _up_to_zero(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return the point on the way from old to new at which the first coefficient becomes 0."""
    crossing = new * old < 0.0
    if not crossing.any():
        return new
    length = np.where(crossing, old / np.where(crossing, old - new, 1.0), np.inf)
    first = int(length.argmin())
    w = old + length[first] * (new - old)
    w[first] = 0.0
    return w
