"""Pictures of how scores rank rows: ROC curves, precision against recall."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from mercer.plot._axes import line_style, unit_square, veiled_legend
from mercer.plot._display import Display, documented, ranking_scores
from mercer.plot.classes import MOST_LABELS
from mercer.plot.ranking_records import PrecisionRecallCurves, RocCurves


# ---------------------------------------------------------------- ROC curves
@documented
def roc(curves: Mapping[str, Any], *, ax: Any = None) -> Any:
    """Draw ROC curves: the true against the false positive rate.

    Parameters
    ----------
    curves : mapping of str to Roc
        Curves (``fpr``, ``tpr``) by what the legend says of them.
    """
    ax = unit_square(ax, "false positive rate", "true positive rate")
    drawn = sum(not str(line.get_label()).startswith("_") for line in ax.lines)
    for i, (label, curve) in enumerate(curves.items(), start=drawn):  # after those of other models
        ax.plot(curve.fpr, curve.tpr, linewidth=1.8, label=label, **line_style(i))
    if len(curves) <= MOST_LABELS:
        veiled_legend(ax, "lower right")
    return ax


class RankingDisplay(Display):
    """Curves of a ranking, made from a model, from its scores or from an evaluation."""

    record: ClassVar[Any]

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
        return cls._of(cls.record.of(y, scores, labels, positive), name, ax)

    @classmethod
    def from_evaluation(cls, evaluation: Any, *, ax: Any = None) -> Self:
        """Draw the curves of a `ClassificationEvaluation` that was given scores."""
        _check_scores(evaluation)
        return cls._of(cls.record.of_evaluation(evaluation), "", ax)

    @classmethod
    def _of(cls, of: Any, name: str, ax: Any) -> Self:
        """Draw what a record holds."""
        raise NotImplementedError


@dataclass(eq=False, repr=False)
class RocDisplay(RankingDisplay):
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

    record = RocCurves

    curves: dict[str, Any]
    areas: dict[str, float]

    @classmethod
    def _of(cls, of: RocCurves, name: str, ax: Any) -> Self:
        texts = _texts(of.labels, name)
        areas = dict(zip(texts, of.areas.tolist(), strict=True))
        return cls(dict(zip(texts, of.curves, strict=True)), areas).plot(ax)

    def _draw(self, ax: Any) -> Any:
        named = {_with_area(text, self.areas[text]): c for text, c in self.curves.items()}
        return roc(named, ax=ax)


def _with_area(text: str, area: float) -> str:
    return f"{text}, area {area:.3f}" if np.isfinite(area) else f"{text}, one class only"


# ---------------------------------------------------------------- precision and recall
@documented
def precision_recall(curves: Mapping[str, Any], *, ax: Any = None) -> Any:
    """Draw precision against recall, with the share of the class as what guessing reaches.

    Parameters
    ----------
    curves : mapping of str to PrecisionRecall
        Curves (``precision``, ``recall``, ``share``) by what the legend says of them.
    """
    ax = unit_square(ax, "recall", "precision", diagonal=False)
    drawn = sum(not str(line.get_label()).startswith("_") for line in ax.lines)
    for i, (label, curve) in enumerate(curves.items(), start=drawn):
        style = line_style(i)
        ax.step(curve.recall, curve.precision, where="pre", linewidth=1.8, label=label, **style)
        ax.axhline(curve.share, linewidth=1.0, linestyle="--", color=style.get("color", "#999999"))
    if len(curves) <= MOST_LABELS:
        veiled_legend(ax, "best")
    return ax


@dataclass(eq=False, repr=False)
class PrecisionRecallDisplay(RankingDisplay):
    """Precision against recall as the threshold falls, for classes that are rare.

    The dashed line is the share of the class: the precision of a guess. With more than two
    classes there is a curve of each class against the rest.

    Parameters
    ----------
    curves : dict of str to curve
        ``precision``, ``recall`` and ``share`` of each curve, by what the legend says.

    Examples
    --------
    >>> from mercer.plot import PrecisionRecallDisplay
    >>> display = PrecisionRecallDisplay.from_predictions(
    ...     ["no", "no", "yes", "yes"], [0.1, 0.4, 0.35, 0.8]
    ... )  # doctest: +SKIP
    """

    record = PrecisionRecallCurves

    curves: dict[str, Any]

    @classmethod
    def _of(cls, of: PrecisionRecallCurves, name: str, ax: Any) -> Self:
        return cls(dict(zip(_texts(of.labels, name), of.curves, strict=True))).plot(ax)

    def _draw(self, ax: Any) -> Any:
        named = {_with_average(text, c.average): c for text, c in self.curves.items()}
        return precision_recall(named, ax=ax)


def _with_average(text: str, average: float) -> str:
    known = np.isfinite(average)
    return f"{text}, average precision {average:.3f}" if known else f"{text}, no row of it"


# ---------------------------------------------------------------- what both share
def _texts(labels: Any, name: str) -> list[str]:
    """Return what the legend calls the curves of a model."""
    texts = [f"{name}, {label}" if name else str(label) for label in labels]
    return [name] if name and len(texts) == 1 else texts


def _check_scores(evaluation: Any) -> None:
    if getattr(evaluation, "roc", None) is None:
        raise ValueError(
            "evaluation must be of classes with scores: evaluate(y, prediction, scores)"
        )
