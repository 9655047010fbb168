"""The proof of margin machines whose function is smooth along a graph, too."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._floats import TINY
from mercer.certify import margin_proof
from mercer.margin import MarginProblem
from mercer.result import Certificate


def manifold_gap(
    beta: np.ndarray,
    e: np.ndarray,
    problem: MarginProblem,
    *,
    squared_norm: float,
    graph: float,
    apart: float,
    fit_intercept: bool,
    tolerance: float,
    about: str = "",
    extra: dict[str, Any] | None = None,
) -> Certificate:
    """Prove that f minimises ½‖f‖² + ½fᵀNf + Σ loss, of which only some rows have a loss.

    For any forces β within their bounds and any values g, with α = β − Ng and f = Kα, the value
    zᵀβ − ½gᵀNg − ½αᵀKα bounds the minimum from below, and the distance from the objective at f is

        gap = Σᵢ [hᵢ(rᵢ) − βᵢrᵢ] + ½ (f − g)ᵀN(f − g),

    the gap of a margin problem on the labelled rows and how far the graph's equation is off: terms
    that are never negative.

    Parameters
    ----------
    beta, e : array of shape (l,)
        Forces at the labelled rows, and exact residuals e = z − f there.
    squared_norm, graph, apart : float
        αᵀKα, fᵀNf, and (f − g)ᵀN(f − g).
    """
    b, violation = problem.offset(beta, e) if fit_intercept else (0.0, 0.0)
    f = problem.figures(beta, e, b)
    astray = abs(f.total) if fit_intercept else 0.0
    if not fit_intercept:
        violation = max(f.zero, f.free, f.bounded)
    primal = 0.5 * squared_norm + 0.5 * graph + f.loss
    gap = max(f.gap, 0.0) + astray * f.spread + 0.5 * max(apart, 0.0)
    relative = gap / max(abs(primal), abs(primal - gap), TINY)
    unbalanced = astray / max(float(np.abs(beta).sum()), TINY)
    objective = {
        "primal": primal,
        "dual": primal - gap,
        "gap": gap,
        "relative_gap": relative,
        "squared_norm": squared_norm,
        "graph": 0.5 * graph,
        "graph_share": 0.5 * graph / primal if primal > 0 else 0.0,
        "graph_gap": 0.5 * max(apart, 0.0),
    }
    kkt = {"pair": violation, "sum": astray}
    return margin_proof(objective, kkt, f, unbalanced, tolerance, about, extra)
