"""The lasso: least squares with few coefficients that are not 0, for one λ or for many."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import MultiOutputMixin, RegressorMixin

from mercer._docstrings import described
from mercer._limits import Limits
from mercer._sklearn import Interval
from mercer._state import Attribute, Either, Floats, Integers
from mercer.linear._base import LinearRegressor, all_targets
from mercer.linear._lasso_path import LassoDesign, LassoPath, path_of, solve_lasso
from mercer.result import Solution

SHARED = {
    "lam": """\
lam : float, default={lam}
    λ > 0.
""",
    "fit": """\
fit_intercept : bool, default={fit_intercept}
    Whether to fit the offset b, which is not penalised.
positive : bool, default={positive}
    Whether coefficients must be ≥ 0; the offset may have either sign.
tol : float, default={tol}
    The duality gap that is proved, relative to the objective of w = 0.
warm_start : bool, default={warm_start}
    Whether to begin with the coefficients of the fit before; the answer is the same, sooner.
max_iter : int, default={max_iter}
    Most sweeps over the coefficients; −1 is no limit.
time_limit : float or None, default={time_limit}
    Seconds; then, and on Ctrl-C, the best so far is kept, with a warning.
""",
    "fitted": """\
coef_ : array of shape (d,) or (n_targets, d)
    w.
intercept_ : float or array of shape (n_targets,)
    b.
sparse_coef_ : sparse array of shape (n_targets, d)
    w, without its zeros.
n_iter_ : int or array of shape (n_targets,)
    Sweeps.
dual_gap_ : float or array of shape (n_targets,)
    The duality gap of the certificate.
""",
    "path": """\
LassoPath
    ``lams`` (falling), ``coefs`` (d, n_lams), ``gaps``, ``intercepts``, ``certificates``; it
    unpacks into the first three, as scikit-learn's function returns them.
""",
}


@described(SHARED)
class Lasso(MultiOutputMixin, RegressorMixin, LinearRegressor):
    """The lasso: min over w and b of (1/2n) Σᵢ (yᵢ − w·xᵢ − b)² + λ‖w‖₁.

    The kink of ‖w‖₁ makes many coefficients exactly 0. Coordinate descent on a growing set of
    columns; where no more than 200 coefficients are not 0 they are solved for to rounding. λ is
    scikit-learn's alpha; with weights the mean of the squares is the weighted one. Several targets
    are as many problems, which share the table.

    Parameters
    ----------
    [lam]
    [fit]

    Attributes
    ----------
    [fitted]
    certificate_ : Certificate
        Primal, dual, duality gap, and by how much the worst column violates |xᵀr| ≤ nλ
        (xᵀr ≤ nλ for coefficients ≥ 0).

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
        "n_iter_": Either(Integers("targets?"), Integers()),
        "dual_gap_": Either(Floats("targets?"), Floats()),
    }

    accepts_sparse = True
    l1_ratio: float = 1.0

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "lam": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "positive": ["boolean"],
        "warm_start": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        lam: float = 1.0,
        *,
        fit_intercept: bool = True,
        positive: bool = False,
        tol: float = 1e-6,
        warm_start: bool = False,
        max_iter: int = 100_000,
        time_limit: float | None = None,
    ):
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.positive = positive
        self.tol = tol
        self.warm_start = warm_start
        self.max_iter = max_iter
        self.time_limit = time_limit

    def _fit(self, X: Any, y: Any, sample_weight: Any = None) -> Solution:
        rows = self._checked(X, y, sample_weight, several=True)
        design = LassoDesign.of(*rows, self.fit_intercept, self.l1_ratio, self.positive)
        limits = Limits.of(self.max_iter, self.time_limit)
        solutions = [
            solve_lasso(target, self.lam, tol=self.tol, limits=limits, start=start)
            for target, start in zip(design.each_target(), self._starts(design), strict=True)
        ]
        solution = all_targets(solutions)
        self._keep(design.scaling, solution.value)
        steps = np.array([one.stats["steps"] for one in solutions])
        gaps = np.array([one.gap for one in solutions])
        self.n_iter_ = int(steps[0]) if design.scaling.flat else steps
        self.dual_gap_ = float(gaps[0]) if design.scaling.flat else gaps
        return solution

    def _starts(self, design: LassoDesign) -> Any:
        """Return the coefficients of the fit before, a row for each target, or None for each."""
        before = getattr(self, "coef_", None) if self.warm_start else None
        count, columns = design.scaling.Y.shape[1], design.columns.shape[1]
        if before is None:
            return [None] * count
        before = np.atleast_2d(before)
        if before.shape != (count, columns):
            raise ValueError(
                f"warm_start=True goes on from {before.shape[1]} coefficients of {len(before)} "
                f"target(s), but X has {columns} columns and y {count} target(s)"
            )
        return before

    @property
    def sparse_coef_(self) -> Any:
        """The coefficients as sparse rows."""
        return sp.csr_array(np.atleast_2d(self.coef_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # a λ of 1 may well leave only the mean
        return tags


@described(SHARED)
def lasso_path(
    X: Any,
    y: Any,
    lams: Any = None,
    n_lams: int = 100,
    eps: float = 1e-3,
    *,
    fit_intercept: bool = False,
    positive: bool = False,
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
    positive : bool, default=False
        Whether coefficients must be ≥ 0.
    tol : float, default=1e-4
        The duality gap that is proved for each λ, relative to the objective of w = 0.
    time_limit : float or None, default=None
        Seconds; then, and on Ctrl-C, the path ends with the λ that is under way, with a warning.

    Returns
    -------
    [path]

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
    return path_of(
        "lasso_path",
        X,
        y,
        lams,
        n_lams=n_lams,
        eps=eps,
        fit_intercept=fit_intercept,
        tol=tol,
        time_limit=time_limit,
        positive=positive,
    )
