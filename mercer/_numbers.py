"""What is no table of numbers, though NumPy would make one of it: text, dates, masked values."""

from __future__ import annotations

from typing import Any

import numpy as np

TEXT_FOR_KERNELS = (
    "For text there are the kernels Words and Substring; kernels on other objects are made with "
    "FromFunction, FromFeatureMap or RankOne"
)
TEXT_FOR_TABLES = "Numbers that are written as text have to be converted, or use TableEncoder"


def refuse_no_numbers(X: Any, name: str, owner: str, text: str = TEXT_FOR_TABLES) -> None:
    """Raise if X holds what would be taken for numbers silently, or is no table yet."""
    if not hasattr(X, "to_numpy") and hasattr(X, "collect"):
        raise TypeError(
            f"{name} is a {type(X).__name__}, whose rows are not computed yet: pass "
            f"{name}.collect()"
        )
    refuse_masked(X, name)
    X = X.to_numpy() if hasattr(X, "to_numpy") else X  # pandas and polars
    wanted = f"{name} must be a table of numbers (rows × columns) for {owner}"
    if isinstance(X, str) or _holds_text(X):
        raise TypeError(f"{wanted}; got text. {text}")
    if isinstance(X, np.ndarray) and X.dtype.kind in "mM":
        raise TypeError(
            f"{wanted}; got {X.dtype}. Make numbers of dates and times, such as days since a "
            f"first day, or use TableEncoder"
        )


def refuse_masked(values: Any, name: str) -> None:
    """Raise if values are masked: what lies below a mask is no number to learn from."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(
            f"{name} has {int(np.ma.count_masked(values))} masked values: fill them, as "
            f"{name}.filled(0.0) does, or leave their rows out"
        )


def _holds_text(X: Any) -> bool:
    if isinstance(X, np.ndarray):
        return X.dtype.kind in "US" or (X.dtype.kind == "O" and _holds_text(X.ravel().tolist()))
    return isinstance(X, (list, tuple)) and any(
        isinstance(row, (str, bytes)) or _holds_text(row) for row in X
    )
