"""Performance on one class among many rows: precision against recall, and thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._words import called, fixed, number, percent, quoted, sentence
from mercer.plot.ranking_records import PrecisionRecall
from mercer.report.charts.frame import Frame, chart, dots, guide, line, thinned
from mercer.report.charts.scale import LinearScale
from mercer.report.html import Markup, card, join, table, tag
from mercer.report.study import Score, Study, ThresholdStudy

RATES = LinearScale(-0.02, 1.02)  # a little air: perfect curves lie on the edge
FRAME = Frame(RATES, RATES, height=360.0)
CURVE_POINTS = 400
LEADING = ("average precision", "precision", "recall")  # first where a class is rare


# ---------------------------------------------------------------- in words
def of_a_rare_class(study: Study) -> list[str]:
    """Return what else to say where the figures of one class lead; the accuracy comes last."""
    scores = {score.name: score for score in study.scores}
    if not scores or next(iter(scores)) not in LEADING:
        return []
    name = quoted(study.evaluation.positive)
    rates = [
        f"{key} {percent(scores[key].model.value)}"
        for key in ("precision", "recall", "F1")
        if key in scores
    ]
    found = [f"{', '.join(rates)} of {name}"] if rates else []
    if "accuracy" in scores:
        found.append(_flattering(scores["accuracy"]))
    return found


def _flattering(accuracy: Score) -> str:
    """Return the accuracy beside what a rule gets that never looks at the rows."""
    said = f"accuracy {percent(accuracy.model.value)}"
    rule = next((name for name in accuracy.rivals if name.startswith("always")), None)
    got = f", where {rule} gets {percent(accuracy.rivals[rule].value)}" if rule else ""
    return said + got


# ---------------------------------------------------------------- the curve
def precision_recall(evaluation: Any, thresholds: ThresholdStudy | None = None) -> Markup:
    """Return precision against recall of the positive class, with thresholds as dots."""
    curve, name = evaluation.precision_recall, called(evaluation.positive)
    average = fixed(evaluation.average_precision)
    words = (
        f"Class {name} against the rest: average precision {average}. On the dashed line, at "
        f"{percent(curve.share)}, lie those who guess."
    )
    marks = (
        guide(FRAME, [0, 1], [curve.share, curve.share]),
        line(FRAME, *steps(curve), "model", f"average precision {average}"),
        None if thresholds is None else _dots(thresholds),
    )
    named = ("pr", "Precision and recall", words, FRAME, ("recall", "precision"))
    return chart(*named, marks)


def steps(curve: PrecisionRecall, most: int = CURVE_POINTS) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of a curve whose area is the average precision."""
    recall, precision = np.asarray(curve.recall), np.asarray(curve.precision)
    if not np.isfinite(recall).all():
        return recall[:0], precision[:0]
    kept = np.flatnonzero(np.diff(recall, prepend=0.0) > 0)  # others only lower the precision
    kept = kept[thinned(len(kept), most)] if len(kept) else kept
    begins = np.append(0.0, recall[kept][:-1])
    return np.column_stack([begins, recall[kept]]).ravel(), np.repeat(precision[kept], 2)


def _dots(thresholds: ThresholdStudy) -> Markup:
    found = thresholds.table
    tips = [
        f"called from {number(t, 3)} on\nprecision {percent(p)}, recall {percent(r)}"
        for t, p, r in zip(found.at, found.precision, found.recall, strict=True)
    ]
    return dots(FRAME, found.recall, found.precision, "model large", tips)


# ---------------------------------------------------------------- thresholds
def threshold_card(evaluation: Any, thresholds: ThresholdStudy) -> Markup:
    """Return what follows from calling rows positive from some probabilities on."""
    found, name = thresholds.table, called(evaluation.positive)
    head = ["from", "precision", "recall", "F₁", "flagged"]
    columns = (found.precision, found.recall, found.f1, found.flagged)
    rows = [
        [_marked(t, thresholds), *(percent(column[i]) for column in columns)]
        for i, t in enumerate(found.at)
    ]
    words = f"What these rows would show if a row were called {name} from each probability on."
    told = [words, "● is what the model does."]
    told += [f"★ {sentence(thresholds.words)}"] if thresholds.words else []
    inside = table(head, rows, "Thresholds", "numbers")
    return card("Where to draw the line", tag("p", " ".join(told)), inside)


def _marked(threshold: float, thresholds: ThresholdStudy) -> Markup:
    """Return a threshold with marks, and their meaning for those who hear the page."""
    marks = {
        "●": ("used", thresholds.used == threshold),
        "★": ("largest F₁ of the training rows", thresholds.chosen == threshold),
    }
    found = {sign: word for sign, (word, holds) in marks.items() if holds}
    signs = tag("span", " ", "".join(found), aria_hidden="true") if found else None
    hidden = tag("span", f" ({', '.join(found.values())})", class_="hidden") if found else None
    return join(number(threshold, 3), signs, hidden)
