"""Which fits share a Gram matrix: candidates by kernel, folds by what the kernel is bound to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import assert_all_finite, get_tags

from mercer._array import format_bytes, parse_memory, take
from mercer._estimator import check_weights
from mercer._sklearn import _check_method_params, _num_samples
from mercer.kernels import Constant, Kernel, Precomputed
from mercer.kernels.sample import STATISTICS, Sample
from mercer.select.job import Job
from mercer.select.params import is_kernel_parameter, with_params
from mercer.select.registry import route_of
from mercer.select.routes import Candidate, Fold

COPIES = 3  # the Gram matrix, the part of it that a fit takes, and the factor of that


class Setting(NamedTuple):
    """One kernel as the user gave it, and the candidates that use it."""

    estimator: Any
    kernel: Kernel
    candidates: list[Candidate]


class Bound(NamedTuple):
    """A setting on the folds where its kernel is bound to the same values."""

    setting: Setting
    kernel: Kernel
    folds: list[Fold]


class Failed(NamedTuple):
    """Candidates whose kernel could not be made, on the folds where it could not be."""

    candidates: list[Candidate]
    folds: list[Fold]
    error: Exception


class Kernels:
    """The kernels of all candidates, each bound to the training rows of each fold."""

    def __init__(self, job: Job):
        self.job = job
        self.settings, self.failed = _settings(job)
        self._samples: dict[str, Sample] = {}
        self._parts: dict[tuple[str, int], Sample] = {}

    def sample(self, kernel: Kernel) -> Sample:
        """Return all rows, checked once for kernels on vectors and once for those on objects."""
        if kernel.domain not in self._samples:
            self._samples[kernel.domain] = kernel.sample(self.job.X)
        return self._samples[kernel.domain]

    def check(self) -> None:
        """Raise if the rows or the targets as a whole cannot be used."""
        for setting in self.settings:
            sample = self.sample(setting.kernel)
            setting.kernel.check_pair(sample, sample)
        if self.job.y is not None:
            assert_all_finite(np.asarray(self.job.y), input_name="y")

    def _bound(self, setting: Setting) -> Iterator[Bound | Failed]:
        """Yield the kernel of a setting with the folds on which it is the same."""
        found: list[tuple[Kernel, list[Fold]]] = []
        concrete: Kernel | None = None
        for fold in self.job.folds:
            try:
                kernel = concrete or self._bind(setting.kernel, fold)
            except Exception as error:
                yield Failed(setting.candidates, [fold], error)
                continue
            if kernel == setting.kernel:  # nothing in it depends on data
                concrete = kernel
            folds = next((folds for other, folds in found if other == kernel), None)
            if folds is None:
                found.append((kernel, [fold]))
            else:
                folds.append(fold)
        for kernel, folds in found:
            yield Bound(setting, kernel, folds)

    def _bind(self, kernel: Kernel, fold: Fold) -> Kernel:
        part = self._part(kernel, fold)
        weight = self.fit_params(fold).get("sample_weight")
        bound = kernel.bind(part, check_weights(weight, len(part)))
        bound.check_pair(part, part)
        return bound

    def _part(self, kernel: Kernel, fold: Fold) -> Sample:
        key = kernel.domain, fold.number
        if key not in self._parts:
            rows = take(self.sample(kernel).data, fold.train)
            self._parts[key] = Sample(rows[:, fold.train] if is_pairwise(kernel) else rows)
        return self._parts[key]

    def fit_params(self, fold: Fold) -> dict[str, Any]:
        """Return what a fit on a fold takes besides rows and targets."""
        return _check_method_params(self.job.X, params=self.job.fit_params, indices=fold.train)

    @cached_property
    def bound(self) -> list[list[Bound | Failed]]:
        """All kernels, bound: a list for each setting, with an entry for each set of values."""
        return [[*self.failed], *([*self._bound(setting)] for setting in self.settings)]

    def shared_statistics(self) -> set[str]:
        """Return the statistics that more than one Gram matrix is made of."""
        uses: Counter[str] = Counter()
        for part in chain.from_iterable(self.bound):
            if isinstance(part, Bound):
                uses.update(set(part.kernel._uses()))
        return {name for name in STATISTICS if uses[name] > 1}


def _settings(job: Job) -> tuple[list[Setting], list[Failed]]:
    """Group the candidates by kernel."""
    settings: dict[str, list[Setting]] = {}
    failed = []
    for number, params in enumerate(job.candidates):
        mine = {name: value for name, value in params.items() if is_kernel_parameter(name)}
        rest = {name: value for name, value in params.items() if name not in mine}
        candidate = Candidate(number, rest)
        try:
            estimator = with_params(job.estimator, mine) if mine else job.estimator
            kernel = estimator._given_kernel()
        except Exception as error:
            failed.append(Failed([candidate], list(job.folds), error))
            continue
        # kernels hash by their shape alone; texts tell most of them apart
        bucket = settings.setdefault(repr(kernel), [])
        same = next((s for s in bucket if s.kernel == kernel), None)
        if same is None:
            bucket.append(Setting(clone(estimator), kernel, [candidate]))
        else:
            same.candidates.append(candidate)
    return [setting for bucket in settings.values() for setting in bucket], failed


def is_pairwise(kernel: Kernel) -> bool:
    """Whether the rows of a kernel are those of a given matrix."""
    return any(isinstance(leaf, Precomputed) for leaf in kernel.leaves())


def why_plain(job: Job, kernels: Kernels | None) -> str:
    """Return why fits cannot share Gram matrices; empty if they can."""
    name = type(job.estimator).__name__
    if job.true_models:
        return "the fitted models are asked for"
    if route_of(job.estimator) is None or kernels is None:
        return f"{name} is not an estimator that a Gram matrix determines"
    if not kernels.settings:
        return "no candidate has a kernel"
    y = None if job.y is None else np.asarray(job.y)
    if y is not None and y.ndim > 1 and not get_tags(job.estimator).target_tags.multi_output:
        return f"{name} takes one target, y has shape {y.shape}"
    for setting in kernels.settings:
        leaves = setting.kernel.leaves()
        if is_pairwise(setting.kernel) and not all(
            isinstance(leaf, (Precomputed, Constant)) for leaf in leaves
        ):
            return "a precomputed matrix is mixed with kernels that read rows"
    return why_too_large(job, job.estimator)


def why_too_large(job: Job, estimator: Any) -> str:
    """Return why the Gram matrix of all rows does not fit; empty if it does."""
    n = _num_samples(job.X)
    route = route_of(estimator)
    needed = COPIES * n * n * np.dtype(route.dtype(n)).itemsize  # type: ignore[union-attr]
    budget = parse_memory(job.memory)
    if needed <= budget:
        return ""
    return (
        f"a shared Gram matrix of {n} rows needs {format_bytes(needed)}, memory allows "
        f"{format_bytes(budget)}"
    )


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
