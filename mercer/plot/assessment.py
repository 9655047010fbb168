"""Pictures of an evaluation: confusion matrix, ROC curves, calibration, residuals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mercer.plot._axes import (
    BLUE,
    EMPTY,
    INK,
    ORANGE,
    SURFACE,
    axes_for,
    clean,
    line_style,
    name,
    tilt,
)

MOST_LABELS = 20  # more classes than this are not all written at the axis
SIDE = 4.2  # inches of one picture in a row


def row_of_axes(count: int, axes: Any = None) -> np.ndarray:
    """Return the given Axes, or new ones side by side."""
    if axes is None:
        first = axes_for(None, SIDE * count)
        figure, place = first.figure, first.get_subplotspec()
        first.remove()
        grid = place.subgridspec(1, count) if count > 1 else [place]
        return np.array([figure.add_subplot(grid[i]) for i in range(count)])
    given = np.ravel(np.asarray(axes, dtype=object))
    if len(given) != count:
        raise ValueError(f"axes must hold {count} Axes, one for each picture; got {len(given)}")
    return given


def confusion(matrix: Any, labels: Any, *, ax: Any = None) -> Any:
    """Draw a confusion matrix: rows are the truth, colours the share of a row, numbers the counts.

    Parameters
    ----------
    matrix : array of shape (K, K)
        How many rows of each class were taken for each class.
    labels : array of shape (K,)
        The classes.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
    """
    matrix, ax = np.asarray(matrix, dtype=float), axes_for(ax, SIDE)
    total = matrix.sum(axis=1, keepdims=True)
    share = np.divide(matrix, total, out=np.zeros_like(matrix), where=total > 0)
    ax.imshow(share, cmap=SURFACE, vmin=0.0, vmax=1.0)
    if len(matrix) <= MOST_LABELS:
        size = "medium" if len(matrix) <= 8 else "small" if len(matrix) <= 12 else "xx-small"
        for (i, j), value in np.ndenumerate(matrix):
            ink = EMPTY if share[i, j] < 0.5 else INK
            ax.text(j, i, f"{value:.4g}", ha="center", va="center", color=ink, fontsize=size)
        places, texts = np.arange(len(matrix)), [name(_item(label)) for label in labels]
        ax.set_xticks(places, texts)
        ax.set_yticks(places, texts)
        tilt(ax, texts)
    ax.spines[:].set_visible(False)
    ax.tick_params(colors=INK, length=0)
    ax.set_xlabel("predicted", color=INK)
    ax.set_ylabel("true", color=INK)
    return ax


def roc(curves: Mapping[str, Any], *, ax: Any = None) -> Any:
    """Draw ROC curves: the true against the false positive rate.

    Parameters
    ----------
    curves : mapping of str to Roc
        Curves (``fpr``, ``tpr``) by what the legend says of them.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = _unit_square(ax, "false positive rate", "true positive rate")
    drawn = sum(not str(line.get_label()).startswith("_") for line in ax.lines)
    for i, (label, curve) in enumerate(curves.items(), start=drawn):  # after those of other models
        ax.plot(curve.fpr, curve.tpr, linewidth=1.8, label=label, **line_style(i))
    if len(curves) <= MOST_LABELS:
        _legend(ax, "lower right")
    return ax


def calibration(bins: Any, *, what: str = "", ax: Any = None) -> Any:
    """Draw how often what was predicted came true, bin by bin, and how many rows a bin holds.

    Parameters
    ----------
    bins : Calibration
        ``weight``, ``predicted`` and ``observed`` of each bin.
    what : str, default=""
        What the probabilities are of.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
    """
    of = f" of {name(what)}" if what else ""
    ax = _unit_square(ax, f"predicted probability{of}", "observed share")
    used = bins.weight > 0
    widths = np.diff(bins.edges)
    ax.bar(
        bins.edges[:-1], bins.weight / bins.weight.sum(), widths, align="edge",
        color=EMPTY, edgecolor="white", label="share of the rows",
    )  # fmt: skip
    ax.plot(
        bins.predicted[used], bins.observed[used], color=BLUE, marker="o", markersize=4,
        linewidth=1.8, label="observed",
    )  # fmt: skip
    _legend(ax, "best")
    return ax


def calibrations(bins: Mapping[str, Any], *, ax: Any = None) -> Any:
    """Draw the calibration of several probabilities as lines."""
    ax = _unit_square(ax, "predicted probability", "observed share")
    for i, (label, own) in enumerate(bins.items()):
        used = own.weight > 0
        ax.plot(
            own.predicted[used], own.observed[used], linewidth=1.8, marker="o", markersize=4,
            label=name(label), **line_style(i),
        )  # fmt: skip
    if len(bins) <= MOST_LABELS:
        _legend(ax, "best")
    return ax


def predictions(prediction: Any, y: Any, *, ax: Any = None) -> Any:
    """Draw targets against predictions; what is right lies on the line.

    Parameters
    ----------
    prediction, y : array of shape (n,)
        What was predicted, and the truth.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_for(ax, SIDE)
    low, high = min(np.min(prediction), np.min(y)), max(np.max(prediction), np.max(y))
    ax.plot([low, high], [low, high], color=ORANGE, linewidth=1.2)
    ax.plot(prediction, y, linestyle="none", marker="o", markersize=3, alpha=0.5, color=BLUE)
    clean(ax, "both")
    ax.set_xlabel("predicted", color=INK)
    ax.set_ylabel("true", color=INK)
    return ax


def residuals(prediction: Any, residual: Any, *, ax: Any = None) -> Any:
    """Draw residuals against predictions: a pattern is what the model has missed.

    Parameters
    ----------
    prediction, residual : array of shape (n,)
        What was predicted, and the truth less that.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_for(ax, SIDE)
    ax.axhline(0.0, color=ORANGE, linewidth=1.2)
    ax.plot(prediction, residual, linestyle="none", marker="o", markersize=3, alpha=0.5, color=BLUE)
    clean(ax)
    ax.set_xlabel("predicted", color=INK)
    ax.set_ylabel("true − predicted", color=INK)
    return ax


def _legend(ax: Any, place: str) -> None:
    """Write what is what, on a veil over what lies behind."""
    ax.legend(loc=place, labelcolor=INK, fontsize="small", framealpha=0.85, edgecolor="none")


def _unit_square(ax: Any, x: str, y: str) -> Any:
    ax = axes_for(ax, SIDE)
    ax.plot([0, 1], [0, 1], color="#999999", linewidth=1.0, linestyle="--")
    clean(ax, "both")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    ax.set_xlabel(x, color=INK)
    ax.set_ylabel(y, color=INK)
    return ax


def _item(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
