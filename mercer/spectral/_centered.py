"""A centred table as an operator A: products with it, AᵀA and R of A = QR, tile by tile."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from mercer._array import n_threads, parse_memory, ranges, run_tiles
from mercer.spectral._row_loops import add_gram_times_vector

TILE_BYTES = 2**21  # of a centred tile: it stays in the cache between its uses
LARGE_SUM = 10**6  # entries; larger sums are not kept once for each thread
TALL = 4  # times as many rows as columns in the tiles that QR reduces
SAMPLED = 1000  # rows of the first guess of a mean
FAR_OFF = 10.0  # times the scatter may be what a wrong guess adds to it
COPY_SHARE = 0.25  # of the byte budget that a centred copy may take


class Moments(NamedTuple):
    """What one pass over a table tells."""

    mean: np.ndarray  # (d,)
    squares: float  # ‖X − 1 meanᵀ‖², Frobenius
    raw: float  # ‖X‖²
    scatter: np.ndarray | None = None  # (X − 1 meanᵀ)ᵀ(X − 1 meanᵀ), if it was asked for

    @classmethod
    def about(cls, mean: np.ndarray, squares: float, n: int, scatter: Any = None) -> Moments:
        """Return the moments; ‖X‖² is that of the centred rows and of the means."""
        squares = max(squares, 0.0)
        return cls(mean, squares, squares + n * float(np.vdot(mean, mean)), scatter)


def moments(X: Any) -> Moments:
    """Return means and squares in float64; the mean of a constant column is exact.

    Sums are of differences to the first row, so that neither a large common offset nor many rows
    cost digits.
    """
    n, d = X.shape
    if sp.issparse(X):
        mean = np.asarray(X.sum(axis=0, dtype=np.float64)).ravel() / n
        values = X.data.astype(np.float64, copy=False)
        squares = float(np.vdot(values, values)) - n * float(np.vdot(mean, mean))
        return Moments.about(mean, squares, n)
    first = X[0].astype(np.float64)

    def add(rows: slice, total: np.ndarray) -> None:
        D = np.subtract(X[rows], first, dtype=np.float64, order="C")
        total[:d] += D.sum(axis=0)
        total[d] += np.vdot(D, D)

    sums = _sum_over(_tiles(X.shape), add, (d + 1,))
    shift = sums[:d] / n
    return Moments.about(first + shift, float(sums[d]) - n * float(np.vdot(shift, shift)), n)


def scatter_moments(X: np.ndarray) -> Moments:
    """Return the moments and the scatter of a dense table in one pass.

    The pass takes off the mean of some rows spread over the table, and the product of the small
    rest at the end. If these rows were far off, that loses digits, and a second pass is made.
    """
    n, d = X.shape
    sample = X[:: max(n // SAMPLED, 1)].astype(np.float64, order="C")
    rough = sample[0] + (sample - sample[0]).mean(axis=0)

    def add(rows: slice, total: np.ndarray) -> None:
        B = np.subtract(X[rows], rough, dtype=np.float64, order="C")
        total[:d] += B.T @ B
        total[d] += B.sum(axis=0)

    sums = _sum_over(_gram_tiles(X.shape), add, (d + 1, d))
    shift, S = sums[d] / n, sums[:d]
    with np.errstate(over="ignore", invalid="ignore"):
        S -= np.multiply.outer(n * shift, shift)
        is_far_off = n * float(np.vdot(shift, shift)) > FAR_OFF * float(np.trace(S))
    if is_far_off:
        mean = moments(X).mean
        S = Centered(X, mean, False).gram()
        return Moments.about(mean, float(np.trace(S)), n, S)
    return Moments.about(rough + shift, float(np.trace(S)), n, S)


def centered(X: Any, mean: np.ndarray, transposed: bool) -> Centered:
    """Return A = X − 1 meanᵀ, or its transpose, of an array or a CSR table."""
    kind = SparseCentered if sp.issparse(X) else Centered
    return kind(X, mean, transposed)


class Centered:
    """A = X − 1 meanᵀ or its transpose, shape (m, p), of a dense X.

    A tile is some rows of A in float64; X itself is never copied.
    """

    def __init__(self, X: Any, mean: np.ndarray | None, transposed: bool):
        self.X, self.mean, self.transposed = X, mean, transposed
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
        return Centered(A, None, False)

    def gram(self, V: np.ndarray | None = None) -> np.ndarray:
        """Return AᵀA, or (A V)ᵀ(A V)."""

        def add(rows: slice, total: np.ndarray) -> None:
            B = self.tile(rows) if V is None else self.tile(rows) @ V
            total += B.T @ B

        p = self.shape[1] if V is None else V.shape[1]
        return _sum_over(self._tiles(), add, (p, p))

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

        return _sum_over(self._tiles(), add, (self.shape[1], *U.shape[1:]))

    def gram_times(self, V: np.ndarray) -> np.ndarray:
        """Return AᵀA V in one pass over A, shape (p, k)."""

        def add(rows: slice, total: np.ndarray) -> None:
            B = self.tile(rows)
            if V.ndim == 1 and B.flags.c_contiguous:
                add_gram_times_vector(B, V, total)
            else:
                total += B.T @ (B @ V)

        return _sum_over(self._tiles(), add, V.shape)

    def triangle(self) -> np.ndarray:
        """Return R of A = QR; Q is never formed, nor A as a whole."""
        p, workers = self.shape[1], n_threads()
        parts = [np.empty((0, p)) for _ in range(workers)]

        def reduce(rows: slice, worker: int) -> None:
            parts[worker] = triangle_of(np.vstack([parts[worker], self.tile(rows)]))

        run_tiles(reduce, _tiles(self.shape, at_least=TALL * p), workers)
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
        return _gram_tiles(self.shape)


class SparseCentered(Centered):
    """The same of a CSR table: the mean comes off after the product, and no zero is stored."""

    mean: np.ndarray

    def __init__(self, X: Any, mean: np.ndarray, transposed: bool):
        super().__init__(X.astype(np.float64, copy=False), mean, transposed)

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

        return _sum_over(self._parts, add, V.shape)

    @cached_property
    def _parts(self) -> list[SparseCentered]:
        """The rows in one part for each thread: SciPy's products leave the others idle."""
        n = self.shape[0]
        return [
            SparseCentered(self.X[rows], self.mean, False)
            for rows in ranges(n, -(-n // n_threads()))
        ]

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


# ---------------------------------------------------------------- tiles
def _tiles(shape: tuple[int, ...], at_least: int = 1) -> list[slice]:
    """Return slices of rows: tiles that fit the cache, at least one for each thread."""
    m, p = shape
    rows = max(TILE_BYTES // (8 * p), at_least, 1)
    return ranges(m, min(rows, -(-m // n_threads())))


def _gram_tiles(shape: tuple[int, ...]) -> list[slice]:
    """Return tiles whose products are worth adding to a sum as large as the tile is wide."""
    return _tiles(shape, at_least=shape[1] if shape[1] ** 2 > LARGE_SUM else 1)


def _sum_over(
    tiles: list[Any], add: Callable[[Any, np.ndarray], None], shape: tuple[int, ...]
) -> np.ndarray:
    """Return the sum that ``add(tile, total)`` makes: one for each thread, then all of them."""
    if np.prod(shape) > LARGE_SUM:  # one sum; BLAS brings the threads
        total = np.zeros(shape)
        for tile in tiles:
            _quietly(add, tile, total)
        return total
    totals = [np.zeros(shape) for _ in range(min(n_threads(), len(tiles)))]
    run_tiles(lambda tile, worker: _quietly(add, tile, totals[worker]), tiles, len(totals))
    for other in totals[1:]:
        _quietly(np.add, totals[0], other, totals[0])
    return totals[0]


def _quietly(add: Callable[..., Any], *args: Any) -> None:
    """Add without a warning of overflow: whoever needs the sum looks whether it is finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        add(*args)
