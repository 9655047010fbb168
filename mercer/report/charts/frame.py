"""The frame of a chart: its size, its axes, and the element that holds it."""

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


def legend(entries: Sequence[tuple[str, str]]) -> Markup:
    """Return what the colours mean: pairs of a class of the style sheet and a text."""
    items = [tag("li", tag("i", class_=f"swatch {mark}"), label) for mark, label in entries]
    return tag("ul", items, class_="legend")
