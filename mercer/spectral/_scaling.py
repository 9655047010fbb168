"""What embeddings share: checks of distances, classical scaling by −½HD²H, words of the proof."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from mercer._array import largest_size, n_threads, ranges, run_tiles, worst_asymmetry
from mercer._estimator import TableTransformer
from mercer._floats import TINY
from mercer._state import Attribute, Either, Floats, Maybe
from mercer.gram import CenteredGram, gram
from mercer.kernels import Precomputed
from mercer.result import Solution, Status
from mercer.solvers import EigenSolution, fix_signs
from mercer.spectral._base import Embedding

BLOCK_VALUES = 2**17  # of a block of rows that stays in the cache
NULL_SHARE = 1e-13  # eigenvalues below this share of the largest (or of 1) are 0
SYMMETRY_TOLERANCE = 1e-8  # relative difference of D and Dᵀ that is rounding


def check_distances(D: Any, name: str = "X") -> None:
    """Raise unless D is a square, symmetric matrix of numbers ≥ 0 with a diagonal of zeros."""
    n, m = D.shape
    if n != m:
        raise ValueError(f"{name} must be a square matrix of distances; got {n} × {m}")
    check_not_negative(D, name)
    scale = max(largest_size(D), TINY)
    if np.abs(np.diagonal(D)).max() > SYMMETRY_TOLERANCE * scale:
        raise ValueError(f"{name} must hold distances: its diagonal must be 0")
    worst, i, j = worst_asymmetry(D)
    if worst > 100 * SYMMETRY_TOLERANCE * scale:
        raise ValueError(
            f"{name} must be a symmetric matrix of distances; got {name}[{i}, {j}] = {D[i, j]:.6g} "
            f"and {name}[{j}, {i}] = {D[j, i]:.6g}, which differ most: correct the distance, or "
            f"fit to ({name} + {name}.T) / 2 if the difference means nothing (see check_distance)"
        )


def check_not_negative(D: Any, name: str = "X") -> None:
    """Raise if there is a negative distance."""
    if D.min() < 0:
        raise ValueError(f"{name} must hold distances, numbers ≥ 0; the least is {D.min():.4g}")


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


class ScaledEmbedding(Embedding, TableTransformer):
    """Coordinates V √Λ from −½HD²H = VΛVᵀ, and by Gower's formula −½Λ^(−½)Vᵀ(d² − mean d²)."""

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "scale_": Floats(),
        "eigenvalues_": Floats("components"),
        "directions_": Either(Floats("rows", "components"), Floats("columns", "components")),
        "centering_means_": Maybe(Floats("rows")),
    }

    scale_: float  # the unit of the distances
    directions_: np.ndarray  # (n, k), V Λ^(−½)
    centering_means_: np.ndarray  # (n,), of −½D²

    def _place(self, solution: EigenSolution, means: np.ndarray) -> None:
        values, V = solution.eigenvalues, solution.value
        self.embedding_ = V * (np.sqrt(values) * self.scale_)
        self.directions_, self.centering_means_ = V / np.sqrt(values), means

    def _placed(self, halves: np.ndarray) -> np.ndarray:
        """Return the coordinates of points with −½d² to the training points, in the unit."""
        return (halves - self.centering_means_) @ self.directions_ * self.scale_


def centered_products(K: np.ndarray) -> CenteredGram:
    """Return HKH of K = −½C as an operator."""
    return gram(Precomputed(), K, dtype=np.float64).centered()


def with_parts(solution: Solution, about: str, **parts: Any) -> Solution:
    """Return the solution with more to say in its certificate; None takes a part away."""
    certificate = solution.certificate
    together = {**certificate.parts, **parts}
    kept = {name: part for name, part in together.items() if part is not None}
    return replace(solution, certificate=replace(certificate, about=about, parts=kept))


def of_graph(solution: Solution, about: str, count: int, **parts: Any) -> Solution:
    """Return the same of a graph in so many connected parts; more than one is a warning."""
    status = solution.status if count == 1 else Status.DISCONNECTED
    return replace(with_parts(solution, about, graph_components=count, **parts), status=status)


def without_direction(
    values: np.ndarray, vectors: np.ndarray, direction: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Drop a known vector of eigenvalue 0; values rise.

    If a graph falls into parts several eigenvalues are 0 and the known vector is a mixture of
    theirs: that mixture goes, and the others become orthogonal to it.
    """
    null = values <= NULL_SHARE * max(1.0, float(values[-1]))
    null[0] = True
    basis = vectors[:, null]
    known = basis.T @ direction
    Q = np.linalg.qr(np.column_stack([known, np.eye(len(known))]))[0]
    return values[1:], fix_signs(np.column_stack([basis @ Q[:, 1:], vectors[:, ~null]]))
