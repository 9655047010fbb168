"""Low-rank factors of a Gram matrix, and Newton systems solved with their help."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from mercer._array import n_threads, run_tiles
from mercer._threads import one_blas_thread
from mercer.gram import Gram
from mercer.losses import Curvature
from mercer.losses.risk import column_inverse
from mercer.solvers.pivoted import factor_and_points


def low_rank_factor(K: Gram, rank: int) -> np.ndarray:
    """Return L of shape (n, r), r ≤ rank, with K ≈ LLᵀ from the rows of some points (Nyström).

    The points are chosen at random, the same in every run. If all are chosen, or K has a lower
    rank, LLᵀ is K up to rounding.
    """
    return factor_and_points(K, _some_points(K.shape[0], rank))[0]


def _some_points(n: int, rank: int) -> np.ndarray:
    if rank >= n:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, rank, replace=False))


class FreeOffset:
    """The curvature of a risk whose offset follows: H − H1(1ᵀH1)⁺1ᵀH = S̃S̃ᵀ with S̃ = SΠ.

    Π = I − Sᵀ1(1ᵀH1)⁺1ᵀS is an orthogonal projection.
    """

    def __init__(self, curve: Curvature):
        self.curve, self.inverse = curve, column_inverse(curve)

    def _constant(self, sums: np.ndarray, like: np.ndarray) -> np.ndarray:
        return np.broadcast_to(self.inverse @ sums, like.shape)

    def root(self, V: np.ndarray) -> np.ndarray:
        """Return S̃ V."""
        return self.settle(self.curve.root(V))

    def root_transposed(self, V: np.ndarray) -> np.ndarray:
        """Return S̃ᵀ V."""
        constant = self._constant(self.curve.apply(V).sum(axis=0), V)
        return self.curve.root_transposed(V - constant)

    def project(self, V: np.ndarray) -> np.ndarray:
        """Return Π V."""
        constant = self._constant(self.curve.root(V).sum(axis=0), V)
        return V - self.curve.root_transposed(constant)

    def settle(self, U: np.ndarray) -> np.ndarray:
        """Return U with column sums 0, changed by what a shift of the offset changes."""
        return U - self.curve.apply(self._constant(U.sum(axis=0), U))

    def shift(self, slopes: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Return the step of the offset that goes with a change of the predictions."""
        return -self.inverse @ (slopes + self.curve.apply(change)).sum(axis=0)


