"""Pictures of predicted classes: the confusion matrix, calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.plot._axes import (
    BLUE,
    EMPTY,
    INK,
    SIDE,
    SURFACE,
    axes_for,
    bare,
    line_style,
    name_of,
    tilt,
    unit_square,
    veiled_legend,
)
from mercer.plot._display import Display, check_kind, documented, probabilities
from mercer.plot.records import N_BINS, Confusion, calibrations

MOST_LABELS = 20  # more classes than this are not all written


# ---------------------------------------------------------------- confusions
@documented
def confusion(matrix: Any, labels: Any, *, ax: Any = None) -> Any:
    """Draw a confusion matrix: rows are the truth, colours the share of a row, numbers the counts.

    Parameters
    ----------
    matrix : array of shape (K, K)
        How many rows of each class were taken for each class.
    labels : array of shape (K,)
        The classes.
    """
    return ConfusionDisplay(matrix, labels).plot(ax).ax_


@dataclass(eq=False, repr=False)
class ConfusionDisplay(Display):
    """The confusion matrix: rows are the truth, colours the share of a row, numbers the counts.

    Parameters
    ----------
    matrix, labels : array of shape (K, K), array of shape (K,)
        How many rows of each class were taken for each class, and the classes.

    Examples
    --------
    >>> from mercer.plot import ConfusionDisplay
    >>> display = ConfusionDisplay.from_predictions(
    ...     ["cat", "dog", "dog"], ["cat", "cat", "dog"]
    ... )  # doctest: +SKIP
    """

    matrix: np.ndarray
    labels: np.ndarray

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Predict rows with a fitted classifier, and draw.

        Parameters
        ----------
        model : fitted classifier
            What predicts.
        X, y : array of shape (n, d), array of shape (n,)
            Rows and their classes.
        """
        check_kind(model, "classifier")
        return cls.from_predictions(y, model.predict(X), ax=ax)

    @classmethod
    def from_predictions(
        cls, y: Any, prediction: Any, *, labels: Any = None, ax: Any = None
    ) -> Self:
        """Draw what was taken for what.

        Parameters
        ----------
        y, prediction : array of shape (n,)
            The truth and what was predicted.
        labels : list, default=None
            The classes and their order; None is those of y and the prediction, sorted.
        """
        record = Confusion.of(y, prediction, labels)
        return cls(record.matrix, record.labels).plot(ax)

    @classmethod
    def from_evaluation(cls, evaluation: Any, *, ax: Any = None) -> Self:
        """Draw the matrix of a `ClassificationEvaluation`."""
        if not hasattr(evaluation, "confusion"):
            raise TypeError(f"evaluation must be of classes; got {type(evaluation).__name__}")
        return cls(evaluation.confusion, evaluation.labels).plot(ax)

    def _draw(self, ax: Any) -> Any:
        ax, record = axes_for(ax, SIDE), Confusion(np.asarray(self.matrix, float), self.labels)
        ax.imshow(record.shares, cmap=SURFACE, vmin=0.0, vmax=1.0)
        if len(record.matrix) <= MOST_LABELS:
            _write_counts(ax, record)
            places, texts = range(len(record.matrix)), [name_of(v) for v in self.labels]
            ax.set_xticks(places, texts)
            ax.set_yticks(places, texts)
            tilt(ax, texts)
        return bare(ax, "predicted", "true")


def _write_counts(ax: Any, record: Confusion) -> None:
    n, shares = len(record.matrix), record.shares
    size = "medium" if n <= 8 else "small" if n <= 12 else "xx-small"
    for (i, j), value in np.ndenumerate(record.matrix):
        ink = EMPTY if shares[i, j] < 0.5 else INK
        ax.text(j, i, f"{value:.4g}", ha="center", va="center", color=ink, fontsize=size)


# ---------------------------------------------------------------- calibration
@documented
def calibration(bins: Any, *, what: str = "", ax: Any = None) -> Any:
    """Draw how often what was predicted came true, bin by bin, and how many rows a bin holds.

    Parameters
    ----------
    bins : Calibration
        ``weight``, ``predicted`` and ``observed`` of each bin.
    what : str, default=""
        What the probabilities are of.
    """
    of = f" of {name_of(what)}" if what else ""
    ax = unit_square(ax, f"predicted probability{of}", "observed share")
    ax.bar(
        bins.edges[:-1], bins.weight / bins.weight.sum(), np.diff(bins.edges), align="edge",
        color=EMPTY, edgecolor="white", label="share of the rows",
    )  # fmt: skip
    _draw_bins(ax, bins, label="observed", color=BLUE)
    veiled_legend(ax, "best")
    return ax


def _draw_bins(ax: Any, bins: Any, **style: Any) -> None:
    used, line = bins.weight > 0, {"linewidth": 1.8, "marker": "o", "markersize": 4}
    ax.plot(bins.predicted[used], bins.observed[used], **line, **style)


@dataclass(eq=False, repr=False)
class CalibrationDisplay(Display):
    """How often what was predicted came true, by the predicted probability.

    Of two classes it is the probability of the positive one; of more that of the predicted class,
    or with ``by_class`` a curve of each class against the rest.

    Parameters
    ----------
    bins : dict of str to bins
        ``edges``, ``weight``, ``predicted`` and ``observed`` of each curve, by what it is of.

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
        n_bins: int = N_BINS,
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
        """
        return cls(calibrations(y, probability, labels, positive, n_bins, by_class)).plot(ax)

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
            return calibration(bins, what=text, ax=ax)
        ax = unit_square(ax, "predicted probability", "observed share")
        for i, (label, own) in enumerate(self.bins.items()):
            _draw_bins(ax, own, label=name_of(label), **line_style(i))
        if len(self.bins) <= MOST_LABELS:
            veiled_legend(ax, "best")
        return ax
