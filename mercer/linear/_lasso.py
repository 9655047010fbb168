"""The lasso and the elastic net on a growing set of columns.

min ½‖y − Xw‖² + λ‖w‖₁ + ½μ‖w‖². Columns enter the set when their condition |xᵀr| ≤ λ fails, or is
about to; the rest of the table is touched once for each λ, by the product Xᵀr that also proves the
solution. There are two ways to hold the columns of the set: by their inner products, and as they
are.

With μ > 0 this is the lasso of the table X over √μ I and the targets y over 0, whose residual is r
over −√μ w: its products with the columns, the slopes, are Xᵀr − μw. Where w ≥ 0 is asked for, only
slopes above λ violate a condition.
"""

from __future__ import annotations

import numpy as np

from mercer._array import allocate
from mercer._floats import EPS
from mercer._limits import Limits
from mercer.linear._lasso_gap import Gap, young_gap
from mercer.linear._lasso_loops import residual_sweep, sweeps
from mercer.linear._sparse import SparseColumns
from mercer.optimize._l1_newton import TURN_PRODUCTS
from mercer.optimize._signed import SIGN_TURNS, signed_steps, solve_signed
from mercer.result import Status

INNER_SHARE = 0.3  # of the tolerance: how far the small problem is solved
POLISHED_COEFS = 200  # that are not 0: up to so many, their equations are solved at the end
NEAR_BOUND = 0.8  # of the bound λ, from which a column is expected to reach it
ENTERING_COLUMNS = 10  # columns that enter at least, if so many violate their condition

WHOLE_COLUMNS = 300  # columns, up to which all of them are in the set from the start
WHOLE_SHARE = 0.25  # of the columns in the set, after which the others follow at once
SWEEPS = 50  # between looks at the clock and at the gap, at most

DEPTH = 5  # sweeps that are combined into an extrapolation
ROUNDS = 2  # extrapolations between looks at the gap
IDLE_LOOKS = 1000  # looks at the gap before an idle solve is given up
PATIENT_LOOKS = 3  # looks at the gap before Newton's method has its turns


class WorkingSet:
    """Columns that may be used and their coefficients; a child solves the small problem."""

    def __init__(self, columns: SparseColumns, y: np.ndarray, positive: bool = False):
        self.columns, self.y, self.yy = columns, y, float(y @ y)
        self.positive, self.ridge = positive, 0.0  # whether w ≥ 0; μ
        self.b = columns.correlate(y)
        self.index = np.empty(0, np.intp)  # the columns of the set
        self.inside = np.zeros(columns.shape[1], bool)
        self.w = np.empty(0)
        self.rest = np.empty(0)  # what a child keeps up to date: r, or its products with the set
        self.gradient = self.b.copy()  # Xᵀr − μw of all columns, at the last proof
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
    def solve(
        self, lam: float, before: float, tol: float, limits: Limits, ridge: float = 0.0
    ) -> tuple[Gap, Status]:
        """Go on to λ from the solution for ``before`` ≥ λ; return the proof and how it ended.

        Out of time or interrupted, the proof is that of the coefficients as they are.
        """
        if ridge != self.ridge:
            self._set_ridge(ridge)
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

    def start_at(self, w: np.ndarray, lam: float, ridge: float) -> None:
        """Begin with these coefficients of all columns, in an empty set."""
        w = np.maximum(w, 0.0) if self.positive else w
        self._set_ridge(ridge)
        self.add(np.flatnonzero(w))
        self.w[:] = w[self.index]
        self.rest = self._rest_of(np.arange(len(self.w)), self.w)
        self._proof(lam)

    def _set_ridge(self, ridge: float) -> None:
        """Go over to another μ."""
        self.gradient[self.index] -= (ridge - self.ridge) * self.w
        self.ridge = ridge

    def upward(self, slopes: np.ndarray) -> np.ndarray:
        """Return how much each slope presses against its bound λ."""
        return slopes if self.positive else np.abs(slopes)

    def _expect(self, lam: float, before: float) -> None:
        """Take in the columns that are expected to be used (the sequential strong rule).

        After a long way that rule expects all columns: then those near their bound must do.
        """
        likely = self.upward(self.gradient) >= max(2.0 * lam - before, NEAR_BOUND * lam)
        self.add(np.flatnonzero(likely & ~self.inside))

    def _violators(self, lam: float) -> np.ndarray:
        """Return the columns outside whose condition fails, the worst half of them."""
        excess = np.where(self.inside, -np.inf, self.upward(self.gradient) - lam * (1.0 + 1e-12))
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
        """Solve the equations of the coefficients that are not 0; return whether that is lower.

        Those that become 0 on the way stay so: among columns that are nearly alike a sweep would
        bring them back at once, and move nothing.
        """
        lower = False
        for _ in range(SIGN_TURNS):
            count = np.count_nonzero(self.w)
            lower |= self._signed_step(lam)
            if np.count_nonzero(self.w) == count:
                break
        return lower

    def _signed_step(self, lam: float) -> bool:
        """Go to the solution for these signs, or as far as they hold; return if that is lower."""
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

    def _gap_of(self, r: np.ndarray, slopes: np.ndarray, w: np.ndarray, lam: float) -> Gap:
        """Return the gap from the residual y − Xw and the slopes of the columns that count."""
        rr = float(r @ r) + self.ridge * float(w @ w)
        return self._gap(rr, float(r @ self.y), slopes, w, lam)

    def _gap(self, rr: float, ry: float, slopes: np.ndarray, w: np.ndarray, lam: float) -> Gap:
        """Return the gap from the products of the residual that μ has made longer.

        With μ > 0 the plain residual is a point of the dual as it is, where it proves more.
        """
        steepest = float(self.upward(slopes).max(initial=0.0))
        gap = Gap.of(rr, ry, float(np.abs(w).sum()), steepest, lam, self.yy)
        if not self.ridge > 0.0:
            return gap
        return gap.or_less(young_gap(slopes, w, lam, self.ridge, self.positive), self.yy)


