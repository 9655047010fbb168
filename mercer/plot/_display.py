"""What Displays share: plain data that can be drawn again, and questions to a fitted model."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted

Function = TypeVar("Function", bound=Callable[..., Any])

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
