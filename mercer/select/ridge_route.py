"""The route of kernel ridge: all λ of a fold from one reduction of its Gram matrix."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from itertools import groupby
from numbers import Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._estimator import check_weights
from mercer.machines import KernelRidge, KernelRidgeClassifier
from mercer.result import Status
from mercer.select.gram_route import GramRoute
from mercer.select.routes import Fold, Group, Outcome, unfitted
from mercer.select.settings import Setting, set_up
from mercer.solvers.ridge_path import RidgePath, ridge_path


class RidgeRoute:
    """Fit `KernelRidge` and `KernelRidgeClassifier` for all λ at once."""

    def accepts(self, estimator: Any) -> bool:
        """Whether the estimator is one of these machines."""
        return type(estimator) in (KernelRidge, KernelRidgeClassifier)

    def dtype(self, n: int) -> Any:
        """Return float64: the solutions are exact."""
        return np.float64

    def run(self, group: Group) -> Iterator[Outcome]:
        """Yield each candidate on each fold; a λ that is chosen by itself has fits of its own."""
        settings, apart = set_up(group, _is_plain)
        for _, same in groupby(sorted(settings, key=_others), key=_others):
            paths = list(same)
            for fold, fit_params in zip(group.folds, group.fit_params, strict=True):
                if group.expired:
                    return
                yield from _fit_fold(group, paths, fold, fit_params)
        if apart:
            yield from GramRoute().run(group._replace(candidates=apart))


def _is_plain(machine: Any) -> bool:
    return isinstance(machine.lam, Real) and float(machine.lam) > 0


def _others(setting: Setting) -> str:
    params = setting.machine.get_params(deep=False)
    return repr({k: v for k, v in params.items() if k not in ("lam", "kernel")})


def _fit_fold(
    group: Group, settings: list[Setting], fold: Fold, fit_params: dict[str, Any]
) -> Iterator[Outcome]:
    start = time.perf_counter()
    first = unfitted(settings[0].machine)
    try:
        path, flat = _path(group, first, [s.machine.lam for s in settings], fold, fit_params)
    except Exception as error:  # one class, weights below 0, …
        for setting in settings:
            yield Outcome(setting.candidate.number, fold.number, None, 0.0, error)
        return
    seconds = (time.perf_counter() - start) / len(settings)
    for place, setting in enumerate(settings):
        machine: Any = unfitted(setting.machine)
        if hasattr(first, "classes_"):
            machine.classes_ = first.classes_
        if not path.proved[place]:
            text = f"{type(machine).__name__}: {Status.ILL_CONDITIONED.advice}"
            warnings.warn(text, ConvergenceWarning, stacklevel=2)
        values = path.values[:, 0, place] if flat else path.values[:, :, place]
        machine._values = values.__getitem__
        yield Outcome(setting.candidate.number, fold.number, machine, seconds)


def _path(
    group: Group, machine: Any, lams: list[float], fold: Fold, fit_params: dict[str, Any]
) -> tuple[RidgePath, bool]:
    train, n = fold.train, len(group.K)
    weight = check_weights(fit_params.get("sample_weight"), len(train))
    Y, weight, flat = machine._targets(np.asarray(group.y)[train], weight)
    targets, weights = np.zeros((n, Y.shape[1])), np.zeros(n)
    targets[train], weights[train] = Y, weight
    offset = machine.fit_intercept
    path = ridge_path(group.K, targets, lams, weight=weights, train=train, fit_intercept=offset)
    return path, flat
