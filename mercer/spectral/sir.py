"""Sliced inverse regression, plain and localised."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.stats import chi2
from sklearn.utils import check_random_state

from mercer._array import largest_size
from mercer._floats import EPS
from mercer._sklearn import Interval, StrOptions
from mercer.certify import pencil_residual
from mercer.kernels import Linear
from mercer.kernels.sample import Sample
from mercer.result import Solution, Status
from mercer.solvers import pencil_eigenpairs
from mercer.solvers.nearest import FeatureSearch
from mercer.spectral._base import LinearProjection
from mercer.spectral._shrink import intensity
from mercer.spectral._slices import slice_codes, slice_means

NOTHING = 1e-10  # an eigenvalue below is rounding: they are shares of a variance


class _InverseRegression(LinearProjection):
    """Directions v with Σ_between v = λ Σ v, from slices of the response."""

    n_components: int | None
    n_slices: int
    shrinkage: Any

    def fit(self, X: Any, y: Any) -> Any:
        """Find the directions along which X changes with y (numbers, or labels of classes)."""
        self._validate_params()
        X, y = self._fit_table(X, y, ensure_min_samples=2)
        codes = slice_codes(y, self.n_slices)
        self.n_slices_ = int(codes.max()) + 1
        rows, unit = self._standardised(X)
        self.shrinkage_ = self._shrinkage_of(rows)
        solution = self._solve(rows, codes, unit)
        self.eigenvalues_ = solution.state
        self.components_ = (solution.value / unit[:, None]).T
        self._accept(solution)
        return self

    def _standardised(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return columns of mean 0 and variance 1 (constant ones are 0), and their units."""
        scale = largest_size(X) or 1.0  # squares neither overflow nor vanish
        rows = np.asarray(X, dtype=np.float64) / scale
        mean = rows.mean(axis=0)
        rows -= mean
        spread = np.sqrt(np.mean(rows**2, axis=0))
        constant = spread <= 4.0 * EPS * np.abs(mean)
        rows[:, constant], spread[constant] = 0.0, 1.0
        self.mean_ = mean * scale
        return rows / spread, spread * scale

    def _solve(self, rows: np.ndarray, codes: np.ndarray, unit: np.ndarray) -> Solution:
        """Return as many of the directions as are asked for, or called for."""
        between, total = self._between(rows, codes, unit), self._total(rows)
        full = pencil_eigenpairs(between, total)
        V, values = full.value, np.maximum(full.state, 0.0)
        k = self._count(values, V, rows, codes, unit)
        proof = pencil_residual(between, total, values[:k], V[:, :k], V)
        status = Status.OPTIMAL if proof.ok else Status.INACCURATE
        return Solution(V[:, :k], status, proof, state=values[:k])

    def _total(self, rows: np.ndarray) -> np.ndarray:
        """Return the covariance of standardised rows, shrunk."""
        n, d = rows.shape
        total, s = (rows.T @ rows) / n, self.shrinkage_
        return (1.0 - s) * total + s * (np.trace(total) / d) * np.eye(d)

    def _shrinkage_of(self, rows: np.ndarray) -> float:
        if self.shrinkage != "auto":
            return float(self.shrinkage)
        n, d = rows.shape
        return intensity(rows) if n <= d else 0.0

    def _between(self, rows: np.ndarray, codes: np.ndarray, unit: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _count(
        self, values: np.ndarray, V: np.ndarray, rows: np.ndarray, codes: np.ndarray, unit: Any
    ) -> int:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


_CONSTRAINTS: dict[str, Any] = {
    "n_components": [Interval(Integral, 1, None, closed="left"), None],
    "n_slices": [Interval(Integral, 2, None, closed="left")],
    "shrinkage": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})],
}


