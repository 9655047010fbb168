"""What is said of predicted classes: the confusion matrix and what follows from it and scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.assess import rates
from mercer.assess.answers import ClassAnswers
from mercer.assess.bootstrap import Drawn, Interval, number
from mercer.plot import classes as pictures
from mercer.plot import ranking as ranking_pictures
from mercer.plot._axes import row_of_axes
from mercer.plot.ranking_records import PrecisionRecall, Roc, Thresholds
from mercer.plot.records import Calibration

SHOWN_CLASSES = 12  # tables of more classes would not be read
CHEAP_DRAWS = 1e7  # values drawn for an interval that is printed without being asked for


@dataclass(frozen=True, eq=False)
class ClassificationEvaluation(Drawn):
    """What `evaluate` says of predicted classes.

    Let n_κλ be the rows of class κ that were taken for λ. Recall is n_κκ / Σ_λ n_κλ, precision
    n_κκ / Σ_λ n_λκ, F₁ their harmonic mean. What would be 0/0 is NaN, and ``notes`` says so; means
    over classes leave it out.

    Attributes
    ----------
    labels : array of shape (K,)
        The classes, in the order of all arrays.
    positive : object or None
        The positive class; None if there are more than two and none was named.
    confusion : array of shape (K, K)
        n_κλ, rows are the truth (sums of weights).
    accuracy, uar : float
        Recognition rate Σ n_κκ / N, and the unweighted average of the recalls.
    recall, precision, f1 : array of shape (K,)
        Of each class.
    macro_precision, macro_f1, mcc : float
        Means over the classes, and Matthews' correlation of truth and prediction.
    tpr, fpr, tnr, fnr, ppv, npv, fdr, fomr : float or array of shape (K,)
        True and false positive and negative rates, predictive values, false discovery and false
        omission rate: of the positive class, or of each class against the rest.
    roc : Roc, tuple of Roc, or None
        ``fpr``, ``tpr``, ``thresholds`` of the positive class, or of each class against the rest.
    auc : float or None
        Area under the curve, or the mean over the classes; ``auc_by_class`` holds each.
    precision_recall : PrecisionRecall, tuple of PrecisionRecall, or None
        ``precision``, ``recall``, ``thresholds`` and the ``share`` of the class, as for ``roc``.
    average_precision : float or None
        Σ (Rₖ − Rₖ₋₁) Pₖ over falling thresholds, or the mean over the classes;
        ``average_precision_by_class`` holds each. A guess reaches the share of the class.
    brier, log_loss, ece, calibration
        If the scores are probabilities: mean Σ(p − 1[y])², mean −log p of what came true,
        expected calibration error and the bins (``edges, weight, predicted, observed``), for the
        positive class, or for the class with the largest probability.
    notes : tuple of str
        What is undefined, and why.
    n_rows : int
        The number of rows.

    Examples
    --------
    >>> from mercer.assess import evaluate
    >>> result = evaluate(["a", "a", "a", "b"], ["a", "a", "b", "b"])
    >>> result.accuracy, result.recall.round(3).tolist(), result.confusion.tolist()
    (0.75, [0.667, 1.0], [[2.0, 1.0], [0.0, 1.0]])
    """

    labels: np.ndarray
    positive: Any
    confusion: np.ndarray
    n_rows: int
    accuracy: float
    uar: float
    recall: np.ndarray
    precision: np.ndarray
    f1: np.ndarray
    macro_precision: float
    macro_f1: float
    mcc: float
    tpr: Any
    fpr: Any
    tnr: Any
    fnr: Any
    ppv: Any
    npv: Any
    fdr: Any
    fomr: Any
    notes: tuple[str, ...]
    _answers: ClassAnswers = field(repr=False)
    roc: Roc | tuple[Roc, ...] | None = None
    auc: float | None = None
    auc_by_class: np.ndarray | None = None
    precision_recall: PrecisionRecall | tuple[PrecisionRecall, ...] | None = None
    average_precision: float | None = None
    average_precision_by_class: np.ndarray | None = None
    brier: float | None = None
    log_loss: float | None = None
    ece: float | None = None
    calibration: Calibration | None = None

    @classmethod
    def of(cls, labels: np.ndarray, answers: ClassAnswers) -> ClassificationEvaluation:
        """Evaluate answers."""
        C, positive = answers.confusion(), answers.positive
        known = rates.table(positive).items()
        found = {name: _plain(rate(rates.in_units(C))) for name, rate in known}
        found |= _from_scores(answers)
        return cls(
            labels=_frozen(labels),
            positive=None if positive is None else labels[positive],
            confusion=_frozen(C),
            n_rows=len(answers.truth),
            notes=tuple(_notes(labels, C, found)),
            _answers=answers,
            **found,
        )

    def interval(self, name: str, level: float = 0.95) -> Interval:
        """Return a confidence interval of a rate, or of each entry of an array of rates.

        Rows are drawn again with replacement, as many from each true class as it has, and the
        middle share ``level`` of the values is taken (percentiles of the stratified bootstrap).
        A rate of exactly 0 or 1 has an interval of length 0, which few rows do not justify. Groups
        are drawn whole, whatever their classes, and the interval of few of them is wider.

        Parameters
        ----------
        name : str
            The name of an attribute, such as "accuracy", "recall" or "auc".
        level : float, default=0.95
            The confidence.
        """
        return self._ends(name, level)

    def draws(self, name: str) -> np.ndarray:
        """Return the values of a rate in the drawn samples, shape (n_bootstrap, …)."""
        known = rates.table(self._answers.positive)
        if name in known:
            return self._answers.draw_rates(known[name])
        if name not in self._answers.score_statistics:
            names = sorted([*known, *self._answers.score_statistics])
            raise ValueError(f"there is no interval of {name!r}; there are those of {names}")
        return self._answers.draw_scores(name)

    def thresholds(self, at: Any) -> Thresholds:
        """Return what follows from calling rows positive from some scores on.

        Parameters
        ----------
        at : array of float
            The thresholds: of probabilities, or of decision values if these were given.

        Returns
        -------
        Thresholds
            ``at``, and the ``precision``, ``recall``, ``f1`` and share of ``flagged`` rows of each.

        Examples
        --------
        >>> from mercer.assess import evaluate
        >>> result = evaluate([0, 0, 1, 1], [0, 0, 0, 1], scores=[0.1, 0.3, 0.4, 0.8])
        >>> found = result.thresholds([0.35, 0.5])
        >>> found.recall.tolist(), found.flagged.tolist()
        ([1.0, 0.5], [0.5, 0.25])
        """
        answers = self._answers
        if answers.scores is None or answers.positive is None:
            raise ValueError(
                "thresholds need scores and a positive class: evaluate(y, prediction, scores, "
                "positive=…)"
            )
        ((score, own),) = answers.columns()
        return Thresholds.of(score, own, at, answers.weight)

    # ------------------------------------------------------------ for people
    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield the lines of the table: a name and a text."""
        costs = len(self.labels) ** 2 * self.n_bootstrap
        for name in ("accuracy", "uar", "macro_precision", "macro_f1", "mcc"):
            yield name.replace("_", " "), self._estimate(name, 0 < costs <= CHEAP_DRAWS)
        costs = self.n_rows * self.n_bootstrap * len(self.labels)
        for name in ("auc", "average_precision", "brier", "log_loss", "ece"):
            if getattr(self, name) is not None:
                yield name.replace("_", " "), self._estimate(name, 0 < costs <= CHEAP_DRAWS)
        if self.positive is not None:
            names = ("tpr", "fpr", "tnr", "fnr", "ppv", "npv")
            yield f"{self.positive}", ", ".join(f"{n} {number(getattr(self, n))}" for n in names)
        yield from self._class_rows()
        yield from (("note", note) for note in self.notes)

    def _class_rows(self) -> Iterator[tuple[str, str]]:
        if len(self.labels) > SHOWN_CLASSES:
            return
        for i, label in enumerate(self.labels):
            told = " ".join(f"{n} {number(getattr(self, n)[i])}" for n in _BY_CLASS)
            counts = " ".join(number(v) for v in self.confusion[i])
            yield f"class {label}", f"{told}, taken for: {counts}"

    def _about(self) -> str:
        return f"{self.n_rows} rows, {len(self.labels)} classes"

    def plot(self, axes: Any = None) -> Any:
        """Draw the confusion matrix, and with scores the ROC curves and the calibration.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, default=None
            One for each picture; None makes a new figure.

        Returns
        -------
        array of matplotlib Axes
        """
        count = 1 + (self.roc is not None) + (self.calibration is not None)
        axes = row_of_axes(count, axes)
        pictures.confusion(self.confusion, self.labels, ax=axes[0])
        if self.roc is not None:
            ranking_pictures.roc(self._curves(), ax=axes[1])
        if self.calibration is not None:
            pictures.calibration(self.calibration, ax=axes[2])
        return axes

    def _curves(self) -> dict[str, Roc]:
        """Return the curves by what stands beside them."""
        if isinstance(self.roc, Roc):
            return {f"{self.positive}, area {number(self.auc)}": self.roc}
        return {
            f"{label}, area {number(area)}": curve
            for label, area, curve in zip(self.labels, self._areas(), self.roc or (), strict=True)
        }

    def _areas(self) -> np.ndarray:
        return np.zeros(0) if self.auc_by_class is None else self.auc_by_class


