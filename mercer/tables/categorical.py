"""Categories: a column for each frequent level, scaled so that two levels are at distance 1."""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np

from mercer._words import count, short_number
from mercer.tables.columns import TRUTHS, Column, as_codes
from mercer.tables.numeric import State, dropped

UNIT = 1.0 / sqrt(2.0)
"""The entry of a level: two rows that differ in it are at distance √(½ + ½) = 1."""


def learn_category(column: Column, max_categories: int, min_frequency: float, scale: bool) -> State:
    """Return the frequent levels of a column and whether gaps and rare levels have one too."""
    codes, levels = as_codes(column)
    counts = np.bincount(codes[codes >= 0], minlength=len(levels))
    n_missing, n_levels = int(np.sum(codes < 0)), int(np.count_nonzero(counts))
    kept = _frequent(counts, max_categories, _floor(min_frequency, len(codes)))
    state = {
        "name": column.name,
        "kind": "category",
        "levels": [levels[i] for i in kept],
        "rare": n_levels - len(kept),
        "missing": n_missing,
        "truth": column.form == "flag",
        "scale": scale,
    }
    if n_groups(state) < 2:
        return dropped(column.name, _why(n_levels, levels))
    return state | {"words": _words(state)}


def _floor(min_frequency: float, n_rows: int) -> int:
    """Return how many rows a level needs: a number of rows, or a share of them."""
    return ceil(min_frequency * n_rows) if isinstance(min_frequency, float) else min_frequency


def _frequent(counts: np.ndarray, most: int, floor: int) -> list[int]:
    """Return the most frequent levels in alphabetical order; of equals the first are taken."""
    order = np.argsort(-counts, kind="stable")[:most]
    return sorted(int(i) for i in order if counts[i] >= max(floor, 1))


def _why(n_levels: int, levels: list[str]) -> str:
    if n_levels == 0:
        return "all values are missing"
    if n_levels == 1:
        return f"the same value in every row ({levels[0]})"
    return f"no frequent value among {short_number(n_levels)}"


def _words(state: State) -> str:
    words = count(len(state["levels"]), "level")
    return f"{words} and {count(state['rare'], 'rare one')} together" if state["rare"] else words


def n_groups(state: State) -> int:
    """Return the number of levels, with one for the rare and one for the missing."""
    return len(state["levels"]) + bool(state["rare"]) + bool(state["missing"])


def encode_category(state: State, column: Column) -> tuple[np.ndarray, int]:
    """Return (n, levels), or (n, 1) for two levels; a level that fit did not see is all zeros.

    It counts as rare where fit met rare levels.
    """
    codes, levels = as_codes(column)
    place = {level: i for i, level in enumerate(state["levels"])}
    unseen = len(place) if state["rare"] else -1
    missing = n_groups(state) - 1 if state["missing"] else -1
    known = [TRUTHS.get(x.lower(), x) for x in levels] if state["truth"] else levels
    group = np.array([place.get(level, unseen) for level in known] + [missing])
    return _corners(n_groups(state), state["scale"])[group[codes]], 0


def _corners(n_groups: int, scale: bool) -> np.ndarray:
    """Return the row of each group and, last, the row of a level that is in none of them."""
    if n_groups == 2:
        return np.array([[-0.5], [0.5], [0.0]]) if scale else np.array([[0.0], [1.0], [0.5]])
    return np.eye(n_groups + 1, n_groups) * (UNIT if scale else 1.0)


def category_features(state: State) -> list[str]:
    """Return the names of the output columns."""
    groups = [f"{state['name']}={level}" for level in state["levels"]]
    groups += [f"{state['name']} is rare"] * bool(state["rare"])
    groups += [f"{state['name']} is missing"] * bool(state["missing"])
    return groups[1:] if len(groups) == 2 else groups


def category_sentences(state: State) -> list[str]:
    """Return sentences on rare and missing levels."""
    name, rare, missing = state["name"], state["rare"], state["missing"]
    sentences = []
    if rare:
        frequent = count(len(state["levels"]), "frequent level")
        ones = "rare one" if rare == 1 else f"{rare:,} rare ones"
        sentences.append(f"{name!r} has {frequent} and one for the {ones}")
    if missing:
        own = "its own" if missing == 1 else "their own"
        sentences.append(f"{count(missing, 'missing value')} in {name!r}: a level of {own}")
    return sentences
