"""Descent over rotations: limited-memory quasi-Newton steps from one orthogonal matrix to the next.

A step is a skew matrix A, one angle for each plane of two axes, and W becomes R(A) W with the
rotation R(A) = (I − A/2)⁻¹ (I + A/2).
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple, Protocol

import numpy as np

from mercer._floats import EPS
from mercer.result import Status

REMEMBERED_STEPS = 10  # steps that shape the next one
LARGEST_ANGLE = 1.0  # of a step
FIRST_ANGLE = 0.1  # of the first step where the curvature is not known
SHORTEST_STEP = 1e-10  # share of a step that is still tried
LEAST_DECREASE = 1e-4  # share of the promised decrease that a step must bring
STEEP_SHARE = 0.9  # share of its slope that a step may keep before it is made longer ...
STEP_GROWTH = 4.0  # ... by this factor
VALUE_NOISE = 16 * EPS  # of a value, relative to its size


class RotationPoint(NamedTuple):
    """A function at an orthogonal matrix W, seen from there."""

    value: float
    slope: np.ndarray  # (k, k) skew: the derivative by the angle of each plane
    curvature: np.ndarray | None  # (k, k) > 0: about the second derivatives, if they are known
    facts: Any = None  # what the function wants to remember of W

    @property
    def residual(self) -> float:
        """The largest derivative: 0 where W is stationary."""
        return float(np.abs(self.slope).max(initial=0.0))


class RotationObjective(Protocol):
    """A function of orthogonal matrices."""

    def at(self, W: np.ndarray) -> RotationPoint:
        """Evaluate the function."""

    def settle(self, point: RotationPoint) -> RotationPoint:
        """Change the function, if it must, where a step was accepted, and evaluate it anew."""


class Descent(NamedTuple):
    """Where a descent ended."""

    W: np.ndarray
    point: RotationPoint
    n_iter: int
    status: Status


def descend(objective: RotationObjective, W: np.ndarray, *, tol: float, max_iter: int) -> Descent:
    """Follow an objective down from W until all its derivatives are within tol."""
    point, memory = objective.at(W), Memory()
    for step in range(max_iter):
        if point.residual <= tol:
            return Descent(W, point, step, Status.OPTIMAL)
        A = memory.step_from(point)
        found = _search(objective, W, point, A)
        if found is None and memory.pairs:  # what is remembered misleads: begin anew
            memory = Memory()
            continue
        if found is None:
            return Descent(W, point, step, Status.INACCURATE)
        t, W, new = found
        settled = objective.settle(new)
        memory = memory.with_pair(t * A, new.slope - point.slope) if settled is new else Memory()
        point = settled
    status = Status.OPTIMAL if point.residual <= tol else Status.MAX_ITER
    return Descent(W, point, max_iter, status)


def turn(W: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Return R(A) W."""
    eye = np.eye(len(A))
    return np.linalg.solve(eye - 0.5 * A, W + 0.5 * (A @ W))


def orthogonalised(W: np.ndarray) -> np.ndarray:
    """Return the nearest orthogonal matrix to one that is orthogonal but for a little rounding."""
    return W @ (1.5 * np.eye(len(W)) - 0.5 * (W.T @ W))


def random_rotation(k: int, rng: np.random.RandomState) -> np.ndarray:
    """Return an orthogonal matrix, all equally likely."""
    Q, R = np.linalg.qr(rng.normal(size=(k, k)))
    return Q * np.where(np.diag(R) < 0, -1.0, 1.0)


class Memory:
    """The last steps and what they did to the slopes (limited-memory BFGS)."""

    def __init__(self) -> None:
        self.pairs: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=REMEMBERED_STEPS)

    def with_pair(self, step: np.ndarray, change: np.ndarray) -> Memory:
        """Return the memory with one more step, if the function curved upwards along it."""
        curved = _inner(step, change)
        if curved > 1e-8 * np.sqrt(_inner(step, step) * _inner(change, change)):
            self.pairs.append((step, change, 1.0 / curved))
        return self

    def step_from(self, point: RotationPoint) -> np.ndarray:
        """Return a step downwards, no angle larger than `LARGEST_ANGLE`."""
        A, shares = -point.slope, []
        for step, change, weight in reversed(self.pairs):
            shares.append(weight * _inner(step, A))
            A = A - shares[-1] * change
        A = self._scaled(A, point)
        for (step, change, weight), share in zip(self.pairs, reversed(shares), strict=True):
            A = A + (share - weight * _inner(change, A)) * step
        if _inner(A, point.slope) >= 0.0:  # rounding
            self.pairs.clear()
            A = self._scaled(-point.slope, point)
        return A * min(1.0, LARGEST_ANGLE / float(np.abs(A).max()))

    def _scaled(self, A: np.ndarray, point: RotationPoint) -> np.ndarray:
        """Return A divided by the curvature, or by what the last step has seen of it."""
        if point.curvature is not None:
            return A / point.curvature
        if not self.pairs:
            return A * (FIRST_ANGLE / max(point.residual, FIRST_ANGLE))
        _, change, weight = self.pairs[-1]
        return A / (weight * _inner(change, change))


Found = tuple[float, np.ndarray, RotationPoint]  # the share of a step, where it ends, what is there


def _inner(A: np.ndarray, B: np.ndarray) -> float:
    return 0.5 * float(np.vdot(A, B))  # each plane stands twice in a skew matrix


def _search(
    objective: RotationObjective, W: np.ndarray, point: RotationPoint, A: np.ndarray
) -> Found | None:
    """Return the first share of the step, its end and the point there that go down enough."""
    slope, t = _inner(point.slope, A), 1.0
    noise = VALUE_NOISE * abs(point.value)
    while t > SHORTEST_STEP:
        there = turn(W, t * A)
        new = objective.at(there)
        excess = new.value - point.value - t * slope
        if excess <= (LEAST_DECREASE - 1.0) * t * slope + noise:
            return _longer(objective, W, A, slope, (t, there, new))
        t *= float(np.clip(-0.5 * t * slope / excess, 0.1, 0.5))  # the least of a parabola
    return None


def _longer(
    objective: RotationObjective, W: np.ndarray, A: np.ndarray, slope: float, found: Found
) -> Found:
    """Return a step that goes on as long as it goes down about as steeply as it began."""
    t, _, new = found
    room = LARGEST_ANGLE / float(np.abs(A).max())
    while _inner(new.slope, A) < STEEP_SHARE * slope and STEP_GROWTH * t <= room:
        there = turn(W, STEP_GROWTH * t * A)
        further = objective.at(there)
        if further.value >= new.value:
            break
        t, new = STEP_GROWTH * t, further
        found = t, there, new
    return found
