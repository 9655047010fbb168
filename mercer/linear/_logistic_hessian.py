"""The Hessian of a likelihood in all coordinates of all classes, and standard errors by it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf, dtrtri

from mercer._array import ranges
from mercer._floats import EPS
from mercer._scratch import scratch
from mercer._threads import threads_for
from mercer.linear._logistic import (
    LikelihoodPoint,
    LogisticDesign,
    SoftmaxPoint,
)

DEFINITE_PIVOTS = 1e-6  # ratio of pivots of a matrix that is safely definite
BLOCK_ENTRIES = 2**20  # of columns side by side for all classes, at once
SMALL_TABLE = 2**16  # entries that new memory is quick for


def hessian(design: LogisticDesign, point: LikelihoodPoint, *, gauge: float = 0.0) -> np.ndarray:
    """Return the Hessian of all coordinates, class by class.

    Adding the same to all classes changes no probability: there a softmax has no curvature, and is
    given ``gauge``, which moves no solution (that has a mean of 0).
    """
    (m, _), k = design.scale.shape, point.slopes.shape[1]
    if isinstance(point, SoftmaxPoint):
        H = _between(design.A, point)
        for c in range(k):  # p(1 − p) = Σ p q over the other classes: nothing cancels
            H[c, :, c] = 0.0
            H[c, :, c] = -H[c].sum(axis=1)
    else:
        H = _weighted(design.A, point.entry(0, 0))[None, :, None]
    scale = np.tile(design.scale[:, 0], k).reshape(k, m)
    H /= scale[:, :, None, None] * scale
    return _with_penalty(H, design, gauge)


def first_hessian(design: LogisticDesign, k: int, *, gauge: float = 0.0) -> np.ndarray | None:
    """Return the same at 0, where all rows have the same curvature; None without products."""
    block = first_block(design, k)
    if block is None:
        return None
    shares = np.eye(k) if k == 1 else (np.eye(k) - 1.0 / k) / (1.0 - 1.0 / k)
    return _with_penalty(np.einsum("cd,ij->cidj", shares, block), design, gauge)


def first_block(design: LogisticDesign, k: int) -> np.ndarray | None:
    """Return the curvature at 0 of a class with itself, p(1 − p) AᵀWA: all have the same."""
    if design.products is None:
        return None
    p = 0.5 if k == 1 else 1.0 / k
    return p * (1.0 - p) * design.products / design.scale / design.scale.T


def _with_penalty(H: np.ndarray, design: LogisticDesign, gauge: float) -> np.ndarray:
    """Add penalties to the diagonal, and the gauge; return a matrix."""
    k, m = H.shape[:2]
    each = np.arange(m)
    for c in range(k):
        H[c, each, c, each] += design.penalty[:, 0]
    if k > 1 and gauge:
        free = np.flatnonzero(design.penalty[:, 0] == 0.0)
        H[:, free, :, free] += gauge / k
    return H.reshape(k * m, k * m)


def _between(A: Any, point: SoftmaxPoint) -> np.ndarray:
    """Return the curvature between classes, −Aᵀ diag(w p q) A, of all pairs: shape (k, m, k, m).

    It is one product of the columns times √w p, of all classes side by side. That of a class with
    itself is left open.
    """
    m, k = A.shape[1], point.slopes.shape[1]
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
    out = scratch(A.shape, np.float64, brief=True) if A.size > SMALL_TABLE else None
    B = np.multiply(A, np.sqrt(h)[:, None], out=out)
    return B.T @ B


class HeldCurvature(NamedTuple):
    """What the standard errors of a fit are computed from."""

    design: LogisticDesign
    point: LikelihoodPoint
    n_outputs: int
    unit: float  # of the weights

    @property
    def operations(self) -> float:
        """Operations that they take."""
        (n, m), k = self.design.A.shape, self.n_outputs
        return n * (m * k) ** 2.0 + (m * k) ** 3.0

    def standard_errors(self) -> np.ndarray:
        """Return those of all coefficients, (d + 1, k); the last row is that of the intercepts."""
        (n, m), k = self.design.A.shape, self.n_outputs
        with threads_for(float(n) * m * m * k * k):
            H = hessian(self.design, self.point, gauge=1.0)
            return standard_errors(H, self.design, k) / self.unit**0.5


# ---------------------------------------------------------------- inference
def inverse_root(H: np.ndarray) -> np.ndarray:
    """Return R with RRᵀ = H⁻¹, on the range of H if it is singular."""
    factor = definite_factor(H)
    if factor is not None:
        return dtrtri(factor, lower=1)[0].T
    values, V = positive_part(H)
    return V / np.sqrt(values)


def definite_factor(H: np.ndarray) -> np.ndarray | None:
    """Return the Cholesky factor of H, or None if H may be singular."""
    factor, failed = dpotrf(H, lower=1)
    pivots = np.diag(factor)
    return None if failed or pivots.min() <= DEFINITE_PIVOTS * pivots.max() else factor


def positive_part(H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues of H that are more than rounding, and their eigenvectors."""
    values, V = eigh(H)  # of what is no number LAPACK never returns
    keep = values > len(H) * EPS * values[-1]
    return values[keep], V[:, keep]


def standard_errors(H: np.ndarray, design: LogisticDesign, k: int) -> np.ndarray:
    """Return √diag(M H⁻¹ Mᵀ) of the map M from coordinates to coefficients, (d + 1, k).

    H has a gauge. The last row is that of the intercepts. Directions without curvature, along
    which nothing is known, have no part in it: what is added to all classes alike, too.
    """
    root = inverse_root(H).reshape(k, len(H) // k, -1)
    if k > 1:
        free = design.penalty[:, 0] == 0.0
        root[:, free] -= root[:, free].mean(axis=0)
    errors = []
    for c in range(k):
        w, b = design.back(root[c])
        errors.append(np.sqrt(np.append(np.sum(w**2, axis=1), np.sum(b**2))))
    return np.column_stack(errors)
