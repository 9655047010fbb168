"""Score cards: a value, its interval, and whether rivals can be told apart from it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer.report.charts.intervals import axis_around, axis_strip, strip
from mercer.report.charts.scale import Linear
from mercer.report.html import Markup, tag
from mercer.report.study import Estimate, Score, Study
from mercer.report.wording import NBSP, capital, count, fixed, number, percent, sentence

SHARES = ("share", "accuracy", "recall", "precision", "per cent", "percentage")
MODEL = "this model"


def cards(scores: Sequence[Score]) -> Markup:
    """Return one card a score."""
    return tag("div", [_card(score) for score in scores], class_="scores")


def verdict(study: Study) -> str:
    """Return the first score in a sentence."""
    if not study.scores:
        return ""
    score, rows = study.scores[0], getattr(study.evaluation, "n_rows", None)
    where = f" on {count(rows, 'row')}" if rows else ""
    between = (
        f", 95{NBSP}% interval {told(score, score.model.low)} to {told(score, score.model.high)}"
    )
    known = between if np.isfinite([score.model.low, score.model.high]).all() else ""
    against = comparison(score)
    said = f"{score.name} {told(score, score.model.value)}{where}{known}"
    return sentence(f"{said}: {against}" if against else said)


def told(score: Score, value: float) -> str:
    """Return a value of a score as it is read: shares in per cent."""
    return percent(value) if is_share(score) else fixed(value)


def is_share(score: Score) -> bool:
    """Tell whether a score is read in per cent."""
    words = f"{score.name} {score.meaning}".lower()
    values = [e.value for e in (score.model, *score.rivals.values()) if np.isfinite(e.value)]
    if score.name.lower() in (
        "r²",
        "r2",
    ):  # may be below 0 elsewhere, and is never read in per cent
        return False
    return any(word in words for word in SHARES) and all(0.0 <= v <= 1.0 for v in values)


def comparison(score: Score) -> str:
    """Say how the model stands against its strongest rival; nothing if there is none.

    The order of the two is claimed only where their intervals are apart.
    """
    rivals = {name: e for name, e in score.rivals.items() if np.isfinite(e.value)}
    if not rivals or not np.isfinite(score.model.value):
        return ""
    sign = 1.0 if score.higher_is_better else -1.0
    name = max(rivals, key=lambda rival: sign * rivals[rival].value)
    gap = sign * (score.model.value - rivals[name].value)
    if _overlap(score.model, rivals[name]):
        return f"not distinguishable from {named(name)}"
    return f"{'better' if gap > 0 else 'worse'} than {named(name)} by {_gap(score, abs(gap))}"


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
    between = f"95{NBSP}% interval {told(score, e.low)} to {told(score, e.high)}"
    tip = f"{name}\n{told(score, e.value)}\n{between}"
    return tag(
        "li",
        tag("span", name, class_="name"),
        tag("span", told(score, e.value), tag("span", f", {between}", class_="hidden")),
        strip(axis, e, class_, zero=score.model.value, tip=tip),
        class_=class_,
    )
