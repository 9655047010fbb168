"""Margin problems in the span of landmarks: dual coordinate descent over kept features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer._array import n_threads, ranges, run_tiles
from mercer._floats import TINY
from mercer._limits import Limits
from mercer.certify import gap_proof
from mercer.margin import MarginProblem
from mercer.result import Certificate, Status
from mercer.rows.checkpoint import Passes
from mercer.solvers._span_loops import set_scores, sweep
from mercer.solvers.margin import MarginSolution
from mercer.solvers.restriction import SpanRun, restriction
from mercer.solvers.span import Piece, PieceBlock, Span, SpanProblem
from mercer.solvers.span_features import SpanFeatures

SWEEPS = 10  # between two looks at the gap
SINGLE_SHARE = 0.5  # of the tolerance: features are kept in float32, the proof is in float64
PENALTY = 0.5  # of R + λ‖f‖² with the C of machines


@dataclass(frozen=True)
class SpanMargin:
    """A margin problem of some of the rows.

    Parameters
    ----------
    groups : list of slice
        Its rows, by the places of their features.
    problem : MarginProblem
        Of these rows, group after group.
    about : str
        What proofs call it.
    """

    groups: Sequence[slice]
    problem: MarginProblem
    about: str = ""

    @property
    def places(self) -> np.ndarray:
        """The places of its rows."""
        return np.concatenate([np.arange(group.start, group.stop) for group in self.groups])


class _State(NamedTuple):
    """Where a descent is: β, Σβφ, and the offset, gap and sweeps."""

    beta: np.ndarray
    w: np.ndarray
    figures: np.ndarray

    @property
    def gap(self) -> float:
        return float(self.figures[1])

    @property
    def sweeps(self) -> int:
        return int(self.figures[2])


def solve_span_margins(
    span: Span,
    rows: Callable[[np.ndarray], SpanProblem],
    place: np.ndarray,
    margins: Sequence[SpanMargin],
    *,
    tol: float = 1e-3,
    limits: Limits | None = None,
    passes: Passes | None = None,
    seed: int = 0,
) -> list[MarginSolution]:
    """Solve margin problems over f in the span of landmarks, with an offset that costs nothing.

    The features φ of all rows are computed once, and kept, in a file if memory has no room for
    them. Each β in turn goes to the minimum of the dual problem, whose condition Σβ = s is kept by
    the method of multipliers: the multiplier is the offset. The proof is the duality gap in the
    span, from kernel values that are computed afresh, in float64.

    Parameters
    ----------
    rows : callable
        Returns the rows with targets, shape (n, t), for passes.
    place : array of shape (n,)
        The order in which features are kept.
    margins : list of SpanMargin
        The problems.

    Returns
    -------
    list of MarginSolution
        ``value`` holds the coefficients of the landmarks.
    """
    limits, passes = limits or Limits(), passes or Passes()
    run = _MarginRun(span, rows, place, passes)
    try:
        states = [run.solved(margin, tol, limits, seed) for margin in margins]
    finally:
        run.forget_features()
    most = max(1, span.budget // (64 * len(place)))  # problems whose β are in memory as columns
    found: list[MarginSolution] = []
    for part in ranges(len(margins), most):
        found += run.proved(margins[part], states[part], tol, limits)
    return found


class _MarginRun(SpanRun):
    """Features, made when they are needed, and passes over the rows."""

    def __init__(
        self,
        span: Span,
        rows: Callable[[np.ndarray], SpanProblem],
        place: np.ndarray,
        passes: Passes,
    ):
        self.span, self.rows, self.place, self.passes = span, rows, place, passes
        self.problem = rows(np.zeros((len(place), 0)))
        self._features: SpanFeatures | None = None

    @property
    def features(self) -> SpanFeatures:
        if self._features is None:
            self._features = SpanFeatures(self.span, self.problem, self.place, self.passes)
        return self._features

    def forget_features(self) -> None:
        if self._features is not None:
            self._features.close()
        self._features = None

    def solved(self, margin: SpanMargin, tol: float, limits: Limits, seed: int) -> _State:
        """Return the end of a descent; what it has reached between two looks is kept."""
        z = margin.problem.z
        state = _State(np.zeros(len(z)), np.zeros(self.span.rank), np.array([0.0, np.inf, 0.0]))
        descent = _SpanDescent(margin, lambda: self.features, limits)
        while state.gap > SINGLE_SHARE * tol and limits.stopped(state.sweeps) is None:
            before = state
            turn = lambda: descent.turn(before, seed, SINGLE_SHARE * tol)  # noqa: B023, E731
            state = _State(*self.passes.once(turn))
        return state

    # ------------------------------------------------------------ the proof
    def proved(
        self, margins: Sequence[SpanMargin], states: Sequence[_State], tol: float, limits: Limits
    ) -> list[MarginSolution]:
        """Return solutions with their proofs: two passes, and what the restriction costs."""
        betas = [balanced(m.problem, s.beta) for m, s in zip(margins, states, strict=True)]
        Y = np.zeros((len(self.place), len(margins)))
        row_of = np.empty(len(self.place), np.intp)
        row_of[self.place] = np.arange(len(self.place))
        for column, margin, beta in zip(Y.T, margins, betas, strict=True):
            column[row_of[margin.places]] = beta
        self.problem = self.rows(Y)
        blocks = self.light_blocks()
        (pull,) = self.passes.run(_Pulls(self.span.without_factor()), blocks, None)
        c = self.span.features(pull)
        scores = np.empty_like(Y)
        self.passes.visit(_Scores(self.span, self.span.on_kept(c), scores), blocks)
        proofs = [
            _proof(margin, beta, f[row_of[margin.places]], tol, state.sweeps, self)
            for margin, beta, f, state in zip(margins, betas, scores.T, states, strict=True)
        ]
        beta, objective = self.span.coefficients(c), sum(proof.primal for proof in proofs)
        cost = restriction(self, _half, float(objective), PENALTY)
        return [
            _solution(coefs, proof, cost, state, limits)
            for coefs, proof, state in zip(beta.T, proofs, states, strict=True)
        ]


def _half(piece: Piece, values: np.ndarray) -> np.ndarray:
    """Return q with 2q = β, a point of the dual."""
    return PENALTY * piece.Y


@dataclass(frozen=True)
class _Pulls:
    """Σ k(Z, x) β of a block."""

    span: Span

    def __call__(self, block: PieceBlock, state: None) -> tuple[np.ndarray]:
        parts = (self.span.values(piece.rows).T @ piece.Y for _, piece in self.span.pieces(block))
        return (sum(parts),)


@dataclass(frozen=True)
class _Scores:
    """f of the rows of a block, written where they belong."""

    span: Span
    beta: np.ndarray
    out: np.ndarray

    def __call__(self, block: PieceBlock, state: None) -> float:
        for numbers, piece in self.span.pieces(block):
            self.out[numbers] = self.span.values(piece.rows) @ self.beta
        return 0.0


class _Proof(NamedTuple):
    """The offset, the proof, and what of it is computed with."""

    b: float
    certificate: Certificate
    primal: float
    squared_norm: float


def _proof(
    margin: SpanMargin, beta: np.ndarray, f: np.ndarray, tol: float, sweeps: int, run: _MarginRun
) -> _Proof:
    """Return the offset and the duality gap in the span; the worst pair is said, not asked for."""
    problem, e = margin.problem, margin.problem.z - f
    b, pair = problem.offset(beta, e)
    figures, size = problem.figures(beta, e, b), float(np.abs(beta).sum())
    where = f"in the span of {run.span.rank:,} landmarks of {len(beta):,} rows"
    extra = {
        "landmarks": run.span.rank,
        "points": len(beta),
        "steps": sweeps,
        "route": "landmarks",
        "storage": "blocked",
    }
    about = f"{margin.about}, {where}" if margin.about else where
    whole = gap_proof(problem, figures, b, pair, size, tolerance=tol, about=about, extra=extra)
    primal, _, _, relative = problem.objectives(figures, b)
    value = float(np.max([relative, problem.unbalanced(figures, size)]))
    proof = Certificate("relative gap", value, tol, about, whole.parts)
    return _Proof(b, proof, primal, figures.squared_norm)


def _solution(
    coefs: np.ndarray, found: _Proof, cost: dict[str, Any], state: _State, limits: Limits
) -> MarginSolution:
    proof = found.certificate.with_parts(**cost)
    stopped = limits.stopped(state.sweeps)
    status = Status.OPTIMAL if proof.ok else stopped or Status.ILL_CONDITIONED
    stats = {"steps": max(state.sweeps, 1)}
    return MarginSolution(coefs, status, proof, found.b, stats, None, found.squared_norm)


def balanced(problem: MarginProblem, beta: np.ndarray) -> np.ndarray:
    """Return β with the sum that is asked for: free ones go towards a bound, else all that can."""
    astray = problem.total - float(beta.sum())
    room = (problem.hi if astray > 0 else problem.lo) - beta
    free = np.where(problem.is_free(beta), room, 0.0)
    room = free if abs(free.sum()) >= abs(astray) else room
    return beta + room * min(astray / room.sum(), 1.0) if astray and room.sum() else beta


# -------------------------------------------------------------------- the descent
class _SpanDescent:
    """Sweeps over the parts of a problem whose features are in memory at once."""

    def __init__(self, margin: SpanMargin, features: Callable[[], SpanFeatures], limits: Limits):
        self.margin, self.problem, self._features = margin, margin.problem, features
        self.limits = limits

    def turn(self, state: _State, seed: int, near: float) -> tuple[np.ndarray, ...]:
        """Return the state after some sweeps, and the gap there."""
        features, places = self._features(), self.margin.places
        beta, w = state.beta.copy(), state.w.copy()
        squares = features.squares[places]
        rho = max(float(squares.mean()), TINY) if len(squares) else 1.0
        parts = features.parts_of(self.margin.groups)
        todo = [_Todo.of(points) for points in _points_of(self.margin.groups, parts)]
        offset, sweeps = float(state.figures[0]), state.sweeps
        try:
            for _ in range(SWEEPS):
                if self.limits.stopped(sweeps) is not None:
                    break
                for part, own in zip(parts, todo, strict=True):
                    values, rows = features.read(part)
                    self._sweep(values, rows, own, beta, w, squares, rho, offset, seed + sweeps)
                offset += rho * (float(beta.sum()) - self.problem.total)
                sweeps += 1
        except KeyboardInterrupt:
            self.limits.interrupt()
        gap = self._gap(features, parts, todo, beta, w)
        return beta, w, np.array([offset, gap, float(sweeps)])

    def _sweep(
        self,
        values: np.ndarray,
        rows: np.ndarray,
        own: _Todo,
        beta: np.ndarray,
        w: np.ndarray,
        squares: np.ndarray,
        rho: float,
        offset: float,
        seed: int,
    ) -> None:
        p, astray = self.problem, float(beta.sum()) - self.problem.total
        own.active, own.worst = sweep(
            values, rows, own.points, p.z, p.lo, p.hi, p.eps, squares, rho, offset, astray,
            w, beta, own.order, own.active, np.uint64(seed + 1), own.worst,
        )  # fmt: skip

    def _gap(
        self,
        features: SpanFeatures,
        parts: list[list[slice]],
        todo: list[_Todo],
        beta: np.ndarray,
        w: np.ndarray,
    ) -> float:
        e = np.empty(len(beta))
        for part, own in zip(parts, todo, strict=True):
            values, rows = features.read(part)
            e[own.points] = self.problem.z[own.points] - scores(values, rows, w)
        return self.problem.relative_gap(beta, e)


@dataclass
class _Todo:
    """The points of a part, those that are still moved first."""

    points: np.ndarray
    order: np.ndarray
    active: int
    worst: float = np.inf

    @classmethod
    def of(cls, points: np.ndarray) -> _Todo:
        return cls(points, np.arange(len(points)), len(points))


def _points_of(groups: Sequence[slice], parts: list[list[slice]]) -> list[np.ndarray]:
    """Return the numbers among the rows of a problem that the rows of each part have."""
    sizes = [group.stop - group.start for group in groups]
    starts = np.cumsum([0, *sizes[:-1]])
    return [
        np.concatenate(
            [
                np.arange(one.start, one.stop) - group.start + start
                for one, group, start in zip(part, groups, starts, strict=True)
            ]
        )
        for part in parts
    ]


def scores(values: np.ndarray, rows: np.ndarray, w: np.ndarray, step: int = 2**14) -> np.ndarray:
    """Return φ·w of rows of a table."""
    out = np.empty(len(rows))
    pieces = ranges(len(rows), step)

    def fill(number: int, worker: int) -> None:
        set_scores(values, rows[pieces[number]], w, out[pieces[number]])

    run_tiles(fill, range(len(pieces)), n_threads())
    return out
