"""Slater's condition: a point at which every constraint that is not affine holds with room."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import null_space
from scipy.special import logsumexp, softmax

from mercer.optimize.linear_program import linear_program
from mercer.optimize.problem import Constraint, Problem, as_point
from mercer.optimize.quasi_newton import lbfgs
from mercer.result import html_table, text_table

SHARPER = (1.0, 0.1, 0.01, 1e-3, 1e-4)  # temperatures, relative to the spread of the constraints
ROUNDING = 1e-9  # of affine constraints, relative to their terms


@dataclass(frozen=True)
class SlaterReport:
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

    ok: bool
    point: np.ndarray | None
    margin: float
    reason: str

    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield the lines of the table."""
        yield "strictly feasible point", "found" if self.ok else "NOT FOUND"
        yield "margin", f"{self.margin:.4g}"
        yield "verdict", self.reason

    def __str__(self) -> str:
        return text_table("check_slater", self.rows())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table("check_slater", self.rows())

    def __bool__(self) -> bool:
        return self.ok


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
