"""Classical scaling: coordinates whose inner products are −½HCH, C squared dissimilarities."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh

from mercer._array import largest_size, n_threads, ranges, run_tiles
from mercer._floats import TINY
from mercer.gram import CenteredGram, fresh_array, gram
from mercer.kernels import Precomputed
from mercer.result import Solution, Status

BLOCK_VALUES = 2**17  # of a block of rows that stays in the cache
SAME = 1e-8  # relative difference of D and Dᵀ that is rounding


def check_distances(D: Any, name: str = "X") -> None:
    """Raise unless D is a square, symmetric matrix of numbers ≥ 0 with a diagonal of zeros."""
    n, m = D.shape
    if n != m:
        raise ValueError(f"{name} must be a square matrix of distances; got {n} × {m}")
    check_not_negative(D, name)
    scale = max(largest_size(D), TINY)
    if np.abs(np.diagonal(D)).max() > SAME * scale:
        raise ValueError(f"{name} must hold distances: its diagonal must be 0")
    if max(_skew(D, rows) for rows in _blocks(n)) > 100 * SAME * scale:
        raise ValueError(f"{name} must be a symmetric matrix of distances; see check_distance")


def check_not_negative(D: Any, name: str = "X") -> None:
    """Raise if there is a negative distance."""
    if D.min() < 0:
        raise ValueError(f"{name} must hold distances, numbers ≥ 0; the least is {D.min():.4g}")


def _skew(D: np.ndarray, rows: slice) -> float:
    return float(np.abs(D[rows] - D[:, rows].T).max())


def _blocks(n: int) -> list[slice]:
    return ranges(n, max(1, BLOCK_VALUES // n))


def scaled_squares(D: np.ndarray, out: np.ndarray) -> float:
    """Write −½(D/s)² into ``out`` (which may be D) and return s, the largest distance."""
    scale = max(largest_size(D), TINY)

    def work(rows: slice, worker: int) -> None:
        np.divide(D[rows], scale, out=out[rows])
        np.multiply(out[rows], out[rows], out=out[rows])
        out[rows] *= -0.5

    run_tiles(work, _blocks(len(D)), n_threads())
    return scale


def centered_products(K: np.ndarray) -> CenteredGram:
    """Return HKH of K = −½C as an operator."""
    return gram(Precomputed(), K, dtype=np.float64).centered()


def all_eigenvalues(K: CenteredGram) -> np.ndarray:
    """Return every eigenvalue of HKH, rising."""
    A = fresh_array(K)
    return eigvalsh(A, overwrite_a=True, check_finite=False, driver="evd")


def with_parts(solution: Solution, about: str, **parts: Any) -> Solution:
    """Return the solution with more to say in its certificate; None takes a part away."""
    certificate = solution.certificate
    together = {**certificate.parts, **parts}
    kept = {name: part for name, part in together.items() if part is not None}
    return replace(solution, certificate=replace(certificate, about=about, parts=kept))


def in_parts(solution: Solution, count: int) -> Solution:
    """Return the solution with the number of parts of its graph; more than one is a warning."""
    certificate = solution.certificate
    parts = {**certificate.parts, "graph_components": count}
    status = solution.status if count == 1 else Status.DISCONNECTED
    return replace(solution, status=status, certificate=replace(certificate, parts=parts))
