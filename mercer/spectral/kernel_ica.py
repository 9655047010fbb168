"""Independent component analysis by dependence in feature space."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from mercer._sklearn import Interval
from mercer.result import Certificate, Solution
from mercer.spectral._kernel_contrast import KernelContrast
from mercer.spectral._rotations import Descent, descend, orthogonalised, random_rotation
from mercer.spectral._separation import CONTRASTS, separate
from mercer.spectral._whitening import whiten
from mercer.spectral.ica import SAFETY, Unmixing, final_status

SOME = 1000  # rows on which the starts are compared
ROUNDS = 5  # choices of pivots at most
ROUGH = 1e-3  # derivative at which the starts are compared


class KernelICA(Unmixing):
    """Kernel ICA: sources whose features, of a Gaussian kernel, are as uncorrelated as can be.

    The rows are whitened and an orthogonal W makes J(W) (locally) least,

        J = −½ log [det(C + λI) / det(D + λI)],

    where C is the covariance of the features of all sources y = W z and D its diagonal blocks: the
    kernel generalised variance of Bach and Jordan. It sees every kind of dependence, where a
    contrast such as the kurtosis is blind to sources that have none.

    Parameters
    ----------
    n_components : int or None, default=None
        How many sources; None means the rank of the centred rows, and fewer are kept if the rank
        is less. If they are fewer than the columns, the leading principal components are unmixed.
    gamma : float, default=0.5
        γ of the kernel exp(−γ(y − y')²) on sources of variance one.
    lam : float, default=0.01
        λ > 0: less sees more and is more easily deceived by few rows.
    n_restarts : int, default=2
        Random rotations to start from, besides the solutions of `ICA` with its three contrasts; the
        least J is kept.
    tol : float, default=1e-6
        Largest derivative of J by an angle at which the fit is done.
    max_iter : int, default=200
        Most steps of a start.
    random_state : int, RandomState instance or None, default=None
        The random rotations.

    Attributes
    ----------
    components_ : array of shape (k, d)
        The unmixing matrix: s = components_ (x − mean_). The sources have variance one and are in
        the order of the variance that they explain.
    mixing_ : array of shape (d, k)
        The mixing matrix.
    mean_ : array of shape (d,)
        Means of the columns.
    contrast_ : float
        J of the sources, in nats.
    n_iter_ : int
        Steps of the best start.
    certificate_ : Certificate
        The derivatives of J, the correlation of the sources; no global guarantee.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelICA
    >>> sources = np.random.default_rng(0).uniform(-1, 1, size=(300, 2))
    >>> X = sources @ [[1.0, 0.5], [0.2, 1.0]]
    >>> recovered = KernelICA(random_state=0).fit(X).transform(X)
    >>> agreement = np.abs(np.corrcoef(recovered.T, sources.T)[:2, 2:])
    >>> bool((agreement.max(axis=1) > 0.99).all())
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "lam": [Interval(Real, 0, None, closed="neither")],
        "n_restarts": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        gamma: float = 0.5,
        lam: float = 0.01,
        n_restarts: int = 2,
        tol: float = 1e-6,
        max_iter: int = 200,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.gamma = gamma
        self.lam = lam
        self.n_restarts = n_restarts
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> KernelICA:
        """Find the sources; ``y`` is not used."""
        self._validate_params()
        X = self._fit_table(X)
        white = whiten(X, self.n_components)
        end = self._found(white.signals)
        W = orthogonalised(end.W)
        order = np.argsort(-((white.mixing @ W.T) ** 2).sum(axis=0), kind="stable")
        self._keep(white, W[order])
        self.n_iter_ = end.n_iter
        self._accept(self._proved(end, self._source(X)(slice(None))))
        return self

    def _found(self, Z: np.ndarray) -> Descent:
        """Return the best of all starts, which some of the rows tell, followed to the end."""
        rng = check_random_state(self.random_state)
        first = random_rotation(len(Z), rng)
        starts = [separate(Z, name, first, ROUGH, self.max_iter).W for name in CONTRASTS]
        starts += [random_rotation(len(Z), rng) for _ in range(self.n_restarts)]
        some = Z if Z.shape[1] <= SOME else Z[:, rng.permutation(Z.shape[1])[:SOME]]
        ends = [self._descent(some, W, max(ROUGH, self.tol)) for W in starts]
        best = min(ends, key=lambda end: end.point.value)
        return self._descent(Z, best.W, SAFETY * self.tol)

    def _descent(self, Z: np.ndarray, W: np.ndarray, tol: float) -> Descent:
        """Descend from W, with new pivots as long as they make a difference."""
        steps = 0
        for _ in range(ROUNDS):
            objective = KernelContrast(Z, self.gamma, self.lam, around=W)
            end = descend(objective, W, tol=tol, max_iter=max(self.max_iter - steps, 1))
            W, steps = end.W, steps + end.n_iter
            if end.n_iter == 0 or not end.status.ok or steps >= self.max_iter:
                break
        return end._replace(n_iter=steps)

    # ------------------------------------------------------------ proof
    def _proved(self, end: Descent, S: np.ndarray) -> Solution:
        k, n = S.shape
        objective = KernelContrast(S, self.gamma, self.lam, around=np.eye(k))
        point = objective.at(np.eye(k))
        self.contrast_ = point.value
        error = float(np.abs((S @ S.T) / n - np.eye(k)).max(initial=0.0))
        parts = {
            "stationarity": point.residual,
            "whiteness_error": error,
            "contrast": point.value,
            "rank": len(objective.pivots.places),
            "left_out": objective.pivots.left_out,
            "n_iter": end.n_iter,
        }
        about = (
            f"a stationary point of the dependence of {k} sources, kernels of rank "
            f"{parts['rank']} for each, no global guarantee"
        )
        value = max(point.residual, error)
        certificate = Certificate("stationarity", value, self.tol, about, parts)
        return Solution(self.components_, final_status(end.status, certificate), certificate)
