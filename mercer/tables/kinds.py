"""Which kind a column is: number, category, text, date, or left out; and what is said of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mercer._words import count, hint, listing
from mercer.tables.categorical import (
    category_features,
    category_sentences,
    encode_category,
    learn_category,
    n_groups,
)
from mercer.tables.columns import READABLE_SHARE, Column, dates, numbers
from mercer.tables.numeric import (
    State,
    date_features,
    dropped,
    encode_date,
    encode_number,
    gap_words,
    learn_date,
    learn_number,
    number_features,
)
from mercer.tables.readings import Reading, are_mostly_bounds, date_reading, number_reading
from mercer.tables.series import (
    encode_series,
    learn_series,
    looks_like_series,
    series_features,
    series_sentences,
)
from mercer.tables.textual import encode_text, learn_text, looks_like_text, text_features

ROW_NAMES = {"", "id", "index", "row", "rowid", "row_id", "row_number", "rownames", "unnamed: 0"}
"""Names under which tools write the number of the row."""

ROW_NAME = re.compile(r"(?:^|[_\-. ])(?:id|uuid|guid|key)$", re.IGNORECASE)
CAMEL_ROW_NAME = re.compile(r"[a-z](?:Id|ID)$")
NEARLY_ALL = 0.95  # of the rows have a value of their own in a column that names them

FIRST_LOOK_ROWS = 1000
"""Rows of a long column from which it is seen that it holds no numbers or dates."""


# ---------------------------------------------------------------- what the user asks for
@dataclass(frozen=True)
class EncoderSettings:
    """What the encoder was asked for."""

    max_categories: int
    min_frequency: float
    scale: bool
    text: Any
    kinds: Any = None

    def __post_init__(self) -> None:
        self._check_kinds()
        if not _is_whole(self.max_categories) or self.max_categories < 1:
            raise ValueError(f"max_categories must be an integer ≥ 1; got {self.max_categories!r}")
        if not _is_frequency(self.min_frequency):
            raise ValueError(
                "min_frequency must be a number of rows (int ≥ 0) or a share of them (float in "
                f"[0, 1)); got {self.min_frequency!r}"
            )
        if not isinstance(self.scale, (bool, np.bool_)):
            raise ValueError(f"scale must be True or False; got {self.scale!r}")
        if self.text not in ("auto", "drop") and not _are_names(self.text):
            raise ValueError(
                f"text must be 'auto', 'drop' or a list of column names; got {self.text!r}"
            )

    def _check_kinds(self) -> None:
        if not isinstance(self.kinds or {}, Mapping):
            raise ValueError(f"kinds must map names of columns to kinds; got {self.kinds!r}")
        for name, kind in self.given.items():
            if kind not in GIVEN:
                accepted = listing(list(GIVEN), "or", most=len(GIVEN))
                raise ValueError(f"kinds[{name!r}] must be {accepted}; got {kind!r}")

    @property
    def given(self) -> Mapping[str, str]:
        """The kinds that were given."""
        return self.kinds or {}

    def check_names(self, names: list[str]) -> None:
        """Raise if a column that is given a kind is not in the table."""
        texts = () if isinstance(self.text, str) else self.text
        for parameter, named in (("text", texts), ("kinds", self.given)):
            for name in named:
                if name not in names:
                    told = f"{parameter} names the column {name!r}; {hint(name, names)}"
                    raise ValueError(told)


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_frequency(value: Any) -> bool:
    if _is_whole(value):
        return value >= 0
    return isinstance(value, (float, np.floating)) and bool(0.0 <= value < 1.0)


def _are_names(text: Any) -> bool:
    return isinstance(text, (list, tuple)) and all(isinstance(name, str) for name in text)


# ---------------------------------------------------------------- kinds
class Kind(NamedTuple):
    """What can be done with the state of a column: encode, name the features, say more."""

    encode: Callable[[State, Column], tuple[Any, int]]
    features: Callable[[State], list[str]]
    sentences: Callable[[State], list[str]]


KINDS = {
    "number": Kind(encode_number, number_features, gap_words),
    "date": Kind(encode_date, date_features, gap_words),
    "category": Kind(encode_category, category_features, category_sentences),
    "text": Kind(encode_text, text_features, lambda state: []),
    "string": Kind(encode_text, text_features, lambda state: []),
    "series": Kind(encode_series, series_features, series_sentences),
}


def learn(column: Column, settings: EncoderSettings) -> State:
    """Return the state of a column: its kind and all that encoding needs."""
    if column.form == "nested":
        return dropped(column.name, "records, binary values or lists of no numbers")
    if column.name in settings.given:
        return GIVEN[settings.given[column.name]](column, settings)
    if not isinstance(settings.text, str) and column.name in settings.text:
        return learn_text(column)
    if column.form == "date":
        return learn_date(column, settings.scale)
    if column.form == "number":
        return _learn_plain_number(column, settings)
    if column.form == "text":
        return _learn_from_texts(column, settings)
    return _learn_category(column, settings)


def _learn_plain_number(column: Column, settings: EncoderSettings) -> State:
    if identifies_rows(column):
        return dropped(column.name, "a different number in every row")
    return learn_number(column, settings.scale)


def as_plain(column: Column) -> Column:
    """Return texts that are numbers or dates as such, all other columns as they are."""
    if column.form != "text":
        return column
    reading = _mostly(number_reading, column)
    if reading is not None and not are_mostly_bounds(column):
        return numbers(column.name, reading.values)
    reading = _mostly(date_reading, column)
    return column if reading is None else dates(column.name, reading.values)


def identifies_rows(column: Column) -> bool:
    """Whether a column names the rows: its name says so and nearly every number is another one.

    A text that is different in every row does so whatever it is called, unless it is a sentence.
    """
    if column.form in ("text", "category"):
        return len(column.levels) == len(column) and not is_sentence(column)
    return column.form == "number" and names_rows(column.name) and _are_row_numbers(column.values)


def is_sentence(column: Column) -> bool:
    """Whether a column holds texts of several words, most of them different."""
    return column.form == "text" and looks_like_text(column, 1)


def names_rows(name: str) -> bool:
    """Whether a name is one that people give to the numbers of rows, people or things."""
    name = name.strip()
    return name.lower() in ROW_NAMES or bool(ROW_NAME.search(name) or CAMEL_ROW_NAME.search(name))


def _are_row_numbers(values: np.ndarray) -> bool:
    different = len(np.unique(values)) >= NEARLY_ALL * len(values)
    return bool(np.isfinite(values).all()) and different and _are_whole(values)


def _are_whole(values: np.ndarray) -> bool:
    return bool(np.all(values == np.floor(values)))


def _learn_from_texts(column: Column, settings: EncoderSettings) -> State:
    """Series, numbers or dates that came as texts, sentences, identifiers, or categories."""
    if looks_like_series(column):
        return learn_series(column, settings.scale)
    reading = _mostly(number_reading, column)
    if reading is not None and not are_mostly_bounds(column):
        return learn_number(column, settings.scale, reading)
    reading = _mostly(date_reading, column)
    if reading is not None:
        return learn_date(column, settings.scale, reading)
    if looks_like_text(column, settings.max_categories) and settings.text == "auto":
        return learn_text(column)
    if looks_like_text(column, settings.max_categories) and settings.text == "drop":
        return dropped(column.name, "sentences, which text='drop' leaves out")
    return _learn_category(column, settings)


def _mostly(read: Callable[[Column], Reading], column: Column) -> Reading | None:
    """Return a column as read if nearly all values are; a first look at a few spares time."""
    if read(_few(column)).share < 0.5:
        return None
    reading = read(column)
    return reading if reading.share >= READABLE_SHARE else None


def _few(column: Column) -> Column:
    """Return some of the values that are there, evenly spread over the column."""
    present = column.values[column.values >= 0]
    some, codes = np.unique(present[:: 1 + len(present) // FIRST_LOOK_ROWS], return_inverse=True)
    return replace(column, values=codes.ravel(), levels=[column.levels[i] for i in some])


def _learn_category(column: Column, settings: EncoderSettings) -> State:
    if len(column.levels) == len(column) and column.form != "flag":
        return dropped(column.name, "a different text in every row")
    return _given_category(column, settings)


def _given_category(column: Column, settings: EncoderSettings) -> State:
    return learn_category(column, settings.max_categories, settings.min_frequency, settings.scale)


GIVEN: dict[str, Callable[[Column, EncoderSettings], State]] = {
    "number": lambda column, settings: learn_number(column, settings.scale),
    "category": _given_category,
    "text": lambda column, settings: learn_text(column),
    "string": lambda column, settings: learn_text(column, "string"),
    "series": lambda column, settings: learn_series(column, settings.scale),
    "date": lambda column, settings: learn_date(column, settings.scale),
    "ignore": lambda column, settings: dropped(column.name, "as asked"),
}
"""The kinds that a column can be given, whatever its values look like."""


def came_as_text(state: State) -> bool:
    """Whether fit read texts, so that new values should come as they are written."""
    if state["kind"] == "category":
        return not state["truth"]
    return state["kind"] in ("text", "string", "series") or bool(
        state.get("decimal") or state.get("first")
    )


# ---------------------------------------------------------------- sentences
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


def _strings(states: list[State], scale: bool) -> str:
    terms = sum(len(state["terms"]) for state in states)
    what = f"the weights of {count(terms, 'piece')} of up to four letters"
    return f"{count(len(states), 'column')} of strings as {what}"


def _series(states: list[State], scale: bool) -> str:
    lengths = " and ".join(dict.fromkeys(state["words"] for state in states))
    return f"{count(len(states), 'column')} of series of {lengths}"


_TOTALS = {
    "number": _numbers,
    "category": _categories,
    "date": _dates,
    "text": _texts,
    "string": _strings,
    "series": _series,
}


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
