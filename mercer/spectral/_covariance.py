"""A covariance as its principal axes: whitening, solves and products without a d × d matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, qr, svd

from mercer._array import largest_size
from mercer._floats import EPS, MODERATE, safe_unit

CLEAR = 1e-6  # squares of singular values above this share of the largest keep 10 digits
NOISE = 8 * EPS  # of a column, relative to its largest entry: its values are all equal
HARMLESS = 1e3  # deviations that a mean may be away from 0 before it is subtracted first


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


def principal_axes(R: np.ndarray, *, groups: int = 1, floor: float = 0.0) -> Axes:
    """Return the principal axes of rows that are centred within so many groups.

    The eigenvalues of the smaller of RᵀR and RRᵀ are the squares of the singular values: fast, and
    accurate where they are all of similar size (or far below ``floor``, what is added to them). All
    other tables get a singular value decomposition.
    """
    largest = largest_size(R)
    if largest == 0.0 or min(R.shape) == 0:
        return Axes(np.zeros((R.shape[1], 0)), np.zeros(0))
    unit = safe_unit(largest)
    R = R if unit == 1.0 else R / unit
    axes = _by_squares(R, groups, floor / unit / unit)
    if axes is None:
        axes = _by_singular_values(R)
    return Axes(axes.vectors, axes.sizes * unit)


def _by_squares(R: np.ndarray, groups: int, floor: float) -> Axes | None:
    """Return the axes, or None if an eigenvalue that may be more than rounding is inaccurate."""
    n, d = R.shape
    rank = min(d, n - groups)
    if rank <= 0:
        return None
    wide = n < d
    squares, vectors = eigh(R @ R.T if wide else R.T @ R, overwrite_a=True, check_finite=False)
    squares, vectors = squares[::-1][:rank], vectors[:, ::-1][:, :rank]
    if squares[-1] + floor < CLEAR * (squares[0] + floor):
        return None
    keep = squares > max(n, d) * EPS * squares[0]
    squares, vectors = squares[keep], vectors[:, keep]
    sizes = np.sqrt(squares)
    return Axes((R.T @ vectors) / sizes if wide else vectors, sizes)


def _by_singular_values(R: np.ndarray) -> Axes:
    n, d = R.shape
    if n > 2 * d:  # the left vectors are not needed, and R = QT has the right ones of T
        R = qr(R, mode="r", check_finite=False)[0][:d]
    _, sizes, Vt = svd(R, full_matrices=False, check_finite=False)
    keep = sizes > max(n, d) * EPS * sizes[0]
    return Axes(Vt[keep].T, sizes[keep])


def centered(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return X minus the mean of its rows, in float64, and the mean."""
    mean = X.mean(axis=0, dtype=np.float64)
    rows = np.subtract(X, mean, dtype=np.float64)
    correction = rows.mean(axis=0)  # a long sum rounds: without it constant columns have a spread
    rows -= correction
    return rows, mean + correction


def project(X: np.ndarray, mean: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Return (X − 1 meanᵀ) W in float64, for W whose outputs are of size one."""
    if np.max(np.abs(mean) @ np.abs(W), initial=0.0) < HARMLESS:  # few digits cancel
        return X @ W - mean @ W
    return np.subtract(X, mean, dtype=np.float64) @ W


def deviations(rows: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return the root mean square of each centred column, 0 where there is only rounding.

    ``mean`` is what was subtracted (of several groups: its largest entries): its size tells what
    rounding can do.
    """
    largest = np.abs(rows).max(axis=0)
    constant = largest <= NOISE * np.abs(mean)
    unit = np.where(constant | (largest == 0.0), 1.0, largest)
    if MODERATE[0] < unit.min(initial=1.0) and unit.max(initial=1.0) < MODERATE[1]:
        spread = np.sqrt(np.einsum("ij,ij->j", rows, rows) / len(rows))
    else:
        spread = unit * np.sqrt(np.mean((rows / unit) ** 2, axis=0))
    return np.where(constant, 0.0, spread)
