"""The passes of ridge regression in the span of landmarks, and the proof of their end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mercer._floats import TINY, safe_norm
from mercer.result import Certificate, Solution, Status
from mercer.rows.checkpoint import Passes
from mercer.solvers import _lapack
from mercer.solvers.restriction import SpanRun, restriction
from mercer.solvers.ridge_folds import FoldErrors, FoldMoments, fold_numbers
from mercer.solvers.span import Piece, PieceBlock, Span, SpanProblem


@dataclass(frozen=True, kw_only=True)
class SpanSolution(Solution):
    """A solution in the span of landmarks, and the errors of all λ if there were several."""

    lam: float
    errors: FoldErrors | None

    def in_unit(self, unit: float) -> SpanSolution:
        """Return the solution for targets times a unit: f is linear in them, errors quadratic."""
        objective = self.certificate.parts["objective"] * unit * unit
        errors = self.errors
        return replace(
            self,
            value=self.value * unit,
            intercept=self.intercept * unit,
            certificate=self.certificate.with_parts(objective=objective),
            errors=None if errors is None else errors._replace(cv=errors.cv * unit * unit),
        )


class Slope(NamedTuple):
    """The gradient of the objective at a function, and what comes with it."""

    gradient: np.ndarray  # −½ of it in c, at the best b, (r, t)
    offset: np.ndarray  # that b, (t,)
    size: float  # of the gradient at f = 0
    squares: float  # Σ w (y − f − b)²


class RidgeRun(SpanRun):
    """The passes of a fit, and the proof of its end."""

    def __init__(
        self,
        span: Span,
        problem: SpanProblem,
        fit_intercept: bool,
        shift: np.ndarray | None,
        passes: Passes,
    ):
        self.span, self.problem, self.fit_intercept = span, problem, fit_intercept
        self.passes = passes
        self.shift = np.zeros(problem.n_targets) if shift is None or not fit_intercept else shift

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "passes": None}  # workers run no passes of their own

    # ------------------------------------------------------------ passes
    def gathered(self, folds: int) -> tuple[FoldMoments, float]:
        """Return the moments of the features and targets, and Σ w k(x, x): one pass."""
        r = self.span.rank
        blocks = self.problem.blocks(self.span.rows_of_block(self.problem, float(r) * r))
        by_values = self.span.is_clear
        state = (folds, by_values)
        sums, trace = self.passes.run(self._moments, blocks, state)
        if by_values:
            return FoldMoments.of_values(sums, self.span.U, r, self.fit_intercept), float(trace)
        return FoldMoments(sums, r, self.fit_intercept), float(trace)

    def _moments(self, block: PieceBlock, state: tuple[int, bool]) -> tuple[np.ndarray, float]:
        """Return Σ w v vᵀ of each fold, v = (φ, 1, y − shift), and Σ w k(x, x)."""
        folds, by_values = state
        r, t = self.span.rank, self.problem.n_targets
        sums, trace = np.zeros((folds, r + 1 + t, r + 1 + t)), 0.0
        for numbers, piece in self.span.pieces(block):
            which = fold_numbers(numbers.start, numbers.stop, folds)
            piece = piece[np.argsort(which, kind="stable")]
            V = np.empty((len(which), r + 1 + t))
            values = self.span.values(piece.rows)
            V[:, :r] = values if by_values else self.span.features(values.T).T
            V[:, r], V[:, r + 1 :] = 1.0, piece.Y - self.shift
            V *= np.sqrt(piece.weight)[:, None]
            ends = np.cumsum(np.bincount(which, minlength=folds))
            for total, part in zip(sums, np.split(V, ends[:-1]), strict=True):
                add_square(total, part)
            trace += float(piece.weight @ self.span.kernel.diagonal_of(piece.rows, np.float64))
        for total in sums:
            total += np.triu(total, 1).T
        return sums, trace

    def slope(self, c: np.ndarray, lam: float) -> Slope:
        """Return the gradient at c, from kernel values that are computed afresh: one pass."""
        return self.slope_on(self.light_blocks(), c, lam)[0]

    def slope_on(
        self, blocks: Sequence[PieceBlock], c: np.ndarray, lam: float
    ) -> tuple[Slope, tuple[np.ndarray, float]]:
        """Return the gradient of the problem of some blocks, and their Σ w k and Σ w."""
        sums = self.passes.run(self._lean()._slopes, blocks, self.span.on_kept(c))
        rest, start, column, excess, total, squares = sums
        moved = excess / total if self.fit_intercept else np.zeros_like(excess)
        squares = float(np.sum(squares - moved**2 * total)) if self.fit_intercept else squares.sum()
        features = self.span.features
        gradient = features(rest - np.outer(column, moved)) - lam * c
        size = safe_norm(features(start))
        return Slope(gradient, self.shift + moved, size, squares), (column, float(total))

    def _slopes(self, block: PieceBlock, beta: np.ndarray) -> tuple[Any, ...]:
        """Return Σ w k e, Σ w k y, Σ w k, Σ w e, Σ w and Σ w e² of a block, e = y − shift − f."""
        rest, start, column = np.zeros_like(beta), np.zeros_like(beta), np.zeros(len(beta))
        excess, squares, total = np.zeros(beta.shape[1]), np.zeros(beta.shape[1]), 0.0
        for _, piece in self.span.pieces(block):
            values, weight = self.span.values(piece.rows), piece.weight[:, None]
            centred = piece.Y - self.shift
            error = centred - values @ beta
            weighted = np.hstack([error * weight, centred * weight, weight])
            sums = values.T @ weighted
            t = beta.shape[1]
            rest += sums[:, :t]
            start += sums[:, t : 2 * t]
            column += sums[:, 2 * t]
            excess += weighted[:, :t].sum(axis=0)
            squares += (weighted[:, :t] * error).sum(axis=0)
            total += float(piece.weight.sum())
        return rest, start, column, excess, total, squares

    def product(self, V: np.ndarray) -> np.ndarray:
        """Return Σ w φφᵀ V about the mean, from kernel values in float64: one pass."""
        blocks, lean = self.light_blocks(), self._lean()
        start = np.column_stack([self.span.on_kept(V), np.zeros(len(V))])
        sums, level = self.passes.run(lean._images_and_column, blocks, start)
        middle = np.outer(sums[:, -1], level[:-1]) / level[-1]
        return self.span.features(sums[:, :-1] - middle)

    def _images_and_column(self, block: PieceBlock, beta: np.ndarray) -> tuple[Any, ...]:
        """Return Σ w k f and Σ w f of a block, with a last function that is 1 everywhere."""
        sums, level = np.zeros(beta.shape), np.zeros(beta.shape[1])
        for _, piece in self.span.pieces(block):
            values = self.span.values(piece.rows)
            f = values @ beta
            f[:, -1] = 1.0
            weighted = f * piece.weight[:, None]
            sums += values.T @ weighted
            level += weighted.sum(axis=0)
        return sums, level

    def image(
        self, blocks: Sequence[PieceBlock], d: np.ndarray, column: np.ndarray, total: float
    ) -> np.ndarray:
        """Return Σ w φφᵀ d, about the mean if there is an offset: one pass.

        In float32, unless landmarks are so alike that their coefficients are large and cancel.
        """
        beta = self.span.on_kept(d).astype(np.float32 if self.span.is_clear else np.float64)
        sums, level = self.passes.run(self._lean()._images, blocks, beta)
        if self.fit_intercept:
            sums = sums - np.outer(column, level / total)
        return self.span.features(sums)

    def _images(self, block: PieceBlock, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return Σ w k f and Σ w f of a block."""
        sums, level = np.zeros(beta.shape), np.zeros(beta.shape[1])
        for _, piece in self.span.pieces(block):
            values = self.span.values(piece.rows, beta.dtype)
            weighted = (values @ beta) * piece.weight[:, None].astype(beta.dtype)
            sums += values.T @ weighted
            level += weighted.sum(axis=0, dtype=np.float64)
        return sums, level

    # ------------------------------------------------------------ the proof
    def restricted(self, c: np.ndarray, slope: Slope, lam: float) -> dict[str, Any]:
        """Return what a certificate says of the restriction to the span."""
        beta, offset = self.span.on_kept(c), slope.offset

        def residuals(piece: Piece, values: np.ndarray) -> np.ndarray:
            return piece.weight[:, None] * (piece.Y - offset - values @ beta)

        objective = slope.squares + lam * float((c**2).sum())
        return restriction(self, residuals, objective, lam)

    def certificate(
        self, c: np.ndarray, slope: Slope, lam: float, tolerance: float, extra: dict[str, Any]
    ) -> Certificate:
        """Prove that the gradient of the whole problem vanishes, but for a part of its size."""
        value = safe_norm(slope.gradient) / max(slope.size, TINY)
        objective = slope.squares + lam * float((c**2).sum())
        above = float((slope.gradient**2).sum()) / lam if lam > 0 else np.inf
        parts = {
            "residual": value,
            "objective": objective,
            "above_minimum": above / max(objective, TINY) if np.isfinite(above) else "unknown",
            "landmarks": self.span.rank,
            "points": self.problem.n,
            "passes": self.passes.count,
            "storage": "blocked",
            **extra,
        }
        about = (
            f"gradient of the problem in the span of {self.span.rank:,} landmarks of "
            f"{self.problem.n:,} rows, relative to its size at f = 0"
        )
        if "trace_error" in extra:
            about += f"; the landmarks miss {100 * extra['trace_error']:.3g} % of the trace"
        return Certificate("relative gradient", value, tolerance, about, parts)

    def solution(
        self,
        c: np.ndarray,
        slope: Slope,
        lam: float,
        tolerance: float,
        extra: dict[str, Any],
        errors: FoldErrors | None,
    ) -> SpanSolution:
        """Return c as coefficients of landmarks, with its proof."""
        extra = {**extra, **self.restricted(c, slope, lam)}
        certificate = self.certificate(c, slope, lam, tolerance, extra)
        status = Status.OPTIMAL if certificate.ok else Status.ILL_CONDITIONED
        beta, offset = self.span.coefficients(c), slope.offset
        return SpanSolution(beta, status, certificate, intercept=offset, lam=lam, errors=errors)


def add_square(total: np.ndarray, V: np.ndarray) -> None:
    """Add VᵀV to the upper triangle of ``total``, in place."""
    if len(V):
        # by columns, as BLAS sees it, the upper triangle is the lower one
        _lapack.add_square(total.T, V.T)
