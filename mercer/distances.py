"""Is it a distance, and a Euclidean one? A report with a witness."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.utils.validation import check_array

from mercer._array import largest_size
from mercer._compiled import compiled
from mercer._display import CheckReport, Row, yes_no
from mercer._floats import TINY


@dataclass(frozen=True, repr=False)
class DistanceReport(CheckReport):
    """What `check_distance` found.

    Parameters
    ----------
    ok : bool
        Whether the matrix holds Euclidean distances: every test passed.
    symmetric, zero_diagonal, non_negative, triangle, euclidean : bool
        d(x, y) = d(y, x); d(x, x) = 0; d ≥ 0; d(x, z) ≤ d(x, y) + d(y, z); B = −½HD²H has no
        negative eigenvalue.
    negative_eigenvalues : array
        The negative eigenvalues of B, the most negative first.
    witness : array of shape (n,) or None
        v with Σv = 0 and vᵀD²v > 0, if there is one: no points of a Euclidean space have D.
    points : array of int
        The rows of D that were looked at; the witness has one entry for each.
    culprits : tuple of int
        The rows that break the first property that does not hold.
    reason : str
        The finding in words.
    """

    _title = "check_distance"

    ok: bool
    symmetric: bool
    zero_diagonal: bool
    non_negative: bool
    triangle: bool
    euclidean: bool
    negative_eigenvalues: np.ndarray
    witness: np.ndarray | None
    points: np.ndarray
    culprits: tuple[int, ...]
    reason: str

    @property
    def metric(self) -> bool:
        """Whether the matrix holds distances at all, Euclidean or not."""
        return self.symmetric and self.zero_diagonal and self.non_negative and self.triangle

    def rows(self) -> Iterator[Row]:
        """Yield the lines of the table."""
        yield "points", str(len(self.points))
        for name in ("symmetric", "zero_diagonal", "non_negative", "triangle", "euclidean"):
            yield name.replace("_", " "), yes_no(getattr(self, name))
        yield "negative eigenvalues", str(len(self.negative_eigenvalues))
        yield "verdict", self.reason


def check_distance(
    D: Any, *, tol: float = 1e-8, max_points: int = 1000, random_state: Any = 0
) -> DistanceReport:
    """Test whether a matrix holds distances, and Euclidean ones, and show what breaks it.

    D is Euclidean if and only if D² (squared entry by entry) is conditionally negative definite,
    vᵀD²v ≤ 0 for Σv = 0, that is if B = −½HD²H with H = I − 11ᵀ/n is positive semidefinite.

    Parameters
    ----------
    D : array of shape (n, n)
        Distances, not their squares.
    tol : float, default=1e-8
        What counts as zero, relative to the largest distance (for B: to the largest eigenvalue).
    max_points : int, default=1000
        Of more points a random choice is looked at: failing is then proof, passing evidence.

    Examples
    --------
    >>> from mercer import check_distance
    >>> check_distance([[0.0, 3.0], [3.0, 0.0]]).ok
    True
    >>> star = [[0, 1, 1, 1], [1, 0, 2, 2], [1, 2, 0, 2], [1, 2, 2, 0]]
    >>> report = check_distance(star)
    >>> report.metric, report.euclidean
    (True, False)
    """
    matrix = _square(D)
    points = points_to_check(len(matrix), tol, max_points, random_state)
    part = matrix[np.ix_(points, points)]
    scale = max(largest_size(part), TINY)
    part = part / scale  # neither squares nor sums of these overflow or vanish
    faults = _faults(part, tol)
    negative, witness = _negative_directions((part + part.T) / 2, tol)
    return DistanceReport(
        ok=not faults and witness is None,
        symmetric="symmetric" not in faults,
        zero_diagonal="zero_diagonal" not in faults,
        non_negative="non_negative" not in faults,
        triangle="triangle" not in faults,
        euclidean=witness is None and not faults,
        negative_eigenvalues=negative * scale * scale,
        witness=witness,
        points=points,
        culprits=tuple(int(points[i]) for i in next(iter(faults.values()), ())),
        reason=_reason(matrix, faults, points, witness),
    )


def points_to_check(n: int, tol: float, max_points: int, random_state: Any) -> np.ndarray:
    """Return the numbers of all points, or of a random choice of so many."""
    if not (max_points >= 1 and tol >= 0):
        raise ValueError(f"max_points must be ≥ 1 and tol must be ≥ 0; got {max_points} and {tol}")
    if n <= max_points:
        return np.arange(n)
    return np.sort(np.random.default_rng(random_state).choice(n, max_points, replace=False))


def _square(D: Any) -> np.ndarray:
    matrix = check_array(D, dtype=np.float64, input_name="D", estimator="check_distance")
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"D must be a square matrix of distances; got {matrix.shape[0]} × {matrix.shape[1]}"
        )
    return matrix


def _faults(D: np.ndarray, tol: float) -> dict[str, tuple[int, ...]]:
    """Return the properties that do not hold, each with the points that break it most."""
    found = {
        "symmetric": worst_place(np.abs(D - D.T), tol),
        "zero_diagonal": worst_place(np.abs(np.diagonal(D)), tol),
        "non_negative": worst_place(-D, tol),
        "triangle": _broken_triangle(D, tol),
    }
    return {name: place for name, place in found.items() if place is not None}


def worst_place(excess: np.ndarray, limit: float) -> tuple[int, ...] | None:
    """Return where the largest entry is, if it is above the limit."""
    place = np.unravel_index(np.argmax(excess), excess.shape)
    return tuple(int(i) for i in place) if excess[place] > limit else None


def _broken_triangle(D: np.ndarray, tol: float) -> tuple[int, ...] | None:
    """Return x, y, z where d(x, z) exceeds d(x, y) + d(y, z) the most."""
    worst, place = tol, None
    for x in range(len(D)):
        shortest = np.full(len(D), np.inf)
        _two_steps(D, x, shortest)
        z = int(np.argmax(D[x] - shortest))
        if D[x, z] - shortest[z] > worst:
            worst = float(D[x, z] - shortest[z])
            place = (x, int(np.argmin(D[x] + D[:, z])), z)
    return place


@compiled()
def _two_steps(D, x, shortest):
    """Write the least d(x, y) + d(y, z) over all y for each z."""
    n = len(D)
    for y in range(n):
        first = D[x, y]
        for z in range(n):
            through = first + D[y, z]
            shortest[z] = through if through < shortest[z] else shortest[z]


def _negative_directions(D: np.ndarray, tol: float) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the negative eigenvalues of B = −½HD²H and a vector that shows the worst."""
    C = D**2
    means = C.mean(axis=0)
    values, vectors = eigh(-0.5 * (C - means - means[:, None] + means.mean()))
    negative = values[values < -tol * max(abs(values[0]), abs(values[-1]), TINY)]
    if not len(negative):
        return negative, None
    witness = vectors[:, 0] - vectors[:, 0].mean()  # Σv = 0 to the last digit
    return negative, witness


def _reason(
    D: np.ndarray,
    faults: dict[str, tuple[int, ...]],
    points: np.ndarray,
    witness: np.ndarray | None,
) -> str:
    if not faults:
        if witness is None:
            return "Euclidean distances, as far as these points show"
        return "a distance, but not a Euclidean one: vᵀD²v > 0 for v = witness, Σv = 0"
    name, place = next(iter(faults.items()))
    i, j, k = (int(points[p]) for p in (*place, *place, *place)[:3])
    return {
        "symmetric": f"not symmetric: D[{i}, {j}] = {D[i, j]:.4g}, D[{j}, {i}] = {D[j, i]:.4g}",
        "zero_diagonal": f"no distance: D[{i}, {i}] = {D[i, i]:.4g} is not 0",
        "non_negative": f"no distance: D[{i}, {j}] = {D[i, j]:.4g} < 0",
        "triangle": (
            f"no distance: D[{i}, {k}] = {D[i, k]:.4g} > D[{i}, {j}] + D[{j}, {k}] = "
            f"{D[i, j] + D[j, k]:.4g}"
        ),
    }[name]
