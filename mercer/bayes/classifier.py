"""The classifier of Gaussian classes: naive, linear, quadratic and between."""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._array import ranges
from mercer._estimator import check_weights, validated
from mercer._floats import COLUMN_NOISE
from mercer._labels import (
    class_codes,
    class_priors,
    codes_among,
    estimated_covariance,
    known_classes,
)
from mercer._sklearn import HasMethods, Interval, StrOptions
from mercer._state import Attribute, Either, Floats, Labels, Lengths, Maybe, StateError
from mercer._threads import threads_for
from mercer.bayes._moments import (
    LOG_2PI,
    ClassRows,
    Moments,
    covariance_of,
    deviations,
    is_full,
    lag_products,
    log_volume,
    shrunk_factor,
    squares_of_bands,
    weighted_mean,
    whiten,
)
from mercer.bayes._running import RunningMoments
from mercer.bayes.rule import BayesRule
from mercer.result import Certificate, Solution, Status

TOLERANCE = 1e-8
BLOCK = 2**16  # numbers of new rows that are whitened at once: what the nearer caches hold


class BandFactors(Floats):
    """Factors of covariances: bands that hold the diagonal at least."""

    def _check_values(self, values: np.ndarray, lengths: Lengths) -> None:
        if not values.shape[-1]:
            raise StateError("must have a diagonal")


