"""The lasso for many λ, from the largest to the smallest, each from the solution before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer._array import largest_size
from mercer._limits import Limits
from mercer.linear._base import Rows, centered, checked_unit
from mercer.linear._lasso import WorkingSet
from mercer.linear._lasso_columns import Columns, Gap
from mercer.linear._lasso_gram import WHOLE, GramSet
from mercer.linear._lasso_residual import ResidualSet
from mercer.result import Certificate, Solution, Status

ON_THE_WAY = 1e-2  # relative gap of the λ that only lead to the one that is asked for
SHORT = 5000  # rows up to which columns of a sparse table are taken out densely
STRIDE = 0.5  # ratio of these


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


class LassoRows(NamedTuple):
    """Columns and targets of a lasso, weighted and centred, and what leads back to the data."""

    columns: Columns
    y: np.ndarray
    mean: np.ndarray
    center: float
    unit: float
    y_unit: float

    @classmethod
    def of(cls, X: Any, y: np.ndarray, weight: np.ndarray, intercept: bool) -> LassoRows:
        if sp.issparse(X):
            return cls._of_sparse(X, y, weight, intercept)
        rows = Rows.of(X, y, weight, intercept)
        X, Y = rows.weighted()
        center = float(rows.center[0])
        return cls(Columns(X), Y[:, 0], rows.mean, center, rows.unit, rows.y_unit)

    @classmethod
    def _of_sparse(cls, X: Any, y: np.ndarray, weight: np.ndarray, intercept: bool) -> LassoRows:
        used = np.flatnonzero(weight)
        X, weight = sp.csr_array(X, dtype=np.float64)[used], weight[used] / weight[used].mean()
        unit, root = checked_unit(largest_size(X)), np.sqrt(weight)
        table = sp.csc_array(sp.diags_array(root / unit) @ X)
        Y, center, y_unit = centered(y[used, None], weight, intercept)
        mean = (table.T @ root) / weight.sum() if intercept else None
        columns = Columns(table, mean, root if intercept else None)
        mean = np.zeros(X.shape[1]) if mean is None else mean * unit
        return cls(columns, root * Y[:, 0], mean, float(center[0]), unit, y_unit)

    @property
    def scale(self) -> float:
        """What a λ of the data is divided by: n λ is that of the columns."""
        return self.unit * self.y_unit

    def working_set(self) -> WorkingSet:
        """Return an empty set, with the way of solving that suits the shape of the table."""
        X = self.columns.X
        return (GramSet if _by_gram(X) else ResidualSet)(self.columns, self.y)

    def back(self, w: np.ndarray) -> tuple[np.ndarray, float]:
        """Return coefficients and offset in the units of the data."""
        coef = w * (self.y_unit / self.unit)
        return coef, self.center - float(self.mean @ coef)


def _by_gram(X: Any) -> bool:
    """Whether steps on inner products are cheaper than steps on dense columns of length n."""
    n, d = X.shape
    return bool(d <= max(WHOLE, n) or (sp.issparse(X) and n > SHORT))


def solve_lasso(rows: LassoRows, lam: float, *, tol: float, limits: Limits) -> Solution:
    """Solve for one λ: by a few larger ones on the way, roughly."""
    work = rows.working_set()
    n = len(rows.y)
    target = n * lam / rows.scale
    before = float(np.abs(work.b).max(initial=0.0))
    while before * STRIDE > target and not limits.stopped(work.steps):
        work.solve(before * STRIDE, before, max(tol, ON_THE_WAY), limits)
        before *= STRIDE
    work.exact = True
    gap, status = work.solve(target, max(before, target), tol, limits)
    w = _all(work)
    certificate = _certificate(gap, rows, tol, w, lam)
    return Solution(w, status, certificate, stats={"steps": max(work.steps, 1)})


def solve_path(rows: LassoRows, lams: np.ndarray, *, tol: float, limits: Limits) -> LassoPath:
    """Solve for falling λ, each from the solution for the one before, until time is over."""
    work, n = rows.working_set(), len(rows.y)
    before = max(float(np.abs(work.b).max(initial=0.0)), n * lams[0] / rows.scale)
    coefs, intercepts = np.empty((rows.columns.shape[1], len(lams))), np.empty(len(lams))
    proofs: list[Certificate] = []
    statuses: list[Status] = []
    for k, lam in enumerate(lams):
        target = n * lam / rows.scale
        gap, status = work.solve(target, before, tol, limits)
        before, w = target, _all(work)
        coefs[:, k], intercepts[k] = rows.back(w)
        proofs.append(_certificate(gap, rows, tol, w, lam))
        statuses.append(status)
        if limits.stopped(work.steps):
            break
    m, gaps = len(proofs), np.array([proof.gap for proof in proofs])
    return LassoPath(lams[:m], coefs[:, :m], gaps, intercepts[:m], tuple(proofs), tuple(statuses))


def _all(work: WorkingSet) -> np.ndarray:
    w = np.zeros(len(work.inside))
    w[work.index] = work.w
    return w


def _certificate(gap: Gap, rows: LassoRows, tol: float, w: np.ndarray, lam: float) -> Certificate:
    extra = {"lam": lam, "n_nonzero": int(np.count_nonzero(w))}
    return gap.certificate(tol, len(rows.y) / rows.y_unit**2, extra)


def falling_lams(rows: LassoRows, n_lams: int, eps: float) -> np.ndarray:
    """Return n λ, evenly in the logarithm, from the least with w = 0 down to eps of it."""
    largest = float(np.abs(rows.columns.correlate(rows.y)).max(initial=0.0)) / len(rows.y)
    largest = largest * rows.scale or float(np.finfo(np.float64).resolution)
    if n_lams == 1:
        return np.array([largest])
    return np.geomspace(largest, largest * eps, n_lams)
