"""The axioms of a norm, tried on vectors; the inner product of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mercer.norms.base import Norm


class Counterexample(NamedTuple):
    """Vectors that break an axiom: the left side should be at most, or equal to, the right."""

    axiom: str
    x: np.ndarray
    y: np.ndarray | None
    left: float
    right: float


def counterexample(
    norm: Norm | Callable[[np.ndarray], float],
    dimension: int = 2,
    *,
    n_points: int = 50,
    tol: float = 1e-10,
    random_state: Any = 0,
) -> Counterexample | None:
    """Look for vectors that show that a function is not a norm; None if none were found.

    Parameters
    ----------
    norm : Norm or callable
        A length of vectors.
    dimension : int, default=2
        Of the vectors that are tried: the axes and random ones.
    tol : float, default=1e-10
        What counts as rounding, relative to the lengths.

    Examples
    --------
    >>> from mercer.norms import L2, Lp, counterexample
    >>> found = counterexample(Lp(0.5))
    >>> found.axiom, found.left, found.right  # two steps along the axes against the way across
    ('‖x + y‖ ≤ ‖x‖ + ‖y‖', 4.0, 2.0)
    >>> counterexample(L2) is None
    True
    """
    d = getattr(norm, "dimension", None) or dimension
    rng = np.random.default_rng(random_state)
    points = np.vstack([np.eye(d), rng.standard_normal((n_points, d))])
    tests = (_positive(norm, x) for x in [np.zeros(d), *points])
    scaled = (_homogeneous(norm, x, a) for x in points for a in (-1.0, 2.0, 0.5))
    sums = (_triangle(norm, x, y) for i, x in enumerate(points) for y in points[:i])
    found = (c for group in (tests, scaled, sums) for c in group)
    return next((c for c in found if _broken(c, tol)), None)


def _broken(c: Counterexample, tol: float) -> bool:
    excess = c.left - c.right if "≤" in c.axiom else abs(c.left - c.right)
    return not excess <= tol * max(abs(c.left), abs(c.right))


def _positive(norm: Any, x: np.ndarray) -> Counterexample:
    length = float(norm(x))
    if not x.any():
        return Counterexample("‖0‖ = 0", x, None, length, 0.0)
    return Counterexample("0 < ‖x‖, 1 ≤ [‖x‖ > 0]", x, None, 1.0, float(length > 0.0))


def _homogeneous(norm: Any, x: np.ndarray, a: float) -> Counterexample:
    return Counterexample("‖ax‖ = |a|‖x‖", x, a * x, float(norm(a * x)), abs(a) * float(norm(x)))


def _triangle(norm: Any, x: np.ndarray, y: np.ndarray) -> Counterexample:
    return Counterexample(
        "‖x + y‖ ≤ ‖x‖ + ‖y‖", x, y, float(norm(x + y)), float(norm(x)) + float(norm(y))
    )


def inner(A: Any, B: Any) -> float:
    """Return the inner product ⟨A, B⟩ = tr(AᵀB) = Σ AᵢⱼBᵢⱼ of two vectors or two matrices.

    Examples
    --------
    >>> from mercer.norms import inner
    >>> inner([[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]])
    5.0
    """
    A, B = (np.asarray(M, dtype=np.float64) for M in (A, B))
    if A.shape != B.shape:
        raise ValueError(f"A and B must have the same shape; got {A.shape} and {B.shape}")
    return float(np.vdot(A, B))
