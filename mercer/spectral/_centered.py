"""A centred table as an operator A: products with it, AᵀA and R of A = QR, tile by tile."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from mercer._array import n_threads, parse_memory, ranges, run_tiles
from mercer._compiled import compiled

TILE_BYTES = 2**21  # of a centred tile: it stays in the cache between its uses
LARGE_SUM = 10**6  # entries; larger sums are not kept once for each thread
TALL_RATIO = 4  # times as many rows as columns in the tiles that QR reduces
COPY_SHARE = 0.25  # of the byte budget that a centred copy may take


def centered(
    X: Any, mean: np.ndarray, *, transposed: bool = False, tile_bytes: int = TILE_BYTES
) -> Centered:
    """Return A = X − 1 meanᵀ, or its transpose, of an array or a CSR table."""
    kind = SparseCentered if sp.issparse(X) else Centered
    return kind(X, mean, transposed, tile_bytes)


class Centered:
    """A = X − 1 meanᵀ or its transpose, shape (m, p), of a dense X.

    A tile is some rows of A in float64; X itself is never copied.
    """

    def __init__(
        self,
        X: Any,
        mean: np.ndarray | None,
        transposed: bool = False,
        tile_bytes: int = TILE_BYTES,
    ):
        self.X, self.mean, self.transposed, self.tile_bytes = X, mean, transposed, tile_bytes
        self.shape: tuple[int, int] = X.shape[::-1] if transposed else X.shape

    def tile(self, rows: slice) -> np.ndarray:
        """Return some rows of A, shape (b, p)."""
        part = self.X[:, rows] if self.transposed else self.X[rows]
        if self.mean is not None:
            mean = self.mean[rows] if self.transposed else self.mean
            part = np.subtract(part, mean, dtype=np.float64, order="C")
        return part.T if self.transposed else part

    def for_many_passes(self) -> Centered:
        """Return the same as an array with rows of its own, if that copy is small enough."""
        if self.X.size * 8 > COPY_SHARE * parse_memory(None):
            return self
        A = np.empty(self.shape)

        def fill(rows: slice, worker: int) -> None:
            A[rows] = self.tile(rows)

        run_tiles(fill, self._tiles(), n_threads())
        return Centered(A, None, tile_bytes=self.tile_bytes)

    def gram(self, V: np.ndarray | None = None) -> np.ndarray:
        """Return AᵀA, or (A V)ᵀ(A V)."""

        def add(rows: slice, total: np.ndarray) -> None:
            B = self.tile(rows) if V is None else self.tile(rows) @ V
            total += B.T @ B

        p = self.shape[1] if V is None else V.shape[1]
        return sum_over(self._tiles(), add, (p, p))

    def times(self, V: np.ndarray) -> np.ndarray:
        """Return A V, shape (m, k); V may be a single vector."""
        out = np.empty((self.shape[0], *V.shape[1:]))

        def fill(rows: slice, worker: int) -> None:
            np.matmul(self.tile(rows), V, out=out[rows])

        run_tiles(fill, self._tiles(), n_threads())
        return out

    def transposed_times(self, U: np.ndarray) -> np.ndarray:
        """Return AᵀU, shape (p, k)."""

        def add(rows: slice, total: np.ndarray) -> None:
            total += self.tile(rows).T @ U[rows]

        return sum_over(self._tiles(), add, (self.shape[1], *U.shape[1:]))

    def gram_times(self, V: np.ndarray) -> np.ndarray:
        """Return AᵀA V in one pass over A, shape (p, k)."""

        def add(rows: slice, total: np.ndarray) -> None:
            B = self.tile(rows)
            if V.ndim == 1 and B.flags.c_contiguous:
                _add_gram_times_vector(B, V, total)
            else:
                total += B.T @ (B @ V)

        return sum_over(self._tiles(), add, V.shape)

    def triangle(self) -> np.ndarray:
        """Return R of A = QR; Q is never formed, nor A as a whole."""
        p, workers = self.shape[1], n_threads()
        parts = [np.empty((0, p)) for _ in range(workers)]

        def reduce(rows: slice, worker: int) -> None:
            parts[worker] = triangle_of(np.vstack([parts[worker], self.tile(rows)]))

        run_tiles(reduce, tiles(self.shape, self.tile_bytes, at_least=TALL_RATIO * p), workers)
        return triangle_of(np.vstack(parts))

    def residual_squares(self, V: np.ndarray) -> np.ndarray:
        """Return ‖a − V Vᵀa‖² of each row of A, shape (m,)."""
        squares = np.empty(self.shape[0])

        def fill(rows: slice, worker: int) -> None:
            B = self.tile(rows)
            D = B - (B @ V) @ V.T
            np.einsum("ij,ij->i", D, D, out=squares[rows])

        run_tiles(fill, self._tiles(), n_threads())
        return squares

    def covariance_operator(self) -> LinearOperator:
        """Return XᵀX of the centred X, for products with blocks of vectors."""
        apply = self._cogram_times if self.transposed else self.gram_times
        return _operator(apply, self.X.shape[1])

    def gram_operator(self) -> LinearOperator:
        """Return AᵀA as an operator."""
        return _operator(self.gram_times, self.shape[1])

    def _cogram_times(self, U: np.ndarray) -> np.ndarray:
        return self.times(self.transposed_times(U))

    def _tiles(self) -> list[slice]:
        return gram_tiles(self.shape, self.tile_bytes)


class SparseCentered(Centered):
    """The same of a CSR table: the mean comes off after the product, and no zero is stored."""

    mean: np.ndarray

    def __init__(self, X: Any, *args: Any):
        super().__init__(X.astype(np.float64, copy=False), *args)

    def tile(self, rows: slice) -> np.ndarray:
        """Return some rows of A as an array."""
        if self.transposed:
            return (self.X[:, rows].toarray() - self.mean[rows]).T
        return self.X[rows].toarray() - self.mean

    def for_many_passes(self) -> Centered:
        """Return this: there is nothing to prepare."""
        return self

    def gram(self, V: np.ndarray | None = None) -> np.ndarray:
        """Return AᵀA, or (A V)ᵀ(A V)."""
        if V is not None:
            Y = self.times(V)
            return Y.T @ Y
        if not self.transposed:
            return (self.X.T @ self.X).toarray() - len(self) * np.outer(self.mean, self.mean)
        cross = self.X @ self.mean
        return (self.X @ self.X.T).toarray() - cross[:, None] - cross + self.mean @ self.mean

    def __len__(self) -> int:
        return int(self.shape[0])

    def times(self, V: np.ndarray) -> np.ndarray:
        """Return A V, shape (m, k)."""
        return self._down(V) if self.transposed else self._across(V)

    def transposed_times(self, U: np.ndarray) -> np.ndarray:
        """Return AᵀU, shape (p, k)."""
        return self._across(U) if self.transposed else self._down(U)

    def gram_times(self, V: np.ndarray) -> np.ndarray:
        """Return AᵀA V, shape (p, k)."""
        if self.transposed:
            return self.transposed_times(self.times(V))

        def add(part: SparseCentered, total: np.ndarray) -> None:
            total += part._down(part._across(V))

        return sum_over(self._parts, add, V.shape)

    @cached_property
    def _parts(self) -> list[SparseCentered]:
        """The rows in one part for each thread: SciPy's products leave the others idle."""
        n = self.shape[0]
        return [SparseCentered(self.X[rows], self.mean) for rows in ranges(n, -(-n // n_threads()))]

    def _across(self, V: np.ndarray) -> np.ndarray:
        """Return (X − 1 meanᵀ) V."""
        return np.asarray(self.X @ V) - self.mean @ V

    def _down(self, U: np.ndarray) -> np.ndarray:
        """Return (X − 1 meanᵀ)ᵀ U."""
        return np.asarray(self.X.T @ U) - np.multiply.outer(self.mean, U.sum(axis=0))


def triangle_of(A: np.ndarray) -> np.ndarray:
    """Return R of A = QR."""
    return np.asarray(np.linalg.qr(A, mode="r"))


def _operator(apply: Callable[[np.ndarray], np.ndarray], p: int) -> LinearOperator:
    return LinearOperator((p, p), matvec=lambda v: apply(v.ravel()), matmat=apply, dtype=np.float64)


@compiled(fastmath={"reassoc", "contract"})
def _add_gram_times_vector(B: np.ndarray, v: np.ndarray, total: np.ndarray) -> None:
    """Add BᵀB v to the total: each row b gives (b·v) b while it is in the cache."""
    n, p = B.shape
    for i in range(n):
        s = 0.0
        for j in range(p):
            s += B[i, j] * v[j]
        for j in range(p):
            total[j] += s * B[i, j]


# ---------------------------------------------------------------- tiles
def tiles(
    shape: tuple[int, ...], tile_bytes: int = TILE_BYTES, *, at_least: int = 1
) -> list[slice]:
    """Return slices of rows: tiles that fit the cache, at least one for each thread."""
    m, p = shape
    rows = max(tile_bytes // (8 * p), at_least, 1)
    return ranges(m, min(rows, -(-m // n_threads())))


def gram_tiles(shape: tuple[int, ...], tile_bytes: int = TILE_BYTES) -> list[slice]:
    """Return tiles whose products are worth adding to a sum as large as the tile is wide."""
    return tiles(shape, tile_bytes, at_least=shape[1] if shape[1] ** 2 > LARGE_SUM else 1)


def sum_over(
    parts: list[Any], add: Callable[[Any, np.ndarray], None], shape: tuple[int, ...]
) -> np.ndarray:
    """Return the sum that ``add(part, total)`` makes: one for each thread, then all of them."""
    if np.prod(shape) > LARGE_SUM:  # one sum; BLAS brings the threads
        total = np.zeros(shape)
        for part in parts:
            _quietly(add, part, total)
        return total
    totals = [np.zeros(shape) for _ in range(min(n_threads(), len(parts)))]
    run_tiles(lambda part, worker: _quietly(add, part, totals[worker]), parts, len(totals))
    for other in totals[1:]:
        _quietly(np.add, totals[0], other, totals[0])
    return totals[0]


def _quietly(add: Callable[..., Any], *args: Any) -> None:
    """Add without a warning of overflow: whoever needs the sum looks whether it is finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        add(*args)
