"""Ridge regression."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions

from mercer.linear._base import LinearRegressor, Rows
from mercer.linear._ridge import LooErrors, Spectrum, search, solve_ridge_rows
from mercer.solvers.ridge_path import check_lams


class Ridge(MultiOutputMixin, RegressorMixin, LinearRegressor):
    """Ridge regression: min over w and b of Σᵢ wᵢ (yᵢ − w·xᵢ − b)² + λ‖w‖².

    All λ come from one singular value decomposition, and with them the exact leave-one-out error:
    what is predicted for each row when it is left out with all its weight. λ is scikit-learn's
    alpha; λ = 0 is least squares, of least norm where the columns do not determine w.

    Parameters
    ----------
    lam : float, list of floats or "loo", default=1.0
        λ ≥ 0. Of a list of λ > 0 the one with the smallest leave-one-out error is taken. "loo"
        makes the list: 30 values, evenly in the logarithm, from 10⁻⁹ to 10 times the largest
        eigenvalue of XᵀX, and 10 more beyond a border at which the best lies.
    fit_intercept : bool, default=True
        Whether to fit the offset b, which is not penalised.

    Attributes
    ----------
    coef_ : array of shape (d,) or (n_targets, d)
        w.
    intercept_ : float or array of shape (n_targets,)
        b.
    lam_ : float
        The λ of this fit.
    lams_ : array of shape (n_lams,)
        All λ that were tried.
    loo_error_ : array of shape (n_lams,)
        Mean squared leave-one-out error of each λ, over rows (by their weights) and targets.
    gcv_error_ : array of shape (n_lams,)
        The same by generalised cross-validation: each row has the leverage of the average row.
    certificate_ : Certificate
        Relative residual of the normal equations and a condition estimate.

    Examples
    --------
    >>> from mercer import Ridge
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.1, 1.9, 3.0]
    >>> Ridge(lam=5.0).fit(X, y).coef_
    array([0.49])
    >>> Ridge(lam=[0.01, 1.0, 100.0]).fit(X, y).lam_
    0.01
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "lam": [Interval(Real, 0, None, closed="left"), StrOptions({"loo"}), "array-like"],
        "fit_intercept": ["boolean"],
    }

    def __init__(self, lam: Any = 1.0, *, fit_intercept: bool = True):
        self.lam = lam
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Ridge:
        """Fit the model; ``y`` has shape (n,) or (n, n_targets)."""
        rows = self._fit_rows(X, y, sample_weight, several=True)
        spectrum = Spectrum.of(rows, self.fit_intercept)
        unit = rows.share * rows.unit**2  # of λ, where weights and columns have theirs
        errors = self._errors(rows, spectrum, unit)
        solution = solve_ridge_rows(rows, spectrum, errors.best)
        self.lams_ = self._given() if not isinstance(self.lam, str) else errors.lams * unit
        self.lam_ = float(self.lams_[errors.loo.argmin()])
        self.loo_error_, self.gcv_error_ = (e * rows.y_unit**2 for e in (errors.loo, errors.gcv))
        self._keep(rows, solution.value)
        self._accept(solution)
        return self

    def _errors(self, rows: Rows, spectrum: Spectrum, unit: float) -> LooErrors:
        if not isinstance(self.lam, str):
            return spectrum.errors(self._given() / unit, rows.weight)
        if len(rows.X) <= int(self.fit_intercept):
            raise ValueError(
                "lam='loo' needs at least two rows of positive weight: with one sample "
                "(n_samples=1) nothing is left; give lam a number"
            )
        return search(spectrum, rows.weight)

    def _given(self) -> np.ndarray:
        if isinstance(self.lam, Real):
            return np.array([float(self.lam)])
        return check_lams(self.lam, "lam")
