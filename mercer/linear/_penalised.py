"""Minimising Σ w φ(y − Aβ): Newton where φ is convex, reweighted least squares otherwise."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lstsq

from mercer._floats import EPS, TINY
from mercer.penalties import Penalty
from mercer.result import Certificate

SHORTEST = 1e-10  # part of a step
ENOUGH = 1e-4  # of the promised gain that a step must bring (Armijo)
SETTLED = 1e-24  # promised gain, relative to the objective, at which nothing but rounding is left
HIDDEN = 1e-12  # the same, at which a gain is hard to tell from rounding
MIX = 1e-4  # the smallest share of reweighting in a step that is not Newton's
FLAT = 1e-7  # ratio of pivots at which a curvature counts as none
SAME = 1e-12  # relative difference of objectives that counts as none


class Problem(NamedTuple):
    """Σ w φ(y − Aβ) with columns of A of about the same size."""

    A: np.ndarray  # (n, m)
    y: np.ndarray
    w: np.ndarray
    penalty: Penalty

    def value(self, beta: np.ndarray) -> float:
        with np.errstate(over="ignore"):
            return float(self.w @ self.penalty.value(self.y - self.A @ beta))

    def step(self, beta: np.ndarray, mix: float = 0.0) -> tuple[np.ndarray, float]:
        """Return a direction from β and the gain that it promises.

        The curvature is φ″ + mix · φ′(r)/r: with mix = 0 the step is Newton's, with mix = 1 it is
        about that of reweighted least squares, which always goes down. Where φ is not convex it is
        the latter; where the curvature is nearly singular, mix is raised.
        """
        r = self.y - self.A @ beta
        slope = self.A.T @ (self.w * self.penalty.derivative(r))
        step = None
        while self.penalty.convex and step is None and mix < 1.0:
            curve = self.penalty.second_derivative(r) + mix * (self._reweights(r) if mix else 0.0)
            # a barrier is curved everywhere, however much its curvatures differ
            flat = FLAT if np.isinf(self.penalty.limit) else 0.0
            step = _solved(self.A, self.w * curve, slope, flat)
            mix = max(MIX, 10.0 * mix)
        if step is None:
            step = _reweighted(self.A, self.w * self._reweights(r), slope)
        return step, float(slope @ step)

    def _reweights(self, r: np.ndarray) -> np.ndarray:
        flat = self.penalty.second_derivative(np.zeros_like(r))
        small = np.abs(r) <= 1e-8 * max(float(np.abs(r).max()), TINY)
        return np.where(small, flat, self.penalty.derivative(r) / np.where(small, 1.0, r))


def _solved(A: np.ndarray, h: np.ndarray, slope: np.ndarray, flat: float) -> np.ndarray | None:
    """Return (AᵀhA)⁻¹ slope, or None if the matrix has pivots that are too small."""
    try:
        factor = cho_factor(_product(A, h), check_finite=False)
    except LinAlgError:
        return None
    pivots = np.diag(factor[0])
    if not pivots.min() > flat * pivots.max():
        return None
    return cho_solve(factor, slope, check_finite=False)


def _reweighted(A: np.ndarray, h: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Return the d of least norm with AᵀhA d = slope."""
    return lstsq(_product(A, h), slope, cond=1e-13, check_finite=False)[0]


def _product(A: np.ndarray, h: np.ndarray) -> np.ndarray:
    return (A * np.maximum(h, 0.0)[:, None]).T @ A


