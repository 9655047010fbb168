"""The first tab: how well the model does, and whether more rows would help."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._words import count, number, sentence
from mercer.report.charts.frame import Frame, band, dots, drawing, figure, legend, line
from mercer.report.charts.scale import Linear, Log
from mercer.report.html import Markup, tag
from mercer.report.sections import classification, regression
from mercer.report.study import Curve, Study

TASKS = {"classify": classification.panels, "regress": regression.panels}


def performance(study: Study) -> Markup | None:
    """Return the cards of the evaluation and the learning curve."""
    more = learning(study.curve) if study.curve is not None else None
    cells = TASKS[study.task](study.evaluation, more) if study.evaluation is not None else [more]
    return tag("div", cells, class_="flow") if any(cells) else None


def learning(curve: Curve) -> Markup:
    """Return scores on seen and unseen rows for growing training sets."""
    sizes = np.asarray(curve.sizes, dtype=float)
    ends = [v + s * w for v, w in _lines(curve) for s in (-1, 1)]
    wide = len(sizes) > 1 and sizes.max() > 20 * sizes.min()
    x = Log.over(sizes) if wide else Linear.over(sizes)
    frame = Frame(x, Linear.over(*ends), height=300.0)
    inside = drawing(
        "learning",
        (frame.width, frame.height),
        _summary(curve),
        frame.axes("rows to learn from", curve.scoring),
        [
            _curve(frame, sizes, *pair, kind)
            for pair, kind in zip(_lines(curve), KINDS, strict=True)
        ],
    )
    words = "While the line of unseen rows still rises at the right, more rows are likely to help."
    words = f"{words} {sentence(curve.words)}" if curve.words else words
    marks = legend([("second", "on rows it learned from"), ("model", "on rows it did not see")])
    return figure("learning", "Learning curve", words, inside, marks, class_="beside")


KINDS = ("second", "model")


def _lines(curve: Curve) -> list[tuple[np.ndarray, np.ndarray]]:
    pairs = [(curve.train, curve.train_spread), (curve.test, curve.test_spread)]
    return [(np.asarray(v, dtype=float), np.asarray(s, dtype=float)) for v, s in pairs]


def _curve(frame: Frame, sizes: Any, mean: Any, spread: Any, kind: str) -> Markup:
    told = {"second": "on rows it learned from", "model": "on rows it did not see"}[kind]
    tips = [
        f"{number(v, 3)} ± {number(s, 2)}\n{told}, from {count(n, 'row')}"
        for n, v, s in zip(sizes, mean, spread, strict=True)
    ]
    area = band(frame, sizes, mean - spread, mean + spread, kind)
    return tag(
        "g", area, line(frame, sizes, mean, kind), dots(frame, sizes, mean, f"{kind} large", tips)
    )


def _summary(curve: Curve) -> str:
    first, last = float(curve.test[0]), float(curve.test[-1])
    return (
        f"{curve.scoring} on unseen rows goes from {number(first, 3)} with "
        f"{count(curve.sizes[0], 'row')} to {number(last, 3)} with {count(curve.sizes[-1], 'row')}."
    )
