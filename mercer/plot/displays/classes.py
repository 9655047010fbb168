"""Pictures of predicted classes: ROC curves and the confusion matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.metrics import auc, confusion_matrix, roc_curve

from mercer.plot import assessment as draw
from mercer.plot.displays.answers import classes_of, score_columns, spoken_of
from mercer.plot.displays.base import (
    Display,
    check_classifier,
    codes_of,
    column,
    ranking_scores,
)


class Rates(NamedTuple):
    """False and true positive rates for falling thresholds."""

    fpr: np.ndarray
    tpr: np.ndarray


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

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

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
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        RocDisplay
        """
        scores = ranking_scores(model, X)
        return cls.from_predictions(
            y, scores, labels=model.classes_, positive=positive, name=name, ax=ax
        )

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
        positive, name, ax
            As in ``from_estimator``.

        Returns
        -------
        RocDisplay
        """
        y, classes = classes_of(y, labels)
        columns = score_columns(scores, len(y), len(classes))
        wanted = spoken_of(classes, positive)
        display = cls({}, {})
        for i in wanted:
            display._add(str(classes[i]), y == i, columns[:, i], name, alone=len(wanted) == 1)
        return display.plot(ax)

    @classmethod
    def from_evaluation(cls, evaluation: Any, *, ax: Any = None) -> Self:
        """Draw the curves of a `ClassificationEvaluation` that was given scores."""
        if getattr(evaluation, "roc", None) is None:
            raise ValueError(
                "evaluation must be of classes with scores: evaluate(y, prediction, scores)"
            )
        if hasattr(evaluation.roc, "fpr"):
            names, curves, areas = [evaluation.positive], [evaluation.roc], [evaluation.auc]
        else:
            names, curves = evaluation.labels, evaluation.roc
            areas = evaluation.auc_by_class
        texts = [str(n) for n in names]
        display = cls(dict(zip(texts, curves, strict=True)), dict(zip(texts, areas, strict=True)))
        return display.plot(ax)

    def _add(
        self, label: str, is_own: np.ndarray, score: np.ndarray, name: str, alone: bool
    ) -> None:
        text = name if name and alone else f"{name}, {label}" if name else label
        if is_own.all() or not is_own.any():  # one of the two rates is 0/0
            nothing = np.array([np.nan])
            self.curves[text], self.areas[text] = Rates(nothing, nothing), float("nan")
            return
        fpr, tpr, _ = roc_curve(is_own, score, drop_intermediate=False)
        self.curves[text], self.areas[text] = Rates(fpr, tpr), float(auc(fpr, tpr))

    def _draw(self, ax: Any) -> Any:
        named = {_with_area(text, self.areas[text]): c for text, c in self.curves.items()}
        return draw.roc(named, ax=ax)


def _with_area(text: str, area: float) -> str:
    return f"{text}, area {area:.3f}" if np.isfinite(area) else f"{text}, one class only"


@dataclass(eq=False, repr=False)
class ConfusionDisplay(Display):
    """The confusion matrix: rows are the truth, colours the share of a row, numbers the counts.

    Parameters
    ----------
    matrix : array of shape (K, K)
        How many rows of each class were taken for each class.
    labels : array of shape (K,)
        The classes.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

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
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ConfusionDisplay
        """
        check_classifier(model)
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
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ConfusionDisplay
        """
        y = column(y, "y")
        prediction = column(prediction, "prediction", len(y))
        if labels is None:
            labels = np.unique(np.concatenate([y, prediction]))
        known = np.asarray(labels)
        for values, what in ((y, "y"), (prediction, "prediction")):
            codes_of(values, known, what)  # says which of them is none of the labels
        return cls(confusion_matrix(y, prediction, labels=known), known).plot(ax)

    @classmethod
    def from_evaluation(cls, evaluation: Any, *, ax: Any = None) -> Self:
        """Draw the matrix of a `ClassificationEvaluation`."""
        if not hasattr(evaluation, "confusion"):
            raise TypeError(f"evaluation must be of classes; got {type(evaluation).__name__}")
        return cls(evaluation.confusion, evaluation.labels).plot(ax)

    def _draw(self, ax: Any) -> Any:
        return draw.confusion(self.matrix, self.labels, ax=ax)
