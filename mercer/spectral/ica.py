"""Independent component analysis."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted

from mercer._array import one_blas_thread
from mercer._estimator import FLOATS
from mercer._sklearn import Interval, StrOptions
from mercer.result import Certificate, Solution, Status
from mercer.solvers import fix_signs
from mercer.spectral._base import LinearProjection
from mercer.spectral._dependence import multi_information
from mercer.spectral._rotations import Descent, orthogonalised, random_rotation
from mercer.spectral._separation import (
    CONTRASTS,
    Moments,
    Source,
    deflate,
    gaussian_figures,
    moments,
    separate,
    turned,
)
from mercer.spectral._whitening import Whitening, whiten

ALGORITHMS = {"symmetric": separate, "deflation": deflate}
SAFETY = 0.9  # share of the tolerance that the descent aims at: the proof rounds differently


class Unmixing(LinearProjection):
    """A projection onto sources, s = components_ (x − mean_), and back, x = mixing_ s + mean_."""

    mixing_: np.ndarray  # (d, k)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return rows from sources, shape (m, d)."""
        S = self._new_sources(X)
        rows = S @ self.mixing_.T + self.mean_
        return rows.astype(S.dtype, copy=False)

    def mutual_information(self, X: Any, *, n_neighbors: int = 4) -> float:
        """Return an estimate of Σᵢ H(sᵢ) − H(s) in nats: 0 if the sources are independent.

        The estimator is that of Kraskov, Stögbauer and Grassberger: the entropies come from the
        distances to the k-th nearest neighbours, so that most of their biases cancel. It is good
        for a few components and grows unreliable with more than about ten.
        """
        return multi_information(self.transform(X), n_neighbors)

    def _new_sources(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        S = check_array(X, dtype=FLOATS, input_name="X", ensure_min_features=0)
        if S.shape[1] != len(self.components_):
            raise ValueError(
                f"X must have {len(self.components_)} columns, one for each component; got "
                f"{S.shape[1]}"
            )
        return S

    def _keep(self, white: Whitening, W: np.ndarray) -> None:
        """Store the sources y = W z in their order, with fixed signs."""
        components = W @ white.unmixing
        signs = np.where((fix_signs(components.T).T * components).sum(axis=1) < 0, -1.0, 1.0)
        self.mean_ = white.mean
        self.components_ = signs[:, None] * components
        self.mixing_ = (white.mixing @ W.T) * signs

    def _source(self, X: np.ndarray) -> Source:
        """Return the sources of the training rows, from what is stored."""
        return lambda tile: self.components_ @ (X[tile].astype(np.float64) - self.mean_).T


def final_status(status: Status, certificate: Certificate) -> Status:
    """Return how the search ended, unless the proof does not bear it out."""
    return status if certificate.ok or not status.ok else Status.INACCURATE


class ICA(Unmixing):
    """Independent component analysis: x = A s + mean with sources s as far from Gaussian as can be.

    The rows are whitened, z = V (x − mean), and an orthogonal W makes the signals y = W z as
    non-Gaussian as possible: Σᵢ |E G(yᵢ) − E G(ν)| has a (local) maximum, ν Gaussian.

    Parameters
    ----------
    n_components : int or None, default=None
        How many sources; None means the rank of the centred rows, and fewer are kept if the rank
        is less. If they are fewer than the columns, the leading principal components are unmixed.
    contrast : {"logcosh", "exp", "kurtosis"}, default="logcosh"
        G(y) = log cosh y, −exp(−y²/2) or y⁴/4. The first two approximate negentropy and do not
        mind outliers; the last is a quarter of the fourth moment.
    algorithm : {"symmetric", "deflation"}, default="symmetric"
        All sources together, or one after the other, the most non-Gaussian that is found first.
    tol : float, default=1e-6
        Largest derivative of the contrast by an angle at which the fit is done.
    max_iter : int, default=200
        Most steps of a start.
    n_init : int, default=1
        Starts from random rotations; the one with the largest contrast is kept.
    random_state : int, RandomState instance or None, default=None
        The random rotations.

    Attributes
    ----------
    components_ : array of shape (k, d)
        The unmixing matrix: s = components_ (x − mean_). The sources have variance one; they are in
        the order of falling contrast ("deflation": as found).
    mixing_ : array of shape (d, k)
        The mixing matrix A.
    mean_ : array of shape (d,)
        Means of the columns.
    contrast_ : array of shape (k,)
        |E G(sᵢ) − E G(ν)| of each source.
    n_iter_ : int
        Steps of the best start.
    certificate_ : Certificate
        The derivatives of the contrast, the correlation of the sources; no global guarantee.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ICA
    >>> rng = np.random.default_rng(0)
    >>> sources = rng.uniform(-1, 1, size=(2000, 2))
    >>> ica = ICA(random_state=0).fit(sources @ [[1.0, 0.5], [0.2, 1.0]])
    >>> recovered = ica.transform(sources @ [[1.0, 0.5], [0.2, 1.0]])
    >>> agreement = np.abs(np.corrcoef(recovered.T, sources.T)[:2, 2:])
    >>> bool((agreement.max(axis=1) > 0.99).all()), ica.certificate_.ok
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "contrast": [StrOptions(set(CONTRASTS))],
        "algorithm": [StrOptions(set(ALGORITHMS))],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        contrast: str = "logcosh",
        algorithm: str = "symmetric",
        tol: float = 1e-6,
        max_iter: int = 200,
        n_init: int = 1,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.contrast = contrast
        self.algorithm = algorithm
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> ICA:
        """Find the sources; ``y`` is not used."""
        self._validate_params()
        X = self._fit_table(X)
        with one_blas_thread:  # BLAS threads that wait would take the cores from those of the tiles
            white = whiten(X, self.n_components)
            end = self._best_start(white.signals)
        self._keep(white, orthogonalised(end.W))
        shape = white.signals.shape
        found = moments(self._source(X), shape, self.contrast, covariance=True)
        slopes = self._slopes(found, end)
        if self.algorithm == "symmetric":
            order = np.argsort(-self._distances(found), kind="stable")
            self.components_, self.mixing_ = self.components_[order], self.mixing_[:, order]
            found = found.ordered(order)
        self.contrast_ = self._distances(found)
        self.n_iter_ = end.n_iter
        self._accept(self._proved(end, found, slopes, len(X)))
        return self

    def _best_start(self, Z: np.ndarray) -> Descent:
        rng, find = check_random_state(self.random_state), ALGORITHMS[self.algorithm]
        starts = (random_rotation(len(Z), rng) for _ in range(self.n_init))
        ends = [find(Z, self.contrast, W, SAFETY * self.tol, self.max_iter) for W in starts]
        return max(ends, key=lambda end: self._size(end, Z)) if len(ends) > 1 else ends[0]

    def _size(self, end: Descent, Z: np.ndarray) -> float:
        return float(self._distances(moments(turned(end.W, Z), Z.shape, self.contrast)).sum())

    def _distances(self, found: Moments) -> np.ndarray:
        return np.abs(found.value - gaussian_figures(self.contrast)[0])

    # ------------------------------------------------------------ proof
    def _slopes(self, found: Moments, end: Descent) -> np.ndarray:
        """Return what must vanish: derivatives by the angles that the algorithm turns."""
        if self.algorithm == "deflation":  # each source against those that come after it
            return np.triu(found.M, 1)
        DM = end.point.facts[1][:, None] * found.M
        return DM - DM.T

    def _proved(self, end: Descent, found: Moments, slopes: np.ndarray, n: int) -> Solution:
        k, bend = len(found.value), np.abs(found.bend)
        stationarity = float(np.abs(slopes).max(initial=0.0))
        error = float(np.abs(found.covariance - np.eye(k)).max(initial=0.0))
        unsure = int(np.count_nonzero(self.contrast_ <= self._noise(n)))
        parts = {
            "stationarity": stationarity,
            "whiteness_error": error,
            "contrast": float(self.contrast_.sum()),
            "least_bend": float(bend.min()) if k else 0.0,
            "gaussian_like": unsure,
            "n_iter": end.n_iter,
        }
        about = f"a stationary point of the contrast of {k} sources, no global guarantee"
        if unsure > 1:
            about += f"; {unsure} sources cannot be told from Gaussian: their axes mean nothing"
        value = max(stationarity, error)
        certificate = Certificate("stationarity", value, self.tol, about, parts)
        return Solution(self.components_, final_status(end.status, certificate), certificate)

    def _noise(self, n: int) -> float:
        """Return about the contrast that the best rotation of k Gaussian signals reaches."""
        k, spread = len(self.components_), gaussian_figures(self.contrast)[1]
        return (2.0 + 1.6 * k**0.5) * spread / n**0.5  # seen with 1 to 30 signals
