"""The picture of a model on a plane: regions, margins and support vectors, or values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier, is_clusterer, is_outlier_detector, is_regressor
from sklearn.utils import get_tags

from mercer.plot.decision import Marks, Surface, draw_surface
from mercer.plot.displays.base import (
    Display,
    check_model,
    codes_of,
    column,
    last_step,
    numbers,
    seen_by_last_step,
)
from mercer.plot.displays.plane import Plane

METHODS = ("auto", "predict_proba", "decision_function", "predict")


@dataclass(eq=False, repr=False)
class DecisionDisplay(Display):
    """What a model says at each point of the plane of two columns.

    Of a classifier the regions of its predictions, the darker the surer it is. A margin machine
    has its boundary f = 0, its margins f = ±1 and rings round its support vectors; other models of
    two classes the lines where the probability is ¼, ½ and ¾. Of a one-class machine it is the
    boundary of what belongs, of a regressor a filled contour.

    Parameters
    ----------
    u, v : array of shape (m,)
        The grid along both axes.
    response : array of shape (m, m) or (m, m, K)
        What the model says there: probabilities, decision values, classes or predicted values.
    kind : str
        "probability", "margin" (decision values with lines at ±1), "decision", "class",
        "outlier" or "value".
    codes : array of shape (m, m), default=None
        The predicted classes, as places in ``classes``; None for values.
    classes : tuple of str
        The names of the classes.
    points : array of shape (n, 2), default=None
        The rows that are drawn.
    target : array of shape (n,), default=None
        Their classes, as places in ``classes``, or values.
    support : array of shape (s, 2), default=None
        Where support vectors lie.
    labels : pair of str
        The names of the axes.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer import SVC
    >>> from mercer.plot import DecisionDisplay
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> model = SVC("rbf").fit(X, y)
    >>> display = DecisionDisplay.from_estimator(model, X, y)  # doctest: +SKIP
    """

    u: np.ndarray
    v: np.ndarray
    response: np.ndarray
    kind: str
    codes: np.ndarray | None = None
    classes: tuple[str, ...] = ()
    points: np.ndarray | None = None
    target: np.ndarray | None = None
    support: np.ndarray | None = None
    labels: tuple[str, str] = ("x0", "x1")

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        features: Any = None,
        response_method: str = "auto",
        grid_resolution: int = 160,
        ax: Any = None,
    ) -> Self:
        """Ask a fitted model about a grid around the rows, and draw.

        Parameters
        ----------
        model : fitted estimator
            A classifier, regressor, one-class machine, clustering or mixture that predicts; also a
            pipeline or a search.
        X : array, sparse matrix or frame of shape (n, d)
            Rows, with all the columns that the model knows.
        y : array of shape (n,), default=None
            Their classes or values, for the colours of the points.
        features : pair of int or str, default=None
            Which two columns; None takes the first two that hold numbers. All others are held at
            their median, or their commonest value if they are not numbers.
        response_method : {"auto", "predict_proba", "decision_function", "predict"}
            What a classifier is asked for; "auto" is the decision function of a margin machine,
            otherwise the first of these that it has.
        grid_resolution : int, default=160
            How many points along each axis.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        DecisionDisplay
        """
        check_model(model, "predict", "estimator")
        _check_options(model, response_method, grid_resolution)
        plane = Plane.of(X, features)
        asked = _Asked(model, X, plane, int(grid_resolution))
        surface, classes = asked.surface(response_method)
        display = cls(
            surface.u, surface.v, surface.response, surface.kind, surface.codes, surface.classes,
            plane.points, _target(model, X, y, classes), _support(model, X, plane), _labels(plane),
        )  # fmt: skip
        return display.plot(ax)

    def _draw(self, ax: Any) -> Any:
        surface = Surface(self.u, self.v, self.response, self.kind, self.codes, self.classes)
        marks = None
        if self.points is not None:
            support = np.zeros((0, 2)) if self.support is None else self.support
            marks = Marks(self.points, self.target, support)
        return draw_surface(surface, marks, self.labels, ax=ax)


def _check_options(model: Any, response_method: str, grid_resolution: Any) -> None:
    if response_method not in METHODS:
        raise ValueError(f"response_method must be one of {METHODS}; got {response_method!r}")
    if not isinstance(grid_resolution, (int, np.integer)) or grid_resolution < 2:
        raise ValueError(f"grid_resolution must be an integer ≥ 2; got {grid_resolution!r}")
    if get_tags(model).input_tags.pairwise:
        raise ValueError("a model with a precomputed kernel knows no plane: it sees no columns")


def _labels(plane: Plane) -> tuple[str, str]:
    across, up = plane.labels
    return (f"{across}\n({plane.words})" if plane.words else across), up


# ---------------------------------------------------------------- what the model says
@dataclass(frozen=True, eq=False)
class _Asked:
    """A model and the grid that it is asked about."""

    model: Any
    X: Any
    plane: Plane
    n: int

    def surface(self, method: str) -> tuple[Surface, np.ndarray | None]:
        """Return what the model says, and its classes."""
        u, v = self.plane.axes(self.n)
        if is_regressor(self.model):
            return Surface(u, v, self._values(), "value"), None
        predicted = self._on_grid("predict")
        classes = _classes(self.model, predicted, self.X)
        codes = codes_of(predicted.ravel(), classes, "the prediction").reshape(predicted.shape)
        response, kind = self._response(method, codes)
        names = _names(self.model, classes)
        return Surface(u, v, response, kind, codes, names), classes

    def _response(self, method: str, codes: np.ndarray) -> tuple[np.ndarray, str]:
        if is_outlier_detector(self.model):
            return self._on_grid("decision_function"), "outlier"
        margins = _has_margins(self.model)
        method = _chosen(self.model, margins) if method == "auto" else method
        if not hasattr(self.model, method):
            raise TypeError(
                f"response_method is {method!r}, which {type(self.model).__name__} does not have"
            )
        if method == "predict":
            return codes.astype(np.float64), "class"
        response = self._on_grid(method)
        if response.ndim == 3 and response.shape[2] == 2:  # of two classes one says it all
            response = response[:, :, 1] - (0 if method == "predict_proba" else response[:, :, 0])
        if method == "predict_proba":
            return response, "probability"
        return response, "margin" if margins and response.ndim == 2 else "decision"

    def _values(self) -> np.ndarray:
        values = self._on_grid("predict").astype(np.float64)
        if values.ndim == 3 and values.shape[2] == 1:
            values = values[:, :, 0]
        if values.ndim != 2:
            raise ValueError(
                f"model must predict one value for each row; it predicts {values.shape[2]}"
            )
        return values

    def _on_grid(self, method: str) -> np.ndarray:
        """Return answers of shape (n, n) or (n, n, K), rows of the grid going up."""
        u, v = (side.ravel() for side in np.meshgrid(*self.plane.axes(self.n)))
        answers = self.plane.ask(getattr(self.model, method), np.column_stack([u, v]))
        return answers.reshape(self.n, self.n, *answers.shape[1:])


def _has_margins(model: Any) -> bool:
    """Tell whether f = ±1 means something: the loss is the hinge."""
    step = last_step(model)
    hinge = getattr(step, "loss", None) in ("hinge", "squared_hinge")
    return hinge or hasattr(step, "n_support_") or hasattr(step, "margin_")


def _chosen(model: Any, margins: bool) -> str:
    wanted = METHODS[1:]
    if margins and hasattr(model, "decision_function"):
        return "decision_function"
    return next(method for method in wanted if hasattr(model, method))


def _classes(model: Any, predicted: np.ndarray, X: Any) -> np.ndarray:
    """Return the classes, and after them answers that are none, such as a reject."""
    if predicted.ndim != 2:
        raise ValueError(f"model must predict one class for each row; it predicts {predicted[0]}")
    if is_outlier_detector(model):
        return np.array([-1, 1])
    known = getattr(model, "classes_", None) if is_classifier(model) else None
    if known is None and not (is_clusterer(model) or predicted.dtype.kind in "iu"):
        raise TypeError(
            "model must be a classifier, a regressor, a one-class machine or a clustering; got "
            f"{type(model).__name__}"
        )
    found = np.unique(predicted)
    if known is None:  # clusters: one of them may have rows, but no point of the grid
        return np.union1d(found, model.predict(X))
    known = np.asarray(known)
    return np.concatenate([known, found[~np.isin(found, known)]])


def _names(model: Any, classes: np.ndarray) -> tuple[str, ...]:
    if is_outlier_detector(model):
        return "outlier", "inlier"
    return tuple(str(label) for label in classes.tolist())


# ---------------------------------------------------------------- the rows
def _target(model: Any, X: Any, y: Any, classes: np.ndarray | None) -> np.ndarray | None:
    """Return the classes or values of the rows; what is not told is predicted where that helps."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if classes is None:
        return None if y is None else numbers(y, "y", n)
    if y is None and is_classifier(model):
        return None
    labels = np.asarray(model.predict(X)) if y is None else column(y, "y", n)
    return codes_of(labels, classes, "y")


def _support(model: Any, X: Any, plane: Plane) -> np.ndarray:
    """Return where support vectors lie: rows of X if it is the training table."""
    step = last_step(model)
    if not hasattr(step, "n_support_") or is_regressor(model):
        return np.zeros((0, 2))
    index, vectors = np.asarray(step.support_), _dense(step.support_vectors_)
    if len(index) and index.max() < len(plane.points):
        seen = _dense(seen_by_last_step(model, X), index)
        if seen.shape == vectors.shape and np.allclose(seen, vectors):
            return plane.points[index]
    if step is model:  # it knows the same columns, so that its own vectors can be drawn
        return vectors[:, list(plane.chosen)].astype(np.float64)
    return np.zeros((0, 2))


def _dense(rows: Any, index: Any = slice(None)) -> np.ndarray:
    return rows.tocsr()[index].toarray() if sp.issparse(rows) else np.asarray(rows)[index]
