"""Smooth losses in the span of landmarks: Newton's method along falling λ, in passes over rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky

from mercer._floats import TINY
from mercer._limits import Limits
from mercer.losses import Risk
from mercer.result import Certificate, Solution, Status
from mercer.rows.checkpoint import Passes
from mercer.solvers.restriction import SpanRun, restriction
from mercer.solvers.ridge_falkon import LEAST_BLOCKS, SHARES
from mercer.solvers.span import Piece, PieceBlock, Span, SpanProblem

FALL = 0.1  # of λ from one problem of the path to the next
FIRST = 0.1  # of the curvature at f = 0: the λ that the path begins with
ROUGH = 0.2  # how far conjugate gradients go for a step on the path
FINE = 0.1  # and for a step towards the proof
MOST_STEPS = 40  # of Newton
MOST_PRODUCTS = 60  # for one of them
HALVINGS = 8
NEAR = 10.0  # times the tolerance: after a step that promised less the proof is tried

RiskOf = Callable[[np.ndarray, np.ndarray], Risk]
"""Takes targets (b, t) and weights > 0 of some rows; returns their risk."""


class _Place(NamedTuple):
    """f = c·φ and the offset, one column for each output."""

    c: np.ndarray  # (r, t)
    b: np.ndarray  # (t,)

    def moved(self, step: _Place, length: float) -> _Place:
        return _Place(self.c + length * step.c, self.b + length * step.b)

    def dot(self, other: _Place) -> float:
        return float((self.c * other.c).sum() + self.b @ other.b)


class _RiskSums(NamedTuple):
    """The risk at a place, and its derivatives: they do not depend on λ."""

    value: float
    pull: np.ndarray  # Σ φ u of the slopes u, (r, t)
    excess: np.ndarray  # Σ u, (t,)
    bend: np.ndarray  # Σ H of the curvatures, (t, t)


def solve_span_newton(
    span: Span,
    problem: SpanProblem,
    risk_of: RiskOf,
    n_outputs: int,
    lam: float,
    *,
    fit_intercept: bool = True,
    tol: float = 1e-6,
    limits: Limits | None = None,
    passes: Passes | None = None,
    anchors: Piece | None = None,
    about: str = "",
) -> Solution:
    """Minimise R(f + b) + λ‖f‖² over f in the span of landmarks, for a smooth convex risk R.

    Steps of Newton on problems with falling λ stay where they converge fast (Marteau-Ferey, Bach
    and Rudi); the first problems are those of one block in sixteen. A step is found by conjugate
    gradients, a pass for each product with the second derivative, preconditioned by what the
    landmarks say of it. The proof is the duality gap in the span, from kernel values in float64.

    Parameters
    ----------
    span, problem, passes
        As for `solve_ridge_landmarks`.
    risk_of : callable
        Returns the risk of some rows.
    n_outputs : int
        t, the number of functions.
    anchors : Piece, default=None
        The landmarks as rows with targets, where they are rows: they tell how curvature varies.

    Returns
    -------
    Solution
        ``value`` is β, shape (m, t), ``intercept`` has shape (t,).
    """
    run = _SmoothRun(span, problem, risk_of, fit_intercept, passes or Passes(), anchors)
    limits = limits or Limits()
    blocks = run.light_blocks()
    at = _Place(np.zeros((span.rank, n_outputs)), np.zeros(n_outputs))
    shares = [share for share in SHARES if len(blocks) >= share * LEAST_BLOCKS]
    for share in [*shares, 1]:
        part = _SmoothPart(run, blocks[::share], lam / share, limits)
        if not at.c.any():
            at = part.along_path(at)
        if share > 1:
            at = part.improved(at)
    at, proof = part.proved(at, tol)
    proof |= run.restricted(at, proof["primal"], lam) if np.isfinite(proof["gap"]) else {}
    figures = {"landmarks": span.rank, "points": problem.n, "passes": run.passes.count}
    certificate = Certificate(
        "relative gap",
        proof["gap"] / max(abs(proof["primal"]), TINY),
        tol,
        f"{about} in the span of {span.rank:,} landmarks of {problem.n:,} rows",
        {**proof, **figures, "steps": run.steps, "route": "cg", "storage": "blocked"},
    )
    stopped = limits.stopped(run.steps)
    status = Status.OPTIMAL if certificate.ok else stopped or Status.ILL_CONDITIONED
    beta = span.coefficients(at.c)
    return Solution(beta, status, certificate, intercept=at.b, stats={"steps": run.steps})


class _SmoothRun(SpanRun):
    """The passes of a fit."""

    def __init__(
        self,
        span: Span,
        problem: SpanProblem,
        risk_of: RiskOf,
        fit_intercept: bool,
        passes: Passes,
        anchors: Piece | None,
    ):
        self.span, self.problem, self.risk_of, self.free = span, problem, risk_of, fit_intercept
        self.passes, self.steps = passes, 0
        self.anchors = None if anchors is None else anchors[span.order]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "passes": None, "anchors": None}

    def _used(self, block: PieceBlock) -> Any:
        """Yield pieces of a block without rows of weight 0."""
        for _, piece in self.span.pieces(block):
            yield piece if (piece.weight > 0).all() else piece[np.flatnonzero(piece.weight)]

    def _state(self, at: _Place) -> _Place:
        return _Place(self.span.on_kept(at.c), at.b)

    # ------------------------------------------------------------ slopes
    def sums(self, blocks: Sequence[PieceBlock], at: _Place) -> _RiskSums:
        """Return the risk and its derivatives: one pass."""
        value, pull, excess, bend = self.passes.run(self._lean()._sums, blocks, self._state(at))
        return _RiskSums(float(value), self.span.features(pull), excess, bend)

    def _sums(self, block: PieceBlock, at: _Place) -> tuple[Any, ...]:
        t = len(at.b)
        value, pull, excess, bend = 0.0, np.zeros_like(at.c), np.zeros(t), np.zeros((t, t))
        for piece in self._used(block):
            values, risk = self.span.values(piece.rows), self.risk_of(piece.Y, piece.weight)
            G = values @ at.c + at.b
            slopes, curve = risk.slopes(G), risk.curvature(G)
            value += risk.value(G)
            pull += values.T @ slopes
            excess += slopes.sum(axis=0)
            bend += [[curve.entry(c, d).sum() for d in range(t)] for c in range(t)]
        return value, pull, excess, bend

    # ------------------------------------------------------------ products
    def image(self, blocks: Sequence[PieceBlock], at: _Place, step: _Place) -> _Place:
        """Return the second derivative of the risk, times a step: one pass."""
        # float32, unless landmarks are so alike that their coefficients are large and cancel
        dtype = np.float32 if self.span.is_clear else np.float64
        state = (self._state(at), self._state(step), dtype)
        pull, level = self.passes.run(self._lean()._images, blocks, state)
        return _Place(self.span.features(pull), level if self.free else np.zeros_like(level))

    def _images(self, block: PieceBlock, state: tuple[_Place, _Place, Any]) -> tuple[Any, ...]:
        (at, step, dtype), t = state, len(state[0].b)
        both = np.hstack([at.c, step.c]).astype(dtype)
        pull, level = np.zeros_like(at.c), np.zeros(t)
        for piece in self._used(block):
            values, risk = self.span.values(piece.rows, dtype), self.risk_of(piece.Y, piece.weight)
            F = (values @ both).astype(np.float64)
            bent = risk.curvature(F[:, :t] + at.b).apply(F[:, t:] + step.b)
            pull += values.T @ bent.astype(dtype)
            level += bent.sum(axis=0)
        return pull, level

    # ------------------------------------------------------------ the proof
    def gap(self, blocks: Sequence[PieceBlock], at: _Place, sums: _RiskSums, lam: float) -> float:
        """Return the duality gap in the span, by slopes whose sum is made 0: one pass."""
        shift = self._shift(sums)
        state = (self._state(at), shift)
        young, pull = self.passes.run(self._lean()._youngs, blocks, state)
        rho = 2.0 * lam * at.c + self.span.features(pull)
        return float(young) + float((rho**2).sum()) / (4.0 * lam)

    def _shift(self, sums: _RiskSums) -> np.ndarray:
        """Return v with Σ (u − Hv) = 0."""
        if not self.free or np.abs(sums.bend).max() < TINY:
            return np.zeros_like(sums.excess)
        return np.linalg.pinv(sums.bend, rcond=1e-14, hermitian=True) @ sums.excess

    def _dual(self, risk: Risk, G: np.ndarray, shift: np.ndarray) -> np.ndarray:
        return risk.slopes(G) - risk.curvature(G).apply(np.ones_like(G) * shift)

    def _youngs(self, block: PieceBlock, state: tuple[_Place, np.ndarray]) -> tuple[Any, ...]:
        (at, shift), young = state, 0.0
        pull = np.zeros_like(at.c)
        for piece in self._used(block):
            values, risk = self.span.values(piece.rows), self.risk_of(piece.Y, piece.weight)
            G = values @ at.c + at.b
            U = self._dual(risk, G, shift)
            young += float(risk.young(G, U).sum())
            pull += values.T @ U
        return young, pull

    def restricted(self, at: _Place, primal: float, lam: float) -> dict[str, Any]:
        """Return what a certificate says of the restriction to the span."""
        state, shift = self._state(at), self._shift(self.sums(self.light_blocks(), at))

        def residuals(piece: Piece, values: np.ndarray) -> np.ndarray:
            G, q = values @ state.c + state.b, np.zeros((len(values), len(state.b)))
            used = np.flatnonzero(piece.weight)
            risk = self.risk_of(piece.Y[used], piece.weight[used])
            q[used] = -0.5 * self._dual(risk, G[used], shift)
            return q

        return restriction(self, residuals, primal, lam)


class _SmoothPart:
    """The problem of some of the blocks, with a λ that fits their number."""

    def __init__(self, run: _SmoothRun, blocks: Sequence[PieceBlock], lam: float, limits: Limits):
        self.run, self.blocks, self.lam, self.limits = run, blocks, lam, limits

    def along_path(self, at: _Place) -> _Place:
        """Return a place near the optimum: one step for each λ, falling to that of the problem."""
        sums = self.run.sums(self.blocks, at)
        size = float((self.run.span.U**2).sum(axis=0).mean())  # of k(z, z)
        lam = FIRST * size * float(np.trace(sums.bend)) / len(sums.bend)
        while lam * FALL > self.lam and not self._stopped():
            at, sums, _ = self._stepped(at, sums, lam, ROUGH)
            lam *= FALL
        return at

    def improved(self, at: _Place) -> _Place:
        """Return a better place by two steps."""
        sums = self.run.sums(self.blocks, at)
        for _ in range(2):
            if not self._stopped():
                at, sums, _ = self._stepped(at, sums, self.lam, ROUGH)
        return at

    def proved(self, at: _Place, tol: float) -> tuple[_Place, dict[str, Any]]:
        """Return the optimum and its proof."""
        sums, promise, primal = self.run.sums(self.blocks, at), np.inf, 0.0
        while True:
            primal = self._objective(at, sums, self.lam)
            ends = promise <= NEAR * tol * abs(primal) or self._stopped()
            if ends or not self.run.steps < MOST_STEPS:
                gap = self.run.gap(self.blocks, at, sums, self.lam)
                if gap <= tol * abs(primal) or promise == 0.0 or self._stopped():
                    break
                if not self.run.steps < MOST_STEPS:
                    break
            at, sums, promise = self._stepped(at, sums, self.lam, FINE)
        return at, {"primal": primal, "dual": primal - gap, "gap": gap, "newton_decrement": promise}

    def _stopped(self) -> bool:
        return self.limits.stopped(self.run.steps) is not None

    @staticmethod
    def _objective(at: _Place, sums: _RiskSums, lam: float) -> float:
        return sums.value + lam * float((at.c**2).sum())

    def _stepped(
        self, at: _Place, sums: _RiskSums, lam: float, cut: float
    ) -> tuple[_Place, _RiskSums, float]:
        """Return the place after a step of Newton, its sums, and what the step promised to gain."""
        excess = sums.excess if self.run.free else np.zeros_like(sums.excess)
        gradient = _Place(sums.pull + 2.0 * lam * at.c, excess)
        step = self._direction(at, gradient, sums, lam, cut)
        here, length = self._objective(at, sums, lam), 1.0
        self.run.steps += 1
        for _ in range(HALVINGS):
            there = at.moved(step, -length)
            found = self.run.sums(self.blocks, there)
            if self._objective(there, found, lam) < here:
                return there, found, 0.5 * gradient.dot(step)
            length *= 0.25
        return at, sums, 0.0  # rounding hides what is left to gain

    def _direction(
        self, at: _Place, gradient: _Place, sums: _RiskSums, lam: float, cut: float
    ) -> _Place:
        """Return H⁻¹ of the gradient, by conjugate gradients."""
        ahead_of = _Preconditioner(self.run, at, sums, lam)
        rest, step = gradient, _Place(np.zeros_like(at.c), np.zeros_like(at.b))
        ahead = ahead_of(rest)
        direction, size = ahead, rest.dot(ahead)
        first = size
        for _ in range(MOST_PRODUCTS):
            if not size > 0.0:
                break
            image = self.run.image(self.blocks, at, direction)
            image = image._replace(c=image.c + 2.0 * lam * direction.c)
            length = size / max(direction.dot(image), TINY)
            step, rest = step.moved(direction, length), rest.moved(image, -length)
            ahead = ahead_of(rest)
            next_size = rest.dot(ahead)
            if next_size <= cut**2 * first or self._stopped():
                break
            direction, size = ahead.moved(direction, next_size / size), next_size
        return step


class _Preconditioner:
    """The second derivative as the landmarks see it, a factor for each output."""

    def __init__(self, run: _SmoothRun, at: _Place, sums: _RiskSums, lam: float):
        self._free = run.free
        self._factors = [
            _factor(run.span.U, np.maximum(weights, 0.0), lam, run.free)
            for weights in _curvatures(run, at, sums)
        ]

    def __call__(self, rest: _Place) -> _Place:
        tall = np.vstack([rest.c, rest.b]) if self._free else rest.c
        columns = [
            cho_solve((factor, False), column, check_finite=False)
            for factor, column in zip(self._factors, tall.T, strict=True)
        ]
        found = np.column_stack(columns)
        if not self._free:
            return _Place(found, np.zeros_like(rest.b))
        return _Place(found[:-1], found[-1])


def _curvatures(run: _SmoothRun, at: _Place, sums: _RiskSums) -> list[np.ndarray]:
    """Return the curvature that each landmark stands for: their sum is that of all rows."""
    total = np.diagonal(sums.bend)
    if run.anchors is None:
        return [np.full(run.span.rank, one / run.span.rank) for one in total]
    G = run.span.U.T @ at.c + at.b
    risk = run.risk_of(run.anchors.Y, np.ones(len(G)))
    curve = risk.curvature(G)
    own = [curve.entry(c, c) for c in range(len(total))]
    return [
        one * (all_rows / max(float(one.sum()), TINY))
        for one, all_rows in zip(own, total, strict=True)
    ]


def _factor(U: np.ndarray, weights: np.ndarray, lam: float, free: bool) -> np.ndarray:
    """Return the Cholesky factor of Σ h φφᵀ + 2λ, φ with a 1 below it where there is an offset."""
    V = np.vstack([U, np.ones(U.shape[1])]) if free else U
    P = (V * weights) @ V.T
    ridge = np.full(len(P), 2.0 * lam)
    if free:
        ridge[-1] = max(1e-10 * P[-1, -1], TINY)
    P[np.diag_indices_from(P)] += ridge
    return cholesky(P, overwrite_a=True, check_finite=False)
