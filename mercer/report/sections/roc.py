"""ROC curves: of one class, or of many of which the worst and a picked one stand out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._words import called, fixed, percent
from mercer.report.charts.frame import Frame, drawing, figure, legend, thinned
from mercer.report.charts.marks import guide, line
from mercer.report.charts.scale import Linear
from mercer.report.html import Markup, tag

RATES = Linear(-0.02, 1.02)  # a little air: perfect curves lie on the edge
FRAME = Frame(RATES, RATES, height=360.0)
CURVE_POINTS = 400  # of one curve; several share four times as many
GRID = np.linspace(0.0, 1.0, 101)


def roc(evaluation: Any) -> Markup:
    """Return the ROC curve of the positive class, or of each class against the rest."""
    if evaluation.positive is not None:
        return _of_one(evaluation)
    return _of_many(Curves.of(evaluation))


@dataclass(frozen=True)
class Curves:
    """One curve a class, some of which may be undefined."""

    names: list[str]
    areas: np.ndarray
    curves: Any
    known: np.ndarray  # the classes that have a curve

    @classmethod
    def of(cls, evaluation: Any) -> Curves:
        """Take the curves of an evaluation."""
        areas = np.asarray(evaluation.auc_by_class)
        names = [called(label) for label in evaluation.labels]
        return cls(names, areas, evaluation.roc, np.flatnonzero(np.isfinite(areas)))

    @property
    def worst(self) -> int:
        """The class with the smallest area."""
        return int(self.known[np.argmin(self.areas[self.known])])

    def told(self, i: int) -> str:
        """Return the area under a curve."""
        return f"area {fixed(self.areas[i])}"

    def mean(self) -> np.ndarray:
        """Return the mean height of the curves at even false positive rates."""
        return np.mean([height(self.curves[i], GRID) for i in self.known], axis=0)


# ---------------------------------------------------------------- pictures
def _picture(words: str, summary: str, curves: Any, *below: Any) -> Markup:
    axes = FRAME.axes("false positive rate", "true positive rate")
    base = (axes, guide(FRAME, [0, 1], [0, 1]))
    inside = drawing("roc", (FRAME.width, FRAME.height), summary, *base, curves)
    return figure("roc", "ROC", words, inside, *below)


def _of_one(evaluation: Any) -> Markup:
    area = fixed(evaluation.auc)
    words = f"Class {called(evaluation.positive)} against the rest: area under the curve {area}."
    curve = line(FRAME, *thin(evaluation.roc, CURVE_POINTS), "model", f"area {area}")
    return _picture(words, f"{words} {_reading(evaluation.roc)}", curve)


def _reading(curve: Any) -> str:
    few, more = height(curve, np.array([0.05, 0.2]))
    return f"At 5 and 20 % false alarms {percent(few)} and {percent(more)} are found."


def _of_many(of: Curves) -> Markup:
    if not len(of.known):
        words = "No class has both rows of its own and rows of others."
        return _picture(words, words, None)
    mean, worst = fixed(np.mean(of.areas[of.known])), of.worst
    words = (
        f"Each class against the rest: mean area {mean}; "
        f"worst is {of.names[worst]} with {fixed(of.areas[worst])}."
    )
    marks = legend([("model", "mean"), ("pick", "picked"), ("class", "others")])
    return _picture(words, words, tag("g", _lines(of)), marks, _picker(of))


def _lines(of: Curves) -> list[Markup]:
    """Return thin lines for the classes, and their mean."""
    most = max(30, CURVE_POINTS * 4 // len(of.names))
    drawn = [_line(of, i, most) for i in of.known]
    return [*drawn, line(FRAME, GRID, of.mean(), "model", f"mean of {len(of.known)} classes")]


def _line(of: Curves, i: int, most: int) -> Markup:
    class_ = f"class k{i}{' pick' if i == of.worst else ''}"
    return line(FRAME, *thin(of.curves[i], most), class_, f"{of.names[i]}\n{of.told(i)}")


def _picker(of: Curves) -> Markup:
    options = [
        tag("option", f"{of.names[i]}, {of.told(i)}", value=i, selected=bool(i == of.worst))
        for i in of.known
    ]
    choice = tag("select", options, id="roc-pick")
    return tag("label", "Pick a class ", choice, class_="picker needs-script")


# ---------------------------------------------------------------- curves
def height(curve: Any, grid: np.ndarray) -> np.ndarray:
    """Return the hit rate at false positive rates: the upper end where the curve is upright."""
    x, y = np.asarray(curve.fpr), np.asarray(curve.tpr)
    last = np.append(np.diff(x) > 0, True)
    return np.interp(grid, x[last], y[last])


def thin(curve: Any, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points of a curve at even steps along its length."""
    x, y = np.asarray(curve.fpr), np.asarray(curve.tpr)
    if not np.isfinite(x + y).all():
        return x[:0], y[:0]
    along = np.append(0.0, np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y))))
    steps = np.linspace(0.0, along[-1], most)
    kept = np.unique(np.searchsorted(along, steps[:-1])) if len(x) > most else thinned(len(x), most)
    kept = np.union1d(kept, [0, len(x) - 1])
    return x[kept], y[kept]
