"""Tuning: cross-validated scores over the parameters that were tried."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._words import number, sentence, short
from mercer.cv_results import is_number
from mercer.plot.records import Surface
from mercer.report.charts.frame import Frame, chart, colour_bar, dot, dots, line, ring
from mercer.report.charts.scale import Bands, LinearScale, parameter_scale
from mercer.report.html import Markup, card, join, table, tag
from mercer.report.wording import aligned

FULL_GRID_SHARE = 0.5  # a grid of which less was tried is drawn as points
LISTED = 12
STEPS = 9  # colours of the style sheet, --seq-0 to --seq-8
NARROWEST = 34.0  # a cell that is narrower shows its number only on hover


def tuning(surface: Surface | None) -> Markup | None:
    """Return the scores as a curve or a map, and the best of them as a table."""
    if surface is None or not surface.parameters:
        return None
    picture = {1: _curve, 2: _map}.get(len(surface.parameters))
    return tag(
        "div", picture(surface) if picture else None, _best(surface), class_="grid pairs-of-two"
    )


def _curve(surface: Surface) -> Markup:
    """Return the scores over one parameter."""
    values, scores = surface.values[0], np.asarray(surface.scores, dtype=float)
    scale = parameter_scale(values)
    x = np.arange(len(values)) if isinstance(scale, Bands) else np.asarray(values, dtype=float)
    frame = Frame(scale, LinearScale.over(scores), width=460.0, height=340.0)
    best = surface.chosen[0]
    tips = [_tip(surface, (i,)) for i in range(len(values))]
    marks = [
        line(frame, x, scores, "model") if not isinstance(scale, Bands) else None,
        dots(frame, x, scores, "model large", tips),
        ring(*(float(v) for v in frame.at(x[best], scores[best]))),
    ]
    return _picture(surface, frame, (surface.parameters[0], surface.scoring), marks)


def _map(surface: Surface) -> Markup:
    """Return the scores over two parameters."""
    draw = _cells if _is_full(surface) else _points
    frame, marks = draw(surface)
    (across, up), (_, low, high) = surface.parameters, steps(surface.scores)
    colours = [f"s{step}" for step in range(STEPS)]
    bar = colour_bar(f"≤ {number(low, 3)}", colours, number(high, 3))
    return _picture(surface, frame, (across, up), marks, bar)


def _picture(
    surface: Surface, frame: Frame, names: tuple[str, str], marks: Any, *below: Any
) -> Markup:
    words, summary = _words(surface), _summary(surface)
    return chart("surface", "Scores tried", words, frame, names, marks, *below, summary=summary)


def _is_full(surface: Surface) -> bool:
    """Tell whether cells are drawn: of a grid of which half was tried, or which has no scale."""
    scaled = all(len(v) > 2 and all(map(is_number, v)) for v in surface.values)
    return bool(np.isfinite(surface.scores).mean() >= FULL_GRID_SHARE) or not scaled


def _cells(surface: Surface) -> tuple[Frame, Markup]:
    """Return a cell for each score; untried ones stay empty."""
    x, y = (Bands(tuple(map(_told, values))) for values in surface.values)
    height = min(420.0, max(180.0, 80.0 + 38.0 * len(y.names)))
    frame = Frame(x, y, width=460.0, height=height)
    colour, places = steps(surface.scores)[0], np.argwhere(np.isfinite(surface.scores)).tolist()
    texts = aligned([surface.scores[i, j] for i, j in places])
    boxes = [
        _cell(frame, i, j, text, colour[i, j], _tip(surface, (i, j)))
        for (i, j), text in zip(places, texts, strict=True)
    ]
    return frame, tag("g", boxes, _cell_ring(frame, *surface.chosen), class_="heat")


def _points(surface: Surface) -> tuple[Frame, Markup]:
    """Return a coloured point for each score."""
    tried = np.argwhere(np.isfinite(surface.scores))
    x, y = (np.asarray(v, dtype=float) for v in surface.values)
    frame = Frame(parameter_scale(x), parameter_scale(y), width=460.0, height=360.0)
    columns, rows = frame.at(x[tried[:, 0]], y[tried[:, 1]])
    colour, _, _ = steps(surface.scores[tuple(tried.T)])
    points = [
        tag("circle", cx=dot(a), cy=dot(b), r=6, class_=f"s{c}", data_tip=_tip(surface, place))
        for a, b, c, place in zip(columns, rows, colour, tried, strict=True)
    ]
    a, b = frame.at(*(v[i] for v, i in zip((x, y), surface.chosen, strict=True)))
    return frame, tag("g", points, ring(float(a), float(b)), class_="heat")


def _best(surface: Surface) -> Markup:
    """Return the best points as a table."""
    flat = np.where(np.isfinite(surface.scores), surface.scores, -np.inf).ravel()
    order = np.argsort(-flat, kind="stable")[: min(LISTED, int(np.isfinite(flat).sum()))]
    places = [np.unravel_index(i, surface.scores.shape) for i in order]
    texts = aligned([surface.scores[place] for place in places])
    rows = [
        [
            str(rank + 1),
            *(_told(v[i]) for v, i in zip(surface.values, place, strict=True)),
            tag("b", text) if tuple(place) == tuple(surface.chosen) else text,
        ]
        for rank, (place, text) in enumerate(zip(places, texts, strict=True))
    ]
    head = ["rank", *map(short, (*surface.parameters, surface.scoring))]
    return card("The best of them", table(head, rows, "The best candidates", "numbers"))


def _words(surface: Surface) -> str:
    chosen = _point(surface, surface.chosen)
    return f"{sentence(surface.words)} The ring is what was chosen: {chosen}."


def _summary(surface: Surface) -> str:
    known = surface.scores[np.isfinite(surface.scores)]
    ends = f" from {number(known.min(), 3)} to {number(known.max(), 3)}" if len(known) else ""
    return f"{surface.scoring}{ends}; chosen is {_point(surface, surface.chosen)}."


def _point(surface: Surface, place: Any) -> str:
    pairs = zip(surface.parameters, surface.values, place, strict=True)
    return ", ".join(f"{short(name, 40)} = {_told(values[i])}" for name, values, i in pairs)


def _tip(surface: Surface, place: Any) -> str:
    score = surface.scores[tuple(place)]
    return f"{surface.scoring} {number(score)}\n" + _point(surface, place).replace(", ", "\n")


def _told(value: Any) -> str:
    return number(value, 3) if is_number(value) else short(value, 28)


# ---------------------------------------------------------------- colours
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
    if width < NARROWEST or height < 16:
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
