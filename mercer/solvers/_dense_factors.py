"""Factors of a dense symmetric matrix that solve (A + λ) x = r: Cholesky's and eigenvectors."""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy.linalg import eigh
from scipy.linalg.lapack import get_lapack_funcs


class EigenForm:
    """A = V S Vᵀ, and (A + λ)⁺ for any λ: what is zero up to rounding is left out."""

    def __init__(self, values: np.ndarray, vectors: np.ndarray, lams: np.ndarray):
        self.values, self.vectors, self._lams = values, vectors, lams
        self.usable = np.ones(len(lams), bool)

    @classmethod
    def of(cls, A: np.ndarray, lams: np.ndarray) -> EigenForm:
        """Decompose A, whose lower triangle is read and written over."""
        if not all(np.isfinite(A[j:, j]).all() for j in range(len(A))):
            raise ValueError("the Gram matrix has values that are not finite: rescale X")
        values, vectors = eigh(A, lower=True, overwrite_a=True, check_finite=False)
        return cls(values, vectors, lams)

    def solve(self, R: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Return (A + λ)⁺ r for right-hand sides (n_lams, t, n) of the λ of these numbers."""
        shifted = self.values + self._lams[which, None, None]
        cutoff = len(self.values) * np.finfo(R.dtype).eps * np.abs(shifted).max(axis=2)
        small = np.abs(shifted) <= cutoff[..., None]
        inverse = np.divide(1.0, shifted, out=np.zeros_like(shifted), where=~small)
        return (inverse * (R @ self.vectors)) @ self.vectors.T


class CholeskyForm:
    """A + λ = L Lᵀ for one λ; ``usable`` says whether it exists in this precision."""

    def __init__(self, A: np.ndarray, lam: float):
        A[np.diag_indices_from(A)] += lam
        potrf, self._potrs = get_lapack_funcs(("potrf", "potrs"), (A,))
        self._L, info = potrf(A, lower=True, clean=False, overwrite_a=True)
        self.usable = np.array([info == 0])

    def solve(self, R: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Return (A + λ)⁻¹ r for right-hand sides of shape (1, t, n)."""
        return self._potrs(self._L, R[0].T, lower=True)[0].T[None]

    def condition(self, A_norm: float) -> float:
        """Return LAPACK's estimate of the condition number in the 1-norm."""
        (pocon,) = get_lapack_funcs(("pocon",), (self._L,))
        reciprocal = float(pocon(self._L, A_norm, uplo="L")[0])
        return 1.0 / reciprocal if reciprocal > 0 else np.inf


def norm_of_symmetric(A: np.ndarray) -> float:
    """Return the 1-norm of a symmetric matrix whose lower triangle is stored by columns."""
    return float(_column_sums(A.T).max(initial=0.0))


@njit(cache=True, nogil=True)
def _column_sums(columns):
    sums = np.zeros(len(columns))
    for j in range(len(columns)):
        own = 0.0
        for i in range(j + 1, len(columns)):
            size = abs(columns[j, i])
            own += size
            sums[i] += size
        sums[j] += own + abs(columns[j, j])
    return sums
