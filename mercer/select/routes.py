"""Fits that share one Gram matrix: what is to be fitted, what comes of it, and the general way.

A *group* is one bound kernel, its Gram matrix on all rows, the folds on which the kernel is this
one, and candidates. A *route* fits every candidate of a group on every fold of it in the way that
suits the estimator, and yields *outcomes*; `mercer.select.paths` has the special routes and says
which is taken. Rows go by their numbers: `FoldAnswers` tell what a candidate says of the rows of
its fold, and `mercer.select.scoring` shows them to scorers.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from mercer._estimator import KernelEstimator
from mercer._limits import Limits
from mercer.kernels import Kernel
from mercer.kernels.base import UNKNOWN
from mercer.kernels.sample import Pair, Sample
from mercer.machines import KNN, KNNRegressor, MetricRidge, MetricRidgeClassifier, Perceptron
from mercer.select.job import Fold

METHODS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "score",
    "score_samples",
    "transform",
)
"""What a fitted model can be asked about rows."""

OF_VALUES = {"predict": "_labels", "decision_function": "_shaped"}
"""What turns decision values into the answers of a method; what lacks it answers with values."""

SCRATCH = (KNN, KNNRegressor, Perceptron, MetricRidge, MetricRidgeClassifier)
"""The last bit of a kernel value decides which of two equal neighbours is nearer, and which point
a perceptron is next wrong on; a learned metric belongs to its rows. Only fits from scratch have the
scores of such."""


class Candidate(NamedTuple):
    """A setting of the parameters that are not the kernel's."""

    number: int
    params: dict[str, Any]


class Group(NamedTuple):
    """All fits that share one bound kernel and its Gram matrix."""

    estimator: Any  # unfitted, with the parameters of the kernel set as the user gave them
    kernel: Kernel  # bound
    K: np.ndarray  # (n, n), its values on all rows, read only
    X: Sample  # all rows, checked
    y: Any
    folds: list[Fold]  # those on which the bound kernel is this one
    candidates: list[Candidate]  # what to fit on each of these folds
    fit_params: list[dict[str, Any]]  # for each fold, cut to its training rows
    limits: Limits
    train_scores: bool = False  # whether training rows are asked about too


@dataclass(frozen=True, eq=False)
class FoldAnswers:
    """What one candidate, fitted to one fold, says of rows that are known by their numbers."""

    estimator: Any  # fitted to row numbers; or, with values, not fitted but for its classes
    values: np.ndarray | None = None  # decision values, (n,) or (n, k), of the rows asked for

    def ask(self, method: str, numbers: np.ndarray, *rest: Any, **named: Any) -> Any:
        """Return what a method of the fitted model would answer for these rows."""
        if self.values is None:
            return getattr(self.estimator, method)(numbers, *rest, **named)
        turned = getattr(self.estimator, OF_VALUES[method], None)
        return self.values[numbers] if turned is None else turned(self.values[numbers])


class Outcome(NamedTuple):
    """One candidate fitted on one fold, or the reason why it could not be.

    It is scored before the next one is asked for, so a route may use its arrays again.
    """

    candidate: int
    fold: int
    answers: FoldAnswers | None
    fit_time: float = 0.0
    error: Exception | None = None
    interrupted: bool = False  # a solver that hears Ctrl-C returns its best: no exact score


class Route(NamedTuple):
    """A way to fit all candidates of a group on all its folds.

    ``run`` yields the outcomes in any order, until ``group.limits.stopped()``: what was not yielded
    counts as not evaluated. A failure of one fit is an outcome with ``error``; the rest goes on.
    """

    accepts: Callable[[Any], bool]  # whether it can fit an estimator, whatever its parameters
    run: Callable[[Group], Iterator[Outcome]]
    independent: bool = False  # no fit starts from another: groups may be cut into threads


def unfitted(template: Any) -> Any:
    """Return a copy of an unfitted estimator, without the cost of ``clone``.

    Parameters are shared and not copied, unless fitting would change one: a random state.
    """
    random_state = getattr(template, "random_state", None)
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return copy.copy(template)
    return clone(template)


def failures(candidates: list[Candidate], folds: list[Fold], error: Exception) -> list[Outcome]:
    """Return the outcomes of fits that could not even begin."""
    return [Outcome(c.number, fold.number, None, error=error) for c in candidates for fold in folds]


class TabulatedKernel(Kernel):
    """A kernel on row numbers: k(i, j) = K[i, j] of a table that is known.

    The kernel that its values are of knows their definiteness.
    """

    releases_gil = True

    def __init__(self, table: np.ndarray, kernel: Kernel | None = None):
        self.table = table
        self.kernel = kernel

    def __sklearn_clone__(self) -> TabulatedKernel:
        return self  # a value, and its table is large

    @property
    def domain(self) -> str:
        return "objects"

    @property
    def definiteness(self) -> str:
        return UNKNOWN if self.kernel is None else self.kernel.definiteness

    @property
    def symmetric(self) -> bool:
        return self.kernel is not None and self.kernel.symmetric

    def parts(self) -> tuple[Kernel, ...]:
        return ()

    def bind(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        return self

    def check_pair(self, X: Sample, Y: Sample) -> None:
        """Row numbers always belong together."""

    def _fill(self, pair: Pair, out: np.ndarray) -> None:
        out[...] = self.table[np.ix_(pair.X.data, pair.Y.data)]

    def _diagonal(self, X: Sample) -> np.ndarray:
        return self.table[X.data, X.data]


# ---------------------------------------------------------------- the general route
def follows_from_gram(estimator: Any) -> bool:
    """Whether an estimator's answer follows from its Gram matrix, up to its tolerance."""
    return isinstance(estimator, KernelEstimator) and not isinstance(estimator, SCRATCH)


def fits_from_gram(group: Group) -> Iterator[Outcome]:
    """Fit each candidate on each fold to row numbers, with the Gram matrix as the kernel."""
    kernel = TabulatedKernel(group.K, group.kernel)
    for candidate in group.candidates:
        try:
            # a parameter may be an estimator that a fit changes: each candidate has its own
            template = clone(group.estimator).set_params(**clone(candidate.params, safe=False))
        except Exception as error:
            yield from failures([candidate], group.folds, error)
            continue
        template.kernel = kernel
        for fold, fit_params in zip(group.folds, group.fit_params, strict=True):
            if group.limits.stopped():
                return
            yield _fitted(template, candidate, fold, group.y, fit_params)


def _fitted(
    template: Any, candidate: Candidate, fold: Fold, y: Any, fit_params: dict[str, Any]
) -> Outcome:
    model, start = unfitted(template), time.perf_counter()
    error = None
    try:
        model.fit(fold.train, *(() if y is None else (y[fold.train],)), **fit_params)
    except Exception as failure:
        error = failure
    seconds, interrupted = time.perf_counter() - start, _was_interrupted(model)
    return Outcome(candidate.number, fold.number, FoldAnswers(model), seconds, error, interrupted)


def _was_interrupted(model: Any) -> bool:
    return getattr(model, "status_", "") == "interrupted"
