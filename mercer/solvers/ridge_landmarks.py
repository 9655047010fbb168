"""Kernel ridge regression in the span of landmarks, in two passes over the rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from mercer._array import parse_memory, ranges
from mercer._floats import EPS, TINY
from mercer.gram import fresh_array, gram
from mercer.kernels import Kernel
from mercer.kernels.sample import Sample
from mercer.result import Certificate, Solution, Status
from mercer.solvers._factors import CholeskyForm, EigenForm, norm_of_symmetric
from mercer.solvers.pivoted import pivoted_cholesky

BLOCK_VALUES = 2**22  # kernel values that live at once, unless the budget is smaller
COPIES = 5  # of a block: values and features, of the last block too, and weighted features
CORES = 6  # matrices of the landmarks alone
STEPS = 3  # the first solves, the others refine by what fresh kernel values leave
GOAL = 0.01  # of the tolerance: how far the refinement goes before the proof
FIRST = np.array([0])  # the only λ of a factor


def solve_ridge_landmarks(
    kernel: Kernel,
    rows: Sample,
    points: Sample,
    Y: np.ndarray,
    weight: np.ndarray,
    lam: float,
    *,
    fit_intercept: bool = True,
    tolerance: float = 1e-8,
    memory: int | float | str | None = None,
) -> Solution:
    """Minimise Σᵢ wᵢ(yᵢ − f(xᵢ) − b)² + λ‖f‖² over f = Σⱼ βⱼ k(·, zⱼ) and b.

    With k(Z, Z) = UᵀU, pivoted, f is linear in the features φ(x) = U⁻ᵀk(Z, x), and ‖f‖ = ‖c‖ for
    f = c·φ. A pass over the rows gathers Σ w φφᵀ, which is factored; a second pass, over kernel
    values that are computed afresh, gives the gradient of the whole problem, by which c is refined
    and proved. Time n·m², memory m² and one block of rows.

    Parameters
    ----------
    kernel : Kernel
        Bound to the training rows.
    rows, points : Sample
        The training rows, and the m landmarks.
    Y : array of shape (n, t)
        Targets of t problems.
    weight : array of shape (n,)
        Weights > 0.
    lam : float
        λ ≥ 0.

    Returns
    -------
    Solution
        ``value`` is β, shape (m, t), ``intercept`` has shape (t,). The certificate has
        ``trace_error``, the part of Σ k(xᵢ, xᵢ) that the landmarks do not reach.
    """
    problem = _Problem(kernel, rows, points, Y, weight, fit_intercept, parse_memory(memory))
    factor, condition = _factored(problem.moments.products, lam)
    c = np.zeros_like(problem.moments.targets)
    gradient, b, size = problem.moments.targets, problem.mean, np.inf
    for _ in range(STEPS):
        c = c + factor.solve(gradient.T[None], FIRST)[0].T
        gradient, b, size = problem.gradient(c, lam)
        if np.linalg.norm(gradient) <= GOAL * tolerance * size:
            break
    certificate = problem.certificate(gradient, size, tolerance, condition)
    status = Status.OPTIMAL if certificate.ok else Status.ILL_CONDITIONED
    return Solution(problem.coefficients(c), status, certificate, intercept=b)


class _Moments(NamedTuple):
    """Weighted sums over all rows, about the means if there is an offset."""

    products: np.ndarray  # (r, r)
    targets: np.ndarray  # (r, t)
    explained: float  # Σ φ·φ, without weights


class _Problem:
    """The least squares problem in the features of the landmarks."""

    def __init__(
        self,
        kernel: Kernel,
        rows: Sample,
        points: Sample,
        Y: np.ndarray,
        weight: np.ndarray,
        fit_intercept: bool,
        budget: int,
    ):
        self.kernel, self.rows, self.points = kernel, rows, points
        self.Y, self.weight, self.fit_intercept = Y, weight, fit_intercept
        core = fresh_array(gram(kernel, points, dtype=np.float64, memory=budget))
        U, order = pivoted_cholesky(core)
        self.U, self.order = U[:, : len(U)], order[: len(U)]
        m = max(len(points), 1)
        room = max(budget - 8 * CORES * m * m, budget // 4) // (8 * COPIES)
        self.step = max(1, min(BLOCK_VALUES, room) // m)
        self.mean = weight @ Y / weight.sum() if fit_intercept else np.zeros(Y.shape[1])
        self.moments = self._gathered()

    def _values(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield blocks of rows with their kernel values against the landmarks in use, (m, b)."""
        kept = self.points[self.order]
        for part in ranges(len(self.rows), self.step):
            K = gram(self.kernel, self.rows[part], kept, storage="dense", dtype=np.float64)
            yield part, K.toarray().T

    def _features(self, values: np.ndarray) -> np.ndarray:
        """Return φ of rows from their kernel values, (r, b)."""
        return solve_triangular(self.U, values, trans="T", check_finite=False)

    def _gathered(self) -> _Moments:
        r, total = len(self.U), self.weight.sum()
        products, targets = np.zeros((r, r)), np.zeros((r, self.Y.shape[1]))
        means, explained = np.zeros(r), 0.0
        for part, values in self._values():
            F = self._features(values)
            weighted = F * self.weight[part]
            products += weighted @ F.T
            targets += weighted @ (self.Y[part] - self.mean)
            means += weighted.sum(axis=1) / total
            explained += float(np.einsum("ij,ij->", F, F))
        if self.fit_intercept:
            products -= total * np.outer(means, means)
        return _Moments(products, targets, explained)

    def coefficients(self, c: np.ndarray) -> np.ndarray:
        """Return β with Σ βⱼ k(x, zⱼ) = c·φ(x); landmarks that add nothing have 0."""
        beta = np.zeros((len(self.points), c.shape[1]))
        beta[self.order] = solve_triangular(self.U, c, check_finite=False)
        return beta

    def gradient(self, c: np.ndarray, lam: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Return −½ the gradient in c at the best b, that b, and the gradient's size at c = 0."""
        beta = solve_triangular(self.U, c, check_finite=False)
        rest, start, column = np.zeros_like(beta), np.zeros_like(beta), np.zeros(len(beta))
        excess, total = np.zeros(c.shape[1]), self.weight.sum()
        for part, values in self._values():
            centred = self.Y[part] - self.mean
            error = (centred - values.T @ beta) * self.weight[part, None]
            rest += values @ error
            start += values @ (centred * self.weight[part, None])
            column += values @ self.weight[part]
            excess += error.sum(axis=0)
        shift = excess / total if self.fit_intercept else np.zeros_like(excess)
        rest -= np.outer(column, shift)
        slope = self._features(rest) - lam * c
        return slope, self.mean + shift, float(np.linalg.norm(self._features(start)))

    def certificate(
        self, gradient: np.ndarray, size: float, tolerance: float, condition: float
    ) -> Certificate:
        """Prove that the gradient of the whole problem vanishes, but for a part of its size."""
        trace = float(self.kernel.diagonal_of(self.rows, np.float64).sum())
        missed = (trace - self.moments.explained) / trace if trace > 0.0 else 0.0
        value = float(np.linalg.norm(gradient)) / max(size, TINY)
        parts = {
            "residual": value,
            "condition": condition,
            "landmarks": len(self.U),
            "points": len(self.rows),
            "trace_error": max(missed, 0.0),
            "storage": "blocked",
        }
        about = (
            f"gradient of the problem in the span of {len(self.U):,} landmarks of "
            f"{len(self.rows):,} rows, relative to its size at f = 0; the landmarks miss "
            f"{100 * max(missed, 0.0):.3g} % of the trace"
        )
        return Certificate("relative gradient", value, tolerance, about, parts)


def _factored(A: np.ndarray, lam: float) -> tuple[CholeskyForm | EigenForm, float]:
    """Return a factor of A + λ, of its eigenvalues where that is singular, and its condition."""
    factor = CholeskyForm(np.array(A, order="F"), lam)
    if factor.usable.all():
        condition = factor.condition(norm_of_symmetric(A) + lam)
        if condition * len(A) * EPS < 1.0:
            return factor, condition
    return EigenForm.of(np.array(A, order="F"), np.array([lam])), np.inf
