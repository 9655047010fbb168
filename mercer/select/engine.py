"""The engine: fills the table of scores, sharing Gram matrices wherever it can."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from joblib import Parallel, delayed
from sklearn.pipeline import Pipeline

from mercer._array import by_itself, n_threads, parse_memory
from mercer._sklearn import _fit_and_score
from mercer._words import duration
from mercer.meta import innermost
from mercer.select.job import Cell, Job, Result, ScoreTable, result_of, with_params, within
from mercer.select.paths import route_of
from mercer.select.pipeline import PipelineRun, why_plain_pipeline
from mercer.select.progress import Progress, close, in_threads
from mercer.select.shared import Kernels, SharedRun, why_plain

SHARED = "shared Gram matrix"
MEMORY_OF_ONE = 2**30  # bytes that a fit must have where several are made side by side


def evaluate(job: Job) -> ScoreTable:
    """Return the scores of all candidates on all folds, as far as time and the user allow."""
    route, cells = _choose(job)
    table = ScoreTable(job, route)
    if job.verbose:
        print(f"{len(job.candidates)} candidates on {len(job.folds)} folds: {route}")
    _fill(table, cells)
    return table


def _choose(job: Job) -> tuple[str, Iterator[Cell]]:
    """Return what is done, in words, and the generator that does it."""
    if isinstance(job.estimator, Pipeline):
        why = why_plain_pipeline(job)
        if not why:
            return f"{SHARED} of each fold", PipelineRun(job).cells()
    else:
        kernels = Kernels(job) if route_of(job.estimator) is not None else None
        why = why_plain(job, kernels)
        if not why and kernels is not None:
            kernels.check()
            return SHARED, SharedRun(job, kernels).cells()
    return f"ordinary cross-validation: {why}", _plain_cells(job)


def _fill(table: ScoreTable, cells: Iterator[Cell]) -> None:
    job = table.job
    try:
        how = (job.metric, job.progress, job.limits)
        with closing(Progress(len(job), len(job.folds), *how)) as progress:
            for candidate, fold, result in cells:
                table.results[candidate, fold] = result
                progress.update(candidate, result)
                if job.verbose > 1:
                    print(_told(job, candidate, fold, result))
                if job.after_each():
                    table.status = "interrupted"
                    return
    except KeyboardInterrupt:
        table.status = "interrupted"
        return
    finally:
        close(cells)
    if len(table.results) < len(job):
        table.status = "time_limit"


def _told(job: Job, candidate: int, fold: int, result: Result) -> str:
    """Return what was evaluated, in scikit-learn's words; with ``verbose`` above 2 its scores."""
    params = ", ".join(f"{name}={value!r}" for name, value in job.candidates[candidate].items())
    text = f"[CV {fold + 1}/{len(job.folds)}] END {params or 'as given'};"
    if job.verbose > 2:
        text += _scores_text(job, result)
    return f"{text} total time={duration(result['fit_time'] + result['score_time'])}"


def _scores_text(job: Job, result: Result) -> str:
    test, train = result["test_scores"], result["train_scores"]
    if not isinstance(test, dict):
        return (
            f", score=(train={train:.3f}, test={test:.3f})"
            if job.train_scores
            else (f", score={test:.3f}")
        )
    sides = {name: f"train={train[name]:.3f}, " if job.train_scores else "" for name in test}
    return "".join(f" {name}: ({sides[name]}test={test[name]:.3f})" for name in test)


def _plain_cells(job: Job) -> Iterator[Cell]:
    """Cross-validate in the ordinary way: scikit-learn fits each candidate to each fold's rows."""
    cells = list(job.cells())
    workers = _side_by_side(job)
    if workers > 1:
        yield from _cells_of_threads(job, cells, workers)
        return
    # before the first fit: workers are sent what these change
    heard = [job.hand_over() for _ in cells]
    parallel = Parallel(n_jobs=job.n_jobs, return_as="generator", pre_dispatch="n_jobs")
    tasks = zip(cells, heard, strict=True)
    results = parallel(
        _task(job, *cell, to, job.memory) for cell, to in tasks if not job.limits.stopped()
    )
    # the cells that were started are the first ones: expiry does not end
    for (candidate, fold), result in zip(cells, results, strict=False):
        yield candidate, fold, {**result_of(0, None, None), **result}


def _side_by_side(job: Job) -> int:
    """Return how many fits are made at once, each in one thread: those that fill no more than one.

    Each has its part of the memory, if that is plenty; who says ``n_jobs`` decides.
    """
    alone = job.n_jobs is not None or not getattr(innermost(job.estimator), "fits_alone", False)
    enough = parse_memory(job.memory) >= n_threads() * MEMORY_OF_ONE
    return n_threads() if enough and not alone else 1


def _cells_of_threads(job: Job, cells: list[tuple[int, int]], workers: int) -> Iterator[Cell]:
    """Do the same in threads that take the next cell as soon as they are done with one."""
    memory, left = parse_memory(job.memory) // workers, deque((*c, job.hand_over()) for c in cells)

    def work(_: int) -> Iterator[Cell]:
        with by_itself():
            while not job.limits.stopped():
                try:
                    candidate, fold, heard = left.popleft()
                except IndexError:
                    return
                fit, given, named = _task(job, candidate, fold, heard, memory)
                yield candidate, fold, {**result_of(0, None, None), **fit(*given, **named)}

    yield from in_threads(work, list(range(workers)), left.clear)


def _task(job: Job, candidate: int, fold: int, heard: dict[str, Any], memory: Any) -> Any:
    return delayed(_fit_and_score)(
        within(memory, with_params(job.estimator, job.candidates[candidate])),
        job.X,
        job.y,
        scorer=job.scorer,
        train=job.folds[fold].train,
        test=job.folds[fold].test,
        verbose=0,  # every evaluation is told in the same words, whatever the route
        parameters=None,
        fit_params=job.fit_params,
        score_params=job.score_params,
        return_train_score=job.train_scores,
        return_n_test_samples=True,
        return_times=True,
        return_estimator=job.true_models,
        error_score=job.error_score,
        **heard,
    )
