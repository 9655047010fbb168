"""Mixtures of Gaussians, fitted by expectation maximisation."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_softmax
from sklearn.base import DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._array import ranges
from mercer._estimator import ProvedEstimator, check_weights, validated
from mercer._random import generator_of
from mercer._sklearn import Interval, StrOptions
from mercer._state import Attribute, Either, Floats, Integers, SizeOf
from mercer.bayes._mixture_em import CovarianceFamily, HomogeneousRows, Mixture, log_joint
from mercer.bayes._mixture_search import MixtureTask, best_mixture
from mercer.bayes._moments import ColumnUnits
from mercer.bayes._scores import SHARED, mixture_scores

CHUNK = 2**14  # new rows that are answered at once
POSITIVE = [Interval(Integral, 1, None, closed="left")]


class GMM(DensityMixin, ProvedEstimator):
    """A mixture of Gaussians p(x) = Σ_c w_c N(x; μ_c, Σ_c), fitted by maximum likelihood.

    EM takes turns: responsibilities r_ic = p(c | x_i), then w, μ and Σ as weighted shares, means
    and covariances. The likelihood never falls; what is reached is a local optimum, the best of
    ``n_init`` starts. No variance falls below ``reg`` times the variance of the data (columns in
    units of their deviations): without that the likelihood has no maximum, because a component may
    shrink onto a single row. The steps respect this bound exactly, so that estimates are not
    changed where it is not reached.

    Parameters
    ----------
    n_components : int or list of int, default=1
        The number of components; of several the one with the best ``criterion`` is taken.
    covariance : {"full", "tied", "diagonal", "spherical"}, default="full"
        Any covariance for each component, one for all, a diagonal one each, a multiple of I each.
    n_init : int, default=1
        The number of starts, by k-means++ and a few rounds of k-means.
    random_state : int, RandomState or None, default=None
        Decides the starts and what `sample` draws.
    tol : float, default=1e-3
        EM stops when a step adds at most this to the mean log-likelihood of a row.
    max_iter : int, default=200
        Most steps of a start.
    reg : float, default=1e-6
        The smallest variance, relative to that of the data.
    criterion : {"bic", "aic"}, default="bic"
        What chooses among several ``n_components``: less is better.
    start : array, default=None
        Instead of k-means++: a component 0 … k − 1 for each row, or k means.
    time_limit : float or None, default=None
        Seconds for the whole fit; then the best so far is kept, with a warning.

    Attributes
    ----------
    weights_, means_ : array of shape (k,), (k, d)
        w and μ.
    covariances_ : array
        Σ: (k, d, d) if full, (d, d) if tied, (k, d) if diagonal, (k,) if spherical.
    precisions_ : array
        Their inverses, of the same shape.
    n_components_, n_iter_ : int
        The chosen number of components and the steps of the best start.
    certificate_ : Certificate
        What one more step gains, the likelihood after each step, the natural gradient that is left
        (``residual``), and which components rest on the floor (``floored``) or are ``empty``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GMM
    >>> X = np.array([[-1.1], [-1.0], [-0.9], [4.8], [5.0], [5.2]])
    >>> model = GMM(2, random_state=0).fit(X)
    >>> sorted(model.means_[:, 0].round(6).tolist())
    [-1.0, 5.0]
    >>> bool(model.predict([[4.0]])[0] == model.predict([[5.0]])[0])
    True
    >>> model.certificate_.monotone
    True
    """

    by_columns = True

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "n_components_": SizeOf("components"),
        "center_": Floats("columns"),
        "scale_": Floats("columns"),
        "weights_": Floats("components"),
        "means_": Floats("components", "columns"),
        "factors_": Either(
            Floats("components", "columns"),
            Floats("components", "columns", "columns"),
        ),
        "n_iter_": Integers(),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [*POSITIVE, "array-like"],
        "covariance": [StrOptions({"full", "tied", "diagonal", "spherical"})],
        "n_init": POSITIVE,
        "random_state": ["random_state"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": POSITIVE,
        "reg": [Interval(Real, 0, 1, closed="neither")],
        "criterion": [StrOptions({"bic", "aic"})],
        "start": ["array-like", None],
        "time_limit": [Interval(Real, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        n_components: Any = 1,
        *,
        covariance: str = "full",
        n_init: int = 1,
        random_state: Any = None,
        tol: float = 1e-3,
        max_iter: int = 200,
        reg: float = 1e-6,
        criterion: str = "bic",
        start: Any = None,
        time_limit: float | None = None,
    ):
        self.n_components = n_components
        self.covariance = covariance
        self.n_init = n_init
        self.random_state = random_state
        self.tol = tol
        self.max_iter = max_iter
        self.reg = reg
        self.criterion = criterion
        self.start = start
        self.time_limit = time_limit

    # ------------------------------------------------------------ fit
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> GMM:
        """Fit the mixture to rows X; ``y`` is not used.

        Weights ≥ 0 say how often a row counts: their sum is the number of rows for ``criterion``.
        """
        self._validate_params()
        X = validated(self, X, dtype=[np.float64, np.float32])
        weight = check_weights(sample_weight, len(X))
        used = weight > 0
        task = self._task(X[used], weight[used], used)
        rng = generator_of(self.random_state)
        solution = best_mixture(task, self._candidates(int(used.sum())), rng)
        self._store(solution.value, task.units)
        self.n_iter_ = solution.stats["iterations"]
        self._accept(solution)
        return self

    def _task(self, X: np.ndarray, weight: np.ndarray, used: np.ndarray) -> MixtureTask:
        units = ColumnUnits.of(X, weight, common=self.covariance == "spherical")
        # in units of a power of two: sums of any weights are numbers, and nothing is rounded
        return MixtureTask(
            HomogeneousRows(units.standard(X), np.ldexp(weight, -np.frexp(weight.max())[1])),
            units,
            CovarianceFamily(self.covariance, self.reg),
            n_init=self.n_init,
            tol=self.tol,
            max_iter=self.max_iter,
            criterion=self.criterion,
            start=self._given_start(units, used),
            time_limit=self.time_limit,
            n_rows=float(weight.sum()),
        )

    def _candidates(self, n: int) -> list[int]:
        """Return the numbers of components to try, or say what is wrong with them."""
        counts = np.atleast_1d(np.asarray(self.n_components))
        if (
            counts.ndim != 1
            or counts.size == 0
            or counts.dtype.kind not in "iu"
            or counts.min() < 1
        ):
            raise ValueError(
                f"n_components must be a positive integer or a list of them; got "
                f"{self.n_components!r}"
            )
        if counts.max() > n:
            raise ValueError(
                f"n_components must be at most the number of rows with a weight, n_samples = {n}; "
                f"got {counts.max()}"
            )
        if self.start is not None and counts.size > 1:
            raise ValueError("start needs one n_components, not a list of them")
        return [int(k) for k in counts]

    def _given_start(self, units: ColumnUnits, used: np.ndarray) -> np.ndarray | None:
        """Return labels of the rows or means in units, or None."""
        if self.start is None:
            return None
        start, k = np.asarray(self.start), int(np.max(self.n_components))
        if start.shape == used.shape and start.dtype.kind in "iu":
            if start.min() < 0 or start.max() >= k:
                raise ValueError(f"start must hold components 0 … {k - 1}; got {start.max()}")
            return start[used]
        if start.shape == (k, len(units.scale)) and np.isfinite(start).all():
            return units.standard(start)
        raise ValueError(
            f"start must be a component for each row, shape {used.shape}, or finite means, shape "
            f"{(k, len(units.scale))}; got {start.dtype} of shape {start.shape}"
        )

    def _store(self, mixture: Mixture, units: ColumnUnits) -> None:
        self.center_, self.scale_ = units
        self.weights_ = mixture.weights
        self.means_ = units.center + units.scale * mixture.means
        self.factors_ = np.array(mixture.factors)
        self.n_components_ = len(mixture.weights)

    @property
    def covariances_(self) -> np.ndarray:
        """The covariances in the units of the data."""
        check_is_fitted(self)
        if self.factors_.ndim == 2:
            variances = (self.factors_ * self.scale_) ** 2
            return variances[:, 0] if self.covariance == "spherical" else variances
        roots = self.factors_ * self.scale_[:, None]
        if self.covariance == "tied":
            return roots[0] @ roots[0].T
        return roots @ roots.transpose(0, 2, 1)

    @property
    def precisions_(self) -> np.ndarray:
        """The inverses of the covariances, shaped as ``covariances_``."""
        S = self.covariances_
        return np.linalg.inv(S) if self.factors_.ndim == 3 else 1.0 / S

    # ------------------------------------------------------------ use
    def _log_joint(self, X: Any) -> np.ndarray:
        """Return log w_c p(x | c), shape (m, k)."""
        check_is_fitted(self)
        X = validated(self, X, reset=False, dtype=[np.float64, np.float32], order="C")
        units = ColumnUnits(self.center_, self.scale_)
        means = (self.means_ - self.center_) / self.scale_
        mixture = Mixture(self.weights_, means, self.factors_, np.zeros(len(means), np.intp))
        values = np.empty((len(X), len(means)))
        for part in ranges(len(X), CHUNK):
            log_joint(X[part], units, mixture, values[part])
        return values

    def score_samples(self, X: Any) -> np.ndarray:
        """Return log p(x) of each row."""
        values = self._log_joint(X)
        largest = values.max(axis=1)
        values -= np.where(np.isfinite(largest), largest, 0.0)[:, None]  # beyond all numbers: −∞
        with np.errstate(divide="ignore"):
            return largest + np.log(np.exp(values, out=values).sum(axis=1))

    def score_vectors(self, X: Any) -> np.ndarray:
        """Return the gradients of log p(x) by the parameters, shape (m, p): Fisher's scores.

        By the logarithms of the weights (k; w is proportional to their exponentials), the means
        (k · d) and the covariances, in the order of ``covariances_``: of a matrix the lower
        triangle, row by row, whose entries stand for both sides.
        """
        check_is_fitted(self)
        X = validated(self, X, reset=False, dtype=[np.float64, np.float32], order="C")
        k, d = self.means_.shape
        free = k + k * d
        covariances = (self.factors_ * self.scale_) ** 2
        if self.factors_.ndim == 3:
            roots = self.factors_ * self.scale_[:, None]
            covariances = roots @ roots.transpose(0, 2, 1)
        scores = mixture_scores(X, self.predict_proba(X), self.weights_, self.means_, covariances)
        return np.hstack([scores[:, :free], SHARED[self.covariance](scores[:, free:], k)])

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of rows."""
        return float(np.mean(self.score_samples(X)))

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable component of each row."""
        return self._log_joint(X).argmax(axis=1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return p(c | x), shape (m, k)."""
        return np.exp(log_softmax(self._log_joint(X), axis=1))

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Fit, and return the most probable component of each row."""
        return self.fit(X, sample_weight=sample_weight).predict(X)

    def bic(self, X: Any) -> float:
        """Return Bayes' information criterion of rows: less is better."""
        values = self.score_samples(X)
        return -2.0 * float(values.sum()) + self._n_parameters() * float(np.log(len(values)))

    def aic(self, X: Any) -> float:
        """Return Akaike's information criterion of rows: less is better."""
        return -2.0 * float(self.score_samples(X).sum()) + 2.0 * self._n_parameters()

    def _n_parameters(self) -> int:
        return CovarianceFamily(self.covariance, self.reg).n_parameters(*self.means_.shape)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows; return them, ordered by component, and their components.

        Without a ``random_state`` here that of the mixture decides.
        """
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(f"n_samples must be at least 1; got {n_samples}")
        rng = check_random_state(self.random_state if random_state is None else random_state)
        counts = rng.multinomial(n_samples, self.weights_ / self.weights_.sum())
        labels = np.repeat(np.arange(len(counts)), counts)
        noise = rng.standard_normal((n_samples, len(self.scale_)))
        for c in np.flatnonzero(counts):
            part, factor = labels == c, self.factors_[c]
            noise[part] = noise[part] * factor if factor.ndim == 1 else noise[part] @ factor.T
        return self.means_[labels] + self.scale_ * noise, labels
