"""What Displays share: plain data that can be drawn again, and questions to a fitted model."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted


class Display:
    """The plain data of a picture; `plot` draws it, on the same or on other Axes."""

    ax_: Any
    figure_: Any

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


def check_classifier(model: Any) -> None:
    """Raise if a model is not a fitted classifier."""
    check_model(model, "predict", "classifier")
    if not is_classifier(model):
        raise TypeError(f"model must be a classifier; got {type(model).__name__}")


def check_regressor(model: Any) -> None:
    """Raise if a model is not a fitted regressor."""
    check_model(model, "predict", "regressor")
    if not is_regressor(model):
        raise TypeError(f"model must be a regressor; got {type(model).__name__}")


def ranking_scores(model: Any, X: Any) -> np.ndarray:
    """Return probabilities, or decision values of a classifier that has none."""
    check_classifier(model)
    for method in ("predict_proba", "decision_function"):
        if hasattr(model, method):
            return np.asarray(getattr(model, method)(X), dtype=np.float64)
    raise TypeError(
        f"model must have predict_proba or decision_function; {type(model).__name__} has neither"
    )


def probabilities(model: Any, X: Any) -> np.ndarray:
    """Return the probabilities of the classes, shape (n, K)."""
    check_classifier(model)
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


def codes_of(values: np.ndarray, classes: np.ndarray, what: str) -> np.ndarray:
    """Return the place of each value among the classes."""
    places = {label: i for i, label in enumerate(classes.tolist())}
    strange = [v for v in values.tolist() if v not in places]
    if strange:
        raise ValueError(
            f"{what} holds {strange[0]!r}, which is none of the classes {list(places)}"
        )
    return np.array([places[v] for v in values.tolist()], dtype=np.intp)
