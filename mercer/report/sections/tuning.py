"""Tuning: cross-validated scores over the parameters that were tried."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._words import number, sentence, short
from mercer.report.charts import heat
from mercer.report.charts.frame import Frame, drawing, figure
from mercer.report.charts.marks import dots, line, ring
from mercer.report.charts.scale import Bands, Linear, numeric, parameter_scale
from mercer.report.html import Markup, tag
from mercer.report.page import card, table
from mercer.report.study import Surface
from mercer.report.wording import aligned

FULL = 0.5  # a grid of which less was tried is drawn as points
LISTED = 12


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
    frame = Frame(scale, Linear.over(scores), width=460.0, height=340.0)
    best = surface.chosen[0]
    inside = drawing(
        "surface",
        (frame.width, frame.height),
        _summary(surface),
        frame.axes(surface.parameters[0], surface.scoring),
        line(frame, x, scores, "model") if not isinstance(scale, Bands) else None,
        dots(frame, x, scores, "model large", [_tip(surface, (i,)) for i in range(len(values))]),
        ring(*(float(v) for v in frame.at(x[best], scores[best]))),
    )
    return figure("surface", "Scores tried", _words(surface), inside)


def _map(surface: Surface) -> Markup:
    """Return the scores over two parameters."""
    draw = _cells if _is_full(surface) else _points
    frame, marks = draw(surface)
    inside = drawing(
        "surface",
        (frame.width, frame.height),
        _summary(surface),
        frame.axes(*surface.parameters),
        marks,
    )
    return figure(
        "surface", "Scores tried", _words(surface), inside, heat.colour_bar(surface.scores)
    )


def _is_full(surface: Surface) -> bool:
    tried = np.isfinite(surface.scores).mean()
    return bool(tried >= FULL) or not all(numeric(v) and len(v) > 2 for v in surface.values)


def _cells(surface: Surface) -> tuple[Frame, Markup]:
    columns, rows = (list(map(_told, values)) for values in surface.values)
    frame = heat.cell_frame(columns, rows)
    tips = [[_tip(surface, (i, j)) for j in range(len(rows))] for i in range(len(columns))]
    return frame, heat.cells(frame, surface.scores, tips, (surface.chosen[0], surface.chosen[1]))


def _points(surface: Surface) -> tuple[Frame, Markup]:
    tried = np.argwhere(np.isfinite(surface.scores))
    x, y = (np.asarray(v, dtype=float)[tried[:, k]] for k, v in enumerate(surface.values))
    frame = heat.point_frame(*surface.values)
    chosen = int(np.flatnonzero((tried == surface.chosen).all(axis=1))[0])
    tips = [_tip(surface, tuple(place)) for place in tried]
    scores = surface.scores[tuple(tried.T)]
    return frame, heat.scattered(frame, x, y, scores, tips, chosen)


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
    return number(value, 3) if numeric([value]) else short(value, 28)
