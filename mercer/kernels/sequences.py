"""Strings as numbers: any text, and sequences of tokens or of integers."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from numbers import Integral
from typing import Any

import numpy as np

from mercer.kernels.base import PSD, Kernel
from mercer.kernels.sample import Sample

ACCEPTED = "a string kernel takes texts, or sequences of tokens or of integers, one for each row"


class Sequences:
    """The letters of many strings as integers, one string after the other.

    A letter is its code point, an integer itself; a token of several letters is a hash of 64 bits,
    the same in every process, so that new strings can be compared with those of a saved model.

    Parameters
    ----------
    codes : int64 array
        The letters of all strings.
    starts, stops : int64 arrays of shape (n,)
        Where each string begins and ends.
    """

    def __init__(self, codes: np.ndarray, starts: np.ndarray, stops: np.ndarray):
        self.codes, self.starts, self.stops = codes, starts, stops

    @classmethod
    def of(cls, rows: Any) -> Sequences:
        """Return the codes of a sample's objects, or say which of them is no string."""
        _refuse_tables(rows)
        if all(isinstance(row, str) for row in rows):
            parts, whole = list(rows), _letters("".join(rows))
        else:
            parts = [_codes(row, i) for i, row in enumerate(rows)]
            whole = np.concatenate(parts)
        stops = np.cumsum([len(part) for part in parts], dtype=np.int64)
        return cls(whole, np.concatenate([[0], stops[:-1]]), stops)

    @property
    def shape(self) -> tuple[int]:
        return (len(self.starts),)

    @property
    def lengths(self) -> np.ndarray:
        return self.stops - self.starts

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, index: Any) -> Sequences:
        return Sequences(self.codes, self.starts[index], self.stops[index])

    @property
    def parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Codes, starts and stops, as compiled loops take them."""
        return self.codes, self.starts, self.stops


def _refuse_tables(rows: Any) -> None:
    if getattr(rows, "ndim", 1) != 1 and rows.dtype.kind not in "iu":
        shape = " × ".join(map(str, rows.shape))
        raise TypeError(f"{ACCEPTED}; got a table of {shape} values of type {rows.dtype}")


def _letters(text: str) -> np.ndarray:
    # half of a surrogate pair is no letter, but may stand in a text that was cut
    letters = text.encode("utf-32-le", "surrogatepass")
    return np.frombuffer(letters, dtype="<u4").astype(np.int64)


def _codes(row: Any, i: int) -> np.ndarray:
    if isinstance(row, str):
        return _letters(row)
    if isinstance(row, (bytes, bytearray)):
        return np.frombuffer(row, dtype=np.uint8).astype(np.int64)
    if isinstance(row, np.ndarray) and row.ndim == 1 and row.dtype.kind in "iu":
        return row.astype(np.int64)
    if isinstance(row, (Sequence, np.ndarray)):
        return np.array([_token(token, i) for token in row], dtype=np.int64)
    raise TypeError(f"{ACCEPTED}; row {i} is {row!r}, of type {type(row).__name__}")


def _token(token: Any, i: int) -> int:
    try:
        return token_code(token)
    except OverflowError:
        raise ValueError(f"{ACCEPTED}, of at most 64 bits; row {i} has {token}") from None
    except TypeError:
        kind = type(token).__name__
        raise TypeError(f"{ACCEPTED}; row {i} has {token!r}, of type {kind}") from None


def token_code(token: Any) -> int:
    """Return an integer itself, the code point of a letter, or a hash of a longer text."""
    if isinstance(token, Integral):
        if not -(2**63) <= int(token) < 2**63:
            raise OverflowError(f"an integer of more than 64 bits: {token}")
        return int(token)
    if not isinstance(token, str):
        raise TypeError(f"neither a text nor an integer: {token!r}")
    if len(token) == 1:
        return ord(token)
    return text_code(token)


def text_code(text: str) -> int:
    """Return a whole number of 64 bits that texts have in common only if they are equal."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def mixed(keys: np.ndarray) -> np.ndarray:
    """Return numbers whose every bit depends on all bits of those given (SplitMix64)."""
    keys = keys + np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


class StringKernel(Kernel):
    """A kernel on strings: its codes are derived once for each sample."""

    releases_gil = True

    @property
    def definiteness(self) -> str:
        return PSD

    def check_pair(self, X: Sample, Y: Sample) -> None:
        for sample in (X, Y):
            strings(sample)


def fitting(lengths: tuple[int, ...], X: Sample) -> tuple[int, ...]:
    """Return those lengths of pieces that at least half of the strings have, or the shortest."""
    most = float(np.median(strings(X).data.lengths))
    return tuple(length for length in lengths if length <= most) or lengths[:1]


def strings(X: Sample) -> Sample:
    """Return the sample of `Sequences`."""
    return X.derive("strings", Sequences.of)
