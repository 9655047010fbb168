"""The ridge system in symmetric form, without weights and intercept, and how it is refined.

With D = W^½, α = Dx and P the projection against D1, the system (K + λW⁻¹)α + b = y, Σα = 0 is

    (P D K D P + λ) x = P D y,    b = the weighted mean of y − Kα.

*Why the projection.* A border of ones needs one more right-hand side for each λ. The projection
needs none; and it takes away the largest eigenvalue of most kernel matrices, that of the near
constant vector, so that float32 goes further and targets far from 0 lose no digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from mercer._array import allocate, n_threads, ranges, run_tiles
from mercer._clock import deadline, look
from mercer._compiled import compiled
from mercer._floats import EPS, TINY
from mercer.certify import relative_residual
from mercer.gram import Gram
from mercer.result import Certificate

ROWS = 64  # of a block that a thread scales at once


class Factor(Protocol):
    """An approximate solution of (P D K D P + λ) x = r for some λ."""

    usable: np.ndarray

    def solve(self, R: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Return solutions for right-hand sides (n_lams, t, m) of the λ of these numbers.

        One right-hand side, of shape (1, t, m), serves all λ.
        """
        ...


class ScaledSystem:
    """P D K D P and P D Y, for targets of several problems; vectors lie along the last axis.

    Parameters
    ----------
    product : callable
        Takes V of shape (m, c) in Fortran's order, returns K V in float64.
    Y : array of shape (m, t)
        Targets.
    weight : array of shape (m,)
        Weights > 0.
    """

    def __init__(
        self,
        product: Callable[[np.ndarray], np.ndarray],
        Y: np.ndarray,
        weight: np.ndarray,
        fit_intercept: bool,
    ):
        self._product, self.Y, self.weight = product, Y, weight
        self.root = np.sqrt(weight)
        self.unit = self.root / np.linalg.norm(self.root) if fit_intercept else None
        scaled = self.root * Y.T  # (t, m)
        self.target = self.project(self.project(scaled))  # once leaves rounding of the mean
        self.size = float(np.linalg.norm(scaled))

    def project(self, X: np.ndarray) -> np.ndarray:
        """Return P X."""
        if self.unit is None:
            return X
        return X - np.einsum("...m,m->...", X, self.unit)[..., None] * self.unit

    def raw_apply(self, X: np.ndarray) -> np.ndarray:
        """Return D K D X."""
        rows = X.reshape(-1, X.shape[-1]) * self.root
        return (self._product(rows.T).T * self.root).reshape(X.shape)

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return P D K D X, for X = P X."""
        return self.project(self.raw_apply(X))

    def intercept(self, f: np.ndarray) -> np.ndarray:
        """Return b for f = Kα."""
        if self.unit is None:
            return np.zeros(f.shape[:-1])
        return np.einsum("...m,m->...", self.Y.T - f, self.weight) / self.weight.sum()

    def residual(self, X: np.ndarray, f: np.ndarray, b: np.ndarray, lams: np.ndarray) -> np.ndarray:
        """Return ‖D(y − f − b) − λx‖ / ‖Dy‖ for each λ, from f = Kα as it was recomputed."""
        R = self.root * (self.Y.T - f - b[..., None]) - lams[:, None, None] * X
        return _norms(R) / max(self.size, TINY)

    def proved(
        self, K: Gram, X: np.ndarray, ridge: np.ndarray, *, condition: float, tolerance: float
    ) -> tuple[np.ndarray, np.ndarray, Certificate]:
        """Return α, b and the proof of (K + diag(ridge)) α + b = y from x of shape (t, m)."""
        alpha = (X * self.root).T
        b = self.intercept(self._product(np.asfortranarray(alpha)).T)
        certificate = relative_residual(
            K,
            alpha,
            b,
            self.Y,
            ridge,
            condition=condition,
            tolerance=tolerance,
            fit_intercept=self.unit is not None,
        )
        return alpha, b, certificate


def refine(
    system: ScaledSystem, lams: np.ndarray, factor: Factor, *, goal: float, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Solve for all λ at once by conjugate gradients with a factor; one product with K a step.

    A direction is made conjugate to the one before by its product with it, which is right also
    where a factor in float32 is not exactly symmetric.

    Returns
    -------
    array of shape (n_lams, t, m), array of shape (n_lams,)
        x, and for each λ whether its residual is at most ``goal`` times that of x = 0.
    """
    R = np.repeat(system.target[None], len(lams), axis=0)
    X, P, Q = np.zeros_like(R), np.zeros_like(R), np.zeros_like(R)
    slope = np.zeros(R.shape[:2])
    start = float(np.linalg.norm(system.target))
    # constant targets leave rounding behind, which is not worth solving for
    limit = max(goal * start, 10.0 * EPS * system.size)
    done = np.full(len(lams), start <= limit)
    todo = np.flatnonzero(factor.usable & ~done)
    for step in range(steps):
        if not len(todo):
            break
        look(deadline())
        right = R[todo] if step else R[:1]  # the first right-hand side is that of all λ
        p = system.project(_normalised_solve(factor, right, todo))
        p -= _ratio(_dots(p, Q[todo]), slope[todo]) * P[todo]
        q = system.apply(p) + lams[todo, None, None] * p
        P[todo], Q[todo], slope[todo] = p, q, _dots(p, q)
        length = _ratio(_dots(p, R[todo]), slope[todo])
        X[todo] += length * p
        R[todo] -= length * q
        done[todo] = _norms(R[todo]) <= limit
        todo = todo[~done[todo]]
    return X, done


