"""The eigenproblem of the kernel Fisher discriminant, by ridge regressions on the classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer._array import parse_memory
from mercer._floats import TINY
from mercer.gram import CenteredGram, Gram
from mercer.result import Certificate, Solution, Status
from mercer.solvers import pencil_eigenpairs, solve_ridge
from mercer.spectral._nearest_mean import class_means
from mercer.spectral._pivoted import dual_coefficients, pivoted_factor

TOLERANCE = 1e-8
SOLVE = 1e-10  # of the linear systems: the proof divides their residuals by √ρ

Lengths = Callable[[np.ndarray], np.ndarray]


class FisherProblem:
    """S_b w = λ(S_w + ρI)w on functions w = Σ αᵢ φ̃(xᵢ) with the centred Gram matrix K."""

    def __init__(self, K: CenteredGram, codes: np.ndarray, rho: float):
        self.K, self.codes, self.rho = K, codes, rho
        self.counts = np.bincount(codes)

    def solve(self, raw: Gram, k: int | None, *, memory: int) -> Solution:
        """Return α (n, k) as ``value`` and λ, falling, as ``state``; ``raw`` is K not centred.

        If K has a low rank or a large mean came off it, rounding of its entries is divided by ρ,
        and the proof can fail. Then a factor of K finds functions of small coefficients.
        """
        n = len(self.codes)
        ridge = np.full(n, n * self.rho)
        regressions = solve_ridge(raw, self._targets(), ridge, tolerance=SOLVE, memory=memory)
        solution = self._reduce(regressions.value, k, self._by_products)
        if regressions.status is Status.INDEFINITE:
            return replace(solution, status=Status.INDEFINITE)
        if solution.status.ok or 8 * n * n > parse_memory(memory):
            return solution
        return min(solution, self._by_factor(k, memory), key=lambda s: s.certificate.value)

    def _targets(self) -> np.ndarray:
        """Return indicators of all classes but the last: with a constant they span the others."""
        first = self.codes[:, None] == np.arange(len(self.counts) - 1)
        return first / np.sqrt(self.counts[:-1])

    def _by_factor(self, k: int | None, memory: Any) -> Solution:
        G = pivoted_factor(self.K, memory)
        Y = self._targets()
        Y -= Y.mean(axis=0)
        ridge = len(G) * self.rho
        S = G.T @ G
        S[np.diag_indices_from(S)] += ridge
        w = cho_solve(cho_factor(S, check_finite=False), G.T @ Y, check_finite=False)
        A = dual_coefficients(G, w, ridge, Y)
        return self._reduce(A, k, lambda r: np.linalg.norm(G.T @ r, axis=0))

    def _by_products(self, r: np.ndarray) -> np.ndarray:
        return np.sqrt(np.maximum(np.einsum("ij,ij->j", r, self.K @ r), 0.0))

    def _reduce(self, A: np.ndarray, k: int | None, lengths: Lengths) -> Solution:
        """Solve the eigenproblem in the span of the columns of A, and prove the result."""
        A = A - A.mean(axis=0)
        between, within, _ = self._forms(A, self.K @ A)
        # of size one: the columns may differ by orders of magnitude
        unit = np.sqrt(np.maximum(np.diag(within), TINY))
        small = pencil_eigenpairs(between / np.outer(unit, unit), within / np.outer(unit, unit))
        A = A @ (small.value[:, :k] / unit[:, None])
        values = np.maximum(small.state, 0.0)
        return self._prove(A, values[:k], max(float(values.sum()), TINY), lengths)

    def _forms(self, A: np.ndarray, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return S_b and S_w + ρI on the columns of A with values Z = KA, and their class means."""
        n, means = len(Z), class_means(Z, self.codes)
        rest = Z - means[self.codes]
        between = means.T @ (means * (self.counts / n)[:, None])
        norm2 = A.T @ Z
        return between, rest.T @ rest / n + self.rho * (norm2 + norm2.T) / 2, means

    def _prove(self, A: np.ndarray, values: np.ndarray, total: float, lengths: Lengths) -> Solution:
        """Prove the eigenproblem: the two sides differ by Σ rᵢ φ̃(xᵢ).

        √(rᵀKr / ρ) bounds the length of that where S_w + ρI is white.
        """
        n, Z = len(A), self.K @ A
        _, within, means = self._forms(A, Z)
        own = means[self.codes]
        r = own / n - ((Z - own) / n + self.rho * A) * values
        worst = float(lengths(r).max(initial=0.0)) / np.sqrt(self.rho)
        residual = worst / max(float(values.max(initial=0.0)), TINY)
        skew = float(np.abs(within - np.eye(len(values))).max(initial=0.0))
        parts = {
            "residual": residual,
            "orthogonality_error": skew,
            "trace": total,
            "discarded": max(1.0 - float(values.sum()) / total, 0.0),
            "ridge": self.rho,
            "storage": self.K.storage,
        }
        about = f"S_b w = λ (S_w + ρI) w for {len(values)} functions, {len(self.counts)} classes"
        certificate = Certificate("eigen residual", max(residual, skew), TOLERANCE, about, parts)
        status = Status.OPTIMAL if certificate.ok else Status.ILL_CONDITIONED
        stats = {"total": total, "means": means}
        return Solution(A, status, certificate, stats=stats, state=values)
