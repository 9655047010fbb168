"""A centred Gram matrix as GGᵀ, by Cholesky with pivots: as many columns as it has rank."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.linalg.lapack import dpstrf

from mercer._floats import EPS
from mercer.gram import CenteredGram, fresh_array


def pivoted_factor(K: CenteredGram, memory: Any = None) -> np.ndarray:
    """Return G with K = GGᵀ up to rounding, shape (n, rank); its columns sum to 0."""
    noise = K.shape[0] * EPS * float(np.abs(K.base.diagonal()).max(initial=0.0))
    # K is symmetric: its transpose, in Fortran's order, needs no copy
    A, pivots, rank, _ = dpstrf(fresh_array(K, memory).T, tol=noise, lower=1, overwrite_a=1)
    if A[0, 0] ** 2 <= noise:  # LAPACK takes one column whatever the tolerance
        rank = 0
    G = np.empty((len(A), rank))
    G[pivots - 1] = np.tril(A[:, :rank])
    G -= G.mean(axis=0)
    return G


def dual_coefficients(
    G: np.ndarray, w: np.ndarray, ridge: float, targets: np.ndarray
) -> np.ndarray:
    """Return α with Gᵀα = w, for w that solves (GᵀG + ridge I) w = Gᵀ targets.

    Of a matrix of low rank it is the α of least norm; of any other α = (targets − Gw) / ridge,
    which rounding spoils where the ridge is very small.
    """
    if G.shape[1] == 0:
        return np.zeros_like(targets)
    if 2 * G.shape[1] <= len(G):
        Q, R = qr(G, mode="economic", check_finite=False)
        alpha = Q @ solve_triangular(R, w, trans="T", check_finite=False)
    else:
        alpha = (targets - G @ w) / ridge
    return alpha - alpha.mean(axis=0)
