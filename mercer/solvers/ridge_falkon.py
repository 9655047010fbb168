"""Kernel ridge regression in the span of many landmarks, by conjugate gradients over passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky

from mercer._floats import TINY, safe_norm
from mercer.rows.checkpoint import Passes
from mercer.solvers.ridge_folds import FoldErrors
from mercer.solvers.ridge_run import RidgeRun, Slope, SpanSolution
from mercer.solvers.span import PieceBlock, Span, SpanProblem

SHARES = (16, 4)
LEAST_BLOCKS = 8  # of such a part: fewer are no sample of the rows
RESIDUAL_CUT = 1e-3  # how far a round lowers the residual before it is computed again in float64
ROUGH = 3e-2  # the same for the problems of some of the blocks
MOST_PASSES = 60  # in a round
ROUNDS = 6
TOLERANCE = 1e-6


def solve_ridge_cg(
    span: Span,
    problem: SpanProblem,
    lam: float,
    *,
    fit_intercept: bool = True,
    tolerance: float = TOLERANCE,
    shift: np.ndarray | None = None,
    passes: Passes | None = None,
    errors: FoldErrors | None = None,
    shares: Sequence[int] = SHARES,
) -> SpanSolution:
    """Minimise Σᵢ wᵢ(yᵢ − f(xᵢ) − b)² + λ‖f‖² over f in the span of landmarks and b.

    The landmarks stand for the rows in the preconditioner: Σ w φφᵀ + λ is about
    (Σw / m) U Uᵀ + λ, which has a Cholesky factor (Rudi, Carratino and Rosasco, "FALKON"). Each
    step is a pass over n·m kernel values in float32, of which nothing is kept; after a few of them
    the residual is computed again in float64, and in the end it is the proof. First guesses come
    from one block in sixteen, and one in four.

    Parameters
    ----------
    span, problem, shift, passes
        As for `solve_ridge_landmarks`.
    lam : float
        λ > 0.
    errors : FoldErrors, default=None
        By which λ was chosen.
    shares : sequence of int
        One block in so many makes a problem that the next one's first guess comes from.

    Returns
    -------
    SpanSolution
        ``value`` is β, shape (m, t), ``intercept`` has shape (t,).
    """
    if not lam > 0.0:
        raise ValueError(f"conjugate gradients over landmarks need lam > 0; got {lam!r}")
    passes = Passes() if passes is None else passes
    run = RidgeRun(span, problem, fit_intercept, shift, passes)
    blocks = run.light_blocks()
    c = np.zeros((span.rank, problem.n_targets))
    for share in shares:
        if len(blocks) >= share * LEAST_BLOCKS:
            c = _Part(run, blocks[::share], lam, share).improved(c, ROUGH)[0]
    whole = _Part(run, blocks, lam, 1)
    c, slope = whole.solved(c, tolerance)
    return run.solution(c, slope, lam, tolerance, {"route": "cg"}, errors)


class _Weights(NamedTuple):
    """What the preconditioner and products with centred features need of the rows."""

    column: np.ndarray  # Σ w k
    total: float  # Σ w


class _Part:
    """The problem of some of the blocks, with a λ that fits their number."""

    def __init__(self, run: RidgeRun, blocks: Sequence[PieceBlock], lam: float, share: int):
        self.run, self.blocks = run, blocks
        self.lam = lam / share
        self._factor: np.ndarray | None = None

    def solved(self, c: np.ndarray, tolerance: float) -> tuple[np.ndarray, Slope]:
        """Return c and the slope there, within the tolerance if rounding lets it."""
        slope, weights = self.run.slope_on(self.blocks, c, self.lam)
        for _ in range(ROUNDS):
            left = safe_norm(slope.gradient) / max(slope.size, TINY)
            if left <= tolerance:
                break
            cut = max(RESIDUAL_CUT, 0.5 * tolerance / left)
            found = self._rounded(c, slope, _Weights(*weights), cut)
            better, weights = self.run.slope_on(self.blocks, found, self.lam)
            if not safe_norm(better.gradient) < safe_norm(slope.gradient):
                break
            c, slope = found, better
        return c, slope

    def improved(self, c: np.ndarray, cut: float) -> tuple[np.ndarray, Slope]:
        """Return a better c by one round."""
        slope, weights = self.run.slope_on(self.blocks, c, self.lam)
        return self._rounded(c, slope, _Weights(*weights), cut), slope

    def _rounded(self, c: np.ndarray, slope: Slope, weights: _Weights, cut: float) -> np.ndarray:
        """Return c + d, (A + λ)d = gradient, by conjugate gradients, all targets side by side."""
        rest, step = slope.gradient.copy(), np.zeros_like(c)
        goal = cut * np.linalg.norm(rest, axis=0)
        ahead = self._preconditioned(rest, weights)
        direction, size = ahead.copy(), np.einsum("ij,ij->j", rest, ahead)
        for _ in range(MOST_PASSES):
            image = self.run.image(self.blocks, direction, weights.column, weights.total)
            image += self.lam * direction
            curve = np.einsum("ij,ij->j", direction, image)
            length = np.divide(size, curve, out=np.zeros_like(size), where=curve > 0.0)
            step += length * direction
            rest -= length * image
            if (np.linalg.norm(rest, axis=0) <= goal).all():
                break
            ahead = self._preconditioned(rest, weights)
            next_size = np.einsum("ij,ij->j", rest, ahead)
            turn = np.divide(next_size, size, out=np.zeros_like(size), where=size > 0.0)
            direction, size = ahead + turn * direction, next_size
        return c + step

    def _preconditioned(self, rest: np.ndarray, weights: _Weights) -> np.ndarray:
        if self._factor is None:
            U = self.run.span.U
            if self.run.fit_intercept:
                U = U - U.mean(axis=1, keepdims=True)
            P = (weights.total / len(U)) * (U @ U.T)
            P[np.diag_indices_from(P)] += self.lam
            self._factor = cholesky(P, overwrite_a=True, check_finite=False)
        return cho_solve((self._factor, False), rest, check_finite=False)
