"""The data: each column's values, the target within them, and columns beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mercer._words import count, number, percent, sentence, short
from mercer.report.charts.frame import (
    Frame,
    bars,
    colour_bar,
    dot,
    dots,
    drawing,
    figure,
    guide,
    legend,
    line,
)
from mercer.report.charts.scale import Bands, LinearScale
from mercer.report.html import Markup, card, join, tag
from mercer.report.study import ColumnPicture, Correlations, DataPicture

SIZE = (340.0, 190.0)
BARS = 100.0  # the height of the counts; the target stands below
SHOWN = 12  # columns that are open; the others are folded away
STEPS = 9  # colours of the style sheet, from −1 to 1
CELL = 24.0  # of the correlations
STRONG = 5  # pairs that are named


def data_tab(data: DataPicture | None, objects: Markup | None = None) -> Markup | None:
    """Return what is found in texts, strings and series, a card for each column, correlations."""
    if data is None or not data.columns:
        return objects
    cards = [_column(data, i) for i in range(len(data.columns))]
    more = tag("summary", count(len(cards) - SHOWN, "more column"))
    rest = tag("details", more, tag("div", cards[SHOWN:], class_="grid columns"))
    return join(
        objects,
        _head(data),
        tag("div", cards[:SHOWN], class_="grid columns"),
        rest if len(cards) > SHOWN else None,
        correlations(data.correlations) if data.correlations else None,
    )


def _head(data: DataPicture) -> Markup:
    lower = (
        "the strip below shows the share of each class within it"
        if data.classes
        else "the line below shows the mean of the target within it, dashed that of all rows"
    )
    words = f"{sentence(data.words)} Each picture counts the rows by value; {lower}."
    marks = [(f"l{k}", short(name)) for k, name in enumerate(data.classes)]
    return card("The training rows", tag("p", words), legend(marks) if marks else None)


def _column(data: DataPicture, i: int) -> Markup:
    one, key = data.columns[i], f"column-{i}"
    words = sentence(one.words)
    if not len(one.labels):
        return figure(key, short(one.name, 60), words)
    picture = _bins(data, one, key) if one.quantity else _levels(data, one)
    return figure(key, short(one.name, 60), words, picture)


def _tips(data: DataPicture, one: ColumnPicture) -> list[str]:
    return [
        "\n".join([label, count(one.counts[i], "row"), *_target_words(data, one.target[i])])
        for i, label in enumerate(one.labels)
    ]


def _target_words(data: DataPicture, target: np.ndarray) -> Iterator[str]:
    if not np.isfinite(target).all():
        return
    if not data.classes:
        yield f"mean of the target {number(target[0], 3)}"
    for name, share in zip(data.classes, target, strict=False):
        yield f"{short(name)} {percent(share)}"


# ---------------------------------------------------------------- quantities
def _bins(data: DataPicture, one: ColumnPicture, key: str) -> Markup:
    """Return upright bars of the rows in each bin, and the target below."""
    n, tips = len(one.labels), _tips(data, one)
    across = LinearScale(0.0, float(n))
    top = Frame(across, LinearScale(0.0, float(max(one.counts.max(), 1)), count=2), SIZE[0], BARS,
                top=8.0, right=6.0, bottom=4.0, room=6.0)  # fmt: skip
    below = _shares if data.classes else _means
    y, right = dot(SIZE[1] - 6), dot(SIZE[0] - 6)
    ends = [
        tag("text", one.labels[0], x=6, y=y),
        tag("text", one.labels[-1], x=right, y=y, class_="end") if n > 1 else None,
    ]
    return drawing(
        key,
        SIZE,
        "; ".join(tip.replace("\n", ", ") for tip in tips),
        bars(top, np.arange(n + 1), one.counts, "soft", tips),
        below(data, one, across, tips),
        ends,
        class_="column",
    )


def _shares(
    data: DataPicture, one: ColumnPicture, across: LinearScale, tips: Sequence[str]
) -> Markup:
    """Return the share of each class within each bin, one above the other."""
    frame = Frame(across, LinearScale(0.0, 1.0), SIZE[0], SIZE[1], top=BARS + 6, right=6.0,
                  bottom=24.0, room=6.0)  # fmt: skip
    ends = np.cumsum(np.nan_to_num(one.target), axis=1)
    bins = [
        [
            _box(frame, i, ends[i, k] - one.target[i, k], ends[i, k], f"l{k}")
            for k in range(len(data.classes))
            if one.target[i, k] > 0
        ]
        for i in range(len(one.labels))
    ]
    inside = [tag("g", boxes, data_tip=tip) for boxes, tip in zip(bins, tips, strict=True)]
    return tag("g", inside, class_="shares")


def _box(frame: Frame, i: int, low: float, high: float, class_: str) -> Markup:
    (left, right), (bottom, top) = frame.at([i, i + 1], [low, high])
    return tag(
        "rect",
        x=dot(left + 0.5),
        y=dot(top),
        width=dot(right - left - 1.0),
        height=dot(bottom - top),
        class_=class_,
    )


def _means(
    data: DataPicture, one: ColumnPicture, across: LinearScale, tips: Sequence[str]
) -> Markup:
    """Return the mean of the target within each bin, and that of all rows."""
    means, middles = one.target[:, 0], np.arange(len(one.labels)) + 0.5
    scale = LinearScale.over(means, data.overall, pad=0.1)
    frame = Frame(across, scale, SIZE[0], SIZE[1], top=BARS + 6, right=6.0, bottom=24.0, room=6.0)
    known = np.isfinite(means)
    return tag(
        "g",
        guide(frame, [0.0, float(len(means))], [data.overall[0]] * 2),
        line(frame, middles[known], means[known], "model"),
        dots(frame, middles, means, "model large", tips),
    )


# ---------------------------------------------------------------- levels
def _levels(data: DataPicture, one: ColumnPicture) -> Markup:
    """Return a line for each level: its rows as a bar, and the target beside it."""
    most, tips = max(int(one.counts.max()), 1), _tips(data, one)
    lines = [
        tag(
            "li",
            tag("span", label, class_="name"),
            tag("span", _level_words(data, one, i)),
            _level_strip(data, one, i, one.counts[i] / most, tips[i]),
        )
        for i, label in enumerate(one.labels)
    ]
    return tag("ul", lines, class_="contest levels")


def _level_words(data: DataPicture, one: ColumnPicture, i: int) -> str:
    rows = f"{one.counts[i]:,.0f}"
    return rows if data.classes else f"{rows}, mean {number(one.target[i, 0], 3)}"


def _level_strip(data: DataPicture, one: ColumnPicture, i: int, size: float, tip: str) -> Markup:
    """Return a bar as long as the level is frequent, cut by classes."""
    parts = np.nan_to_num(one.target[i]) if data.classes else np.ones(1)
    starts = np.cumsum(parts) - parts
    boxes = [
        tag("rect", x=_share(size * a), width=_share(size * b), y="15%", height="70%",
            class_=f"l{k}" if data.classes else "plain")
        for k, (a, b) in enumerate(zip(starts, parts, strict=True))
        if b > 0
    ]  # fmt: skip
    return tag("svg", boxes, class_="strip shares", aria_hidden="true", data_tip=tip)


def _share(place: float) -> str:
    return f"{100 * place:.2f}%"


# ---------------------------------------------------------------- columns beside each other
def correlations(found: Correlations) -> Markup:
    """Return how columns of numbers go together, as tinted cells."""
    names, matrix = found.names, np.asarray(found.matrix)
    scale = Bands(tuple(names), most=len(names))
    side = CELL * len(names)
    frame = Frame(scale, scale, side + 136.0, side + 110.0, top=10.0, bottom=100.0, room=120.0)
    cells = [
        _cell(frame, names, i, j, matrix[i, j])
        for i in range(len(names))
        for j in range(len(names))
        if np.isfinite(matrix[i, j])
    ]
    words = f"From −1 (opposite) to 1 (the same). {_strongest(found)}"
    inside = drawing(
        "correlations",
        (frame.width, frame.height),
        words,
        _names(frame, names),
        tag("g", cells),
        class_="corr",
        style=f"max-width:{1.3 * frame.width:.0f}px",
    )
    bar = colour_bar("−1", [f"d{step}" for step in range(STEPS)], "1", "by-value")
    return figure("correlations", "Columns that go together", words, inside, bar)


def _names(frame: Frame, names: Sequence[str]) -> list[Markup]:
    """Return the names to the left, and upright below."""
    found = []
    for i, name in enumerate(names):
        x, y = (float(v) for v in frame.at(i, len(names) - 1 - i))
        low = frame.height - frame.bottom + 8
        turned = f"rotate(-60 {dot(x)} {dot(low)})"
        found += [
            tag("text", short(name, 16), x=dot(frame.left - 6), y=dot(y), dy=".34em", class_="end"),
            tag("text", short(name, 16), x=dot(x), y=dot(low), class_="end", transform=turned),
        ]
    return found


def _cell(frame: Frame, names: Sequence[str], i: int, j: int, value: float) -> Markup:
    step = min(int((value + 1.0) / 2.0 * STEPS), STEPS - 1)
    width, height = (side / len(names) for side in frame.inner)
    x, y = (float(v) for v in frame.at(j, len(names) - 1 - i))
    return tag(
        "rect",
        x=dot(x - width / 2 + 0.5),
        y=dot(y - height / 2 + 0.5),
        width=dot(width - 1),
        height=dot(height - 1),
        class_=f"d{step}",
        data_tip=f"{names[i]}\n{names[j]}\ncorrelation {number(value, 2)}",
    )


def _strongest(found: Correlations) -> str:
    """Name the pairs that go together most."""
    size = np.triu(np.nan_to_num(np.abs(found.matrix)), 1)
    order = np.argsort(-size, axis=None, kind="stable")[:STRONG]
    pairs = [np.unravel_index(place, size.shape) for place in order]
    told = [
        f"{short(found.names[i])} and {short(found.names[j])} {number(found.matrix[i, j], 2)}"
        for i, j in pairs
        if size[i, j] > 0
    ]
    return f"Strongest: {'; '.join(told)}." if told else ""
