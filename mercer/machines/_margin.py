"""What support vector machines share: the Gram matrix, limits, support vectors, the sum."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from mercer._array import parse_memory, take
from mercer._estimator import KernelEstimator
from mercer._limits import Limits
from mercer._sklearn import Interval
from mercer.gram import Gram, gram
from mercer.kernels import Precomputed
from mercer.kernels.base import INDEFINITE, UNKNOWN
from mercer.kernels.sample import Sample
from mercer.kernels.tiles import TILE, work_per_value
from mercer.result import Certificate, Solution, Status
from mercer.solvers import SINGLE_RANGE

EXACT_UP_TO = 2500  # points whose Gram matrix is held in float64
KEEP_FROM = 300  # operations for a kernel value; rows of costlier ones are kept
SINGLE_FROM = 10**7  # kernel values of a prediction that are worth float32


class MarginEstimator(KernelEstimator):
    """A sum over support vectors, f(x) = Σᵢ βᵢ k(x, xᵢ) + b, from a margin problem."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="left"), None],
    }

    tol: float
    max_iter: int
    time_limit: float | None
    memory: Any

    def _limits(self) -> Limits:
        return Limits.of(self.max_iter, self.time_limit, parse_memory(self.memory) // 2)

    def _gram(self, sample: Sample, groups: Any = None, dtype: Any = None) -> Gram:
        """Return the training matrix: exact if small or computed in Python, else float32 rows."""
        budget = parse_memory(self.memory) // 2
        if isinstance(self.kernel_, Precomputed):
            return gram(self.kernel_, sample, memory=budget)
        if len(sample) <= EXACT_UP_TO or not self.kernel_.releases_gil:
            return gram(self.kernel_, sample, memory=budget, dtype=np.float64)
        largest = float(self.kernel_.diagonal_of(sample, np.float64).max())
        dtype = dtype or (np.float32 if largest < SINGLE_RANGE else np.float64)
        # values that are cheap to compute are not worth the memory that keeps them
        tile = min(len(sample), TILE) ** 2 * np.dtype(dtype).itemsize
        keep = work_per_value(sample) > KEEP_FROM or tile > budget
        storage = "cached" if keep else "blocked"
        return gram(
            self.kernel_, sample, storage=storage, memory=budget, dtype=dtype, groups=groups
        )

    def _accept(self, solution: Solution) -> None:
        """Keep the proof; with an indefinite kernel a stationary point is all that is shown."""
        found = solution.certificate
        if self.kernel_.definiteness == UNKNOWN:
            note = "taken for granted: nothing is known of the kernel's definiteness"
            found = replace(found, parts={**found.parts, "convexity": note})
            solution = replace(solution, certificate=found)
        indefinite = self.kernel_.definiteness == INDEFINITE or found.squared_norm < 0
        if indefinite and solution.status.ok:
            parts = {"stationarity": found.value, **found.parts}
            about = f"{found.about} (not convex: {self.kernel_!r} is indefinite)"
            proof = Certificate("global optimum", np.nan, found.tolerance, about, parts)
            solution = replace(solution, certificate=proof, status=Status.INDEFINITE)
        super()._accept(solution)

    @property
    def _pairwise(self) -> bool:
        return any(isinstance(leaf, Precomputed) for leaf in self.kernel_.leaves())

    def _keep_support(self, sample: Sample, support: np.ndarray) -> None:
        """Store the support vectors; of a precomputed kernel only their numbers are needed."""
        self.support_ = support.astype(np.int32)
        self.shape_fit_ = (len(sample), *getattr(sample.data, "shape", (0,))[1:])
        self.support_vectors_ = sample.data[:0] if self._pairwise else take(sample.data, support)

    def _support_sample(self) -> Sample:
        if not self._pairwise:
            return Sample(self.support_vectors_)
        n = self.shape_fit_[0]
        whole = np.broadcast_to(np.float64(0.0), (n, n))  # no memory: only its shape is looked at
        return Sample(whole[: len(self.support_)], Sample(whole), self.support_)

    def _sums(self, X: Any, weights: np.ndarray) -> np.ndarray:
        """Return k(X, support vectors) @ weights, shape (m, t)."""
        return self._weighted(self._new_rows(X), self._support_sample(), weights)

    def _weighted(self, rows: Sample, support: Sample, weights: np.ndarray) -> np.ndarray:
        if not len(support):
            return np.zeros((len(rows), weights.shape[1]))
        # float32 is enough where its errors add up to far less than the margin
        error = 1e-7 * float(np.sqrt((weights**2).sum(axis=0)).max(initial=0.0))
        heavy = len(rows) * len(self.support_) >= SINGLE_FROM
        dtype = np.float32 if heavy and error < 1e-5 else np.float64
        K = gram(self.kernel_, rows, support, storage="blocked", dtype=dtype)
        return (K @ weights).astype(np.float64, copy=False)
