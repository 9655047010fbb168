"""Independent component analysis."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import digamma
from sklearn.utils import check_random_state

from mercer._sklearn import StrOptions
from mercer._state import Attribute, Either, Floats, Integers
from mercer._threads import one_blas_thread
from mercer.result import Certificate, Solution
from mercer.solvers import fix_signs
from mercer.spectral._base import (
    COUNT,
    POSITIVE,
    LinearProjection,
    check_scores,
    final_status,
    off_identity,
)
from mercer.spectral._covariance import WhiteSignals, whiten
from mercer.spectral._rotations import Descent, orthogonalised, random_rotation
from mercer.spectral._separation import (
    CONTRASTS,
    ContrastMoments,
    Source,
    check_contrast,
    deflate,
    gaussian_figures,
    moments,
    separate,
    turned,
)

ALGORITHMS = {"symmetric": separate, "deflation": deflate}
SAFETY = 0.9  # share of the tolerance that the descent aims at: the proof rounds differently


class Unmixing(LinearProjection):
    """A projection onto sources, s = components_ (x − mean_), and back, x = mixing_ s + mean_."""

    by_columns = True

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "mixing_": Floats("columns", "components"),
        "contrast_": Either(Floats("components"), Floats()),
        "n_iter_": Integers(),
    }

    mixing_: np.ndarray  # (d, k)
    tol: float

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return rows from sources, shape (m, d)."""
        S = check_scores(self, X)
        rows = S @ self.mixing_.T + self.mean_
        return rows.astype(S.dtype, copy=False)

    def mutual_information(self, X: Any, *, n_neighbors: int = 4) -> float:
        """Return an estimate of Σᵢ H(sᵢ) − H(s) in nats: 0 if the sources are independent.

        The estimator is that of Kraskov, Stögbauer and Grassberger: the entropies come from the
        distances to the k-th nearest neighbours, so that most of their biases cancel. It is good
        for a few components and grows unreliable with more than about ten.
        """
        return multi_information(self.transform(X), n_neighbors)

    def _keep(self, white: WhiteSignals, W: np.ndarray) -> None:
        """Store the sources y = W z in their order, with fixed signs."""
        components = W @ white.unmixing
        signs = np.where((fix_signs(components.T).T * components).sum(axis=1) < 0, -1.0, 1.0)
        self.mean_ = white.mean
        self.components_ = signs[:, None] * components
        self.mixing_ = (white.mixing @ W.T) * signs

    def _stationary(
        self, end: Descent, about: str, slope: float, covariance: np.ndarray, **parts: Any
    ) -> Solution:
        """Prove that the largest slope is 0 and the sources are white."""
        error = off_identity(covariance)
        parts = {"stationarity": slope, "whiteness_error": error, **parts, "n_iter": end.n_iter}
        proof = Certificate("stationarity", max(slope, error), self.tol, about, parts)
        return Solution(self.components_, final_status(end.status, proof), proof)

    def _source(self, X: np.ndarray) -> Source:
        """Return the sources of the training rows, from what is stored."""
        return lambda tile: self.components_ @ (X[tile].astype(np.float64) - self.mean_).T


