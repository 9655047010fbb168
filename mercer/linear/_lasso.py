"""The lasso on a growing set of columns.

min ½‖y − Xw‖² + λ‖w‖₁. Columns enter the set when their condition |xᵀr| ≤ λ fails, or is about to;
the rest of the table is touched once for each λ, by the product Xᵀr that also proves the solution.
There are two ways to hold the columns of the set: by their inner products, and as they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dposv

from mercer._array import allocate
from mercer._floats import EPS, TINY
from mercer._limits import Limits
from mercer.linear._lasso_loops import residual_sweep, sweeps
from mercer.linear._sparse import Columns
from mercer.result import Status

INNER_SHARE = 0.3  # of the tolerance: how far the small problem is solved
POLISHED_COEFS = (
    200  # coefficients that are not 0, up to which their equations are solved at the end
)
NEAR_BOUND = 0.8  # of the bound λ, from which a column is expected to reach it
ENTERING_COLUMNS = 10  # columns that enter at least, if so many violate their condition
FLAT_PIVOTS = 1e-6  # ratio of pivots at which a matrix counts as singular
NULL_EIGENVALUES = 1e-12  # ratio of eigenvalues that are 0
DECOMPOSED_COEFS = 500  # coefficients whose singular matrix is decomposed

WHOLE_COLUMNS = 300  # columns, up to which all of them are in the set from the start
WHOLE_SHARE = 0.25  # of the columns in the set, after which the others follow at once
SWEEPS = 50  # between looks at the clock and at the gap, at most
TURN_PRODUCTS = 2e8  # multiplications between looks at the clock

DEPTH = 5  # sweeps that are combined into an extrapolation
ROUNDS = 2  # extrapolations between looks at the gap
IDLE_LOOKS = 1000  # looks at the gap before an idle solve is given up
PATIENT_LOOKS = 3  # looks at the gap before Newton's method has its turns


class Gap(NamedTuple):
    """What proves a solution for one λ."""

    primal: float
    dual: float
    gap: float
    relative: float  # to the objective of w = 0
    violation: float  # largest |xᵀr| / λ − 1 of a column

    @classmethod
    def of(cls, rr: float, ry: float, l1: float, steepest: float, lam: float, yy: float) -> Gap:
        """Return the gap from r·r, r·y, ‖w‖₁, max |xᵀr| and λ.

        The dual point is r, shrunk so that |xᵀr| ≤ λ: the gap is ½‖r − sr‖² + λ‖w‖₁ − s r·(y − r).
        """
        s = 1.0 if steepest <= lam else lam / steepest
        primal = 0.5 * rr + lam * l1
        dual = s * ry - 0.5 * s * s * rr
        gap = max(primal - dual, 0.0)
        return cls(primal, dual, gap, gap / max(0.5 * yy, TINY), steepest / max(lam, TINY) - 1.0)


class WorkingSet:
    """Columns that may be used and their coefficients; a child solves the small problem."""

    def __init__(self, columns: Columns, y: np.ndarray):
        self.columns, self.y, self.yy = columns, y, float(y @ y)
        self.b = columns.correlate(y)
        self.index = np.empty(0, np.intp)  # the columns of the set
        self.inside = np.zeros(columns.shape[1], bool)
        self.w = np.empty(0)
        self.rest = np.empty(0)  # what a child keeps up to date: r, or its products with the set
        self.gradient = self.b.copy()  # Xᵀr of all columns, at the last proof
        self.steps = 0
        self.exact = False  # whether few coefficients are solved for to rounding

    # ------------------------------------------------------------ what a child implements
    def _hold(self, new: np.ndarray) -> None:
        """Make room for columns that enter the set, and hold them."""
        raise NotImplementedError

    def _descend(self, lam: float, tol: float, limits: Limits) -> Status | None:
        """Solve the problem of the set to a relative gap; return why it ended early, if so."""
        raise NotImplementedError

    def _proof(self, lam: float) -> Gap:
        """Return the gap of the whole problem, from w alone, and keep the gradient."""
        raise NotImplementedError

    def _gram_of(self, used: np.ndarray) -> np.ndarray:
        """Return the Gram matrix of some columns of the set."""
        raise NotImplementedError

    def _rest_of(self, used: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return what ``rest`` is where all but some coefficients are 0."""
        raise NotImplementedError

    def _objective(self, used: np.ndarray, w: np.ndarray, rest: np.ndarray, lam: float) -> float:
        """Return the objective there, up to a constant."""
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
        inner = INNER_SHARE * tol
        while True:
            stopped = self._descend(lam, inner, limits)
            if self.exact and not stopped and np.count_nonzero(self.w) <= POLISHED_COEFS:
                self._newton(lam)
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
        likely = np.abs(self.gradient) >= max(2.0 * lam - before, NEAR_BOUND * lam)
        self.add(np.flatnonzero(likely & ~self.inside))

    def _violators(self, lam: float) -> np.ndarray:
        """Return the columns outside whose condition fails, the worst half of them."""
        excess = np.where(self.inside, -np.inf, np.abs(self.gradient) - lam * (1.0 + 1e-12))
        found = np.flatnonzero(excess > 0)
        count = max(ENTERING_COLUMNS, len(found) // 2, len(self.index) // 2)
        return found[np.argsort(-excess[found])[:count]]

    def add(self, new: np.ndarray) -> None:
        """Take columns into the set."""
        if len(new):
            self._hold(new)
            self.index = np.concatenate([self.index, new])
            self.inside[new] = True
            self.w = np.concatenate([self.w, np.zeros(len(new))])

    def _newton(self, lam: float) -> bool:
        """Solve the equations of the coefficients that are not 0; return whether that is lower."""
        used = np.flatnonzero(self.w)
        old = self.w[used]
        exact = solve_signed(self._gram_of(used), self.b[self.index[used]], lam, old)
        if exact is None:
            return False
        here = self._objective(used, old, self.rest, lam)
        for w in signed_steps(old, exact):
            rest = self._rest_of(used, w)
            value = self._objective(used, w, rest, lam)
            if value <= here:
                self.w[used], self.rest = w, rest
                return value < here
        return False

    def coef(self) -> np.ndarray:
        """Return the coefficients of all columns."""
        w = np.zeros(len(self.inside))
        w[self.index] = self.w
        return w

    def _gap(self, r: np.ndarray, slopes: np.ndarray, lam: float) -> Gap:
        """Return the gap from the residual and its products with the columns that count."""
        l1, steepest = float(np.abs(self.w).sum()), float(np.abs(slopes).max(initial=0.0))
        return Gap.of(float(r @ r), float(r @ self.y), l1, steepest, lam, self.yy)


class GramSet(WorkingSet):
    """Columns that are few or long, by their Gram matrix G: a step costs |W|, not n.

    ``rest`` is q = X_Wᵀ(y − Xw).
    """

    def __init__(self, columns: Columns, y: np.ndarray):
        super().__init__(columns, y)
        self._G = np.empty((0, 0))

    @property
    def gram(self) -> np.ndarray:
        """The Gram matrix of the set."""
        m = len(self.index)
        return self._G[:m, :m]

    def _hold(self, new: np.ndarray) -> None:
        m, k = len(self.index), len(new)
        if m + k > len(self._G):
            size = min(max(2 * len(self._G), m + k, 64), self.columns.shape[1])
            grown = allocate((size, size), np.float64)
            grown[:m, :m] = self.gram
            self._G = grown
        cross = self.columns.products(np.concatenate([self.index, new]), new)
        self._G[: m + k, m : m + k] = cross
        self._G[m : m + k, :m] = cross[:m].T
        self.rest = np.concatenate([self.rest, self.b[new] - self._G[m : m + k, :m] @ self.w])

    def _expect(self, lam: float, before: float) -> None:
        n, d = self.columns.shape
        if d <= WHOLE_COLUMNS or (d <= n and len(self.index) > WHOLE_SHARE * d):
            self.add(np.flatnonzero(~self.inside))
        else:
            super()._expect(lam, before)

    def _descend(self, lam: float, tol: float, limits: Limits) -> Status | None:
        b, again = self.b[self.index], len(self.w) > 0
        most = int(np.clip(TURN_PRODUCTS / max(len(self.w), 1) ** 2, 1, SWEEPS))
        while again:
            stopped = limits.stopped(self.steps)
            if stopped:
                return stopped
            done, again = sweeps(self.gram, self.rest, self.w, b, self.yy, lam, tol, most)
            self.steps += done
            if again:  # that was slow
                self._newton(lam)
        return None

    def _proof(self, lam: float) -> Gap:
        used = np.flatnonzero(self.w)
        if len(self.index) == len(self.inside):  # all products are in the Gram matrix
            self.rest = self._rest_of(used, self.w[used])
            self.gradient[self.index] = self.rest
            ry = self.yy - float(self.b[self.index] @ self.w)
            rr = max(ry - float(self.rest @ self.w), 0.0)  # r·r = r·y − r·Xw
            l1, steepest = float(np.abs(self.w).sum()), float(np.abs(self.rest).max(initial=0.0))
            return Gap.of(rr, ry, l1, steepest, lam, self.yy)
        r = self.y - self.columns.combine(self.index[used], self.w[used])
        self.gradient = self.columns.correlate(r)
        self.rest = self.gradient[self.index]
        return self._gap(r, self.gradient, lam)

    def _gram_of(self, used: np.ndarray) -> np.ndarray:
        return self.gram[np.ix_(used, used)]

    def _rest_of(self, used: np.ndarray, w: np.ndarray) -> np.ndarray:
        return self.b[self.index] - self.gram[:, used] @ w

    def _objective(self, used: np.ndarray, w: np.ndarray, rest: np.ndarray, lam: float) -> float:
        """Return ½wᵀGw − b·w + λ‖w‖₁ from q = b − Gw."""
        b = self.b[self.index[used]]
        return lam * float(np.abs(w).sum()) - 0.5 * float((b + rest[used]) @ w)


class ResidualSet(WorkingSet):
    """Columns that are many and short, as they are: a step costs n.

    ``rest`` is r = y − Xw. Sweeps are extrapolated (Anderson), and where that is slow turns of
    Newton's method solve the equations of all coefficients that are not 0.
    """

    def __init__(self, columns: Columns, y: np.ndarray):
        super().__init__(columns, y)
        self.rest = y.copy()
        self._columns, self.norms = np.empty((0, len(y))), np.empty(0)
        self._G, self._member = np.empty((0, 0)), np.empty(0, np.intp)

    @property
    def rows(self) -> np.ndarray:
        """The columns of the set, as rows."""
        return self._columns[: len(self.index)]

    def _hold(self, new: np.ndarray) -> None:
        m, k = len(self.index), len(new)
        if m + k > len(self._columns):
            size = min(max(2 * len(self._columns), m + k, 64), len(self.inside))
            grown = allocate((size, len(self.y)), np.float64)
            grown[:m] = self.rows
            self._columns = grown
        rows = self.columns.take(new)
        self._columns[m : m + k] = rows
        self.norms = np.concatenate([self.norms, np.einsum("ij,ij->i", rows, rows)])

    def _descend(self, lam: float, tol: float, limits: Limits) -> Status | None:
        slopes, looks, least = self.gradient[self.index], 0, np.inf
        while len(self.w):
            gap = self._gap(self.rest, slopes, lam)
            if gap.relative <= tol:
                break
            stopped = limits.stopped(self.steps)
            if stopped:
                return stopped
            moved = looks > PATIENT_LOOKS and self._newton(lam)
            idle = looks > PATIENT_LOOKS and not moved and gap.relative > 0.999 * least
            if idle and (gap.relative < 1e3 * EPS or looks > IDLE_LOOKS):
                break
            least = min(least, gap.relative)
            used = np.flatnonzero((self.w != 0.0) | (np.abs(slopes) > lam))
            for _ in range(ROUNDS):
                self._extrapolated(used, lam)
            slopes, looks = self.rows @ self.rest, looks + 1
        return None

    def _extrapolated(self, used: np.ndarray, lam: float) -> None:
        """Sweep a few times, then go to where the sweeps tend, if that is lower."""
        W, R = np.empty((DEPTH + 1, len(used))), np.empty((DEPTH + 1, len(self.y)))
        for k in range(DEPTH + 1):
            if k:
                residual_sweep(self.rows, self.norms, self.rest, self.w, lam, used)
            W[k], R[k] = self.w[used], self.rest
        self.steps += DEPTH
        steps = np.diff(W, axis=0)
        M = steps @ steps.T
        size = np.trace(M)
        if not size > 0.0:
            return
        z = np.linalg.solve(M + 1e-12 * size * np.eye(DEPTH), np.ones(DEPTH))
        share = z / z.sum()
        w, r = share @ W[1:], share @ R[1:]
        if self._objective(used, w, r, lam) < self._objective(used, W[-1], self.rest, lam):
            self.w[used], self.rest = w, r

    def _gram_of(self, used: np.ndarray) -> np.ndarray:
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

    def _proof(self, lam: float) -> Gap:
        used = np.flatnonzero(self.w)
        self.rest = self._rest_of(used, self.w[used])
        self.gradient = self.columns.correlate(self.rest)
        return self._gap(self.rest, self.gradient, lam)

    def _rest_of(self, used: np.ndarray, w: np.ndarray) -> np.ndarray:
        return self.y - w @ self.rows[used]

    def _objective(self, used: np.ndarray, w: np.ndarray, rest: np.ndarray, lam: float) -> float:
        return 0.5 * float(rest @ rest) + lam * float(np.abs(w).sum())


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
    if not failed and pivots.min() > FLAT_PIVOTS * pivots.max():
        return exact
    if len(b) > DECOMPOSED_COEFS:
        return None
    values, V = eigh(G, check_finite=False)
    keep = values > NULL_EIGENVALUES * values[-1]
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
