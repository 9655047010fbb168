"""Pipelines that end in a kernel machine: earlier steps once for each fold, then a shared Gram."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from mercer._estimator import is_precomputed
from mercer._sklearn import _check_method_params, _safe_indexing
from mercer.kernels import Kernel, as_kernel
from mercer.select.job import Cell, Fold, Job, with_params
from mercer.select.paths import route_of
from mercer.select.progress import in_turns
from mercer.select.routes import Candidate, failures
from mercer.select.scoring import Scoring, sees_only_answers
from mercer.select.shared import (
    Kernels,
    SharedRun,
    memory_of,
    why_landmarks,
    why_plain,
    why_route,
    why_too_large,
)

Params = dict[str, Any]


def why_plain_pipeline(job: Job) -> str:
    """Return why the fits of a pipeline cannot share Gram matrices; empty if they can."""
    name, last = job.estimator.steps[-1]
    if route_of(last) is None:
        return f"{type(last).__name__} is not an estimator that a Gram matrix determines"
    if job.true_models:
        return "the fitted models are asked for"
    if not sees_only_answers(job.scorer, last):
        return "the scorer is a function that may look at the steps of the pipeline"
    if any(key in (name, "steps") for params in job.candidates for key in params):
        return "the last step of the pipeline is itself a parameter"
    if any(not key.startswith(f"{name}__") for key in job.fit_params):
        return "fit parameters go to other steps than the last"
    kernels = [last._given_kernel(), *_kernels_of(job, name)]
    if any(kernel.domain != "vectors" or is_precomputed(kernel) for kernel in kernels):
        return "the last step has a kernel that does not read vectors"
    prefix = f"{name}__"
    return why_route(job, last, prefix) or why_landmarks(job, last, prefix) or why_too_large(job)


def _kernels_of(job: Job, name: str) -> Iterator[Kernel]:
    """Yield the kernels that candidates give to the last step."""
    for params in job.candidates:
        if f"{name}__kernel" in params:
            try:
                yield as_kernel(params[f"{name}__kernel"])
            except (TypeError, ValueError):  # no kernel: the fit will fail, and that is recorded
                continue


class PipelineRun:
    """All cells of a job whose estimator is a pipeline."""

    def __init__(self, job: Job):
        self.job, self.prefix = job, f"{job.estimator.steps[-1][0]}__"
        self.scoring = Scoring(job)
        self.fits_together = memory_of(job, len(job.folds)) <= job.shared_memory

    def cells(self) -> Iterator[Cell]:
        """Yield (candidate, fold, result) of every fit until the time is over."""
        for params, candidates in self._by_earlier_steps():
            folds = [self._fold_cells(params, candidates, fold) for fold in self.job.folds]
            if self.fits_together:  # candidate by candidate, so that an early end leaves some
                yield from in_turns(folds)
            else:
                for cells in folds:
                    yield from cells

    def _by_earlier_steps(self) -> list[tuple[Params, list[Candidate]]]:
        """Return the settings of the earlier steps, each with what is tried of the last step."""
        found: list[tuple[Params, list[Candidate]]] = []
        for number, params in enumerate(self.job.candidates):
            mine = {k: v for k, v in params.items() if not k.startswith(self.prefix)}
            rest = {k.removeprefix(self.prefix): v for k, v in params.items() if k not in mine}
            same = next((candidates for other, candidates in found if _same(other, mine)), None)
            if same is None:
                found.append((mine, [Candidate(number, rest)]))
            else:
                same.append(Candidate(number, rest))
        return found

    def _fold_cells(
        self, params: Params, candidates: list[Candidate], fold: Fold
    ) -> Iterator[Cell]:
        if self.job.limits.stopped():
            return
        start = time.perf_counter()
        try:
            job = self._last_step(params, candidates, fold)
            kernels = Kernels(job)
            why = why_plain(job, kernels)
            if why:
                raise ValueError(why)
        except Exception as error:
            for outcome in failures(candidates, [fold], error):
                yield outcome.candidate, fold.number, self.scoring.result(outcome)
            return
        share = (time.perf_counter() - start) / len(candidates)
        for place, _, result in SharedRun(job, kernels).cells():
            result["fit_time"] += share
            yield candidates[place].number, fold.number, result

    def _last_step(self, params: Params, candidates: list[Candidate], fold: Fold) -> Job:
        """Return the job of the last step on the transformed rows of a fold."""
        job, order = self.job, np.concatenate([fold.train, fold.test])
        n_train = len(fold.train)
        fit_params = {k.removeprefix(self.prefix): v for k, v in job.fit_params.items()}
        pipeline = with_params(job.estimator, params)
        return replace(
            job,
            estimator=pipeline.steps[-1][1],
            X=self._transformed(pipeline, fold),
            y=None if job.y is None else _safe_indexing(job.y, order),
            candidates=[candidate.params for candidate in candidates],
            folds=[Fold(0, np.arange(n_train), np.arange(n_train, len(order)))],
            fit_params=_check_method_params(job.X, params=fit_params, indices=order),
            score_params=_check_method_params(job.X, params=job.score_params, indices=order),
        )

    def _transformed(self, pipeline: Any, fold: Fold) -> Any:
        """Return the training rows as the last step is fitted to them, then the held-out rows."""
        job = self.job
        train, test = (_safe_indexing(job.X, part) for part in (fold.train, fold.test))
        if len(pipeline.steps) > 1:
            before = clone(pipeline[:-1])
            y = None if job.y is None else _safe_indexing(job.y, fold.train)
            train, test = before.fit_transform(train, y), before.transform(test)
        kernel = pipeline.steps[-1][1]._given_kernel()
        parts = [kernel.sample(rows).data for rows in (train, test)]
        if any(sp.issparse(part) for part in parts):
            return sp.csr_array(sp.vstack(parts))
        return np.vstack(parts)


def _same(a: Params, b: Params) -> bool:
    """Whether two settings are the same objects or equal plain values."""
    return a.keys() == b.keys() and all(
        a[k] is b[k] or (isinstance(a[k], (int, float, str)) and a[k] == b[k]) for k in a
    )
