"""Kernel PCA in the span of landmarks: one pass over the rows, a second one for the proof."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from mercer._floats import TINY, safe_norm
from mercer.result import Certificate, Solution, Status
from mercer.rows.checkpoint import Passes
from mercer.solvers.ridge_run import RidgeRun
from mercer.solvers.span import Span, SpanProblem


class SpanPCA(NamedTuple):
    """Components vⱼ = Σ directions φ(z), and the mean of all features, which lies in the span."""

    directions: np.ndarray  # (m, k)
    mean: np.ndarray  # coefficients, (m,)
    means: np.ndarray  # its values at the landmarks, (m,)
    centre: float  # its squared length
    eigenvalues: np.ndarray  # (k,)
    total: float  # the sum of all eigenvalues, over all functions
    solution: Solution


def span_pca(
    span: Span, problem: SpanProblem, n_components: int | None, tolerance: float, passes: Passes
) -> SpanPCA:
    """Return the components of Φ̃Φ̃ᵀ, φ̃ = φ − mean φ, φ of the span.

    Their eigenvalues λ̂ are those of the centred matrix of a kernel that is nowhere larger than k:
    λ̂ᵢ ≤ λᵢ ≤ λ̂ᵢ + missed of the eigenvalues λ for k itself. The second pass multiplies the
    components by features that are computed afresh.
    """
    run = RidgeRun(span, problem, True, None, passes)
    moments, trace = run.gathered(1)
    whole = moments.centred(moments.total)
    values, V = eigh(whole.A)
    positive = values[::-1] > max(values[-1], TINY) * len(values) * 1e-15
    k = min(n_components or len(values), max(int(positive.sum()), 1))
    values, V = values[::-1][:k], V[:, ::-1][:, :k]
    centre = float(whole.mean @ whole.mean)
    spread = float(moments.total[span.rank, span.rank]) * centre
    missed = max(trace - moments.explained, 0.0)
    image = run.product(V)
    residual = max(safe_norm(rest) for rest in (image - V * values).T)
    error = residual / max(float(values[0]), TINY)
    parts = {
        "eigenvalue_error": error,
        "orthogonality": float(np.abs(V.T @ V - np.eye(k)).max()),
        "discarded": 1.0 - float(values.sum()) / max(moments.explained - spread, TINY),
        "eigenvalues_at_most_above": missed,
        "restriction": "bound",
        "restriction_gap": missed / max(trace, TINY),
        "landmarks": span.rank,
        "points": problem.n,
        "passes": passes.count,
        "route": "normal",
    }
    about = (
        f"the {k} components in the span of {span.rank:,} landmarks of {problem.n:,} rows, "
        f"‖K̃v − λv‖ / λ₁; eigenvalues over all functions are larger by {missed:.3g} at most"
    )
    proof = Certificate("eigen residual", error, tolerance, about, parts)
    status = Status.OPTIMAL if proof.ok else Status.ILL_CONDITIONED
    solution = Solution(V, status, proof)
    mean = span.coefficients(whole.mean[:, None])[:, 0]
    means = np.zeros(span.n_points)
    means[span.order] = span.U.T @ whole.mean
    return SpanPCA(span.coefficients(V), mean, means, centre, values, trace - spread, solution)
