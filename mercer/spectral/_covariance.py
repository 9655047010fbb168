"""A covariance as its principal axes: whitening, solves and products without a d × d matrix."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh, qr, svd

from mercer._array import largest_size
from mercer._floats import COLUMN_NOISE, EPS, MODERATE, safe_unit
from mercer._scratch import scratch
from mercer.solvers import fix_signs

CLEAR_SHARE = 1e-6  # squares of singular values above this share of the largest keep 10 digits
HARMLESS_OFFSET = 1e3  # deviations that a mean may be away from 0 before it is subtracted first


class Axes(NamedTuple):
    """The right singular vectors of a table R and its singular values, those above rounding."""

    vectors: np.ndarray  # (d, r), orthonormal
    sizes: np.ndarray  # (r,), falling

    @property
    def rank(self) -> int:
        return len(self.sizes)


class Covariance(NamedTuple):
    """S = RᵀR + floor · I; where floor = 0 the inverse is that on the range of R."""

    axes: Axes
    floor: float = 0.0

    @classmethod
    def of(cls, R: np.ndarray, floor: float = 0.0, *, groups: int = 1) -> Covariance:
        """Return the covariance of rows R that are centred within so many groups."""
        return cls(principal_axes(R, groups=groups, floor=floor), floor)

    @property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues on the range of R, falling."""
        return self.axes.sizes**2 + self.floor

    @property
    def basis(self) -> np.ndarray:
        """W with WᵀSW = I whose columns span the range of R, shape (d, r)."""
        return self.axes.vectors / np.sqrt(self.eigenvalues)

    def whiten(self, B: np.ndarray) -> np.ndarray:
        """Return S^(−½) B."""
        outside = self.floor**-0.5 if self.floor > 0 else 0.0
        return self._apply(self.eigenvalues**-0.5, outside, B)

    def color(self, B: np.ndarray) -> np.ndarray:
        """Return S^½ B."""
        return self._apply(self.eigenvalues**0.5, self.floor**0.5, B)

    def _apply(self, inside: np.ndarray, outside: float, B: np.ndarray) -> np.ndarray:
        V = self.axes.vectors
        return outside * B + V @ ((inside - outside)[:, None] * (V.T @ B))


def principal_axes(
    R: np.ndarray, *, groups: int = 1, floor: float = 0.0, clear: float = CLEAR_SHARE
) -> Axes:
    """Return the principal axes of rows that are centred within so many groups.

    The eigenvalues of the smaller of RᵀR and RRᵀ are the squares of the singular values: fast, and
    accurate where they are all of similar size (or far below ``floor``, what is added to them). All
    other tables, with an eigenvalue below the share ``clear`` of the largest, get a singular value
    decomposition.
    """
    largest = largest_size(R)
    if largest == 0.0 or min(R.shape) == 0:
        return Axes(np.zeros((R.shape[1], 0)), np.zeros(0))
    unit = safe_unit(largest)
    R = R if unit == 1.0 else R / unit
    axes = _by_squares(R, groups, floor / unit / unit, clear)
    if axes is None:
        axes = by_singular_values(R)
    return Axes(axes.vectors, axes.sizes * unit)


def _by_squares(R: np.ndarray, groups: int, floor: float, clear: float) -> Axes | None:
    """Return the axes, or None if an eigenvalue that may be more than rounding is inaccurate."""
    n, d = R.shape
    rank = min(d, n - groups)
    if rank <= 0:
        return None
    wide = n < d
    squares, vectors = eigh(R @ R.T if wide else R.T @ R, overwrite_a=True, check_finite=False)
    squares, vectors = squares[::-1][:rank], vectors[:, ::-1][:, :rank]
    if squares[-1] + floor < clear * (squares[0] + floor):
        return None
    keep = squares > max(n, d) * EPS * squares[0]
    squares, vectors = squares[keep], vectors[:, keep]
    sizes = np.sqrt(squares)
    return Axes((R.T @ vectors) / sizes if wide else vectors, sizes)


def by_singular_values(R: np.ndarray, largest: float = 0.0) -> Axes:
    """Return the axes of any table; rounding is that of its size or of ``largest``."""
    n, d = R.shape
    if n > 2 * d:  # the left vectors are not needed, and R = QT has the right ones of T
        R = qr(R, mode="r", check_finite=False)[0][:d]
    _, sizes, Vt = svd(R, full_matrices=False, check_finite=False)
    keep = sizes > max(n, d) * EPS * max(sizes[0], largest)
    return Axes(Vt[keep].T, sizes[keep])


