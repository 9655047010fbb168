"""Ledoit and Wolf's shrinkage of the covariance of each class."""

from __future__ import annotations

import numpy as np

from mercer.spectral._covariance import deviations


def ledoit_wolf(rows: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return 1 − s_c of each class, shape (C,), and what shrinkage adds to the diagonal, (C, d).

    Class c has the covariance C_c = D R D with its deviations D (1 for a constant column), and the
    shrunk one is D ((1 − s_c) R + s_c tr(R)/d I) D. The rows are centred within classes.
    """
    d = rows.shape[1]
    keep, floors = [], []
    for c in range(codes.max() + 1):
        Z = rows[codes == c]
        spread = deviations(Z, np.zeros(d))
        unit = np.where(spread > 0, spread, 1.0)
        Z = Z / unit
        mean_variance = float(np.mean(spread > 0))  # tr(R)/d: each column has variance 1 or 0
        s = intensity(Z)
        keep.append(1.0 - s)
        floors.append(s * mean_variance * unit**2)
    return np.array(keep), np.array(floors)


def intensity(Z: np.ndarray) -> float:
    """Return s in (1 − s) S + s tr(S)/d I, S = ZᵀZ/n, with the least expected squared error.

    O. Ledoit, M. Wolf, A well-conditioned estimator for large-dimensional covariance matrices,
    Journal of Multivariate Analysis 88 (2004).
    """
    n, d = Z.shape
    squares = np.einsum("ij,ij->i", Z, Z)  # ‖z_i‖²
    mu = float(squares.sum()) / (n * d)
    product = Z @ Z.T if n < d else Z.T @ Z
    norm2 = float(np.sum(product**2)) / n**2  # ‖S‖²
    dispersion = norm2 - d * mu**2  # ‖S − μI‖²
    error = (float(squares @ squares) / n - norm2) / n  # of S, by its terms zzᵀ
    if d == 1 or error <= 0.0 or dispersion <= 0.0:
        return 0.0
    return min(error / dispersion, 1.0)
