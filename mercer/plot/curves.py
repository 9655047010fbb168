"""Scores against the number of rows or the value of a parameter, as means over folds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn import model_selection

from mercer.cv_results import Axis
from mercer.cv_results import score_name as name_of_score
from mercer.plot._axes import BLUE, ORANGE, ValueScale, axes_for, band, clean, legend, name_of, ring
from mercer.plot._display import Display, documented
from mercer.plot.records import LearningCurve


@documented
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

    Examples
    --------
    >>> from sklearn.model_selection import learning_curve
    >>> from mercer import SVC, plot
    >>> X, y = [[float(i)] for i in range(40)], [0, 1] * 20
    >>> ax = plot.learning_curve(*learning_curve(SVC(), X, y, cv=4))  # doctest: +SKIP
    """
    return LearningCurveDisplay(sizes, train_scores, test_scores, score).plot(ax).ax_


@documented
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

    Examples
    --------
    >>> from sklearn.model_selection import validation_curve
    >>> from mercer import SVC, plot
    >>> X, y, Cs = [[float(i)] for i in range(40)], [0, 1] * 20, [0.1, 1.0, 10.0]
    >>> scores = validation_curve(SVC(), X, y, param_name="C", param_range=Cs, cv=4)
    >>> ax = plot.validation_curve(Cs, *scores, parameter="C")  # doctest: +SKIP
    """
    values = list(values)
    axis = Axis.of(parameter, values)
    if len(axis.values) != len(values):
        raise ValueError(f"values must be distinct; got {values!r}")
    scale, order = ValueScale.of(axis.values), np.argsort(axis.places)
    train, test = _scores(train_scores, test_scores, len(values))
    ax = axes_for(ax)
    drawn = _draw_bands(ax, scale.positions, train[order], test[order], score)
    best = int(np.nanargmax(drawn.test))
    text = f"best test: {parameter} = {name_of(scale.values[best])}"
    ring(ax, scale.positions[best], drawn.test[best], text)
    legend(ax)
    scale.apply(ax.xaxis, parameter)
    return ax


@dataclass(eq=False, repr=False)
class LearningCurveDisplay(Display):
    """Training and test scores against the number of training rows, mean ± 1 std over folds.

    Parameters
    ----------
    train_sizes : array of shape (n_sizes,)
        The numbers of training rows.
    train_scores, test_scores : array of shape (n_sizes, n_folds)
        What `mercer.learning_curve` or scikit-learn's function of that name returned.
    score_name : str, default="score"
        The name of the score.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import SVC, learning_curve
    >>> from mercer.plot import LearningCurveDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> scores = learning_curve(SVC(), X, y, shuffle=True, random_state=0)
    >>> display = LearningCurveDisplay(*scores, score_name="accuracy").plot()  # doctest: +SKIP
    """

    train_sizes: np.ndarray
    train_scores: np.ndarray
    test_scores: np.ndarray
    score_name: str = "score"

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        scoring: Any = None,
        score_name: str | None = None,
        curve: Callable[..., Any] = model_selection.learning_curve,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Fit a model to growing samples, and draw.

        Parameters
        ----------
        model : estimator
            What is fitted.
        X, y : array of shape (n, d), array of shape (n,)
            Rows and targets.
        scoring : str or callable, default=None
            The score; None is that of the model.
        score_name : str, default=None
            What the axis says; None follows from ``scoring``.
        curve : callable, default=sklearn.model_selection.learning_curve
            What computes the scores. `mercer.learning_curve` reads one Gram matrix for all sizes
            and folds, which is faster for kernel machines.
        **options
            ``train_sizes``, ``cv``, ``shuffle``, ``random_state`` and all else that ``curve``
            accepts.
        """
        sizes, train, test = curve(model, X, y, scoring=scoring, **options)[:3]
        return cls(sizes, train, test, score_name or name_of_score(model, scoring)).plot(ax)

    def _draw(self, ax: Any) -> Any:
        sizes = np.asarray(self.train_sizes, dtype=np.float64)
        if sizes.ndim != 1 or len(sizes) == 0:
            got = f"an array of shape {sizes.shape}"
            raise ValueError(f"sizes must be a list of numbers; got {got}")
        train, test = _scores(self.train_scores, self.test_scores, len(sizes))
        ax = axes_for(ax)
        _draw_bands(ax, sizes, train, test, self.score_name)
        legend(ax)
        return clean(ax, x="training rows", y=self.score_name)


def _scores(train: Any, test: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return both scores as (n, n_folds)."""
    return _table(train, n, "train_scores"), _table(test, n, "test_scores")


def _table(scores: Any, n: int, what: str) -> np.ndarray:
    table = np.asarray(scores, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or len(table) != n or np.isnan(table).all():
        raise ValueError(
            f"{what} must have shape ({n}, n_folds), a row for each value, and not only NaN; got "
            f"{np.shape(scores)}"
        )
    return table


def _draw_bands(
    ax: Any, x: np.ndarray, train: np.ndarray, test: np.ndarray, score: str
) -> LearningCurve:
    """Draw both scores; return their means and spreads."""
    drawn = LearningCurve.of(score, x, train, test)
    for table, mean, spread, color, label in (
        (train, drawn.train, drawn.train_spread, ORANGE, "training"),
        (test, drawn.test, drawn.test_spread, BLUE, "test"),
    ):
        folds = f", mean ± 1 std of {table.shape[1]} folds" if table.shape[1] > 1 else ""
        band(ax, x, mean, spread, color, label + folds)
    clean(ax, y=score)
    return drawn