class SIR(_InverseRegression):
    """Sliced inverse regression: the directions in which the mean of X moves with y.

    Σ_between v = λ Σ v with Σ_between = Σ_s (n_s/n) (μ_s − μ)(μ_s − μ)ᵀ over slices s of y. If
    y = f(Bx, noise) and X is elliptic, the directions lie in the span of the rows of B.

    Parameters
    ----------
    n_components : int or None, default=None
        How many directions. None: the first number for which the test of Li (1991) finds no more,
        at least one. There are never more than the slices less one.
    n_slices : int, default=10
        Slices of about equally many rows. Labels, and numbers with at most as many different
        values, are slices by themselves.
    shrinkage : float in [0, 1] or "auto", default="auto"
        s in (1 − s) Σ + s I of standardised columns. "auto" is Ledoit and Wolf's estimate where
        there are no more rows than columns, else 0.
    alpha : float, default=0.05
        Level of the test.

    Attributes
    ----------
    components_ : array of shape (k, d)
        Directions in rows; the scores of the training rows are uncorrelated, with variance one.
    eigenvalues_ : array of shape (k,)
        Shares of the variance of the scores that lie between slices, falling (with shrinkage: of
        the shrunk variance).
    p_values_ : array of shape (m,)
        ``p_values_[j]``: the probability of eigenvalues j, j+1, … as large as these if there are
        only j directions and X is normal (χ² with (p − j)(S − j − 1) degrees of freedom); NaN with
        shrinkage, for which it is not known.
    n_slices_, shrinkage_
        What was used.
    certificate_ : Certificate
        The residual of the eigenproblem, the orthogonality error, what was discarded.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SIR
    >>> X = np.random.default_rng(0).normal(size=(500, 4))
    >>> sir = SIR().fit(X, np.exp(X[:, 0] + X[:, 1]))
    >>> sir.components_.shape
    (1, 4)
    >>> direction = sir.components_[0] / np.linalg.norm(sir.components_[0])
    >>> bool(abs(direction @ [0.5**0.5, 0.5**0.5, 0.0, 0.0]) > 0.99)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_CONSTRAINTS,
        "alpha": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_slices: int = 10,
        shrinkage: float | str = "auto",
        alpha: float = 0.05,
    ):
        self.n_components = n_components
        self.n_slices = n_slices
        self.shrinkage = shrinkage
        self.alpha = alpha

    def _between(self, rows: np.ndarray, codes: np.ndarray, unit: np.ndarray) -> np.ndarray:
        sizes, means = slice_means(rows, codes)
        return (means.T * (sizes / len(rows))) @ means

    def _count(
        self, values: np.ndarray, V: np.ndarray, rows: np.ndarray, codes: np.ndarray, unit: Any
    ) -> int:
        most = min(int(np.count_nonzero(values > NOTHING)), self.n_slices_ - 1)
        self.p_values_ = self._test(values, len(rows), V.shape[1], most)
        if self.n_components is not None:
            return min(self.n_components, most)
        if self.shrinkage_ > 0.0:
            return most
        return _before_the_first(self.p_values_ > self.alpha, most)

    def _test(self, values: np.ndarray, n: int, rank: int, most: int) -> np.ndarray:
        """Return Li's p-values: n Σ_{i > j} λᵢ is χ² if there are only j directions."""
        j = np.arange(most)
        if self.shrinkage_ > 0.0:
            return np.full(most, np.nan)
        tails = np.cumsum(values[::-1])[::-1][:most]
        return chi2.sf(n * tails, (rank - j) * (self.n_slices_ - j - 1))


