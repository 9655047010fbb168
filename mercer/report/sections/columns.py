"""Columns: what the score loses when a column is shuffled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer._words import NBSP, count, number, sentence, short
from mercer.report.charts.intervals import axis_over, axis_strip, bar_strip
from mercer.report.charts.scale import Linear
from mercer.report.html import Markup, tag
from mercer.report.study import Importance
from mercer.report.wording import aligned

SHOWN = 25


def columns(importances: Sequence[Importance], words: str) -> Markup | None:
    """Return bars with intervals, the most important column first."""
    if not importances:
        return None
    order = sorted(importances, key=lambda one: -np.nan_to_num(one.drop.value, nan=-np.inf))
    axis = axis_over([one.drop for one in order], 0.0)
    texts = aligned([one.drop.value for one in order])
    rows = [_row(one, text, axis) for one, text in zip(order, texts, strict=True)]
    return tag(
        "article",
        tag("h3", "What the score loses without a column"),
        tag("p", sentence(words)) if words else None,
        _bars(rows[:SHOWN], axis),
        _more(rows[SHOWN:], axis),
        class_="card",
    )


def _more(rows: Sequence[Markup], axis: Linear) -> Markup | None:
    if not rows:
        return None
    return tag("details", tag("summary", count(len(rows), "more column")), _bars(rows, axis))


def _bars(rows: Sequence[Markup], axis: Linear) -> Markup:
    numbers = tag("li", axis_strip(axis), aria_hidden="true")
    return tag("ul", rows, numbers, class_="contest importance")


def _row(one: Importance, text: str, axis: Linear) -> Markup:
    drop = one.drop
    between = f"95{NBSP}% interval {number(drop.low, 3)} to {number(drop.high, 3)}"
    tip = f"{one.column}\nthe score falls by {number(drop.value, 3)}\n{between}"
    return tag(
        "li",
        tag("span", short(one.column, 60), class_="name"),
        tag("span", text, tag("span", f", {between}", class_="hidden")),
        bar_strip(axis, drop, tip),
        class_="quiet" if drop.low <= 0.0 <= drop.high else None,
    )
