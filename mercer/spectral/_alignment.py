"""Variants of locally linear embedding: what each neighbourhood costs, summed over all of them.

Every variant says by a matrix Lᵢ how badly the coordinates of the neighbours of a point fit its
neighbourhood; the coordinates are the eigenvectors of M = Σ Lᵢ with the smallest eigenvalues after
the constant one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from mercer._array import largest_size, ranges
from mercer._floats import TINY

BLOCK_VALUES = 2**18  # of neighbourhoods that are taken apart together
REG = 1e-3  # of the weights of modified LLE, as a share of the squared distances
NO_TURN = 1e-12  # length of a reflection's normal below which there is nothing to reflect


def neighbourhoods(n: int, k: int, d: int) -> list[slice]:
    """Return blocks of rows whose k neighbours in d columns are taken apart together."""
    return ranges(n, max(1, BLOCK_VALUES // (k * max(k, d))))


def alignment(X: np.ndarray, index: np.ndarray, method: str, n_components: int) -> sp.csr_array:
    """Return M for the neighbours ``index`` (n, k) of the rows X."""
    n, k = index.shape
    check_counts(method, k, n_components, X.shape[1])
    unit = max(largest_size(X), TINY)  # squares neither overflow nor vanish
    if method == "modified":
        return _modified(X, index, n_components, unit)
    local: Callable[[np.ndarray, int], np.ndarray] = _tangent if method == "ltsa" else _hessian
    M = sp.csr_array((n, n))
    for rows in neighbourhoods(n, k, X.shape[1]):
        points = X[index[rows]].astype(np.float64)  # (b, k, d)
        points = (points - points[:, :1]) / unit  # differences first: an offset costs no digits
        points -= points.mean(axis=1, keepdims=True)
        M = M + _scattered(index[rows], local(points, n_components), n)
    return M


def check_counts(method: str, k: int, n_components: int, d: int) -> None:
    """Raise if the neighbours are too few for a variant, or the columns for the coordinates."""
    needed = {
        "ltsa": n_components + 1,
        "hessian": n_components * (n_components + 3) // 2 + 1,
        "modified": n_components,
    }[method]
    if k < needed:
        raise ValueError(
            f"n_neighbors must be at least {needed} where method={method!r} and "
            f"n_components={n_components}; got {k}"
        )
    if n_components > d:
        raise ValueError(
            f"n_components must not exceed the number of columns, {d}, where method={method!r}; "
            f"got {n_components}"
        )


def _scattered(index: np.ndarray, local: np.ndarray, n: int) -> sp.csr_array:
    """Return the sum of matrices (b, k, k) over the points that their rows and columns are of."""
    shape = local.shape
    rows, columns = (np.broadcast_to(part, shape) for part in (index[:, :, None], index[:, None]))
    parts = (local.ravel(), (rows.ravel(), columns.ravel()))
    return sp.csr_array(sp.coo_array(parts, shape=(n, n)))


# ---------------------------------------------------------------- local tangent spaces
def _tangent(points: np.ndarray, m: int) -> np.ndarray:
    """Return I − GGᵀ: what constants and the m tangent coordinates G do not explain."""
    b, k, _ = points.shape
    U = np.linalg.svd(points, full_matrices=False)[0][:, :, :m]
    G = np.concatenate([np.full((b, k, 1), k**-0.5), U], axis=2)
    return np.eye(k) - G @ G.transpose(0, 2, 1)


# ---------------------------------------------------------------- Hessians
def _hessian(points: np.ndarray, m: int) -> np.ndarray:
    """Return WWᵀ with estimators W of second derivatives in tangent coordinates."""
    b, k, _ = points.shape
    U = np.linalg.svd(points, full_matrices=False)[0][:, :, :m]
    products = [U[:, :, i] * U[:, :, j] for i in range(m) for j in range(i, m)]
    Y = np.concatenate([np.ones((b, k, 1)), U, np.stack(products, axis=2)], axis=2)
    W = np.linalg.qr(Y)[0][:, :, m + 1 :]  # no more: what is beyond parabolas costs nothing
    return W @ W.transpose(0, 2, 1)


# ---------------------------------------------------------------- several weights for each point
def _modified(X: np.ndarray, index: np.ndarray, m: int, unit: float) -> sp.csr_array:
    """Return M of modified LLE: several weights for each point, as many as are nearly as good."""
    n, k = index.shape
    V, squares, weights = np.empty((n, k, k)), np.zeros((n, k)), np.empty((n, k))
    rank = min(k, X.shape[1])
    for rows in neighbourhoods(n, k, X.shape[1]):
        gaps = (X[index[rows]].astype(np.float64) - X[rows][:, None]) / unit
        V[rows], sizes, _ = np.linalg.svd(gaps)
        squares[rows, :rank] = sizes**2
        weights[rows] = _weights(V[rows], squares[rows])
    counts = _count_weights(squares[:, :rank], m) + k - rank
    local = np.empty((n, k + 1, k + 1))
    for i in range(n):
        local[i] = _costs(V[i, :, k - counts[i] :], weights[i])
    around = np.column_stack([np.arange(n), index])
    return _scattered(around, local, n)


def _weights(V: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Return the weights with a ridge, which sum to 1, from the axes of the gaps."""
    ridge = REG * squares.sum(axis=1, keepdims=True)
    inner = V.sum(axis=1) / (squares + np.where(ridge > 0.0, ridge, 1.0))
    w = np.einsum("bij,bj->bi", V, inner)
    return w / w.sum(axis=1, keepdims=True)


def _count_weights(squares: np.ndarray, m: int) -> np.ndarray:
    """Return how many of the smallest squares hold less than the typical share of them."""
    total = np.maximum(squares.sum(axis=1, keepdims=True), TINY)
    large = np.cumsum(squares, axis=1) / total
    typical = np.median((1.0 - large[:, m - 1]) / np.maximum(large[:, m - 1], TINY))
    shares = 1.0 / np.maximum(large[:, :-1], TINY) - 1.0  # falling
    return np.array([np.searchsorted(row[::-1], typical) for row in shares], dtype=np.intp)


def _costs(V: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the costs of a point and its neighbours: WWᵀ with sums of W for the point itself."""
    s = V.shape[1]
    if s == 0:
        return np.zeros((len(V) + 1, len(V) + 1))
    sums = V.sum(axis=0)
    alpha = float(np.linalg.norm(sums)) / s**0.5
    h = alpha - sums
    length = float(np.linalg.norm(h))
    h = h / length if length > NO_TURN else np.zeros_like(h)
    W = V - 2.0 * np.outer(V @ h, h) + (1.0 - alpha) * weights[:, None]
    whole = np.vstack([-np.ones((1, s)), W])
    return whole @ whole.T
