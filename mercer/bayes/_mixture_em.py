"""A Gaussian mixture: its parameters, densities of rows, and the two steps of EM.

Component c has the mean μ and the covariance LLᵀ; rows are taken in homogeneous coordinates, and
are whitened for all components by one product,

    (y, 1) = (L⁻¹(z − μ), 1) = [L⁻¹  −L⁻¹μ; 0  1] (z, 1).

One pass over the rows collects all that the M step needs: T = Σ r (y, 1)(y, 1)ᵀ of each component,
with the responsibilities r: the count, the move of the mean and the covariance. In these units the
new mean is near 0 and the new covariance near I, so that nothing cancels.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dtrtrs

from mercer._array import n_threads, ranges, run_tiles
from mercer._compiled import compiled
from mercer._scratch import scratch
from mercer.bayes._moments import LOG_2PI, ColumnUnits

BLOCK = 2**17  # numbers in a whitened block: what the nearer caches hold
THREADED_NUMBERS = 2**19  # whitened in all; with fewer a second thread costs more than it saves
NEGLIGIBLE = 1e-20  # responsibility, relative to the weight of the component: lost in rounding
DENSE_SHARE = 0.7  # of the rows of a block; a copy of more that count costs more than it saves


class Mixture(NamedTuple):
    """The parameters; ``factors`` are Cholesky factors, or deviations of diagonal covariances."""

    weights: np.ndarray  # (k,)
    means: np.ndarray  # (k, d)
    factors: np.ndarray  # (k, d, d) lower triangular, or (k, d)
    floored: np.ndarray  # (k,) directions in which the variance rests on its floor

    @property
    def diagonal(self) -> bool:
        """Whether covariances are diagonal."""
        return self.factors.ndim == 2

    def log_scales(self) -> np.ndarray:
        """Return log w − ½ log det(2πΣ) of each component."""
        deviations = self.factors if self.diagonal else np.diagonal(self.factors, 0, 1, 2)
        with np.errstate(divide="ignore"):  # an empty component has the weight 0
            logs = np.log(self.weights)
        return logs - np.log(deviations).sum(axis=1) - 0.5 * self.means.shape[1] * LOG_2PI

    def covariances(self) -> np.ndarray:
        """Return Σ of each component: (k, d, d), or the variances (k, d)."""
        if self.diagonal:
            return self.factors**2
        return self.factors @ self.factors.transpose(0, 2, 1)


class HomogeneousRows:
    """HomogeneousRows in homogeneous coordinates, as columns, with their weights."""

    def __init__(self, Z: np.ndarray, weight: np.ndarray | None = None, block: int = BLOCK):
        n, d = Z.shape
        self.columns = np.empty((d + 1, n))
        self.columns[:d], self.columns[d] = Z.T, 1.0
        self.weight = np.ones(n) if weight is None else weight
        self.block = block

    def __len__(self) -> int:
        return self.columns.shape[1]

    @property
    def table(self) -> np.ndarray:
        """The rows as rows, shape (n, d)."""
        return self.columns[:-1].T

    def step(self, k: int) -> int:
        """Return how many rows are whitened at once for k components."""
        return max(32, self.block // (k * len(self.columns)))

    def blocks(self, k: int) -> list[slice]:
        """Return these parts of the rows."""
        return ranges(len(self), self.step(k))

    def workers(self, k: int) -> int:
        """Return how many threads a pass over the rows is worth."""
        return n_threads() if k * self.columns.size > THREADED_NUMBERS else 1


class ComponentWhitener:
    """What turns blocks of rows into (y, 1) of all components."""

    def __init__(self, mixture: Mixture):
        k, d = mixture.means.shape
        self.shape = k, d + 1
        self.logs = mixture.log_scales() + 0.5  # the 1 in (y, 1) is counted in its square
        self.dense = not mixture.diagonal
        if self.dense:
            self.matrix = np.concatenate([_homogeneous(*pair) for pair in _pairs(mixture)])
        else:
            self.slopes = np.ones((k, d + 1, 1))
            self.slopes[:, :d, 0] = 1.0 / mixture.factors
            self.offsets = np.zeros((k, d + 1, 1))
            self.offsets[:, :d, 0] = mixture.means

    def buffer(self, rows: HomogeneousRows) -> np.ndarray:
        """Return room for a block of whitened rows."""
        k, size = self.shape
        return scratch((k * size * min(rows.step(k), len(rows)),), np.float64, brief=True)

    def __call__(self, columns: np.ndarray, buffer: np.ndarray) -> np.ndarray:
        """Return (y, 1), shape (k, d + 1, b), in the buffer."""
        k, size = self.shape
        b = columns.shape[1]
        Y = buffer[: k * size * b].reshape(k, size, b)
        if self.dense:
            np.matmul(self.matrix, columns, out=Y.reshape(k * size, b))
        else:
            np.subtract(columns, self.offsets, out=Y)
            Y *= self.slopes
        return Y

    def log_joint(self, Y: np.ndarray) -> np.ndarray:
        """Return log w_c p(z | c), shape (k, b)."""
        squares = np.einsum("kdb,kdb->kb", Y, Y)
        return self.logs[:, None] - 0.5 * squares


def _pairs(mixture: Mixture) -> Any:
    return zip(mixture.factors, mixture.means, strict=True)


def _homogeneous(L: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return [L⁻¹  −L⁻¹μ; 0  1]."""
    d = len(mean)
    right = np.eye(d + 1)
    right[:d, d] = -mean
    right[:d], _ = dtrtrs(L, right[:d], lower=1)  # every prediction comes here: no detours
    return right


