"""All fits of a job from shared Gram matrices: candidates by kernel, folds by its bound values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import assert_all_finite, get_tags

from mercer._array import allocate, format_bytes, n_threads, take
from mercer._estimator import check_weights, is_precomputed
from mercer._sklearn import _check_method_params, _num_samples
from mercer.kernels import Constant, Kernel, Precomputed
from mercer.kernels.columns import without_idle_fills
from mercer.kernels.sample import Sample
from mercer.kernels.shared import SharedStatistics, statistics_of
from mercer.select.job import Cell, Fold, Job, is_kernel_parameter, with_params
from mercer.select.paths import route_of
from mercer.select.progress import in_threads, in_turns
from mercer.select.routes import Candidate, Group, Outcome, Route, failures
from mercer.select.scoring import Scoring

COPIES = 3  # the Gram matrix, the part of it that a fit takes, and the factor of that


class OneKernel(NamedTuple):
    """A kernel, as the user gave it or bound, the folds where it is this one, the candidates."""

    estimator: Any
    kernel: Kernel
    folds: list[Fold]
    candidates: list[Candidate]


class Kernels:
    """The kernels of all candidates, each bound to the training rows of each fold."""

    def __init__(self, job: Job):
        self.job = job
        self.given, self.failed = _by_kernel(job)
        self._samples: dict[str, Sample] = {}
        self._parts: dict[tuple[str, int], Sample] = {}

    def sample(self, kernel: Kernel) -> Sample:
        """Return all rows, checked once for kernels on vectors and once for those on objects."""
        if kernel.domain not in self._samples:
            self._samples[kernel.domain] = kernel.sample(self.job.X)
        return self._samples[kernel.domain]

    def check(self) -> None:
        """Raise if the rows or the targets as a whole cannot be used."""
        for given in self.given:
            sample = self.sample(given.kernel)
            given.kernel.check_training(sample)
        if self.job.y is not None:
            assert_all_finite(np.asarray(self.job.y), input_name="y")

    @cached_property
    def bound(self) -> list[list[OneKernel]]:
        """All kernels, bound: a list for each given one, an entry for each set of values."""
        return [self._bound(given) for given in self.given]

    def _bound(self, given: OneKernel) -> list[OneKernel]:
        found: list[OneKernel] = []
        concrete: Kernel | None = None
        for fold in given.folds:
            try:
                kernel = concrete or self._bind(given.kernel, fold)
            except Exception as error:
                self.failed += failures(given.candidates, [fold], error)
                continue
            if kernel == given.kernel:  # nothing in it depends on data
                concrete = kernel
            same = next((part for part in found if part.kernel == kernel), None)
            if same is None:
                found.append(given._replace(kernel=kernel, folds=[fold]))
            else:
                same.folds.append(fold)
        return found

    def _bind(self, kernel: Kernel, fold: Fold) -> Kernel:
        part = self._part(kernel, fold)
        weight = self.fit_params(fold).get("sample_weight")
        bound = kernel.bind(part, check_weights(weight, len(part)))
        bound.check_pair(part, part)
        return without_idle_fills(bound, self.sample(kernel))

    def _part(self, kernel: Kernel, fold: Fold) -> Sample:
        key = kernel.domain, fold.number
        if key not in self._parts:
            rows = take(self.sample(kernel).data, fold.train)
            self._parts[key] = Sample(rows[:, fold.train] if is_precomputed(kernel) else rows)
        return self._parts[key]

    def fit_params(self, fold: Fold) -> dict[str, Any]:
        """Return what a fit on a fold takes besides rows and targets."""
        return _check_method_params(self.job.X, params=self.job.fit_params, indices=fold.train)

    def shared_statistics(self) -> set[Any]:
        """Return the statistics that more than one Gram matrix is made of."""
        uses: Counter[Any] = Counter()
        for parts in self.bound:
            for part in parts:
                uses.update(statistics_of(part.kernel))
        return {statistic for statistic, count in uses.items() if count > 1}


def _by_kernel(job: Job) -> tuple[list[OneKernel], list[Outcome]]:
    """Return the candidates by kernel, and the failures of those whose kernel cannot be made."""
    found: dict[str, list[OneKernel]] = {}
    seen: dict[Any, OneKernel] = {}  # by the values that a grid repeats, for each λ or C
    failed: list[Outcome] = []
    for number, params in enumerate(job.candidates):
        mine = {name: value for name, value in params.items() if is_kernel_parameter(name)}
        rest = {name: value for name, value in params.items() if name not in mine}
        candidate = Candidate(number, rest)
        values = tuple((name, type(value), value) for name, value in mine.items())
        plain = all(isinstance(value, Real | str) for value in mine.values())
        if plain and values in seen:
            seen[values].candidates.append(candidate)
            continue
        try:
            estimator = with_params(job.estimator, mine) if mine else job.estimator
            kernel = estimator._given_kernel()
        except Exception as error:
            failed += failures([candidate], job.folds, error)
            continue
        # kernels hash by their shape alone; texts tell most of them apart
        bucket = found.setdefault(repr(kernel), [])
        same = next((given for given in bucket if given.kernel == kernel), None)
        if same is None:
            same = OneKernel(clone(estimator), kernel, list(job.folds), [])
            bucket.append(same)
        same.candidates.append(candidate)
        if plain:
            seen[values] = same
    return [given for bucket in found.values() for given in bucket], failed


class SharedRun:
    """All cells of a job from Gram matrices that are computed once for each bound kernel."""

    def __init__(self, job: Job, kernels: Kernels):
        self.job, self.kernels = job, kernels
        self.route: Route = route_of(job.estimator)  # type: ignore[assignment]
        self.scoring = Scoring(job)
        self.y = None if job.y is None else np.asarray(job.y)
        self.budget = job.shared_memory
        self.workers = _count_workers(job.n_jobs) if self.route.independent else 1
        self._statistics: dict[int, SharedStatistics] = {}
        self._buffers: dict[int, np.ndarray] = {}

    def cells(self) -> Iterator[Cell]:
        """Yield (candidate, fold, result) of every fit until the time is over."""
        bound = self.kernels.bound
        yield from self._scored(self.kernels.failed)
        for parts in bound:
            for together in self._batches(parts):
                if self.job.limits.stopped():
                    return
                yield from self._run(together)

    def _batches(self, parts: list[OneKernel]) -> list[list[OneKernel]]:
        """Take the folds of a kernel together if there is memory for all their Gram matrices.

        Candidate by candidate, an early end leaves candidates that are known on all folds.
        """
        worth_it = parts and len(parts[0].candidates) > 1
        together = worth_it and memory_of(self.job, len(parts)) <= self.budget
        return [parts] if together else [[part] for part in parts]

    def _run(self, parts: list[OneKernel]) -> Iterator[Cell]:
        groups = []
        for place, part in enumerate(parts):
            try:
                groups.append(self._group(part, place))
            except Exception as error:  # a kernel of the user may fail on some rows
                yield from self._scored(failures(part.candidates, part.folds, error))
        if self.workers > 1:
            yield from in_threads(self._outcomes, _shares(groups, self.workers))
        else:
            yield from self._outcomes(groups)

    def _outcomes(self, groups: list[Group]) -> Iterator[Cell]:
        """Yield the outcomes of several groups in turns."""
        for outcome in in_turns([self.route.run(group) for group in groups]):
            if self.job.limits.stopped():  # a route may be ahead of what is scored
                return
            yield from self._scored([outcome])

    def _scored(self, outcomes: list[Outcome]) -> Iterator[Cell]:
        for outcome in outcomes:
            yield outcome.candidate, outcome.fold, self.scoring.result(outcome)

    def _group(self, part: OneKernel, place: int) -> Group:
        sample = self.kernels.sample(part.kernel)
        return Group(
            part.estimator,
            part.kernel,
            self._gram(part.kernel, sample, place),
            sample,
            self.y,
            part.folds,
            part.candidates,
            [self.kernels.fit_params(fold) for fold in part.folds],
            self.job.limits,
            self.job.train_scores,
        )

    def _gram(self, kernel: Kernel, sample: Sample, place: int) -> np.ndarray:
        """Return the Gram matrix of all rows, in memory that an earlier one has used."""
        if place not in self._buffers:
            self._buffers[place] = allocate((len(sample),) * 2, np.float64, self.budget)
        K = self._buffers[place]
        K.flags.writeable = True
        self._shared(sample).gram(kernel, K)
        K.flags.writeable = False
        return K

    def _shared(self, sample: Sample) -> SharedStatistics:
        if id(sample) not in self._statistics:
            names = self.kernels.shared_statistics()
            fits = (COPIES + len(names)) * 8 * len(sample) ** 2 <= self.budget
            shared = SharedStatistics(sample, np.float64, names if fits else ())
            self._statistics[id(sample)] = shared
        return self._statistics[id(sample)]


def _count_workers(n_jobs: int | None) -> int:
    if n_jobs is None:
        return 1
    return n_jobs if n_jobs > 0 else max(1, n_threads() + 1 + n_jobs)


def _shares(groups: list[Group], count: int) -> list[list[Group]]:
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


# ---------------------------------------------------------------- whether they can be shared
def why_plain(job: Job, kernels: Kernels | None) -> str:
    """Return why fits cannot share Gram matrices; empty if they can."""
    name = type(job.estimator).__name__
    if job.true_models:
        return "the fitted models are asked for"
    if route_of(job.estimator) is None or kernels is None:
        return f"{name} is not an estimator that a Gram matrix determines"
    if not kernels.given:
        return "no candidate has a kernel"
    y = None if job.y is None else np.asarray(job.y)
    if y is not None and y.ndim > 1 and not get_tags(job.estimator).target_tags.multi_output:
        return f"{name} takes one target, y has shape {y.shape}"
    for given in kernels.given:
        leaves = given.kernel.leaves()
        if is_precomputed(given.kernel) and not all(
            isinstance(leaf, (Precomputed, Constant)) for leaf in leaves
        ):
            return "a precomputed matrix is mixed with kernels that read rows"
    return why_route(job, job.estimator) or why_landmarks(job, job.estimator) or why_too_large(job)


def why_route(job: Job, estimator: Any, prefix: str = "") -> str:
    """Return whether fits go another way than by the matrix of all rows."""
    routes = {params.get(f"{prefix}route") for params in job.candidates}
    routes.add(getattr(estimator, "route", None))
    other = sorted(map(str, routes - {None, "auto", "exact"}))
    return f"route={other[0]!r} is not that of a Gram matrix" if other else ""


def why_landmarks(job: Job, estimator: Any, prefix: str = "") -> str:
    """Return whether landmarks stand for the rows of a fit, so that it is not that of a matrix."""
    given = [params.get(f"{prefix}landmarks", 0) for params in job.candidates]
    given.append(getattr(estimator, "landmarks", None))
    most = max((len(fold.train) for fold in job.folds), default=0)
    if any(np.ndim(m) > 0 or (m is not None and 0 < m < most) for m in given):
        return "landmarks stand for the rows"
    return ""


def why_too_large(job: Job) -> str:
    """Return why the Gram matrix of all rows does not fit; empty if it does."""
    n = _num_samples(job.X)
    needed, budget = COPIES * 8 * n * n, job.shared_memory
    if needed <= budget:
        return ""
    return (
        f"a shared Gram matrix of {n} rows needs {format_bytes(needed)}, memory allows "
        f"{format_bytes(budget)}"
    )


def memory_of(job: Job, n_grams: int) -> int:
    """Return the bytes that so many Gram matrices of all rows take side by side."""
    return (COPIES * n_grams + 2) * 8 * _num_samples(job.X) ** 2


def check_folds(job: Job) -> None:
    """Raise if a kernel machine would be trained on one class of several."""
    if job.y is None or route_of(job.estimator) is None or not is_classifier(job.estimator):
        return
    y = np.asarray(job.y)
    if y.ndim > 1 or len(np.unique(y)) < 2:
        return  # each fit says what it thinks of it
    for fold in job.folds:
        classes = np.unique(y[fold.train])
        if len(classes) < 2:
            raise ValueError(
                f"fold {fold.number} trains on one class only, {classes.tolist()}: use "
                f"StratifiedKFold, fewer folds, or shuffle the rows"
            )
