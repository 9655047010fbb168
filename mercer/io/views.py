"""Rows as the statistics of a kernel see them, for other languages."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer.kernels.metric import RowMap, shared_part

GIVEN, SCALED, MAPPED, CIRCLES, UNIT = "given", "scaled", "mapped", "circles", "unit"


class RowView(NamedTuple):
    """A map of rows x to rows z.

    ``"given"`` is x itself, ``"scaled"`` multiplies each column of x − origin, ``"mapped"``
    multiplies x − origin by a matrix, ``"circles"`` has ½ cos and ½ sin of the angles 2πx/period,
    and ``"unit"`` is x/‖x‖, or 0.
    """

    kind: str
    columns: int
    """Of z."""

    origin: np.ndarray
    table: np.ndarray
    """Factors or periods, shape (d,), or the matrix (d, columns)."""

    @classmethod
    def given(cls, d: int) -> RowView:
        """Return the rows as they are."""
        return cls(GIVEN, d, np.zeros(d), np.ones(d))

    @classmethod
    def metric(cls, how: RowMap, centres: np.ndarray) -> RowView:
        """Return the rows in which a metric is a plain distance."""
        origin, d = shared_part(centres), centres.shape[1]
        kind, columns = (SCALED, d) if how.factor.ndim == 1 else (MAPPED, how.factor.shape[1])
        return cls(kind, columns, np.zeros(d) if origin is None else origin, how.factor)

    @classmethod
    def circles(cls, period: object, d: int) -> RowView:
        """Return a point on a circle for each column, half as far from its middle as its length."""
        periods = np.broadcast_to(np.asarray(period, dtype=np.float64), d)
        return cls(CIRCLES, 2 * d, np.zeros(d), periods)

    @classmethod
    def unit(cls, d: int) -> RowView:
        """Return rows of length one."""
        return cls(UNIT, d, np.zeros(d), np.ones(d))

    def rows(self, X: np.ndarray) -> np.ndarray:
        """Return z of rows."""
        if self.kind == CIRCLES:
            turns = X / self.table
            angles = 2.0 * np.pi * (turns - np.floor(turns))
            return np.hstack([np.cos(angles), np.sin(angles)]) / 2.0
        if self.kind == UNIT:
            largest = np.abs(X).max(axis=1, initial=0.0, keepdims=True)
            Z = np.divide(X, largest, out=np.zeros_like(X), where=largest > 0)
            return Z / np.maximum(np.linalg.norm(Z, axis=1, keepdims=True), 1.0)
        if self.kind == MAPPED:
            return np.asarray((X - self.origin) @ self.table)
        return X if self.kind == GIVEN else (X - self.origin) * self.table

    def same(self, other: RowView) -> bool:
        """Return whether two views show the same."""
        alike = self.kind == other.kind and self.columns == other.columns
        return alike and all(np.array_equal(a, b) for a, b in zip(self[2:], other[2:], strict=True))
