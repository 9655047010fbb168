"""Pictures of predicted numbers: against the truth, and what is left of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.plot._axes import BLUE, ORANGE, SIDE, axes_for, clean
from mercer.plot._display import Display, check_kind, documented
from mercer.plot.records import numbers

KINDS = ("actual_vs_predicted", "residual_vs_predicted")


@documented
def predictions(prediction: Any, y: Any, *, ax: Any = None) -> Any:
    """Draw targets against predictions; what is right lies on the line.

    Parameters
    ----------
    prediction, y : array of shape (n,)
        What was predicted, and the truth.
    """
    ax = axes_for(ax, SIDE)
    low, high = min(np.min(prediction), np.min(y)), max(np.max(prediction), np.max(y))
    ax.plot([low, high], [low, high], color=ORANGE, linewidth=1.2)
    return _draw_dots(ax, prediction, y, "true", grid="both")


@documented
def residuals(prediction: Any, residual: Any, *, ax: Any = None) -> Any:
    """Draw residuals against predictions: a pattern is what the model has missed.

    Parameters
    ----------
    prediction, residual : array of shape (n,)
        What was predicted, and the truth less that.
    """
    ax = axes_for(ax, SIDE)
    ax.axhline(0.0, color=ORANGE, linewidth=1.2)
    return _draw_dots(ax, prediction, residual, "true − predicted", grid="y")


def _draw_dots(ax: Any, prediction: Any, heights: Any, what: str, grid: str) -> Any:
    ax.plot(prediction, heights, linestyle="none", marker="o", markersize=3, alpha=0.5, color=BLUE)
    return clean(ax, grid, "predicted", what)


@dataclass(eq=False, repr=False)
class PredictionDisplay(Display):
    """Predicted numbers: the truth, or the residuals, against the prediction.

    Parameters
    ----------
    y, prediction : array of shape (n,)
        The truth and what was predicted.
    kind : {"actual_vs_predicted", "residual_vs_predicted"}
        Which of the two is drawn.

    Examples
    --------
    >>> from mercer.plot import PredictionDisplay
    >>> display = PredictionDisplay.from_predictions(
    ...     [1.0, 2.0, 3.0], [1.1, 1.8, 3.3], kind="residual_vs_predicted"
    ... )  # doctest: +SKIP
    """

    y: np.ndarray
    prediction: np.ndarray
    kind: str = "actual_vs_predicted"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {KINDS}; got {self.kind!r}")

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, kind: str = "actual_vs_predicted", ax: Any = None
    ) -> Self:
        """Predict rows with a fitted regressor, and draw.

        Parameters
        ----------
        model : fitted regressor
            What predicts.
        X, y : array of shape (n, d), array of shape (n,)
            Rows and their values.
        kind : {"actual_vs_predicted", "residual_vs_predicted"}
            What is drawn.
        """
        check_kind(model, "regressor")
        return cls.from_predictions(y, model.predict(X), kind=kind, ax=ax)

    @classmethod
    def from_predictions(
        cls, y: Any, prediction: Any, *, kind: str = "actual_vs_predicted", ax: Any = None
    ) -> Self:
        """Draw predictions that are known already.

        Parameters
        ----------
        y, prediction : array of shape (n,)
            The truth and what was predicted.
        kind : {"actual_vs_predicted", "residual_vs_predicted"}
            What is drawn.
        """
        y = numbers(y, "y")
        return cls(y, numbers(prediction, "prediction", len(y)), kind).plot(ax)

    @property
    def residuals(self) -> np.ndarray:
        """The truth less the prediction."""
        return np.asarray(self.y) - np.asarray(self.prediction)

    def _draw(self, ax: Any) -> Any:
        if self.kind == "actual_vs_predicted":
            return predictions(self.prediction, self.y, ax=ax)
        return residuals(self.prediction, self.residuals, ax=ax)
