"""Scores with their intervals: beside those of rivals, and what they lose without a column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer._words import (
    NBSP,
    capital,
    count,
    fixed,
    joined,
    listing,
    number,
    percent,
    sentence,
    short,
)
from mercer.checks import Finding, open_leaks
from mercer.report.charts.intervals import axis_around, axis_over, axis_strip, bar_strip, strip
from mercer.report.charts.scale import LinearScale
from mercer.report.html import Markup, card, tag
from mercer.report.sections.rare import of_a_rare_class
from mercer.report.study import Estimate, Importance, Score, Study
from mercer.report.wording import aligned

MODEL = "this model"
SHOWN_COLUMNS = 25  # the others are folded away


def cards(scores: Sequence[Score], own: str = MODEL, *, praise: bool = True) -> Markup:
    """Return one card a score; ``own`` is the model's name, without praise nobody is better."""
    inside = tag("div", [_card(score, own, praise) for score in scores], class_="scores")
    return tag("section", tag("h2", "Scores", class_="hidden"), inside, aria_label="Scores")


def verdict(study: Study) -> str:
    """Return the first score in a sentence, and how the scores stand against the rivals.

    A score that cannot be believed is not compared.
    """
    if not study.scores:
        return ""
    score = study.scores[0]
    between = interval(score, score.model)
    said = f"{score.name} {told(score, score.model.value)}{_where(study)}"
    said = f"{said} ({between})" if between else said
    if leaks := open_leaks(study.findings):
        because = " and ".join(dict.fromkeys(map(_cause, leaks)))
        return sentence(f"{said}, which is not to be relied on because of a leak ({because})")
    against = standing(study.scores)
    parts = [f"{said}: {against}" if against else said, *of_a_rare_class(study)]
    return sentence("; ".join([*parts, *_doubts(study.findings)]))


def _doubts(findings: Sequence[Finding]) -> list[str]:
    """Return for which rows the score may not hold, where groups or time are only suspected."""
    known = {"group": "a new {}", "time order": "rows later in {}"}
    found = [
        known[f.kind].format(listing(f.columns))
        for f in findings
        if f.kind in known and f.severity == "warning" and not f.mended
    ]
    return [f"it may not hold for {' or for '.join(found)} (see the warnings)"] if found else []


def _cause(leak: Finding) -> str:
    return f"{listing(leak.columns)} {leak.kind}" if leak.columns else leak.kind


def _where(study: Study) -> str:
    rows = getattr(study.evaluation, "n_rows", None)
    folds = f", cross-validated in {count(study.n_folds, 'fold')}" if study.n_folds else ""
    groups = getattr(study.evaluation, "groups", None)
    whole = "" if groups is None else f" in {count(len(np.unique(groups)), 'group')}"
    return f" on {count(rows, 'row')}{whole}{folds}" if rows else folds


def standing(scores: Sequence[Score]) -> str:
    """Say how the model stands against its rivals by the first score, and where others disagree."""
    compared = {score.name: words for score in scores if (words := comparison(score))}
    if not compared:
        return ""
    first = next(iter(compared.values()))
    others: dict[str, list[str]] = {}
    for name, words in compared.items():
        if _mood(words) != _mood(first):
            others.setdefault(words, []).append(name)
    told = "; ".join(f"by {joined(names)} {words}" for words, names in others.items())
    return f"{first}, but not by every score: {told}" if told else first


def _mood(words: str) -> str:
    """Return "better", "worse" or "not", with which a comparison begins."""
    return words.split()[0]


def told(score: Score, value: float) -> str:
    """Return a value of a score as it is read: shares in per cent."""
    return percent(value) if score.unit == "share" else fixed(value)


def interval(score: Score, estimate: Estimate) -> str:
    """Return the interval in words; nothing where it is not known or has no length."""
    low, high = estimate.low, estimate.high
    if not np.isfinite([low, high]).all() or low == high:
        return ""
    return f"95{NBSP}% interval {told(score, low)} to {told(score, high)}"


def between(score: Score, estimate: Estimate) -> str:
    """Return the ends of an interval, or a dash where it has no length."""
    return (
        "–"
        if estimate.low == estimate.high
        else (f"{told(score, estimate.low)} to {told(score, estimate.high)}")
    )


def comparison(score: Score) -> str:
    """Say how the model stands against its strongest rival; nothing if there is none.

    The order of the two is claimed only where the interval of their difference on the same rows
    does not hold 0, or where nothing is known of it and their own intervals are apart; and where a
    reader sees two figures. Who is as good as the strongest may yet be no better than a rule that
    does not look at the rows.
    """
    rivals = {name: e for name, e in score.rivals.items() if np.isfinite(e.value)}
    if not rivals or not np.isfinite(score.model.value):
        return ""
    sign = 1.0 if score.higher_is_better else -1.0
    name = max(rivals, key=lambda rival: sign * rivals[rival].value)
    gap = sign * (score.model.value - rivals[name].value)
    if _apart(score, name):
        return f"{'better' if gap > 0 else 'worse'} than {named(name)} by {_gap(score, abs(gap))}"
    rules = [rule for rule in rivals if is_rule(rule) and rule != name and not _apart(score, rule)]
    also = f", and no better than {named(rules[0])}" if rules else ""
    return f"not distinguishable from {named(name)}{also}"


