"""Pages from small functions: elements, boxes, tables, and the shell that holds them.

What is not already markup is escaped. A page is one file, its style and script inside: it asks the
network for nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from itertools import zip_longest
from typing import Any

from mercer._display import UNPRINTABLE

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)

VOID = {"br", "hr", "img", "input", "link", "meta"}
OPTION = re.compile(r"(--[a-z][a-z-]*)")
SHAPES = {"circle", "line", "path", "rect"}


class Markup(str):
    """Text that is markup already and goes into a page as it is."""

    __slots__ = ()


def text(value: Any) -> Markup:
    """Return a value as markup: escaped, and without characters that no page may hold."""
    if isinstance(value, Markup):
        return value
    return Markup(escape(UNPRINTABLE.sub("\ufffd", str(value))))


def unbroken(words: str) -> Markup:
    """Return words in which no line breaks within an option such as ``--time``."""
    parts = OPTION.split(words)  # every other one is an option
    return join(*(tag("span", p, class_="option") if i % 2 else p for i, p in enumerate(parts)))


def join(*children: Any) -> Markup:
    """Return children one after the other; None is nothing and lists are opened."""
    return Markup("".join(_flat(children)))


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """Return an element.

    ``class_`` and ``for_`` lose their underscore, other underscores become hyphens. None and False
    leave an attribute out, True writes it without a value.

    Examples
    --------
    >>> tag("td", "a < b", class_="num", data_tip='say "x"')
    '<td class="num" data-tip="say &quot;x&quot;">a &lt; b</td>'
    """
    start = f"<{name}{''.join(map(_attribute, attributes.items()))}"
    if name in VOID:
        return Markup(start + ">")
    if name in SHAPES and not children:
        return Markup(start + "/>")
    return Markup(f"{start}>{join(*children)}</{name}>")


def data(key: str, value: Any) -> Markup:
    """Return a block of data for the script of the page; no value can end the block."""
    inside = json.dumps(value, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    return tag("script", Markup(inside), type="application/json", id=key)


def _flat(children: Iterable[Any]) -> Iterable[str]:
    for child in children:
        if isinstance(child, (list, tuple)):
            yield from _flat(child)
        elif child is not None:
            yield text(child)


def _attribute(item: tuple[str, Any]) -> str:
    name, value = item
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{text(value)}"'


# ---------------------------------------------------------------- boxes
def card(heading: str, *children: Any, class_: str = "") -> Markup:
    """Return a box with a heading."""
    return tag("article", tag("h3", heading), *children, class_=f"card {class_}".strip())


def stack(*cards: Markup | None) -> Markup:
    """Return cards one below the other."""
    return tag("div", *cards, class_="stack")


def table(
    head: Sequence[Any],
    rows: Sequence[Sequence[Any]],
    caption: str,
    class_: str = "",
    columns: Sequence[str] = (),
) -> Markup:
    """Return a table in a scroller of its own; the first cell of a row is its heading.

    ``columns`` are classes of the style sheet for the cells after it.
    """
    body = [
        tag(
            "tr",
            tag("th", row[0], scope="row"),
            [tag("td", cell, class_=kind) for cell, kind in zip_longest(row[1:], columns)],
        )
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


# ---------------------------------------------------------------- the page
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
    alert: Markup | None = None,
    lead: Markup | None = None,
) -> str:
    """Return a whole page: a heading, a sentence under it, a lead, and the sections as tabs.

    An ``alert`` stands before all of it.

    Examples
    --------
    >>> text = page("Two <rows>", [Section("all", "All", tag("p", "x < y"))])
    >>> "Two &lt;rows&gt;" in text, "x &lt; y" in text
    (True, True)
    """
    body = join(
        tag("a", "Skip to the content", href="#content", class_="skip"),
        _header(title, subtitle, date, eyebrow, alert),
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


def _header(title: str, subtitle: str, date: str, eyebrow: str, alert: Markup | None) -> Markup:
    top = tag(
        "div",
        tag("p", eyebrow, tag("span", f" · {date}") if date else None, class_="eyebrow"),
        tag("button", "Dark", type="button", id="theme", hidden=True),
        class_="top",
    )
    said = tag("p", subtitle, class_="verdict") if subtitle else None
    return tag("header", top, alert, tag("div", tag("h1", title), said, class_="heading"))


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
