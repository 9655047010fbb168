"""Scales: from values to places between 0 and 1, and where to put marks on an axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mercer._words import short
from mercer.cv_results import is_number
from mercer.report.wording import distinct

LARGEST = 1e300  # differences of larger numbers may overflow


class Scale(Protocol):
    """Values along an axis; ``step`` is the width of a band, and 0 where there are none."""

    @property
    def step(self) -> float:
        """The width of a band."""

    def place(self, values: Any) -> np.ndarray:
        """Return places in [0, 1]."""

    def ticks(self) -> list[tuple[float, str]]:
        """Return places in [0, 1] and what is written there."""


@dataclass(frozen=True)
class LinearScale:
    """Even steps from ``low`` to ``high``."""

    low: float
    high: float
    count: int = 5
    step: float = 0.0

    @classmethod
    def over(cls, *values: Any, pad: float = 0.04, count: int = 5) -> LinearScale:
        """Return a scale that holds all finite values, and a little air."""
        low, high = extent(*values)
        air = pad * (high - low)
        return cls(low - air, high + air, count)

    def place(self, values: Any) -> np.ndarray:
        unit = max(abs(self.low), abs(self.high))  # 1e300 and 1e-300 are numbers too
        low, high = self.low / unit, self.high / unit
        return (np.asarray(values, dtype=float) / unit - low) / (high - low)

    def ticks(self) -> list[tuple[float, str]]:
        return _marked(self, nice(self.low, self.high, self.count))


@dataclass(frozen=True)
class Log:
    """Even steps of the logarithm, for positive numbers."""

    low: float
    high: float
    step: float = 0.0

    @classmethod
    def over(cls, *values: Any, pad: float = 0.04) -> Log:
        """Return a scale that holds all values, and a little air."""
        linear = LinearScale.over(*(np.log10(np.asarray(v, dtype=float)) for v in values), pad=pad)
        return cls(linear.low, linear.high)

    def place(self, values: Any) -> np.ndarray:
        return LinearScale(self.low, self.high).place(np.log10(np.asarray(values, dtype=float)))

    def ticks(self) -> list[tuple[float, str]]:
        return _marked(self, self._values())

    def _values(self) -> np.ndarray:
        """Return powers of ten, not too many; between them 2 and 5 if there is room."""
        first, last = int(np.ceil(self.low)), int(np.floor(self.high))
        step = max(1, -(-(last - first + 1) // 6))
        powers = np.arange(first, last + 1, step, dtype=float)
        if self.high - self.low > 2.2:
            return 10.0**powers
        fine = np.arange(np.floor(self.low), last + 1)[:, None] + np.log10([1.0, 2.0, 5.0])
        inside = fine.ravel()[(fine.ravel() >= self.low) & (fine.ravel() <= self.high)]
        return 10.0**inside if len(inside) > 1 else 10.0 ** np.array([self.low, self.high])


@dataclass(frozen=True)
class Bands:
    """One band of equal width for each of several names."""

    names: tuple[str, ...]
    most: int = 14

    @property
    def step(self) -> float:
        """The width of a band."""
        return 1.0 / len(self.names)

    def place(self, values: Any) -> np.ndarray:
        """Return the middles of bands, by their numbers."""
        return (np.asarray(values, dtype=float) + 0.5) * self.step

    def ticks(self) -> list[tuple[float, str]]:
        every = -(-len(self.names) // self.most)
        kept = range(0, len(self.names), every)
        return [(float(self.place(i)), short(self.names[i], 14)) for i in kept]


def _marked(scale: Scale, values: np.ndarray) -> list[tuple[float, str]]:
    return list(zip(scale.place(values).tolist(), distinct(values), strict=True))


def parameter_scale(values: Any) -> Scale:
    """Return the scale of tried values: logarithmic, even, or names."""
    if not all(map(is_number, values)):
        return Bands(tuple(map(str, values)))
    numbers = np.asarray(values, dtype=float)
    if len(numbers) > 2 and numbers.min() > 0 and numbers.max() >= 20 * numbers.min():
        return Log.over(numbers)
    return LinearScale.over(numbers)


def extent(*values: Any) -> tuple[float, float]:
    """Return the smallest and largest finite value, apart from each other in any case."""
    every = np.concatenate([np.ravel(np.asarray(v, dtype=float)) for v in values])
    every = np.clip(every[np.isfinite(every)], -LARGEST, LARGEST)
    low, high = (every.min(), every.max()) if len(every) else (0.0, 1.0)
    if high - low > 1e-9 * max(abs(low), abs(high)):
        return float(low), float(high)
    room = 0.1 * abs(low) or 1.0
    return float(low - room), float(high + room)


def nice(low: float, high: float, count: int = 5) -> np.ndarray:
    """Return about ``count`` round numbers between two numbers: steps of 1, 2, 2.5 or 5 times 10ⁿ.

    Examples
    --------
    >>> nice(0.0, 1.0).tolist()
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    rough = (high / count - low / count) * 0.999
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(s for s in (1.0, 2.0, 2.5, 5.0, 10.0) if s * power >= rough) * power
    marks = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1)
    return np.array([float(f"{m * step:.14g}") for m in marks]) + 0.0
