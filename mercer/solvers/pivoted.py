"""Cholesky factors with pivots: of a whole matrix, from given points, or from points drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from mercer._clock import deadline, look
from mercer._floats import EPS, LEAST_DIVISOR
from mercer._threads import one_blas_thread
from mercer.gram import Gram

NEGLIGIBLE = 1e-12  # pivots, relative to the largest: less is noise of the factorisation
PROPOSED = 64  # pivots that are looked at together


def pivoted_cholesky(
    A: np.ndarray, limit: float | None = None, *, overwrite: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return U of shape (r, n) and an order p with A[p][:, p] = UᵀU, up to what is left out.

    Parameters
    ----------
    A : array of shape (n, n)
        Symmetric and positive semidefinite.
    limit : float, default=None
        Pivots of at most this size are left out; None: 10⁻¹² of the largest diagonal entry.
    overwrite : bool, default=False
        Whether A, in Fortran's order, may be written over.
    """
    if limit is None:
        limit = NEGLIGIBLE * max(float(np.diagonal(A).max(initial=0.0)), LEAST_DIVISOR)
    A = A if overwrite else np.array(A, order="F")
    U, pivots, rank, _ = dpstrf(A, tol=limit, overwrite_a=True)
    if rank and U[0, 0] ** 2 <= limit:  # LAPACK takes one column whatever the tolerance
        rank = 0
    return np.triu(U[:rank]), pivots - 1


def factor_from_points(K: Gram, points: np.ndarray) -> np.ndarray:
    """Return F of shape (n, r) with FFᵀ ≈ K, equal to K on the rows of these points (Nyström)."""
    return factor_and_points(K, points)[0]


def factor_and_points(K: Gram, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the same F, and the r points that it is made of: F[points] is lower triangular."""
    rows = K.rows(points)
    with one_blas_thread():  # so small a matrix is not worth waking another thread
        U, order = pivoted_cholesky(rows[:, points])
    r = len(U)
    F = solve_triangular(U[:, :r], rows[order[:r]], trans="T", check_finite=False).T
    return F, points[order[:r]]


def randomly_pivoted_cholesky(
    K: Gram, rank: int, random: Any, *, go_on: Callable[[int, float], bool] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return F of shape (n, r), r ≤ rank, with FFᵀ ≈ K, and the r points on whose rows it is K.

    Each point is drawn with a probability like what those before it do not explain of it (Chen,
    Epperly, Tropp and Webber, "Randomly pivoted Cholesky"). Proposals come in blocks and are
    refused so that the distribution is that of one draw after the other. ``go_on`` is told the rank
    and the trace of K − FFᵀ after each block and says whether more is wanted.
    """
    n, r = K.shape[0], 0
    F, chosen = np.empty((n, rank), order="F"), np.empty(rank, np.intp)
    rest = np.maximum(K.diagonal().astype(np.float64), 0.0)
    enough = n * EPS * float(rest.sum())
    while r < rank and rest.sum() > enough:
        look(deadline())
        draw = random.choice(n, PROPOSED, p=rest / rest.sum())
        H = K.restrict(draw, draw).toarray() - F[draw, :r] @ F[draw, :r].T
        kept, C = _accepted(H, rank - r, random)
        if not len(kept):  # nothing but rounding was proposed
            break
        new, more = draw[kept], slice(r, r + len(kept))
        G = K.rows(new) - F[new, :r] @ F[:, :r].T  # (b, n): what is not explained yet
        F[:, more] = solve_triangular(C, G, lower=True, check_finite=False).T
        rest = np.maximum(rest - np.einsum("ij,ij->i", F[:, more], F[:, more]), 0.0)
        rest[new] = 0.0
        chosen[more], r = new, more.stop
        if go_on is not None and not go_on(r, float(rest.sum())):
            break
    return F[:, :r], chosen[:r]


def _accepted(H: np.ndarray, most: int, random: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return which proposals are taken and their Cholesky factor, lower.

    A proposal is taken with the share of it that is still not explained.
    """
    H = (H + H.T) / 2.0
    before, columns = np.diagonal(H).copy(), []
    kept: list[int] = []
    for i, threshold in enumerate(random.random_sample(len(H))):
        left = H[i, i]
        if len(kept) < most and left > max(threshold, NEGLIGIBLE) * before[i]:
            kept.append(i)
            columns.append(H[:, i] / np.sqrt(left))
            H -= np.outer(columns[-1], columns[-1])
    return np.array(kept, dtype=np.intp), np.array(columns).T[kept] if kept else H[:0, :0]
