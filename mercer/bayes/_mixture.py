"""Parameters of a Gaussian mixture, and rows whitened for all its components by one product.

Component c has the mean μ and the covariance LLᵀ; rows are taken in homogeneous coordinates,

    (y, 1) = (L⁻¹(z − μ), 1) = [L⁻¹  −L⁻¹μ; 0  1] (z, 1).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dtrtrs

from mercer._array import n_threads, ranges
from mercer._scratch import scratch
from mercer.bayes._density_loops import log_joint_of_diagonal
from mercer.bayes._units import Units

BLOCK = 2**17  # numbers in a whitened block: what the nearer caches hold
SIDE_BY_SIDE = 2**19  # whitened numbers in all; with fewer a second thread costs more than it saves
LOG_2PI = float(np.log(2.0 * np.pi))


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


class Rows:
    """Rows in homogeneous coordinates, as columns, with their weights."""

    def __init__(self, Z: np.ndarray, weight: np.ndarray | None = None):
        n, d = Z.shape
        self.columns = np.empty((d + 1, n))
        self.columns[:d], self.columns[d] = Z.T, 1.0
        self.weight = np.ones(n) if weight is None else weight

    def __len__(self) -> int:
        return self.columns.shape[1]

    @property
    def table(self) -> np.ndarray:
        """The rows as rows, shape (n, d)."""
        return self.columns[:-1].T

    def step(self, k: int) -> int:
        """Return how many rows are whitened at once for k components."""
        return max(32, BLOCK // (k * len(self.columns)))

    def blocks(self, k: int) -> list[slice]:
        """Return these parts of the rows."""
        return ranges(len(self), self.step(k))

    def workers(self, k: int) -> int:
        """Return how many threads a pass over the rows is worth."""
        return n_threads() if k * self.columns.size > SIDE_BY_SIDE else 1


class Whitening:
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

    def buffer(self, rows: Rows) -> np.ndarray:
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


def log_joint(X: np.ndarray, units: Units, mixture: Mixture, out: np.ndarray) -> None:
    """Write log w_c p(x | c) of rows in their own units to out, shape (n, k)."""
    if mixture.diagonal:
        at = (mixture.means, 1.0 / mixture.factors, mixture.log_scales() - units.log_volume)
        log_joint_of_diagonal(X, *units, *at, out)
        return
    whiten, rows = Whitening(mixture), Rows(units.standard(X))
    buffer = whiten.buffer(rows)
    for block in rows.blocks(len(mixture.weights)):
        out[block] = whiten.log_joint(whiten(rows.columns[:, block], buffer)).T
    out -= units.log_volume
