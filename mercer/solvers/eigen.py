"""Leading eigenpairs of a symmetric Gram matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackError, eigsh

from mercer.certify import eigen_residual
from mercer.gram import CenteredGram, Gram, fresh_array
from mercer.result import Solution, Status

ROUNDINGS = 100  # of an entry, from its computation to the centred sum
DENSE_UP_TO = 1000  # points; LAPACK on the whole matrix is faster than ARPACK below


def leading_eigenpairs(
    K: Gram,
    n_components: int | None,
    *,
    tolerance: float = 1e-8,
    memory: int | float | str | None = None,
) -> Solution:
    """Return the eigenpairs of the largest eigenvalues, as far as these are positive.

    LAPACK serves small matrices and many components, ARPACK (products with K only, so any storage)
    the rest.

    Parameters
    ----------
    K : Gram of shape (n, n)
        A symmetric matrix, float64.
    n_components : int or None
        How many; None means all positive ones.
    memory : int, str or None, default=None
        The byte budget of the copy of K that LAPACK works on.

    Returns
    -------
    Solution
        ``value`` holds the eigenvectors, shape (n, k); ``state`` the eigenvalues, falling.
    """
    n = K.shape[0]
    k = n if n_components is None else min(n_components, n)
    few = n > DENSE_UP_TO and k <= n // 10
    values, vectors = _by_arpack(K, k, memory) if few else _by_lapack(K, k, memory)
    keep = values > _rounding(K, values)
    values, vectors = values[keep], _fix_signs(vectors[:, keep])
    certificate = eigen_residual(K, values, vectors, tolerance=tolerance)
    status = Status.OPTIMAL if certificate.ok else Status.INACCURATE
    return Solution(vectors, status, certificate, state=values)


def _rounding(K: Gram, values: np.ndarray) -> float:
    """Return what rounding can do to an eigenvalue, by the size of the entries before centring."""
    entries = K.base if isinstance(K, CenteredGram) else K
    trace = K.shape[0] * np.abs(entries.diagonal()).max(initial=0.0)
    return ROUNDINGS * np.finfo(np.float64).eps * max(trace, np.abs(values).max(initial=0.0))


def _by_lapack(K: Gram, k: int, memory: Any) -> tuple[np.ndarray, np.ndarray]:
    n = K.shape[0]
    A = fresh_array(K, memory)
    subset = None if k == n else (n - k, n - 1)
    values, vectors = eigh(A.T, subset_by_index=subset, overwrite_a=True, check_finite=False)
    return values[::-1], vectors[:, ::-1]


def _by_arpack(K: Gram, k: int, memory: Any) -> tuple[np.ndarray, np.ndarray]:
    start = np.random.default_rng(0).uniform(-1, 1, K.shape[0])  # the same in every run
    try:
        values, vectors = eigsh(K, k, which="LA", v0=start, tol=0)
    except ArpackError:  # a cluster of equal eigenvalues, a matrix of zeros: LAPACK does not mind
        return _by_lapack(K, k, memory)
    order = np.argsort(values)[::-1]
    return values[order], vectors[:, order]


def _fix_signs(vectors: np.ndarray) -> np.ndarray:
    """Make the entry of largest size of each vector positive: the same signs in every run."""
    if vectors.size == 0:
        return vectors
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return vectors * np.where(largest < 0, -1.0, 1.0)
