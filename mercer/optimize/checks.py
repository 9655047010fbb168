"""Whether functions are what a method takes them for: convexity, gradients, Slater's condition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import null_space
from scipy.special import logsumexp, softmax

from mercer._floats import TINY
from mercer.norms import L2
from mercer.optimize.descent import lbfgs
from mercer.optimize.linear_program import linear_program
from mercer.optimize.problem import Constraint, Problem, as_point, require_callable
from mercer.result import Certificate, html_table, text_table

LENGTHS = (1.0, 0.1, 0.01)  # of chords: long ones see the whole, short ones a dent
SHARPER = (1.0, 0.1, 0.01, 1e-3, 1e-4)  # temperatures, relative to the spread of the constraints


class _Finding:
    """What a check found: true if there is no objection, and a table for people."""

    ok: bool
    check: ClassVar[str]

    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield the lines of the table."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return text_table(self.check, self.rows())

    def _repr_html_(self) -> str:
        return html_table(self.check, self.rows())

    def __bool__(self) -> bool:
        return self.ok


@dataclass(frozen=True, repr=False)
class ConvexityReport(_Finding):
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

    check = "check_convex"
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


# -------------------------------------------------------------------- Slater's condition
@dataclass(frozen=True, repr=False)
class SlaterReport(_Finding):
    """What `check_slater` found.

    Parameters
    ----------
    ok : bool
        Whether a point was found.
    point : array of shape (d,) or None
        It: g(x) < 0, affine constraints g(x) ≤ 0, h(x) = 0.
    margin : float
        −max g(x) over the constraints that are not affine; infinite if there are none. Without a
        point, the largest that was reached.
    reason : str
        The finding in words.
    """

    check = "check_slater"
    ok: bool
    point: np.ndarray | None
    margin: float
    reason: str

    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield the lines of the table."""
        yield "strictly feasible point", "found" if self.ok else "NOT FOUND"
        yield "margin", f"{self.margin:.4g}"
        yield "verdict", self.reason


def check_slater(problem: Problem, x0: Any, *, max_iter: int = 1000) -> SlaterReport:
    """Look for a strictly feasible point of a convex problem: then strong duality holds.

    Affine constraints (made by `affine`) need only hold. One linear program finds the affine set
    they lie in; in it a smooth maximum of the other constraints is minimised, ever sharper.

    Parameters
    ----------
    problem : Problem
        Convex; equalities must be affine.
    x0 : array of shape (d,)
        Where the search starts.
    max_iter : int, default=1000
        Steps for each sharpness.

    Returns
    -------
    SlaterReport

    Examples
    --------
    >>> from mercer.optimize import Problem, check_slater
    >>> def disc(r):
    ...     return Problem(
    ...         lambda x: x[0],
    ...         lambda x: [1.0, 0.0],
    ...         inequalities=[(lambda x: x @ x - r, lambda x: 2 * x)],
    ...     )
    >>> check_slater(disc(1.0), [2.0, 0.0]).ok, check_slater(disc(0.0), [2.0, 0.0]).ok
    (True, False)
    """
    x0 = as_point(x0, "x0")
    curved = [c for c in problem.inequalities if not c.affine]
    flat = [c for c in problem.inequalities if c.affine]
    room = _affine_room(flat, problem.equalities, x0)
    if room is None:
        return SlaterReport(False, None, -np.inf, "the affine constraints contradict each other")
    if not curved:
        return SlaterReport(True, room.start, np.inf, "all constraints are affine, and hold")
    return _search(room, curved, max_iter)


@dataclass(frozen=True)
class _Room:
    """The points start + Zz, and affine constraints Ax < b that hold strictly somewhere in them."""

    start: np.ndarray
    Z: np.ndarray
    A: np.ndarray
    b: np.ndarray


def _affine_room(flat: list[Constraint], equalities: Any, x: np.ndarray) -> _Room | None:
    """Return where the affine constraints leave room, or None if they cannot hold together.

    max Σt over Ax + t ≤ sb, Ex = se, 0 ≤ t ≤ 1, s ≥ 1 has tᵢ = 0 just for those rows of A that hold
    with equality at every feasible point.
    """
    A, b = _as_rows(flat, x)
    E, e = _as_rows(list(equalities), x)
    m, p, d = len(b), len(e), len(x)
    solution = linear_program(
        np.concatenate([np.zeros(d), -np.ones(m), [0.0]]),
        np.hstack([A, np.eye(m), -b[:, None]]) if m else None,
        np.zeros(m) if m else None,
        np.hstack([E, np.zeros((p, m)), -e[:, None]]) if p else None,
        np.zeros(p) if p else None,
        [(None, None)] * d + [(0, 1)] * m + [(1, None)],
    )
    if not solution.status.ok:
        return None
    t, scale = solution.value[d : d + m], solution.value[-1]
    tight = t < 0.5
    rows = np.vstack([E, A[tight]])
    Z = null_space(rows) if len(rows) else np.eye(d)
    start = solution.value[:d] / scale
    # of all points that satisfy the affine constraints, begin near x0 where there is no other rule
    start = x - (np.eye(d) - Z @ Z.T) @ (x - start) if not m else start
    return _Room(start, Z, A[~tight], b[~tight])


def _as_rows(constraints: list[Constraint], x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return A and b of affine functions Ax − b."""
    rows, sides = [np.zeros((0, len(x)))], [np.zeros(0)]
    for constraint in constraints:
        J = constraint.jacobian(x)
        ahead = x + 1.0 + np.abs(x)
        if not (constraint.affine or np.allclose(J, constraint.jacobian(ahead), rtol=1e-9)):
            raise ValueError("equalities must be affine for Slater's condition; one is curved")
        rows.append(J)
        sides.append(J @ x - constraint.value(x))
    return np.vstack(rows), np.concatenate(sides)


def _search(room: _Room, curved: list[Constraint], max_iter: int) -> SlaterReport:
    """Minimise the largest constraint over the room."""

    def values(z: np.ndarray) -> np.ndarray:
        x = room.start + room.Z @ z
        return np.concatenate([c.value(x) for c in curved] + [room.A @ x - room.b])

    def slopes(z: np.ndarray) -> np.ndarray:
        x = room.start + room.Z @ z
        return np.vstack([c.jacobian(x) for c in curved] + [room.A]) @ room.Z

    z = np.zeros(room.Z.shape[1])
    spread = 1.0 + float(np.ptp(values(z)))
    for sharp in SHARPER:
        if values(z).max() < 0 or not len(z):
            break
        z = _lower(values, slopes, z, sharp * spread, max_iter)
    return _report(room.start + room.Z @ z, values(z))


def _lower(values: Any, slopes: Any, z: np.ndarray, heat: float, max_iter: int) -> np.ndarray:
    """Return where heat · log Σ exp(g/heat), a smooth maximum from above, is least."""

    def smooth_maximum(z: np.ndarray) -> float:
        return heat * float(logsumexp(values(z) / heat))

    def slope(z: np.ndarray) -> np.ndarray:
        return softmax(values(z) / heat) @ slopes(z)

    return lbfgs(smooth_maximum, z, slope, tol=1e-9, max_iter=max_iter).value


def _report(x: np.ndarray, g: np.ndarray) -> SlaterReport:
    worst = float(g.max())
    if worst < 0:
        return SlaterReport(True, x, -worst, "strong duality holds if the problem is convex")
    reason = f"none found: the least largest constraint that was reached is {worst:.3g}"
    return SlaterReport(False, None, -worst, reason)
