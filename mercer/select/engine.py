"""The engine: fills the table of scores, sharing Gram matrices wherever it can."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from sklearn.pipeline import Pipeline

from mercer.select.job import Cell, Job, Table
from mercer.select.pipeline_run import PipelineRun, why_plain_pipeline
from mercer.select.plain_route import PlainRoute
from mercer.select.plan import Kernels, why_plain
from mercer.select.progress import Progress
from mercer.select.registry import route_of
from mercer.select.shared_run import SharedRun
from mercer.select.turns import close

SHARED = "shared Gram matrix"


def evaluate(job: Job) -> Table:
    """Return the scores of all candidates on all folds, as far as time and the user allow."""
    route, cells = _choose(job)
    table = Table(job, route)
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
    return f"ordinary cross-validation: {why}", PlainRoute().run(job)


def _fill(table: Table, cells: Iterator[Cell]) -> None:
    job = table.job
    try:
        with closing(Progress(len(job), len(job.folds), job.metric, job.progress)) as progress:
            for candidate, fold, result in cells:
                table.results[candidate, fold] = result
                progress.update(candidate, result)
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
