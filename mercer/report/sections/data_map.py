"""The data map: rows as points of a plane, to look at one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mercer._words import count, sentence, short
from mercer.report.charts.frame import colour_bar, dot, drawing, thinned
from mercer.report.charts.scale import LinearScale
from mercer.report.html import Markup, data, switch, tag
from mercer.report.sections.groups import Groups, by_error, by_label
from mercer.report.study import Cloud

MOST_POINTS = 2000
FIELDS = 14  # of a row, in its card
FIRST = ("row", "truth", "actual", "predicted")
SIZE = (1000.0, 640.0)
VIEWS = (("label", "Colour by label"), ("error", "Colour by error"))
HINT = (
    "Point at a row or tap it to see its values. With the keyboard: Tab to the map, then the "
    "arrow keys go from row to row."
)
NAMED = 12  # so many classes have their name written on the map


def data_map(cloud: Cloud | None) -> Markup | None:
    """Return the map with its switch, its legend and the rows that it shows."""
    if cloud is None or not len(cloud.points):
        return None
    cloud = _sorted(_thin(cloud))
    label, error = by_label(cloud.label), by_error(cloud.error)
    return tag(
        "article",
        tag("h3", "Every point is a row", id="map-title"),
        tag("p", sentence(cloud.words)),
        switch("view", "Colours", VIEWS) if label and error else None,
        _legend(label, "by-label") if label else None,
        _legend(error, "by-error") if error else None,
        _plane(cloud, label, error),
        tag("p", HINT, class_="needs-script hint", id="map-hint"),
        data("map-rows", _rows(cloud.rows, label)),
        class_="card map" + (" no-label" if label is None else ""),
        id="map",
    )


# ---------------------------------------------------------------- which points, in which order
def _thin(cloud: Cloud) -> Cloud:
    if len(cloud.points) <= MOST_POINTS:
        return cloud
    words = f"{cloud.words.rstrip('.')}. {MOST_POINTS:,} of {len(cloud.points):,} rows are drawn"
    return _take(cloud, thinned(len(cloud.points), MOST_POINTS), words)


def _sorted(cloud: Cloud) -> Cloud:
    """Return the points so that wrong ones are drawn last: they lie on top."""
    finite = np.flatnonzero(np.isfinite(np.asarray(cloud.points, dtype=float)).all(axis=1))
    error = np.asarray(cloud.error)
    if error.dtype.kind == "b" and error.size:
        finite = finite[np.argsort(error[finite], kind="stable")]
    return _take(cloud, finite, cloud.words)


def _take(cloud: Cloud, kept: np.ndarray, words: str) -> Cloud:
    label, error = (
        np.asarray(v)[kept] if len(v) else np.asarray(v) for v in (cloud.label, cloud.error)
    )
    rows = [cloud.rows[i] for i in kept] if len(cloud.rows) else []
    return Cloud(words, np.asarray(cloud.points)[kept], label, error, rows, cloud.axes)


# ---------------------------------------------------------------- the plane
def _plane(cloud: Cloud, label: Groups | None, error: Groups | None) -> Markup:
    """Return the drawing, with the names of axes and classes over it: these must not stretch."""
    x, y = _places(cloud.points)
    names = [
        tag("span", f"{cloud.axes[0]} →", class_="x-name"),
        tag("span", f"↑ {cloud.axes[1]}", class_="y-name"),
        *(
            tag("span", n, class_=f"name l{k}", style=s, data_group=k)
            for k, n, s in _names(x, y, label)
        ),
    ]
    return tag(
        "div",
        _drawing(cloud, x, y, [groups for groups in (label, error) if groups]),
        tag("div", names, aria_hidden="true"),
        class_="plane",
        tabindex=0,
        role="group",
        aria_labelledby="map-title",
        aria_describedby="map-hint",
    )


def _drawing(cloud: Cloud, x: np.ndarray, y: np.ndarray, kinds: Sequence[Groups]) -> Markup:
    classes = [" ".join(groups.of(i) for groups in kinds) or None for i in range(len(x))]
    points = [
        tag("path", d=f"M{dot(a)} {dot(b)}h0", class_=c)
        for a, b, c in zip(x, y, classes, strict=True)
    ]
    return drawing(
        "map",
        SIZE,
        _summary(cloud, kinds),
        [_grid(share) for share in (0.25, 0.5, 0.75)],
        tag("g", points, class_="cloud", style=f"--size:{_point_size(len(x))}"),
        tag("path", d="", class_="here"),
        preserveAspectRatio="none",
    )


def _point_size(n: int) -> int:
    return 10 if n <= 150 else 7 if n <= 1200 else 5


def _places(points: Any) -> tuple[np.ndarray, np.ndarray]:
    points = np.asarray(points, dtype=float)
    across, up = (LinearScale.over(column, pad=0.05).place(column) for column in points.T)
    return SIZE[0] * across, SIZE[1] * (1.0 - up)


def _grid(share: float) -> Markup:
    x, y = dot(share * SIZE[0]), dot(share * SIZE[1])
    return tag("path", d=f"M{x} 0V{dot(SIZE[1])}M0 {y}H{dot(SIZE[0])}", class_="grid")


def _names(x: np.ndarray, y: np.ndarray, label: Groups | None) -> Iterator[tuple[int, str, str]]:
    """Yield where the names of classes stand: in their middles, if there is room."""
    if label is None or label.style != "l" or not 1 < len(label.names) <= NAMED:
        return
    taken: list[tuple[float, float]] = []
    for k, name in enumerate(label.names):
        mine = label.member == k
        a, b = 100 * np.median(x[mine]) / SIZE[0], 100 * np.median(y[mine]) / SIZE[1]
        if len(name) <= 16 and all(abs(a - c) > 9 or abs(b - d) > 6 for c, d in taken):
            taken.append((a, b))
            yield k, name, f"left:{a:.1f}%;top:{b:.1f}%"


def _summary(cloud: Cloud, kinds: Sequence[Groups]) -> str:
    return (
        "; ".join([f"{count(len(cloud.points), 'row')} as points", *(g.summary for g in kinds)])
        + "."
    )


# ---------------------------------------------------------------- what the colours mean
def _legend(groups: Groups, class_: str) -> Markup:
    if groups.style in "qd":
        colours = [f"{groups.style}{k}" for k in range(len(groups.names))]
        return colour_bar(groups.names[0], colours, groups.names[-1], class_)
    entries = zip(range(len(groups.names)), groups.names, groups.sizes, strict=True)
    items = [_entry(groups.style, *entry) for entry in entries]
    return tag("ul", items, class_=f"legend {class_}")


def _entry(style: str, k: int, name: str, size: int) -> Markup:
    """Return a colour, its name and how many rows have it; classes can be switched off."""
    told = tag("span", short(name, 28)), tag("span", f" {size:,}", class_="size")
    if style != "l":
        return tag("li", _swatch(style, k), *told)
    box = tag("input", type="checkbox", checked=True, data_group=k, class_=f"{style}{k}")
    return tag("li", tag("label", box, _swatch(style, k), *told))


def _swatch(style: str, k: int) -> Markup:
    """Return a point as the map has it."""
    return tag(
        "svg",
        tag("path", d="M8 8h0", class_=f"{style}{k}"),
        class_="key",
        viewBox="0 0 16 16",
        aria_hidden="true",
    )


# ---------------------------------------------------------------- what a hover shows
def _rows(rows: Sequence[Mapping[str, str]], label: Groups | None) -> dict[str, Any]:
    """Return the texts of all rows under the names of their columns, said once."""
    every = list(dict.fromkeys(name for row in rows for name in row))
    names = [n for n in FIRST if n in every] + [n for n in every if n not in FIRST]
    shown = names[:FIELDS]
    titles = [label.names[k] for k in label.member] if label and label.style == "l" else []
    return {
        "names": [short(name, 32) for name in shown],
        "rows": [[short(row.get(name, ""), 80) for name in shown] for row in rows],
        "titles": [short(title, 60) for title in titles],
        "more": max(0, len(names) - FIELDS),
    }
