"""Leading eigenpairs of Gram matrices: stored, or computed tile by tile."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import qr

from mercer._array import parse_memory
from mercer._floats import EPS
from mercer._threads import one_blas_thread
from mercer.certify import eigen_residual
from mercer.gram import CenteredGram, Centering, Gram, fresh_array
from mercer.solvers._krylov import block_krylov
from mercer.solvers.eigen import SAFETY, EigenSolution, by_lapack, few, fix_signs, signs, status_of

# n × n arrays of a decomposition: what is factored, the vectors, half of these once more if they
# are few; beside them the matrix itself, if it is stored
LAPACK_ARRAYS = 2.5
STORED_ARRAYS = LAPACK_ARRAYS + 1.0
ROUNDINGS = 100  # of an entry, from its computation to the centred sum
SINGLE_REACHES = 5e-7  # the relative residual that float32 kernel values are good for
SAMPLE = 600  # points
WIDTH = 14  # columns of a block beyond the wanted ones: a pass over the tiles costs more than these
SHARPEST = 1e-10  # relative residual that float64 products are asked for at most
ZERO_IN_SINGLE = 1e-12  # of the largest eigenvalue: what float32 vectors leave of a zero
LOWER_END_REACHES = 1e-2  # relative residual that the lower end of the spectrum needs


def leading_eigenpairs(
    K: Gram,
    n_components: int | None,
    *,
    tolerance: float = 1e-8,
    memory: int | float | str | None = None,
    below: bool = False,
    by_products: bool | None = None,
    random_state: int = 0,
) -> EigenSolution:
    """Return the eigenpairs of the largest eigenvalues of a Gram matrix that are positive.

    LAPACK serves small matrices and many components, a block Krylov method (products with K
    only, so any storage) the rest.

    Parameters
    ----------
    K : Gram of shape (n, n)
        A symmetric matrix, float64.
    n_components : int or None
        How many; None means all positive ones.
    memory : int, str or None, default=None
        The byte budget of what LAPACK works on and returns, beside K.
    below : bool, default=False
        Whether to look for negative eigenvalues as well (the kernel may be indefinite).
    by_products : bool or None, default=None
        Whether products with K are the way; None: if they are faster than LAPACK.

    Returns
    -------
    EigenSolution
        ``value`` holds the eigenvectors, shape (n, k); ``eigenvalues`` fall.
    """
    n = K.shape[0]
    k = n if n_components is None else min(n_components, n)
    if few(n, k) if by_products is None else by_products:
        aim = SAFETY * tolerance
        ritz = block_krylov(K.dot, n, k, tolerance=aim, random_state=random_state)
        values, vectors = ritz.values, ritz.vectors
        others = _lower_end(K.dot, n) if below else values
    else:  # the negative ones are known only if all are
        copy = fresh_array(K, int(parse_memory(memory) / LAPACK_ARRAYS))
        others, vectors = by_lapack(copy, n if below else k)
        values, vectors = others[:k], vectors[:, :k]
    noise = _rounding(K, values)
    kept = int(np.count_nonzero(values > noise))  # values fall
    values, vectors = values[:kept], _few_columns(vectors, kept)
    vectors *= signs(vectors)
    trace = float(K.diagonal().sum())
    certificate = eigen_residual(K, values, vectors, tolerance=tolerance, trace=trace)
    return EigenSolution(
        vectors,
        status_of(certificate),
        certificate,
        eigenvalues=values,
        trace=trace,
        negative=np.sort(others[others < -noise]),
    )


def _few_columns(vectors: np.ndarray, count: int) -> np.ndarray:
    """Return the first columns: a copy if they are few, so that the others can be forgotten."""
    return vectors[:, :count] if 2 * count > vectors.shape[1] else vectors[:, :count].copy()


def _rounding(K: Gram, values: np.ndarray) -> float:
    """Return what rounding can do to an eigenvalue, by the size of the entries before centring."""
    entries = K.base if isinstance(K, CenteredGram) else K
    trace = K.shape[0] * np.abs(entries.diagonal()).max(initial=0.0)
    return ROUNDINGS * EPS * max(trace, np.abs(values).max(initial=0.0))


def _lower_end(multiply: Any, n: int) -> np.ndarray:
    """Return the smallest eigenvalue, roughly: a Rayleigh quotient that is not below it."""
    return -block_krylov(lambda V: -multiply(V), n, 1, tolerance=LOWER_END_REACHES).values


# ------------------------------------------------------------------------ nothing stored
def leading_centered_eigenpairs(
    exact: Gram,
    fast: Gram,
    n_components: int,
    *,
    tolerance: float = 1e-6,
    below: bool = False,
    sample: int = SAMPLE,
    random_state: int = 0,
) -> tuple[EigenSolution, Centering]:
    """Return the leading eigenpairs of HKH from as few float64 passes over K as possible.

    The eigenvectors of a sample of the points are the start; products with float32 values lead
    to the accuracy of these; the proof is one product with float64 values, which gives the
    eigenvalues (as Rayleigh quotients) and the centring as well. If it misses the tolerance,
    float64 products go on from there.

    Parameters
    ----------
    exact, fast : Gram of shape (n, n)
        The same matrix before centring, in float64 and in float32.
    n_components : int
        How many eigenpairs.
    below : bool, default=False
        Whether to look for negative eigenvalues as well (the kernel may be indefinite).
    sample : int, default=600
        How many points the start comes from.
    """
    # BLAS threads that wait for work would take the cores from those that compute tiles
    with one_blas_thread():
        points = _sample(exact.shape[0], sample, random_state)
        start = _start_from_sample(fast, n_components + WIDTH, points)
        return _iterate(exact, fast, n_components, tolerance, below, start)


def _iterate(
    exact: Gram, fast: Gram, n_components: int, tolerance: float, below: bool, start: np.ndarray
) -> tuple[EigenSolution, Centering]:
    def rough(V: np.ndarray) -> np.ndarray:
        return _without_mean(fast @ _without_mean(V).astype(np.float32))

    def precise(V: np.ndarray) -> np.ndarray:
        return _without_mean(exact @ _without_mean(V))

    n = exact.shape[0]
    aim = max(0.7 * tolerance, SINGLE_REACHES)
    V = block_krylov(rough, n, n_components, tolerance=aim, start=start).vectors
    solution, centering = _prove(exact, V, tolerance)
    values = solution.eigenvalues
    # a direction of an eigenvalue of less than its residual could be any
    smallest = float(values[-1] / values[0]) if len(values) else 1.0
    wanted = min(tolerance, max(0.1 * smallest, SHARPEST))
    if solution.certificate.value > wanted:
        aim = SAFETY * wanted
        V = block_krylov(precise, n, n_components, tolerance=aim, start=solution.value).vectors
        solution, centering = _prove(exact, V, tolerance)
    noise = SINGLE_REACHES * solution.eigenvalues.max(initial=0.0)
    found = _lower_end(rough, n) if below else solution.eigenvalues
    return replace(solution, negative=found[found < -noise]), centering


def _without_mean(V: np.ndarray) -> np.ndarray:
    V = np.asarray(V, dtype=np.float64)
    return V - V.mean(axis=0)


def _sample(n: int, size: int, random_state: int) -> np.ndarray:
    rng = np.random.default_rng(random_state)
    return np.sort(rng.choice(n, min(size, n // 2), replace=False))


def _start_from_sample(K: Gram, width: int, points: np.ndarray) -> np.ndarray:
    """Return a block near the leading eigenvectors: those of a sample, extended by K."""
    n = K.shape[0]
    part = np.asarray(K.among(points), dtype=np.float64)
    part = _without_mean(_without_mean(part).T)
    m = len(part)
    ritz = block_krylov(part.dot, m, min(width, m // 4), tolerance=1e-2)
    return _without_mean(K.restrict(np.arange(n), points) @ ritz.vectors.astype(np.float32))


def _prove(K: Gram, V: np.ndarray, tolerance: float) -> tuple[EigenSolution, Centering]:
    """Return Rayleigh quotients, centring and proof from one product with float64 values."""
    n = K.shape[0]
    V = fix_signs(qr(_without_mean(V), mode="economic", check_finite=False)[0])
    weights = np.full(n, 1.0 / n)
    both = K @ np.column_stack([V, weights])
    images, means = _without_mean(both[:, :-1]), both[:, -1]
    values = np.einsum("ij,ij->j", V, images)
    order = np.argsort(-values, kind="stable")
    values, V, images = values[order], V[:, order], images[:, order]
    centering = Centering(weights, means, float(means.mean()))
    centered = CenteredGram(K, centering)
    noise = max(_rounding(centered, values), ZERO_IN_SINGLE * float(values.max(initial=0.0)))
    keep = values > noise
    values, V, images = values[keep], V[:, keep], images[:, keep]
    trace = float(centered.diagonal().sum())
    certificate = eigen_residual(
        centered, values, V, tolerance=tolerance, trace=trace, images=images
    )
    status = status_of(certificate)
    return EigenSolution(V, status, certificate, eigenvalues=values, trace=trace), centering
