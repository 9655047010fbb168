"""The protocol of model selection: groups of fits that share one Gram matrix, and who fits them.

A *group* is one bound kernel, its Gram matrix on all rows, the folds on which the kernel is this
one, and the candidates (settings of the other parameters). A *route* fits every candidate on every
fold of a group in the way that suits the estimator. The engine scores what a route yields.

Models answer by row numbers
----------------------------
The model of an `Outcome` is asked about row numbers: ``model.predict(test)`` with integers that
count the rows of the whole sample, for the rows of its fold (held out, and training rows if
``group.train_scores``). Scikit-learn's scorers only see the answers, so they never notice. A
scorer that is any other function is handed a `StandIn`: that one takes the real rows, knows the
numbers of exactly the objects X_test and X_train of the fold, and fits a true model as soon as
anything else is asked.

Two easy ways to make such a model:

- fit the estimator with the kernel `Tabulated(K)` on row numbers: ``fit(train, y[train])``;
- take ``unfitted(template)``, set the fitted attributes that answering needs (``classes_``, …) and
  put ready values in place of the function that computes them, for example
  ``model._raw_decision = lambda rows: values[rows]`` for `SVC` or ``model._values`` for `SVR`, with
  ``values`` an array for all n rows of which only those of the fold are set.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from types import MethodType
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.base import clone

from mercer.kernels import Kernel
from mercer.kernels.base import UNKNOWN
from mercer.kernels.sample import Pair, Sample


class Fold(NamedTuple):
    """One split of the rows."""

    number: int
    train: np.ndarray  # row numbers
    test: np.ndarray


class Candidate(NamedTuple):
    """A setting of the parameters that are not the kernel's."""

    number: int
    params: dict[str, Any]


class Group(NamedTuple):
    """All fits that share one bound kernel and its Gram matrix.

    Parameters
    ----------
    estimator : estimator
        Unfitted, with the parameters of the kernel set as the user gave them.
    kernel : Kernel
        The bound kernel.
    K : array of shape (n, n), read only
        Its values on all rows, in the precision that the route asked for.
    X : Sample
        All rows, checked.
    y : array or None
        The targets of all rows.
    folds : list of Fold
        The folds on which the bound kernel is this one.
    candidates : list of Candidate
        What to fit on each of these folds.
    fit_params : list of dict
        What ``fit`` takes besides X and y, for each of the folds, cut to its training rows.
    deadline : float or None
        When to stop, on the clock ``time.monotonic()``.
    train_scores : bool
        Whether models are asked about training rows too.
    """

    estimator: Any
    kernel: Kernel
    K: np.ndarray
    X: Sample
    y: Any
    folds: list[Fold]
    candidates: list[Candidate]
    fit_params: list[dict[str, Any]]
    deadline: float | None = None
    train_scores: bool = False

    @property
    def expired(self) -> bool:
        """Whether the time is over."""
        return self.deadline is not None and time.monotonic() >= self.deadline


class Outcome(NamedTuple):
    """One candidate fitted on one fold, or the reason why it could not be.

    ``model`` answers by row numbers. It is scored before the next outcome is asked for, so a route
    may use its arrays again.
    """

    candidate: int
    fold: int
    model: Any
    fit_time: float
    error: Exception | None = None


class Route(Protocol):
    """A way to fit all candidates of a group on all its folds."""

    def accepts(self, estimator: Any) -> bool:
        """Whether this route can fit the estimator (whatever its parameters become)."""
        ...

    def dtype(self, n: int) -> Any:
        """Return the precision of the Gram matrix that it wants for n rows."""
        ...

    def run(self, group: Group) -> Iterator[Outcome]:
        """Yield the outcome of every candidate on every fold, in any order.

        When ``group.expired``, stop: what was not yielded counts as not evaluated. A failure of
        one fit (any ``Exception``) is an outcome with ``error``; the rest goes on.
        """
        ...


def unfitted(template: Any) -> Any:
    """Return a copy of an unfitted estimator, without the cost of ``clone``.

    Parameters are shared and not copied, unless fitting would change one: a random state.
    """
    random_state = getattr(template, "random_state", None)
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return copy.copy(template)
    return clone(template)


class Tabulated(Kernel):
    """A kernel on row numbers: k(i, j) = K[i, j] of a table that is known.

    Parameters
    ----------
    table : array of shape (n, n)
        The values.
    kernel : Kernel or None, default=None
        The kernel that they are of: it knows the definiteness.
    """

    releases_gil = True

    def __init__(self, table: np.ndarray, kernel: Kernel | None = None):
        self.table = table
        self.kernel = kernel

    def __sklearn_clone__(self) -> Tabulated:
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


class StandIn:
    """A model for scorers that may do anything: quick on the rows it knows, true on everything.

    ``predict(X)`` and the other answers go to a model by row numbers if X is one of the known
    objects. All else (other rows, fitted attributes) goes to a true model, fitted when first asked.

    Parameters
    ----------
    model : fitted model
        Answers by row numbers.
    known : list of (rows, numbers)
        The objects whose row numbers are known.
    fit : callable
        ``fit()`` returns the true fitted model.
    """

    ANSWERS = (
        "predict",
        "predict_proba",
        "predict_log_proba",
        "decision_function",
        "score",
        "score_samples",
        "transform",
    )

    def __init__(
        self, model: Any, known: list[tuple[Any, np.ndarray]], fit: Callable[[], Any]
    ) -> None:
        self._standin_model, self._standin_known, self._standin_fit = model, known, fit
        self._standin_true: Any = None

    @property
    def __class__(self) -> Any:  # isinstance(model, SVC) holds for its stand-in too
        return type(self._standin_model)

    @__class__.setter
    def __class__(self, value: Any) -> None:
        raise TypeError("the class of a stand-in cannot be changed")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_standin"):  # while it is being copied
            raise AttributeError(name)
        if name == "fit":
            return lambda *args, **named: self._true().fit(*args, **named)
        if name == "score":  # made of other answers
            return MethodType(type(self._standin_model).score, self)
        if name in self.ANSWERS and hasattr(self._standin_model, name):
            return self._answer(name)
        if name in ("classes_", "__sklearn_tags__"):
            return getattr(self._standin_model, name)
        return getattr(self._true(), name)

    def _answer(self, name: str) -> Callable[..., Any]:
        def answer(X: Any, *rest: Any, **named: Any) -> Any:
            for rows, numbers in self._standin_known:
                if X is rows:
                    return getattr(self._standin_model, name)(numbers, *rest, **named)
            return getattr(self._true(), name)(X, *rest, **named)

        answer.__name__ = name  # scikit-learn asks a method for its name
        return answer

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _true(self) -> Any:
        if self._standin_true is None:
            self._standin_true = self._standin_fit()
        return self._standin_true

    def __repr__(self) -> str:
        return repr(self._true())