def is_rule(rival: str) -> bool:
    """Whether a rival is a rule that does not look at the rows."""
    return rival == "the mean" or rival.startswith("always ")


def _apart(score: Score, rival: str) -> bool:
    """Whether a reader sees two figures, and their order is more than chance."""
    if told(score, score.model.value) == told(score, score.rivals[rival].value):
        return False
    lead = score.leads.get(rival)
    if lead is not None:
        return bool(lead.low > 0.0 or lead.high < 0.0)
    (low, high), (other_low, other_high) = map(_ends, (score.model, score.rivals[rival]))
    return bool(high < other_low or other_high < low)


def _ends(estimate: Estimate) -> tuple[float, float]:
    """Return an interval; an unknown end counts as the value itself."""
    low = estimate.low if np.isfinite(estimate.low) else estimate.value
    high = estimate.high if np.isfinite(estimate.high) else estimate.value
    return low, high


def named(rival: str) -> str:
    """Return a rival as a sentence has it: "the linear model", "always 'no'"."""
    return f"the {rival}" if rival.endswith("model") and not rival.startswith("the ") else rival


def _gap(score: Score, gap: float) -> str:
    return f"{100 * gap:.1f} points" if score.unit == "share" else number(gap, 3)


def _card(score: Score, own: str, praise: bool) -> Markup:
    against = comparison(score) if praise else ""
    mood = f"against {_mood(against)}" if against else None
    return card(
        capital(score.name),
        tag("p", told(score, score.model.value), class_="figure"),
        tag("p", interval(score, score.model), class_="between"),
        tag("p", capital(score.meaning), class_="meaning"),
        _contest(score, own),
        tag("p", sentence(against), class_=mood) if against else None,
        class_="score",
    )


def _contest(score: Score, own: str) -> Markup:
    """Return all estimates on one axis, as a list that reads without the picture."""
    share = score.unit == "share"
    axis = axis_around(score.model, list(score.rivals.values()), share=share)
    rows = [_row(score, axis, own, score.model, "model")]
    rows += [_row(score, axis, name, e, "rival") for name, e in score.rivals.items()]
    return _lines(rows, axis_strip(axis, share), "contest")


def _row(score: Score, axis: LinearScale, name: str, e: Estimate, class_: str) -> Markup:
    value, between = told(score, e.value), interval(score, e)
    tip = "\n".join(filter(None, (name, value, between, _lead(score, name))))
    picture = strip(axis, e, class_, zero=score.model.value, tip=tip)
    return _line(name, value, between, picture, class_)


def _lines(rows: Sequence[Markup], numbers: Markup, class_: str) -> Markup:
    return tag("ul", rows, tag("li", numbers, aria_hidden="true"), class_=class_)


def _line(name: str, value: str, between: str, picture: Markup, class_: str | None) -> Markup:
    """Return a name, a value and its interval; the interval is seen in the picture."""
    hidden = tag("span", f", {between}", class_="hidden") if between else None
    named = tag("span", name, class_="name")
    return tag("li", named, tag("span", value, hidden), picture, class_=class_)


def _lead(score: Score, rival: str) -> str:
    """Return the interval of the difference of the model and a rival, in words."""
    lead = score.leads.get(rival)
    if lead is None:
        return ""
    low, high = (signed(score, end) for end in (lead.low, lead.high))
    return f"this model less this one: {low} to {high}"


def signed(score: Score, gap: float) -> str:
    """Return a difference of a score with its sign."""
    sign = "+" if gap > 0 else "−" if gap < 0 else ""
    return f"{sign}{_gap(score, abs(gap))}"


# ---------------------------------------------------------------- columns
def columns(importances: Sequence[Importance], words: str) -> Markup | None:
    """Return what the score loses when a column is shuffled, the most important column first."""
    if not importances:
        return None
    order = sorted(importances, key=lambda one: -np.nan_to_num(one.drop.value, nan=-np.inf))
    axis = axis_over([one.drop for one in order], 0.0)
    texts = aligned([one.drop.value for one in order])
    rows = [_importance(one, text, axis) for one, text in zip(order, texts, strict=True)]
    shown, more = (
        _lines(part, axis_strip(axis), "contest importance")
        for part in (rows[:SHOWN_COLUMNS], rows[SHOWN_COLUMNS:])
    )
    fold = tag("summary", count(len(rows) - SHOWN_COLUMNS, "more column"))
    return card(
        "What the score loses without a column",
        tag("p", sentence(words)) if words else None,
        shown,
        tag("details", fold, more) if len(rows) > SHOWN_COLUMNS else None,
    )


def _importance(one: Importance, text: str, axis: LinearScale) -> Markup:
    drop = one.drop
    between = f"95{NBSP}% interval {number(drop.low, 3)} to {number(drop.high, 3)}"
    tip = f"{one.column}\nthe score falls by {number(drop.value, 3)}\n{between}"
    quiet = "quiet" if drop.low <= 0.0 <= drop.high else None
    return _line(short(one.column, 60), text, between, bar_strip(axis, drop, tip), quiet)
