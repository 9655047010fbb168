"""How far the span of landmarks is from all functions: exact, a bound, or an estimate.

Let λ be the penalty and −2q a point of the dual, such as q = w(y − f − b) of the squared loss: half
of the slopes, with the other sign. The function Σ qᵢ k(xᵢ, ·)/λ is feasible in the dual problem of
all functions, which says that the objective at f is above the minimum over all functions by at most
the duality gap in the span and qᵀ(K − K̂)q/λ, K̂ᵢⱼ = φ(xᵢ)·φ(xⱼ).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from scipy.stats import t as student

from mercer._array import ranges
from mercer._floats import TINY
from mercer.gram import gram
from mercer.rows.checkpoint import Passes
from mercer.solvers.span import Piece, PieceBlock, Span, SpanProblem

EXACT_ROWS = 2048  # as many rows are compared in pairs in any case
PAIR_WORK = 50  # operations of a kernel value
BOUND_WORK = 4e10  # operations that a bound may take: about a second
GROUPS, GROUP_ROWS = 16, 256  # of random rows for an estimate
LEVEL = 0.95


class SpanRun:
    """What a fit in a span goes over."""

    span: Span
    problem: SpanProblem
    passes: Passes

    def _lean(self) -> Self:
        """Return a copy that travels: workers look at kernel values alone."""
        lean = copy(self)
        lean.span = self.span.without_factor()
        return lean

    def light_blocks(self) -> Sequence[PieceBlock]:
        """Return the blocks of a pass that looks at each kernel value once."""
        return self.problem.blocks(self.span.rows_of_block(self.problem, 64.0 * self.span.rank))


Residuals = Callable[[Piece, np.ndarray], np.ndarray]
"""Takes rows and their kernel values (b, r); returns q (b, t)."""


def restriction(
    run: SpanRun,
    residuals: Residuals,
    objective: float,
    lam: float,
    *,
    exact_rows: int = EXACT_ROWS,
    pair_work: float = PAIR_WORK,
    bound_work: float = BOUND_WORK,
) -> dict[str, Any]:
    """Return the parts of a certificate that say how far the restriction may be off.

    The first of these that holds:

    1. "exact", from all pairs of rows: up to ``exact_rows``, or n·``pair_work`` ≤ m²;
    2. "bound", (Σ|qᵢ|√ρᵢ)²/λ with ρᵢ = k(xᵢ, xᵢ) − ‖φ(xᵢ)‖²: n·m² ≤ ``bound_work``;
    3. "estimate", from 16 groups of 256 random rows, with a 95 % interval: it proves nothing.

    ``restriction_gap`` is relative to the objective.
    """
    n, r = run.problem.n, run.span.rank
    if not lam > 0.0:
        return {"restriction": "bound", "restriction_gap": "unknown: lam is 0"}
    look = _Look(run, residuals)
    if n <= exact_rows or n * pair_work <= r * r:
        kind, values = "exact", {"restriction_gap": look.exact()}
    elif n * float(r) * r <= bound_work:
        kind, values = "bound", {"restriction_gap": look.bound()}
    else:
        middle, low, high = look.estimate()
        kind = "estimate"
        values = {"restriction_gap": middle, "restriction_low": low, "restriction_high": high}
    scale = lam * max(objective, TINY)
    return {"restriction": kind} | {name: value / scale for name, value in values.items()}


class _Look:
    """Rows seen through the residuals of a fit."""

    def __init__(self, run: SpanRun, residuals: Residuals):
        self.run, self.span, self.residuals = run, run.span, residuals

    def _seen(self, piece: Piece) -> tuple[np.ndarray, np.ndarray]:
        """Return q (b, t) and kernel values (r, b)."""
        values = self.span.values(piece.rows)
        return self.residuals(piece, values), values.T

    def exact(self) -> float:
        """Return Σ over targets of qᵀ(K − K̂)q, from all pairs."""
        n = self.run.problem.n
        piece = self.run.problem.take(np.arange(n))
        seen = [self._seen(piece[part]) for part in ranges(n, self.span.step)]
        q = np.vstack([one for one, _ in seen])
        K = gram(self.span.kernel, piece.rows, storage="blocked", dtype=np.float64)
        image = self.span.features(sum(values @ one for one, values in seen))
        return max(float((q * (K @ q)).sum()) - float((image**2).sum()), 0.0)

    def bound(self) -> float:
        """Return Σ over targets of (Σ |qᵢ|√ρᵢ)²: one pass."""
        size = self.span.rows_of_block(self.run.problem, float(self.span.rank) ** 2)
        (sums,) = self.run.passes.run(self._sizes, self.run.problem.blocks(size), None)
        return float((sums**2).sum())

    def _sizes(self, block: PieceBlock, state: None) -> tuple[np.ndarray]:
        sums: Any = 0.0
        for _, piece in self.span.pieces(block):
            q, values = self._seen(piece)
            F = self.span.features(values)
            rest = self.span.missed(piece.rows, F)
            sums = sums + np.sqrt(rest) @ np.abs(q)
        return (sums,)

    def estimate(self) -> tuple[float, float, float]:
        """Return the mean of what groups of random rows say, and the interval around it."""
        n = self.run.problem.n
        random = np.random.default_rng(n)  # the same rows whenever the fit is repeated
        drawn = random.choice(n, GROUPS * GROUP_ROWS, replace=False, shuffle=True)
        whole = self.run.problem.take(drawn)
        parts = np.arange(len(drawn)).reshape(GROUPS, GROUP_ROWS)
        found = np.array([self._of_group(whole[part], n) for part in parts])
        middle = float(found.mean())
        wide = float(student.ppf(0.5 + LEVEL / 2, GROUPS - 1) * found.std(ddof=1) / GROUPS**0.5)
        return max(middle, 0.0), max(middle - wide, 0.0), max(middle + wide, 0.0)

    def _of_group(self, piece: Piece, n: int) -> float:
        """Return what one group says of the sum over all pairs, without a bias."""
        q, values = self._seen(piece)
        F = self.span.features(values)
        rest = gram(self.span.kernel, piece.rows, dtype=np.float64).toarray() - F.T @ F
        own = np.diagonal(rest) @ (q**2).sum(axis=1)
        pairs = float((q * (rest @ q)).sum()) - own
        s = len(q)
        return float(own * n / s + pairs * n * (n - 1) / (s * (s - 1)))
