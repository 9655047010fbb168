"""Series: lists of numbers, written as JSON, and in a matrix as so many steps each."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np

from mercer._floats import LARGEST
from mercer._words import count
from mercer.tables.columns import READABLE_SHARE, Column, as_codes
from mercer.tables.numeric import State, dropped

FIRST_LOOK = 20  # cells from which it is seen that a column holds no series
MOST_STEPS = 400  # of a series in a matrix; longer ones are read at so many places

Series = np.ndarray  # (steps, channels)


def parse_series(text: str) -> Series | None:
    """Return a JSON list of numbers, or of equally long lists, as (steps, channels), or None."""
    if not text.startswith("["):
        return None
    try:
        values = np.array(json.loads(text), dtype=np.float64)  # null is NaN
    except (ValueError, TypeError, RecursionError):
        return None
    values = values[:, None] if values.ndim == 1 else values
    known = np.isfinite(values)
    if values.ndim != 2 or not values.size or not known.any(axis=0).all():
        return None
    return values if np.abs(values[known]).max() <= LARGEST else None


def looks_like_series(column: Column) -> bool:
    """Whether nearly all cells of a column of texts are series of two steps or more."""
    some = [parse_series(level) for level in column.levels[:FIRST_LOOK]]
    found = [series for series in some if series is not None]
    return len(found) > READABLE_SHARE * len(some) and max(map(len, found)) > 1


def learn_series(column: Column, scale: bool = True) -> State:
    """Return the usual length, the channels, mean and deviation, and the mean series."""
    levels = _parsed(column)
    present = [series for series in levels if series is not None]
    if not present:
        raise ValueError(
            f"column {column.name!r} holds no series: its cells must be lists of numbers, such as "
            f"[0.5, 1, 2], or of lists of numbers, one for each step"
        )
    channels = Counter(series.shape[1] for series in present).most_common(1)[0][0]
    present = [series for series in present if series.shape[1] == channels]
    lengths = np.array([len(series) for series in present])
    steps = int(min(np.median(lengths), MOST_STEPS))
    table = np.array([resampled(without_gaps(series), steps) for series in present])
    mean, deviation = table.mean(axis=(0, 1)), table.std(axis=(0, 1))
    if not (deviation > 0).any() or np.ptp(table, axis=0).max() <= 0:
        return dropped(column.name, "the same series in every row")
    state = {"name": column.name, "kind": "series", "steps": steps, "channels": channels}
    codes = as_codes(column)[0]
    here = np.array([_suits(series, channels) for series in [*levels, None]])[codes]
    gaps = np.array([_has_gaps(series) for series in [*levels, None]])[codes]
    return state | {
        "words": _shape_words(lengths, channels),
        "scale": scale,
        "mean": mean,
        "deviation": np.where(deviation > 0, deviation, 1.0),
        "usual": table.mean(axis=0),
        "missing": int((codes < 0).sum()),
        "unread": int((~here & (codes >= 0)).sum()),
        "gaps": int((gaps & here).sum()),
    }


def _shape_words(lengths: np.ndarray, channels: int) -> str:
    low, high = int(lengths.min()), int(lengths.max())
    steps = count(low, "step") if low == high else f"{low:,} to {high:,} steps"
    return steps if channels == 1 else f"{steps} in {channels} channels"


def _parsed(column: Column) -> list[Series | None]:
    return [parse_series(level) for level in as_codes(column)[1]]


def _suits(series: Series | None, channels: int) -> bool:
    return series is not None and series.shape[1] == channels


def _has_gaps(series: Series | None) -> bool:
    return series is not None and not bool(np.isfinite(series).all())


def without_gaps(series: Series) -> Series:
    """Return a series with steps that are missing put on straight lines between those that are."""
    known, steps = np.isfinite(series), np.arange(len(series))
    if known.all():
        return series
    pairs = zip(series.T, known.T, strict=True)
    return np.column_stack([np.interp(steps, steps[k], values[k]) for values, k in pairs])


def resampled(series: Series, steps: int) -> Series:
    """Return a series read at so many places, from its first step to its last."""
    if len(series) == steps:
        return series
    places = np.linspace(0.0, len(series) - 1.0, steps)
    return np.column_stack([np.interp(places, np.arange(len(series)), v) for v in series.T])


def series_cells(state: State, column: Column) -> tuple[np.ndarray, int]:
    """Return each series as it is, (steps, channels), and how many cells could not be read.

    Where a cell is missing or could not be read stands the mean of the training series.
    """
    codes, levels = as_codes(column)[0], _parsed(column)
    suits = [_suits(series, state["channels"]) for series in levels]
    cells = np.empty(len(levels) + 1, dtype=object)  # the last is for the code −1 of a missing one
    cells[-1] = state["usual"]
    for place, (series, good) in enumerate(zip(levels, suits, strict=True)):
        cells[place] = without_gaps(series) if good and series is not None else state["usual"]
    return cells[codes], int((~np.array([*suits, True]))[codes].sum())


def encode_series(state: State, column: Column) -> tuple[np.ndarray, int]:
    """Return (n, steps · channels): the steps of each channel in turn, in units of the column."""
    cells, unread = series_cells(state, column)
    table = np.array([resampled(series, state["steps"]) for series in cells])
    if state["scale"]:
        table = (table - state["mean"]) / state["deviation"]
    return table.transpose(0, 2, 1).reshape(len(table), -1), unread


def series_features(state: State) -> list[str]:
    """Return the names of the output columns."""
    name, steps = state["name"], range(state["steps"])
    if state["channels"] == 1:
        return [f"{name}[{step}]" for step in steps]
    return [f"{name}[{step}, {c}]" for c in range(state["channels"]) for step in steps]


def series_sentences(state: State) -> list[str]:
    """Return what is special about a column of series."""
    said, name = [], state["name"]
    if state["missing"]:
        lost = count(state["missing"], "missing series", "missing series")
        said.append(f"{lost} in {name!r}: the mean of all")
    if state["unread"]:
        said.append(f"{count(state['unread'], 'cell')} of {name!r} taken as missing: no series")
    if state["gaps"]:
        have = "has" if state["gaps"] == 1 else "have"
        said.append(
            f"{count(state['gaps'], 'series', 'series')} of {name!r} {have} gaps: filled along "
            f"straight lines"
        )
    return said
