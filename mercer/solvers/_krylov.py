"""Eigenpairs at the upper end of a symmetric operator, from products with blocks of vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from mercer._threads import one_blas_thread

SPARE = 6  # columns of a block beyond the wanted ones: they carry the near-by eigenvalues
BLOCKS = 6  # in the basis before it is reduced to its best vectors
MAX_PASSES = 200
NEGLIGIBLE = 1e-14  # of the largest eigenvalue of WᵀW
EXHAUSTED = 1e-13  # a new direction of less than this share of the largest eigenvalue is rounding

Multiply = Callable[[np.ndarray], np.ndarray]


class Ritz(NamedTuple):
    """What a Krylov space knows of the spectrum."""

    values: np.ndarray  # (k,), falling
    vectors: np.ndarray  # (n, k), orthonormal
    residual: float  # the largest of ‖A v − λ v‖ / |λ|max
    smallest: float  # the smallest Rayleigh quotient seen: no eigenvalue bound lies above it
    passes: int  # products with a block


class _Basis:
    """An orthonormal basis Q, its images A Q and T = QᵀAQ, in memory that is allocated once."""

    def __init__(self, n: int, width: int):
        self.Q, self.AQ = (np.empty((n, width), order="F") for _ in range(2))
        self.T = np.empty((width, width))
        self.size = 0

    @property
    def vectors(self) -> np.ndarray:
        return self.Q[:, : self.size]

    @property
    def images(self) -> np.ndarray:
        return self.AQ[:, : self.size]

    def extend(self, block: np.ndarray, image: np.ndarray) -> None:
        columns = slice(self.size, self.size + block.shape[1])
        self.Q[:, columns], self.AQ[:, columns] = block, image
        self.size = columns.stop
        self.T[: self.size, columns] = self.vectors.T @ image
        self.T[columns, : self.size] = self.T[: self.size, columns].T

    def has_room(self, block: np.ndarray) -> bool:
        return self.size + block.shape[1] <= self.Q.shape[1]

    def reduce(self, S: np.ndarray) -> None:
        """Keep the combinations Q S only (a thick restart)."""
        vectors, images = self.vectors @ S, self.images @ S
        self.size = 0
        self.extend(vectors, images)

    def ritz(self) -> tuple[np.ndarray, np.ndarray]:
        T = self.T[: self.size, : self.size]
        return _small_eigh((T + T.T) / 2)

    def new_directions(self, image: np.ndarray, scale: float) -> np.ndarray:
        """Return an orthonormal basis of what an image adds to the space."""
        image = image - self.vectors @ (self.vectors.T @ image)
        block = orthonormal(image, EXHAUSTED * scale)
        # once is not enough in floating point, twice is
        block = block - self.vectors @ (self.vectors.T @ block)
        return orthonormal(block, 0.5)


def orthonormal(W: np.ndarray, floor: float) -> np.ndarray:
    """Return an orthonormal basis of the columns of W, without directions shorter than floor.

    By the eigenvectors of WᵀW, in matrix products only; directions of less than 10⁻⁷ of the
    longest are lost in its rounding and left out.
    """
    size = float(np.abs(W).max(initial=0.0))
    if size == 0.0:
        return W[:, :0]
    W = W / size  # squares of tiny entries would vanish
    D, U = _small_eigh(W.T @ W)
    keep = max((floor / size) ** 2, NEGLIGIBLE * D[-1]) < D
    return W @ (U[:, keep] / np.sqrt(D[keep]))


def _small_eigh(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues and eigenvectors of a small matrix, without waking SciPy's threads.

    They would go on spinning while those of NumPy multiply.
    """
    with one_blas_thread():
        return eigh(A, check_finite=False)


def _first_block(
    n: int, least: int, start: np.ndarray | None, rng: np.random.Generator
) -> np.ndarray:
    """Return an orthonormal block of the start, with random columns if it has too few."""
    block = np.empty((n, 0)) if start is None else orthonormal(start, 0.0)
    missing = least - block.shape[1]
    if missing > 0:
        block = np.column_stack([block, rng.standard_normal((n, missing)) / np.sqrt(n)])
    return orthonormal(orthonormal(block, 0.0), 0.5)


def block_krylov(
    multiply: Multiply,
    n: int,
    k: int,
    *,
    tolerance: float,
    random_state: int = 0,
    start: np.ndarray | None = None,
    max_passes: int = MAX_PASSES,
) -> Ritz:
    """Return the k largest eigenvalues and their vectors by block Lanczos with thick restarts.

    A product with a block of vectors costs little more than one with a single vector, whether
    the matrix is read from memory or computed again, so few passes over it are what counts.
    The run ends when every ‖A v − λ v‖ ≤ tolerance · |λ|max, or when no new direction is left.

    Parameters
    ----------
    multiply : callable
        V ↦ A V in float64.
    start : array of shape (n, b), default=None
        The first block; None is random.
    """
    block = _first_block(n, min(n, k + SPARE), start, np.random.default_rng(random_state))
    width = block.shape[1]
    basis = _Basis(n, min(n, BLOCKS * width + k))
    smallest, passes = np.inf, 0
    while True:
        image = multiply(block)
        passes += 1
        if not np.isfinite(image).all():
            raise ValueError("the matrix has values that are not finite: rescale X")
        basis.extend(block, image)
        theta, S = basis.ritz()
        smallest = min(smallest, float(theta[0]))
        scale = float(np.abs(theta).max())
        top = S[:, ::-1][:, :k]
        values = theta[::-1][:k]
        residuals = basis.images @ top - basis.vectors @ (top * values)
        # divided first: squares of tiny entries would vanish
        worst = float(np.linalg.norm(residuals / scale, axis=0).max()) if scale > 0 else 0.0
        if worst <= tolerance or passes >= max_passes:
            break
        block = basis.new_directions(image, scale)
        if block.shape[1] == 0:
            break
        if not basis.has_room(block):
            keep = min(basis.size, basis.Q.shape[1] - block.shape[1], 2 * width)
            basis.reduce(S[:, ::-1][:, :keep])
            if not basis.has_room(block):
                break
    return Ritz(values, basis.vectors @ top, worst, smallest, passes)
