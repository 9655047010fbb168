"""Score cards: a value, its interval, and whether rivals can be told apart from it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer._words import NBSP, capital, count, fixed, number, percent, sentence
from mercer.report.charts.intervals import axis_around, axis_strip, strip
from mercer.report.charts.scale import Linear
from mercer.report.html import Markup, tag
from mercer.report.study import Estimate, Score, Study

MODEL = "this model"


def cards(scores: Sequence[Score]) -> Markup:
    """Return one card a score."""
    inside = tag("div", [_card(score) for score in scores], class_="scores")
    return tag("section", tag("h2", "Scores", class_="hidden"), inside, aria_label="Scores")


def verdict(study: Study) -> str:
    """Return the first score in a sentence."""
    if not study.scores:
        return ""
    score, rows = study.scores[0], getattr(study.evaluation, "n_rows", None)
    where = f" on {count(rows, 'row')}" if rows else ""
    between = interval(score, score.model)
    against = comparison(score)
    said = f"{score.name} {told(score, score.model.value)}{where}"
    said = f"{said} ({between})" if between else said
    return sentence(f"{said}: {against}" if against else said)


def told(score: Score, value: float) -> str:
    """Return a value of a score as it is read: shares in per cent."""
    return percent(value) if is_share(score) else fixed(value)


def interval(score: Score, estimate: Estimate) -> str:
    """Return the interval in words; nothing where it is not known or has no length."""
    low, high = estimate.low, estimate.high
    if not np.isfinite([low, high]).all() or low == high:
        return ""
    return f"95{NBSP}% interval {told(score, low)} to {told(score, high)}"


def is_share(score: Score) -> bool:
    """Tell whether a score is read in per cent."""
    return score.unit == "share"


def comparison(score: Score) -> str:
    """Say how the model stands against its strongest rival; nothing if there is none.

    The order of the two is claimed only where the interval of their difference on the same rows
    does not hold 0, or where nothing is known of it and their own intervals are apart.
    """
    rivals = {name: e for name, e in score.rivals.items() if np.isfinite(e.value)}
    if not rivals or not np.isfinite(score.model.value):
        return ""
    sign = 1.0 if score.higher_is_better else -1.0
    name = max(rivals, key=lambda rival: sign * rivals[rival].value)
    gap = sign * (score.model.value - rivals[name].value)
    if not _apart(score, name):
        return f"not distinguishable from {named(name)}"
    return f"{'better' if gap > 0 else 'worse'} than {named(name)} by {_gap(score, abs(gap))}"


def _apart(score: Score, rival: str) -> bool:
    lead = score.leads.get(rival)
    if lead is None:
        return not _overlap(score.model, score.rivals[rival])
    return bool(lead.low > 0.0 or lead.high < 0.0)


def named(rival: str) -> str:
    """Return a rival as a sentence has it: "the linear model", "always 'no'"."""
    return f"the {rival}" if rival.endswith("model") and not rival.startswith("the ") else rival


def _gap(score: Score, gap: float) -> str:
    return f"{100 * gap:.1f} points" if is_share(score) else number(gap, 3)


def _overlap(one: Estimate, other: Estimate) -> bool:
    """Tell whether intervals share a point; an unknown end counts as the value itself."""
    low, high = _ends(one)
    other_low, other_high = _ends(other)
    return bool(low <= other_high and other_low <= high)


def _ends(estimate: Estimate) -> tuple[float, float]:
    low = estimate.low if np.isfinite(estimate.low) else estimate.value
    high = estimate.high if np.isfinite(estimate.high) else estimate.value
    return low, high


def _card(score: Score) -> Markup:
    against = comparison(score)
    return tag(
        "article",
        tag("h3", capital(score.name)),
        tag("p", told(score, score.model.value), class_="figure"),
        tag("p", interval(score, score.model), class_="between"),
        tag("p", capital(score.meaning), class_="meaning"),
        _contest(score),
        tag("p", sentence(against), class_=_mood(against)) if against else None,
        class_="card score",
    )


def _mood(against: str) -> str:
    return f"against {against.split()[0]}"


def _contest(score: Score) -> Markup:
    """Return all estimates on one axis, as a list that reads without the picture."""
    axis = axis_around(score.model, list(score.rivals.values()))
    rows = [_row(score, axis, MODEL, score.model, "model")]
    rows += [_row(score, axis, name, e, "rival") for name, e in score.rivals.items()]
    return tag(
        "ul",
        rows,
        tag("li", axis_strip(axis, is_share(score)), aria_hidden="true"),
        class_="contest",
    )


def _row(score: Score, axis: Linear, name: str, e: Estimate, class_: str) -> Markup:
    between = interval(score, e)
    tip = "\n".join(filter(None, (name, told(score, e.value), between, _lead(score, name))))
    return tag(
        "li",
        tag("span", name, class_="name"),
        tag(
            "span",
            told(score, e.value),
            tag("span", f", {between}", class_="hidden") if between else None,
        ),
        strip(axis, e, class_, zero=score.model.value, tip=tip),
        class_=class_,
    )


def _lead(score: Score, rival: str) -> str:
    """Return the interval of the difference of the model and a rival, in words."""
    lead = score.leads.get(rival)
    if lead is None:
        return ""
    low, high = (_signed(score, end) for end in (lead.low, lead.high))
    return f"this model less this one: {low} to {high}"


def _signed(score: Score, gap: float) -> str:
    sign = "+" if gap > 0 else "−" if gap < 0 else ""
    return f"{sign}{_gap(score, abs(gap))}"
