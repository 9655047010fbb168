"""The frame of a chart, what is drawn inside it, and the card that holds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._words import short
from mercer.report.charts.scale import Scale
from mercer.report.html import Markup, join, tag

LETTER = 7.2  # the width of a letter of an axis, at the size it has on a phone


@dataclass(frozen=True)
class Frame:
    """Two scales and the rectangle they span, in the units of the drawing."""

    x: Scale
    y: Scale
    width: float = 420.0
    height: float = 320.0
    top: float = 30.0
    right: float = 16.0
    bottom: float = 46.0
    room: float | None = None  # on the left; None is what the marks of the y axis need

    @property
    def left(self) -> float:
        """Where the x axis begins."""
        if self.room is not None:
            return self.room
        return 14.0 + LETTER * max((len(label) for _, label in self.y.ticks()), default=0)

    @property
    def inner(self) -> tuple[float, float]:
        """Width and height between the axes."""
        return self.width - self.left - self.right, self.height - self.top - self.bottom

    def across(self, share: Any) -> np.ndarray:
        """Return horizontal coordinates of places in [0, 1]."""
        return self.left + self.inner[0] * np.asarray(share)

    def down(self, share: Any) -> np.ndarray:
        """Return vertical coordinates of places in [0, 1], which count from below."""
        return self.top + self.inner[1] * (1.0 - np.asarray(share))

    def at(self, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the coordinates of values."""
        return self.across(self.x.place(x)), self.down(self.y.place(y))

    def axes(self, x_label: str, y_label: str) -> Markup:
        """Return grid lines, marks and names: the name of y stands above its axis."""
        return tag(
            "g",
            [self._row(place, label) for place, label in self.y.ticks()],
            [self._column(place, label) for place, label in self.x.ticks()],
            tag("text", f"↑ {short(y_label, 40)}", x=2, y=14, class_="axis"),
            tag(
                "text",
                f"{short(x_label, 40)} →",
                x=self.width - 2,
                y=self.height - 6,
                class_="axis end",
            ),
            class_="axes",
            aria_hidden="true",
        )

    def _row(self, place: float, label: str) -> Markup:
        y = dot(self.down(place))
        x1, x2 = dot(self.left), dot(self.width - self.right)
        line = tag("line", x1=x1, x2=x2, y1=y, y2=y)
        return join(line, tag("text", label, x=dot(self.left - 8), y=y, dy=".34em", class_="end"))

    def _column(self, place: float, label: str) -> Markup:
        x, y = dot(self.across(place)), self.height - self.bottom
        mark = tag("line", x1=x, x2=x, y1=dot(y), y2=dot(y + 5))
        return join(mark, tag("text", label, x=x, y=dot(y + 19), class_="mid"))


def drawing(
    key: str, size: tuple[float, float], summary: str, *parts: Any, **attributes: Any
) -> Markup:
    """Return a drawing that a screen reader announces by its figure's heading and a summary.

    A ``<title>`` would do the same, but browsers show it over whatever the pointer rests on.
    """
    return tag(
        "svg",
        tag("desc", summary, id=f"{key}-text"),
        *parts,
        viewBox=f"0 0 {dot(size[0])} {dot(size[1])}",
        role="img",
        aria_labelledby=f"{key}-title",
        aria_describedby=f"{key}-text",
        **attributes,
    )


def figure(key: str, heading: str, words: str, *parts: Any, class_: str = "") -> Markup:
    """Return a card with a heading, a sentence and a drawing."""
    return tag(
        "figure",
        tag(
            "figcaption", tag("h3", heading, id=f"{key}-title"), tag("p", words) if words else None
        ),
        *parts,
        id=key,
        class_=f"card {class_}".strip(),
    )


def chart(
    key: str,
    heading: str,
    words: str,
    frame: Frame,
    names: tuple[str, str],
    marks: Any,
    *below: Any,
    summary: str | None = None,
    class_: str = "",
) -> Markup:
    """Return a card with axes and marks; a screen reader says a summary, or the words."""
    size, axes = (frame.width, frame.height), frame.axes(*names)
    inside = drawing(key, size, words if summary is None else summary, axes, marks)
    return figure(key, heading, words, inside, *below, class_=class_)


def legend(entries: Sequence[tuple[str, str]]) -> Markup:
    """Return what the colours mean: pairs of a class of the style sheet and a text."""
    items = [tag("li", tag("i", class_=f"swatch {mark}"), label) for mark, label in entries]
    return tag("ul", items, class_="legend")


def colour_bar(low: str, colours: Sequence[str], high: str, class_: str = "") -> Markup:
    """Return colours (classes of the style sheet) in order, with what stands at both ends."""
    swatches = [tag("i", class_=colour) for colour in colours]
    ramp = tag("span", swatches, class_="ramp", aria_hidden="true")
    class_ = f"colour-bar {class_}".strip()
    return tag("p", tag("span", low), ramp, tag("span", high), class_=class_)


# ---------------------------------------------------------------- marks
def path(x: Any, y: Any) -> str:
    """Return the line through points, as the attribute ``d``; gaps where a number is missing."""
    parts, pen = [], "M"
    for a, b in zip(np.ravel(x), np.ravel(y), strict=True):
        if not np.isfinite(a + b):
            pen = "M"
            continue
        parts.append(f"{pen}{dot(a)} {dot(b)}")
        pen = "L"
    return "".join(parts)


def dot(value: Any) -> str:
    """Return a coordinate with one decimal."""
    return f"{float(value):.1f}".removesuffix(".0")


def thinned(n: int, most: int) -> np.ndarray:
    """Return at most so many of n places, evenly, with the first and the last."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int))


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
