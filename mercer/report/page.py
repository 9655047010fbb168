"""The shell of a page: one file, its style and script inside, that asks the network for nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from mercer.report.html import Markup, join, tag

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


@dataclass(frozen=True)
class Section:
    """One part of a page: a tab where scripts run, else a chapter."""

    key: str  # the hash that links to it
    title: str
    body: Markup


def page(
    title: str,
    sections: Sequence[Section],
    *,
    subtitle: str = "",
    date: str = "",
    eyebrow: str = "mercer",
    badge: Markup | None = None,
    lead: Markup | None = None,
) -> str:
    """Return a whole page.

    Parameters
    ----------
    title, subtitle, date, eyebrow : str
        The heading, a sentence under it, when the page was made, a word above the heading.
    sections : sequence of Section
        The parts that become tabs.
    badge, lead : Markup, default=None
        What stands under the sentence, and between heading and tabs.

    Returns
    -------
    str

    Examples
    --------
    >>> from mercer.report.html import tag
    >>> text = page("Two <rows>", [Section("all", "All", tag("p", "x < y"))])
    >>> "Two &lt;rows&gt;" in text, "x &lt; y" in text
    (True, True)
    """
    body = join(
        tag("a", "Skip to the content", href="#content", class_="skip"),
        _header(title, subtitle, date, eyebrow, badge),
        tag("main", lead, _tabs(sections), [_panel(s) for s in sections], id="content"),
        tag("div", id="tip", hidden=True, aria_hidden="true"),
        tag("div", id="said", role="status", class_="hidden"),
        tag("script", Markup(_static("page.js"))),
    )
    return f"<!doctype html>\n{tag('html', _head(title), tag('body', body), lang='en')}\n"


def _head(title: str) -> Markup:
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("link", rel="icon", href="data:,"),
        tag("style", Markup(_static("page.css"))),
    )


def _header(title: str, subtitle: str, date: str, eyebrow: str, badge: Markup | None) -> Markup:
    top = tag(
        "div",
        tag("p", eyebrow, tag("span", f" · {date}") if date else None, class_="eyebrow"),
        tag("button", "Dark", type="button", id="theme", hidden=True),
        class_="top",
    )
    said = tag("p", subtitle, class_="verdict") if subtitle else None
    return tag("header", top, tag("div", tag("h1", title), said, badge, class_="heading"))


def _tabs(sections: Sequence[Section]) -> Markup | None:
    """Return links to the sections; the script makes tabs of them."""
    if len(sections) < 2:
        return None
    links = [tag("a", s.title, href=f"#{s.key}", id=f"tab-{s.key}") for s in sections]
    return tag("nav", tag("div", links, id="tabs"), aria_label="Sections")


def _panel(section: Section) -> Markup:
    return tag(
        "section",
        tag("h2", section.title),
        section.body,
        id=section.key,
        class_="panel",
        aria_label=section.title,
    )


@cache
def _static(name: str) -> str:
    return (files("mercer.report") / "static" / name).read_text(encoding="utf-8").strip()


def card(heading: str, *children: Any, class_: str = "") -> Markup:
    """Return a box with a heading."""
    return tag("article", tag("h3", heading), *children, class_=f"card {class_}".strip())


def stack(*cards: Markup | None) -> Markup:
    """Return cards one below the other."""
    return tag("div", *cards, class_="stack")


def table(
    head: Sequence[Any], rows: Sequence[Sequence[Any]], caption: str, class_: str = ""
) -> Markup:
    """Return a table in a scroller of its own; the first cell of a row is its heading."""
    body = [
        tag("tr", tag("th", row[0], scope="row"), [tag("td", cell) for cell in row[1:]])
        for row in rows
    ]
    top = tag("thead", tag("tr", [tag("th", name, scope="col") for name in head])) if head else None
    inside = tag("table", tag("caption", caption), top, tag("tbody", body), class_=class_ or None)
    return scroller(inside, caption)


def scroller(inside: Markup, label: str) -> Markup:
    """Return a box in which wide things scroll sideways, with the keyboard too."""
    return tag("div", inside, class_="scroller", tabindex=0, role="region", aria_label=label)


def switch(name: str, heading: str, choices: Sequence[tuple[str, str]]) -> Markup:
    """Return a choice of one of a few (value and text); the style sheet acts on it."""
    inputs = [
        tag(
            "label",
            tag("input", type="radio", name=name, value=value, checked=not i),
            tag("span", label),
        )
        for i, (value, label) in enumerate(choices)
    ]
    return tag("fieldset", tag("legend", heading, class_="hidden"), inputs, class_="switch")
