"""Which candidate of a round to take, and which to try on more rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import log
from typing import Any

import numpy as np

from mercer._floats import TINY
from mercer._words import last_part
from mercer.cv_results import Trials, is_number

NOISE = 0.5  # standard errors of the best mean score within which candidates are as good
FAR_ERRORS = 3.0  # standard errors below the best: no further rows are spent on such
MOST_PROMISING = 10  # candidates of the second stage
EXPECTED_GAIN_SHARE = 0.5  # of the gain from more rows, beyond what was seen
PENALTIES = ("C", "lam")
STEPS = {"C": 3.0, "lam": 3.0, "gamma": 2.0}  # factors between neighbours of the last stage
USUAL_STEP = 3.0  # of other parameters that are floats
SHARES = ("band", "decay", "nu", "weights")  # end at 1, and have no neighbours


def smoothest(trials: Trials, expected: np.ndarray | None = None) -> int:
    """Return the trial to take, by its mean score or by the scores that are expected.

    Of the candidates within half a standard error of the best score the one with the smallest C or
    the largest λ; among equals the best. Where the surface is flat its far end is no better, and
    takes many times as long. Where nothing could be scored it is the smoothest of all.
    """
    scores = trials.mean if expected is None else expected
    return _smoothest(trials, np.flatnonzero(np.isfinite(scores)), scores)


def _smoothest(trials: Trials, places: Sequence[int] | np.ndarray, scores: np.ndarray) -> int:
    if not len(places):
        return min(range(len(trials)), key=lambda i: _roughness(trials.params[i]))
    best = max(places, key=lambda i: scores[i])
    least = scores[best] - NOISE * trials.std[best] / trials.folds[best] ** 0.5
    good = [int(i) for i in places if scores[i] >= least]
    return min(good, key=lambda i: (_roughness(trials.params[i]), -scores[i]))


def on_more_rows(trials: Trials, earlier: Trials, rows: tuple[int, int, int]) -> np.ndarray:
    """Return the scores to expect on all rows.

    What a candidate gained from the earlier round to this one, over log n, goes on by half; rounds
    that learned from equally many rows, or from fewer, tell nothing of more. ``rows`` says from how
    many the earlier round learned, this one, and the last fit.
    """
    first, second, last = rows
    before = {repr(p): m for p, m in zip(earlier.params, earlier.mean, strict=True)}
    gain = trials.mean - np.array([before.get(repr(p), np.nan) for p in trials.params])
    if not first < second < last or not np.isfinite(gain).any():
        return trials.mean
    gain = np.where(np.isfinite(gain), gain, np.nanmedian(gain))
    return trials.mean + EXPECTED_GAIN_SHARE * gain * log(last / second) / log(second / first)


def promising(trials: Trials, best: int) -> list[dict[str, Any]]:
    """Return what to try on more rows: the best, what is as wide and nearly as good, and all that
    is narrower, which gains the most from them; each with the penalty that suited it.
    """
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for i in np.flatnonzero(trials.complete):
        params = trials.params[i]
        if _gamma(params) >= _gamma(trials.params[best]):
            rest = {k: v for k, v in params.items() if last_part(k) not in PENALTIES}
            groups[str(sorted((name, str(value)) for name, value in rest.items()))].append(int(i))
    if len(groups) <= 1:
        return around(trials, best)
    chosen = [_smoothest(trials, group, trials.mean) for group in groups.values()]
    error = trials.std[best] / trials.folds[best] ** 0.5 if trials.folds[best] > 1 else np.inf
    least = trials.mean[best] - FAR_ERRORS * error
    widest = _gamma(trials.params[best])
    chosen = [i for i in chosen if trials.mean[i] >= least or _gamma(trials.params[i]) > widest]
    chosen.sort(key=lambda i: -trials.mean[i])
    return [dict(trials.params[i]) for i in chosen[:MOST_PROMISING]]


def around(trials: Trials, best: int) -> list[dict[str, Any]]:
    """Return the best candidate and its neighbours along each scale."""
    point = dict(trials.params[best])
    steps = {k: STEPS.get(last_part(k), USUAL_STEP) for k, v in point.items() if _is_scale(k, v)}
    neighbours = [point | {k: point[k] * f} for k, step in steps.items() for f in (1 / step, step)]
    return [point, *neighbours]


def _is_scale(name: str, value: Any) -> bool:
    last = last_part(name)
    return (isinstance(value, float) and last not in SHARES) or (last in STEPS and is_number(value))


def _roughness(params: Mapping[str, Any]) -> float:
    """Return log(C / λ): how little a function is held back."""
    C, lam = (_number(params, name, 1.0) for name in PENALTIES)
    return float(np.log(max(C, TINY)) - np.log(max(lam, TINY)))


def _gamma(params: Mapping[str, Any]) -> float:
    return _number(params, "gamma", 0.0)


def _number(params: Mapping[str, Any], name: str, otherwise: float) -> float:
    """Return the value of a parameter, however deep it is, if that is a number."""
    found = (v for key, v in params.items() if last_part(key) == name and is_number(v))
    return float(next(found, otherwise))
