"""A symmetric matrix in band form, K = Q B Qᵀ, by blocks of Householder reflections.

The reduction is 4/3 n³ operations, all of them matrix products; (B + λ) then takes n w² for each λ.
A full eigendecomposition costs five times as much, most of it waiting for memory.
"""

from __future__ import annotations

import numpy as np

from mercer._array import allocate, n_threads, ranges, run_tiles
from mercer.solvers import _band_loops, _lapack

WIDTH = 48  # narrower: slower products; wider: slower band solves
LANES = 16  # λ that a thread takes at once


class BandForm:
    """K = Q B Qᵀ for a symmetric K, and solutions of (K + λ) x = r for many λ.

    Parameters
    ----------
    A : array of shape (n, n)
        K in Fortran's order; the lower triangle is read, and all of it is written over.
    lams : array of shape (n_lams,)
        The λ that will be asked for.
    """

    def __init__(self, A: np.ndarray, lams: np.ndarray, width: int = WIDTH):
        self.dtype, self.width = A.dtype, width
        self._A = A  # the reflectors, below the band
        self._T: list[np.ndarray] = []
        self.band = self._reduce()
        self.usable = np.ones(len(lams), bool)
        """For which λ the matrix is positive definite, as far as this precision can tell."""
        self._groups = ranges(len(lams), LANES)
        self._factors = [
            allocate((len(A), width + 1, group.stop - group.start), A.dtype)
            for group in self._groups
        ]
        self._factorise(lams.astype(A.dtype))

    def _reduce(self) -> np.ndarray:
        A, w = self._A, self.width
        n = len(A)
        band = np.zeros((w + 1, n), A.dtype, order="F")
        for j in range(0, n, w):
            panel = A[j + w :, j : j + w]  # (m, w)
            if len(panel) > 1:
                self._T.append(_lapack.householder(panel))
            _copy_band(A[j : j + 2 * w, j : j + w], band[:, j : j + w], w)
            if len(panel) > 1:
                V = _explicit(panel)
                _apply_both_sides(A[j + w :, j + w :], V, self._T[-1])
        return band

    def _factorise(self, lams: np.ndarray) -> None:
        def one(number: int, worker: int) -> None:
            group = self._groups[number]
            _band_loops.factor(self.band, lams[group], self._factors[number], self.usable[group])

        run_tiles(one, range(len(self._groups)), n_threads())

    def solve(self, R: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Return (K + λ)⁻¹ r for right-hand sides (n_lams, t, n) of the λ of these numbers.

        One right-hand side, of shape (1, t, n), serves all λ.
        """
        X = np.array(R, dtype=self.dtype, order="C")
        self._rotate(_columns(X), to_band=True)
        if len(X) < len(which):
            X = np.repeat(X, len(which), axis=0)

        def one(number: int, worker: int) -> None:
            group = self._groups[number]
            chosen = np.flatnonzero((which >= group.start) & (which < group.stop))
            if len(chosen):
                lanes = np.zeros((X.shape[1], X.shape[2], group.stop - group.start), X.dtype)
                lanes[..., which[chosen] - group.start] = np.moveaxis(X[chosen], 0, -1)
                _band_loops.solve(self._factors[number], lanes)
                X[chosen] = np.moveaxis(lanes[..., which[chosen] - group.start], -1, 0)

        run_tiles(one, range(len(self._groups)), n_threads())
        self._rotate(_columns(X), to_band=False)
        return X

    def _rotate(self, Y: np.ndarray, *, to_band: bool) -> None:
        """Write Qᵀ Y (or Q Y) over Y."""
        w, last = self.width, len(self._T)
        for i in range(last) if to_band else reversed(range(last)):
            T, start = self._T[i], (i + 1) * w
            V = self._A[start:, i * w : i * w + len(T)]
            part = Y[start:]
            inner = _empty(len(T), Y.shape[1], Y.dtype)
            _lapack.add_product(inner, V, part, transposed=True, keep=0.0)
            turned = _empty(len(T), Y.shape[1], Y.dtype)
            _lapack.add_product(turned, T, inner, transposed=to_band, keep=0.0)
            _lapack.add_product(part, V, turned, factor=-1.0)


def _columns(X: np.ndarray) -> np.ndarray:
    """Return vectors along the last axis as the columns of a matrix, the same memory."""
    return X.reshape(-1, X.shape[-1]).T


def _empty(m: int, n: int, dtype: np.dtype) -> np.ndarray:
    return np.empty((m, n), dtype, order="F")


def _copy_band(strip: np.ndarray, band: np.ndarray, w: int) -> None:
    """Write w columns of the band, the lower triangle and R below it, as diagonals."""
    k = strip.shape[1]
    padded = np.zeros((2 * w + 1, k), strip.dtype)
    padded[: len(strip)] = strip
    column = np.arange(k)
    band[...] = padded[np.arange(w + 1)[:, None] + column, column]


def _explicit(panel: np.ndarray) -> np.ndarray:
    """Return V with its ones and zeros written out, in place."""
    k = min(panel.shape)
    V = panel[:, :k]
    top = V[:k]
    top[...] = np.tril(top, -1)
    np.fill_diagonal(top, 1.0)
    return V


def _apply_both_sides(A: np.ndarray, V: np.ndarray, T: np.ndarray) -> None:
    """Write Qᵀ A Q over A with Q = I − V T Vᵀ."""
    VT = _lapack.add_product(np.empty(V.shape, V.dtype, order="F"), V, T, keep=0.0)
    W = _lapack.symmetric_product(A, VT)
    half = _empty(T.shape[0], T.shape[0], V.dtype)
    _lapack.add_product(half, VT, W, transposed=True, factor=0.5, keep=0.0)
    _lapack.add_product(W, V, half, factor=-1.0)
    _lapack.subtract_symmetric(A, V, W)
