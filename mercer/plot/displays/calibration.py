"""The picture of probabilities: whether they are what they say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from mercer.plot import assessment as draw
from mercer.plot.displays.answers import classes_of, score_columns, spoken_of
from mercer.plot.displays.base import Display, probabilities


class Bins(NamedTuple):
    """Rows by their predicted probability; what an empty bin holds is NaN."""

    edges: np.ndarray
    weight: np.ndarray
    predicted: np.ndarray
    observed: np.ndarray


@dataclass(eq=False, repr=False)
class CalibrationDisplay(Display):
    """How often what was predicted came true, by the predicted probability.

    Of two classes it is the probability of the positive one; of more that of the predicted class,
    or with ``by_class`` a curve of each class against the rest.

    Parameters
    ----------
    bins : dict of str to bins
        ``edges``, ``weight``, ``predicted`` and ``observed`` of each curve, by what it is of.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> from mercer.plot import CalibrationDisplay
    >>> display = CalibrationDisplay.from_predictions(
    ...     [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], n_bins=5
    ... )  # doctest: +SKIP
    """

    bins: dict[str, Any]

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, **options: Any) -> Self:
        """Ask a fitted classifier for probabilities, and draw.

        Parameters
        ----------
        model : fitted classifier with ``predict_proba``
            What says them.
        X, y : array of shape (n, d), array of shape (n,)
            Rows and their classes.
        **options
            ``positive``, ``n_bins``, ``by_class`` and ``ax``, as in ``from_predictions``.

        Returns
        -------
        CalibrationDisplay
        """
        said = probabilities(model, X)
        return cls.from_predictions(y, said, labels=model.classes_, **options)

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        probability: Any,
        *,
        labels: Any = None,
        positive: Any = None,
        n_bins: int = 10,
        by_class: bool = False,
        ax: Any = None,
    ) -> Self:
        """Draw the calibration of probabilities.

        Parameters
        ----------
        y : array of shape (n,)
            The classes.
        probability : array of shape (n,) or (n, K)
            Of the positive of two classes, or of each.
        labels : list, default=None
            The classes in the order of the columns; None is those of y, sorted.
        positive : label, default=None
            The class that is spoken of; None is the second of two.
        n_bins : int, default=10
            Bins of equal width over [0, 1].
        by_class : bool, default=False
            Whether each class has its curve.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        CalibrationDisplay
        """
        y, classes = classes_of(y, labels)
        said = score_columns(probability, len(y), len(classes))
        _check_probabilities(said)
        if not isinstance(n_bins, (int, np.integer)) or n_bins < 1:
            raise ValueError(f"n_bins must be an integer ≥ 1; got {n_bins!r}")
        wanted = spoken_of(classes, positive)
        if len(wanted) > 1 and not by_class:
            top = said.argmax(axis=1)
            return cls({"predicted class": _bins(said.max(axis=1), y == top, n_bins)}).plot(ax)
        chosen = range(len(classes)) if by_class and positive is None else wanted
        return cls({str(classes[i]): _bins(said[:, i], y == i, n_bins) for i in chosen}).plot(ax)

    @classmethod
    def from_evaluation(cls, evaluation: Any, *, ax: Any = None) -> Self:
        """Draw the bins of a `ClassificationEvaluation` that was given probabilities."""
        if getattr(evaluation, "calibration", None) is None:
            raise ValueError(
                "evaluation must be of classes with probabilities: evaluate(y, prediction, scores)"
            )
        positive = evaluation.positive
        text = "predicted class" if positive is None else str(positive)
        return cls({text: evaluation.calibration}).plot(ax)

    def _draw(self, ax: Any) -> Any:
        if len(self.bins) == 1:
            ((text, bins),) = self.bins.items()
            return draw.calibration(bins, what=text, ax=ax)
        return draw.calibrations(self.bins, ax=ax)


def _check_probabilities(said: np.ndarray) -> None:
    if said.min() < 0 or said.max() > 1:
        raise ValueError(
            f"probability must lie in [0, 1]; got values from {said.min():.3g} to {said.max():.3g}"
        )


def _bins(said: np.ndarray, came_true: np.ndarray, n_bins: int) -> Bins:
    place = np.clip((said * n_bins).astype(np.intp), 0, n_bins - 1)
    weight = np.bincount(place, minlength=n_bins).astype(np.float64)
    sums = (np.bincount(place, values, n_bins) for values in (said, came_true.astype(np.float64)))
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    with np.errstate(invalid="ignore"):  # 0/0 of an empty bin is the NaN it should be
        predicted, observed = (total / weight for total in sums)
    return Bins(edges, weight, predicted, observed)
