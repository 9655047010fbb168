"""Kernel ridge for all λ of a fold from one reduction of its Gram matrix."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from numbers import Real
from typing import Any

import numpy as np

from mercer._array import n_threads
from mercer._clock import OutOfTimeError
from mercer._estimator import check_weights
from mercer._threads import one_blas_thread
from mercer.result import Status
from mercer.select.job import Fold
from mercer.select.machine_paths import (
    PathMachine,
    failed_path,
    paths_along,
    spread,
    usable_machines,
    warn_of,
)
from mercer.select.progress import in_threads
from mercer.select.routes import FoldAnswers, Group, Outcome, fits_from_gram, unfitted
from mercer.solvers.ridge_path import PartialFactor, RidgePath, partial_factor, ridge_path

FOLD_EACH = 3000
"""Rows up to which each fold has a thread of its own: two threads of BLAS in one fold gain little
there, and wait for each other where another program takes a core."""


def ridge_paths(group: Group) -> Iterator[Outcome]:
    """Fit kernel ridge for all λ at once; a λ that is chosen by itself has fits of its own."""
    machines, apart = usable_machines(group, _has_positive_lam)
    for path in paths_along(machines, ("lam",)):
        folds = list(zip(group.folds, group.fit_params, strict=True))
        side_by_side = len(group.K) <= FOLD_EACH and len(folds) > 1
        # a second thread of BLAS would go on spinning while the folds want its core
        alone = one_blas_thread() if side_by_side else nullcontext()
        try:
            with group.limits.for_solving(), alone:
                part = partial_factor(group.K, min(float(m.machine.lam) for m in path))
        except OutOfTimeError:
            return
        if side_by_side:
            threads = min(n_threads(), len(folds))
            parts = [folds[k::threads] for k in range(threads)]
            yield from in_threads(partial(_ridge_folds, group, path, part), parts)
        else:
            yield from _ridge_folds(group, path, part, folds)
    if apart:
        yield from fits_from_gram(group._replace(candidates=apart))


def _has_positive_lam(machine: Any) -> bool:
    return isinstance(machine.lam, Real) and float(machine.lam) > 0


def _ridge_folds(
    group: Group,
    path: list[PathMachine],
    part: PartialFactor,
    folds: list[tuple[Fold, dict[str, Any]]],
) -> Iterator[Outcome]:
    for fold, fit_params in folds:
        if group.limits.stopped():
            return
        yield from _ridge_fold(group, path, part, fold, fit_params)


def _ridge_fold(
    group: Group,
    path: list[PathMachine],
    part: PartialFactor,
    fold: Fold,
    fit_params: dict[str, Any],
) -> Iterator[Outcome]:
    start = time.perf_counter()
    first = unfitted(path[0].machine)
    try:
        lams = [m.machine.lam for m in path]
        with group.limits.for_solving():
            solved, flat = _solved(group, first, lams, part, fold, fit_params)
    except OutOfTimeError:  # not evaluated, which is no failure
        return
    except Exception as error:  # one class, weights below 0, …
        yield from failed_path(path, fold, error)
        return
    seconds = (time.perf_counter() - start) / len(path)
    for place, (number, machine) in enumerate(path):
        if not solved.proved[place]:
            warn_of(machine, Status.ILL_CONDITIONED)
        values = solved.values[:, 0, place] if flat else solved.values[:, :, place]
        # answers differ in λ, which they do not need: one machine with classes serves all
        yield Outcome(number, fold.number, FoldAnswers(first, values), seconds)


def _solved(
    group: Group,
    machine: Any,
    lams: list[float],
    part: PartialFactor,
    fold: Fold,
    fit_params: dict[str, Any],
) -> tuple[RidgePath, bool]:
    train, n = fold.train, len(group.K)
    weight = check_weights(fit_params.get("sample_weight"), len(train))
    Y, weight, flat = machine._targets(np.asarray(group.y)[train], weight)
    path = ridge_path(
        group.K,
        spread(n, train, Y),
        lams,
        weight=spread(n, train, weight),
        train=train,
        fit_intercept=machine.fit_intercept,
        part=part,
    )
    return path, flat
