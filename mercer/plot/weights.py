"""What the components of a projection weigh: arrows for a few features, a table for many."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.plot._axes import BLUE, DIVERGING, INK, axes_for, bare, clean, name_of
from mercer.plot._display import documented
from mercer.plot.projections import component_name

MOST_ARROWS = 12  # features; more are drawn as a table of colours
LINE_HEIGHT = 0.19  # inches for each row of a table
LINE = 0.055  # of the height of a picture, for each name beside an arrow
LETTER_WIDTH = 0.016  # of its width
FLATTEST = 0.75  # height for each width of a picture of arrows


@documented
def loadings(
    model: Any, components: tuple[int, ...] = (0, 1), names: Any = None, *, ax: Any = None
) -> Any:
    """Draw the loadings of features on components.

    Up to twelve features are arrows in the plane of two components: the length along an axis is
    the loading. More features, or another number of components, are rows of a table of colours.

    Parameters
    ----------
    model : fitted estimator
        `PCA` or anything else with ``loadings_`` or ``components_`` of shape (k, d).
    components : tuple of int, default=(0, 1)
        Which components.
    names : list of str, default=None
        The names of the features; None takes those that the model was fitted with.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import PCA, plot
    >>> iris = load_iris()
    >>> ax = plot.loadings(PCA().fit(iris.data), names=iris.feature_names)  # doctest: +SKIP
    """
    table, what = _table(model)
    components = tuple(components)
    if not components or not all(0 <= c < len(table) for c in components):
        raise ValueError(
            f"components must be numbers from 0 to {len(table) - 1}, the components there are; "
            f"got {components}"
        )
    weights = table[list(components)].T  # (d, 2) or more
    labels = _names(model, names, len(weights))
    titles = [component_name(model, c) for c in components]
    if len(components) == 2 and len(weights) <= MOST_ARROWS:
        return _arrows(axes_for(ax, width=5.6), weights, labels, titles, what)
    return _heat(ax, weights, labels, titles, what)


def _table(model: Any) -> tuple[np.ndarray, str]:
    for attribute, what in (("loadings_", "loading"), ("components_", "weight")):
        table = getattr(model, attribute, None)
        if table is not None:
            return np.atleast_2d(np.asarray(table, dtype=np.float64)), what
    raise TypeError(
        f"model must be fitted and have loadings_ or components_; got {type(model).__name__}"
    )


def _names(model: Any, names: Any, d: int) -> list[str]:
    if names is None:
        names = getattr(model, "feature_names_in_", [f"x{i}" for i in range(d)])
    if len(names) != d:
        raise ValueError(f"names must have one text for each of {d} features; got {len(names)}")
    return [name_of(str(n)) for n in names]


# ---------------------------------------------------------------- a few features
def _arrows(ax: Any, weights: np.ndarray, labels: list[str], titles: list[str], what: str) -> Any:
    for x, y in weights:
        ax.annotate(
            "", xy=(x, y), xytext=(0, 0),
            arrowprops={"arrowstyle": "-|>", "color": BLUE, "linewidth": 1.6, "shrinkA": 0,
                        "shrinkB": 0, "mutation_scale": 12},
        )  # fmt: skip
    for line in (ax.axhline, ax.axvline):
        line(0.0, color="#BBBBBB", linewidth=0.8, zorder=0)
    height = _set_limits(ax, weights, labels)
    for side in (weights[:, 0] >= 0, weights[:, 0] < 0):
        own = [text for text, there in zip(labels, side, strict=True) if there]
        _write_names(ax, weights[side], own, height)
    return clean(ax, None, *(f"{what} on {title}" for title in titles))


def _set_limits(ax: Any, weights: np.ndarray, labels: list[str]) -> float:
    """Make room for arrows and names, at the same scale on both axes; return the height."""
    x, y = np.append(weights[:, 0], 0.0), np.append(weights[:, 1], 0.0)
    letters = np.array([*map(len, labels), 0])
    width, height = np.ptp(x), max(float(np.ptp(y)), 1e-300)
    for _ in range(20):  # names are as wide as the picture says, which is as wide as they are
        letter = LETTER_WIDTH * max(width, height / FLATTEST)
        right = float(np.max(np.where(x >= 0, x + letter * letters, x)))
        left = float(np.min(np.where(x < 0, x - letter * letters, x)))
        width = right - left
    height = max(1.16 * height, FLATTEST * width)
    middle = (y.max() + y.min()) / 2
    ax.set(xlim=(left - 0.03 * width, right + 0.03 * width), aspect="equal")
    ax.set_ylim(middle - height / 2, middle + height / 2)
    return height


def _write_names(ax: Any, tips: np.ndarray, labels: list[str], height: float) -> None:
    """Write names beside the tips of one side, moved apart where they would touch."""
    places = spaced(tips[:, 1], LINE * height)
    for (x, _), y, text in zip(tips, places, labels, strict=True):
        gap, alignment = (0.01, "left") if x >= 0 else (-0.01, "right")
        written = ax.text(x + gap * height, y, text, ha=alignment, va="center", color=INK)
        written.set(fontsize=9, in_layout=False)


def spaced(values: np.ndarray, gap: float) -> np.ndarray:
    """Return the values moved apart to at least a gap, in the same order, as little as needed."""
    order = np.argsort(values, kind="stable")
    groups: list[tuple[float, int]] = []  # mean place and number of those that touch
    for value in values[order]:
        place, count = float(value), 1
        while groups and groups[-1][0] + (groups[-1][1] + count) / 2 * gap > place:
            before, number = groups.pop()
            place, count = (before * number + place * count) / (number + count), number + count
        groups.append((place, count))
    spread = [p + (i - (c - 1) / 2) * gap for p, c in groups for i in range(c)]
    moved = np.empty(len(values))
    moved[order] = spread
    return moved


# ---------------------------------------------------------------- many features
def _heat(ax: Any, weights: np.ndarray, labels: list[str], titles: list[str], what: str) -> Any:
    d, k = weights.shape
    is_new = ax is None
    ax = axes_for(ax, width=2.6 + 0.75 * k)
    if is_new:
        ax.figure.set_size_inches(2.6 + 0.75 * k, max(1.6 + LINE_HEIGHT * d, 2.6))
    limit = float(np.abs(weights).max(initial=1e-300))
    image = ax.imshow(weights, cmap=DIVERGING, vmin=-limit, vmax=limit, aspect="auto")
    ax.set_yticks(range(d), labels, fontsize=8)
    ax.set_xticks(range(k), [t.replace(" (", "\n(").replace("component ", "") for t in titles])
    bare(ax, "component")
    bar = ax.figure.colorbar(image, ax=ax, pad=0.03, shrink=min(1.0, 18 / d + 0.1), aspect=30)
    bar.set_label(what, color=INK)
    bar.outline.set_visible(False)
    return ax
