"""What Displays share: plain data that can be drawn again, and questions to a fitted model."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted

Function = TypeVar("Function", bound=Callable[..., Any])

MOST_INTEGERS = 12  # more distinct integers than this are values, not labels
AX = "ax : matplotlib Axes, default=None\n    Where to draw; None makes a new figure."
ATTRIBUTES = "ax_, figure_ : matplotlib Axes and Figure\n    Where it was drawn last."


def documented(function: Function, returns: str = "matplotlib Axes") -> Function:
    """Add to a docstring what is the same for all that draws: ``ax``, and what is returned."""
    if "Parameters\n" in (function.__doc__ or ""):
        text, mark, examples = _cut(function)
        text, star, options = text.partition("\n**options")
        if "ax" in inspect.signature(function).parameters:
            text = f"{text}\n{AX}"
        end = f"{star}{options}\n\nReturns\n-------\n{returns}{mark}{examples}"
        function.__doc__ = text + end
    return function


def _cut(described: Any) -> tuple[str, str, str]:
    """Return a docstring before its examples, their heading, and the examples."""
    return inspect.cleandoc(described.__doc__ or "").partition("\n\nExamples\n")


class Display:
    """The plain data of a picture; `plot` draws it, on the same or on other Axes.

    The docstrings of its kinds leave out what is the same for all: ``ax``, what is returned, and
    the attributes ``ax_`` and ``figure_``; these are added when a class is made.
    """

    ax_: Any
    figure_: Any

    def __init_subclass__(cls) -> None:
        text, mark, examples = _cut(cls)
        heading = "" if "Attributes\n" in text else "\n\nAttributes\n----------"
        cls.__doc__ = f"{text}{heading}\n{ATTRIBUTES}{mark}{examples}"
        for name, method in vars(cls).items():
            if name.startswith("from_"):
                documented(method.__func__, cls.__name__)

    def plot(self, ax: Any = None) -> Self:
        """Draw, and keep ``ax_`` and ``figure_``.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        Display
            This one.
        """
        self.ax_ = self._draw(ax)
        self.figure_ = self.ax_.figure
        return self

    def _draw(self, ax: Any) -> Any:
        """Draw and return the Axes."""
        raise NotImplementedError


# ---------------------------------------------------------------- models
def last_step(model: Any) -> Any:
    """Return the estimator at the end of searches and pipelines."""
    if hasattr(model, "best_estimator_"):
        return last_step(model.best_estimator_)
    steps = getattr(model, "steps", None)
    return last_step(steps[-1][1]) if isinstance(steps, list) and steps else model


def seen_by_last_step(model: Any, X: Any) -> Any:
    """Return rows as the estimator at the end of searches and pipelines sees them."""
    if hasattr(model, "best_estimator_"):
        return seen_by_last_step(model.best_estimator_, X)
    steps = getattr(model, "steps", None)
    if not isinstance(steps, list) or not steps:
        return X
    if len(steps) > 1:
        X = model[:-1].transform(X)
    return seen_by_last_step(steps[-1][1], X)


def check_model(model: Any, method: str, kind: str) -> None:
    """Raise if a model is not fitted or cannot do what a picture needs."""
    if isinstance(model, type) or not hasattr(model, "fit"):
        got = model.__name__ if isinstance(model, type) else type(model).__name__
        raise TypeError(f"model must be a fitted {kind}; got {got}")
    check_is_fitted(model)
    if not hasattr(model, method):
        raise TypeError(
            f"model must be a {kind} with {method}; {type(model).__name__} does not have it"
        )


def check_kind(model: Any, kind: str) -> None:
    """Raise if a model is not a fitted "classifier" or "regressor"."""
    check_model(model, "predict", kind)
    if not {"classifier": is_classifier, "regressor": is_regressor}[kind](model):
        raise TypeError(f"model must be a {kind}; got {type(model).__name__}")


def ranking_scores(model: Any, X: Any) -> np.ndarray:
    """Return probabilities, or decision values of a classifier that has none."""
    check_kind(model, "classifier")
    for method in ("predict_proba", "decision_function"):
        if hasattr(model, method):
            return np.asarray(getattr(model, method)(X), dtype=np.float64)
    raise TypeError(
        f"model must have predict_proba or decision_function; {type(model).__name__} has neither"
    )


def probabilities(model: Any, X: Any) -> np.ndarray:
    """Return the probabilities of the classes, shape (n, K)."""
    check_kind(model, "classifier")
    if not hasattr(model, "predict_proba"):
        raise TypeError(
            f"model must have predict_proba; {type(model).__name__} has none as it is. Ask for "
            f"probabilities (SVC(probability=True)) or wrap it in CalibratedClassifierCV"
        )
    return np.asarray(model.predict_proba(X), dtype=np.float64)


# ---------------------------------------------------------------- columns
def column(values: Any, what: str, n: int | None = None) -> np.ndarray:
    """Return one entry for each row, shape (n,)."""
    array = np.asarray(values)
    array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    if array.ndim != 1 or not len(array) or (n is not None and len(array) != n):
        wanted = "shape (n,)" if n is None else f"{n} entries, one for each row"
        raise ValueError(f"{what} must have {wanted}; got shape {np.shape(values)}")
    return array


def numbers(values: Any, what: str, n: int | None = None) -> np.ndarray:
    """Return one finite number for each row, shape (n,)."""
    array = column(values, what, n)
    if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        raise ValueError(f"{what} must hold finite numbers; got {array.dtype} values")
    return array.astype(np.float64)


def are_labels(values: np.ndarray) -> bool:
    """Tell labels from values: texts, booleans and few integers."""
    if values.dtype.kind in "iu":
        return len(np.unique(values)) <= MOST_INTEGERS
    return values.dtype.kind != "f"


def codes_of(values: np.ndarray, classes: np.ndarray, what: str) -> np.ndarray:
    """Return the place of each value among the classes."""
    places = {label: i for i, label in enumerate(classes.tolist())}
    strange = [v for v in values.tolist() if v not in places]
    if strange:
        raise ValueError(
            f"{what} holds {strange[0]!r}, which is none of the classes {list(places)}"
        )
    return np.array([places[v] for v in values.tolist()], dtype=np.intp)


# ---------------------------------------------------------------- classes and their scores
def classes_of(y: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes of the rows as places, and the classes."""
    y = column(y, "y")
    known = np.unique(y) if labels is None else np.asarray(labels)
    if len(known) < 2:
        raise ValueError(f"y must hold two classes or more; got {known.tolist()}: name all labels")
    return codes_of(y, known, "y"), known


def score_columns(scores: Any, n: int, k: int) -> np.ndarray:
    """Return a score for each class, shape (n, K)."""
    array = np.asarray(scores, dtype=np.float64)
    array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    wanted = [(n,), (n, 2)] if k == 2 else [(n, k)]
    if array.shape not in wanted or not np.isfinite(array).all():
        shapes = " or ".join(map(str, wanted))
        raise ValueError(
            f"scores must be finite, of shape {shapes} for {k} classes; got {array.shape}"
        )
    if array.ndim == 2:
        return array
    inside = bool((array >= 0).all() and (array <= 1).all())
    return np.column_stack([1 - array if inside else -array, array])


def spoken_of(classes: np.ndarray, positive: Any) -> list[int]:
    """Return which classes are spoken of."""
    if positive is None:
        return [1] if len(classes) == 2 else list(range(len(classes)))
    found = np.flatnonzero(classes == positive)
    if len(found) != 1:
        raise ValueError(f"positive must be one of {classes.tolist()}; got {positive!r}")
    return [int(found[0])]