def log_joint(X: np.ndarray, units: ColumnUnits, mixture: Mixture, out: np.ndarray) -> None:
    """Write log w_c p(x | c) of rows in their own units to out, shape (n, k)."""
    if mixture.diagonal:
        at = (mixture.means, 1.0 / mixture.factors, mixture.log_scales() - units.log_volume)
        log_joint_of_diagonal(X, *units, *at, out)
        return
    whiten, rows = ComponentWhitener(mixture), HomogeneousRows(units.standard(X))
    buffer = whiten.buffer(rows)
    for block in rows.blocks(len(mixture.weights)):
        out[block] = whiten.log_joint(whiten(rows.columns[:, block], buffer)).T
    out -= units.log_volume


@compiled(fastmath={"reassoc", "contract"})
def log_joint_of_diagonal(X, center, scale, means, slopes, logs, out):
    """Write log w_c p(x_i | c) to out (n, k); means and slopes are in the units of the columns.

    Differences are taken before squares, so that nothing cancels.
    """
    z = np.empty(X.shape[1])
    for i in range(X.shape[0]):
        for j in range(len(z)):
            z[j] = (X[i, j] - center[j]) / scale[j]
        for c in range(len(means)):
            total = 0.0
            for j in range(len(z)):
                y = (z[j] - means[c, j]) * slopes[c, j]
                total += y * y
            out[i, c] = logs[c] - 0.5 * total


# ------------------------------------------------------------------------ the E step
class Expected(NamedTuple):
    """What the E step found, in units of the components of ``mixture``."""

    mixture: Mixture
    moments: np.ndarray  # T: (k, d + 1, d + 1), or its diagonal and last column (k, d + 1, 2)

    @property
    def counts(self) -> np.ndarray:
        """The expected number of rows of each component."""
        return self.moments[:, -1, -1]


def expect(
    rows: HomogeneousRows, mixture: Mixture, dense_share: float = DENSE_SHARE
) -> tuple[Expected, float]:
    """Return the moments of all components and Σ w log p(z)."""
    whiten = ComponentWhitener(mixture)
    k, size = whiten.shape
    blocks, workers = rows.blocks(k), rows.workers(k)
    moments = np.zeros((workers, k, size, size if whiten.dense else 2))
    total = np.zeros(workers)
    buffers = [whiten.buffer(rows) for _ in range(workers)]
    least = NEGLIGIBLE * mixture.weights

    def work(block: slice, worker: int) -> None:
        Y = whiten(rows.columns[:, block], buffers[worker])
        share, evidence = _responsibilities(whiten.log_joint(Y))
        weight = rows.weight[block]
        total[worker] += evidence @ weight
        share *= weight
        if whiten.dense:
            _add_dense(moments[worker], Y, share, share > least[:, None], dense_share)
        else:
            _add_diagonal(moments[worker], Y, share)

    run_tiles(work, blocks, workers)
    return Expected(mixture, moments.sum(axis=0)), float(total.sum())


