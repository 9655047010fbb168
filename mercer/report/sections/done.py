"""What was done: a few sentences under each heading, and the others folded away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mercer._words import count, sentence
from mercer.report.html import Markup, join, tag

OPEN = 3  # sentences of a part that are always shown
HEADING = "What was done"
MISSING = "What is not here"


def what_was_done(words: Mapping[str, Sequence[str]], left_out: Mapping[str, str]) -> Markup | None:
    """Return the parts beside each other, with what was left out and why."""
    parts = [_part(heading, list(map(sentence, told))) for heading, told in words.items()]
    reasons = [join(tag("b", f"{name}: "), sentence(reason)) for name, reason in left_out.items()]
    parts += [_part(MISSING, reasons)] if reasons else []
    if not parts:
        return None
    heading = tag("summary", tag("h2", HEADING))
    return tag("details", heading, tag("div", parts), class_="done", open=True)


def _part(heading: str, told: Sequence[str]) -> Markup:
    # a fold that hides a single sentence takes as much room as the sentence
    first = told[:OPEN] if len(told) > OPEN + 1 else told
    return tag(
        "div", tag("h3", heading) if heading else None, _list(first), _more(told[len(first) :])
    )


def _more(told: Sequence[str]) -> Markup | None:
    if not told:
        return None
    return tag("details", tag("summary", count(len(told), "more", "more")), _list(told))


def _list(told: Sequence[str]) -> Markup:
    return tag("ul", [tag("li", one) for one in told])
