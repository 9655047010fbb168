"""The smallest eigenpairs of the Laplacian L = I − D^(−½) W D^(−½) of a sparse graph."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, aslinearoperator, eigsh

from mercer.certify import eigen_residual
from mercer.result import Solution
from mercer.solvers import fix_signs, smallest_eigenpairs
from mercer.solvers.eigen import few, status_of

THIN = 0.2  # (longest path)² over vertices: about 1/2 on surfaces, under 0.1 from 3 dimensions on
LANCZOS_VECTORS = 32
LANCZOS_RESTARTS = 200
COARSE_TOLERANCE = 1e-4  # of a run that only looks whether anything was missed


class LaplacianPairs(NamedTuple):
    """Eigenpairs of a Laplacian, and the degrees of the points."""

    values: np.ndarray  # (k,), rising
    vectors: np.ndarray  # (n, k)
    degrees: np.ndarray  # (n,)


def laplacian_eigenpairs(W: Any, k: int, *, thin: float = THIN) -> Solution:
    """Return the k smallest eigenpairs of the Laplacian; the ``value`` is `LaplacianPairs`.

    Each connected part is solved for itself: its first eigenvector is known, √d with eigenvalue 0,
    and a solver that sees one vector at a time would miss that a value occurs several times.
    """
    degrees = np.asarray(W.sum(axis=1)).ravel()
    alone = degrees == 0
    degrees[alone] = 1.0
    scale = sp.diags_array(1.0 / np.sqrt(degrees))
    A = sp.csr_array(scale @ W @ scale + sp.diags_array(alone.astype(np.float64)))
    values, vectors = _by_parts(A, np.sqrt(degrees), k, thin)
    L = sp.csr_array(sp.eye_array(len(degrees)) - A)
    proof = eigen_residual(aslinearoperator(L), values, vectors, scale=2.0)
    return Solution(LaplacianPairs(values, vectors, degrees), status_of(proof), proof)


def _by_parts(A: Any, root: np.ndarray, k: int, thin: float) -> tuple[np.ndarray, np.ndarray]:
    count, labels = connected_components(A, directed=False)
    parts = [np.flatnonzero(labels == part) for part in range(count)]
    parts = sorted(parts, key=len, reverse=True)[:k]  # of many parts the largest
    more = max(k - count, 0)  # eigenvalues beyond the zeros
    pairs: list[tuple[float, np.ndarray, np.ndarray]] = []
    for members in parts:
        inner = A if count == 1 else sp.csr_array(A[members][:, members])
        values, vectors = _connected(inner, root[members], min(1 + more, len(members)), thin)
        pairs += [(value, members, v) for value, v in zip(values, vectors.T, strict=True)]
    pairs = sorted(pairs, key=lambda pair: pair[0])[:k]
    out = np.zeros((A.shape[0], len(pairs)))
    for column, (_, members, v) in enumerate(pairs):
        out[members, column] = v
    return np.array([value for value, _, _ in pairs]), fix_signs(out)


def _connected(A: Any, root: np.ndarray, k: int, thin: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the k smallest eigenpairs of I − A of a connected graph; the first is known."""
    n = len(root)
    first = (root / np.linalg.norm(root))[:, None]
    if k == 1:
        return np.zeros(1), first
    if few(n, k) and not is_thin(A, thin):
        values, vectors = _by_products(A, first, k - 1)
        if values is not None:
            return np.concatenate([[0.0], values]), np.column_stack([first, vectors])
    solution = smallest_eigenpairs(sp.csc_array(sp.eye_array(n) - A), k)
    return np.maximum(solution.eigenvalues, 0.0), solution.value


def is_thin(A: Any, thin: float = THIN) -> bool:
    """Whether the graph is long for its size: then it has small cuts, and factors stay sparse."""
    order, before = breadth_first_order(A, 0, directed=False)
    v, steps = int(order[-1]), 0
    while v != 0:  # back from the vertex that was reached last
        v, steps = int(before[v]), steps + 1
    return steps**2 > thin * len(order)


def _by_products(A: Any, first: np.ndarray, k: int) -> tuple[Any, Any]:
    """Return the k largest eigenpairs of A after the known one, as those of I − A.

    Lanczos sees one copy of an eigenvalue at a time: a coarse run against all that was found shows
    whether another copy is left. None if it does not converge.
    """
    try:
        found, V = _lanczos(A, first, k, 0.0, seed=0)
        rest, _ = _lanczos(A, np.column_stack([first, V]), 1, COARSE_TOLERANCE, seed=1)
    except ArpackNoConvergence:  # eigenvalues too close together: factors do not mind
        return None, None
    missed = rest[0] > found[-1] + 1e-8
    return (None, None) if missed else (np.maximum(1.0 - found, 0.0), V)


def _lanczos(
    A: Any, known: np.ndarray, k: int, tolerance: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest eigenpairs of A besides the known ones, which are moved to −1 or less."""
    n = A.shape[0]

    def multiply(v: np.ndarray) -> np.ndarray:
        return A @ v - known @ (2.0 * (known.T @ v))

    start = np.random.default_rng(seed).uniform(-1, 1, n)  # the same in every run
    operator = LinearOperator((n, n), multiply, dtype=np.float64)
    space = min(n - 1, max(LANCZOS_VECTORS, 3 * k))
    values, vectors = eigsh(
        operator, k, which="LA", v0=start, tol=tolerance, ncv=space, maxiter=LANCZOS_RESTARTS
    )
    return values[::-1], vectors[:, ::-1]
