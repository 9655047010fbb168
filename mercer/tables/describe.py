"""What was done with the columns of a table, in sentences."""

from __future__ import annotations

from mercer.tables.categorical import n_groups
from mercer.tables.kinds import KINDS
from mercer.tables.numeric import State
from mercer.tables.wording import count, listing


def describe_columns(states: list[State], scale: bool) -> list[str]:
    """Return first how many columns of which kind, then what is special about single ones."""
    sentences = [s["words"] for s in states if s["kind"] == "sparse"]
    for kind, total in _TOTALS.items():
        some = [state for state in states if state["kind"] == kind]
        sentences += [total(some, scale)] if some else []
    sentences += _long_tails(states)
    for state in states:
        if state["kind"] in KINDS:
            sentences += KINDS[state["kind"]].sentences(state)
    return sentences + _left_out(states)


def _long_tails(states: list[State]) -> list[str]:
    names = [state["name"] for state in states if state.get("unit")]
    if not names:
        return []
    its = "has a long tail: its logarithm is" if len(names) == 1 else _THEIR_TAILS
    return [f"{listing(names)} {its} standardised"]


_THEIR_TAILS = "have long tails: their logarithms are"


def _numbers(states: list[State], scale: bool) -> str:
    done = "standardised" if scale else "unchanged"
    return f"{count(len(states), 'numeric column')} {done}"


def _categories(states: list[State], scale: bool) -> str:
    levels = sum(n_groups(state) for state in states)
    return f"{count(len(states), 'category column')} with {count(levels, 'level')}"


def _dates(states: list[State], scale: bool) -> str:
    cycles = list(dict.fromkeys(cycle for state in states for cycle in state["cycles"]))
    times = f" and times of the {' and '.join(cycles)}" if cycles else ""
    return f"{count(len(states), 'date column')} as days{times}"


def _texts(states: list[State], scale: bool) -> str:
    terms = sum(len(state["terms"]) for state in states)
    return f"{count(len(states), 'text column')} as the weights of {count(terms, 'term')} (tf-idf)"


_TOTALS = {"number": _numbers, "category": _categories, "date": _dates, "text": _texts}


def _left_out(states: list[State]) -> list[str]:
    """Return one sentence for each reason to leave columns out."""
    reasons: dict[str, list[str]] = {}
    for state in states:
        if state["kind"] == "dropped":
            reasons.setdefault(state["words"], []).append(state["name"])
    return [
        f"{'column' if len(names) == 1 else 'columns'} {listing(names)} left out: {reason}"
        for reason, names in reasons.items()
    ]
