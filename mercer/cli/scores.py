"""Scores for people: one line a score, the model beside those that it must beat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mercer._words import fixed, short
from mercer.cli.screen import Screen
from mercer.report import Study
from mercer.report.sections.scores import verdict

LONGEST = 14  # characters of the name of a target or a class
IN_UNITS = ("RMSE", "MAE")
IN_WORDS = {"UAR": "mean recall (UAR)"}

Estimates = Mapping[str, float]  # value, low, high


def estimates(study: Study) -> dict[str, dict[str, Any]]:
    """Return the scores of the model and its rivals as plain values: by whom, by score."""
    rivals = dict.fromkeys(name for score in study.scores for name in score.rivals)
    found: dict[str, dict[str, Any]] = {"model": {s.name: vars(s.model) for s in study.scores}}
    for name in rivals:
        found[name] = {s.name: vars(s.rivals[name]) for s in study.scores if name in s.rivals}
    return found


def show(study: Study, model: str, target: str, screen: Screen) -> None:
    """Print the table of scores, and in a sentence whether the model was worth its trouble."""
    by_whom = estimates(study)
    own = by_whom.pop("model")
    screen.table(
        ["", model, "95 % interval", *map(_heading, by_whom)],
        [_row(name, own, list(by_whom.values()), _label(name, study, target)) for name in own],
    )
    screen.blank()
    screen.say("verdict", verdict(study))


def _heading(rival: str) -> str:
    return short(rival, LONGEST + len("always ''"))


def _row(
    name: str, own: Mapping[str, Estimates], rivals: Sequence[Mapping[str, Estimates]], label: str
) -> list[str]:
    others = (fixed(rival[name]["value"]) if name in rival else "–" for rival in rivals)
    return [label, fixed(own[name]["value"]), interval(own[name]), *others]


def _label(name: str, study: Study, target: str) -> str:
    if name in IN_UNITS:
        return f"{name}, in units of {short(target, LONGEST)}"
    if name == "F1":
        return f"F1 of {short(study.evaluation.positive, LONGEST)!r}"
    return IN_WORDS.get(name, name)


def interval(estimate: Estimates) -> str:
    """Return the ends of an interval, or a dash where it has no length."""
    low, high = fixed(estimate["low"]), fixed(estimate["high"])
    return "–" if low == high else f"{low} … {high}"
