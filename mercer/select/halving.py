"""Successive halving: many candidates on few rows, the better ones on more."""

from __future__ import annotations

from dataclasses import replace
from math import log
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import resample

from mercer._sklearn import _check_method_params, _num_samples, _safe_indexing, _safe_split
from mercer.select.engine import evaluate
from mercer.select.job import Job, Table
from mercer.select.params import first_candidate
from mercer.select.routes import Fold

FACTOR = 3  # of rows from round to round; one candidate in three goes on
SMALLEST = 20  # rows for each fold, at least


def halving(job: Job) -> list[Table]:
    """Return the tables of all rounds; the last is on all rows.

    The folds of a round are those of the whole, cut to its rows.
    """
    tables = []
    candidates = job.candidates
    for size in _sizes(len(candidates), _num_samples(job.X), len(job.folds)):
        table = evaluate(replace(_cut(job, size), candidates=candidates))
        tables.append(table)
        if table.status != "complete" or all(r["fit_error"] for r in table.rows()):
            break
        candidates = _better_third(table)
    return tables


def _sizes(n_candidates: int, n: int, n_folds: int) -> list[int]:
    """Return the numbers of rows of the rounds, growing to n."""
    rounds = int(log(max(n_candidates, 1), FACTOR))
    sizes = [n // FACTOR**k for k in range(rounds, 0, -1)]
    return [size for size in sizes if size >= SMALLEST * n_folds] + [n]


def _cut(job: Job, size: int) -> Job:
    """Return the job on some rows, the classes in proportion."""
    n = _num_samples(job.X)
    if size == n:
        return job
    classes = job.y if is_classifier(job.estimator) else None
    rows = np.sort(
        resample(np.arange(n), replace=False, n_samples=size, stratify=classes, random_state=0)
    )
    X, _ = _safe_split(first_candidate(job), job.X, None, rows)
    return replace(
        job,
        X=X,
        y=None if job.y is None else _safe_indexing(job.y, rows),
        folds=[Fold(f.number, _places(f.train, rows), _places(f.test, rows)) for f in job.folds],
        fit_params=_check_method_params(job.X, params=job.fit_params, indices=rows),
        score_params=_check_method_params(job.X, params=job.score_params, indices=rows),
    )


def _places(numbers: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return where the numbers lie among the rows, without those that do not."""
    return np.searchsorted(rows, numbers[np.isin(numbers, rows)])


def _better_third(table: Table) -> list[dict[str, Any]]:
    scores = np.array([_number(row["test_scores"], table.job.metric) for row in table.rows()])
    means = scores.reshape(len(table.job.candidates), -1).mean(axis=1)
    order = np.argsort(-np.nan_to_num(means, nan=-np.inf), kind="stable")
    kept = np.sort(order[: max(1, -(-len(means) // FACTOR))])
    return [table.job.candidates[i] for i in kept]


def _number(score: Any, metric: Any) -> float:
    if not isinstance(score, dict):
        return float(score)
    if metric not in score:
        raise ValueError(
            f"strategy='halving' with several scorers needs refit= one of {sorted(score)}; got "
            f"{metric!r}"
        )
    return float(score[metric])
