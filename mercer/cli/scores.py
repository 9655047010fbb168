"""Scores for people: a table, and in a sentence whether the model was worth its trouble."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mercer._limits import Limits
from mercer._words import fixed, quoted, short
from mercer.assess.metrics import METRICS
from mercer.checks import open_leaks
from mercer.cli.screen import Screen, interval
from mercer.report import Study
from mercer.report.sections.scores import verdict

REPORT_SHARE = 0.6  # of what is left of a time limit; no section ends to the second
NO_LIMIT = 1e9  # seconds for the report where the command has none
LEAST_SECONDS = 2.0  # that the scores and a fair rival need, however little time there is
LONGEST = 14  # characters of the name of a target or a class
IN_UNITS = ("RMSE", "MAE", "median error")
OF_POSITIVE = tuple(metric.title for metric in METRICS.values() if metric.of_positive)
IN_WORDS = {"UAR": "mean recall (UAR)"}

Estimates = Mapping[str, float]  # value, low, high


def estimates(study: Study) -> dict[str, dict[str, Any]]:
    """Return the scores of the model and its rivals as plain values: by whom, by score."""
    rivals = dict.fromkeys(name for score in study.scores for name in score.rivals)
    found: dict[str, dict[str, Any]] = {"model": {s.name: vars(s.model) for s in study.scores}}
    for name in rivals:
        found[name] = {s.name: vars(s.rivals[name]) for s in study.scores if name in s.rivals}
    return found


def seconds_to_look(limits: Limits) -> float:
    """Return the time for looking at held-out rows."""
    left = limits.share(REPORT_SHARE)
    return NO_LIMIT if left is None else max(left, LEAST_SECONDS)


def show(study: Study, model: str, target: str, screen: Screen) -> None:
    """Print the table of scores, and in a sentence whether the model was worth its trouble."""
    for leak in open_leaks(study.findings):
        screen.found(leak)
    by_whom = estimates(study)
    own = by_whom.pop("model")
    screen.table(
        ["", model, "95 % interval", *map(_heading, by_whom)],
        [_row(name, own, list(by_whom.values()), _label(name, study, target)) for name in own],
    )
    screen.blank()
    screen.say("verdict", verdict(study))


def _heading(rival: str) -> str:
    rival = rival.removesuffix(" model").removeprefix("boosted ")
    return short(rival, LONGEST + len("always ''"))


def _row(
    name: str, own: Mapping[str, Estimates], rivals: Sequence[Mapping[str, Estimates]], label: str
) -> list[str]:
    others = (fixed(rival[name]["value"]) if name in rival else "–" for rival in rivals)
    return [label, fixed(own[name]["value"]), interval(own[name]), *others]


def _label(name: str, study: Study, target: str) -> str:
    if name in IN_UNITS:
        return f"{name}, in {short(target, LONGEST)}"
    if name in OF_POSITIVE and study.evaluation.positive is not None:
        return f"{name} of {quoted(study.evaluation.positive, LONGEST)}"
    return IN_WORDS.get(name, name)
