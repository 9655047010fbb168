"""Performance of predicted classes: confusions, ROC curves, calibration, figures of each class."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.report.charts.frame import Frame, drawing, figure, legend, thinned
from mercer.report.charts.marks import bars, dots, guide, line, whiskers
from mercer.report.charts.scale import Linear
from mercer.report.html import Markup, tag
from mercer.report.page import card, scroller, stack, switch, table
from mercer.report.wording import called, count, fixed, percent

BOTH = 5  # up to so many classes a cell shows the count and the share
WIDE = 12  # more classes than this take the whole width
UPRIGHT = 6  # from so many classes on the headings stand upright
CURVE_POINTS = 400  # of one curve; several share them
RATES = Linear(-0.02, 1.02)  # a little air: perfect curves lie on the edge
CELLS = (("counts", "Counts"), ("shares", "Row shares"))


def panels(evaluation: Any, learning: Markup | None) -> list[Markup]:
    """Return the cells of the grid, in an order that leaves no gaps for few or many classes."""
    matrix, figures = confusion(evaluation), by_class(evaluation)
    charts = [
        roc(evaluation) if evaluation.roc is not None else None,
        calibration(evaluation) if evaluation.calibration is not None else None,
    ]
    size = len(evaluation.labels)
    if size <= BOTH:
        order = [matrix, *charts, figures, learning]
    elif size <= WIDE:
        order = [matrix, figures, *charts, learning]
    else:
        order = [matrix, figures, stack(*charts, learning)]
    return [cell for cell in order if cell]


# ---------------------------------------------------------------- confusions
def confusion(evaluation: Any) -> Markup:
    """Return which class was taken for which, as a table of tinted cells."""
    counts = np.asarray(evaluation.confusion)
    names = [called(label, 18) for label in evaluation.labels]
    size = len(names)
    kind = "both" if size <= BOTH else "one"
    class_ = f"confusion {kind}{' upright' * (size >= UPRIGHT)}{' dense' * (size > WIDE)}"
    head = tag("tr", tag("td", "truth ↓ taken for →"), [_heading(n, "col") for n in names])
    body = [_confusion_row(names, i, counts[i]) for i in range(size)]
    caption = tag("caption", "Rows by true class, columns by predicted class")
    inside = tag("table", caption, tag("thead", head), tag("tbody", body), class_=class_)
    right = percent(np.trace(counts) / counts.sum())
    words = f"{right} lie on the diagonal. A cell is tinted by its share of the row."
    wide = "wide" if size > WIDE else "broad" if size > BOTH else ""
    choice = switch("cells", "Cells show", CELLS) if size > BOTH else None
    return figure(
        "confusion", "Confusions", words, choice, scroller(inside, "Confusions"), class_=wide
    )


def _heading(name: str, scope: str) -> Markup:
    return tag("th", tag("span", name), scope=scope)


def _confusion_row(names: list[str], i: int, counts: np.ndarray) -> Markup:
    total = counts.sum()
    shares = counts / total if total else np.zeros_like(counts)
    cells = [_confusion_cell(names, i, j, counts[j], shares[j]) for j in range(len(counts))]
    return tag("tr", _heading(names[i], "row"), cells)


def _confusion_cell(names: list[str], i: int, j: int, n: float, share: float) -> Markup:
    tip = f"{names[i]} taken for {names[j]}\n{count(n, 'row')}\n{percent(share)} of {names[i]}"
    kind = ("right" if i == j else "wrong") if n else "none"
    return tag(
        "td",
        tag("span", f"{n:,.5g}", class_="count"),
        tag("span", percent(share, 0), class_="share"),
        class_=kind,
        # the root makes few rows visible: one error in a hundred is what one looks for
        style=f"--share:{np.sqrt(share):.2f}" if n else None,
        data_tip=tip,
    )


# ---------------------------------------------------------------- ROC curves
def roc(evaluation: Any) -> Markup:
    """Return the ROC curve of the positive class, or of each class against the rest."""
    frame = Frame(RATES, RATES, height=360.0)
    axes = frame.axes("false positive rate", "true positive rate")
    base = (axes, guide(frame, [0, 1], [0, 1]))
    if evaluation.positive is not None:
        return _one_roc(evaluation, frame, base)
    return _many_rocs(evaluation, frame, base)


def _one_roc(evaluation: Any, frame: Frame, base: Any) -> Markup:
    area = fixed(evaluation.auc)
    words = f"{called(evaluation.positive)} against the rest: area under the curve {area}."
    curve = line(frame, *_thin(evaluation.roc, CURVE_POINTS), "model", f"area {area}")
    summary = f"{words} {_reading(evaluation.roc)}"
    return figure(
        "roc", "ROC", words, drawing("roc", (frame.width, frame.height), summary, *base, curve)
    )


def _many_rocs(evaluation: Any, frame: Frame, base: Any) -> Markup:
    areas, names = np.asarray(evaluation.auc_by_class), [called(v) for v in evaluation.labels]
    known = np.flatnonzero(np.isfinite(areas))
    worst = int(known[np.argmin(areas[known])]) if len(known) else 0
    most = max(30, CURVE_POINTS * 4 // max(len(names), 1))
    curves = [
        line(
            frame,
            *_thin(evaluation.roc[i], most),
            f"class k{i}{' pick' if i == worst else ''}",
            f"{names[i]}\narea {fixed(areas[i])}",
        )
        for i in known
    ]
    grid = np.linspace(0.0, 1.0, 101)
    mean = line(
        frame,
        grid,
        _mean_curve(evaluation.roc, known, grid),
        "model",
        f"mean of {len(known)} classes",
    )
    words = (
        (
            f"Each class against the rest: mean area {fixed(np.mean(areas[known]))}; "
            f"worst is {names[worst]} with {fixed(areas[worst])}."
        )
        if len(known)
        else "No class has both rows of its own and rows of others."
    )
    return figure(
        "roc",
        "ROC",
        words,
        drawing(
            "roc",
            (frame.width, frame.height),
            words,
            *base,
            tag("g", curves, mean, data_worst=worst),
        ),
        legend([("model", "mean"), ("pick", "picked"), ("class", "others")]),
        _picker(names, areas, known, worst),
    )


def _picker(names: list[str], areas: np.ndarray, known: np.ndarray, worst: int) -> Markup:
    options = [
        tag("option", f"{names[i]}, area {fixed(areas[i])}", value=i, selected=bool(i == worst))
        for i in known
    ]
    return tag(
        "label",
        "Pick a class ",
        tag("select", options, id="roc-pick"),
        class_="picker needs-script",
    )


def _mean_curve(curves: Any, known: np.ndarray, grid: np.ndarray) -> np.ndarray:
    if not len(known):
        return np.full(len(grid), np.nan)
    return np.mean([_height(curves[i], grid) for i in known], axis=0)


def _height(curve: Any, grid: np.ndarray) -> np.ndarray:
    """Return the hit rate at false positive rates: the upper end where the curve is upright."""
    return np.interp(grid, *_upper(np.asarray(curve.fpr), np.asarray(curve.tpr)))


def _upper(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    last = np.append(np.diff(x) > 0, True)
    return x[last], y[last]


def _thin(curve: Any, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points of a curve at even steps along its length."""
    x, y = np.asarray(curve.fpr), np.asarray(curve.tpr)
    if not np.isfinite(x + y).all():
        return x[:0], y[:0]
    along = np.append(0.0, np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y))))
    steps = np.linspace(0.0, along[-1], most)
    kept = np.unique(np.searchsorted(along, steps[:-1])) if len(x) > most else thinned(len(x), most)
    kept = np.union1d(kept, [0, len(x) - 1])
    return x[kept], y[kept]


def _reading(curve: Any) -> str:
    hits = _height(curve, np.array([0.05, 0.2]))
    return f"At 5 and 20 % false alarms {percent(hits[0])} and {percent(hits[1])} are found."


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
    upper = drawing(
        "calibration",
        (frame.width, frame.height),
        "In steps of the probability: " + "; ".join(t.replace("\n", ", ") for t in tips) + ".",
        frame.axes("probability said", "share that came true"),
        guide(frame, [0, 1], [0, 1]),
        whiskers(frame, said, low, high, "model"),
        line(frame, said, seen, "model"),
        dots(frame, said, seen, "model large", tips),
    )
    return figure(
        "calibration", "Calibration", _calibration_words(evaluation), upper, _counts(frame, bins)
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
    y = Linear(0.0, float(weight.max()) or 1.0, count=1)
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
        [called(label, 32), f"{sizes[i]:,.5g}", *(percent(column[i]) for column in columns)]
        for i, label in enumerate(evaluation.labels)
    ]
    head = ["class", "rows", "recall", "precision", "F₁"]
    notes = tag("ul", [tag("li", note) for note in evaluation.notes]) if evaluation.notes else None
    return card("Each class", table(head, rows, "Figures of each class", "numbers"), notes)
