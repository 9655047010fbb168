"""The picture of a model on a plane: regions, margins and support vectors, or values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import get_tags

from mercer.plot._axes import (
    INK,
    MARKERS,
    PALETTE,
    SURFACE,
    SYMBOL,
    axes_for,
    clean,
    colour_bar,
    legend,
    letters_across,
    name_of,
)
from mercer.plot._display import Display, check_model, last_step, seen_by_last_step
from mercer.plot.plane import METHODS, Asked, Plane
from mercer.plot.records import codes_of, column, numbers

FAINT, STRONG = 0.10, 0.50  # how much colour a region has where the model is least and most sure
MOST_CLASSES = 20  # more are not named in a legend
CONTOURS = 12  # of a filled contour of values


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
        """
        check_model(model, "predict", "estimator")
        _check_options(model, response_method, grid_resolution)
        plane = Plane.of(X, features)
        said, classes = Asked(model, X, plane, int(grid_resolution)).said(response_method)
        target, support = _target(model, X, y, classes), _support(model, X, plane)
        display = cls(
            **said, points=plane.points, target=target, support=support, labels=_labels(plane)
        )
        return display.plot(ax)

    def _draw(self, ax: Any) -> Any:
        ax = axes_for(ax, width=5.2)
        if self.kind == "value":
            _draw_values(ax, self)
        else:
            _draw_regions(ax, self)
            if self.points is not None:
                _draw_rows(ax, self, self.points)
            _draw_edges(ax, self)
        ax.set(xlim=self.u[[0, -1]], ylim=self.v[[0, -1]])
        _write_legend(ax)
        return clean(ax, None, *self.labels)


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


# ---------------------------------------------------------------- classes
def color_of(shown: DecisionDisplay, code: int) -> str:
    """Return the colour of a class; outliers have the second, as what is worth a look."""
    return PALETTE[(1 - code if shown.kind == "outlier" else code) % len(PALETTE)]


def certainty(shown: DecisionDisplay) -> np.ndarray:
    """Return how sure the model is at each point, in [0, 1]."""
    r = shown.response
    if shown.kind == "probability":
        top, k = (np.maximum(r, 1 - r), 2) if r.ndim == 2 else (r.max(axis=2), r.shape[2])
        return (top - 1 / k) / (1 - 1 / k) if k > 1 else top
    if shown.kind == "class" or r.ndim == 3:
        return np.full(r.shape[:2], 0.5)
    far = 2.0 if shown.kind == "margin" else float(np.quantile(np.abs(r), 0.95))
    return np.minimum(np.abs(r) / far, 1.0) if far > 0 else np.zeros(r.shape)


def _draw_regions(ax: Any, shown: DecisionDisplay) -> None:
    from matplotlib.colors import to_rgb

    colors = np.array([to_rgb(color_of(shown, i)) for i in range(len(shown.classes))])
    share = (FAINT + (STRONG - FAINT) * certainty(shown))[:, :, None]
    blend = 1.0 - share * (1.0 - colors[shown.codes])  # on white
    (left, right), (low, high) = shown.u[[0, -1]], shown.v[[0, -1]]
    ax.imshow(
        blend, extent=(left, right, low, high), origin="lower", aspect="auto",
        interpolation="bilinear", zorder=0,
    )  # fmt: skip


def _draw_edges(ax: Any, shown: DecisionDisplay) -> None:
    """Draw where the prediction changes, and where the margin or a probability of ¾ begins."""
    for field in edges(shown):
        if field.min() < 0 < field.max():
            ax.contour(shown.u, shown.v, field, levels=[0.0], colors=INK, linewidths=1.4)
    sides = _sides(shown)
    if sides is not None:
        levels, label = sides
        ax.contour(
            shown.u, shown.v, shown.response, levels=levels, colors=INK, linewidths=1.0,
            linestyles="--",
        )  # fmt: skip
        ax.plot([], [], color=INK, linewidth=1.0, linestyle="--", label=label)


def _sides(shown: DecisionDisplay) -> tuple[list[float], str] | None:
    """Return the levels of the dashed lines that cross the plane, and what they are called."""
    known = {"margin": ([-1.0, 1.0], "f = ±1"), "probability": ([0.25, 0.75], "p = ¾")}
    if shown.response.ndim != 2 or shown.kind not in known:
        return None
    levels, label = known[shown.kind]
    low, high = shown.response.min(), shown.response.max()
    crossed = [level for level in levels if low < level < high]
    return (crossed, label) if crossed else None


