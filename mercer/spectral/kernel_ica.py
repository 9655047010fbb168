"""Independent component analysis by dependence in feature space."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from sklearn.utils import check_random_state

from mercer._floats import EPS
from mercer._sklearn import Interval
from mercer.result import Solution
from mercer.spectral._base import COUNT, POSITIVE
from mercer.spectral._covariance import whiten
from mercer.spectral._rotations import (
    Descent,
    RotationPoint,
    descend,
    orthogonalised,
    random_rotation,
)
from mercer.spectral._separation import CONTRASTS, separate
from mercer.spectral.ica import SAFETY, Unmixing

COMPARED_ROWS = 1000  # rows on which the starts are compared
PIVOT_ROUNDS = 5  # choices of pivots at most
ROUGH_SLOPE = 1e-3  # derivative at which the starts are compared
LEFT_OUT = 1e-12  # of a kernel value, by the features at most ...
MOST_PIVOTS = 100  # ... unless they would be more than these


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
        The derivatives of J with a bound on what low rank hides of them, the correlation of the
        sources; no global guarantee.

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
        "n_components": [COUNT, None],
        "gamma": [POSITIVE],
        "lam": [POSITIVE],
        "n_restarts": [Interval(Integral, 0, None, closed="left")],
        "tol": [POSITIVE],
        "max_iter": [COUNT],
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
        starts = [separate(Z, name, first, ROUGH_SLOPE, self.max_iter).W for name in CONTRASTS]
        starts += [random_rotation(len(Z), rng) for _ in range(self.n_restarts)]
        n = Z.shape[1]
        some = Z if n <= COMPARED_ROWS else Z[:, rng.permutation(n)[:COMPARED_ROWS]]
        ends = [self._descent(some, W, max(ROUGH_SLOPE, self.tol)) for W in starts]
        best = min(ends, key=lambda end: end.point.value)
        return self._descent(Z, best.W, SAFETY * self.tol)

    def _descent(self, Z: np.ndarray, W: np.ndarray, tol: float) -> Descent:
        """Descend from W, with new pivots as long as they make a difference."""
        steps = 0
        for _ in range(PIVOT_ROUNDS):
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
        point, error = objective.at(np.eye(k)), objective.slope_error()
        self.contrast_ = point.value
        rank = len(objective.pivots.places)
        return self._stationary(
            end,
            f"a stationary point of the dependence of {k} sources, kernels of rank {rank} for "
            f"each, no global guarantee",
            point.residual + error,
            (S @ S.T) / n,
            contrast=point.value,
            rank=rank,
            slope_error=error,
            left_out=objective.pivots.left_out,
        )


# ------------------------------------------------------------------------ dependence
class Pivots(NamedTuple):
    """Values p whose kernel functions span the features φ(y) = L⁻¹ k(p, y), LLᵀ = k(p, p)."""

    places: np.ndarray  # (r,)
    factor: np.ndarray  # (r, r), lower triangular
    left_out: float  # the largest k(y, y) − |φ(y)|² of the values they were chosen from

    @classmethod
    def of(cls, values: np.ndarray, gamma: float) -> Pivots:
        """Choose places by pivoted incomplete Cholesky factorisation of the kernel matrix."""
        values = np.unique(values)
        rest = np.ones(len(values))
        rows: list[np.ndarray] = []
        chosen: list[int] = []
        while rest.max(initial=0.0) > LEFT_OUT and len(chosen) < min(MOST_PIVOTS, len(values)):
            pivot = int(rest.argmax())
            row = np.exp(-gamma * (values - values[pivot]) ** 2)
            for earlier in rows:
                row -= earlier[pivot] * earlier
            row /= np.sqrt(rest[pivot])
            rest = rest - row**2
            rows.append(row)
            chosen.append(pivot)
        factor = np.tril(np.array(rows).reshape(len(rows), len(values))[:, chosen].T)
        return cls(values[chosen], factor, max(float(rest.max(initial=0.0)), 0.0))


class KernelContrast:
    """J of y = W z as an objective of rotations, at low rank.

    With centred features F_i of each signal, C_ij = F_i F_jᵀ / n and D the diagonal blocks of C,

        J = −½ log det(C + λI) + ½ log det(D + λI) ≥ 0,

    the mutual information of Gaussian vectors with the covariance C + λI (the regularised kernel
    generalised variance of Bach and Jordan, 2002); 0 if no features of two signals are correlated.

    Parameters
    ----------
    Z : array of shape (k, n)
        Whitened signals.
    gamma, lam : float
        γ of the kernel exp(−γ(y − y')²), and λ.
    around : array of shape (k, k)
        The rotation whose signals the pivots are chosen from; they stay while W moves.
    """

    def __init__(self, Z: np.ndarray, gamma: float, lam: float, around: np.ndarray):
        self.Z, self.gamma, self.lam = Z, gamma, lam
        self.pivots = Pivots.of((around @ Z).ravel(), gamma)

    def at(self, W: np.ndarray) -> RotationPoint:
        """Return J, and its derivatives by the angles."""
        if len(W) < 2:  # nothing to depend on
            return RotationPoint(0.0, np.zeros(W.shape), None)
        Y = W @ self.Z
        (k, n), r = Y.shape, len(self.pivots.places)
        gaps = Y.reshape(1, -1) - self.pivots.places[:, None]  # (r, k n)
        E = np.exp(-self.gamma * gaps**2)
        F = solve_triangular(self.pivots.factor, E, lower=True)
        F = F.reshape(r, k, n).transpose(1, 0, 2).reshape(k * r, n)  # signal by signal
        F = F - F.mean(axis=1, keepdims=True)
        J, P = _information((F @ F.T) / n, k, self.lam)
        slopes = (P @ F) / -n  # ∂J/∂F
        slopes = slopes.reshape(k, r, n).transpose(1, 0, 2).reshape(r, k * n)  # pivot by pivot
        slopes = solve_triangular(self.pivots.factor, slopes, lower=True, trans="T")  # ∂J/∂E
        slopes *= gaps
        slopes *= E
        N = (-2.0 * self.gamma) * (slopes.sum(axis=0).reshape(k, n) @ Y.T)
        return RotationPoint(J, N - N.T, None)

    def slope_error(self) -> float:
        """Return a bound on what the features' lower rank takes from a derivative of J at W = I.

        With M = ∂J/∂K of a source, ∂J/∂yᵢ = 2 Σⱼ Mᵢⱼ k'(yᵢ, yⱼ), and ‖M‖ ≤ 1 / (2nλ). The part of
        k(y, ·) outside of the features has squared length ρ = 1 − |φ(y)|², that of its derivative
        2γ − |φ'(y)|²: k' is off by at most their product, M by (1 + number of sources) Σρ / (nλ)
        of its norm. Equal values but for rounding have a kernel of low rank, and no derivative in
        its span.
        """
        k, n = self.Z.shape
        if k < 2:
            return 0.0
        gaps = self.Z.reshape(1, -1) - self.pivots.places[:, None]
        E = np.exp(-self.gamma * gaps**2)
        F = solve_triangular(self.pivots.factor, E, lower=True)
        # a difference of numbers near 1, which rounding may have made 0; beside a pivot less
        rest = np.maximum(1.0 - (F**2).sum(axis=0), 8.0 * EPS)
        rest = np.minimum(rest, 2.0 * self.gamma * (gaps**2).min(axis=0)).reshape(k, n)
        F = solve_triangular(self.pivots.factor, -2.0 * self.gamma * gaps * E, lower=True)
        bend = np.maximum(2.0 * self.gamma - (F**2).sum(axis=0), 0.0).reshape(k, n)
        total, largest = rest.sum(axis=1, keepdims=True), np.sqrt(2.0 * self.gamma) * np.exp(-0.5)
        of_M = (1 + k) * total.max() / (n * self.lam) * np.sqrt(n) * largest  # k' ≤ √(2γ/e)
        by_value = (np.sqrt(total * bend) + of_M) / (n * self.lam)  # (k, n): of ∂J/∂y
        by_plane = by_value @ np.abs(self.Z).T
        by_plane += by_plane.T
        np.fill_diagonal(by_plane, 0.0)
        return float(by_plane.max())

    def settle(self, point: RotationPoint) -> RotationPoint:
        """Stay as it is."""
        return point


def _information(C: np.ndarray, k: int, lam: float) -> tuple[float, np.ndarray]:
    """Return J of a covariance in k blocks, and P = (C + λ)⁻¹ − (D + λ)⁻¹ = −2 ∂J/∂C."""
    size = len(C) // k
    C = C + lam * np.eye(len(C))
    log_det, P = _log_det_and_inverse(C)
    J = -0.5 * log_det
    for block in (slice(i * size, (i + 1) * size) for i in range(k)):
        log_det, inverse = _log_det_and_inverse(C[block, block])
        J += 0.5 * log_det
        P[block, block] -= inverse
    return J, P


def _log_det_and_inverse(A: np.ndarray) -> tuple[float, np.ndarray]:
    """Return log det A and its derivative by A, which is the inverse."""
    factor = cho_factor(A, lower=True, check_finite=False)
    log_det = 2.0 * float(np.log(np.diag(factor[0])).sum())
    return log_det, cho_solve(factor, np.eye(len(A)), check_finite=False)
