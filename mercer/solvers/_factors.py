"""Factors of a symmetric A that solve (A + λ) x = r: eigenvectors, Cholesky's, band, low rank."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import get_lapack_funcs

from mercer._array import allocate, n_threads, ranges, run_tiles
from mercer._clock import deadline, look
from mercer._compiled import compiled, compiled_part
from mercer._limits import UNLIMITED
from mercer._threads import one_blas_thread
from mercer.solvers import _lapack

WIDTH = 48  # narrower: slower products; wider: slower band solves
DIVIDED = 2000  # points up to which divide and conquer may take memory for its speed
LANES = 16  # λ that a thread takes at once
EIGEN_UP_TO = 300  # points; eigenvectors are the fastest factor for many λ below


class EigenForm:
    """A = V S Vᵀ, and (A + λ)⁺ for any λ: what is zero up to rounding is left out."""

    def __init__(self, values: np.ndarray, vectors: np.ndarray, lams: np.ndarray):
        self.values, self.vectors, self._lams = values, vectors, lams
        self.usable = np.ones(len(lams), bool)

    @classmethod
    def of(cls, A: np.ndarray, lams: np.ndarray, memory: int = UNLIMITED) -> EigenForm:
        """Decompose A, whose lower triangle is read and written over, within so many bytes."""
        if not np.isfinite(norm_of_symmetric(A)):
            raise ValueError("the Gram matrix has values that are not finite: rescale X")
        # divide and conquer needs twice the matrix beside it, the other way once
        if len(A) <= DIVIDED and 3 * A.nbytes <= memory:
            vectors = np.asfortranarray(A)
            with one_blas_thread():  # half are products with a vector, between which threads spin
                return cls(_lapack.eigen(vectors), vectors, lams)
        values, vectors = eigh(A, lower=True, overwrite_a=True, check_finite=False, driver="evr")
        return cls(values, vectors, lams)

    def solve(self, R: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Return (A + λ)⁺ r for right-hand sides (n_lams, t, n) of the λ of these numbers."""
        shifted = self.values + self._lams[which, None, None]
        cutoff = len(self.values) * np.finfo(R.dtype).eps * np.abs(shifted).max(axis=2)
        small = np.abs(shifted) <= cutoff[..., None]
        inverse = np.divide(1.0, shifted, out=np.zeros_like(shifted), where=~small)
        return (inverse * (R @ self.vectors)) @ self.vectors.T