_BY_CLASS = ("recall", "precision", "f1")


def _from_scores(answers: ClassAnswers) -> dict[str, Any]:
    if answers.scores is None:
        return {}
    weight = answers.shares[None]
    found: dict[str, Any] = {
        name: _plain(statistic(weight)[0]) for name, statistic in answers.score_statistics.items()
    }
    found["roc"], found["precision_recall"] = map(answers.curves, (Roc, PrecisionRecall))
    if answers.calibrated:
        found["calibration"] = answers.reliability.bins(answers.weight)
    return found


def _notes(labels: np.ndarray, C: np.ndarray, found: dict[str, Any]) -> Iterator[str]:
    """Yield what is undefined."""
    reasons = {
        "recall": "no row is of this class",
        "precision": "no row was taken for it",
        "f1": "it occurs neither in the truth nor in the predictions",
    }
    for name, reason in reasons.items():
        for label in labels[np.isnan(found[name])]:
            yield f"the {name} of {label} is 0/0: {reason}; means over classes leave it out"
    if np.isnan(found["mcc"]):
        yield "mcc is 0/0: all rows are of one class, or were taken for one"
    if found.get("auc") is not None and np.isnan(found.get("auc_by_class", found["auc"])).any():
        yield "an auc is 0/0: it needs rows of the class and rows of another"


def _plain(value: np.ndarray) -> Any:
    return float(value) if np.ndim(value) == 0 else _frozen(value)


def _frozen(array: np.ndarray) -> np.ndarray:
    array = np.array(array)
    array.flags.writeable = False
    return array