def _responsibilities(logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return p(c | z), shape (k, b), and log p(z), from log p(c, z), which is overwritten."""
    largest = logs.max(axis=0)
    logs -= largest
    np.exp(logs, out=logs)
    sums = logs.sum(axis=0)
    logs /= sums
    return logs, largest + np.log(sums)


def _add_diagonal(T: np.ndarray, Y: np.ndarray, share: np.ndarray) -> None:
    """Add the diagonal and the last column of Σ r (y, 1)(y, 1)ᵀ to T."""
    T[:, :, 1] += np.matmul(Y, share[:, :, None])[:, :, 0]
    Y *= Y
    T[:, :, 0] += np.matmul(Y, share[:, :, None])[:, :, 0]


def _add_dense(
    T: np.ndarray, Y: np.ndarray, share: np.ndarray, kept: np.ndarray, dense_share: float
) -> None:
    """Add Σ r (y, 1)(y, 1)ᵀ of the rows that are kept to T."""
    few = np.count_nonzero(kept, axis=1) < dense_share * share.shape[1]
    for c, (part, r) in enumerate(zip(Y, share, strict=True)):
        if few[c]:  # most rows belong to few components
            index = kept[c].nonzero()[0]
            part, r = part.take(index, axis=1), r[index]
        T[c] += (part * r) @ part.T


# ------------------------------------------------------------------------ the M step
class CovarianceFamily(NamedTuple):
    """Which covariances there are, and the floor below which no variance may fall.

    For covariances Σ ⪰ floor · I the maximum of −log det Σ − tr(Σ⁻¹S) is S with its eigenvalues
    lifted to the floor: the M step stays exact, and the likelihood monotone.
    """

    kind: str  # "full", "tied", "diagonal" or "spherical"
    floor: float

    @property
    def diagonal(self) -> bool:
        """Whether covariances are diagonal."""
        return self.kind in ("diagonal", "spherical")

    def maximise(self, expected: Expected) -> Mixture:
        """Return the parameters of largest expected likelihood."""
        counts = expected.counts
        weights = counts / counts.sum()
        if self.diagonal:
            return self._diagonal(expected, weights)
        return self._dense(expected, weights)

    def _diagonal(self, expected: Expected, weights: np.ndarray) -> Mixture:
        old, T = expected.mixture, expected.moments
        used, counts = _used(expected.counts)
        moves = np.where(used[:, None], T[:, :-1, 1] / counts[:, None], 0.0)
        spread = np.where(used[:, None], T[:, :-1, 0] / counts[:, None] - moves**2, 1.0)
        variances = spread * old.factors**2
        if self.kind == "spherical":
            variances[:] = variances.mean(axis=1, keepdims=True)
        floored = (variances < self.floor).sum(axis=1)
        factors = np.sqrt(np.maximum(variances, self.floor))
        return Mixture(weights, old.means + old.factors * moves, factors, floored)

    def _dense(self, expected: Expected, weights: np.ndarray) -> Mixture:
        old, T = expected.mixture, expected.moments
        used, counts = _used(expected.counts)
        d = old.means.shape[1]
        moves = np.where(used[:, None], T[:, :d, d] / counts[:, None], 0.0)
        spread = T[:, :d, :d] / counts[:, None, None] - moves[:, :, None] * moves[:, None, :]
        spread[~used] = np.eye(d)
        means = old.means + np.einsum("kij,kj->ki", old.factors, moves)
        covariances = old.factors @ spread @ old.factors.transpose(0, 2, 1)
        if self.kind == "tied":
            covariances = np.einsum("k,kij->ij", weights, covariances)[None]
        factors, floored = lifted_factors(covariances, self.floor)
        k = len(weights)
        factors, floored = np.broadcast_to(factors, (k, d, d)), np.broadcast_to(floored, k)
        return Mixture(weights, means, factors, floored)

    def n_parameters(self, k: int, d: int) -> int:
        """Return how many numbers k components in d dimensions have."""
        spread = {
            "full": k * d * (d + 1) // 2,
            "tied": d * (d + 1) // 2,
            "diagonal": k * d,
            "spherical": k,
        }
        return spread[self.kind] + k * d + k - 1


def _used(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which components have rows, and what to divide by."""
    used = counts > 0.0
    return used, np.where(used, counts, 1.0)


def lifted_factors(covariances: np.ndarray, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """Return Cholesky factors with all eigenvalues at least ``floor``, and how many were lifted."""
    eye = np.eye(covariances.shape[1])
    try:  # most often nothing is to be lifted, and this is the cheapest way to know
        np.linalg.cholesky(covariances - floor * eye)
        return np.linalg.cholesky(covariances), np.zeros(len(covariances), np.intp)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariances)
    lifted = np.sqrt(np.maximum(values, floor))
    # VΛVᵀ = (VΛ½)(VΛ½)ᵀ, and the triangular factor of (VΛ½)ᵀ never forms the square
    R = np.asarray(np.linalg.qr(lifted[:, :, None] * vectors.transpose(0, 2, 1), mode="r"))
    signs = np.where(np.diagonal(R, 0, 1, 2) < 0, -1.0, 1.0)
    factors = np.swapaxes(R * signs[:, :, None], 1, 2)
    return factors, (values < floor).sum(axis=1)


def step_size(old: Mixture, new: Mixture) -> float:
    """Return how far a step moves: the largest natural gradient of the mean log-likelihood.

    In units of each component it is w′ − w, w′L⁻¹(μ′ − μ) and ½w′(L⁻¹Σ′L⁻ᵀ − I).
    """
    worst = float(np.abs(new.weights - old.weights).max())
    for c, share in enumerate(new.weights):
        L, move, spread = old.factors[c], new.means[c] - old.means[c], new.factors[c]
        if old.diagonal:
            change = (spread / L) ** 2 - 1.0
            move = move / L
        else:
            half = solve_triangular(L, spread, lower=True, check_finite=False)
            change = half @ half.T - np.eye(len(move))
            move = solve_triangular(L, move, lower=True, check_finite=False)
        worst = max(worst, share * float(np.linalg.norm(move)))
        worst = max(worst, 0.5 * share * float(np.linalg.norm(change)))
    return worst
