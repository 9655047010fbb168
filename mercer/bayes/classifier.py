"""The Bayes rule, and its classifier of Gaussian classes: naive, linear, quadratic and between."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from mercer._array import ranges
from mercer._estimator import ProvedEstimator, check_weights, class_codes, class_priors, validated
from mercer._sklearn import Interval, StrOptions
from mercer._state import Attribute, Either, Floats, Labels, Lengths, StateError
from mercer.bayes._moments import (
    LOG_2PI,
    NOISE,
    ClassRows,
    covariance_of,
    deviations,
    is_full,
    log_volume,
    squares_of_bands,
    weighted_mean,
    whiten,
)
from mercer.result import Certificate, Solution, Status

TOLERANCE = 1e-8
BLOCK = 2**16  # numbers of new rows that are whitened at once: what the nearer caches hold


class BayesRule(ClassifierMixin):
    """A classifier with any loss matrix and a reject option; a child computes ``_log_joint``."""

    loss: Any
    priors: Any
    reject: float | None
    reject_label: Any
    classes_: np.ndarray
    priors_: np.ndarray

    def _log_joint(self, X: Any) -> np.ndarray:
        """Return log π_c p(x | c), shape (m, C), of unchecked rows."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> np.ndarray:
        """Return log π_c p(x | c), shape (m, C); of two classes the difference, shape (m,)."""
        values = self._log_joint(X)
        return values[:, 1] - values[:, 0] if values.shape[1] == 2 else values

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return log p(c | x), shape (m, C)."""
        return log_softmax(self._log_joint(X), axis=1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return p(c | x), shape (m, C)."""
        return np.exp(self.predict_log_proba(X))

    def log_density(self, X: Any) -> np.ndarray:
        """Return log p(x | c), shape (m, C)."""
        values = self._log_joint(X)
        return values - np.log(self.priors_)

    def expected_loss(self, X: Any) -> np.ndarray:
        """Return what each decision is expected to cost, shape (m, C)."""
        P = self.predict_proba(X)
        loss = self._loss_matrix()
        return 1.0 - P if loss is None else P @ loss

    def predict(self, X: Any) -> np.ndarray:
        """Return the decision of least expected loss for each row, or that it is rejected."""
        if self.loss is None and self.reject is None:
            best = self._log_joint(X).argmax(axis=1)  # which checks that there is a fit
            return self.classes_[best]
        costs = self.expected_loss(X)
        best = costs.argmin(axis=1)
        if self.reject is None:
            return self.classes_[best]
        best[costs.min(axis=1) > self.reject] = len(self.classes_)
        return np.append(self.classes_, self._reject_value())[best]

    # ------------------------------------------------------------ parameters
    def _loss_matrix(self) -> np.ndarray | None:
        if self.loss is None:
            return None
        loss, count = np.asarray(self.loss, dtype=np.float64), len(self.classes_)
        if loss.shape != (count, count) or not np.isfinite(loss).all():
            raise ValueError(
                f"loss must be {count} × {count} finite numbers, a row for each true class and a "
                f"column for each decision; got shape {loss.shape}"
            )
        return loss

    def _reject_value(self) -> Any:
        """Return the label of rejected rows."""
        text = self.classes_.dtype.kind in "USO"
        label = self.reject_label
        if label is None:
            label = "reject" if text else -1
        if self.reject is not None and label in self.classes_.tolist():
            raise ValueError(f"reject_label must not be a class; got {label!r}")
        if self.reject is not None and isinstance(label, str) != text:
            raise ValueError(
                f"reject_label must be {'text' if text else 'a number'}, as the classes; got "
                f"{label!r}"
            )
        return label


class BandFactors(Floats):
    """Factors of covariances: bands that hold the diagonal at least."""

    def _check_values(self, values: np.ndarray, lengths: Lengths) -> None:
        if not values.shape[-1]:
            raise StateError("must have a diagonal")


class GaussianBayes(BayesRule, ProvedEstimator):
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
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "order": [Interval(Integral, 0, None, closed="left"), None],
        "tied": ["boolean"],
        "loss": ["array-like", None],
        "priors": ["array-like", None],
        "shrinkage": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"}), None],
        "ddof": [Interval(Integral, 0, 1, closed="both")],
        "reject": [Interval(Real, 0, None, closed="left"), None],
        "reject_label": [Real, str, None],
    }

    def __init__(
        self,
        *,
        order: int | None = None,
        tied: bool = False,
        loss: Any = None,
        priors: Any = None,
        shrinkage: Any = "auto",
        ddof: int = 0,
        reject: float | None = None,
        reject_label: Any = None,
    ):
        self.order = order
        self.tied = tied
        self.loss = loss
        self.priors = priors
        self.shrinkage = shrinkage
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
        rows = self._centre(X, codes, weight)
        parts = self._parts(rows, codes, weight, counts)
        fits = [part.factor(self._lags, self.shrinkage) for part in parts]
        self.factors_ = np.array([factor for factor, _ in fits])
        self.shrinkage_ = np.array([s for _, s in fits])
        self._accept(self._proved(X, codes, weight, counts))
        return self

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
        rows[np.abs(rows) <= NOISE * np.abs(self.means_)[codes]] = 0.0  # equal rows have no spread
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
        misfits = [
            p.moments(self._lags)._replace(shrinkage=s).misfit(factor)
            for p, s, factor in zip(parts, self.shrinkage_, self.factors_, strict=True)
        ]
        about = f"Gaussian classes of order {self._lags} have the means and moments of the data"
        shrunk = np.flatnonzero(self.shrinkage_ > 0.0)
        if self.shrinkage == "auto" and len(shrunk):
            about += f"; {len(shrunk)} singular covariance(s) shrunk"
        figures = {
            "moment_residual": max(misfits),
            "mean_residual": drift,
            "order": self._lags,
            "covariances": len(self.factors_),
            "shrunk": [str(self.classes_[c]) for c in shrunk] if not self.tied else len(shrunk),
            "without_variance": sum(not p.rows.any() for p in parts),
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
        for part in ranges(len(X), max(1, BLOCK // d)):
            values[part] = self._squares(X[part])
        values *= -0.5
        volumes = np.array([log_volume(factor) for factor in self.factors_])
        values += np.log(self.priors_) + volumes - 0.5 * d * LOG_2PI - np.log(self.scale_).sum()
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
