"""Series as they come, and as compiled loops want them: several side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import exp, log2, prod, sqrt
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._array import largest_size, require_equal
from mercer._floats import LARGEST
from mercer.kernels._alignment_loops import CHUNK, UNIT, align_chunks
from mercer.kernels._series_loops import LANES, align

MOST, BITS = 30.0, 900.0  # of chunks_suffice
WORK = 2**24  # far below a fifth of a second
ACCEPTED = (
    "series are a list of arrays of shape (length,) or (length, channels), or an array of shape "
    "(n, length) or (n, length, channels), shorter ones padded with NaN at their end"
)


# ---------------------------------------------------------------- reading
def as_series(data: Any) -> list[np.ndarray]:
    """Return each series as finite numbers of shape (length, channels), or say what is wrong."""
    if sp.issparse(data):
        raise TypeError(f"{ACCEPTED}; got a sparse matrix")
    found = [_one_series(item, place) for place, item in enumerate(data)]
    channels = [series.shape[1] for series in found]
    require_equal(channels, "all series must have the same number of channels", "series")
    return found


def _one_series(item: Any, place: int) -> np.ndarray:
    values = _numbers(item)
    if values is None or values.ndim not in (1, 2):
        got = type(item).__name__ if values is None else f"shape {values.shape}"
        raise TypeError(f"{ACCEPTED}; series {place} is not: got {got}")
    values = values[:, None] if values.ndim == 1 else values
    values = np.ascontiguousarray(values[: _length(values)])
    if not values.size:
        raise ValueError(f"series {place} is empty: every series must have at least one step")
    _require_finite(values, place)
    return values


def _numbers(item: Any) -> np.ndarray | None:
    if isinstance(item, np.ndarray) and item.dtype == object and item.shape == (1,):
        item = item[0]  # a row of a data frame whose one column holds series
    if isinstance(item, (str, bytes)):
        return None
    try:
        values = np.asarray(item)
        return values.astype(np.float64) if values.dtype.kind in "biufO" else None
    except (TypeError, ValueError):
        return None


def _length(values: np.ndarray) -> int:
    """Return the number of steps without the padding at the end."""
    known = np.flatnonzero(~np.isnan(values).all(axis=1))
    return int(known[-1]) + 1 if len(known) else 0


def _require_finite(values: np.ndarray, place: int) -> None:
    wrong = np.argwhere(~np.isfinite(values))
    if len(wrong):
        step, channel = wrong[0]
        where = f"step {step}" + (f", channel {channel}" if values.shape[1] > 1 else "")
        raise ValueError(
            f"series {place} has {values[step, channel]} at {where}: series must be finite, and "
            f"NaN may only stand after their end; fill gaps first"
        )
    if largest_size(values) > LARGEST:
        raise ValueError(f"series {place} has values beyond 1e150: their squares overflow")


def lengths(series: list[np.ndarray]) -> np.ndarray:
    """Return the number of steps of each series."""
    return np.array([len(one) for one in series])


# ---------------------------------------------------------------- side by side
@dataclass(frozen=True, eq=False)
class Chunks:
    """Blocks of series, padded to whole chunks of steps, in the units of `align_chunks`."""

    center: np.ndarray
    """What is taken off first, (channels,): multiplied, large values would lose digits."""

    unit: float
    """By which differences from the center are multiplied."""

    values: np.ndarray
    """(blocks, length, channels, LANES)"""

    low: np.ndarray
    high: np.ndarray
    """The least and the largest values of each chunk, (blocks, chunks, channels)."""

    @classmethod
    def of(cls, values: np.ndarray, center: np.ndarray, gamma: float) -> Chunks:
        blocks, steps, channels, lanes = values.shape
        unit = sqrt(gamma * UNIT)
        padded = on_whole_lines((blocks, steps + -steps % CHUNK, channels, lanes))
        padded[:, :steps], padded[:, steps:] = (values - center[:, None]) * unit, 0.0
        parts = padded.reshape(blocks, -1, CHUNK, channels, lanes)
        return cls(center, unit, padded, parts.min(axis=(2, 4)), parts.max(axis=(2, 4)))


@dataclass(frozen=True, eq=False)
class Stack:
    """Blocks of series that lie side by side, all padded to one length."""

    places: np.ndarray
    """Which series the lanes are, shape (blocks · LANES,); the last one repeats."""

    values: np.ndarray
    """(blocks, length, channels, LANES)"""

    ends: np.ndarray
    """The last step of each, (blocks, LANES)."""

    known: dict[float, Chunks] = field(default_factory=dict)
    """The chunks for each γ that was asked for."""

    @cached_property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest value of each channel."""
        return self.values.min(axis=(0, 1, 3)), self.values.max(axis=(0, 1, 3))

    def farthest(self, x: np.ndarray) -> float:
        """Return a bound of ‖x − y‖² over all steps of a series and of these."""
        low, high = self.box
        return float(np.square(np.maximum(x.max(axis=0) - low, high - x.min(axis=0))).sum())

    def chunks(self, gamma: float) -> Chunks:
        """Return the values as `align_chunks` wants them."""
        if gamma not in self.known:
            low, high = self.box
            self.known[gamma] = Chunks.of(self.values, low + 0.5 * (high - low), gamma)
        return self.known[gamma]

    @classmethod
    def of(cls, series: list[np.ndarray], places: np.ndarray) -> Stack:
        """Return series, sorted by length, in blocks."""
        padded = np.pad(places, (0, -len(places) % LANES), mode="edge")
        chosen = [series[place] for place in padded]
        values = np.zeros((len(padded), max(map(len, chosen)), chosen[0].shape[1]))
        for lane, one in zip(values, chosen, strict=True):
            lane[: len(one)] = one
        blocks = values.reshape(-1, LANES, *values.shape[1:]).transpose(0, 2, 3, 1)
        return cls(padded, np.ascontiguousarray(blocks), lengths(chosen).reshape(-1, LANES) - 1)


