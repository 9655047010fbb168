"""Markup from small functions: what is not already markup is escaped."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from html import escape
from typing import Any

VOID = {"br", "hr", "img", "input", "link", "meta"}
SHAPES = {"circle", "line", "path", "rect"}
# control characters, halves of characters, and those that turn the direction of what follows
UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]"
)


class Markup(str):
    """Text that is markup already and goes into a page as it is."""

    __slots__ = ()


def text(value: Any) -> Markup:
    """Return a value as markup: escaped, and without characters that no page may hold."""
    if isinstance(value, Markup):
        return value
    return Markup(escape(UNPRINTABLE.sub("\ufffd", str(value))))


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
