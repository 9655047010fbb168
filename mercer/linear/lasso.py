"""The lasso: least squares with few coefficients that are not 0."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_X_y

from mercer._estimator import check_weights
from mercer._limits import Limits
from mercer._sklearn import Interval
from mercer.linear._base import FLOATS, LinearRegressor
from mercer.linear._lasso_path import LassoPath, LassoRows, falling_lams, solve_lasso, solve_path
from mercer.solvers.ridge_path import check_lams


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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Lasso:
        """Fit the model to rows X (dense or sparse) and targets y."""
        X, y = self._fit_table(X, y, y_numeric=True)
        weight = check_weights(sample_weight, X.shape[0])
        rows = LassoRows.of(X, np.asarray(y, dtype=np.float64), weight, self.fit_intercept)
        limits = Limits.of(self.max_iter, self.time_limit)
        solution = solve_lasso(rows, self.lam, tol=self.tol, limits=limits)
        self.coef_, offset = rows.back(solution.value)
        self.intercept_ = offset if self.fit_intercept else 0.0
        self.n_iter_ = solution.stats["steps"]
        self._accept(solution)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # a λ of 1 may well leave only the mean
        return tags


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
    rows = LassoRows.of(X, np.asarray(y, np.float64), np.ones(X.shape[0]), fit_intercept)
    given = _default_lams(rows, n_lams, eps) if lams is None else check_lams(lams, "lams")
    path = solve_path(rows, np.sort(given)[::-1], tol=tol, limits=limits)
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


def _default_lams(rows: LassoRows, n_lams: int, eps: float) -> np.ndarray:
    if not (n_lams >= 1 and 0.0 < eps < 1.0):
        raise ValueError(f"n_lams must be ≥ 1 and eps between 0 and 1; got {n_lams!r} and {eps!r}")
    return falling_lams(rows, int(n_lams), eps)
