"""Cases: rows that are worth a look, as tables."""

from __future__ import annotations

from collections.abc import Sequence

from mercer.report.html import Markup, join, tag
from mercer.report.page import scroller, stack
from mercer.report.study import Case, CaseTable
from mercer.report.wording import capital, sentence, short

COLUMNS = 12  # of the values of a row


def case_tables(tables: Sequence[CaseTable]) -> Markup | None:
    """Return one card a table."""
    filled = [one for one in tables if one.cases]
    return stack(*map(_card, filled)) if filled else None


def _card(one: CaseTable) -> Markup:
    names = list(dict.fromkeys(name for case in one.cases for name in case.values))
    shown, rest = names[:COLUMNS], len(names) - COLUMNS
    cut = f" The first {COLUMNS} of {len(names)} columns are shown." if rest > 0 else ""
    head = ["row", "truth", "prediction", _how_sure(one), *(short(name) for name in shown)]
    top = tag("thead", tag("tr", [tag("th", name, scope="col") for name in head]))
    body = tag("tbody", [_row(case, shown) for case in one.cases])
    inside = tag("table", tag("caption", one.heading), top, body, class_="cases")
    return tag(
        "article",
        tag("h3", capital(one.heading)),
        tag("p", f"{sentence(one.words)}{cut}"),
        scroller(inside, one.heading),
        class_="card",
    )


def _how_sure(one: CaseTable) -> str:
    return "residual" if all(case.right is None for case in one.cases) else "confidence"


def _row(case: Case, shown: Sequence[str]) -> Markup:
    return tag(
        "tr",
        tag("th", f"{case.row:,}", scope="row"),
        tag("td", short(case.truth)),
        tag("td", _mark(case), short(case.prediction)),
        tag("td", case.confidence, class_="sure"),
        [tag("td", short(case.values.get(name, ""), 40), class_="value") for name in shown],
    )


def _mark(case: Case) -> Markup | None:
    if case.right is None:
        return None
    sign, word = ("✓", "right") if case.right else ("✗", "wrong")
    hidden = tag("span", f"{word}: ", class_="hidden")
    return join(tag("span", sign, class_=f"mark {word}", aria_hidden="true"), hidden)