class GaussianBayes(BayesRule):
    """The Bayes rule for Gaussian classes: the decision of least expected loss.

    p(c | x) ∝ π_c N(x; μ_c, Σ_c). Within a class column j depends on the ``order`` columns before
    it, p(x) = Π_j p(x_j | x_{j−k}, …, x_{j−1}): order 0 is naive Bayes, None (all before it) is
    quadratic discriminant analysis, and the linear one if the classes share one covariance.

    Parameters
    ----------
    order : int or None, default=None
        k; None is all.
    tied : bool, default=False
        Whether all classes have the same covariance.
    loss : array of shape (n_classes, n_classes), default=None
        What a decision costs: a row for each true class, a column for each decision. None is 1 for
        a mistake and 0 else.
    priors : array of shape (n_classes,), default=None
        π, positive, with sum 1; None means the shares of the classes in y.
    shrinkage : float in [0, 1], "auto" or None, default="auto"
        How far correlations shrink towards 0: 0 or None leaves them, 1 makes columns independent.
        "auto" shrinks only where a covariance is singular (fewer rows than columns, collinear
        columns), by the rule of Ledoit and Wolf; the certificate says so. A class whose rows are
        all equal borrows the variances within the other classes; a column that varies only in
        other classes is given the share 1/(n_c + 1) of its variance there, as if by one more row.
    covariance : covariance estimator or None, default=None
        An estimator whose ``fit`` leaves ``covariance_``, such as those of `sklearn.covariance`: a
        copy is fitted to the rows of each class; tied classes have the sum weighted by π. Only
        where one is singular it is shrunk, by ``shrinkage="auto"``.
    ddof : {0, 1}, default=0
        A covariance is the sum of squares over n_c − ddof (tied: n − C · ddof): 0 is maximum
        likelihood, 1 has no bias.
    reject : float, default=None
        The cost of not deciding, in the units of the loss: a row is rejected if the best decision
        is expected to cost more. Without a loss matrix: if no p(c | x) reaches 1 − reject.
    reject_label : int, float or str, default=None
        What `predict` returns for a rejected row; None is −1, or "reject" if labels are text.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    means_, priors_ : array of shape (n_classes, d), (n_classes,)
        μ and π.
    covariances_ : array of shape (n_classes, d, d), or (1, d, d) if tied
        Σ, computed when asked for.
    shrinkage_ : array of shape (n_classes,), or (1,) if tied
        By how much correlations were shrunk.
    certificate_ : Certificate
        That the model has the moments of the data, all that the order speaks of: the likelihood is
        stationary.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GaussianBayes
    >>> X = np.array([[-2.0], [-1.0], [0.0], [1.0], [2.0], [3.0]])
    >>> model = GaussianBayes(tied=True).fit(X, ["a", "a", "a", "b", "b", "b"])
    >>> model.predict([[-1.0], [2.0]]).tolist()
    ['a', 'b']
    >>> model.predict_proba([[0.5]]).round(6).tolist()
    [[0.5, 0.5]]
    >>> model.set_params(reject=0.1).predict([[-1.0], [0.5]]).tolist()
    ['a', 'reject']
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "classes_": Labels("classes"),
        "priors_": Floats("classes"),
        "means_": Floats("classes", "columns"),
        "scale_": Floats("columns"),
        "factors_": Either(
            BandFactors(1, "columns", "band"),
            BandFactors("classes", "columns", "band"),
        ),
        "shrinkage_": Floats("covariances"),
        "counts_": Maybe(Floats("classes")),
        "scatters_": Maybe(Floats("covariances", "columns", "band")),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "order": [Interval(Integral, 0, None, closed="left"), None],
        "tied": ["boolean"],
        "loss": ["array-like", None],
        "priors": ["array-like", None],
        "shrinkage": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"}), None],
        "covariance": [HasMethods("fit"), None],
        "ddof": [Interval(Integral, 0, 1, closed="both")],
        "reject": [Interval(Real, 0, None, closed="left"), None],
        "reject_label": [Real, str, None],
    }

    means_: np.ndarray
    scale_: np.ndarray

    def __init__(
        self,
        *,
        order: int | None = None,
        tied: bool = False,
        loss: Any = None,
        priors: Any = None,
        shrinkage: Any = "auto",
        covariance: Any = None,
        ddof: int = 0,
        reject: float | None = None,
        reject_label: Any = None,
    ):
        self.order = order
        self.tied = tied
        self.loss = loss
        self.priors = priors
        self.shrinkage = shrinkage
        self.covariance = covariance
        self.ddof = ddof
        self.reject = reject
        self.reject_label = reject_label

    # ------------------------------------------------------------ fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GaussianBayes:
        """Fit the classes to rows X with labels y and weights ≥ 0 (how often each row counts)."""
        self._validate_params()
        X, y = validated(self, X, y, dtype=[np.float64, np.float32], order="C")
        weight = check_weights(sample_weight, len(X))
        self.classes_, codes = class_codes(y, weight)
        X, codes, weight = X[weight > 0], codes[weight > 0], weight[weight > 0]
        counts = np.bincount(codes, weight)
        self.priors_ = class_priors(self.priors, counts)
        self._loss_matrix()
        self._reject_value()
        rows, self.counts_ = self._centre(X, codes, weight), counts
        if self.covariance is not None:
            return self._fit_estimated(X, codes, weight)
        parts = self._parts(rows, codes, weight, counts)
        self._keep_factors([part.factor(self._lags, self.shrinkage) for part in parts])
        unit = lag_products(self.scale_, self._lags)
        self.scatters_ = np.array([part.scatter(self._lags) * unit for part in parts])
        self._accept(self._proved(X, codes, weight, counts))
        return self

    def _fit_estimated(self, X: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> GaussianBayes:
        """Take the covariances that an estimator finds in the classes."""
        if (weight != 1.0).any() or self.shrinkage not in ("auto", None) or self.ddof:
            raise ValueError(
                f"a covariance estimator takes neither sample_weight, shrinkage nor ddof; got "
                f"{self.covariance!r} with one of them"
            )
        each = range(len(self.classes_))
        S = np.array([estimated_covariance(self.covariance, X[codes == c]) for c in each])
        if self.tied:
            S = np.einsum("c,cij->ij", self.priors_, S)[None]
        S = S / (self.scale_[:, None] * self.scale_)
        moments = [Moments.of_covariance(covariance, self._lags) for covariance in S]
        sizes = [len(X)] if self.tied else self.counts_
        self._keep_factors(
            [
                shrunk_factor(m, self.shrinkage, partial(m.normal_intensity, n), n)
                for m, n in zip(moments, sizes, strict=True)
            ]
        )
        self.__dict__.pop("scatters_", None)  # partial_fit has nothing to go on with
        self._accept(self._claim(moments, 0.0, 0))
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> GaussianBayes:
        """Fit the classes to these rows and all those before, whichever way they come in parts.

        Counts, means and scatters of the classes are kept, so that the outcome is that of ``fit``
        to all rows at once; only a singular covariance is shrunk by a rule that needs no rows.

        Parameters
        ----------
        X, y : table, labels
            More rows.
        classes : array of shape (n_classes,), default=None
            All labels that will ever come; needed by the first call. A class without a row so far
            is never predicted.
        sample_weight : array of shape (n,), default=None
            Weights ≥ 0.
        """
        self._validate_params()
        first = not hasattr(self, "classes_")
        if self.covariance is not None or not (first or hasattr(self, "scatters_")):
            raise ValueError("partial_fit needs covariance=None: estimators want all rows at once")
        X, y = validated(self, X, y, reset=first, dtype=[np.float64, np.float32], order="C")
        weight = check_weights(sample_weight, len(X))
        self.classes_ = known_classes(self, classes)
        self.n_features_in_ = X.shape[1]
        lags = X.shape[1] - 1 if self.order is None else min(self.order, X.shape[1] - 1)
        codes = codes_among(y, self.classes_)
        kind = {"count": len(self.classes_), "order": lags, "tied": self.tied}
        seen = RunningMoments.of(X, codes, weight, **kind)
        if not first:
            seen = RunningMoments(self.counts_, self.means_, self.scatters_).merged(seen)
        self._keep_running(seen)
        return self

    def _keep_running(self, seen: RunningMoments) -> None:
        """Store the model of what has been seen, and its proof."""
        self.counts_, self.means_, self.scatters_ = seen
        self.scale_ = seen.unit()
        there = self.counts_ > 0
        priors = class_priors(self.priors, np.where(there, self.counts_, 1.0))
        self.priors_ = np.where(there, priors, 0.0)
        if self.priors is None:
            self.priors_ = self.counts_ / self.counts_.sum()
        self._loss_matrix()
        self._reject_value()
        moments = seen.moments(self.scale_, self.ddof)
        sizes = self.counts_ if len(moments) > 1 else [float(self.counts_.sum())]
        fits = [
            shrunk_factor(m, self.shrinkage, partial(m.normal_intensity, max(n, 1.0)), n)
            for m, n in zip(moments, sizes, strict=True)
        ]
        self._keep_factors(fits)
        self._accept(self._claim(moments, 0.0, sum(not s.any() for s in self.scatters_)))

    def _keep_factors(self, fits: list[tuple[np.ndarray, float]]) -> None:
        self.factors_ = np.array([factor for factor, _ in fits])
        self.shrinkage_ = np.array([s for _, s in fits])

    def _centre(self, X: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Find means and units; return rows about the means of their classes, in units."""
        members = [codes == c for c in range(len(self.classes_))]
        self.means_ = np.array([weighted_mean(X[part], weight[part]) for part in members])
        rows = np.subtract(X, self.means_[codes], dtype=np.float64)
        within = deviations(rows, weight, np.abs(self.means_).max(axis=0))
        center = weighted_mean(X, weight)
        between = deviations(np.subtract(X, center, dtype=np.float64), weight, np.abs(center))
        unit = np.where(within > 0, within, between)
        self.scale_ = np.where(unit > 0, unit, 1.0)
        return self._standard(X, codes)

    def _standard(self, X: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return rows about the means of their classes, in units."""
        rows = np.subtract(X, self.means_[codes], dtype=np.float64)
        rows[np.abs(rows) <= COLUMN_NOISE * np.abs(self.means_)[codes]] = 0.0  # no spread
        rows /= self.scale_
        return rows

    def _parts(
        self, rows: np.ndarray, codes: np.ndarray, weight: np.ndarray, counts: np.ndarray
    ) -> list[ClassRows]:
        """Return the rows of each covariance, and how many rows they count as."""
        if self.tied:
            members = [np.ones(len(codes), dtype=bool)]
            free = np.array([counts.sum() - self.ddof * len(counts)])
        else:
            members = [codes == c for c in range(len(counts))]
            free = counts - self.ddof
        if free.min() <= 0:
            raise ValueError(
                f"ddof=1 needs more than one row of each class; got {counts.min():g} (weights "
                f"count how often a row is there): use ddof=0"
            )
        varies: Any = rows.any(axis=0)
        return [
            ClassRows.of(rows[m], weight[m], float(n), varies)
            for m, n in zip(members, free, strict=True)
        ]

    @property
    def _lags(self) -> int:
        d = len(self.scale_)
        return d - 1 if self.order is None else min(self.order, d - 1)

    def _proved(
        self, X: np.ndarray, codes: np.ndarray, weight: np.ndarray, counts: np.ndarray
    ) -> Solution:
        """Compare the moments of the model with those of the data, computed afresh."""
        parts = self._parts(self._standard(X, codes), codes, weight, counts)
        drift = max(float(np.abs(p.weight @ p.rows).max()) / p.divisor for p in parts)
        moments = [part.moments(self._lags) for part in parts]
        return self._claim(moments, drift, sum(not p.rows.any() for p in parts))

    def _claim(self, moments: list[Moments], drift: float, without_variance: int) -> Solution:
        """Return the proof that the model has these moments, and means that are off by so much."""
        misfits = [
            m._replace(shrinkage=s).misfit(factor)
            for m, s, factor in zip(moments, self.shrinkage_, self.factors_, strict=True)
        ]
        whose = "of the data" if self.covariance is None else f"that {self.covariance!r} found"
        about = f"Gaussian classes of order {self._lags} have the means and moments {whose}"
        shrunk = np.flatnonzero(self.shrinkage_ > 0.0)
        if self.shrinkage == "auto" and len(shrunk):
            about += f"; {len(shrunk)} singular covariance(s) shrunk"
        figures = {
            "moment_residual": max(misfits),
            "mean_residual": drift,
            "order": self._lags,
            "covariances": len(self.factors_),
            "shrunk": [str(self.classes_[c]) for c in shrunk] if not self.tied else len(shrunk),
            "without_variance": without_variance,
            "largest_shrinkage": float(self.shrinkage_.max()),
        }
        certificate = Certificate(
            "moment residual", max(drift, *misfits), TOLERANCE, about, figures
        )
        status = Status.OPTIMAL if certificate.ok else Status.INACCURATE
        return Solution(self.factors_, status, certificate)

    @property
    def covariances_(self) -> np.ndarray:
        """The covariances in the units of the data."""
        check_is_fitted(self)
        unit = self.scale_[:, None] * self.scale_
        return np.array([covariance_of(factor) * unit for factor in self.factors_])

    # ------------------------------------------------------------ use
    def _log_joint(self, X: Any) -> np.ndarray:
        """Return log π_c p(x | c), shape (m, C)."""
        check_is_fitted(self)
        X = validated(self, X, reset=False, dtype=[np.float64, np.float32], order="C")
        d, values = len(self.scale_), np.empty((len(X), len(self.classes_)))
        with threads_for(BLOCK * d):
            for part in ranges(len(X), max(1, BLOCK // d)):
                values[part] = self._squares(X[part])
        values *= -0.5
        volumes = np.array([log_volume(factor) for factor in self.factors_])
        with np.errstate(divide="ignore"):  # a class without a row so far
            values += np.log(self.priors_)
        values += volumes - 0.5 * d * LOG_2PI - np.log(self.scale_).sum()
        return values

    def _squares(self, X: np.ndarray) -> np.ndarray:
        """Return (x − μ_c)ᵀΣ_c⁻¹(x − μ_c), shape (m, C)."""
        squares = np.empty((len(X), len(self.classes_)))
        if len(self.factors_) == 1:
            center = self.means_[0]
            Y = self._whitened(X, center, 0)
            for c, y in enumerate(self._whitened(self.means_, center, 0)):
                squares[:, c] = np.sum((Y - y) ** 2, axis=1)
            return squares
        if not is_full(self.factors_[0]):
            squares_of_bands(X, self.means_, self.scale_, self.factors_, squares)
            return squares
        for c, mean in enumerate(self.means_):
            Y = self._whitened(X, mean, c)
            squares[:, c] = np.einsum("ij,ij->i", Y, Y)
        return squares

    def _whitened(self, X: np.ndarray, center: np.ndarray, number: int) -> np.ndarray:
        rows = np.subtract(X, center, dtype=np.float64)
        rows /= self.scale_
        return whiten(rows, self.factors_[number])
