"""Principal component analysis: by the covariance, by the Gram matrix, or by QR."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._sklearn import Interval, StrOptions
from mercer._state import Attribute, Floats, Instance, Integers, Maybe, SizeOf
from mercer.result import Solution
from mercer.solvers.eigen import status_of
from mercer.spectral._base import COUNT, POSITIVE, LinearProjection, check_scores
from mercer.spectral._centered import centered
from mercer.spectral._count import count_components
from mercer.spectral._covariance import in_squared_units
from mercer.spectral._moments import ScatterFactor, TableMoments
from mercer.spectral._pca_routes import PcaRoute, ProvedAxes, first_look, proved_axes, size_exponent


class PCA(LinearProjection):
    """Principal component analysis: orthogonal directions of largest variance.

    With the centred rows X̃ the components are the eigenvectors v of the covariance,

        C = X̃ᵀX̃/(n − 1),  C v = λ v,  scores z = (x − mean)ᵀv.

    The d×d matrix X̃ᵀX̃ and the n×n matrix X̃X̃ᵀ have the same eigenvalues: the smaller one is
    used, or neither, if few components of a large table are wanted: then products with X̃ are
    enough. Sparse tables are never made dense. Both matrices square the condition number; small
    eigenvalues that lose digits by that are found again after projecting the large ones away, so
    that the routes agree to rounding.

    Parameters
    ----------
    n_components : int, float, "auto" or None, default=None
        How many components: a number; a share of the variance between 0 and 1, which the fewest
        components that exceed it are kept for; "auto", the hard threshold of Gavish and Donoho
        [1]_ for a low-rank table in white noise (at least one component is kept); None, all.
        Components without variance are never kept, so there may be fewer.
    route : {"auto", "covariance", "gram", "svd"}, default="auto"
        The d×d matrix, the n×n matrix, or QR and the singular values of R; "auto" takes the
        smaller matrix.
    whiten : bool, default=False
        Whether the scores are divided by their standard deviations.
    tolerance : float, default=1e-8
        What ‖C v − λ v‖ may be, relative to the largest eigenvalue.
    random_state : int or None, default=0
        The start of iterations with products.

    Attributes
    ----------
    components_ : array of shape (k, d)
        The components, by falling variance; the entry of largest size of each is positive.
    mean_ : array of shape (d,)
        The means of the columns.
    explained_variance_, explained_variance_ratio_, singular_values_ : array of shape (k,)
        The variances λ of the scores (with n − 1), their shares, and √((n − 1)λ).
    loadings_ : array of shape (k, d)
        Components times the standard deviations of the scores.
    noise_variance_ : float
        The mean of the discarded eigenvalues among min(n, d).
    n_components_, n_samples_ : int
        How many components and rows.
    route_ : str
        The route that was taken.
    certificate_ : Certificate
        Eigen residual, orthogonality error, the discarded share of the variance.

    References
    ----------
    .. [1] M. Gavish, D. L. Donoho, "The optimal hard threshold for singular values is 4/√3",
       IEEE Transactions on Information Theory 60 (2014) 5040–5053.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import PCA
    >>> X = np.array([[-2.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [2.0, 1.0]])
    >>> pca = PCA().fit(X)
    >>> pca.explained_variance_ratio_.round(3)
    array([0.758, 0.242])
    >>> np.allclose(pca.inverse_transform(pca.transform(X)), X)
    True
    >>> pca.certificate_.ok
    True
    """

    by_columns = True

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "route_": Instance(str),
        "n_samples_": Integers(least=1),
        "n_components_": SizeOf("components"),
        "singular_values_": Floats("components"),
        "explained_variance_": Floats("components"),
        "explained_variance_ratio_": Floats("components"),
        "noise_variance_": Floats(),
        "factor_": Maybe(Floats("axes", "columns")),
        "factor_loss_": Maybe(Floats(2)),
    }

    accepts_sparse = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [
            COUNT,
            Interval(Real, 0, 1, closed="neither"),
            StrOptions({"auto"}),
            None,
        ],
        "route": [StrOptions({"auto", "covariance", "gram", "svd"})],
        "whiten": ["boolean"],
        "tolerance": [POSITIVE],
        "random_state": [Interval(Integral, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        n_components: int | float | str | None = None,
        *,
        route: str = "auto",
        whiten: bool = False,
        tolerance: float = 1e-8,
        random_state: int | None = 0,
    ):
        self.n_components = n_components
        self.route = route
        self.whiten = whiten
        self.tolerance = tolerance
        self.random_state = random_state

    # ------------------------------------------------------------------ fitting
    def fit(self, X: Any, y: Any = None) -> PCA:
        """Find the components; ``y`` is not used."""
        self._validate_params()
        X = self._fit_table(X, ensure_min_samples=2)
        if hasattr(self, "factor_"):  # of batches before
            del self.factor_, self.factor_loss_
        table, about, exponent = first_look(X, PcaRoute(self.route), self._most())
        axes = self._axes_of(table, about, X.shape)
        about = about._replace(mean=np.ldexp(about.mean, exponent))
        self._store(axes, about, X.shape[0], exponent)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> PCA:
        """Take in a batch of rows; the result is that of all rows at once.

        Up to 2,000 columns, or if ``n_components`` is no number, this is exact. Beyond, a rank of
        2·n_components + 10 or more is kept of all rows, and the certificate says what was cut.
        After `fit` the kept components stand for the rows that were fitted.
        """
        self._validate_params()
        X = self._fit_table(X, reset=not hasattr(self, "n_samples_"))
        factor = self._factor_so_far(X.shape[1]).extended(X, self._most())
        exponent = size_exponent(factor.F)
        table = np.ldexp(factor.F, -exponent)
        squares = float(np.vdot(table, table)) + np.ldexp(factor.cut, -2 * exponent)
        mean = np.ldexp(factor.mean, -exponent)
        raw = squares + factor.n * float(mean @ mean)
        # the factor is centred already
        about = TableMoments(np.zeros_like(mean), squares, raw)
        axes = self._axes_of(table, about, (factor.n, X.shape[1]))
        self._store(axes, about._replace(mean=factor.mean), factor.n, exponent, factor)
        self.factor_: np.ndarray = factor.F
        self.factor_loss_: np.ndarray = np.array([factor.cut, factor.shortfall])
        return self

    def _most(self) -> int | None:
        """Return how many components are wanted, if that is a number."""
        return int(self.n_components) if isinstance(self.n_components, Integral) else None

    def _axes_of(self, table: Any, about: TableMoments, shape: tuple[int, int]) -> ProvedAxes:
        route = PcaRoute(self.route)
        self.route_ = "svd" if self.route == "svd" else route.side(table.shape)
        return proved_axes(
            table,
            about,
            self._most(),
            partial(count_components, self.n_components, shape=shape),
            route=route,
            tolerance=self.tolerance,
            random_state=self.random_state,
        )

    def _factor_so_far(self, d: int) -> ScatterFactor:
        if not hasattr(self, "n_samples_"):
            return ScatterFactor.empty(d)
        if hasattr(self, "factor_"):
            return ScatterFactor(
                self.n_samples_, self.mean_, self.factor_, *self.factor_loss_.tolist()
            )
        left_out = max(min(self.n_samples_, d) - self.n_components_, 1)
        lost = self.noise_variance_ * left_out * max(self.n_samples_ - 1, 1)
        F = self.singular_values_[:, None] * self.components_
        worst = min(lost, float(self.singular_values_.min(initial=np.inf)) ** 2)
        return ScatterFactor(self.n_samples_, self.mean_, F, lost, worst)

    def _store(
        self,
        axes: ProvedAxes,
        about: TableMoments,
        n: int,
        exponent: int,
        factor: ScatterFactor | None = None,
    ) -> None:
        k, d = axes.components.shape
        degrees = max(n - 1, 1)
        unit = np.ldexp(1.0, exponent)
        self.n_samples_, self.n_components_ = n, k
        self.components_, self.mean_ = axes.components, about.mean
        self.singular_values_ = axes.singular * unit
        self.explained_variance_ = in_squared_units(axes.singular**2 / degrees, unit)
        self.explained_variance_ratio_ = axes.singular**2 / (about.squares or 1.0)
        left = max(min(n, d) - k, 1)
        self.noise_variance_ = axes.discarded / left / degrees * unit * unit
        self._accept(self._proved(axes, about.squares / degrees * unit * unit, factor))

    def _proved(self, axes: ProvedAxes, total: float, factor: ScatterFactor | None) -> Solution:
        """Return the solution with its proof in the unit of the variance."""
        proof = axes.certificate
        k, asked = self.n_components_, self._most()
        about = f"C v = λ v for {k} of {min(self.n_samples_, self.n_features_in_)} eigenpairs"
        if asked is not None and k < asked:
            about += f"; {asked} components were asked for, and no more than {k} have variance"
        parts = {**proof.parts, "trace": total, "route": self.route_}
        if factor is not None:
            about += f"; {self.n_samples_} rows in batches, " + _lossy(factor)
            parts |= _losses(factor, total)
        proof = replace(proof, about=about, parts=parts)
        return Solution(self.components_, status_of(proof), proof)

    # ------------------------------------------------------------------ using
    @property
    def loadings_(self) -> np.ndarray:
        """Components times the standard deviations of the scores, shape (k, d)."""
        return np.sqrt(self.explained_variance_)[:, None] * self.components_

    def transform(self, X: Any) -> np.ndarray:
        """Return the scores of rows, shape (m, k); of unit variance if ``whiten``."""
        X = self._new_table(X)
        scores = centered(X, self.mean_).times(self.components_.T)
        if self.whiten:
            scores /= np.sqrt(self.explained_variance_)
        return scores.astype(X.dtype, copy=False)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return the rows that have these scores, shape (m, d)."""
        Z = check_scores(self, X)
        W = self.loadings_ if self.whiten else self.components_
        return (Z @ W + self.mean_).astype(Z.dtype, copy=False)

    def reconstruction_error(self, X: Any) -> np.ndarray:
        """Return ‖x − x̂‖² for each row x and its projection x̂ on the components, shape (m,).

        Over the training rows the sum is n − 1 times the sum of the discarded eigenvalues.
        """
        X = self._new_table(X)
        errors = centered(X, self.mean_).residual_squares(self.components_.T)
        return errors.astype(X.dtype, copy=False)

    # ------------------------------------------------------------------ the model as a density
    def get_covariance(self) -> np.ndarray:
        """Return the covariance of the model, (d, d): Σ (λ − σ²)vvᵀ + σ²I.

        The discarded directions all have the variance σ² of ``noise_variance_`` (probabilistic PCA
        of Tipping and Bishop).
        """
        check_is_fitted(self)
        extra = np.maximum(self.explained_variance_ - self.noise_variance_, 0.0)
        C = (self.components_.T * extra) @ self.components_
        C[np.diag_indices_from(C)] += self.noise_variance_
        return C

    def get_precision(self) -> np.ndarray:
        """Return the inverse of the covariance of the model, (d, d), without inverting it."""
        noise = self._noise()
        variances = np.maximum(self.explained_variance_, self.noise_variance_)
        P = (self.components_.T * (1.0 / variances - noise)) @ self.components_
        P[np.diag_indices_from(P)] += noise
        return P

    def _noise(self) -> float:
        """Return 1/σ², or 0 where nothing is discarded."""
        check_is_fitted(self)
        if self.n_components_ == self.n_features_in_:
            return 0.0
        if not self.noise_variance_ > 0.0:
            raise ValueError(
                f"the covariance of the model is singular: {self.n_components_} components of "
                f"{self.n_features_in_} columns hold all of the variance; keep fewer components"
            )
        return 1.0 / self.noise_variance_

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the logarithm of the density of each row under the Gaussian of the model."""
        noise = self._noise()
        X = self._new_table(X)
        variances = np.maximum(self.explained_variance_, self.noise_variance_)
        rows, d = centered(X, self.mean_), self.n_features_in_
        scores = rows.times(self.components_.T) / np.sqrt(variances)
        squares = np.einsum("ij,ij->i", scores, scores)
        volume = float(np.log(variances).sum())
        if noise > 0.0:
            squares = squares + noise * rows.residual_squares(self.components_.T)
            volume -= (d - self.n_components_) * float(np.log(noise))
        return -0.5 * (squares + volume + d * float(np.log(2.0 * np.pi)))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean of `score_samples`; ``y`` is not used."""
        return float(self.score_samples(X).mean())


def _lossy(factor: ScatterFactor) -> str:
    if factor.cut == 0.0:
        return "nothing was cut"
    return "each eigenvalue is short by no more than the shortfall"


def _losses(factor: ScatterFactor, total: float) -> dict[str, float]:
    degrees = max(factor.n - 1, 1)
    share = factor.cut / degrees / total if total > 0 else 0.0
    return {"cut": share, "shortfall": factor.shortfall / degrees}
