"""Ridge regression, for every λ from one singular value decomposition."""

from __future__ import annotations

from functools import cached_property, partial
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpocon, dpotrf, dpotrs
from sklearn.base import MultiOutputMixin, RegressorMixin

from mercer._floats import EPS
from mercer._sklearn import Interval, StrOptions
from mercer._state import Attribute, Floats, Maybe, Tuple
from mercer.linear._base import DenseDesign, LinearRegressor, thin_svd
from mercer.linear._sparse import DENSE_ENTRIES, SparseDesign, is_large, prove_ridge, solve_sparse
from mercer.result import Certificate, Solution, Status
from mercer.solvers.ridge_loo import LooErrors, search_lam
from mercer.solvers.ridge_path import check_lams

HUGE_LAM = 1e250  # a λ that leaves nothing of w
LOWEST_LAM = 1e-13  # of the largest squared singular value: where a search for λ ends
CLEAR_EIGENVALUES = 1e-4  # ratio of eigenvalues of XᵀX that have 12 digits
FACTORED_CONDITION = 1e-8  # reciprocal condition of a matrix that is factored


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
        of a single λ is computed when it is asked for: until then the model (not its
        copies and files) keeps its design.
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
        "lam_": Floats(),
        "lams_": Floats("penalties"),
        "_errors": Maybe(Tuple(Floats("penalties"), Floats("penalties"))),
    }

    accepts_sparse = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "lam": [Interval(Real, 0, None, closed="left"), StrOptions({"loo"}), "array-like"],
        "fit_intercept": ["boolean"],
    }

    def __init__(self, lam: Any = 1.0, *, fit_intercept: bool = True):
        self.lam = lam
        self.fit_intercept = fit_intercept

    def _fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, dense: float = DENSE_ENTRIES
    ) -> Solution:
        table, targets, weight = self._checked(X, y, sample_weight, several=True)
        self.__dict__.pop("_errors", None)
        self.__dict__.pop("_held", None)
        design: DenseDesign | SparseDesign
        if is_large(table, dense):
            self._require_number()
            design = SparseDesign.of(table, targets, weight, self.fit_intercept, scaled=False)
            solution = solve_sparse(design, float(_inner(self.lam, design)))
        else:
            design = DenseDesign.of(table, targets, weight, self.fit_intercept)
            solution = self._one(design) or self._best(design)
        if "_errors" not in vars(self):  # those of a single λ are computed when they are asked for
            self.lams_, self.lam_ = self._given(), float(self.lam)
            if isinstance(design, DenseDesign):
                self._held = design.apart_from(X, y)
        self._keep(design, solution.value * _beyond_huge(self.lam_, design))
        return solution

    def _one(self, design: DenseDesign) -> Solution | None:
        """Return the solution for a single λ > 0 by a factor, if that keeps enough digits."""
        if not isinstance(self.lam, Real) or not float(self.lam) > 0:
            return None
        return solve_factored(design, float(_inner(self.lam, design)))

    def _best(self, design: DenseDesign) -> Solution:
        """Return the solution for the λ of the least error, from a decomposition."""
        spectrum = Spectrum.of(design, self.fit_intercept)
        errors = self._tried(design, spectrum)
        self._keep_errors(errors, design)
        return solve_spectral(design, spectrum, errors.best)

    def _require_number(self) -> None:
        if not isinstance(self.lam, Real):
            raise ValueError(
                f"lam must be a number where X is sparse and has more than {DENSE_ENTRIES:.0g} "
                f"entries: choosing it takes a decomposition of the dense table; got {self.lam!r}"
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
            "again), or its table is sparse and too large to be decomposed"
        )

    def _all_errors(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the errors; those of one number cost more than its fit, so only if asked."""
        if not hasattr(self, "lams_"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        if "_errors" not in vars(self):
            design = self._held
            spectrum = Spectrum.of(design, self.fit_intercept)
            errors = spectrum.errors(_inner(self.lams_, design), design.weight)
            self._keep_errors(errors, design)
        return self._errors

    def _keep_errors(self, errors: LooErrors, design: DenseDesign) -> None:
        outer = errors.lams * design.share * design.unit * design.unit
        self.lams_ = outer if isinstance(self.lam, str) else self._given()
        self.lam_ = float(self.lams_[errors.loo.argmin()])
        with np.errstate(over="ignore"):  # squares of huge errors are infinite
            self._errors = (errors.loo * design.y_unit**2, errors.gcv * design.y_unit**2)
        self.__dict__.pop("_held", None)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the rows of the fit: a copy is sent or saved for its coefficients."""
        return {name: value for name, value in super().__getstate__().items() if name != "_held"}

    def _tried(self, design: DenseDesign, spectrum: Spectrum) -> LooErrors:
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


def _beyond_huge(lam: float, design: Any) -> float:
    """Return what is left of w, which is XᵀY / λ there, for a λ that `_inner` has cut."""
    wanted = lam / design.share / design.unit
    return min(1.0, HUGE_LAM * design.unit / wanted) if wanted > 0.0 else 1.0


def _inner(lam: Any, design: Any) -> np.ndarray:
    """Return λ in the units of the weights and columns of the rows; at most a huge number."""
    with np.errstate(over="ignore"):
        given = np.asarray(lam, dtype=np.float64)
        return np.minimum(given / design.share / design.unit / design.unit, HUGE_LAM)


# ---------------------------------------------------------------- solving
class Spectrum(NamedTuple):
    """The decomposition U diag(s) Vᵀ of the weighted, centred rows, and the targets in it.

    ``outside`` is the share of each row that is neither in U nor in the intercept, ``rest`` the
    part of the targets there: computed from what is left, so that nothing cancels where λ is small.
    """

    U: np.ndarray  # (n, r)
    s: np.ndarray  # (r,)
    Vt: np.ndarray  # (r, d)
    target: np.ndarray  # UᵀY, (r, t)
    rest: np.ndarray  # (n, t)
    outside: np.ndarray  # (n,)

    @classmethod
    def of(cls, design: DenseDesign, intercept: bool) -> Spectrum:
        X, Y = design.weighted()
        U, s, Vt = _by_squares(X) or thin_svd(X)
        keep = s > max(X.shape) * EPS * s.max(initial=0.0)
        U, s, Vt = U[:, keep], s[keep], Vt[keep]
        target = U.T @ Y
        if len(s) == len(X) - intercept:  # U and the intercept span everything
            return cls(U, s, Vt, target, np.zeros_like(Y), np.zeros(len(X)))
        held = np.einsum("ik,ik->i", U, U)
        if intercept:
            held = held + design.weight / design.weight.sum()
        return cls(U, s, Vt, target, Y - U @ target, np.maximum(1.0 - held, 0.0))

    def coef(self, lam: float) -> np.ndarray:
        """Return the coefficients (d, t) for λ ≥ 0."""
        return self.Vt.T @ ((self.s / (self.s**2 + lam))[:, None] * self.target)

    def errors(self, lams: np.ndarray, weight: np.ndarray) -> LooErrors:
        """Return the leave-one-out errors rᵢ / (1 − hᵢ), h the leverages: exact for every λ."""
        with np.errstate(divide="ignore", invalid="ignore"):
            left = lams / (self.s[:, None] ** 2 + lams)  # (r, L): what shrinking leaves
            room = self.outside[:, None] + self.U**2 @ left  # 1 − h, (n, L)
            loo, gcv = np.empty(len(lams)), np.empty(len(lams))
            for k in range(len(lams)):
                r = self.rest + self.U @ (left[:, k, None] * self.target)  # √w (y − f), (n, t)
                loo[k] = np.sum((r / room[:, k, None]) ** 2)
                gcv[k] = np.sum(r**2) / np.mean(room[:, k]) ** 2
        scale = weight.sum() * self.target.shape[1]
        return LooErrors(lams, _numbers(loo / scale), _numbers(gcv / scale))

    @property
    def top(self) -> float:
        """The largest squared singular value; 1 if there is none."""
        return float(self.s[0] ** 2) if len(self.s) else 1.0


def _by_squares(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return the decomposition of a tall table from XᵀX, or None if that loses digits."""
    n, d = X.shape
    if n <= 2 * d:
        return None
    squares, V = eigh(X.T @ X, overwrite_a=True, check_finite=False)
    if not squares[0] > CLEAR_EIGENVALUES * squares[-1]:
        return None
    s, V = np.sqrt(squares[::-1]), V[:, ::-1]
    return (X @ V) / s, s, V.T


def _numbers(errors: np.ndarray) -> np.ndarray:
    """Return errors with 0/0 as infinite: a row that alone determines its fit predicts nothing."""
    return np.where(np.isnan(errors), np.inf, errors)


def solve_factored(design: DenseDesign, lam: float) -> Solution | None:
    """Return the coefficients for one λ > 0 by a factor of the smaller of XᵀX + λ and XXᵀ + λ.

    None if that loses too many digits, for which a step of refinement does not make up.
    """
    X, Y = design.weighted()
    wide = X.shape[0] < X.shape[1]
    M = X @ X.T if wide else X.T @ X
    norm = float(np.trace(M)) ** 0.5
    M[np.diag_indices_from(M)] += lam
    size = float(np.abs(M).sum(axis=0).max())
    factor, failed = dpotrf(M, lower=1, overwrite_a=1)
    share = 0.0 if failed else float(dpocon(factor, size, uplo="L")[0])
    if not share > FACTORED_CONDITION:
        return None
    target = X.T @ Y
    coef = X.T @ dpotrs(factor, Y, lower=1)[0] if wide else dpotrs(factor, target, lower=1)[0]
    rest = target - X.T @ (X @ coef) - lam * coef
    if not wide:
        coef = coef + dpotrs(factor, rest, lower=1)[0]
        rest = target - X.T @ (X @ coef) - lam * coef
    certificate = _certificate(design, rest, target, norm, {"condition_estimate": 1.0 / share})
    return Solution(coef, Status.OPTIMAL, certificate) if certificate.ok else None


def solve_spectral(design: DenseDesign, spectrum: Spectrum, lam: float) -> Solution:
    """Return the coefficients (d, t) for one λ, proved."""
    coef = spectrum.coef(lam)
    X, Y = design.weighted()
    s = spectrum.s if len(spectrum.s) else np.ones(1)
    condition = float((s[0] ** 2 + lam) / (s[-1] ** 2 + lam))
    parts = {"condition_estimate": condition, "rank": len(spectrum.s)}
    residual, norm = X.T @ (Y - X @ coef) - lam * coef, float(np.linalg.norm(X))
    certificate = _certificate(design, residual, X.T @ Y, norm, parts)
    status = Status.OPTIMAL if certificate.ok else Status.ROUNDING
    return Solution(coef, status, certificate)


def _certificate(
    design: DenseDesign,
    residual: np.ndarray,
    target: np.ndarray,
    norm: float,
    parts: dict[str, Any],
) -> Certificate:
    rounding = 64 * EPS * norm * float(np.linalg.norm(design.weighted_targets()))
    rows = f"{design.X.shape[0]} rows, {design.X.shape[1]} columns"
    return prove_ridge(residual, target, rounding, parts, rows)