def edges(shown: DecisionDisplay) -> list[np.ndarray]:
    """Return functions on the grid that change their sign where the prediction changes.

    Responses give smooth lines, but only if the largest decides; a model with costs, a reject
    option or votes of pairs has its own rule, and its predictions say where it changes.
    """
    codes = np.asarray(shown.codes)
    scores = _scores(shown)
    if scores is not None and np.mean(np.argmax(scores, axis=2) == codes) > 0.999:
        fields = [_lead(scores, k) for k in range(scores.shape[2])]
    else:
        fields = [np.where(codes == k, 0.5, -0.5) for k in range(len(shown.classes))]
    return fields[:1] if len(fields) == 2 else fields


def _scores(shown: DecisionDisplay) -> np.ndarray | None:
    """Return a score for each class, shape (m, m, K)."""
    r = shown.response
    if shown.kind == "class" or len(shown.classes) < 2:
        return None
    if r.ndim == 3:
        return r if r.shape[2] == len(shown.classes) else None
    if len(shown.classes) != 2:
        return None
    middle = 0.5 if shown.kind == "probability" else 0.0
    return np.stack([middle - r, r - middle], axis=2)


def _lead(scores: np.ndarray, k: int) -> np.ndarray:
    others = np.delete(scores, k, axis=2).max(axis=2)
    return np.asarray(scores[:, :, k] - others)


def _draw_rows(ax: Any, shown: DecisionDisplay, points: np.ndarray) -> None:
    size = _size(points, 9, 26)
    style = {"s": size, "linewidths": size / 50, "edgecolors": "white", "zorder": 3}
    if shown.target is None:
        ax.scatter(*points.T, c=INK, **style)
    else:
        named = len(shown.classes) <= MOST_CLASSES
        for code in np.unique(shown.target):
            ax.scatter(
                *points[shown.target == code].T, c=color_of(shown, code),
                marker=MARKERS[(code + code // len(PALETTE)) % len(MARKERS)],
                label=shown.classes[code] if named else None, **style,
            )  # fmt: skip
    if shown.support is not None and len(shown.support):
        count = len(shown.support)
        ax.scatter(
            *shown.support.T, s=3.2 * size, facecolors="none", edgecolors=INK, linewidths=0.8,
            zorder=4, label=f"{count} support vector{'s' if count > 1 else ''}",
        )  # fmt: skip


def _size(points: np.ndarray, least: float, most: float) -> float:
    return float(np.clip(4000 / max(len(points), 1), least, most))


# ---------------------------------------------------------------- values
def _draw_values(ax: Any, shown: DecisionDisplay) -> None:
    known = [shown.response.ravel()]
    if shown.points is not None and shown.target is not None:
        known.append(shown.target)
    low, high = (float(f(np.concatenate(known))) for f in (np.min, np.max))
    if low == high:
        low, high = low - max(abs(low), 1.0) / 2, high + max(abs(high), 1.0) / 2
    norm = {"vmin": low, "vmax": high, "cmap": SURFACE}
    filled = ax.contourf(shown.u, shown.v, shown.response, levels=_round_levels(low, high), **norm)
    if shown.points is not None:
        # a row in the colour of its true value fades away where it is well predicted
        color = {"c": "white"} if shown.target is None else {"c": shown.target, **norm}
        style = {"edgecolors": "white", "linewidths": 0.6, "zorder": 3}
        ax.scatter(*shown.points.T, s=_size(shown.points, 8, 30), **style, **color)
    colour_bar(ax, filled, "predicted")


def _round_levels(low: float, high: float) -> np.ndarray:
    from matplotlib.ticker import MaxNLocator

    return np.asarray(MaxNLocator(CONTOURS).tick_values(low, high))


# ---------------------------------------------------------------- the legend
def _fitting(texts: list[str], letters: float) -> int:
    """Return how many columns of a legend, filled one after the other, make it flat but fit."""
    for height in range(1, len(texts)):
        parts = [texts[i : i + height] for i in range(0, len(texts), height)]
        if sum(max(map(len, part)) + SYMBOL for part in parts) <= letters:
            return len(parts)
    return 1


def _write_legend(ax: Any) -> None:
    """Write what is what above the picture, in as many columns as the width allows."""
    handles, texts = ax.get_legend_handles_labels()
    if not texts:
        return
    texts = [name_of(text) for text in texts]
    columns = _fitting(texts, letters_across(ax))
    pads = {"borderpad": 0.2, "handletextpad": 0.4, "columnspacing": 1.2, "borderaxespad": 0.2}
    place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": columns}
    legend(ax, handles, texts, fontsize="small", **place, **pads)
