"""Ridge regression, for every λ from one singular value decomposition."""

from __future__ import annotations

from functools import cached_property, partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from mercer._sklearn import Interval, StrOptions
from mercer._state import Attribute, Either, Floats, Maybe, Tuple
from mercer.linear._base import DenseDesign, LinearRegressor, all_targets
from mercer.linear._positive import solve_positive
from mercer.linear._ridge import RowSpectrum, solve_each, solve_factored, solve_spectral
from mercer.linear._sparse import DENSE_ENTRIES, SparseDesign, is_large, solve_sparse
from mercer.result import Solution
from mercer.solvers.ridge_loo import LooErrors, search_lam
from mercer.solvers.ridge_path import check_lams

HUGE_LAM = 1e250  # a λ that leaves nothing of w
LOWEST_LAM = 1e-13  # of the largest squared singular value: where a search for λ ends


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
    per_target : bool, default=False
        Whether each target has a λ of its own: a list then holds one for each, in their order, and
        "loo" takes for each the one with its smallest leave-one-out error.
    positive : bool, default=False
        Whether coefficients must be ≥ 0; λ is then a number (or one for each target), and there
        are no leave-one-out errors. A sparse X is made dense, if the memory allows it.

    Attributes
    ----------
    coef_ : array of shape (d,) or (n_targets, d)
        w.
    intercept_ : float or array of shape (n_targets,)
        b.
    lam_ : float or array of shape (n_targets,)
        The λ of this fit; with ``per_target=True`` that of each target.
    lams_ : array of shape (n_lams,)
        All λ that were tried.
    loo_error_ : array of shape (n_lams,)
        Mean squared leave-one-out error of each λ, over rows (by their weights) and targets; where
        each target was given its own λ, that of this target. What no λ was chosen by is computed
        when it is asked for: until then the model (not its copies and files) keeps its design.
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

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "lam_": Either(Floats("targets?"), Floats()),
        "lams_": Floats("penalties"),
        "_errors": Maybe(Tuple(Floats("penalties"), Floats("penalties"))),
    }

    accepts_sparse = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "lam": [Interval(Real, 0, None, closed="left"), StrOptions({"loo"}), "array-like"],
        "fit_intercept": ["boolean"],
        "per_target": ["boolean"],
        "positive": ["boolean"],
    }

    def __init__(
        self,
        lam: Any = 1.0,
        *,
        fit_intercept: bool = True,
        per_target: bool = False,
        positive: bool = False,
    ):
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.per_target = per_target
        self.positive = positive

    def _fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, dense: float = DENSE_ENTRIES
    ) -> Solution:
        table, targets, weight = self._checked(X, y, sample_weight, several=True)
        self.__dict__.pop("_errors", None)
        self.__dict__.pop("_held", None)
        fixed = self._fixed(targets.shape[1] if targets.ndim > 1 else 1)
        design: DenseDesign | SparseDesign
        if is_large(table, dense) and not self.positive:
            design = SparseDesign.of(table, targets, weight, self.fit_intercept, scaled=False)
            solution = self._sparse(design, fixed)
        else:
            design = DenseDesign.of(table, targets, weight, self.fit_intercept)
            solution = self._dense(design, fixed)
        if "_errors" not in vars(self):  # those of fixed λ are computed when they are asked for
            self.lams_, self.lam_ = np.atleast_1d(fixed), fixed
            if isinstance(design, DenseDesign) and not self.positive:
                self._held = design.apart_from(X, y)
        self.lam_ = float(self.lam_) if design.flat or np.ndim(self.lam_) == 0 else self.lam_
        # in the unit of the targets: coefficients alone would lose digits, then be large again
        shrunk = design.y_unit * _beyond_huge(self.lam_, design)
        self._keep(design._replace(y_unit=shrunk), solution.value)
        return solution

    def _fixed(self, n_targets: int) -> Any:
        """Return the λ, or one for each target; None if it is to be chosen."""
        if isinstance(self.lam, Real):
            return float(self.lam)
        if self.per_target and not isinstance(self.lam, str):
            return _one_each(self.lam, n_targets)
        if self.positive:
            raise ValueError(
                f"with positive=True lam must be a number, or with per_target=True one for each "
                f"target: there are no leave-one-out errors to choose by; got {self.lam!r}"
            )
        return None

    def _dense(self, design: DenseDesign, fixed: Any) -> Solution:
        if self.positive:
            return solve_positive(design, _inner(fixed, design))
        if np.ndim(fixed) == 1:
            spectrum = RowSpectrum.of(design, self.fit_intercept)
            return solve_each(design, spectrum, _inner(fixed, design))
        return self._one(design) or self._best(design)

    def _one(self, design: DenseDesign) -> Solution | None:
        """Return the solution for a single λ > 0 by a factor, if that keeps enough digits."""
        if not isinstance(self.lam, Real) or not float(self.lam) > 0:
            return None
        return solve_factored(design, float(_inner(self.lam, design)))

    def _best(self, design: DenseDesign) -> Solution:
        """Return the solution for the λ of the least error, from a decomposition."""
        spectrum = RowSpectrum.of(design, self.fit_intercept)
        errors = self._tried(design, spectrum)
        self._keep_errors(errors, design)
        if not (self.per_target and isinstance(self.lam, str)):
            return solve_spectral(design, spectrum, errors.best)
        each = [t.errors(errors.lams, design.weight).loo.argmin() for t in spectrum.each_target()]
        self.lam_ = self.lams_[each]
        return solve_each(design, spectrum, errors.lams[each])

    def _sparse(self, design: SparseDesign, fixed: Any) -> Solution:
        if fixed is None:
            raise ValueError(
                f"lam must be a number where X is sparse and has more than {DENSE_ENTRIES:.0g} "
                f"entries: choosing it takes a decomposition of the dense table; got {self.lam!r}"
            )
        lams = _inner(fixed, design)
        if lams.ndim == 0:
            return solve_sparse(design, float(lams))
        targets = [design._replace(Y=y[:, None]) for y in design.Y.T]
        return all_targets(
            [solve_sparse(target, lam) for target, lam in zip(targets, lams, strict=True)]
        )

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
    def _held(self) -> DenseDesign:
        """The rows of the fit, for errors that were not asked for yet; never stored with it."""
        raise AttributeError(
            "the leave-one-out error of one lam is computed when it is asked for, and this model "
            "has no rows for it: it was copied or saved before that (read loo_error_ first, or fit "
            "again), its table is sparse and too large to be decomposed, or positive=True"
        )

    def _all_errors(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the errors; those of one number cost more than its fit, so only if asked."""
        if not hasattr(self, "lams_"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        if "_errors" not in vars(self):
            design = self._held
            spectrum = RowSpectrum.of(design, self.fit_intercept)
            each = len(self.lams_) > 1  # a λ for each target
            errors = spectrum.errors_of_each if each else spectrum.errors
            self._keep_figures(errors(_inner(self.lams_, design), design.weight), design)
        return self._errors

    def _keep_errors(self, errors: LooErrors, design: DenseDesign) -> None:
        """Keep all λ that were tried, the best of them, and their errors."""
        outer = errors.lams * design.share * design.unit * design.unit
        self.lams_ = outer if isinstance(self.lam, str) else self._given()
        self.lam_ = float(self.lams_[errors.loo.argmin()])
        self._keep_figures(errors, design)

    def _keep_figures(self, errors: LooErrors, design: DenseDesign) -> None:
        with np.errstate(over="ignore"):  # squares of huge errors are infinite
            self._errors = (errors.loo * design.y_unit**2, errors.gcv * design.y_unit**2)
        self.__dict__.pop("_held", None)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the rows of the fit: a copy is sent or saved for its coefficients."""
        return {name: value for name, value in super().__getstate__().items() if name != "_held"}

    def _tried(self, design: DenseDesign, spectrum: RowSpectrum) -> LooErrors:
        if not isinstance(self.lam, str):
            return spectrum.errors(_inner(self._given(), design), design.weight)
        if len(design.X) <= int(self.fit_intercept):
            raise ValueError(
                "lam='loo' needs at least two rows of positive weight: with one sample "
                "(n_samples=1) nothing is left; give lam a number"
            )
        errors = partial(spectrum.errors, weight=design.weight)
        return search_lam(errors, spectrum.top, lowest=LOWEST_LAM)

    def _given(self) -> np.ndarray:
        if isinstance(self.lam, Real):
            return np.array([float(self.lam)])
        return check_lams(self.lam, "lam")


def _one_each(lam: Any, n_targets: int) -> np.ndarray:
    """Return a λ ≥ 0 for each target."""
    lams = np.asarray(lam, dtype=np.float64)
    if lams.shape != (n_targets,) or not (np.isfinite(lams) & (lams >= 0.0)).all():
        raise ValueError(
            f"lam must hold a finite λ ≥ 0 for each of the {n_targets} targets where "
            f"per_target=True; got {lam!r}"
        )
    return lams


def _beyond_huge(lam: Any, design: Any) -> Any:
    """Return what is left of w, which is XᵀY / λ there, for a λ that `_inner` has cut."""
    with np.errstate(over="ignore", divide="ignore"):
        wanted = np.asarray(lam) / design.share / design.unit
        return np.minimum(1.0, HUGE_LAM * design.unit / wanted)


def _inner(lam: Any, design: Any) -> np.ndarray:
    """Return λ in the units of the weights and columns of the rows; at most a huge number."""
    with np.errstate(over="ignore"):
        given = np.asarray(lam, dtype=np.float64)
        return np.minimum(given / design.share / design.unit / design.unit, HUGE_LAM)
