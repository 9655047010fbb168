"""The Hessian of a likelihood in all coordinates of all classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._array import ranges
from mercer._scratch import scratch
from mercer.linear._logistic import LikelihoodPoint, LogisticDesign, SoftmaxPoint

BLOCK_ENTRIES = 2**20  # of columns side by side for all classes, at once


def hessian(design: LogisticDesign, point: LikelihoodPoint, *, gauge: float = 0.0) -> np.ndarray:
    """Return the Hessian of all coordinates, class by class.

    Adding the same to all classes changes no probability: there a softmax has no curvature, and is
    given ``gauge``, which moves no solution (that has a mean of 0).
    """
    (m, _), k = design.scale.shape, point.slopes.shape[1]
    H, each = _between(design.A, point), np.arange(m)
    for c in range(k):  # of its own, from p(1 − p), where p − p² would lose digits
        H[c, :, c] = _weighted(design.A, point.entry(c, c))
    scale = np.tile(design.scale[:, 0], k).reshape(k, m)
    H /= scale[:, :, None, None] * scale
    for c in range(k):
        H[c, each, c, each] += design.penalty[:, 0]
    if k > 1 and gauge:
        free = np.flatnonzero(design.penalty[:, 0] == 0.0)
        H[:, free, :, free] += gauge / k
    return H.reshape(k * m, k * m)


def _between(A: Any, point: LikelihoodPoint) -> np.ndarray:
    """Return the curvature between classes, −Aᵀ diag(w p q) A, of all pairs: shape (k, m, k, m).

    It is one product of the columns times √w p, of all classes side by side. That of a class with
    itself is left open.
    """
    m, k = A.shape[1], point.slopes.shape[1]
    if not isinstance(point, SoftmaxPoint):
        return np.zeros((k, m, k, m))
    if sp.issparse(A):
        return _sparse_between(A, point)
    H = np.zeros((k * m, k * m))
    shares = point.P * np.sqrt(point.w)
    for rows in ranges(len(A), max(1, BLOCK_ENTRIES // (k * m))):
        B = (shares[rows, :, None] * A[rows, None, :]).reshape(-1, k * m)
        H -= B.T @ B
    return H.reshape(k, m, k, m)


def _sparse_between(A: Any, point: SoftmaxPoint) -> np.ndarray:
    m, k = A.shape[1], point.P.shape[1]
    H = np.zeros((k, m, k, m))
    for c in range(k):
        for d in range(c):
            H[c, :, d] = -_weighted(A, -point.entry(c, d))
            H[d, :, c] = H[c, :, d].T
    return H


def _weighted(A: Any, h: np.ndarray) -> np.ndarray:
    """Return Aᵀ diag(h) A for h ≥ 0."""
    if sp.issparse(A):
        return (A.T @ (sp.diags_array(h) @ A)).toarray()
    B = np.multiply(A, np.sqrt(h)[:, None], out=scratch(A.shape, np.float64, brief=True))
    return B.T @ B
