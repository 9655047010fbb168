"""Scores against the number of rows or the value of a parameter, as means over folds."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.plot._axes import BLUE, INK, ORANGE, Scale, axes_for, band, clean, name, ring


def learning_curve(
    sizes: Any, train_scores: Any, test_scores: Any, *, score: str = "score", ax: Any = None
) -> Any:
    """Draw training and test scores against the number of training rows, mean ± 1 std over folds.

    Parameters
    ----------
    sizes, train_scores, test_scores : array of shape (n_sizes,), (n_sizes, n_folds)
        As returned by ``learning_curve`` of scikit-learn.
    score : str, default="score"
        The name of the score.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.model_selection import learning_curve
    >>> from mercer import SVC, plot
    >>> X, y = [[float(i)] for i in range(40)], [0, 1] * 20
    >>> ax = plot.learning_curve(*learning_curve(SVC(), X, y, cv=4))  # doctest: +SKIP
    """
    sizes = _ticks(sizes, "sizes")
    ax = axes_for(ax)
    _two_bands(ax, sizes, train_scores, test_scores)
    _finish(ax, score)
    ax.set_xlabel("training rows", color=INK)
    return ax


def validation_curve(
    values: Any,
    train_scores: Any,
    test_scores: Any,
    *,
    parameter: str = "parameter",
    score: str = "score",
    ax: Any = None,
) -> Any:
    """Draw training and test scores against the values of a parameter, and mark the best.

    Parameters
    ----------
    values : list of length n_values
        The values of the parameter: numbers (log-spaced ones get a log axis) or anything else,
        such as kernels.
    train_scores, test_scores : array of shape (n_values, n_folds)
        As returned by ``validation_curve`` of scikit-learn.
    parameter, score : str
        The names of the axes.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.model_selection import validation_curve
    >>> from mercer import SVC, plot
    >>> X, y, Cs = [[float(i)] for i in range(40)], [0, 1] * 20, [0.1, 1.0, 10.0]
    >>> scores = validation_curve(SVC(), X, y, param_name="C", param_range=Cs, cv=4)
    >>> ax = plot.validation_curve(Cs, *scores, parameter="C")  # doctest: +SKIP
    """
    values = list(values)
    scale = Scale.of(values)
    if len(scale.values) != len(values):
        raise ValueError(f"values must be distinct; got {values!r}")
    order = np.argsort([scale.place(value) for value in values])
    train, test = (_scores(s, len(values), n) for s, n in _named(train_scores, test_scores))
    ax = axes_for(ax)
    mean, _ = _two_bands(ax, scale.positions, train[order], test[order])
    best = int(np.nanargmax(mean))
    ring(
        ax,
        scale.positions[best],
        mean[best],
        f"best test: {parameter} = {name(scale.values[best])}",
    )
    _finish(ax, score)
    scale.apply(ax.xaxis, parameter)
    return ax


def _named(train: Any, test: Any) -> tuple[tuple[Any, str], tuple[Any, str]]:
    return (train, "train_scores"), (test, "test_scores")


def _ticks(values: Any, what: str) -> np.ndarray:
    ticks = np.asarray(values, dtype=np.float64)
    if ticks.ndim != 1 or len(ticks) == 0:
        raise ValueError(f"{what} must be a list of numbers; got an array of shape {ticks.shape}")
    return ticks


def _scores(scores: Any, n: int, what: str) -> np.ndarray:
    """Return scores as (n, n_folds)."""
    table = np.asarray(scores, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or len(table) != n or np.isnan(table).all():
        raise ValueError(
            f"{what} must have shape ({n}, n_folds), a row for each value, and not only NaN; got "
            f"{np.shape(scores)}"
        )
    return table


def _two_bands(ax: Any, x: np.ndarray, train: Any, test: Any) -> tuple[np.ndarray, np.ndarray]:
    """Draw both scores; return mean and std of the test scores."""
    drawn = []
    for (scores, what), color, label in zip(
        _named(train, test), (ORANGE, BLUE), ("training", "test"), strict=True
    ):
        table = np.ma.masked_invalid(_scores(scores, len(x), what))  # folds that failed
        mean, std = table.mean(axis=1).filled(np.nan), table.std(axis=1).filled(np.nan)
        folds = f", mean ± 1 std of {table.shape[1]} folds" if table.shape[1] > 1 else ""
        band(ax, x, mean, std, color, label + folds)
        drawn.append((mean, std))
    return drawn[1]


def _finish(ax: Any, score: str) -> None:
    clean(ax)
    ax.set_ylabel(score, color=INK)
    ax.legend(frameon=False, labelcolor=INK)
