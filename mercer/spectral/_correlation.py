"""What linear and kernel canonical correlations share."""

from __future__ import annotations

import numpy as np


def columns_of(Y: np.ndarray) -> np.ndarray:
    """Return targets as a table: one target is one column."""
    return Y[:, None] if Y.ndim == 1 else Y


def shared_signs(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Turn both columns of each pair so that the entry of largest size in A is positive."""
    if A.size == 0:
        return A, B
    largest = A[np.abs(A).argmax(axis=0), np.arange(A.shape[1])]
    signs = np.where(largest < 0, -1.0, 1.0)
    return A * signs, B * signs


def correlate(U: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Return the correlation of each pair of columns; 0 where one of them is constant."""
    U, V = (np.asarray(Z, dtype=np.float64) for Z in (U, V))
    U, V = U - U.mean(axis=0), V - V.mean(axis=0)
    sizes = np.linalg.norm(U, axis=0) * np.linalg.norm(V, axis=0)
    products = np.einsum("ij,ij->j", U, V)
    return np.divide(products, sizes, out=np.zeros_like(sizes), where=sizes > 0)
