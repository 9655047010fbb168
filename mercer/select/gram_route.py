"""The route of every kernel estimator: fits on row numbers, with the Gram matrix as the kernel."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer._estimator import KernelEstimator
from mercer.machines import KNN, KNNRegressor, Perceptron
from mercer.select.routes import Group, Outcome, Tabulated, unfitted


class GramRoute:
    """Fit each candidate on each fold from the shared Gram matrix."""

    independent = True  # no fit starts from another: groups may be cut into threads

    # the last bit of a kernel value decides which of two equal neighbours is nearer, and which
    # point a perceptron is next wrong on: only fits from scratch have the scores of such
    ROUNDING = (KNN, KNNRegressor, Perceptron)

    def accepts(self, estimator: Any) -> bool:
        """Whether the estimator's answer follows from its Gram matrix, up to its tolerance."""
        return isinstance(estimator, KernelEstimator) and not isinstance(estimator, self.ROUNDING)

    def dtype(self, n: int) -> Any:
        """Return float64: the estimators choose for themselves what they need of it."""
        return np.float64

    def run(self, group: Group) -> Iterator[Outcome]:
        """Yield each candidate on each fold."""
        kernel = Tabulated(group.K, group.kernel)
        for candidate in group.candidates:
            try:
                # a parameter may be an estimator that a fit changes: each candidate has its own
                template = clone(group.estimator).set_params(**clone(candidate.params, safe=False))
            except Exception as failure:
                yield from _all_failed(group, candidate.number, failure)
                continue
            template.kernel = kernel
            for fold, fit_params in zip(group.folds, group.fit_params, strict=True):
                if group.expired:
                    return
                model, start = unfitted(template), time.perf_counter()
                error = fit_numbers(model, fold.train, group.y, fit_params)
                seconds = time.perf_counter() - start
                yield Outcome(candidate.number, fold.number, model, seconds, error)


def fit_numbers(
    model: Any, train: np.ndarray, y: Any, fit_params: dict[str, Any]
) -> Exception | None:
    """Fit a model whose kernel is `Tabulated` on row numbers; return what went wrong."""
    targets = () if y is None else (y[train],)
    try:
        model.fit(train, *targets, **fit_params)
    except Exception as error:
        return error
    return None


def _all_failed(group: Group, candidate: int, error: Exception) -> Iterator[Outcome]:
    for fold in group.folds:
        yield Outcome(candidate, fold.number, None, 0.0, error)