class LocalSIR(_InverseRegression):
    """Localised sliced inverse regression: slices are seen through the means of near rows.

    Σ_local v = λ Σ v with Σ_local = (1/n) Σᵢ (μᵢ − μ)(μᵢ − μ)ᵀ, μᵢ the mean of the k rows of the
    slice of i that are nearest to x_i. It finds directions along which the mean of a slice does not
    move, as for y = x², where `SIR` is blind.

    Parameters
    ----------
    n_components : int or None, default=None
        How many directions; None means those before the first with a p-value above ``alpha``, and
        all without shuffles.
    n_slices : int, default=10
        Slices of about equally many rows. Labels, and numbers with at most as many different
        values, are slices by themselves.
    n_neighbors : int, default=10
        k, the row itself among them. With all rows of a slice it is `SIR`, with one it is PCA.
    shrinkage : float in [0, 1] or "auto", default="auto"
        s in (1 − s) Σ + s I of standardised columns. "auto" is Ledoit and Wolf's estimate where
        there are no more rows than columns, else 0.
    n_permutations : int, default=0
        How often the response is shuffled to test the number of directions; 0: no test.
    alpha : float, default=0.05
        The level of the test.
    random_state : int, RandomState instance or None, default=None
        The shuffles.

    Attributes
    ----------
    components_ : array of shape (k, d)
        Directions in rows; the scores of the training rows are uncorrelated, with variance one.
    eigenvalues_ : array of shape (k,)
        Shares of the variance of the scores that the local means keep, falling (with shrinkage: of
        the shrunk variance).
    p_values_ : array
        The share of shuffles with an eigenvalue as large, for each direction up to the first above
        ``alpha``; empty without shuffles. A shuffle keeps the directions before it.
    n_slices_, shrinkage_
        What was used.
    certificate_ : Certificate
        The residual of the eigenproblem, the orthogonality error, what was discarded.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LocalSIR
    >>> X = np.random.default_rng(0).normal(size=(500, 4))
    >>> sir = LocalSIR(1).fit(X, X[:, 0] ** 2)
    >>> direction = sir.components_[0] / np.linalg.norm(sir.components_[0])
    >>> bool(abs(direction[0]) > 0.99)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_CONSTRAINTS,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_permutations": [Interval(Integral, 0, None, closed="left")],
        "alpha": [Interval(Real, 0, 1, closed="both")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_slices: int = 10,
        n_neighbors: int = 10,
        shrinkage: float | str = "auto",
        n_permutations: int = 0,
        alpha: float = 0.05,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.n_slices = n_slices
        self.n_neighbors = n_neighbors
        self.shrinkage = shrinkage
        self.n_permutations = n_permutations
        self.alpha = alpha
        self.random_state = random_state

    def _between(self, rows: np.ndarray, codes: np.ndarray, unit: np.ndarray) -> np.ndarray:
        # neighbours are near in the units that X came in
        slices = [np.flatnonzero(codes == s) for s in range(codes.max() + 1)]
        places = rows * (unit / unit.max())
        means = np.vstack([self._local_means(rows[s], places[s]) for s in slices])
        return (means.T @ means) / len(rows)

    def _local_means(self, rows: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return the mean of the nearest rows of each row of a slice."""
        n, sample = len(rows), Sample(np.ascontiguousarray(places))
        k = min(self.n_neighbors, n)
        _, nearest = FeatureSearch(Linear(), sample).find(sample, k)
        weights = np.full(n * k, 1.0 / k)
        return sp.csr_array((weights, nearest.ravel(), np.arange(0, n * k + 1, k)), (n, n)) @ rows

    def _count(
        self, values: np.ndarray, V: np.ndarray, rows: np.ndarray, codes: np.ndarray, unit: Any
    ) -> int:
        most = int(np.count_nonzero(values > NOTHING))
        if self.n_permutations == 0:
            self.p_values_ = np.zeros(0)
        else:
            self.p_values_ = np.array(list(self._p_values(values[:most], V, rows, codes, unit)))
        if self.n_components is not None:
            return min(self.n_components, most)
        return _before_the_first(self.p_values_ > self.alpha, most)

    def _p_values(
        self, values: np.ndarray, V: np.ndarray, rows: np.ndarray, codes: np.ndarray, unit: Any
    ) -> Iterator[float]:
        """Yield the share of shuffles with a j-th eigenvalue as large, until one is above alpha.

        A shuffle leaves the scores of the directions before the j-th with the response, and
        shuffles all others together.
        """
        rng = check_random_state(self.random_state)
        scores, back = rows @ V, V.T @ self._total(rows)
        for j, value in enumerate(values):
            reached = 1
            for _ in range(self.n_permutations):
                order = rng.permutation(len(rows))
                shuffled = np.hstack([scores[:, :j], scores[order, j:]]) @ back
                between = self._between(shuffled, codes, unit)
                reached += pencil_eigenpairs(between, self._total(shuffled)).state[j] >= value
            yield reached / (1 + self.n_permutations)
            if reached > self.alpha * (1 + self.n_permutations):
                return


def _before_the_first(rejected: np.ndarray, most: int) -> int:
    """Return how many come before the first that is rejected: at least 1, and all if none is."""
    first = np.flatnonzero(rejected)
    return min(max(int(first[0]) if len(first) else most, 1), most)
