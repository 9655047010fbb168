"""Numbers that stand side by side, written so that they can be compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._words import minus, number


def aligned(values: Any, digits: int = 3) -> list[str]:
    """Return numbers with as many decimals as their differences need, the same for all.

    Examples
    --------
    >>> aligned([0.9, 0.875, 0.5])
    ['0.900', '0.875', '0.500']
    """
    values = np.asarray(values, dtype=float)
    known = values[np.isfinite(values)]
    size = np.abs(known).max(initial=0.0)
    if not 1e-4 <= size < 1e7:
        return [number(v, digits) for v in values]
    span = float(np.ptp(known)) or size
    places = int(np.clip(digits - 1 - np.floor(np.log10(max(span, 1e-4 * size))), 0, 8))
    return [minus(f"{v:,.{places}f}") if np.isfinite(v) else number(v) for v in values]


def distinct(values: Any) -> list[str]:
    """Return numbers with as few digits as tell them apart."""
    for digits in range(3, 16):
        texts = [number(v, digits) for v in values]
        if len(set(texts)) == len(texts):
            break
    return texts
