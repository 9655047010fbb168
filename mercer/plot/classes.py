"""Pictures of predicted classes: ROC curves, the confusion matrix, calibration."""

from __future__ import annotations

from collections.abc import Mapping
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
    clean,
    legend,
    line_style,
    name_of,
    tilt,
)
from mercer.plot._display import Display, check_kind, documented, probabilities, ranking_scores
from mercer.plot.records import N_BINS, Confusion, RocCurves, calibrations

MOST_LABELS = 20  # more classes than this are not all written


# ---------------------------------------------------------------- ROC curves
@documented
def roc(curves: Mapping[str, Any], *, ax: Any = None) -> Any:
    """Draw ROC curves: the true against the false positive rate.

    Parameters
    ----------
    curves : mapping of str to Roc
        Curves (``fpr``, ``tpr``) by what the legend says of them.
    """
    ax = _unit_square(ax, "false positive rate", "true positive rate")
    drawn = sum(not str(line.get_label()).startswith("_") for line in ax.lines)
    for i, (label, curve) in enumerate(curves.items(), start=drawn):  # after those of other models
        ax.plot(curve.fpr, curve.tpr, linewidth=1.8, label=label, **line_style(i))
    if len(curves) <= MOST_LABELS:
        _legend(ax, "lower right")
    return ax


@dataclass(eq=False, repr=False)
class RocDisplay(Display):
    """ROC curves: the true against the false positive rate as the threshold falls.

    With more than two classes there is a curve of each class against the rest.

    Parameters
    ----------
    curves : dict of str to curve
        ``fpr`` and ``tpr`` of each curve, by what the legend says.
    areas : dict of str to float
        The area under each.

    Examples
    --------
    >>> from mercer.plot import RocDisplay
    >>> display = RocDisplay.from_predictions(
    ...     ["no", "no", "yes", "yes"], [0.1, 0.4, 0.35, 0.8]
    ... )  # doctest: +SKIP
    """

    curves: dict[str, Any]
    areas: dict[str, float]

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, positive: Any = None, name: str = "", ax: Any = None
    ) -> Self:
        """Score rows with a fitted classifier, and draw.

        Parameters
        ----------
        model : fitted classifier
            Its probabilities are taken, or its decision values if it has none.
        X, y : array of shape (n, d), array of shape (n,)
            Rows and their classes.
        positive : label, default=None
            The class whose curve is drawn; None is the second of two, and all of more.
        name : str, default=""
            What the legend calls the model; the curves of several go on the same ``ax``.
        """
        scores, options = ranking_scores(model, X), {"positive": positive, "name": name, "ax": ax}
        return cls.from_predictions(y, scores, labels=model.classes_, **options)

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        scores: Any,
        *,
        labels: Any = None,
        positive: Any = None,
        name: str = "",
        ax: Any = None,
    ) -> Self:
        """Draw the curves of scores.

        Parameters
        ----------
        y : array of shape (n,)
            The classes.
        scores : array of shape (n,) or (n, K)
            Probabilities or decision values: of the positive of two classes, or of each.
        labels : list, default=None
            The classes in the order of the columns; None is those of y, sorted.
        positive, name
            As in ``from_estimator``.
        """
        return cls._of(RocCurves.of(y, scores, labels, positive), name, ax)

    @classmethod
    def from_evaluation(cls, evaluation: Any, *, ax: Any = None) -> Self:
        """Draw the curves of a `ClassificationEvaluation` that was given scores."""
        if getattr(evaluation, "roc", None) is None:
            raise ValueError(
                "evaluation must be of classes with scores: evaluate(y, prediction, scores)"
            )
        return cls._of(RocCurves.of_evaluation(evaluation), "", ax)

    @classmethod
    def _of(cls, of: RocCurves, name: str, ax: Any) -> Self:
        texts = [f"{name}, {label}" if name else str(label) for label in of.labels]
        texts = [name] if name and len(texts) == 1 else texts
        areas = dict(zip(texts, of.areas.tolist(), strict=True))
        return cls(dict(zip(texts, of.curves, strict=True)), areas).plot(ax)

    def _draw(self, ax: Any) -> Any:
        named = {_with_area(text, self.areas[text]): c for text, c in self.curves.items()}
        return roc(named, ax=ax)


def _with_area(text: str, area: float) -> str:
    return f"{text}, area {area:.3f}" if np.isfinite(area) else f"{text}, one class only"


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
    ax = _unit_square(ax, f"predicted probability{of}", "observed share")
    ax.bar(
        bins.edges[:-1], bins.weight / bins.weight.sum(), np.diff(bins.edges), align="edge",
        color=EMPTY, edgecolor="white", label="share of the rows",
    )  # fmt: skip
    _draw_bins(ax, bins, label="observed", color=BLUE)
    _legend(ax, "best")
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
        ax = _unit_square(ax, "predicted probability", "observed share")
        for i, (label, own) in enumerate(self.bins.items()):
            _draw_bins(ax, own, label=name_of(label), **line_style(i))
        if len(self.bins) <= MOST_LABELS:
            _legend(ax, "best")
        return ax


# ---------------------------------------------------------------- the square of two shares
def _legend(ax: Any, place: str) -> None:
    """Write what is what, on a veil over what lies behind."""
    legend(ax, loc=place, fontsize="small", frameon=True, framealpha=0.85, edgecolor="none")


def _unit_square(ax: Any, x: str, y: str) -> Any:
    ax = axes_for(ax, SIDE)
    ax.plot([0, 1], [0, 1], color="#999999", linewidth=1.0, linestyle="--")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    return clean(ax, "both", x, y)
