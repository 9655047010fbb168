"""Arithmetic of the auditor: extended precision, and kernels by their own formulas.

Extended precision (80 bits on x86) has the exponents for squares of 1e±150 and digits that float64
lacks, so that a claim is looked at without the rounding of the one who made it. Where the platform
has no such type the auditor is as exact as float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

EPS = float(np.finfo(np.float64).eps)


def exact(values: Any) -> np.ndarray:
    """Return numbers in extended precision; of a sparse table all cells."""
    return np.asarray(values.toarray() if sp.issparse(values) else values, dtype=np.longdouble)


def product(A: Any, B: Any) -> np.ndarray:
    """Return A B in extended precision."""
    return exact(A) @ exact(B)


def largest(values: Any) -> Any:
    """Return the largest size of an entry, 0 if there is none; NaN stays NaN."""
    return np.abs(exact(values)).max(initial=0.0)


def norm(values: Any) -> Any:
    """Return the Euclidean norm of all entries."""
    return np.sqrt((exact(values) ** 2).sum())


# ---------------------------------------------------------------- kernels
def squared_distances(X: Any, Y: Any) -> np.ndarray:
    """Return ‖x − y‖², from the differences."""
    return ((exact(X)[:, None, :] - exact(Y)[None, :, :]) ** 2).sum(axis=2)


def _powers(k: Any, X: Any, Y: Any, p: float) -> np.ndarray:
    """Return Σ w |x − y|ᵖ, or (x − y)ᵀP(x − y), under the metric of a kernel."""
    gaps = exact(X)[:, None, :] - exact(Y)[None, :, :]
    if k.metric is None:
        return (np.abs(gaps) ** p).sum(axis=2)
    metric = exact(k.metric)
    if metric.ndim == 1:
        return (np.abs(gaps) ** p @ metric[:, None])[:, :, 0]
    return np.maximum((gaps @ metric * gaps).sum(axis=2), 0.0)


def _of_distance(k: Any, X: Any, Y: Any, p: float) -> np.ndarray:
    distance = _powers(k, X, Y, p) ** (1 / exact(p))
    return np.exp(-((exact(k.gamma) * distance) ** exact(k.exponent)))


def kernel_matrix(kernel: Any, X: Any, Y: Any) -> np.ndarray:
    """Return k(x, y) for all rows of X and Y by the formula of the kernel's name."""
    return FORMULAS[type(kernel).__name__](kernel, exact(X), exact(Y))


def kernel_diagonal(kernel: Any, X: Any) -> np.ndarray:
    """Return k(x, x)."""
    rows = exact(X)
    return np.array([kernel_matrix(kernel, rows[[i]], rows[[i]])[0, 0] for i in range(len(rows))])


def _normalized(k: Any, X: Any, Y: Any) -> np.ndarray:
    left, right = (kernel_diagonal(k.kernel, rows) for rows in (X, Y))
    scale = np.sqrt(np.outer(left, right))
    values = kernel_matrix(k.kernel, X, Y)
    return np.divide(values, scale, out=np.zeros_like(values), where=scale > 0)


FORMULAS: dict[str, Any] = {
    "Constant": lambda k, X, Y: np.full((len(X), len(Y)), exact(k.value)),
    "Linear": lambda k, X, Y: X @ Y.T + exact(k.bias),
    "Polynomial": lambda k, X, Y: (exact(k.scale) * (X @ Y.T) + exact(k.bias)) ** int(k.degree),
    "Sigmoid": lambda k, X, Y: np.tanh(exact(k.scale) * (X @ Y.T) + exact(k.bias)),
    "RBF": lambda k, X, Y: np.exp(-exact(k.gamma) * _powers(k, X, Y, 2.0)),
    "Exponential": lambda k, X, Y: _of_distance(k, X, Y, float(k.p)),
    "Laplacian": lambda k, X, Y: _of_distance(k, X, Y, 1.0),
    "Sum": lambda k, X, Y: kernel_matrix(k.left, X, Y) + kernel_matrix(k.right, X, Y),
    "Product": lambda k, X, Y: kernel_matrix(k.left, X, Y) * kernel_matrix(k.right, X, Y),
    "Power": lambda k, X, Y: kernel_matrix(k.kernel, X, Y) ** int(k.exponent),
    "Exp": lambda k, X, Y: np.exp(kernel_matrix(k.kernel, X, Y)),
    "Normalized": _normalized,
    "Precomputed": lambda k, X, Y: X,  # the rows are the values: only whole samples are audited
}
