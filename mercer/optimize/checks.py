"""Whether functions are what a method takes them for: convexity and gradients, tried on points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._floats import TINY
from mercer.norms import L2
from mercer.optimize.problem import as_point, require_callable
from mercer.result import Certificate, html_table, text_table

LENGTHS = (1.0, 0.1, 0.01)  # of chords: long ones see the whole, short ones a dent


@dataclass(frozen=True)
class ConvexityReport:
    """What `check_convex` found.

    Parameters
    ----------
    ok : bool
        Whether no chord lay below the function (evidence, no proof).
    witness : tuple (x, y, t) or None
        Points and a share with f(tx + (1 − t)y) > tf(x) + (1 − t)f(y).
    excess : float
        By how much the witness breaks the inequality; 0 without one.
    n_chords : int
        How many were tried.
    reason : str
        The finding in words.
    """

    ok: bool
    witness: tuple[np.ndarray, np.ndarray, float] | None
    excess: float
    n_chords: int
    reason: str

    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield the lines of the table."""
        yield "chords", str(self.n_chords)
        if self.witness is not None:
            x, y, t = self.witness
            yield from (("x", str(x)), ("y", str(y)), ("t", f"{t:.4g}"))
            yield "excess", f"{self.excess:.4g}"
        yield "verdict", self.reason

    def __str__(self) -> str:
        return text_table("check_convex", self.rows())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table("check_convex", self.rows())

    def __bool__(self) -> bool:
        return self.ok


def check_convex(
    f: Callable[[np.ndarray], float],
    dimension: int = 1,
    *,
    points: Any = None,
    lower: float = -3.0,
    upper: float = 3.0,
    n_chords: int = 600,
    tol: float = 1e-9,
    random_state: Any = 0,
) -> ConvexityReport:
    """Test on chords whether f(tx + (1 − t)y) ≤ tf(x) + (1 − t)f(y), and show one that fails.

    Passing is evidence, failing is proof. Where f is NaN or +∞ it counts as outside its domain,
    which must be convex as well.

    Parameters
    ----------
    f : callable
        x ↦ f(x) for an array of shape (d,).
    dimension : int, default=1
        The number of variables d.
    points : table of shape (n, d), default=None
        Points whose chords are tried; None draws them in the box.
    lower, upper : float
        The box from which points are drawn.
    n_chords : int, default=600
        How many chords are tried.
    tol : float, default=1e-9
        What counts as rounding, relative to the values of f on the chord.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.optimize import check_convex
    >>> check_convex(np.square).ok, check_convex(np.cos).ok
    (True, False)
    """
    require_callable(f, "f")
    if not (dimension >= 1 and n_chords >= 1 and tol > 0 and lower < upper):
        raise ValueError(
            f"dimension and n_chords must be ≥ 1, tol > 0 and lower < upper; got {dimension}, "
            f"{n_chords}, {tol}, {lower}, {upper}"
        )
    rng = np.random.default_rng(random_state)
    chords = list(_chords(points, dimension, (lower, upper), n_chords, rng))
    found = max((_excess(f, tol, *chord), i) for i, chord in enumerate(chords))
    if found[0] <= 0.0:
        reason = "no objection on these chords"
        return ConvexityReport(True, None, 0.0, len(chords), reason)
    reason = "not convex: f(tx + (1 − t)y) > tf(x) + (1 − t)f(y)"
    return ConvexityReport(False, chords[found[1]], found[0], len(chords), reason)


def _chords(points: Any, d: int, box: tuple[float, float], n: int, rng: Any) -> Iterator[Any]:
    """Yield random pairs of points, some drawn together to short chords, and a place between."""
    if points is not None:
        points = np.atleast_2d(np.asarray(points, dtype=np.float64))
        if len(points) < 2 or points.ndim != 2 or not np.isfinite(points).all():
            raise ValueError(f"points must be two or more finite rows; got shape {points.shape}")
    for i in range(n):
        if points is None:
            x, y = rng.uniform(*box, size=(2, d))
        else:
            x, y = points[rng.choice(len(points), 2, replace=False)]
        yield x, x + LENGTHS[i % len(LENGTHS)] * (y - x), float(rng.uniform(0.1, 0.9))


def _excess(f: Any, tol: float, x: np.ndarray, y: np.ndarray, t: float) -> float:
    """Return by how much f lies above a chord, beyond rounding; at most 0 if it does not."""
    with np.errstate(all="ignore"):
        values = [float(np.asarray(f(p)).item()) for p in (x, y, t * x + (1.0 - t) * y)]
    a, b, middle = (np.inf if np.isnan(v) else v for v in values)
    if np.inf in (a, b):
        return 0.0
    excess = middle - (t * a + (1.0 - t) * b)
    return excess if excess > tol * (1.0 + max(abs(a), abs(b))) else 0.0


def check_gradient(
    f: Any, grad: Any, x: Any, *, tol: float = 1e-5, step: float = 1e-5
) -> Certificate:
    """Compare a gradient with central differences of f at a point.

    Parameters
    ----------
    f, grad : callable
        x ↦ f(x), and x ↦ ∇f(x) of shape (d,).
    x : array of shape (d,)
        A point where f is smooth.
    tol : float, default=1e-5
        What the error must not exceed, relative to the gradient or, where that is small, to the
        mean slope of f over steps of length about 1.
    step : float, default=1e-5
        Of the differences, relative to 1 + |xᵢ|.

    Returns
    -------
    Certificate
        With the parts ``worst_coordinate``, ``given`` and ``expected`` there.

    Examples
    --------
    >>> from mercer.optimize import check_gradient
    >>> check_gradient(lambda x: x @ x, lambda x: 2 * x, [1.0, 2.0]).ok
    True
    >>> check_gradient(lambda x: x @ x, lambda x: x, [1.0, 2.0]).ok
    False
    """
    x = as_point(x, "x")
    for function, name in ((f, "f"), (grad, "grad")):
        require_callable(function, name)
    given = np.asarray(grad(x), dtype=np.float64)
    if given.shape != x.shape:
        raise ValueError(f"grad must return shape {x.shape}; got {given.shape}")
    steps = np.diag(step * (1.0 + np.abs(x)))
    expected = np.array([(f(x + h) - f(x - h)) / (2.0 * h.max()) for h in steps]).reshape(x.shape)
    error = np.abs(given - expected)
    i = int(np.argmax(error))
    parts = {"worst_coordinate": i, "given": given[i], "expected": expected[i]}
    unit = max(L2.value(given), L2.value(expected), _mean_slope(f, x), TINY)
    value = float(error[i]) / unit
    about = f"∇f against differences at a point with {len(x)} variables"
    return Certificate("relative error of the gradient", value, tol, about, parts)


def _mean_slope(f: Any, x: np.ndarray) -> float:
    """Return how much f changes over steps of length 1 + |xᵢ|, where it can be computed."""
    steps = np.diag(1.0 + np.abs(x))
    with np.errstate(all="ignore"):
        rises = np.array([abs(float(f(x + h)) - float(f(x))) / h.max() for h in steps])
    return float(rises[np.isfinite(rises)].max(initial=0.0))
