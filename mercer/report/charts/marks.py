"""What is drawn inside a frame: lines, bands, points, bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.report.charts.frame import Frame, dot, path
from mercer.report.html import Markup, join, tag


def line(frame: Frame, x: Any, y: Any, class_: str, tip: str | None = None) -> Markup:
    """Return a line through values."""
    return tag("path", d=path(*frame.at(x, y)), class_=f"line {class_}", data_tip=tip)


def band(frame: Frame, x: Any, low: Any, high: Any, class_: str) -> Markup:
    """Return the area between two lines."""
    there, back = path(*frame.at(x, low)), path(*frame.at(x[::-1], high[::-1]))
    closed = there + back.replace("M", "L", 1) + "Z" if there and back else ""
    return tag("path", d=closed, class_=f"band {class_}")


def dots(frame: Frame, x: Any, y: Any, class_: str, tips: Sequence[str]) -> Markup:
    """Return points: lines of length 0 with round ends, so that they keep their size."""
    columns, rows = frame.at(x, y)
    points = [
        tag("path", d=f"M{dot(a)} {dot(b)}h0", data_tip=tip)
        for a, b, tip in zip(columns, rows, tips, strict=True)
        if np.isfinite(a + b)
    ]
    return tag("g", points, class_=f"dots {class_}")


def whiskers(frame: Frame, x: Any, low: Any, high: Any, class_: str) -> Markup:
    """Return vertical intervals."""
    columns, bottoms = frame.at(x, low)
    tops = frame.at(x, high)[1]
    d = "".join(
        f"M{dot(a)} {dot(b)}V{dot(c)}"
        for a, b, c in zip(columns, bottoms, tops, strict=True)
        if np.isfinite(a + b + c)
    )
    return tag("path", d=d, class_=f"whisker {class_}")


def bars(frame: Frame, edges: Any, heights: Any, class_: str, tips: Sequence[str]) -> Markup:
    """Return upright bars on the bottom of the frame, between edges."""
    columns, tops = frame.across(frame.x.place(edges)), frame.down(frame.y.place(heights))
    bottom = frame.height - frame.bottom
    boxes = [
        tag(
            "rect",
            x=dot(columns[i] + 0.5),
            y=dot(tops[i]),
            width=dot(max(columns[i + 1] - columns[i] - 1.0, 0.5)),
            height=dot(max(bottom - tops[i], 0.0)),
            data_tip=tip,
        )
        for i, tip in enumerate(tips)
    ]
    return tag("g", boxes, class_=f"bars {class_}")


def guide(frame: Frame, x: Any, y: Any) -> Markup:
    """Return a dashed line to compare with."""
    return line(frame, x, y, "guide")


def ring(x: float, y: float, radius: float = 9.0) -> Markup:
    """Return a ring around a point of the drawing."""
    place = {"cx": dot(x), "cy": dot(y), "r": dot(radius)}
    return join(tag("circle", class_="halo", **place), tag("circle", class_="ring", **place))