class LowRankForm:
    """A ≈ FᵀF of low rank, (A + λ)⁻¹ = (I − Fᵀ(FFᵀ + λ)⁻¹F) / λ.

    Parameters
    ----------
    F : array of shape (r, n)
        The factor.
    lams : array of shape (n_lams,)
        The λ > 0 that will be asked for.
    """

    def __init__(self, F: np.ndarray, lams: np.ndarray):
        self._F, self._lams = F, lams
        S = np.asfortranarray(F @ F.T)
        self._inner = form_for_many(S, lams)
        self.usable = self._inner.usable

    def solve(self, R: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Return (FᵀF + λ)⁻¹ r for right-hand sides (n_lams, t, n) of the λ of these numbers."""
        C = self._inner.solve(R @ self._F.T, which)
        return (R - C @ self._F) / self._lams[which, None, None]


class CholeskyForm:
    """A + λ = L Lᵀ for one λ; ``usable`` says whether it exists in this precision."""

    def __init__(self, A: np.ndarray, lam: float):
        self._L = np.asfortranarray(A)
        self._L[np.diag_indices_from(A)] += lam
        (self._potrs,) = get_lapack_funcs(("potrs",), (A,))
        self.usable = np.array([_lapack.cholesky(self._L)])

    def solve(self, R: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Return (A + λ)⁻¹ r for right-hand sides of shape (1, t, n)."""
        return self._potrs(self._L, R[0].T, lower=True)[0].T[None]

    def condition(self, A_norm: float) -> float:
        """Return LAPACK's estimate of the condition number in the 1-norm."""
        (pocon,) = get_lapack_funcs(("pocon",), (self._L,))
        reciprocal = float(pocon(self._L, A_norm, uplo="L")[0])
        return 1.0 / reciprocal if reciprocal > 0 else np.inf


def norm_of_symmetric(A: np.ndarray) -> float:
    """Return the 1-norm of a symmetric matrix whose lower triangle is stored by columns."""
    return float(_column_sums(A.T).max(initial=0.0))


@compiled()
def _column_sums(columns):
    sums = np.zeros(len(columns))
    for j in range(len(columns)):
        own = 0.0
        for i in range(j + 1, len(columns)):
            size = abs(columns[j, i])
            own += size
            sums[i] += size
        sums[j] += own + abs(columns[j, j])
    return sums


# ---------------------------------------------------------------- band form
class BandForm:
    """K = Q B Qᵀ for a symmetric K, and solutions of (K + λ) x = r for many λ.

    Blocks of Householder reflections reduce K to the band B in 4/3 n³ operations, all of them
    matrix products; (B + λ) then takes n w² for each λ. A full eigendecomposition costs five times
    as much, most of it waiting for memory.

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
            look(deadline())
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
            _factor_lanes(self.band, lams[group], self._factors[number], self.usable[group])

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
                _solve_lanes(self._factors[number], lanes)
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


def form_for_many(A: np.ndarray, lams: np.ndarray) -> EigenForm | BandForm:
    """Return the factor of A, in Fortran's order and written over, that is cheapest for many λ."""
    return EigenForm.of(A, lams) if len(A) <= EIGEN_UP_TO else BandForm(A, lams)


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


# ---------------------------------------------------------------- what float32 cannot hold, apart
class DeflatedForm:
    """A + λ in float32 but for r directions U that hold what is large in A.

    With H = UᵀAU and E = A − AU H⁻¹ UᵀA, which is 0 on U, elimination of U leaves the Schur
    complement E + λ, up to a part of λ. E is small, so that float32 loses little of it, and only E
    goes to band form; all that has to do with U is done in float64.

    Parameters
    ----------
    U, AU : arrays of shape (r, n)
        Orthonormal directions u with uᵀAv = 0 for two of them, and A u.
    values : array of shape (r,)
        uᵀAu > 0 of each.
    remainder : BandForm
        The form of s (E + λ).
    s : float
        The factor by which the remainder is too large.
    lams : array of shape (n_lams,)
        The λ that will be asked for.
    """

    def __init__(
        self,
        U: np.ndarray,
        AU: np.ndarray,
        values: np.ndarray,
        remainder: BandForm,
        s: float,
        lams: np.ndarray,
    ):
        self._U, self._values, self._remainder, self._s = U, values, remainder, s
        self._coupling = AU - values[:, None] * U  # what A makes of U outside of U
        self._lams, self.usable = lams, remainder.usable

    def solve(self, R: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Return solutions for right-hand sides (n_lams, t, n) of the λ of these numbers."""
        U, inverse = self._U, 1.0 / (self._values + self._lams[which, None, None])
        C = R @ U.T
        inside = inverse * C
        outside = R - C @ U - inside @ self._coupling
        size = np.sqrt(np.einsum("ltm,ltm->lt", outside, outside))[..., None]
        size[size == 0.0] = 1.0
        Z = self._remainder.solve(outside / size, which).astype(np.float64) * (self._s * size)
        Z -= (Z @ U.T) @ U
        return Z + (inside - inverse * (Z @ self._coupling.T)) @ U


# Neighbouring numbers are the same entry for several λ, so that plain loops run at the speed of
# vectors; LAPACK takes one λ after the other, in blocks too small for its products to pay.
@compiled(fastmath={"contract"})
def _factor_lanes(band, lams, out, usable):
    """Write the factors of B + λ into ``out`` (n, w + 1, n_lams), with 1/L on their diagonals.

    ``band`` has the diagonals of B as rows. A λ for which B + λ is not positive definite is marked
    and goes on with a pivot of one.
    """
    n, width, lanes = out.shape
    one = band.dtype.type(1.0)
    inverse = np.empty(lanes, out.dtype)
    column = np.empty((width, lanes), out.dtype)
    for j in range(n):
        for d in range(width):
            value = band[d, j]
            for q in range(lanes):
                out[j, d, q] = value
        for q in range(lanes):
            out[j, 0, q] += lams[q]
    for j in range(n):
        for q in range(lanes):
            pivot = out[j, 0, q]
            if not pivot > 0.0:
                usable[q] = False
                pivot = one
            inverse[q] = one / np.sqrt(pivot)
        for d in range(1, width):
            for q in range(lanes):
                column[d, q] = out[j, d, q] * inverse[q]
        out[j, 0] = inverse
        out[j, 1:] = column[1:]
        for a in range(1, min(width, n - j)):
            left, below = column[a], out[j + a]
            for b in range(a, width):
                right, entry = column[b], below[b - a]
                for q in range(lanes):
                    entry[q] -= left[q] * right[q]


@compiled(fastmath={"contract"})
def _solve_lanes(factors, X):
    """Write the solutions over right-hand sides X (t, n, n_lams)."""
    n, width, _ = factors.shape
    for c in range(X.shape[0]):
        x = X[c]
        for j in range(n):
            x[j] *= factors[j, 0]
            for a in range(1, min(width, n - j)):
                _subtract(x[j + a], factors[j, a], x[j])
        for j in range(n - 1, -1, -1):
            for a in range(1, min(width, n - j)):
                _subtract(x[j], factors[j, a], x[j + a])
            x[j] *= factors[j, 0]


@compiled_part(fastmath={"contract"}, inline="always")
def _subtract(x, a, b):
    for q in range(len(x)):
        x[q] -= a[q] * b[q]
