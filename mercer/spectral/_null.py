"""The eigenvector that says nothing: dropped from the null space that holds it."""

from __future__ import annotations

import numpy as np

from mercer.solvers import fix_signs

ROUNDING = 1e-13


def without_direction(
    values: np.ndarray, vectors: np.ndarray, direction: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Drop a known vector of eigenvalue 0; values rise.

    If a graph falls into parts several eigenvalues are 0 and the known vector is a mixture of
    theirs: that mixture goes, and the others become orthogonal to it.
    """
    null = values <= ROUNDING * max(1.0, float(values[-1]))
    null[0] = True
    basis = vectors[:, null]
    known = basis.T @ direction
    Q = np.linalg.qr(np.column_stack([known, np.eye(len(known))]))[0]
    return values[1:], fix_signs(np.column_stack([basis @ Q[:, 1:], vectors[:, ~null]]))
