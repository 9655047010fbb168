"""Cases: rows that are worth a look, as tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mercer._words import capital, sentence, short
from mercer.report.html import Markup, join, tag
from mercer.report.page import scroller, stack
from mercer.report.study import Case, CaseTable

COLUMNS = 12  # of the values of a row
FEW = 3  # so many columns have room for long texts


def case_tables(tables: Sequence[CaseTable]) -> Markup | None:
    """Return one card a table."""
    filled = [one for one in tables if one.cases]
    return stack(*map(_card, filled)) if filled else None


def _card(one: CaseTable) -> Markup:
    names = list(dict.fromkeys(name for case in one.cases for name in case.values))
    shown, rest = names[:COLUMNS], len(names) - COLUMNS
    cut = f" The first {COLUMNS} of {len(names)} columns are shown." if rest > 0 else ""
    own = [name for name in ("truth", "prediction", "confidence") if _known(one, name)]
    head = ["row", *(one.measure if name == "confidence" else name for name in own)]
    head += [short(name) for name in shown]
    top = tag("thead", tag("tr", [tag("th", name, scope="col") for name in head]))
    body = tag("tbody", [_row(case, own, shown) for case in one.cases])
    inside = tag("table", tag("caption", one.heading), top, body, class_="cases")
    return tag(
        "article",
        tag("h3", capital(one.heading)),
        tag("p", f"{sentence(one.words)}{cut}"),
        scroller(inside, one.heading),
        class_="card",
    )


def _value(text: str, columns: int) -> Markup:
    """Return a cell; a text that stands alone may take several lines."""
    if columns > FEW:
        return tag("td", short(text, 40), class_="value")
    return tag("td", short(text, 200), class_="value text")


def _known(one: CaseTable, field: str) -> bool:
    return any(getattr(case, field) for case in one.cases)


def _row(case: Case, own: Sequence[str], shown: Sequence[str]) -> Markup:
    return tag(
        "tr",
        tag("th", f"{case.row:,}", scope="row"),
        [tag("td", *CELLS[name](case), class_=name) for name in own],
        [_value(case.values.get(name, ""), len(shown)) for name in shown],
    )


def _mark(case: Case) -> Markup | None:
    if case.right is None:
        return None
    sign, word = ("✓", "right") if case.right else ("✗", "wrong")
    hidden = tag("span", f"{word}: ", class_="hidden")
    return join(tag("span", sign, class_=f"mark {word}", aria_hidden="true"), hidden)


CELLS: dict[str, Callable[[Case], Sequence[Any]]] = {
    "truth": lambda case: [short(case.truth)],
    "prediction": lambda case: [_mark(case), short(case.prediction)],
    "confidence": lambda case: [case.confidence],
}
