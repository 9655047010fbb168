"""Sliced inverse regression, plain and localised."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.stats import chi2
from sklearn.utils import check_random_state

from mercer._floats import EPS
from mercer._sklearn import Interval, StrOptions
from mercer._state import Attribute, Floats, Integers
from mercer.certify import pencil_residual
from mercer.kernels import Linear
from mercer.kernels.sample import Sample
from mercer.solvers import EigenSolution, pencil_eigenpairs
from mercer.solvers.eigen import status_of
from mercer.solvers.nearest import FeatureSearch
from mercer.spectral._base import COUNT, SHARE, LinearProjection, NeedsTargets, class_means
from mercer.spectral._covariance import centred_in_unit, intensity
from mercer.spectral._graph import neighbour_matrix

LEAST_SPREAD = 1e-300  # deviation of a column that has a part: of less the inverse is no number
ROUNDING = 1e-10  # eigenvalues below are: they are shares of a variance


class _Sliced(NamedTuple):
    """Standardised rows, their slices, and the units of the columns.

    Columns that are constant, or below 1e-300, are 0.
    """

    rows: np.ndarray  # (n, d)
    codes: np.ndarray  # (n,)
    unit: np.ndarray  # (d,)


class _InverseRegression(NeedsTargets, LinearProjection):
    """Directions v with Σ_between v = λ Σ v, from slices of the response."""

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "eigenvalues_": Floats("components"),
        "p_values_": Floats("tests"),
        "n_slices_": Integers(least=1),
        "shrinkage_": Floats(),
    }

    n_components: int | None
    n_slices: int
    shrinkage: Any
    alpha: float

    def fit(self, X: Any, y: Any) -> Any:
        """Find the directions along which X changes with y (numbers, or labels of classes)."""
        self._validate_params()
        X, y = self._fit_table(X, y, ensure_min_samples=2)
        codes = slice_codes(y, self.n_slices)
        self.n_slices_ = int(codes.max()) + 1
        data = self._sliced(X, codes)
        self.shrinkage_ = self._shrinkage_of(data.rows)
        solution = self._solve(data)
        self.eigenvalues_ = solution.eigenvalues
        self.components_ = (solution.value / data.unit[:, None]).T
        self._accept(solution)
        return self

    def _sliced(self, X: np.ndarray, codes: np.ndarray) -> _Sliced:
        rows, mean, scale = centred_in_unit(X)
        size = np.abs(rows).max(axis=0)  # squares of columns that are much smaller would vanish
        spread = size * np.sqrt(np.mean((rows / np.where(size > 0.0, size, 1.0)) ** 2, axis=0))
        constant = (spread <= 4.0 * EPS * np.abs(mean)) | (spread * scale < LEAST_SPREAD)
        rows[:, constant], spread[constant] = 0.0, 1.0
        self.mean_ = mean * scale
        return _Sliced(rows / spread, codes, spread * scale)

    def _solve(self, data: _Sliced) -> EigenSolution:
        """Return as many of the directions as are asked for, or called for."""
        between, total = self._between(data), self._total(data.rows)
        full = pencil_eigenpairs(between, total)
        V, values = full.value, np.maximum(full.eigenvalues, 0.0)
        k = self._count(values, V, data)
        proof = pencil_residual(between, total, values[:k], V[:, :k], V)
        return EigenSolution(V[:, :k], status_of(proof), proof, eigenvalues=values[:k])

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

    def _count(self, values: np.ndarray, V: np.ndarray, data: _Sliced) -> int:
        """Return how many directions are kept: at least 1 if there is any."""
        most = min(int(np.count_nonzero(values > ROUNDING)), self._most())
        self.p_values_ = self._tested(values, most, V, data)
        if self.n_components is not None:
            return min(self.n_components, most)
        rejected = np.flatnonzero(self.p_values_ > self.alpha)
        return min(max(int(rejected[0]) if len(rejected) else most, 1), most)

    def _most(self) -> int:
        """Return how many directions there can be."""
        return self.n_features_in_

    def _between(self, data: _Sliced) -> np.ndarray:
        raise NotImplementedError

    def _tested(self, values: np.ndarray, most: int, V: np.ndarray, data: _Sliced) -> np.ndarray:
        """Return the p-values of the first directions, as many as there are at most."""
        raise NotImplementedError


_CONSTRAINTS: dict[str, Any] = {
    "n_components": [COUNT, None],
    "n_slices": [Interval(Integral, 2, None, closed="left")],
    "shrinkage": [SHARE, StrOptions({"auto"})],
    "alpha": [SHARE],
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

    _parameter_constraints: ClassVar[dict[str, Any]] = _CONSTRAINTS

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

    def _most(self) -> int:
        return self.n_slices_ - 1

    def _between(self, data: _Sliced) -> np.ndarray:
        shares = np.bincount(data.codes) / len(data.codes)
        means = class_means(data.rows, data.codes)
        return (means.T * shares) @ means

    def _tested(self, values: np.ndarray, most: int, V: np.ndarray, data: _Sliced) -> np.ndarray:
        """Return Li's p-values: n Σ_{i > j} λᵢ is χ² if there are only j directions."""
        if self.shrinkage_ > 0.0:
            return np.full(most, np.nan)
        j = np.arange(most)
        tails = np.cumsum(values[::-1])[::-1][:most]
        return chi2.sf(len(data.rows) * tails, (V.shape[1] - j) * (self.n_slices_ - j - 1))


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
    n_slices_, shrinkage_, certificate_
        As of `SIR`.

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
        "n_neighbors": [COUNT],
        "n_permutations": [Interval(Integral, 0, None, closed="left")],
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

    def _between(self, data: _Sliced) -> np.ndarray:
        # neighbours are near in the units that X came in
        places = data.rows * (data.unit / data.unit.max())
        slices = [np.flatnonzero(data.codes == s) for s in range(data.codes.max() + 1)]
        means = np.vstack([self._local_means(data.rows[s], places[s]) for s in slices])
        return (means.T @ means) / len(means)

    def _local_means(self, rows: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return the mean of the nearest rows of each row of a slice."""
        sample, k = Sample(np.ascontiguousarray(places)), min(self.n_neighbors, len(rows))
        _, nearest = FeatureSearch(Linear(), sample).find(sample, k)
        return neighbour_matrix(nearest, 1.0 / k, len(rows)) @ rows

    def _tested(self, values: np.ndarray, most: int, V: np.ndarray, data: _Sliced) -> np.ndarray:
        tested = self._p_values(values[:most], V, data) if self.n_permutations else ()
        return np.array(list(tested), dtype=np.float64)

    def _p_values(self, values: np.ndarray, V: np.ndarray, data: _Sliced) -> Iterator[float]:
        """Yield the share of shuffles with a j-th eigenvalue as large, until one is above alpha.

        A shuffle leaves the scores of the directions before the j-th with the response, and
        shuffles all others together.
        """
        rng = check_random_state(self.random_state)
        scores, back = data.rows @ V, V.T @ self._total(data.rows)
        for j, value in enumerate(values):
            reached = 1
            for _ in range(self.n_permutations):
                order = rng.permutation(len(scores))
                rows = np.hstack([scores[:, :j], scores[order, j:]]) @ back
                between = self._between(data._replace(rows=rows))
                reached += pencil_eigenpairs(between, self._total(rows)).eigenvalues[j] >= value
            yield reached / (1 + self.n_permutations)
            if reached > self.alpha * (1 + self.n_permutations):
                return


def slice_codes(y: np.ndarray, n_slices: int) -> np.ndarray:
    """Return the slice of each row, 0, 1, …; rows with the same y are in the same slice.

    Labels, and numbers with at most n_slices different values, are slices by themselves; other
    numbers are cut at their quantiles, so that slices may be fewer where values repeat.
    """
    values, codes = np.unique(y, return_inverse=True)
    if len(values) < 2:
        raise ValueError(f"y must take at least two different values; got only {values[0]!r}")
    if len(values) <= n_slices or y.dtype.kind not in "iuf":
        return codes
    rows = np.bincount(codes)
    middle = np.cumsum(rows) - 0.5 * rows  # of each value, in the order of the rows
    coarse = np.floor(n_slices * middle / len(y)).astype(np.intp)
    return np.unique(coarse, return_inverse=True)[1][codes]
