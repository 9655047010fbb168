"""Ridge regression."""

from __future__ import annotations

from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from mercer._sklearn import Interval, StrOptions
from mercer.linear._base import LinearRegressor, Rows
from mercer.linear._ridge import LooErrors, Spectrum, search, solve_one, solve_ridge_rows
from mercer.linear._sparse import DENSE, SparseRows, is_large, solve_sparse
from mercer.solvers.ridge_path import check_lams

HUGE = 1e250  # a λ that leaves nothing of w


class Ridge(MultiOutputMixin, RegressorMixin, LinearRegressor):
    """Ridge regression: min over w and b of Σᵢ wᵢ (yᵢ − w·xᵢ − b)² + λ‖w‖².

    A single λ takes one Cholesky factor, of the smaller of XᵀX and XXᵀ. Several come from one
    singular value decomposition, and with them the exact leave-one-out error: what is predicted for
    each row when it is left out with all its weight. λ is scikit-learn's
    alpha; λ = 0 is least squares, of least norm where the columns do not determine w.

    A sparse X is made dense up to 2·10⁷ entries. Larger ones stay sparse and go by LSMR, for a
    single λ and without leave-one-out errors.

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
        Mean squared leave-one-out error of each λ, over rows (by their weights) and targets. That
        of a single λ is computed when it is asked for: until then the model keeps its rows.
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

    accepts_sparse = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "lam": [Interval(Real, 0, None, closed="left"), StrOptions({"loo"}), "array-like"],
        "fit_intercept": ["boolean"],
    }

    def __init__(self, lam: Any = 1.0, *, fit_intercept: bool = True):
        self.lam = lam
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Ridge:
        """Fit the model; ``y`` has shape (n,) or (n, n_targets)."""
        table, targets, weight = self._checked(X, y, sample_weight, several=True)
        if is_large(table):
            return self._fit_sparse(table, targets, weight)
        rows = Rows.of(table, targets, weight, self.fit_intercept)
        self.__dict__.pop("_errors", None)
        solution = None
        if isinstance(self.lam, Real) and float(self.lam) > 0:
            solution = solve_one(rows, float(_inner(self.lam, rows)))
        self._held = rows.apart_from(X, y)
        if solution is None:
            spectrum = Spectrum.of(rows, self.fit_intercept)
            errors = self._tried(rows, spectrum)
            solution = solve_ridge_rows(rows, spectrum, errors.best)
            self._keep_errors(errors, rows)
        else:
            self.lams_ = self._given()
            self.lam_ = float(self.lam)
        self._keep(rows, solution.value)
        self._accept(solution)
        return self

    def _fit_sparse(self, X: Any, y: np.ndarray, weight: np.ndarray) -> Ridge:
        if not isinstance(self.lam, Real):
            raise ValueError(
                f"lam must be a number where X is sparse and has more than {DENSE:.0g} entries: "
                f"choosing it takes a decomposition of the dense table; got {self.lam!r}"
            )
        rows = SparseRows.of(X, y, weight, self.fit_intercept, scaled=False)
        solution = solve_sparse(rows, float(_inner(self.lam, rows)))
        self.lams_, self.lam_ = self._given(), float(self.lam)
        self.__dict__.pop("_errors", None)
        self._keep(rows, solution.value)
        self._accept(solution)
        return self

    # ------------------------------------------------------------ errors of rows left out
    @property
    def loo_error_(self) -> np.ndarray:
        """Mean squared leave-one-out error of each λ that was tried."""
        return self._all_errors()[0]

    @property
    def gcv_error_(self) -> np.ndarray:
        """Error of each λ by generalised cross-validation."""
        return self._all_errors()[1]

    @cached_property
    def _held(self) -> Rows:
        """The rows of the fit, for errors that were not asked for yet; never stored with it."""
        raise AttributeError(
            "the leave-one-out error of one lam is computed when it is asked for, and this model "
            "has no rows for it: it was stored before that (read loo_error_ first, or fit again), "
            "or its table is sparse and too large to be decomposed"
        )

    def _all_errors(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the errors; those of one number cost more than its fit, so only if asked."""
        if not hasattr(self, "lams_"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        if "_errors" not in vars(self):
            rows = self._held
            spectrum = Spectrum.of(rows, self.fit_intercept)
            self._keep_errors(spectrum.errors(_inner(self.lams_, rows), rows.weight), rows)
        return self._errors

    def _keep_errors(self, errors: LooErrors, rows: Rows) -> None:
        outer = errors.lams * rows.share * rows.unit * rows.unit
        self.lams_ = outer if isinstance(self.lam, str) else self._given()
        self.lam_ = float(self.lams_[errors.loo.argmin()])
        with np.errstate(over="ignore"):  # squares of huge errors are infinite
            self._errors = (errors.loo * rows.y_unit**2, errors.gcv * rows.y_unit**2)
        self.__dict__.pop("_held", None)

    def __getstate__(self) -> dict[str, Any]:
        if "_held" in vars(self):
            self._all_errors()
        return super().__getstate__()

    def _tried(self, rows: Rows, spectrum: Spectrum) -> LooErrors:
        if not isinstance(self.lam, str):
            return spectrum.errors(_inner(self._given(), rows), rows.weight)
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


def _inner(lam: Any, rows: Any) -> np.ndarray:
    """Return λ in the units of the weights and columns of rows; at most a huge number."""
    with np.errstate(over="ignore"):
        given = np.asarray(lam, dtype=np.float64)
        return np.minimum(given / rows.share / rows.unit / rows.unit, HUGE)
