"""Scores over two parameters: cells where the grid is full, coloured points where it is not."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._words import number
from mercer.report.charts.frame import Frame, dot
from mercer.report.charts.marks import ring
from mercer.report.charts.scale import Bands, parameter_scale
from mercer.report.html import Markup, join, tag
from mercer.report.wording import aligned

STEPS = 9  # colours of the style sheet, --seq-0 to --seq-8
WIDEST_LABEL = 34.0  # a cell that is narrower shows its number only on hover


def steps(scores: Any) -> tuple[np.ndarray, float, float]:
    """Return the colour of each score, and the scores of the first and the last colour.

    The first colour takes the lowest tenth, and what is further from the best than three times
    the median is: one bad corner must not make all good places alike.
    """
    known = scores[np.isfinite(scores)]
    low, middle, high = np.quantile(known, [0.1, 0.5, 1.0]) if len(known) else (0.0, 0.5, 1.0)
    low = max(low, high - 3.0 * (high - middle)) if high > middle else low
    share = (np.nan_to_num(scores) - low) / ((high - low) or 1.0)
    return np.clip((share * STEPS).astype(int), 0, STEPS - 1), float(low), float(high)


def cells(frame: Frame, scores: Any, tips: Any, chosen: tuple[int, int]) -> Markup:
    """Return a cell for each score, shape (columns, rows); untried ones stay empty."""
    colour, _, _ = steps(scores)
    places = [
        (i, j) for i in range(len(scores)) for j in range(scores.shape[1]) if _known(scores[i, j])
    ]
    texts = aligned([scores[place] for place in places])
    boxes = [
        _cell(frame, i, j, text, colour[i, j], tips[i][j])
        for (i, j), text in zip(places, texts, strict=True)
    ]
    return tag("g", boxes, _cell_ring(frame, *chosen), class_="heat")


def scattered(frame: Frame, x: Any, y: Any, scores: Any, tips: Any, chosen: int) -> Markup:
    """Return a coloured point for each score."""
    colour, _, _ = steps(scores)
    columns, rows = frame.at(x, y)
    points = [
        tag("circle", cx=dot(a), cy=dot(b), r=6, class_=f"s{c}", data_tip=tip)
        for a, b, c, tip in zip(columns, rows, colour, tips, strict=True)
    ]
    return tag("g", points, ring(columns[chosen], rows[chosen]), class_="heat")


def colour_bar(scores: Any) -> Markup:
    """Return the colours in order, with the scores at both ends."""
    _, low, high = steps(scores)
    swatches = [tag("i", class_=f"s{step}") for step in range(STEPS)]
    return tag(
        "p",
        tag("span", f"≤ {number(low, 3)}"),
        tag("span", swatches, class_="ramp", aria_hidden="true"),
        tag("span", number(high, 3)),
        class_="colour-bar",
    )


def cell_frame(columns: Any, rows: Any) -> Frame:
    """Return the frame of a full grid."""
    x, y = (Bands(tuple(map(str, names))) for names in (columns, rows))
    height = min(420.0, max(180.0, 80.0 + 38.0 * len(y.names)))
    return Frame(x, y, width=460.0, height=height)


def point_frame(columns: Any, rows: Any) -> Frame:
    """Return the frame of scattered points."""
    return Frame(parameter_scale(columns), parameter_scale(rows), width=460.0, height=360.0)


def _cell(frame: Frame, i: int, j: int, text: str, step: int, tip: str) -> Markup:
    x, y, width, height = _box(frame, i, j)
    box = tag(
        "rect",
        x=dot(x + 1),
        y=dot(y + 1),
        width=dot(width - 2),
        height=dot(height - 2),
        rx=3,
        class_=f"s{step}",
        data_tip=tip,
    )
    if width < WIDEST_LABEL or height < 16:
        return box
    middle = {"x": dot(x + width / 2), "y": dot(y + height / 2), "dy": ".35em"}
    return join(box, tag("text", text, class_=f"mid t{step}", **middle))


def _box(frame: Frame, i: int, j: int) -> tuple[float, float, float, float]:
    width, height = frame.inner
    width, height = width * frame.x.step, height * frame.y.step
    x, y = frame.at(i, j)
    return float(x) - width / 2, float(y) - height / 2, width, height


def _cell_ring(frame: Frame, i: int, j: int) -> Markup:
    x, y, width, height = _box(frame, i, j)
    place = {"x": dot(x), "y": dot(y), "width": dot(width), "height": dot(height)}
    return join([tag("rect", rx=4, class_=name, **place) for name in ("halo", "ring")])


def _known(score: float) -> bool:
    return bool(np.isfinite(score))
