# mypy: ignore-errors
"""Compiled passes over new rows, for densities whose covariances are diagonal or banded."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
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


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def squares_of_bands(X, means, scale, bands, out):
    """Write Σ_j y_j² to out (n, C), y_j = Σ_l u_jl z_{j−l} with z = (x − μ_c) / scale.

    ``bands`` (C, d, k + 1) holds u of each class, 0 where there is no column j − l.
    """
    d, size = bands.shape[1:]
    z, y = np.zeros(d), np.empty(d)
    for i in range(X.shape[0]):
        for c in range(len(means)):
            for j in range(d):
                z[j] = (X[i, j] - means[c, j]) / scale[j]
                y[j] = bands[c, j, 0] * z[j]
            for lag in range(1, size):
                for j in range(lag, d):
                    y[j] += bands[c, j, lag] * z[j - lag]
            total = 0.0
            for j in range(d):
                total += y[j] * y[j]
            out[i, c] = total