def _normalised_solve(factor: Factor, R: np.ndarray, which: np.ndarray) -> np.ndarray:
    """Solve for right-hand sides of length 1: residuals soon leave the range of float32."""
    size = np.sqrt(_dots(R, R))[..., None]
    size[size == 0.0] = 1.0
    return factor.solve(R / size, which).astype(np.float64, copy=False) * size


def _dots(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.einsum("ltm,ltm->lt", A, B)


def _norms(R: np.ndarray) -> np.ndarray:
    return np.sqrt(_dots(R, R).sum(axis=1))


def _ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.divide(a, b, out=np.zeros_like(a), where=b != 0)[..., None]


# ---------------------------------------------------------------- the matrix itself
class ScaledMatrix(NamedTuple):
    """s (P D K D P + c uuᵀ) with u ∝ D1: the lower triangle, in Fortran's order."""

    A: np.ndarray
    s: float
    """A power of two that makes the largest diagonal value about 1: float32 holds the rest."""

    c: float
    """An eigenvalue for the direction that P takes away; 0 would be noise in float32."""


def scaled_matrix(
    K: np.ndarray,
    rows: np.ndarray,
    system: ScaledSystem,
    dtype: Any,
    *,
    memory: Any = None,
    out: np.ndarray | None = None,
    without: np.ndarray | None = None,
) -> ScaledMatrix:
    """Return the matrix of a system about these rows and columns of K, written into ``out``.

    Of ``without``, W of shape (r, m), WᵀW is taken off before anything is rounded to ``dtype``.
    """
    m = len(rows)
    if out is None:
        out = allocate((m, m), dtype, memory)  # out[j, i] is A[i, j]
    has_offset = system.unit is not None
    unit = system.unit if system.unit is not None else np.zeros(m)
    means = system.raw_apply(unit[None])[0] if has_offset else unit
    largest = float((system.weight * np.abs(K[rows, rows])).max(initial=0.0))
    s = float(2.0 ** -np.round(np.log2(largest))) if 0.0 < largest < np.inf else 1.0
    c = max(largest, 1.0 / s) if has_offset else 0.0
    total = float(unit @ means) + c
    rows = np.ascontiguousarray(rows, dtype=np.int64)

    def fill(part: slice, worker: int) -> None:
        tile = out[part] if without is None else np.zeros((part.stop - part.start, m))
        _fill(K, rows, system.root, unit, means, total, s, part.start, tile)
        if without is not None:
            tile[:, part.start :] -= s * (without[:, part].T @ without[:, part.start :])
            out[part] = tile

    run_tiles(fill, ranges(m, ROWS), n_threads() if m > 8 * ROWS else 1)
    return ScaledMatrix(out.T, s, c)


@compiled()
def _fill(K, rows, root, unit, means, total, s, first, out):
    for j in range(first, first + len(out)):
        row, a, b, c = K[rows[j]], s * root[j], s * unit[j], s * (means[j] - total * unit[j])
        for i in range(j, len(rows)):
            out[j - first, i] = a * root[i] * row[rows[i]] - b * means[i] - c * unit[i]
