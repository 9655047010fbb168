"""Partial dependence: how predictions go with one column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer._words import number, sentence, short
from mercer.cv_results import is_number
from mercer.plot.records import PartialDependence
from mercer.report.charts.frame import Frame, band, chart, dots, legend, line
from mercer.report.charts.scale import Bands, LinearScale
from mercer.report.html import Markup, join, tag

KINDS = ("model", "second", "third")
"""The lines by the class of the style sheet."""


def dependence(found: Sequence[PartialDependence], words: str) -> Markup | None:
    """Return a chart for each column, all with one scale of predictions."""
    if not found:
        return None
    y = LinearScale.over(*(part for one in found for part in _extent(one)))
    charts = [_chart(one, y, f"dependence-{i}") for i, one in enumerate(found)]
    return join(
        tag("h3", "How predictions go with a column"),
        tag("p", sentence(words), class_="words"),
        _legend(found[0].names) if len(found[0].names) > 1 else None,
        tag("div", charts, class_="grid columns"),
    )


def _legend(names: Sequence[str]) -> Markup:
    return legend([(kind, short(name)) for kind, name in zip(KINDS, names, strict=False)])


def _extent(one: PartialDependence) -> tuple[np.ndarray, ...]:
    return (one.mean,) if len(one.names) > 1 else (one.low, one.high)


def _chart(one: PartialDependence, y: LinearScale, key: str) -> Markup:
    numeric = all(map(is_number, one.values))
    x = np.asarray(one.values, float) if numeric else np.arange(len(one.values))
    scale = LinearScale.over(x) if numeric else Bands(tuple(map(str, one.values)), most=5)
    frame = Frame(scale, y, width=340.0, height=240.0)
    marks = [_line(frame, one, x, k, numeric) for k in range(len(one.names))]
    names = (short(one.column, 30), "prediction" if one.names == ("prediction",) else _shown(one))
    return chart(key, short(one.column, 60), "", frame, names, marks, summary=_summary(one))


def _shown(one: PartialDependence) -> str:
    return short(one.names[0], 30) if len(one.names) == 1 else "each class"


def _line(frame: Frame, one: PartialDependence, x: np.ndarray, k: int, numeric: bool) -> Markup:
    kind, mean = KINDS[k], one.mean[:, k]
    tips = [
        f"{short(one.column)} = {_told(v)}\n{one.names[k]} {number(m, 3)}"
        for v, m in zip(one.values, mean, strict=True)
    ]
    area = band(frame, x, one.low[:, k], one.high[:, k], kind) if len(one.names) == 1 else None
    drawn = line(frame, x, mean, kind) if numeric else None
    return tag("g", area, drawn, dots(frame, x, mean, kind, tips))


def _told(value: object) -> str:
    return number(value, 4) if is_number(value) else short(value)


def _summary(one: PartialDependence) -> str:
    """Return the lowest and the highest mean of each line, in words."""
    told = []
    for k, name in enumerate(one.names):
        low, high = int(one.mean[:, k].argmin()), int(one.mean[:, k].argmax())
        ends = [f"{number(one.mean[i, k], 3)} at {_told(one.values[i])}" for i in (low, high)]
        told.append(f"{short(name)}: from {ends[0]} to {ends[1]}")
    return "; ".join(told) + "."
