"""Whitening: rows turned into uncorrelated signals of variance one, as many as the rank allows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import svd

from mercer._array import largest_size
from mercer._scratch import scratch
from mercer.solvers import fix_signs, symmetric_eigenpairs

EPS = float(np.finfo(np.float64).eps)
ILL_CONDITIONED = 1e-6  # variances below this share of the largest lose digits in a covariance


class Whitening(NamedTuple):
    """The signals z = unmixing (x − mean), with x − mean = mixing z on the space that is kept."""

    mean: np.ndarray  # (d,)
    unmixing: np.ndarray  # (k, d)
    mixing: np.ndarray  # (d, k)
    signals: np.ndarray  # (k, n)


def whiten(X: Any, n_components: int | None) -> Whitening:
    """Return the leading principal components of X with variance one (divisor n).

    No more than the rank of the centred rows are kept. A covariance matrix serves where it is well
    conditioned, a singular value decomposition of the rows elsewhere.
    """
    n, d = X.shape
    scale = largest_size(X) or 1.0  # squares neither overflow nor vanish
    rows = np.divide(X, scale, out=scratch((n, d), np.float64, brief=True), dtype=np.float64)
    mean = (np.ones(n) @ rows) / n
    rows -= mean
    sizes, axes = _axes(rows, n_components)
    noise = 4.0 * EPS * (max(n, d) * sizes.max(initial=0.0) + float(np.linalg.norm(mean)))
    keep = sizes > noise
    sizes, axes = sizes[keep], axes[:, keep]
    unmixing = (axes / sizes).T
    signals = scratch((len(unmixing), n), np.float64, brief=True)
    np.matmul(unmixing, rows.T, out=signals)
    return Whitening(mean * scale, unmixing / scale, axes * (sizes * scale), signals)


def _axes(rows: np.ndarray, k: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the standard deviations along the k principal axes, falling, and the axes."""
    n, d = rows.shape
    if d <= n:
        solution = symmetric_eigenpairs((rows.T @ rows) / n, k)
        variances = solution.state
        if variances[-1] > ILL_CONDITIONED * variances[0]:
            return np.sqrt(variances), solution.value
    _, sizes, axes = svd(rows, full_matrices=False, check_finite=False)
    return sizes[:k] / np.sqrt(n), fix_signs(axes[:k].T)
