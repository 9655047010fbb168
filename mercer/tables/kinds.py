"""Which kind a column is: number, category, text, date, or left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mercer.tables.categorical import (
    category_features,
    category_sentences,
    encode_category,
    learn_category,
)
from mercer.tables.columns import MOSTLY, Column, as_numbers, as_seconds
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
from mercer.tables.settings import Settings
from mercer.tables.textual import encode_text, learn_text, looks_like_text, text_features

ROW_NAMES = {"", "id", "index", "row", "rowid", "row_id", "row_number", "rownames", "unnamed: 0"}
"""Names under which tools write the number of the row."""

FIRST_LOOK = 1000
"""Rows of a long column from which it is seen that it holds no numbers or dates."""

Reader = Callable[[Column], tuple[np.ndarray, int]]


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
}


def learn(column: Column, settings: Settings) -> State:
    """Return the state of a column: its kind and all that encoding needs."""
    if column.form == "nested":
        return dropped(column.name, "lists, records or binary values")
    if not isinstance(settings.text, str) and column.name in settings.text:
        return learn_text(column)
    if column.form == "date":
        return learn_date(column, settings.scale)
    if column.form == "number":
        return _learn_plain_number(column, settings)
    if column.form == "text":
        return _learn_from_texts(column, settings)
    return _learn_category(column, settings)


def _learn_plain_number(column: Column, settings: Settings) -> State:
    values = column.values
    named_so = column.name.strip().lower() in ROW_NAMES and np.isfinite(values).all()
    if named_so and len(np.unique(values)) == len(values) and _are_whole(values):
        return dropped(column.name, "a different number in every row")
    return learn_number(column, settings.scale)


def _are_whole(values: np.ndarray) -> bool:
    return bool(np.all(values == np.floor(values)))


def _learn_from_texts(column: Column, settings: Settings) -> State:
    """Numbers or dates that came as texts, sentences, identifiers, or categories."""
    if _is_mostly(as_numbers, column):
        return learn_number(column, settings.scale)
    if _is_mostly(as_seconds, column):
        return learn_date(column, settings.scale)
    if looks_like_text(column, settings.max_categories) and settings.text == "auto":
        return learn_text(column)
    if looks_like_text(column, settings.max_categories) and settings.text == "drop":
        return dropped(column.name, "sentences, which text='drop' leaves out")
    return _learn_category(column, settings)


def _is_mostly(read: Reader, column: Column) -> bool:
    """Whether nearly all values that are there can be read; a first look at a few spares time."""
    return _share(read, _few(column)) >= 0.5 and _share(read, column) >= MOSTLY


def _share(read: Reader, column: Column) -> float:
    values, unread = read(column)
    n_read = len(values) - int(np.isnan(values).sum())
    return n_read / max(n_read + unread, 1)


def _few(column: Column) -> Column:
    """Return some of the values that are there, evenly spread over the column."""
    present = column.values[column.values >= 0]
    some, codes = np.unique(present[:: 1 + len(present) // FIRST_LOOK], return_inverse=True)
    return replace(column, values=codes.ravel(), levels=[column.levels[i] for i in some])


def _learn_category(column: Column, settings: Settings) -> State:
    if len(column.levels) == len(column) and column.form != "flag":
        return dropped(column.name, "a different text in every row")
    return learn_category(column, settings.max_categories, settings.min_frequency, settings.scale)