def narrow(rows: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """Return an orthonormal basis of rows that are fewer than columns, and the rows in it."""
    n, d = rows.shape
    if d <= n:
        return None, rows
    basis, R = qr(rows.T, mode="economic", check_finite=False)
    return basis, np.ascontiguousarray(R.T)


# ------------------------------------------------------------------------ rows and columns
def centred_in_unit(X: Any) -> tuple[np.ndarray, np.ndarray, float]:
    """Return centred rows and their mean, both in the unit of the largest entry, and the unit.

    Their squares neither overflow nor vanish. The unit is a power of two: to divide by it rounds
    nothing, where rows that are far off would lose digits of what they have not in common.
    """
    largest = largest_size(X)
    scale = 2.0 ** min(int(np.frexp(largest)[1]), 1023) if largest else 1.0
    rows = np.asarray(X, dtype=np.float64) / scale
    mean = rows.mean(axis=0)
    rows -= mean
    correction = rows.mean(axis=0)  # the mean of rows that are far off is rounded
    rows -= correction
    return rows, mean + correction, scale


def in_squared_units(values: Any, *units: float) -> np.ndarray:
    """Return variances in the units of the data, or say that they are too large for a number."""
    found = np.asarray(values, dtype=np.float64)
    with np.errstate(over="ignore"):
        for unit in units:
            found = found * unit * unit
    if not np.isfinite(found).all():
        raise ValueError("the variances of X overflow: its values are beyond 1e154; rescale X")
    return found


def centered_rows(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return X minus the mean of its rows, in float64, and the mean."""
    mean = X.mean(axis=0, dtype=np.float64)
    rows = np.subtract(X, mean, dtype=np.float64)
    correction = rows.mean(axis=0)  # a long sum rounds: without it constant columns have a spread
    rows -= correction
    return rows, mean + correction


def project(X: np.ndarray, mean: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Return (X − 1 meanᵀ) W in float64, for W whose outputs are of size one."""
    if np.max(np.abs(mean) @ np.abs(W), initial=0.0) < HARMLESS_OFFSET:  # few digits cancel
        return X @ W - mean @ W
    return np.subtract(X, mean, dtype=np.float64) @ W


def deviations(rows: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return the root mean square of each centred column, 0 where there is only rounding.

    ``mean`` is what was subtracted (of several groups: its largest entries): its size tells what
    rounding can do.
    """
    largest = np.abs(rows).max(axis=0)
    constant = largest <= COLUMN_NOISE * np.abs(mean)
    unit = np.where(constant | (largest == 0.0), 1.0, largest)
    if MODERATE[0] < unit.min(initial=1.0) and unit.max(initial=1.0) < MODERATE[1]:
        spread = np.sqrt(np.einsum("ij,ij->j", rows, rows) / len(rows))
    else:
        spread = unit * np.sqrt(np.mean((rows / unit) ** 2, axis=0))
    return np.where(constant, 0.0, spread)


def no_zero(spread: np.ndarray) -> np.ndarray:
    """Return units to divide columns by: their deviations, or 1."""
    return np.where(spread > 0, spread, 1.0)


# ------------------------------------------------------------------------ shrinkage
def ledoit_wolf(rows: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return 1 − s_c of each class, shape (C,), and what shrinkage adds to the diagonal, (C, d).

    Class c has the covariance C_c = D R D with its deviations D (1 for a constant column), and the
    shrunk one is D ((1 − s_c) R + s_c tr(R)/d I) D. The rows are centred within classes.
    """
    d = rows.shape[1]
    keep, floors = [], []
    for c in range(codes.max() + 1):
        Z = rows[codes == c]
        spread = deviations(Z, np.zeros(d))
        unit = no_zero(spread)
        Z = Z / unit
        mean_variance = float(np.mean(spread > 0))  # tr(R)/d: each column has variance 1 or 0
        s = intensity(Z)
        keep.append(1.0 - s)
        floors.append(s * mean_variance * unit**2)
    return np.array(keep), np.array(floors)


def intensity(Z: np.ndarray) -> float:
    """Return s in (1 − s) S + s tr(S)/d I, S = ZᵀZ/n, with the least expected squared error.

    O. Ledoit, M. Wolf, A well-conditioned estimator for large-dimensional covariance matrices,
    Journal of Multivariate Analysis 88 (2004).
    """
    n, d = Z.shape
    squares = np.einsum("ij,ij->i", Z, Z)  # ‖z_i‖²
    mu = float(squares.sum()) / (n * d)
    product = Z @ Z.T if n < d else Z.T @ Z
    norm2 = float(np.sum(product**2)) / n**2  # ‖S‖²
    dispersion = norm2 - d * mu**2  # ‖S − μI‖²
    error = (float(squares @ squares) / n - norm2) / n  # of S, by its terms zzᵀ
    if d == 1 or error <= 0.0 or dispersion <= 0.0:
        return 0.0
    return min(error / dispersion, 1.0)


# ------------------------------------------------------------------------ signals
class WhiteSignals(NamedTuple):
    """The signals z = unmixing (x − mean), with x − mean = mixing z on the space that is kept."""

    mean: np.ndarray  # (d,)
    unmixing: np.ndarray  # (k, d)
    mixing: np.ndarray  # (d, k)
    signals: np.ndarray  # (k, n)


def whiten(X: Any, n_components: int | None) -> WhiteSignals:
    """Return the leading principal components of X with variance one (divisor n).

    No more than the rank of the centred rows are kept.
    """
    n, d = X.shape
    scale = largest_size(X) or 1.0  # squares neither overflow nor vanish
    rows = np.divide(X, scale, out=scratch((n, d), np.float64, brief=True), dtype=np.float64)
    mean = (np.ones(n) @ rows) / n
    rows -= mean
    found = principal_axes(rows)
    sizes = found.sizes[:n_components] / np.sqrt(n)
    axes = fix_signs(found.vectors[:, :n_components])
    noise = 4.0 * EPS * (max(n, d) * sizes.max(initial=0.0) + float(np.linalg.norm(mean)))
    keep = sizes > noise
    sizes, axes = sizes[keep], axes[:, keep]
    unmixing = (axes / sizes).T
    signals = scratch((len(unmixing), n), np.float64, brief=True)
    np.matmul(unmixing, rows.T, out=signals)
    return WhiteSignals(mean * scale, unmixing / scale, axes * (sizes * scale), signals)