def on_whole_lines(shape: tuple[int, ...]) -> np.ndarray:
    """Return memory in which no vector of `LANES` numbers lies in two lines of the cache."""
    memory = np.empty(prod(shape) + LANES)
    first = -(memory.ctypes.data // memory.itemsize) % LANES
    return memory[first : first + prod(shape)].reshape(shape)


def stacks(series: list[np.ndarray], together: bool) -> Iterator[Stack]:
    """Yield all series in stacks, those of one length first; of several if these may be together.

    Where lengths differ, neighbours by length share a block: little of it is padding.
    """
    steps = lengths(series)
    order = np.argsort(steps, kind="stable")
    if together and steps.min() != steps.max():
        parts = [order[i : i + LANES] for i in range(0, len(order), LANES)]
    else:
        parts = np.split(order, np.flatnonzero(np.diff(steps[order])) + 1)
    for part in parts:
        yield Stack.of(series, part)


def fill_pairs(
    loop: Callable[..., None],
    X: list[np.ndarray],
    Y: list[np.ndarray],
    out: np.ndarray,
    *,
    gamma: float,
    band: int,
    mirror: bool,
    work: int = WORK,
) -> None:
    """Write a loop's answers for all pairs of series; with ``mirror`` X is Y, half is computed.

    A compiled call has about ``work`` cells × lanes.
    """
    for stack in stacks(Y, together=band < 0):
        for i, x in enumerate(X):
            first = int((stack.places < i).sum()) // LANES if mirror else 0
            if first == len(stack.values):
                continue
            found = _against(loop, x, stack, first, gamma, band, work).ravel()
            places = stack.places[first * LANES :]
            out[i, places] = found
            if mirror:
                out[places, i] = found


def _against(
    loop: Callable[..., None],
    x: np.ndarray,
    stack: Stack,
    first: int,
    gamma: float,
    band: int,
    work: int,
) -> np.ndarray:
    """Return the answers for one series and the blocks of a stack from the first one on."""
    loop, x, values, told = _route(loop, x, stack, gamma, band)
    n_blocks, m, channels, _ = values.shape
    found, state = np.empty((n_blocks, LANES)), on_whole_lines((7, m + 1, LANES))
    row = m * LANES * (channels + 3)
    blocks = max(1, work // (row * len(x)))
    rows = len(x) if blocks > 1 else max(1, work // row)
    for b in range(first, n_blocks, blocks):
        for i in range(0, len(x), rows):
            until = min(b + blocks, n_blocks), min(i + rows, len(x))
            loop(x, values, stack.ends, band, *told, b, until[0], i, until[1], state, found)
    return found[first:]


def _route(
    loop: Callable[..., None], x: np.ndarray, stack: Stack, gamma: float, band: int
) -> tuple[Callable[..., None], np.ndarray, np.ndarray, tuple[Any, ...]]:
    """Return the loop to take, a series and the others as it wants them, and what it is told."""
    if loop is align:
        most = gamma * stack.farthest(x)
        if chunks_suffice(most, len(x), stack.values.shape[1], band):
            chunks = stack.chunks(gamma)
            x = (x - chunks.center) * chunks.unit
            return align_chunks, x, chunks.values, (chunks.low, chunks.high)
    return loop, x, stack.values, (gamma,)


def chunks_suffice(most: float, n: int, m: int, band: int) -> bool:
    """Return whether sums over alignments keep all that counts if cells share powers of two.

    A cell is lost if another of its chunk is 2¹⁰⁰⁰ times larger. If that one is to its left, it
    reaches the cell in a few steps, and the cell is negligible. If it is to its right, paths from
    the cell have to cross its column, in which the larger one waits for them: so many steps cost
    less than it is ahead. ``most`` is the largest −log of e = exp(−γ‖x − y‖²).
    """
    if most > MOST:
        return False
    weight = 1.0 if band < 0 else 1.0 / (band + 1.0)
    bits = log2(2.0 * exp(most) / weight - 1.0)  # that a step loses at most
    waiting = n if band < 0 else min(n, 2 * band + 1)
    return waiting * bits + CHUNK * (bits + log2(n + m)) <= BITS
