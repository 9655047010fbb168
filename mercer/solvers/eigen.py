"""The spectral engine: eigenpairs of symmetric operators and of pencils A v = λ B v."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from mercer._floats import EPS, TINY
from mercer.certify import eigen_residual, pencil_residual
from mercer.result import Solution, Status
from mercer.solvers._krylov import block_krylov

DENSE_UP_TO = 600  # points; LAPACK on the whole matrix is faster than products below
POINTS_PER_PAIR = 8  # from so many points for each eigenpair on products are faster than LAPACK
SAFETY = 0.1  # iterations aim at this share of the tolerance of the proof


@dataclass(frozen=True, kw_only=True)
class EigenSolution(Solution):
    """Eigenpairs: ``value`` holds the vectors as columns.

    Parameters
    ----------
    eigenvalues : array of shape (k,)
        The eigenvalues, in the order of the vectors.
    trace : float
        The sum of all eigenvalues, found or not; NaN if it is not known.
    negative : array
        Negative eigenvalues that were come upon, the most negative first.
    """

    eigenvalues: np.ndarray
    trace: float = float("nan")
    negative: np.ndarray = field(default_factory=lambda: np.empty(0))


# ------------------------------------------------------------------------ any operator
def symmetric_eigenpairs(
    A: Any,
    k: int | None = None,
    *,
    tolerance: float = 1e-8,
    trace: float | None = None,
    random_state: int = 0,
) -> EigenSolution:
    """Return the k largest (algebraic) eigenvalues of a symmetric operator and their vectors.

    LAPACK serves small arrays and many eigenpairs, block Krylov the rest.

    Parameters
    ----------
    A : array, sparse matrix or LinearOperator of shape (n, n)
        Symmetric, float64.
    k : int or None, default=None
        How many; None means all.
    trace : float, default=None
        The sum of all eigenvalues, for the discarded share; None: the trace of A if A shows it.

    Returns
    -------
    EigenSolution
        ``value`` holds the eigenvectors, shape (n, k); ``eigenvalues`` fall.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers import symmetric_eigenpairs
    >>> symmetric_eigenpairs(np.diag([1.0, 3.0, 2.0]), 2).eigenvalues
    array([3., 2.])
    """
    n = A.shape[0]
    k = n if k is None else min(k, n)
    if few(n, k):
        values, vectors = _by_products(A, k, tolerance, random_state)
    else:
        values, vectors = by_lapack(_array_of(A), k)
    vectors = fix_signs(vectors)
    certificate = eigen_residual(A, values, vectors, tolerance=tolerance, trace=trace)
    return EigenSolution(vectors, status_of(certificate), certificate, eigenvalues=values)


def smallest_eigenpairs(A: Any, k: int, *, tolerance: float = 1e-8) -> EigenSolution:
    """Return the k smallest eigenvalues, rising, of a positive semidefinite matrix.

    A sparse matrix is factored once, a little below zero, and inverted in a Lanczos run: its
    small eigenvalues are then the far ones.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers import smallest_eigenpairs
    >>> smallest_eigenpairs(np.diag([1.0, 3.0, 2.0]), 2).eigenvalues
    array([1., 2.])
    """
    n = A.shape[0]
    k = min(k, n)
    if few(n, k) and sp.issparse(A):
        values, vectors = _by_inversion(A, k)
    else:
        A_array = _array_of(A)
        values, vectors = _some(A_array, 0, k)
    vectors = fix_signs(vectors)
    scale = float(abs(A).sum(axis=0).max())  # ‖A‖₁ ≥ the largest eigenvalue
    certificate = eigen_residual(A, values, vectors, tolerance=tolerance, scale=scale)
    return EigenSolution(vectors, status_of(certificate), certificate, eigenvalues=values)


def few(n: int, k: int) -> bool:
    """Tell whether so few eigenpairs are wanted that products beat LAPACK."""
    return n > DENSE_UP_TO and 0 < k * POINTS_PER_PAIR <= n


def _by_products(
    A: Any, k: int, tolerance: float, random_state: int
) -> tuple[np.ndarray, np.ndarray]:
    def multiply(V: np.ndarray) -> np.ndarray:
        return np.asarray(A @ V)

    aim = SAFETY * tolerance
    ritz = block_krylov(multiply, A.shape[0], k, tolerance=aim, random_state=random_state)
    return ritz.values, ritz.vectors


def by_lapack(A: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest, falling; A is written over."""
    n = len(A)
    if k == 0:
        return np.empty(0), np.empty((n, 0))
    values, vectors = _some(A, n - k, n)
    for i in range(k // 2):  # in place: a view backwards would be copied by whoever multiplies it
        vectors[:, [i, k - 1 - i]] = vectors[:, [k - 1 - i, i]]
    return values[::-1], vectors


def _some(A: np.ndarray, first: int, end: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenpairs from one place up to another, rising; A is written over.

    LAPACK's way for a part of them gives up on some matrices with clusters of eigenvalues, the
    affinities of 23 equal points among them: it returns none, and says nothing. Its other way finds
    all of them, from the triangle that the first one has left.
    """
    if end - first == len(A):
        return eigh(A.T, overwrite_a=True, check_finite=False)
    diagonal = np.diagonal(A).copy()
    part = (first, end - 1)
    values, vectors = eigh(A.T, subset_by_index=part, overwrite_a=True, check_finite=False)
    if len(values) == end - first:
        return values, vectors
    np.fill_diagonal(A, diagonal)
    values, vectors = eigh(A.T, lower=False, overwrite_a=True, check_finite=False, driver="evd")
    return values[first:end], vectors[:, first:end]


def _by_inversion(A: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    n = A.shape[0]
    shift = -1e-9 * max(float(abs(A).sum(axis=0).max()), TINY)
    factor = splu((A - shift * sp.identity(n, format="csc")).tocsc())
    inverse = LinearOperator((n, n), factor.solve, dtype=np.float64)
    start = np.random.default_rng(0).uniform(-1, 1, n)  # the same in every run
    return eigsh(A, k, sigma=shift, OPinv=inverse, which="LM", v0=start, tol=0)


def _array_of(A: Any) -> np.ndarray:
    """Return a symmetric operator as an array that may be written over."""
    if isinstance(A, np.ndarray):
        return A.astype(np.float64, order="C")
    if sp.issparse(A):
        return A.toarray().astype(np.float64)
    return np.asarray(A @ np.eye(A.shape[0]))


# ------------------------------------------------------------------------ pencils
def pencil_eigenpairs(
    A: np.ndarray,
    B: np.ndarray,
    k: int | None = None,
    *,
    shrinkage: float = 0.0,
    tolerance: float = 1e-8,
) -> EigenSolution:
    """Return the k largest eigenpairs of A v = λ B v with vᵀBv' = δ, on the range of B.

    B = U D Uᵀ is whitened first: with W = U D^(−½) over the eigenvalues of B above rounding,
    WᵀAW z = λ z and v = W z. A rank-deficient B needs no other care.

    Parameters
    ----------
    A, B : array of shape (p, p)
        Symmetric; B positive semidefinite.
    k : int or None, default=None
        How many; None means the rank of B.
    shrinkage : float in [0, 1], default=0.0
        s in (1 − s) B + s tr(B)/p I, which takes the place of B.

    Returns
    -------
    EigenSolution
        ``value`` holds the vectors, shape (p, k); ``eigenvalues`` fall.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers import pencil_eigenpairs
    >>> pencil_eigenpairs(np.diag([1.0, 3.0, 5.0]), np.diag([1.0, 1.0, 0.0])).eigenvalues
    array([3., 1.])
    """
    if not 0.0 <= shrinkage <= 1.0:
        raise ValueError(f"shrinkage must lie in [0, 1]; got {shrinkage!r}")
    p = len(B)
    if shrinkage:
        B = (1.0 - shrinkage) * B + shrinkage * (np.trace(B) / p) * np.eye(p)
    D, U = eigh(B, check_finite=False)
    keep = p * EPS * np.abs(D).max(initial=0.0) < D
    W = U[:, keep] / np.sqrt(D[keep])
    rank = W.shape[1]
    values, Z = by_lapack(_symmetric(W.T @ A @ W), rank if k is None else min(k, rank))
    vectors = fix_signs(W @ Z)
    certificate = pencil_residual(A, B, values, vectors, W, tolerance=tolerance)
    return EigenSolution(vectors, status_of(certificate), certificate, eigenvalues=values)


def _symmetric(A: np.ndarray) -> np.ndarray:
    return (A + A.T) / 2


# ------------------------------------------------------------------------ all of them
def fix_signs(vectors: np.ndarray) -> np.ndarray:
    """Make the entry of largest size of each column positive: the same signs in every run."""
    return vectors * signs(vectors)


def signs(vectors: np.ndarray) -> np.ndarray:
    """Return the sign of the entry of largest size of each column."""
    if vectors.size == 0:
        return np.ones(vectors.shape[1])
    high, low = vectors.max(axis=0), -vectors.min(axis=0)
    found = np.where(low > high, -1.0, 1.0)
    tied = np.flatnonzero(low == high)  # then the first of the largest entries decides
    first = np.abs(vectors[:, tied]).argmax(axis=0)
    found[tied] = np.where(vectors[first, tied] < 0, -1.0, 1.0)
    return found


def status_of(certificate: Any) -> Status:
    """Return how a solve ended that has only its proof to show."""
    return Status.OPTIMAL if certificate.ok else Status.INACCURATE
