"""All fits of a job from shared Gram matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._array import allocate, n_threads, parse_memory
from mercer._sklearn import _num_samples
from mercer.kernels import Kernel
from mercer.kernels.sample import Sample
from mercer.kernels.shared import SharedStatistics
from mercer.select.job import Cell, Job
from mercer.select.plan import COPIES, Bound, Failed, Kernels
from mercer.select.registry import route_of
from mercer.select.routes import Group, Outcome, Route
from mercer.select.scoring import Scoring
from mercer.select.turns import in_threads, in_turns
from mercer.solvers import SINGLE_RANGE


class SharedRun:
    """All cells of a job from Gram matrices that are computed once for each bound kernel."""

    def __init__(self, job: Job, kernels: Kernels):
        self.job, self.kernels = job, kernels
        self.route: Route = route_of(job.estimator)  # type: ignore[assignment]
        self.scoring = Scoring(job)
        self.y = None if job.y is None else np.asarray(job.y)
        self.budget = parse_memory(job.memory)
        self.workers = _count_workers(job.n_jobs, self.route)
        self._statistics: dict[tuple[int, np.dtype], SharedStatistics] = {}
        self._buffers: dict[tuple[int, np.dtype], np.ndarray] = {}

    def cells(self) -> Iterator[Cell]:
        """Yield (candidate, fold, result) of every fit until the time is over."""
        for parts in self.kernels.bound:
            for failed in (part for part in parts if isinstance(part, Failed)):
                yield from self._failures(failed)
            bound = [part for part in parts if isinstance(part, Bound)]
            for together in self._batches(bound):
                if self.job.expired:
                    return
                yield from self._run(together)

    def _batches(self, bound: list[Bound]) -> list[list[Bound]]:
        """Take the folds of a setting together if there is memory for all their Gram matrices.

        Candidate by candidate, an early end leaves candidates that are known on all folds.
        """
        needed = (COPIES * len(bound) + 2) * 8 * _num_samples(self.job.X) ** 2
        worth_it = bound and len(bound[0].setting.candidates) > 1
        return [bound] if worth_it and needed <= self.budget else [[part] for part in bound]

    def _failures(self, failed: Failed) -> Iterator[Cell]:
        for candidate in failed.candidates:
            for fold in failed.folds:
                outcome = Outcome(candidate.number, fold.number, None, 0.0, failed.error)
                yield candidate.number, fold.number, self.scoring.result(outcome)

    def _run(self, bound: list[Bound]) -> Iterator[Cell]:
        groups = []
        for place, part in enumerate(bound):
            try:
                groups.append(self._group(part, place))
            except Exception as error:  # a kernel of the user may fail on some rows
                yield from self._failures(Failed(part.setting.candidates, part.folds, error))
        if self.workers > 1:
            yield from in_threads(self._outcomes, _parts(groups, self.workers))
        else:
            yield from self._outcomes(groups)

    def _outcomes(self, groups: list[Group]) -> Iterator[Cell]:
        """Yield the outcomes of several groups in turns."""
        for outcome in in_turns([self.route.run(group) for group in groups]):
            if self.job.expired:  # a route may be ahead of what is scored
                return
            yield outcome.candidate, outcome.fold, self.scoring.result(outcome)

    def _group(self, bound: Bound, place: int) -> Group:
        sample = self.kernels.sample(bound.kernel)
        return Group(
            bound.setting.estimator,
            bound.kernel,
            self._gram(bound.kernel, sample, place),
            sample,
            self.y,
            bound.folds,
            bound.setting.candidates,
            [self.kernels.fit_params(fold) for fold in bound.folds],
            self.job.deadline,
            self.job.train_scores,
        )

    def _gram(self, kernel: Kernel, sample: Sample, place: int) -> np.ndarray:
        """Return the Gram matrix of all rows, in memory that an earlier one has used."""
        n = len(sample)
        dtype = _precision(self.route.dtype(n), kernel, sample)
        if (place, dtype) not in self._buffers:
            self._buffers[place, dtype] = allocate((n, n), dtype, self.budget)
        K = self._buffers[place, dtype]
        K.flags.writeable = True
        self._shared(sample, dtype).gram(kernel, K)
        K.flags.writeable = False
        return K

    def _shared(self, sample: Sample, dtype: np.dtype) -> SharedStatistics:
        key = id(sample), dtype
        if key not in self._statistics:
            names = self.kernels.shared_statistics()
            needed = (COPIES + len(names)) * len(sample) ** 2 * dtype.itemsize
            fits = needed <= self.budget
            self._statistics[key] = SharedStatistics(sample, dtype, names if fits else ())
        return self._statistics[key]


def _precision(wanted: Any, kernel: Kernel, sample: Sample) -> np.dtype:
    """Return the precision that a route wants, or float64 where values would leave float32."""
    dtype = np.dtype(wanted)
    if dtype == np.float64 or np.max(kernel.diagonal_of(sample, np.float64)) < SINGLE_RANGE:
        return dtype
    return np.dtype(np.float64)


def _count_workers(n_jobs: int | None, route: Any) -> int:
    if n_jobs is None or not getattr(route, "independent", False):
        return 1
    return n_jobs if n_jobs > 0 else max(1, n_threads() + 1 + n_jobs)


def _parts(groups: list[Group], count: int) -> list[list[Group]]:
    """Cut groups into parts with some of the candidates each, or of the folds if these are more."""
    if not groups:
        return []
    if len(groups[0].candidates) >= count:
        return [
            [group._replace(candidates=group.candidates[i::count]) for group in groups]
            for i in range(count)
        ]
    single = [
        group._replace(folds=[fold], fit_params=[params])
        for group in groups
        for fold, params in zip(group.folds, group.fit_params, strict=True)
    ]
    return [single[i::count] for i in range(count) if single[i::count]]
