"""What a norm is: a length, its dual, its unit ball, and vectors that show what is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mercer._state import Attribute, Integers, Maybe


class Norm:
    """A length ‖x‖ of vectors.

    A norm of one's own implements ``value``; for steepest descent ``dual`` and ``_extreme`` too.
    """

    is_norm: bool = True
    """Whether all axioms of a norm hold."""

    fitted_state: ClassVar[dict[str, Attribute]] = {"dimension": Maybe(Integers())}
    dimension: int | None = None
    """The length of the vectors, or None if any will do."""

    def __call__(self, x: Any) -> Any:
        """Return ‖x‖, as ``value`` does."""
        return self.value(x)

    def value(self, x: Any) -> Any:
        """Return ‖x‖ of a vector, or of each row of a table as an array of shape (n,)."""
        raise NotImplementedError

    def dual(self) -> Norm:
        """Return the dual norm ‖g‖⋆ = max over ‖u‖ ≤ 1 of gᵀu."""
        raise NotImplementedError

    def distances(self, X: Any, Y: Any) -> np.ndarray:
        """Return ‖x − y‖ for all rows of X and Y, shape (n, m)."""
        X, Y = (np.atleast_2d(self._vectors(rows)) for rows in (X, Y))
        return np.array([self.value(Y - x) for x in X]).reshape(len(X), len(Y))

    def steepest(self, g: Any, *, normalized: bool = False) -> np.ndarray:
        """Return the direction of steepest descent for a gradient g.

        The normalised direction u minimises gᵀu over ‖u‖ ≤ 1, where gᵀu = −‖g‖⋆. The other is
        ‖g‖⋆ u: −g in the Euclidean norm, −P⁻¹g in a quadratic one, one coordinate in L1.
        """
        self._require_norm("a direction of steepest descent")
        g = self._vectors(g)
        if g.ndim != 1:
            raise ValueError(f"g must be one vector; got an array of shape {g.shape}")
        length = self.dual().value(g)
        if length == 0.0:
            return np.zeros_like(g)
        # of a gradient in units of its own length: its powers neither overflow nor vanish
        direction = 0.0 - self._extreme(g / length)
        return direction if normalized else length * direction

    def _extreme(self, g: np.ndarray) -> np.ndarray:
        """Return u with ‖u‖ ≤ 1 and gᵀu = ‖g‖⋆ for a g with ‖g‖⋆ = 1."""
        raise NotImplementedError

    def ball(self, n_points: int = 360) -> np.ndarray:
        """Return points around the boundary {x : ‖x‖ = 1} in the plane, the first one twice.

        With a multiple of 8 points the corners of diamonds and squares are among them.
        """
        if self.dimension not in (None, 2):
            raise ValueError(f"ball draws norms of the plane; this one has {self.dimension} axes")
        if n_points < 3:
            raise ValueError(f"n_points must be at least 3; got {n_points}")
        angles = 2.0 * np.pi * np.arange(n_points) / n_points
        rays = np.column_stack([np.cos(angles), np.sin(angles)])
        rays[np.abs(rays) < 1e-15] = 0.0  # the axes themselves: with p < 1 they are the cusps
        points = rays / np.asarray(self.value(rays))[:, None]
        return np.vstack([points, points[:1]])

    def _require_norm(self, what: str) -> None:
        if not self.is_norm:
            raise ValueError(f"{self!r} is not a norm, it has no {what.removeprefix('a ')}")

    def _vectors(self, x: Any) -> np.ndarray:
        """Return a vector or rows in float64, or say what is wrong."""
        x = np.asarray(x, dtype=np.float64)
        if x.ndim not in (1, 2) or not np.isfinite(x).all():
            raise ValueError(
                f"x must be a finite vector or a table of them; its shape is {x.shape}"
            )
        if self.dimension not in (None, x.shape[-1]):
            raise ValueError(f"x must have {self.dimension} entries a row; got {x.shape[-1]}")
        return x


def plain(lengths: Any) -> Any:
    """Return a single length as a Python number."""
    return lengths if np.ndim(lengths) else float(lengths)


# ---------------------------------------------------------------- the axioms, tried on vectors
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