class GramSet(WorkingSet):
    """Columns that are few or long, by their Gram matrix G + μ: a step costs |W|, not n.

    ``rest`` is q = X_Wᵀ(y − Xw) − μw.
    """

    def __init__(self, columns: SparseColumns, y: np.ndarray, positive: bool = False):
        super().__init__(columns, y, positive)
        self._G, self.squares = np.empty((0, 0)), np.empty(0)

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
        self.squares = np.concatenate([self.squares, np.diag(cross[m:])])
        self._shift_diagonal()
        self.rest = np.concatenate([self.rest, self.b[new] - self._G[m : m + k, :m] @ self.w])

    def _shift_diagonal(self) -> None:
        each = np.arange(len(self.squares))
        self._G[each, each] = self.squares + self.ridge

    def _set_ridge(self, ridge: float) -> None:
        super()._set_ridge(ridge)
        self._shift_diagonal()
        self.rest = self.b[self.index] - self.gram @ self.w

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
            done, again = sweeps(
                self._G, self.rest, self.w, b, self.yy, lam, self.ridge, self.positive, tol, most
            )
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
            return self._gap(rr, ry, self.rest, self.w, lam)
        r = self.y - self.columns.combine(self.index[used], self.w[used])
        w = self.coef()
        self.gradient = self.columns.correlate(r) - self.ridge * w
        self.rest = self.gradient[self.index]
        return self._gap_of(r, self.gradient, w, lam)

    def _gram_of(self, used: np.ndarray) -> np.ndarray:
        return self.gram[np.ix_(used, used)]

    def _rest_of(self, used: np.ndarray, w: np.ndarray) -> np.ndarray:
        return self.b[self.index] - self.gram[:, used] @ w

    def _objective(self, used: np.ndarray, w: np.ndarray, rest: np.ndarray, lam: float) -> float:
        """Return ½wᵀ(G + μ)w − b·w + λ‖w‖₁ from q = b − (G + μ)w."""
        b = self.b[self.index[used]]
        return lam * float(np.abs(w).sum()) - 0.5 * float((b + rest[used]) @ w)


class ResidualSet(WorkingSet):
    """Columns that are many and short, as they are: a step costs n.

    ``rest`` is r = y − Xw. Sweeps are extrapolated (Anderson), and where that is slow turns of
    Newton's method solve the equations of all coefficients that are not 0.
    """

    def __init__(self, columns: SparseColumns, y: np.ndarray, positive: bool = False):
        super().__init__(columns, y, positive)
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
            gap = self._gap_of(self.rest, slopes, self.w, lam)
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
            used = np.flatnonzero((self.w != 0.0) | (self.upward(slopes) > lam))
            for _ in range(ROUNDS):
                self._extrapolated(used, lam)
            slopes, looks = self.rows @ self.rest - self.ridge * self.w, looks + 1
        return None

    def _extrapolated(self, used: np.ndarray, lam: float) -> None:
        """Sweep a few times, then go to where the sweeps tend, if that is lower."""
        W, R = np.empty((DEPTH + 1, len(used))), np.empty((DEPTH + 1, len(self.y)))
        for k in range(DEPTH + 1):
            if k:
                residual_sweep(
                    self.rows, self.norms, self.rest, self.w, lam, self.ridge, self.positive, used
                )
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
        G = self._G[np.ix_(place[used], place[used])]
        G[np.diag_indices_from(G)] += self.ridge
        return G

    def _proof(self, lam: float) -> Gap:
        used = np.flatnonzero(self.w)
        self.rest = self._rest_of(used, self.w[used])
        w = self.coef()
        self.gradient = self.columns.correlate(self.rest) - self.ridge * w
        return self._gap_of(self.rest, self.gradient, w, lam)

    def _rest_of(self, used: np.ndarray, w: np.ndarray) -> np.ndarray:
        return self.y - w @ self.rows[used]

    def _objective(self, used: np.ndarray, w: np.ndarray, rest: np.ndarray, lam: float) -> float:
        if self.positive and w.min(initial=0.0) < 0.0:  # an extrapolation may go too far
            return np.inf
        squares = float(rest @ rest) + self.ridge * float(w @ w)
        return 0.5 * squares + lam * float(np.abs(w).sum())