class FixedOffset:
    """The curvature of a risk without an offset, with the same verbs."""

    def __init__(self, curve: Curvature):
        self.curve = curve
        self.root, self.root_transposed = curve.root, curve.root_transposed

    def project(self, V: np.ndarray) -> np.ndarray:
        """Return V."""
        return V

    settle = project

    def shift(self, slopes: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Return 0: the offset stays."""
        return np.zeros(slopes.shape[1])


class Guide(NamedTuple):
    """A copy of K that is easy to invert: LLᵀ, and the diagonal that it leaves."""

    L: np.ndarray  # (n, r)
    rest: np.ndarray  # (n,)
    points: np.ndarray  # (r,): the rows of K that L was made of

    @classmethod
    def of(cls, K: Gram, rank: int) -> Guide:
        """Return the guide from the rows of at most ``rank`` points."""
        L, points = factor_and_points(K, _some_points(K.shape[0], rank))
        rest = K.diagonal() - np.einsum("ij,ij->i", L, L)
        return cls(L, np.maximum(rest, 0.0), points)

    @property
    def alone(self) -> Guide:
        """The guide of LLᵀ itself."""
        return self._replace(rest=np.zeros_like(self.rest))

    def on_points(self, alpha: np.ndarray) -> np.ndarray:
        """Return β on the points whose function has the values LLᵀα on all rows, shape (n, t)."""
        beta = np.zeros_like(alpha)
        own = self.L[self.points].T  # upper triangular
        beta[self.points] = solve_triangular(own, self.L.T @ alpha, check_finite=False)
        return beta


class Woodbury:
    """The inverse of Λ + SᵀLLᵀS, Λ = 2λ + diag(SᵀS) · rest, inside the range of Π.

    The projection is applied after the inverse: that differs from the inverse of the projected
    matrix by a rank of t, which costs conjugate gradients t more steps.
    """

    def __init__(self, curve: FreeOffset | FixedOffset, guide: Guide, lam: float):
        self.curve, self.L, self.twice_lam = curve, guide.L, 2.0 * lam
        self.scale = 1.0 / (2.0 * lam + curve.curve.gauge() * guide.rest[:, None])
        M = _reduced(curve.curve, guide.L, self.scale)
        M[np.diag_indices_from(M)] += 1.0
        with one_blas_thread():  # so small a matrix is not worth waking another thread
            self.factor = cho_factor(M, overwrite_a=True, check_finite=False)

    def solve(self, R: np.ndarray) -> np.ndarray:
        """Return the inverse times R."""
        R, S = self.scale * R, self.curve.curve
        inner = (self.L.T @ S.root(R)).T.ravel()  # output by output
        inner = cho_solve(self.factor, inner, check_finite=False).reshape(R.shape[1], -1).T
        return self.curve.project(R - self.scale * S.root_transposed(self.L @ inner))


def _reduced(curve: Curvature, L: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the blocks Lᵀ diag(entry) L as one matrix, shape (tr, tr)."""
    t, r = curve.n_outputs, L.shape[1]
    M = np.empty((t * r, t * r))

    def fill(pair: tuple[int, int], worker: int = 0) -> None:
        rows, columns = (slice(c * r, (c + 1) * r) for c in pair)
        M[rows, columns] = _weighted_square(L, curve.entry(*pair, weight)[:, None])
        M[columns, rows] = M[rows, columns].T

    pairs = [(c, d) for c in range(t) for d in range(c, t)]
    if t == 1:  # one large product, which BLAS shares out
        fill(pairs[0])
    else:  # many small ones, side by side
        run_tiles(fill, pairs, n_threads())
    return M


def _weighted_square(L: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return Lᵀ diag(weight) L; of weights ≥ 0 a symmetric product, for half of the work."""
    if weight.min() < 0.0:
        return L.T @ (weight * L)
    scaled = np.sqrt(weight) * L
    return scaled.T @ scaled


def newton_system(
    product: Callable[[np.ndarray], np.ndarray],
    inverse: Woodbury,
    rho: np.ndarray,
    K_rho: np.ndarray,
    *,
    accuracy: float,
    max_iter: int,
    go_on: Callable[[], bool],
) -> tuple[np.ndarray, int]:
    """Return the e of a Newton step −ρ/(2λ) + S̃e, and how many products K V it took.

    Conjugate gradients solve (2λI + S̃ᵀKS̃) e = S̃ᵀKρ/(2λ). A residual r leaves the model of the
    objective ½(‖r‖² − 2λ rᵀA⁻¹r) above its minimum; the steps end where that is a small part of
    what the Newton step gains.

    Parameters
    ----------
    product : callable
        V ↦ K V.
    inverse : Woodbury
        The inverse with an easy copy of K.
    accuracy : float
        The part of the gain that may be missed.
    go_on : callable
        Says whether there is time for another step.
    """
    curve, twice_lam = inverse.curve, inverse.twice_lam
    right = curve.root_transposed(K_rho) / twice_lam
    most = float((rho * K_rho).sum()) / twice_lam
    e, r, p, rz, before = np.zeros_like(right), right, np.zeros_like(right), 0.0, 1.0
    for step in range(max_iter + 1):
        z = inverse.solve(r)
        rz, before = float((r * z).sum()), rz
        gain = most - twice_lam * float((right * e).sum())
        missed = float((r * r).sum()) - twice_lam * rz
        if step and (missed <= accuracy * gain or not rz > 0.0 or not go_on()):
            break
        p = z + (rz / before) * p if step else z
        Ap = twice_lam * p + curve.root_transposed(product(curve.root(p)))
        curvature = float((p * Ap).sum())
        if not curvature > 0.0:  # an indefinite kernel, or nothing but rounding is left
            break
        e, r = e + (rz / curvature) * p, r - (rz / curvature) * Ap
    return e, step
