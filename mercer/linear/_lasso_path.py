"""The lasso and the elastic net in the units of the data: for one λ, and for many."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_X_y

from mercer._limits import Limits
from mercer.linear._base import FLOATS, DenseDesign
from mercer.linear._lasso import WHOLE_COLUMNS, GramSet, ResidualSet, WorkingSet
from mercer.linear._lasso_gap import Gap
from mercer.linear._sparse import SparseColumns, SparseDesign
from mercer.result import Certificate, Solution, Status
from mercer.solvers.ridge_path import check_lams

ROUGH_GAP = 1e-2  # relative gap of the λ that only lead to the one that is asked for
STRIDE = 0.5  # ratio of these
SHORT_ROWS = 5000  # rows up to which columns of a sparse table are taken out densely
LARGEST_RIDGE = 1e250  # a μ that leaves nothing of w


@dataclass(frozen=True)
class LassoPath:
    """Solutions of the lasso or the elastic net for falling λ; unpacks into (lams, coefs, gaps).

    Out of time or interrupted it ends with the λ that was under way; smaller ones are left out.

    Parameters
    ----------
    lams : array of shape (n_lams,)
        λ, falling.
    coefs : array of shape (d, n_lams)
        The coefficients for each λ.
    gaps : array of shape (n_lams,)
        The duality gap for each λ.
    intercepts : array of shape (n_lams,)
        The offsets b.
    certificates : tuple of Certificate
        The proof for each λ.
    statuses : tuple of Status
        How the solve for each λ ended.
    """

    lams: np.ndarray
    coefs: np.ndarray
    gaps: np.ndarray
    intercepts: np.ndarray
    certificates: tuple[Certificate, ...]
    statuses: tuple[Status, ...]

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter((self.lams, self.coefs, self.gaps))


def path_of(
    name: str,
    X: Any,
    y: Any,
    lams: Any,
    *,
    n_lams: int,
    eps: float,
    fit_intercept: bool,
    tol: float,
    time_limit: float | None,
    l1_ratio: float = 1.0,
    positive: bool = False,
) -> LassoPath:
    """Check what a public path function was given, and solve for all λ."""
    X, y = check_X_y(X, y, accept_sparse="csr", dtype=FLOATS, order="C", y_numeric=True)
    if not tol > 0.0:
        raise ValueError(f"tol must be > 0; got {tol!r}")
    if not (time_limit is None or time_limit >= 0.0):
        raise ValueError(f"time_limit must be ≥ 0 or None; got {time_limit!r}")
    if not 0.0 <= l1_ratio <= 1.0:
        raise ValueError(f"l1_ratio must be between 0 and 1; got {l1_ratio!r}")
    limits, ones = Limits.of(-1, time_limit), np.ones(X.shape[0])
    targets = np.asarray(y, np.float64)
    design = LassoDesign.of(X, targets, ones, fit_intercept, l1_ratio, positive)
    given = _default_lams(design, n_lams, eps) if lams is None else check_lams(lams, "lams")
    path = solve_path(design, np.sort(given)[::-1], tol=tol, limits=limits)
    _warn(name, path, len(given), limits)
    return path


def _warn(name: str, path: LassoPath, n_lams: int, limits: Limits) -> None:
    """Say which λ are not proved, or not there."""
    unproved = [status for status in path.statuses if not status.ok]
    missing = n_lams - len(path.lams)
    reason = limits.stopped(0) if missing else next(iter(unproved), None)
    if reason is not None:
        text = f"{name}: of {n_lams} λ {len(unproved)} not proved, {missing} not reached"
        warnings.warn(f"{text}: {reason.advice}", ConvergenceWarning, stacklevel=4)


def _default_lams(design: LassoDesign, n_lams: int, eps: float) -> np.ndarray:
    """Return n λ, evenly in the logarithm, from the least with w = 0 down to eps of it."""
    if not (n_lams >= 1 and 0.0 < eps < 1.0):
        raise ValueError(f"n_lams must be ≥ 1 and eps between 0 and 1; got {n_lams!r} and {eps!r}")
    if design.l1_ratio == 0.0:
        raise ValueError("lams must be given where l1_ratio is 0: no λ makes all coefficients 0")
    work = design.working_set()
    largest = float(work.upward(work.b).max(initial=0.0)) / len(design.y) / design.l1_ratio
    largest = largest * design.unit or float(np.finfo(np.float64).resolution)
    return np.geomspace(largest, largest * eps if n_lams > 1 else largest, int(n_lams))


# ---------------------------------------------------------------- solving
class LassoDesign(NamedTuple):
    """Columns and the target of a lasso, weighted and centred, and what leads back to the data.

    The penalty is λ (ρ‖w‖₁ + ½(1 − ρ)‖w‖²); of the lasso the ratio ρ is 1. Of several targets each
    has a design, with the same columns.
    """

    columns: SparseColumns
    y: np.ndarray
    scaling: DenseDesign | SparseDesign
    l1_ratio: float = 1.0
    positive: bool = False

    @classmethod
    def of(
        cls,
        X: Any,
        y: np.ndarray,
        weight: np.ndarray,
        intercept: bool,
        l1_ratio: float = 1.0,
        positive: bool = False,
    ) -> LassoDesign:
        if sp.issparse(X):
            rows = SparseDesign.of(X, y, weight, intercept, scaled=False)
            return cls(rows.columns(), rows.Y[:, 0], rows, l1_ratio, positive)
        dense = DenseDesign.of(X, y, weight, intercept)
        table, targets = dense.weighted()
        held_once = dense._replace(X=table, Y=targets)
        return cls(SparseColumns(table), targets[:, 0], held_once, l1_ratio, positive)

    def each_target(self) -> Iterator[LassoDesign]:
        """Yield a design for each target."""
        for y in self.scaling.Y.T:
            yield self._replace(y=np.ascontiguousarray(y))

    @property
    def unit(self) -> float:
        """What a λ of the data is divided by: n λ is that of the columns."""
        return self.scaling.unit * self.scaling.y_unit

    def penalties(self, lam: float) -> tuple[float, float]:
        """Return the weights of ‖w‖₁ and ½‖w‖² in the units of the columns."""
        n, unit = len(self.y), self.scaling.unit
        with np.errstate(over="ignore"):
            ridge = np.float64(n * lam * (1.0 - self.l1_ratio)) / unit / unit
        return n * lam * self.l1_ratio / self.unit, min(float(ridge), LARGEST_RIDGE)

    def working_set(self) -> WorkingSet:
        """Return an empty set that holds its columns in the way that suits the table.

        Steps on inner products are cheaper than steps on dense columns of length n where columns
        are fewer than rows, or sparse and long.
        """
        (n, d), sparse = self.columns.shape, sp.issparse(self.columns.X)
        by_products = d <= max(WHOLE_COLUMNS, n) or (sparse and n > SHORT_ROWS)
        kind = GramSet if by_products else ResidualSet
        return kind(self.columns, self.y, self.positive)


@dataclass(frozen=True)
class LassoSolution(Solution):
    """Coefficients in the unit of the design, and the duality gap in that of the objective."""

    gap: float = np.nan


def solve_lasso(
    design: LassoDesign, lam: float, *, tol: float, limits: Limits, start: Any = None
) -> LassoSolution:
    """Solve for one λ: from coefficients of the data, or by a few larger λ on the way, roughly."""
    work = design.working_set()
    target, ridge = design.penalties(lam)
    before = float(work.upward(work.b).max(initial=0.0))
    if start is not None:
        units, _ = design.scaling.in_units(np.ones((len(start), 1)))
        work.start_at(start / units[:, 0], target, ridge)
        before = target
    while before * STRIDE > target > 0.0 and not limits.stopped(work.steps):
        work.solve(before * STRIDE, before, max(tol, ROUGH_GAP), limits, ridge)
        before *= STRIDE
    work.exact = True
    gap, status = work.solve(target, max(before, target), tol, limits, ridge)
    w = work.coef()
    certificate = _certificate(gap, design, tol, w, lam)
    stats, left = {"steps": max(work.steps, 1)}, gap.gap / _rows_in_units(design)
    return LassoSolution(w, status, certificate, stats=stats, gap=left)


def solve_path(design: LassoDesign, lams: np.ndarray, *, tol: float, limits: Limits) -> LassoPath:
    """Solve for falling λ, each from the solution for the one before, until time is over."""
    work = design.working_set()
    before = max(float(work.upward(work.b).max(initial=0.0)), design.penalties(lams[0])[0])
    coefs, intercepts = np.empty((design.columns.shape[1], len(lams))), np.empty(len(lams))
    proofs: list[Certificate] = []
    statuses: list[Status] = []
    gaps: list[float] = []
    for k, lam in enumerate(lams):
        target, ridge = design.penalties(lam)
        gap, status = work.solve(target, before, tol, limits, ridge)
        before, w = target, work.coef()
        coefs[:, k : k + 1], intercepts[k : k + 1] = design.scaling.in_units(w[:, None])
        proofs.append(_certificate(gap, design, tol, w, lam))
        statuses.append(status)
        gaps.append(gap.gap / _rows_in_units(design))
        if limits.stopped(work.steps):
            break
    m, proved = len(proofs), (tuple(proofs), tuple(statuses))
    return LassoPath(lams[:m], coefs[:, :m], np.array(gaps), intercepts[:m], *proved)


def _certificate(
    gap: Gap, design: LassoDesign, tol: float, w: np.ndarray, lam: float
) -> Certificate:
    n = _rows_in_units(design)
    parts = {
        "primal": gap.primal / n,
        "dual": gap.dual / n,
        "gap": gap.gap / n,
        "relative_gap": gap.relative,
        "violation": max(gap.violation, 0.0),
        "lam": lam,
        **({"l1_ratio": design.l1_ratio} if design.l1_ratio < 1.0 else {}),
        "n_nonzero": int(np.count_nonzero(w)),
    }
    penalty = "λ‖w‖₁" if design.l1_ratio == 1.0 else "λρ‖w‖₁ + λ(1 − ρ)‖w‖² / 2"
    where = " over w ≥ 0" if design.positive else ""
    about = f"‖y − Xw − b‖² / (2n) + {penalty}{where}; the gap is relative to its value at w = 0"
    return Certificate("relative duality gap", gap.relative, tol, about, parts)


def _rows_in_units(design: LassoDesign) -> float:
    """Return what an objective is divided by to be that of the data: n, in the unit of y²."""
    with np.errstate(over="ignore"):  # of y whose squares vanish: the objective is 0
        return float(len(design.y) / np.float64(design.scaling.y_unit) / design.scaling.y_unit)