def minimise(problem: Problem, beta: np.ndarray, max_iter: int) -> tuple[np.ndarray, int]:
    """Go down from β until no step gains; return where that is and the number of steps.

    Where rounding of the value hides the gain, whole steps are taken as long as they make the
    promised gain smaller.
    """
    mix, value, (direction, gain) = 0.0, problem.value(beta), problem.step(beta)
    for step in range(1, max_iter + 1):
        hidden = gain <= HIDDEN * value
        there = beta + direction if hidden else _lower(problem, beta, direction, gain, value)
        if there is None and mix < 1.0:  # the curvature is nearly singular
            mix = max(MIX, 10.0 * mix)
            direction, gain = problem.step(beta, mix)
            continue
        if there is None or not np.isfinite(problem.value(there)):
            return beta, step
        lower = problem.value(there)
        mix = _next_mix(mix, (value - lower) / max(gain, TINY))
        direction, promised = problem.step(there, mix)
        if hidden and not promised < 0.5 * gain:
            return beta, step
        beta, value, gain = there, lower, promised
        if gain <= SETTLED * value:
            return beta, step
    return beta, max_iter


def _next_mix(mix: float, share: float) -> float:
    """Return less after a step that brought half of its promise, as a parabola does; else more."""
    if share > 0.25:
        return 0.1 * mix if mix > MIX else 0.0
    return min(max(MIX, 10.0 * mix), 1.0)


def _lower(
    problem: Problem, beta: np.ndarray, direction: np.ndarray, gain: float, value: float
) -> np.ndarray | None:
    """Return the first of the points at 1, ½, ¼, … of a step that gains enough."""
    length = 1.0
    while length > SHORTEST:
        there = beta + length * direction
        if problem.value(there) <= value - ENOUGH * length * gain:
            return there
        length *= 0.5
    return None


def best_of(problem: Problem, starts: list[np.ndarray], max_iter: int) -> tuple[np.ndarray, int]:
    """Return the lowest end of several starts; the first wins where ends are equally low."""
    ends = [minimise(problem, beta, max_iter) for beta in starts]
    values = [problem.value(beta) for beta, _ in ends]
    lowest = min(values)
    first = next(i for i, v in enumerate(values) if v <= lowest + SAME * abs(lowest))
    return ends[first][0], sum(steps for _, steps in ends)


def random_starts(problem: Problem, count: int, rng: np.random.RandomState) -> list[np.ndarray]:
    """Return fits through random rows, as many as coefficients: some miss all outliers."""
    n, m = problem.A.shape
    share = problem.w / problem.w.sum()
    size = min(m, n)
    picks = (rng.choice(n, size, replace=False, p=share) for _ in range(count))
    return [lstsq(problem.A[rows], problem.y[rows], check_finite=False)[0] for rows in picks]


def prove_penalty(
    X: np.ndarray,
    y: np.ndarray,
    coef: np.ndarray,
    offset: float,
    problem: Problem,
    *,
    intercept: bool,
    tol: float,
    about: str,
) -> Certificate:
    """Prove that the gradient of Σ w φ(r) is 0: Σ u x = 0 and Σ u = 0 with u = w φ′(r).

    Each sum is relative to Σ |u| max |x|, or to what rounding of r does to it if that is more.
    """
    r, w, penalty = y - X @ coef - offset, problem.w, problem.penalty
    u = w * penalty.derivative(r)
    noise = 64 * EPS * (float(np.abs(y).max()) + float(np.abs(X).max(axis=0) @ np.abs(coef)))
    bend = float(w @ np.abs(penalty.second_derivative(r)))  # what rounding of r does to u
    scale = max(float(np.abs(u).sum()), noise * bend / tol, TINY)
    sums = np.abs(u @ X) / np.maximum(np.abs(X).max(axis=0), TINY)
    worst = max(float(sums.max()), abs(float(u.sum())) if intercept else 0.0) / scale
    beta = _coordinates(problem, y - r)
    parts = {
        "objective": float(w @ penalty.value(r)),
        "gradient": worst,
        "newton_decrement": max(problem.step(beta)[1], 0.0) ** 0.5,
        "largest_residual": float(np.abs(r).max()),
    }
    return Certificate("relative gradient", worst, tol, about, parts)


def _coordinates(problem: Problem, fitted: np.ndarray) -> np.ndarray:
    return lstsq(problem.A, fitted, check_finite=False)[0]
