"""Ridge regression of a few targets with a penalty along a graph: its system and its proof."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mercer._floats import TINY, safe_unit
from mercer._limits import Limits
from mercer.result import Certificate, Solution, Status
from mercer.solvers.laplacian import Manifold

AROUND_ONE = 0.1, 10.0  # targets: what is lost in float32 or below a jitter is relative to 1
REFINEMENTS = 4  # steps of a squared loss, each from the recomputed gradient
GOAL = 0.01  # of the tolerance of a proof: how far the equation is solved before


def solve_manifold_ridge(
    manifold: Manifold,
    Y: np.ndarray,
    weight: np.ndarray,
    lam: float,
    *,
    fit_intercept: bool,
    tolerance: float = 1e-8,
    limits: Limits | None = None,
) -> Solution:
    """Minimise Σ w(y − f − b)² + λ‖f‖² + λ_G fᵀLᵖf over f and b; rows of weight 0 have no target.

    Half the gradient, divided by λ, is Σ ρᵢ k(·, xᵢ) with ρ = α + Nf − w(y − b)/λ and
    N = (λ_G Lᵖ + diag w)/λ. The proof is its norm, relative to that of w y/λ; as λ‖f‖² is strongly
    convex, the objective is at most λρᵀKρ above its minimum.

    Parameters
    ----------
    manifold : Manifold
        The rows, with this N.
    Y : array of shape (n, t)
        Targets, 0 where there is none.
    weight : array of shape (n,)
        Weights ≥ 0.

    Returns
    -------
    Solution
        ``value`` is α, shape (n, t), ``intercept`` has shape (t,).
    """
    unit = safe_unit(float(np.abs(Y).max(initial=0.0)), AROUND_ONE)
    limits = limits or Limits()
    if unit != 1.0:
        how: dict[str, Any] = {"fit_intercept": fit_intercept, "tolerance": tolerance}
        found = solve_manifold_ridge(manifold, Y / unit, weight, lam, limits=limits, **how)
        return _in_unit(found, unit)
    pull = (weight / lam)[:, None]
    problem = _RidgeProblem(manifold, Y, weight, pull, fit_intercept)
    alpha = np.zeros_like(Y)
    rest, sums = pull * (Y - problem.shift), weight @ (Y - problem.shift)
    for _ in range(REFINEMENTS):
        try:
            alpha = alpha + problem.step(rest, sums, GOAL * tolerance, limits)
        except KeyboardInterrupt:
            limits.interrupt()
        f = manifold.product(alpha)
        b = problem.offset(f)
        rest, sums = pull * (Y - b) - alpha - manifold.N @ f, np.zeros(Y.shape[1])
        proof = _gradient(manifold, Y, weight, lam, (alpha, f, b), rest, tolerance)
        if proof.ok or limits.stopped():
            break
    status = Status.OPTIMAL if proof.ok else limits.stopped() or Status.ILL_CONDITIONED
    stats = {"products": manifold.system.products}
    return Solution(alpha, status, proof, intercept=b, stats=stats)


def _in_unit(found: Solution, unit: float) -> Solution:
    """Return the solution for targets times a unit: f is linear in them, the rest quadratic."""
    parts = found.certificate.parts
    quadratic = ("primal", "gap", "squared_norm", "graph")
    scaled = {name: parts[name] * unit * unit for name in quadratic}
    proof = found.certificate.with_parts(gradient_norm=parts["gradient_norm"] * unit, **scaled)
    value, intercept = found.value * unit, found.intercept * unit
    return replace(found, value=value, intercept=intercept, certificate=proof)


class _RidgeProblem(NamedTuple):
    """(I + NK) α + b w/λ = w y/λ and Σ w(y − f − b) = 0, and steps towards its solution."""

    manifold: Manifold
    Y: np.ndarray
    weight: np.ndarray
    pull: np.ndarray
    fit_intercept: bool

    @property
    def shift(self) -> np.ndarray:
        """The mean target, by which nothing is lost: the offset follows f."""
        return self.offset(np.zeros_like(self.Y))

    def offset(self, f: np.ndarray) -> np.ndarray:
        """Return the best b for values f."""
        if not self.fit_intercept:
            return np.zeros(self.Y.shape[1])
        return self.weight @ (self.Y - f) / self.weight.sum()

    def step(self, forces: np.ndarray, sums: np.ndarray, goal: float, limits: Limits) -> np.ndarray:
        """Return α for these forces, with the offset that makes Σ w(f + b) the given sums.

        The offset is the unknown of one more force, w/λ at each labelled row.
        """
        if not self.fit_intercept:
            return self.manifold.settle(forces, goal=goal, limits=limits)[0]
        both = np.column_stack([self.pull, forces])
        alpha, g = self.manifold.settle(both, goal=goal, limits=limits)
        b = (sums - self.weight @ g[:, 1:]) / (self.weight @ (1.0 - g[:, 0]))
        return alpha[:, 1:] - alpha[:, :1] * b


def _gradient(
    manifold: Manifold,
    Y: np.ndarray,
    weight: np.ndarray,
    lam: float,
    found: tuple[np.ndarray, np.ndarray, np.ndarray],
    rest: np.ndarray,
    tolerance: float,
) -> Certificate:
    """Prove that the gradient, Σ restᵢ k(·, xᵢ) up to a factor, is small."""
    alpha, f, b = found
    norm2, size2 = (_norm2(manifold, V) for V in (rest, (weight / lam)[:, None] * Y))
    value = float(np.sqrt(norm2 / max(size2, TINY)))
    error = float(weight @ ((Y - f - b) ** 2).sum(axis=1))
    squared_norm = float((alpha * f).sum())
    graph = lam * float((f * manifold.N.graph(f)).sum())
    objective = error + lam * squared_norm + graph
    parts = {
        "gradient_norm": 2.0 * lam * norm2**0.5,
        "primal": objective,
        "gap": lam * norm2,
        "squared_norm": squared_norm,
        "graph": graph,
        "graph_share": graph / objective if objective > 0 else 0.0,
        "n_labelled": int((weight > 0).sum()),
        "n_unlabelled": int((weight == 0).sum()),
        "storage": manifold.storage,
    }
    if manifold.landmarks is not None:
        parts["trace_error"] = manifold.landmarks.trace_error
    about = f"gradient of the whole objective on {manifold.n:,} rows, relative to that of y alone"
    return Certificate("relative gradient", value, tolerance, about, parts)


def _norm2(manifold: Manifold, V: np.ndarray) -> float:
    return max(0.0, float((V * manifold.product(V)).sum()))
