"""The parameters of the encoder, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.tables.wording import nearest


@dataclass(frozen=True)
class Settings:
    """What the encoder was asked for."""

    max_categories: int
    min_frequency: float
    scale: bool
    text: Any

    def __post_init__(self) -> None:
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

    def check_names(self, names: list[str]) -> None:
        """Raise if a column that should be a text is not in the table."""
        for name in () if isinstance(self.text, str) else self.text:
            if name not in names:
                raise ValueError(f"text names the column {name!r}{nearest(name, names)}")


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_frequency(value: Any) -> bool:
    if _is_whole(value):
        return value >= 0
    return isinstance(value, (float, np.floating)) and bool(0.0 <= value < 1.0)


def _are_names(text: Any) -> bool:
    return isinstance(text, (list, tuple)) and all(isinstance(name, str) for name in text)
