"""The picture of predicted numbers: against the truth, or what is left of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.plot import assessment as draw
from mercer.plot.displays.base import Display, check_regressor, numbers


@dataclass(eq=False, repr=False)
class PredictionDisplay(Display):
    """Predicted numbers: the truth, or the residuals, against the prediction.

    Parameters
    ----------
    y, prediction : array of shape (n,)
        The truth and what was predicted.
    kind : {"actual_vs_predicted", "residual_vs_predicted"}
        Which of the two is drawn.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

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
        kinds = ("actual_vs_predicted", "residual_vs_predicted")
        if self.kind not in kinds:
            raise ValueError(f"kind must be one of {kinds}; got {self.kind!r}")

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
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        PredictionDisplay
        """
        check_regressor(model)
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
        kind, ax
            As in ``from_estimator``.

        Returns
        -------
        PredictionDisplay
        """
        y = numbers(y, "y")
        return cls(y, numbers(prediction, "prediction", len(y)), kind).plot(ax)

    @property
    def residuals(self) -> np.ndarray:
        """The truth less the prediction."""
        return np.asarray(self.y) - np.asarray(self.prediction)

    def _draw(self, ax: Any) -> Any:
        if self.kind == "actual_vs_predicted":
            return draw.predictions(self.prediction, self.y, ax=ax)
        return draw.residuals(self.prediction, self.residuals, ax=ax)
