"""Kernel k-means in the span of landmarks: starts on a sample, then a pass for each iteration."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

from mercer._floats import TINY
from mercer.result import Certificate, Solution, Status
from mercer.rows.checkpoint import Passes
from mercer.solvers.restriction import LEVEL, SpanRun
from mercer.solvers.span import PieceBlock, Span, SpanProblem
from mercer.spectral._lloyd import ROUNDING, SAME_INERTIA, InnerProducts, kernel_kmeans

SAMPLE_ROWS = 2**14  # on which starts are compared


class SpanClusters(NamedTuple):
    """Centres Σ coef φ(z), their squared lengths, and the clusters of all rows."""

    coef: np.ndarray  # (m, C)
    norms: np.ndarray  # (C,), inf without points
    labels: np.ndarray  # (n,)
    inertia: float
    n_iter: int


class Centres(NamedTuple):
    """Centres as workers see them: coefficients of the landmarks in use, squared lengths."""

    beta: np.ndarray  # (r, C)
    norms: np.ndarray  # (C,)

    def scores(self, values: np.ndarray) -> np.ndarray:
        """Return ‖φ(x) − m_c‖² − k(x, x) from kernel values, (b, C)."""
        return self.norms - 2.0 * (values @ self.beta)


class _Sums(NamedTuple):
    pull: np.ndarray  # Σ w k(Z, x) of each cluster, (r, C)
    weight: np.ndarray  # (C,)
    inertia: float


def span_kmeans(
    span: Span,
    problem: SpanProblem,
    n_clusters: int,
    *,
    n_init: int,
    max_iter: int,
    random_state: Any,
    passes: Passes,
    sample_rows: int = SAMPLE_ROWS,
) -> tuple[SpanClusters, Solution]:
    """Return clusters whose centres lie in the span, and how near they are to standing still.

    The distance to a centre m in the span is k(x, x) − 2 m·φ(x) + ‖m‖², without an error; only
    that the mean of a cluster is projected onto the span costs something.
    """
    run = _ClusterRun(span, problem, passes)
    centres, cost = run.started(n_clusters, n_init, max_iter, random_state, sample_rows)
    before, inertia = centres, np.inf
    for n_iter in range(1, max_iter + 1):
        sums = run.sums(centres)
        least, inertia = inertia - ROUNDING * abs(sums.inertia), sums.inertia
        if n_iter > 1 and not inertia < least:
            break
        before, centres = centres, run.means(sums, centres)
    labels, moves, inertia = run.labels(before, centres)
    found = SpanClusters(run.coefficients(centres), centres.norms, labels, inertia, n_iter)
    return found, _proved(found, moves, cost, run)


class _ClusterRun(SpanRun):
    """The passes of a fit."""

    def __init__(self, span: Span, problem: SpanProblem, passes: Passes):
        self.span, self.problem, self.passes = span, problem, passes

    def started(
        self, n_clusters: int, n_init: int, max_iter: int, random: Any, sample_rows: int
    ) -> tuple[Centres, dict[str, Any]]:
        """Return the centres of the best of several starts on a sample, and the span's cost."""
        n = self.problem.n
        generator = np.random.default_rng(n)
        drawn = np.sort(generator.choice(n, min(n, sample_rows), replace=False))
        (c,) = self.passes.once(
            lambda: (self._best_of_sample(drawn, n_clusters, n_init, max_iter, random),)
        )
        return self._centres(c), self._cost(drawn)

    def _best_of_sample(
        self, drawn: np.ndarray, n_clusters: int, n_init: int, max_iter: int, random: Any
    ) -> np.ndarray:
        piece = self.problem.take(drawn)
        F = self.span.features(self.span.values(piece.rows).T)  # (r, s)
        mean = F @ piece.weight / piece.weight.sum()
        K = InnerProducts(np.ascontiguousarray((F - mean[:, None]).T))
        best = kernel_kmeans(K, piece.weight, n_clusters, n_init, max_iter, random).value
        return F @ best.Z + np.where(best.Z.any(axis=0), 0.0, np.nan)

    def _cost(self, drawn: np.ndarray) -> dict[str, Any]:
        """Return Σ w (k(x, x) − ‖φ(x)‖²), by which the inertia may be too large."""
        piece = self.problem.take(drawn)
        F = self.span.features(self.span.values(piece.rows).T)
        rest = self.span.missed(piece.rows, F) * piece.weight
        n, s = self.problem.n, len(drawn)
        if s == n:
            return {"restriction": "bound", "restriction_gap": float(rest.sum())}
        wide = float(norm.ppf(0.5 + LEVEL / 2) * rest.std(ddof=1) / s**0.5)
        mean = float(rest.mean())
        return {
            "restriction": "estimate",
            "restriction_gap": n * mean,
            "restriction_low": n * max(mean - wide, 0.0),
            "restriction_high": n * (mean + wide),
        }

    def _centres(self, c: np.ndarray) -> Centres:
        there = np.isfinite(c).all(axis=0)
        c = np.where(there, c, 0.0)
        return Centres(self.span.on_kept(c), np.where(there, (c**2).sum(axis=0), np.inf))

    def sums(self, centres: Centres) -> _Sums:
        """Return what the rows nearest to each centre add up to: one pass."""
        lean = _Sum(self.span.without_factor())
        pull, weight, inertia = self.passes.run(lean, self.light_blocks(), centres)
        return _Sums(pull, weight, float(inertia))

    def means(self, sums: _Sums, before: Centres) -> Centres:
        """Return the means of clusters; one that has no rows stays where it was."""
        there = sums.weight > 0
        c = self.span.features(sums.pull) / np.where(there, sums.weight, 1.0)
        found = self._centres(c)
        return Centres(
            np.where(there, found.beta, before.beta), np.where(there, found.norms, before.norms)
        )

    def labels(self, before: Centres, centres: Centres) -> tuple[np.ndarray, int, float]:
        """Return the labels whose means the centres are, how many would leave, the inertia."""
        labels, counted = np.empty(self.problem.n, np.int32), _Labels(self.span, before, centres)
        counted.out = labels
        moves, inertia = self.passes.visit(counted, self.light_blocks())
        return labels, int(moves), float(inertia)

    def coefficients(self, centres: Centres) -> np.ndarray:
        beta = np.zeros((self.span.n_points, centres.beta.shape[1]))
        beta[self.span.order] = centres.beta
        return beta


