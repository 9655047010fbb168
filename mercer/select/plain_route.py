"""Ordinary cross-validation, for every estimator: each candidate is fitted to each fold's rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from joblib import Parallel, delayed

from mercer._sklearn import _fit_and_score
from mercer.select.job import Cell, Job, result_of
from mercer.select.params import with_params


class PlainRoute:
    """Fit and score by scikit-learn's own function."""

    def run(self, job: Job) -> Iterator[Cell]:
        """Yield (candidate, fold, result) until the time is over."""
        cells = list(job.cells())
        parallel = Parallel(n_jobs=job.n_jobs, return_as="generator", pre_dispatch="n_jobs")
        results = parallel(_task(job, *cell) for cell in cells if not job.expired)
        # the cells that were started are the first ones: expiry does not end
        for (candidate, fold), result in zip(cells, results, strict=False):
            yield candidate, fold, {**result_of(0, None, None), **result}


def _task(job: Job, candidate: int, fold: int) -> Any:
    return delayed(_fit_and_score)(
        with_params(job.estimator, job.candidates[candidate]),
        job.X,
        job.y,
        scorer=job.scorer,
        train=job.folds[fold].train,
        test=job.folds[fold].test,
        verbose=max(0, job.verbose - 1),
        parameters=None,
        fit_params=job.fit_params,
        score_params=job.score_params,
        return_train_score=job.train_scores,
        return_n_test_samples=True,
        return_times=True,
        return_estimator=job.true_models,
        error_score=job.error_score,
    )
