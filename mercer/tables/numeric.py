"""Numbers and dates: the median for what is missing, mean 0 and standard deviation 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._floats import EPS, LARGEST, TINY, quantile
from mercer._words import count, short_number
from mercer.tables import moments, numerals
from mercer.tables.columns import Column, as_numbers, as_seconds
from mercer.tables.readings import Reading, date_reading, number_reading

DAY = 86400.0

CYCLES = {"year": (365.2425, 366.0), "week": (7.0, 14.0), "day": (1.0, 0.0)}
"""Name: its length and the shortest span of the column, in days, for which it is looked at."""

ROUNDING = 8 * EPS
"""Values that differ by less, relatively or absolutely, are the same."""

LONG_TAIL_SKEWNESS = 2.0
"""A column of numbers ≥ 0 with a larger skewness (2: the exponential law) has a long tail."""

State = dict[str, Any]


# ---------------------------------------------------------------- numbers
def learn_number(column: Column, scale: bool, reading: Reading | None = None) -> State:
    """Return what a column of numbers needs: median, mean, deviation, how many are missing."""
    values, unread, decimal, said = reading or number_reading(column)
    infinite = int(np.isinf(values).sum())
    present = values[np.isfinite(values)]
    if reason := why_useless(present):
        return dropped(column.name, reason)
    unit = heavy_tail(present) if scale else 0.0
    return {
        "name": column.name,
        "kind": "number",
        "words": _number_words(scale, unit),
        "median": float(quantile(present, 0.5)),
        "unit": unit,
        **_center(_bent(present, unit), scale),
        "missing": len(values) - len(present),
        "infinite": infinite,
        "unread": unread,
        "decimal": decimal,
        "said": list(said),
    }


def why_useless(present: np.ndarray) -> str:
    """Return why a column of numbers says nothing, or ""."""
    if not len(present):
        return "all values are missing"
    low, high = float(present.min()), float(present.max())
    if high / 2 - low / 2 <= 0.5 * max(ROUNDING * max(abs(low), abs(high)), TINY):
        return f"the same value in every row ({short_number(low)})"
    return ""


def _number_words(scale: bool, unit: float) -> str:
    if not scale:
        return "unchanged"
    return f"log(1 + x/{short_number(unit)}), standardised" if unit else "standardised"


def heavy_tail(present: np.ndarray) -> float:
    """Return the median of the positive values of a column ≥ 0 with a long tail, otherwise 0."""
    if present.min() < 0.0:
        return 0.0
    unit, largest = float(quantile(present[present > 0], 0.5)), float(present.max())
    spread = present / largest - float(np.mean(present / largest))
    skewness = float(np.mean(spread**3)) / float(np.mean(spread**2)) ** 1.5
    # a logarithm changes little where the largest is a few units: zeros and ones, small counts
    return unit if skewness > LONG_TAIL_SKEWNESS and largest > 4.0 * unit else 0.0


def _bent(values: np.ndarray, unit: float) -> np.ndarray:
    """Return ±log(1 + |x|/unit), straight for small x and flat for large ones; for 0 return x."""
    if not unit:
        return values
    with np.errstate(over="ignore"):
        return np.copysign(np.log1p(np.abs(values) / unit), values)


def _center(present: np.ndarray, scale: bool) -> State:
    """Return mean and deviation, from values divided by the largest: no overflow."""
    if not scale:
        return {"mean": 0.0, "deviation": 1.0}
    largest = float(np.abs(present).max())
    unit = present / largest
    return {"mean": float(unit.mean()) * largest, "deviation": float(unit.std()) * largest}


def encode_number(state: State, column: Column) -> tuple[np.ndarray, int]:
    """Return (n, 1 or 2): the standardised numbers and, if fit saw gaps, where they are."""
    # a model of an earlier version has seen numbers only, and knows no decimal sign
    values, unread = as_numbers(column, state.get("decimal", numerals.BY_VALUE))
    here = np.isfinite(values)
    filled = values if here.all() else np.where(here, values, state["median"])
    numbers = _standardised(state, _bent(filled, state["unit"]))
    return np.column_stack([numbers, *_gaps(state, here)]), unread


def _standardised(state: State, values: np.ndarray) -> np.ndarray:
    """Return (x − m) / s, cut where no kernel could square it."""
    with np.errstate(over="ignore"):
        return np.clip((values - state["mean"]) / state["deviation"], -LARGEST, LARGEST)


def number_features(state: State) -> list[str]:
    """Return the names of the output columns."""
    return [state["name"], *_gap_name(state)]


def _gaps(state: State, here: np.ndarray) -> list[np.ndarray]:
    return [(~here).astype(np.float64)] if state["missing"] else []


def _gap_name(state: State) -> list[str]:
    return [f"{state['name']} is missing"] if state["missing"] else []


def dropped(name: str, reason: str) -> State:
    """Return the state of a column that is left out."""
    return {"name": name, "kind": "dropped", "words": reason}


# ---------------------------------------------------------------- dates
def learn_date(column: Column, scale: bool, reading: Reading | None = None) -> State:
    """Return what a column of moments needs, and the cycles (year, week, day) that it shows."""
    seconds, unread, first, said = reading or date_reading(column)
    present = seconds[np.isfinite(seconds)] / DAY
    if reason := why_useless(present):
        return dropped(column.name, reason.split(" (")[0])
    cycles = [name for name in CYCLES if _shows(name, present)]
    return {
        "name": column.name,
        "kind": "date",
        "words": ", ".join(["days", *(f"time of the {name}" for name in cycles)]),
        **_center(present - float(np.median(present)), scale),
        "origin": float(np.median(present)),
        "cycles": cycles,
        "missing": len(seconds) - len(present),
        "infinite": 0,
        "unread": unread,
        "first": first,
        "said": list(said),
    }


def _shows(cycle: str, days: np.ndarray) -> bool:
    """Whether a cycle can be seen: the span is long enough and its phase is not the same."""
    return bool(np.ptp(days) > CYCLES[cycle][1] and np.ptp(_phase(cycle, days)) > 0)


def _phase(cycle: str, days: np.ndarray) -> np.ndarray:
    """Return where in the cycle a moment lies, in [0, 1); a week starts on Monday."""
    period = CYCLES[cycle][0]
    shifted = np.floor(days + 3.0) if cycle == "week" else days  # 1970-01-01 was a Thursday
    return np.mod(shifted, period) / period


def encode_date(state: State, column: Column) -> tuple[np.ndarray, int]:
    """Return the days since the median, a point on a circle for each cycle, and the gaps."""
    seconds, unread = as_seconds(column, state.get("first", moments.BY_VALUE))
    here = np.isfinite(seconds)
    days = np.where(here, seconds / DAY, state["origin"])
    blocks = [_standardised(state, days - state["origin"])]
    for cycle in state["cycles"]:
        angle = 2.0 * np.pi * _phase(cycle, days)
        # a circle of diameter 1, so that opposite times are as far apart as two categories;
        # a missing date is its center
        blocks += [0.5 * here * np.sin(angle), 0.5 * here * np.cos(angle)]
    return np.column_stack(blocks + _gaps(state, here)), unread


def date_features(state: State) -> list[str]:
    """Return the names of the output columns."""
    name = state["name"]
    circles = [f"{name} ({c}, {part})" for c in state["cycles"] for part in ("sin", "cos")]
    return [f"{name} (days)", *circles, *_gap_name(state)]


def gap_words(state: State) -> list[str]:
    """Return sentences on how a number or a date is written, what is missing or unreadable."""
    name, sentences = state["name"], list(state.get("said", []))
    is_number = state["kind"] == "number"
    fill = f"median {short_number(state['median'])}" if is_number else "the median date"
    if state["missing"]:
        gaps = count(state["missing"], "missing value")
        sentences.append(f"{gaps} in {name!r}: {fill} and an indicator")
    if state["infinite"]:
        infinite = count(state["infinite"], "infinite value")
        sentences.append(f"{infinite} in {name!r} taken as missing")
    if state["unread"]:
        unread = f"{count(state['unread'], 'value')} in {name!r}"
        sentences.append(f"{unread} could not be read as a {state['kind']}: taken as missing")
    return sentences