class _Sum:
    """Σ w k(Z, x), Σ w and Σ w d² of the rows nearest to each centre."""

    def __init__(self, span: Span):
        self.span = span

    def __call__(self, block: PieceBlock, centres: Centres) -> tuple[Any, ...]:
        pull, weight = np.zeros_like(centres.beta), np.zeros(len(centres.norms))
        inertia = 0.0
        for _, piece in self.span.pieces(block):
            values = self.span.values(piece.rows)
            scores = centres.scores(values)
            labels = scores.argmin(axis=1)
            share = np.zeros_like(scores)
            share[np.arange(len(labels)), labels] = piece.weight
            pull += values.T @ share
            weight += share.sum(axis=0)
            own = self.span.kernel.diagonal_of(piece.rows, np.float64)
            inertia += float(piece.weight @ np.maximum(own + scores.min(axis=1), 0.0))
        return pull, weight, inertia


class _Labels:
    """The labels of a block by some centres, written where they belong, and who would leave."""

    out: np.ndarray

    def __init__(self, span: Span, before: Centres, centres: Centres):
        self.span, self.before, self.centres = span, before, centres

    def __call__(self, block: PieceBlock, state: None) -> tuple[int, float]:
        moves, inertia = 0, 0.0
        for numbers, piece in self.span.pieces(block):
            values = self.span.values(piece.rows)
            labels = self.before.scores(values).argmin(axis=1)
            self.out[numbers] = labels
            scores = self.centres.scores(values)
            now = scores[np.arange(len(labels)), labels]
            own = self.span.kernel.diagonal_of(piece.rows, np.float64)
            gain = now - scores.min(axis=1)
            moves += int((gain > SAME_INERTIA * np.maximum(np.abs(own), TINY)).sum())
            inertia += float(piece.weight @ np.maximum(own + now, 0.0))
        return moves, inertia


def _proved(found: SpanClusters, moves: int, cost: dict[str, Any], run: _ClusterRun) -> Solution:
    n, C = run.problem.n, len(found.norms)
    n_found = len(np.unique(found.labels))
    scale = max(found.inertia, TINY)
    parts = {
        "inertia": found.inertia,
        "would_move": moves,
        "clusters": n_found,
        "iterations": found.n_iter,
        "landmarks": run.span.rank,
        "points": n,
        "passes": run.passes.count,
        "storage": "blocked",
        "route": "landmarks",
        **{k: v if isinstance(v, str) else v / scale for k, v in cost.items()},
    }
    about = (
        f"k-means in the span of {run.span.rank:,} landmarks of {n:,} rows: stationary, no row is "
        f"nearer to another centre; no global guarantee"
    )
    proof = Certificate("share that would move", moves / n, 0.0, about, parts)
    status = Status.OPTIMAL if proof.ok else Status.MAX_ITER
    return Solution(None, Status.FEWER_CLUSTERS if n_found < C else status, proof)
