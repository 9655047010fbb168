"""Cells as text, texts as numbers, and columns of numbers as a few values and their shares."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from mercer.kernels.frames import Columns, Name
from mercer.kernels.sequences import text_code

MOST_VALUES = 256
MISSING = 0x6D697373  # no text has this code but by a chance of one in 2⁶⁴

Text = str | None


def texts_of(table: Columns, name: Name) -> list[Text]:
    """Return the cells of a column as text, None where they are missing."""
    array = table.column(name)
    if array.dtype.kind == "O":
        return [cell if type(cell) is str else _text(cell, name) for cell in array]
    distinct, back = np.unique(array, return_inverse=True)
    texts = [_text(cell, name) for cell in distinct.tolist()]
    return [texts[i] for i in back]


def _text(cell: Any, name: Name) -> Text:
    """Return a cell as text; whole numbers look alike in every type."""
    if isinstance(cell, (list, tuple, dict, set, np.ndarray)):
        raise TypeError(
            f"column {name!r} must hold categories for this kernel, such as texts or numbers; it "
            f"holds a {type(cell).__name__}"
        )
    if cell is None or cell != cell:
        return None
    if isinstance(cell, (bool, np.bool_)) or not isinstance(cell, Real):
        return str(cell)
    number = float(cell)
    exact = int(cell) if isinstance(cell, Integral) else number  # beyond 2⁵³ only whole numbers are
    return str(int(exact)) if number.is_integer() else repr(number)


def code_of(text: Text) -> int:
    """Return a number that texts have in common only if they are equal.

    It depends on the text alone, so that rows are coded apart from those they are compared with.
    """
    return MISSING if text is None else text_code(text)


def weighted_values(array: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of a column and their shares; of many different ones some quantiles."""
    counts = ~np.isnan(array) & (weight > 0)
    values, back = np.unique(array[counts].astype(np.float64), return_inverse=True)
    shares = np.bincount(back, weight[counts]) / weight[counts].sum()
    if len(values) <= MOST_VALUES:
        return values, shares
    middles = (np.arange(MOST_VALUES) + 0.5) / MOST_VALUES
    at = np.searchsorted(np.cumsum(shares), middles).clip(max=len(values) - 1)
    return values[at], np.full(MOST_VALUES, 1.0 / MOST_VALUES)
