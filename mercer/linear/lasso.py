"""The lasso: least squares with few coefficients that are not 0, for one λ or for many."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_X_y

from mercer._limits import Limits
from mercer._sklearn import Interval
from mercer._state import Attribute, Integers
from mercer.linear._base import FLOATS, DenseDesign, LinearRegressor
from mercer.linear._lasso import WHOLE_COLUMNS, Gap, GramSet, ResidualSet, WorkingSet
from mercer.linear._sparse import Columns, SparseDesign
from mercer.result import Certificate, Solution, Status
from mercer.solvers.ridge_path import check_lams

ROUGH_GAP = 1e-2  # relative gap of the λ that only lead to the one that is asked for
STRIDE = 0.5  # ratio of these
SHORT_ROWS = 5000  # rows up to which columns of a sparse table are taken out densely


class Lasso(RegressorMixin, LinearRegressor):
    """The lasso: min over w and b of (1/2n) Σᵢ (yᵢ − w·xᵢ − b)² + λ‖w‖₁.

    The kink of ‖w‖₁ makes many coefficients exactly 0. Coordinate descent on a growing set of
    columns; where no more than 200 coefficients are not 0 they are solved for to rounding. λ is
    scikit-learn's alpha; with weights the mean of the squares is the weighted one.

    Parameters
    ----------
    lam : float, default=1.0
        λ > 0.
    fit_intercept : bool, default=True
        Whether to fit the offset b, which is not penalised.
    tol : float, default=1e-6
        The duality gap that is proved, relative to the objective of w = 0.
    max_iter : int, default=100000
        Most sweeps over the coefficients; −1 is no limit.
    time_limit : float or None, default=None
        Seconds; then, and on Ctrl-C, the best so far is kept, with a warning.

    Attributes
    ----------
    coef_ : array of shape (d,)
        w.
    intercept_ : float
        b.
    n_iter_ : int
        Sweeps.
    certificate_ : Certificate
        Primal, dual, duality gap, and by how much the worst column violates |xᵀr| ≤ nλ.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Lasso
    >>> X = np.random.default_rng(0).normal(size=(50, 8))
    >>> model = Lasso(lam=0.1).fit(X, X[:, 2] - 2 * X[:, 5])
    >>> np.flatnonzero(model.coef_).tolist(), model.certificate_.ok
    ([2, 5], True)
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "n_iter_": Integers(),
    }

    accepts_sparse = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "lam": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        lam: float = 1.0,
        *,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 100_000,
        time_limit: float | None = None,
    ):
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit

    def _fit(self, X: Any, y: Any, sample_weight: Any = None) -> Solution:
        design = LassoDesign.of(*self._checked(X, y, sample_weight), self.fit_intercept)
        limits = Limits.of(self.max_iter, self.time_limit)
        solution = solve_lasso(design, self.lam, tol=self.tol, limits=limits)
        self._keep(design.scaling, solution.value[:, None])
        self.n_iter_ = solution.stats["steps"]
        return solution

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # a λ of 1 may well leave only the mean
        return tags


