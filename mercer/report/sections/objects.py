"""Series as lines, and the words or pieces of strings that go with the answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer._words import count, number, short
from mercer.plot.object_records import SeriesLines, StrongTerms, Term
from mercer.report.charts.frame import Frame, chart, figure, line, thinned
from mercer.report.charts.scale import LinearScale
from mercer.report.html import Markup, join, tag

MOST_POINTS = 200  # of a line
WHAT = {"text": "words", "string": "letters in a row"}


def object_cards(found: Sequence[SeriesLines | StrongTerms]) -> Markup | None:
    """Return a card for each class of each column."""
    parts = [
        _series(one, f"series-{i}") if isinstance(one, SeriesLines) else _terms(one, f"terms-{i}")
        for i, one in enumerate(found)
    ]
    return join(*parts) if parts else None


# ---------------------------------------------------------------- series
def _series(one: SeriesLines, key: str) -> Markup:
    longest = max(len(values) for values in one.lines)
    x, y = LinearScale(0.0, float(max(longest - 1, 1)), count=4), LinearScale.over(*one.lines)
    cards = [_class_of_series(one, k, LinearScale(x.low, x.high, count=4), y, key)
             for k in range(len(one.classes))]  # fmt: skip
    words = f"Some series of {short(one.name, 40)}"
    bold = "; bold are support vectors, which carry the model" if one.support.any() else ""
    return join(
        tag("p", f"{words}, each class by itself{bold}.", class_="words"),
        tag("div", cards, class_="grid columns"),
    )


def _class_of_series(one: SeriesLines, k: int, x: LinearScale, y: LinearScale, key: str) -> Markup:
    frame = Frame(x, y, width=340.0, height=220.0)
    own = np.flatnonzero(one.places == k).tolist()
    order = sorted(own, key=lambda i: bool(one.support[i]))  # bold lines above
    marks = [_line(frame, one.lines[i], k, bool(one.support[i])) for i in order]
    told = f"{count(len(own), 'series', 'series')} shown"
    carrying = int(one.support[own].sum())
    summary = f"{told}, {count(carrying, 'support vector')}."
    names = ("step", short(one.name, 30))
    return chart(f"{key}-{k}", short(one.classes[k], 60), "", frame, names, marks, summary=summary)


def _line(frame: Frame, values: np.ndarray, k: int, carries: bool) -> Markup:
    steps = thinned(len(values), MOST_POINTS)
    bold = " support" if carries else ""
    return line(frame, steps, values[steps], f"curve l{k}{bold}")


# ---------------------------------------------------------------- words
def _terms(one: StrongTerms, key: str) -> Markup:
    cards = [_class_of_terms(one, k, f"{key}-{k}") for k, own in enumerate(one.terms) if len(own)]
    what = WHAT[one.kind]
    words = (
        f"The {what} of {short(one.name, 40)} with which the answers go most: the bar leads from "
        f"the mean score of rows without to that of rows with them."
    )
    return join(
        tag("p", words, class_="words"),
        tag("div", cards, class_="grid columns"),
    )


def _class_of_terms(one: StrongTerms, k: int, key: str) -> Markup:
    own = one.terms[k]
    ends = [value for term in own for value in (term.present, term.absent)]
    low, high = min(ends), max(ends)
    span = (high - low) or 1.0
    lines = [_term(term, low, span) for term in own]
    return figure(key, short(one.classes[k], 60), "", tag("ul", lines, class_="contest levels"))


def _term(term: Term, low: float, span: float) -> Markup:
    start, end = (term.absent - low) / span, (term.present - low) / span
    told = f"{count(term.rows, 'row')}, {number(term.absent, 2)} → {number(term.present, 2)}"
    box = tag("rect", x=f"{100 * start:.2f}%", width=f"{100 * max(end - start, 0.0):.2f}%", y="15%",
              height="70%", class_="plain")  # fmt: skip
    return tag(
        "li",
        tag("span", short(term.text, 30).replace(" ", "␣"), class_="name"),
        tag("span", told),
        tag("svg", box, class_="strip shares", aria_hidden="true", data_tip=f"{term.text}\n{told}"),
    )
