"""Performance of predicted classes: confusions, ROC curves, calibration, figures of each class."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._words import called, count, fixed, percent
from mercer.plot.ranking_records import RocCurves
from mercer.plot.records import Confusion
from mercer.report.charts.frame import (
    Frame,
    bars,
    chart,
    dots,
    figure,
    guide,
    legend,
    line,
    thinned,
    whiskers,
)  # fmt: skip
from mercer.report.charts.scale import LinearScale
from mercer.report.html import Markup, card, scroller, stack, switch, table, tag
from mercer.report.sections.rare import FRAME, RATES, precision_recall, threshold_card
from mercer.report.study import ThresholdStudy

SHARES_UP_TO = 6  # up to so many classes a cell shows the count and the share
WIDE = 12  # more classes than this have smaller cells
UPRIGHT = 5  # from so many classes on the headings stand upright
MOST_SHORT_LETTERS = 3  # unless the names of all of them have at most so many letters
PARTS = 2  # tables beside each other, for the figures of many classes
WIDTHS = ((20, "wide"), (WIDE, "large"), (SHARES_UP_TO, "broad"))  # what more classes need
CURVE_POINTS = 400  # of one curve; several share four times as many
GRID = np.linspace(0.0, 1.0, 101)
CELLS = (("counts", "Counts"), ("shares", "Row shares"))


def panels(
    evaluation: Any, learning: Markup | None, thresholds: ThresholdStudy | None = None
) -> list[Markup]:
    """Return the cells of the grid, in an order that leaves no gaps for few or many classes."""
    matrix, figures = confusion(evaluation), by_class(evaluation)
    charts = [
        roc(evaluation) if evaluation.roc is not None else None,
        calibration(evaluation) if evaluation.calibration is not None else None,
    ]
    size = len(evaluation.labels)
    if evaluation.positive is not None and charts[0]:
        curve = precision_recall(evaluation, thresholds)
        line = threshold_card(evaluation, thresholds) if thresholds else None
        order = [stack(matrix, figures), charts[0], curve, line, charts[1], learning]
    elif size > WIDE:
        beside = tag("div", *charts, class_="stack pair") if any(charts) else None
        order = [matrix, beside, figures, learning]
    elif size > SHARES_UP_TO:
        order = [matrix, figures, *charts, learning]
    elif all(charts) and learning:
        order = [matrix, *charts, figures, learning]
    else:
        order = [stack(matrix, figures), *charts, learning]
    return [cell for cell in order if cell]


# ---------------------------------------------------------------- confusions
def confusion(evaluation: Any) -> Markup:
    """Return which class was taken for which, as a table of tinted cells."""
    counts = np.asarray(evaluation.confusion)
    names = [called(label, 18) for label in evaluation.labels]
    shares, size = Confusion(counts, names).shares, len(names)
    kind = "both" if size <= SHARES_UP_TO else "one"
    upright = size >= UPRIGHT and max(map(len, names)) > MOST_SHORT_LETTERS
    class_ = f"confusion {kind}{' upright' * upright}{' dense' * (size > WIDE)}"
    head = tag(
        "tr", tag("td", "truth ↓", tag("br"), "taken for →"), [_heading(n, "col") for n in names]
    )
    body = [_row(names, i, counts[i], shares[i]) for i in range(size)]
    caption = tag("caption", "Rows by true class, columns by predicted class")
    inside = tag("table", caption, tag("thead", head), tag("tbody", body), class_=class_)
    right = percent(np.trace(counts) / counts.sum())
    words = f"{right} lie on the diagonal. A cell is tinted by its share of the row."
    wide = next((name for least, name in WIDTHS if size > least), "")
    choice = switch("cells", "Cells show", CELLS) if size > SHARES_UP_TO else None
    return figure(
        "confusion", "Confusions", words, choice, scroller(inside, "Confusions"), class_=wide
    )


def _heading(name: str, scope: str) -> Markup:
    return tag("th", tag("span", name), scope=scope)


def _row(names: list[str], i: int, counts: np.ndarray, shares: np.ndarray) -> Markup:
    cells = [_cell(names, i, j, counts[j], shares[j]) for j in range(len(names))]
    return tag("tr", _heading(names[i], "row"), cells)


def _cell(names: list[str], i: int, j: int, n: float, share: float) -> Markup:
    tip = f"{names[i]} taken for {names[j]}\n{count(n, 'row')}\n{percent(share)} of {names[i]}"
    kind = ("right" if i == j else "wrong") if n else "none"
    return tag(
        "td",
        tag("span", _counted(n), class_="count"),
        tag("span", percent(share, 0), class_="share"),
        class_=kind,
        # the root makes few rows visible: one error in a hundred is what one looks for
        style=f"--share:{np.sqrt(share):.2f}" if n else None,
        data_tip=tip,
    )


def _counted(rows: float) -> str:
    """Return a number of rows; weighted ones may be a part of a row."""
    return f"{rows:,.0f}" if rows == round(rows) else f"{rows:,.1f}"


# ---------------------------------------------------------------- ROC curves
def roc(evaluation: Any) -> Markup:
    """Return the ROC curve of the positive class, or of each class against the rest."""
    of = RocCurves.of_evaluation(evaluation)
    return _of_many(of) if evaluation.positive is None else _of_one(of)


def _picture(words: str, summary: str, curves: Any, *below: Any) -> Markup:
    names = ("false positive rate", "true positive rate")
    marks = guide(FRAME, [0, 1], [0, 1]), curves
    return chart("roc", "ROC", words, FRAME, names, marks, *below, summary=summary)


def _of_one(of: RocCurves) -> Markup:
    (label,), (curve,), area = of.labels, of.curves, fixed(of.areas[0])
    words = f"Class {called(label)} against the rest: area under the curve {area}."
    few, more = curve.height(np.array([0.05, 0.2]))
    summary = f"{words} At 5 and 20 % false alarms {percent(few)} and {percent(more)} are found."
    drawn = line(FRAME, *thin(curve, CURVE_POINTS), "model", f"area {area}")
    return _picture(words, summary, drawn)


def _worst(names: list[str], areas: list[str], place: int) -> str:
    return f"the worst is {names[place]} with {areas[place]}"


def _of_many(of: RocCurves) -> Markup:
    """Return thin lines for the classes, and their mean."""
    if not len(of.known):
        words = "No class has both rows of its own and rows of others."
        return _picture(words, words, None)
    names, areas = [called(label) for label in of.labels], [fixed(area) for area in of.areas]
    mean, worst = fixed(np.mean(of.areas[of.known])), of.worst
    alike = {areas[i] for i in of.known} == {mean}
    each = f"area {mean} for all" if alike else f"mean area {mean}; {_worst(names, areas, worst)}"
    words = f"Each class against the rest: {each}."
    most = max(30, CURVE_POINTS * 4 // len(names))
    lines = [
        line(FRAME, *thin(of.curves[i], most), f"class k{i}{' pick' * bool(i == worst)}",
             f"{names[i]}\narea {areas[i]}")
        for i in of.known
    ]  # fmt: skip
    lines.append(line(FRAME, GRID, of.mean(GRID), "model", f"mean of {len(of.known)} classes"))
    marks = legend([("model", "mean"), ("pick", "picked"), ("class", "others")])
    picker = _picker(of, [f"{n}, area {area}" for n, area in zip(names, areas, strict=True)])
    return _picture(words, words, tag("g", lines), marks, picker)


def _picker(of: RocCurves, texts: list[str]) -> Markup:
    options = [tag("option", texts[i], value=i, selected=bool(i == of.worst)) for i in of.known]
    choice = tag("select", options, id="roc-pick")
    return tag("label", "Pick a class ", choice, class_="picker needs-script")


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


# ---------------------------------------------------------------- calibration
def calibration(evaluation: Any) -> Markup:
    """Return what probabilities say against what came true, with the rows of each bin."""
    bins = evaluation.calibration
    filled = np.asarray(bins.weight) > 0
    said, seen, n = (np.asarray(v)[filled] for v in (bins.predicted, bins.observed, bins.weight))
    low, high = _wilson(seen, n)
    frame = Frame(RATES, RATES, height=300.0)
    tips = [
        f"said {percent(a)}, came true {percent(b)}\n{count(c, 'row')}"
        for a, b, c in zip(said, seen, n, strict=True)
    ]
    summary = "; ".join(t.replace("\n", ", ") for t in tips)
    marks = (
        guide(frame, [0, 1], [0, 1]),
        whiskers(frame, said, low, high, "model"),
        line(frame, said, seen, "model"),
        dots(frame, said, seen, "model large", tips),
    )
    return chart(
        "calibration",
        "Calibration",
        _calibration_words(evaluation),
        frame,
        ("probability said", "share that came true"),
        marks,
        _counts(frame, bins),
        summary=f"In steps of the probability: {summary}.",
    )


def _calibration_words(evaluation: Any) -> str:
    what = "the predicted class" if evaluation.positive is None else called(evaluation.positive)
    return (
        f"Probabilities of {what} are off by {percent(evaluation.ece)} on average; "
        f"on the dashed line they are what they say."
    )


def _counts(above: Frame, bins: Any) -> Markup:
    """Return the rows of each bin, under the axis of the chart above."""
    weight = np.asarray(bins.weight)
    tips = [
        f"{percent(a, 0)} to {percent(b, 0)}\n{count(n, 'row')}"
        for a, b, n in zip(bins.edges[:-1], bins.edges[1:], weight, strict=True)
    ]
    y = LinearScale(0.0, float(weight.max()) or 1.0, count=1)
    frame = Frame(above.x, y, height=70.0, top=8.0, bottom=6.0, room=above.left)
    inside = bars(frame, bins.edges, weight, "soft", tips)
    name = tag("text", "rows", x=2, y=40, class_="axis")
    return tag("svg", name, inside, viewBox="0 0 420 70", aria_hidden="true", class_="below")


def _wilson(share: np.ndarray, n: np.ndarray, z: float = 1.96) -> tuple[np.ndarray, np.ndarray]:
    """Return Wilson's 95 % interval of shares of n rows."""
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return middle - half, middle + half


# ---------------------------------------------------------------- each class
def by_class(evaluation: Any) -> Markup:
    """Return recall, precision and F₁ of each class."""
    sizes = np.asarray(evaluation.confusion).sum(axis=1)
    columns = (evaluation.recall, evaluation.precision, evaluation.f1)
    rows = [
        [called(label, 32), _counted(sizes[i]), *(percent(column[i]) for column in columns)]
        for i, label in enumerate(evaluation.labels)
    ]
    head = ["class", "rows", "recall", "precision", "F₁"]
    step = len(rows) if len(rows) <= WIDE else -(-len(rows) // PARTS)
    tables = [
        table(head, rows[i : i + step], "Figures of each class", "numbers")
        for i in range(0, len(rows), step)
    ]
    notes = tag("ul", [tag("li", note) for note in evaluation.notes]) if evaluation.notes else None
    wide = "wide" if len(tables) > 1 else ""
    return card("Each class", tag("div", tables, class_="side-by-side"), notes, class_=wide)
