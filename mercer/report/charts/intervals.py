"""Estimates and their intervals on one axis, line under line."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer._words import NBSP
from mercer.report.charts.scale import LinearScale, nice
from mercer.report.html import Markup, tag
from mercer.report.study import Estimate
from mercer.report.wording import distinct

REACH = 6.0  # intervals; a rival that is further away stands at the edge, as an arrow


def axis_over(estimates: Sequence[Estimate], *also: float) -> LinearScale:
    """Return an axis that holds all estimates and their intervals."""
    ends = [[e.value, e.low, e.high] for e in estimates]
    return LinearScale.over(
        np.array(ends, dtype=float), np.array(also, dtype=float), pad=0.08, count=3
    )


def axis_around(first: Estimate, others: Sequence[Estimate], *, share: bool = False) -> LinearScale:
    """Return an axis that holds the first estimate and those near enough to compare with.

    Where all are at one point there is nothing to be near to; a share then has all of 0 to 1.
    """
    widths = [e.high - e.low for e in (first, *others) if np.isfinite(e.high - e.low)]
    reach = REACH * max(widths, default=0.0)
    far = {id(e): np.nan_to_num(abs(e.value - first.value), nan=np.inf) for e in others}
    near = [e for e in others if far[id(e)] <= reach]
    if not any(far[id(e)] for e in near) and not any(widths):  # all at one point: no axis
        near = sorted((e for e in others if far[id(e)]), key=lambda e: far[id(e)])[:1]
        if share and not near:
            return axis_over([first], 0.0, 1.0)
    return axis_over([first, *(near or sorted(others, key=lambda e: far[id(e)])[:1])])


def strip(
    axis: LinearScale,
    estimate: Estimate,
    class_: str,
    zero: float | None = None,
    tip: str | None = None,
) -> Markup:
    """Return one estimate as a point on its interval; its place is in per cent of the width."""
    low, value, high = (_percent(axis, v) for v in (estimate.low, estimate.value, estimate.high))
    marks = _beyond(axis, estimate.value) or _point(low, value, high)
    return tag(
        "svg",
        [tag("line", x1=x, x2=x, y1="0", y2="100%", class_="grid") for x in _marks(axis)],
        _upright(axis, zero),
        marks,
        class_=f"strip {class_}",
        aria_hidden="true",
        data_tip=tip,
    )


def bar_strip(axis: LinearScale, estimate: Estimate, tip: str) -> Markup:
    """Return one estimate as a bar from 0 with its interval."""
    ends = sorted(axis.place([0.0, np.nan_to_num(estimate.value)]))
    low, high = (_percent(axis, v) for v in (estimate.low, estimate.high))
    return tag(
        "svg",
        tag("rect", x=_share(ends[0]), y="20%", width=_share(ends[1] - ends[0]), height="60%"),
        tag("line", x1=low, x2=high, y1="50%", y2="50%", class_="range") if low and high else None,
        _upright(axis, 0.0),
        class_="strip bar" + (" negative" if estimate.value < 0 else ""),
        aria_hidden="true",
        data_tip=tip,
    )


def axis_strip(axis: LinearScale, in_percent: bool = False) -> Markup:
    """Return the numbers under strips."""
    values = nice(axis.low, axis.high, axis.count)
    texts = [f"{t}{NBSP}%" for t in distinct(100 * values)] if in_percent else distinct(values)
    labels = [
        tag("text", text, x=_share(place), y="12", class_="mid")
        for place, text in zip(axis.place(values), texts, strict=True)
    ]
    return tag("svg", labels, class_="strip numbers", aria_hidden="true")


def _point(low: str, value: str, high: str) -> list[Markup | None]:
    return [
        tag("line", x1=low, x2=high, y1="50%", y2="50%", class_="range") if low and high else None,
        tag("circle", cx=value, cy="50%", r="5", class_="value") if value else None,
    ]


def _beyond(axis: LinearScale, value: float) -> Markup | None:
    """Return an arrow for a value that the axis does not hold."""
    if not np.isfinite(value) or axis.low <= value <= axis.high:
        return None
    left = value < axis.low
    place, sign = ("0", "◂") if left else ("100%", "▸")
    return tag(
        "text", sign, x=place, y="50%", dy=".35em", class_="beyond" + ("" if left else " end")
    )


def _marks(axis: LinearScale) -> list[str]:
    return [_share(place) for place, _ in axis.ticks()]


def _upright(axis: LinearScale, value: float | None) -> Markup | None:
    if value is None or not (x := _percent(axis, value)):
        return None
    return tag("line", x1=x, x2=x, y1="0", y2="100%", class_="zero")


def _percent(axis: LinearScale, value: float) -> str:
    return _share(float(axis.place(value))) if np.isfinite(value) else ""


def _share(place: float) -> str:
    return f"{100 * place:.2f}%"
