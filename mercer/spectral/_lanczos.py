"""Leading eigenpairs of AᵀA from products where these are cheap: one vector at a time, checked.

A product with a table in the cache or with a sparse one costs nearly as much for each vector of a
block as for a single one. A Lanczos run (ARPACK) then needs several times fewer vectors than a
block method, but it can miss copies of a repeated eigenvalue. A few steps more, from a random
vector free of what was found, would show them; then, or where ARPACK gives up, the block method of
the library takes over.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from mercer.solvers import symmetric_eigenpairs

SAFETY = 0.1  # the run aims at this share of the tolerance
RESTARTS = 100
PROBE_STEPS = 8
LARGER = 1e-6  # relative: a quotient of the probe above the last eigenvalue that was found


def leading_by_products(
    G: LinearOperator, k: int, tolerance: float, seed: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest eigenvalues of a positive semidefinite operator, and the vectors."""
    rng = np.random.default_rng(seed)
    try:
        start = rng.uniform(-1, 1, G.shape[0])
        values, vectors = eigsh(
            G, k, which="LA", v0=start, tol=SAFETY * tolerance, maxiter=RESTARTS
        )
    except ArpackError:  # no convergence, or a matrix of zeros
        return _by_blocks(G, k, tolerance)
    order = np.argsort(-values)
    values, vectors = values[order], np.linalg.qr(vectors[:, order])[0]
    if missed_size(G, vectors, rng) > (1.0 + LARGER) * values[-1]:
        return _by_blocks(G, k, tolerance)
    return values, vectors


def _by_blocks(G: LinearOperator, k: int, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    solution = symmetric_eigenpairs(G, k, tolerance=tolerance)
    return solution.state, solution.value


def missed_size(G: LinearOperator, P: np.ndarray, rng: np.random.Generator) -> float:
    """Return a lower bound of the largest eigenvalue of G outside of the span of P.

    A few Lanczos steps from a random vector: the largest Ritz value.
    """
    rest = deflated(G, P)
    Q = np.zeros((G.shape[0], PROBE_STEPS + 1))
    T = np.zeros((PROBE_STEPS, PROBE_STEPS))
    v = rng.standard_normal(G.shape[0])
    for j in range(PROBE_STEPS):
        v = v - Q @ (Q.T @ v)
        length = float(np.linalg.norm(v))
        if length == 0.0:
            break
        Q[:, j] = v / length
        v = rest @ Q[:, j]
        T[:, j] = (Q.T @ v)[:PROBE_STEPS]
    return float(np.linalg.eigvalsh(T, UPLO="U")[-1])


def deflated(G: LinearOperator, P: np.ndarray) -> LinearOperator:
    """Return (I − PPᵀ) G (I − PPᵀ)."""

    def apply(V: np.ndarray) -> np.ndarray:
        V = G @ (V - P @ (P.T @ V))
        return V - P @ (P.T @ V)

    return LinearOperator(G.shape, matvec=apply, matmat=apply, dtype=np.float64)
