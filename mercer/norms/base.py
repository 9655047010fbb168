"""What a norm is: a length, its dual, its unit ball, its direction of steepest descent."""

from __future__ import annotations

from typing import Any

import numpy as np


class Norm:
    """A length ‖x‖ of vectors.

    A norm of one's own implements ``value``; for steepest descent ``dual`` and ``_extreme`` too.
    """

    is_norm: bool = True
    """Whether all axioms of a norm hold."""

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