class ICA(Unmixing):
    """Independent component analysis: x = A s + mean with sources s as far from Gaussian as can be.

    The rows are whitened, z = V (x − mean), and an orthogonal W makes the signals y = W z as
    non-Gaussian as possible: Σᵢ ±E G(yᵢ) has a (local) maximum, each sign such that turning the
    signal towards a Gaussian one lowers it, −1 where E g'(y) > E g(y) y, g = G'. Of signals that
    are clearly not Gaussian that is Σᵢ |E G(yᵢ) − E G(ν)|, ν Gaussian.

    Parameters
    ----------
    n_components : int or None, default=None
        How many sources; None means the rank of the centred rows, and fewer are kept if the rank
        is less. If they are fewer than the columns, the leading principal components are unmixed.
    contrast : {"logcosh", "exp", "kurtosis"} or callable, default="logcosh"
        G(y) = log cosh y, −exp(−y²/2) or y⁴/4. The first two approximate negentropy and do not
        mind outliers; the last is a quarter of the fourth moment. A function of your own takes an
        array y and returns G(y), g(y) = G′(y) and g′(y), each of its shape.
    whiten : bool, default=True
        Whether the rows are whitened first. False takes them as white already: of covariance I
        (with divisor n) once the means are subtracted, which the certificate checks; all sources
        are then found, and ``components_`` is orthogonal.
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
        "n_components": [COUNT, None],
        "contrast": [StrOptions(set(CONTRASTS)), callable],
        "whiten": ["boolean"],
        "algorithm": [StrOptions(set(ALGORITHMS))],
        "tol": [POSITIVE],
        "max_iter": [COUNT],
        "n_init": [COUNT],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        contrast: Any = "logcosh",
        whiten: bool = True,
        algorithm: str = "symmetric",
        tol: float = 1e-6,
        max_iter: int = 200,
        n_init: int = 1,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.contrast = contrast
        self.whiten = whiten
        self.algorithm = algorithm
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> ICA:
        """Find the sources; ``y`` is not used."""
        self._validate_params()
        X = self._fit_table(X)
        if callable(self.contrast):
            check_contrast(self.contrast)
        with one_blas_thread():  # threads that wait would take the cores from those of the tiles
            white = whiten(X, self.n_components) if self.whiten else self._as_given(X)
            end = self._best_start(white.signals)
        self._keep(white, orthogonalised(end.W))
        shape = white.signals.shape
        found = moments(self._source(X), shape, self.contrast, covariance=True)
        slopes = self._slopes(found)
        if self.algorithm == "symmetric":
            order = np.argsort(-self._distances(found), kind="stable")
            self.components_, self.mixing_ = self.components_[order], self.mixing_[:, order]
            found = found.ordered(order)
        self.contrast_ = self._distances(found)
        self.n_iter_ = end.n_iter
        self._accept(self._proved(end, found, slopes, len(X)))
        return self

    def _as_given(self, X: np.ndarray) -> WhiteSignals:
        """Return rows that are white already as signals, one for each column."""
        d = X.shape[1]
        if self.n_components not in (None, d):
            raise ValueError(
                f"n_components must be None or the number of columns, {d}, where whiten=False: no "
                f"principal components are chosen; got {self.n_components}"
            )
        mean = X.mean(axis=0, dtype=np.float64)
        return WhiteSignals(mean, np.eye(d), np.eye(d), np.ascontiguousarray((X - mean).T))

    def _best_start(self, Z: np.ndarray) -> Descent:
        rng, find = check_random_state(self.random_state), ALGORITHMS[self.algorithm]
        starts = (random_rotation(len(Z), rng) for _ in range(self.n_init))
        ends = [find(Z, self.contrast, W, SAFETY * self.tol, self.max_iter) for W in starts]
        return max(ends, key=lambda end: self._size(end, Z)) if len(ends) > 1 else ends[0]

    def _size(self, end: Descent, Z: np.ndarray) -> float:
        return float(self._distances(moments(turned(end.W, Z), Z.shape, self.contrast)).sum())

    def _distances(self, found: ContrastMoments) -> np.ndarray:
        return np.abs(found.value - gaussian_figures(self.contrast)[0])

    # ------------------------------------------------------------ proof
    def _slopes(self, found: ContrastMoments) -> np.ndarray:
        """Return what must vanish: derivatives by the angles that the algorithm turns."""
        if self.algorithm == "deflation":  # each source against those that come after it
            return np.triu(found.M, 1)
        DM = found.signs[:, None] * found.M
        return DM - DM.T

    def _proved(self, end: Descent, found: ContrastMoments, slopes: np.ndarray, n: int) -> Solution:
        k, bend = len(found.value), np.abs(found.bend)
        unsure = int(np.count_nonzero(self.contrast_ <= self._noise(n)))
        about = f"a stationary point of the contrast of {k} sources, no global guarantee"
        if unsure > 1:
            about += f"; {unsure} sources cannot be told from Gaussian: their axes mean nothing"
        return self._stationary(
            end,
            about,
            float(np.abs(slopes).max(initial=0.0)),
            found.covariance,
            contrast=float(self.contrast_.sum()),
            least_bend=float(bend.min()) if k else 0.0,
            gaussian_like=unsure,
        )

    def _noise(self, n: int) -> float:
        """Return about the contrast that the best rotation of k Gaussian signals reaches."""
        k, spread = len(self.components_), gaussian_figures(self.contrast)[1]
        return (2.0 + 1.6 * k**0.5) * spread / n**0.5  # seen with 1 to 30 signals


# ------------------------------------------------------------------------ dependence
def multi_information(S: Any, n_neighbors: int = 4) -> float:
    """Return Σᵢ H(sᵢ) − H(s) in nats, by Kraskov, Stögbauer and Grassberger's first estimator.

    I = ψ(k) + (m − 1) ψ(n) − Σᵢ mean ψ(nᵢ + 1), where nᵢ counts the samples whose i-th signal is
    nearer than the k-th neighbour in the maximum norm.

    Parameters
    ----------
    S : array of shape (n, m)
        Samples of m signals.
    n_neighbors : int, default=4
        k: more give less variance and more bias.
    """
    S = np.asarray(S, dtype=np.float64)
    n, m = S.shape
    if not 1 <= n_neighbors < n:
        raise ValueError(f"n_neighbors must be from 1 to {n - 1} for {n} rows; got {n_neighbors}")
    if m < 2:
        return 0.0
    spread = S.std(axis=0)
    S = S / np.where(spread > 0.0, spread, 1.0)
    radius = cKDTree(S).query(S, k=n_neighbors + 1, p=np.inf)[0][:, -1]
    counts = sum(float(digamma(_within(s, radius) + 1).mean()) for s in S.T)
    return float(digamma(n_neighbors) + (m - 1) * digamma(n) - counts)


def _within(s: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Return how many other values lie strictly nearer than each one's radius."""
    ordered = np.sort(s)
    high = np.searchsorted(ordered, s + radius, side="left")
    low = np.searchsorted(ordered, s - radius, side="right")
    return np.maximum(high - low - 1, 0)