@dataclass(frozen=True)
class LassoPath:
    """Solutions of the lasso for falling λ; unpacks into (lams, coefs, gaps).

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


def lasso_path(
    X: Any,
    y: Any,
    lams: Any = None,
    n_lams: int = 100,
    eps: float = 1e-3,
    *,
    fit_intercept: bool = False,
    tol: float = 1e-4,
    time_limit: float | None = None,
) -> LassoPath:
    """Solve the lasso (1/2n)‖y − Xw − b‖² + λ‖w‖₁ for many λ, each from the solution before.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Rows.
    y : array of shape (n,)
        Targets.
    lams : array, default=None
        The λ > 0; None is ``n_lams`` values, evenly in the logarithm, from the least λ with w = 0
        down to ``eps`` of it.
    n_lams : int, default=100
        How many λ there are if none are given.
    eps : float, default=1e-3
        The smallest of them relative to the largest, 0 < eps < 1.
    fit_intercept : bool, default=False
        Whether there is an offset b.
    tol : float, default=1e-4
        The duality gap that is proved for each λ, relative to the objective of w = 0.
    time_limit : float or None, default=None
        Seconds; then, and on Ctrl-C, the path ends with the λ that is under way, with a warning.

    Returns
    -------
    LassoPath
        ``lams`` (falling), ``coefs`` (d, n_lams), ``gaps``, ``intercepts``, ``certificates``; it
        unpacks into the first three, as scikit-learn's function returns them.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import lasso_path
    >>> X = np.random.default_rng(0).normal(size=(50, 8))
    >>> path = lasso_path(X, X[:, 2] - 2 * X[:, 5], n_lams=5)
    >>> np.count_nonzero(path.coefs, axis=0).tolist()
    [0, 2, 2, 2, 2]
    >>> all(proof.ok for proof in path.certificates)
    True
    """
    X, y = check_X_y(X, y, accept_sparse="csr", dtype=FLOATS, order="C", y_numeric=True)
    if not tol > 0.0:
        raise ValueError(f"tol must be > 0; got {tol!r}")
    if not (time_limit is None or time_limit >= 0.0):
        raise ValueError(f"time_limit must be ≥ 0 or None; got {time_limit!r}")
    limits = Limits.of(-1, time_limit)
    design = LassoDesign.of(X, np.asarray(y, np.float64), np.ones(X.shape[0]), fit_intercept)
    given = _default_lams(design, n_lams, eps) if lams is None else check_lams(lams, "lams")
    path = solve_path(design, np.sort(given)[::-1], tol=tol, limits=limits)
    _warn(path, len(given), limits)
    return path


def _warn(path: LassoPath, n_lams: int, limits: Limits) -> None:
    """Say which λ are not proved, or not there."""
    unproved = [status for status in path.statuses if not status.ok]
    missing = n_lams - len(path.lams)
    reason = limits.stopped(0) if missing else next(iter(unproved), None)
    if reason is not None:
        text = f"lasso_path: of {n_lams} λ {len(unproved)} not proved, {missing} not reached"
        warnings.warn(f"{text}: {reason.advice}", ConvergenceWarning, stacklevel=3)


def _default_lams(design: LassoDesign, n_lams: int, eps: float) -> np.ndarray:
    """Return n λ, evenly in the logarithm, from the least with w = 0 down to eps of it."""
    if not (n_lams >= 1 and 0.0 < eps < 1.0):
        raise ValueError(f"n_lams must be ≥ 1 and eps between 0 and 1; got {n_lams!r} and {eps!r}")
    largest = float(np.abs(design.columns.correlate(design.y)).max(initial=0.0)) / len(design.y)
    largest = largest * design.unit or float(np.finfo(np.float64).resolution)
    return np.geomspace(largest, largest * eps if n_lams > 1 else largest, int(n_lams))


# ---------------------------------------------------------------- solving
class LassoDesign(NamedTuple):
    """Columns and targets of a lasso, weighted and centred, and what leads back to the data."""

    columns: Columns
    y: np.ndarray
    scaling: DenseDesign | SparseDesign

    @classmethod
    def of(cls, X: Any, y: np.ndarray, weight: np.ndarray, intercept: bool) -> LassoDesign:
        if sp.issparse(X):
            rows = SparseDesign.of(X, y, weight, intercept, scaled=False)
            return cls(rows.columns(), rows.Y[:, 0], rows)
        dense = DenseDesign.of(X, y, weight, intercept)
        table, targets = dense.weighted()
        return cls(Columns(table), targets[:, 0], dense._replace(X=table, Y=targets))  # held once

    @property
    def unit(self) -> float:
        """What a λ of the data is divided by: n λ is that of the columns."""
        return self.scaling.unit * self.scaling.y_unit

    def working_set(self) -> WorkingSet:
        """Return an empty set that holds its columns in the way that suits the table.

        Steps on inner products are cheaper than steps on dense columns of length n where columns
        are fewer than rows, or sparse and long.
        """
        (n, d), sparse = self.columns.shape, sp.issparse(self.columns.X)
        by_products = d <= max(WHOLE_COLUMNS, n) or (sparse and n > SHORT_ROWS)
        return (GramSet if by_products else ResidualSet)(self.columns, self.y)


def solve_lasso(design: LassoDesign, lam: float, *, tol: float, limits: Limits) -> Solution:
    """Solve for one λ: by a few larger ones on the way, roughly."""
    work = design.working_set()
    n = len(design.y)
    target = n * lam / design.unit
    before = float(np.abs(work.b).max(initial=0.0))
    while before * STRIDE > target and not limits.stopped(work.steps):
        work.solve(before * STRIDE, before, max(tol, ROUGH_GAP), limits)
        before *= STRIDE
    work.exact = True
    gap, status = work.solve(target, max(before, target), tol, limits)
    w = work.coef()
    certificate = _certificate(gap, design, tol, w, lam)
    return Solution(w, status, certificate, stats={"steps": max(work.steps, 1)})


def solve_path(design: LassoDesign, lams: np.ndarray, *, tol: float, limits: Limits) -> LassoPath:
    """Solve for falling λ, each from the solution for the one before, until time is over."""
    work, n = design.working_set(), len(design.y)
    before = max(float(np.abs(work.b).max(initial=0.0)), n * lams[0] / design.unit)
    coefs, intercepts = np.empty((design.columns.shape[1], len(lams))), np.empty(len(lams))
    proofs: list[Certificate] = []
    statuses: list[Status] = []
    gaps: list[float] = []
    for k, lam in enumerate(lams):
        target = n * lam / design.unit
        gap, status = work.solve(target, before, tol, limits)
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
        "n_nonzero": int(np.count_nonzero(w)),
    }
    about = "‖y − Xw − b‖² / (2n) + λ‖w‖₁; the gap is relative to its value at w = 0"
    return Certificate("relative duality gap", gap.relative, tol, about, parts)


def _rows_in_units(design: LassoDesign) -> float:
    """Return what an objective is divided by to be that of the data: n, in the unit of y²."""
    return len(design.y) / design.scaling.y_unit**2
