"""Kernels on strings: pieces that two strings share, in place, with gaps or with mismatches."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, product
from math import comb
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from mercer._sklearn import Interval, StrOptions
from mercer.kernels import _string_loops as loops
from mercer.kernels.counting import Counted, CountedParts
from mercer.kernels.sample import Pair, Sample
from mercer.kernels.sequences import Sequences, StringKernel, fitting, mixed, strings

_POSITIVE = Interval(Integral, 1, None, closed="left")
_LOW_BITS = np.uint64(0xFF)
_SALT = np.uint64(0xD1B54A32D192ED03)  # tells small letters (0, 1, …) from places in a piece


class _Pieces(CountedParts, StringKernel):
    """A kernel that is a product of counts of pieces: sparse rows, counted once for each sample."""

    def _parted(self, X: Sample) -> Sample:
        return strings(X)


class Spectrum(_Pieces):
    """Spectrum kernel k(x, y) = Σ_s c_s(x) c_s(y) over all pieces s of one length.

    c_s(x) is how often s stands in x without gaps. Strings are texts, or sequences of tokens or of
    integers; one that is shorter than the pieces shares nothing with any.

    Parameters
    ----------
    length : int, default=3
        The number of letters of a piece.

    Examples
    --------
    >>> from mercer.kernels import Spectrum
    >>> Spectrum(2)(["banana"], ["ananas", "bandana", "tree"])
    array([[8., 7., 0.]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"length": [_POSITIVE]}

    def __init__(self, length: int = 3):
        self.length = length

    def grid(self, X: Sample) -> dict[str, tuple[Any, ...]]:
        return {"length": fitting((1, 2, 3, 4, 5, 6), X)}

    def _count(self, rows: Sequences) -> Counted:
        row, position = windows(rows, self.length)
        keys = piece_keys(rows.codes, position, range(self.length))
        return Counted.of(row, keys, np.ones(len(row)), len(rows))


class Mismatch(_Pieces):
    """Mismatch kernel k(x, y) = Σ_u c_u(x) c_u(y), c_u(x) the pieces of x that are nearly u.

    The sum is over all strings u of one length, and a piece counts for u if it differs from it in
    at most ``mismatches`` letters. How many u there are depends on the number of letters.

    Parameters
    ----------
    length : int, default=5
        The number of letters of a piece.
    mismatches : int, default=1
        How many letters of a piece may differ, fewer than all of them.
    alphabet_size : int or "auto", default="auto"
        How many letters there are; ``"auto"`` counts those of the training strings (at least 2).

    Examples
    --------
    >>> from mercer.kernels import Mismatch
    >>> Mismatch(3, 1, alphabet_size=4)(["ACGT"], ["ACGT", "ACCT", "TTTT"])
    array([[20., 10.,  4.]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "length": [Interval(Integral, 1, 64, closed="both")],
        "mismatches": [Interval(Integral, 0, None, closed="left")],
        "alphabet_size": [Interval(Integral, 2, None, closed="left"), StrOptions({"auto"})],
    }

    def __init__(self, length: int = 5, mismatches: int = 1, alphabet_size: int | str = "auto"):
        self.length = length
        self.mismatches = mismatches
        self.alphabet_size = alphabet_size

    def check(self) -> None:
        """Raise if a parameter is out of its range: where all letters may differ, all are alike."""
        super().check()
        if self.mismatches >= self.length:
            raise ValueError(
                f"The 'mismatches' parameter of Mismatch must be less than its length, "
                f"{self.length}. Got {self.mismatches} instead."
            )

    def _bound_values(self, X: Sample, weights: np.ndarray | None) -> dict[str, Any]:
        letters = len(np.unique(_used_codes(strings(X).data)))
        if self.alphabet_size == "auto":
            return {"alphabet_size": max(letters, 2)}
        if letters > int(self.alphabet_size):
            raise ValueError(
                f"alphabet_size must be at least the number of letters in the training strings, "
                f"{letters}; got {self.alphabet_size}"
            )
        return {}

    def grid(self, X: Sample) -> dict[str, tuple[Any, ...]]:
        return {"length": fitting((3, 4, 5, 6), X), "mismatches": (0, 1)}

    @property
    def _most_gaps(self) -> int:
        """Two pieces have something in common if they differ in at most so many letters."""
        return min(2 * self.mismatches, self.length)

    def _count(self, rows: Sequences) -> Counted:
        # pieces with gaps, as many as do not depend on the number of letters: from those that two
        # strings share follows how many pairs of pieces differ in 0, 1, 2, … letters
        row, position = windows(rows, self.length)
        found = []
        for gaps in range(self._most_gaps + 1):
            for kept in combinations(range(self.length), self.length - gaps):
                keys = piece_keys(rows.codes, position, kept)
                found.append((keys & ~_LOW_BITS) | np.uint64(gaps))
        keys = np.concatenate(found)
        return Counted.of(np.tile(row, len(found)), keys, np.ones(len(keys)), len(rows))

    def _weights(self, keys: np.ndarray) -> np.ndarray:
        weights = gap_weights(self.length, self.mismatches, int(self.alphabet_size))
        return np.array(weights, dtype=np.float64)[(keys & _LOW_BITS).astype(np.intp)]


def gap_weights(length: int, mismatches: int, letters: int) -> list[int]:
    """Return w with Σⱼ wⱼ · (sets of length − j places where two pieces agree) = what they share.

    Pieces that differ in d letters agree in C(length − d, length − j) such sets.
    """
    most = min(2 * mismatches, length)
    weights = [0] * (most + 1)
    for d in range(most, -1, -1):
        more = sum(weights[j] * comb(length - d, length - j) for j in range(d + 1, most + 1))
        weights[d] = near_both(length, mismatches, letters, d) - more
    return weights


def near_both(length: int, mismatches: int, letters: int, d: int) -> int:
    """Return how many strings differ in at most m letters from each of two that differ in d."""
    total = 0
    for both, first, second in product(range(length - d + 1), range(d + 1), range(d + 1)):
        neither = d - first - second  # letters that are neither string's
        if neither >= 0 and both + neither + max(first, second) <= mismatches:
            total += (
                comb(length - d, both)
                * (letters - 1) ** both
                * comb(d, first)
                * comb(d - first, second)
                * (letters - 2) ** neither
            )
    return total


class WeightedDegree(StringKernel):
    """Weighted degree kernel: pieces that two strings have at the same place, or nearly so.

    k(x, y) = Σ_d β_d Σ_s δ_|s| Σᵢ 1[d letters of x from place i on, of y from i + s on, are the
    same], d = 1, …, D and s = −S, …, S, with β_d = 2 (D − d + 1) / (D (D + 1)), δ₀ = 1 and
    δ_s = 1 / (2 (s + 1)). For strings whose places mean something, such as DNA around a site; of
    strings of different lengths the places that both have are compared.

    Parameters
    ----------
    degree : int, default=5
        D, the length of the longest pieces.
    shift : int, default=0
        S, how many letters apart a piece may stand in the two strings. The time grows with 2 S + 1.

    Notes
    -----
    The kernel is positive semidefinite for every shift: places i and j of a piece are compared with
    the weight δ_|i − j|, and 1 + Σ_s cos(s t) / (s + 1) ≥ ½ for all t and any number of terms, by
    an inequality of Rogosinski and Szegő.

    References
    ----------
    Rätsch, Sonnenburg, Schölkopf (2005): RASE, recognition of alternatively spliced exons in
    C. elegans. Bioinformatics 21.

    Examples
    --------
    >>> from mercer.kernels import WeightedDegree
    >>> WeightedDegree(2)(["ACGT"], ["ACGT", "ACTT", "CGTA"]).round(3)
    array([[3.667, 2.333, 0.   ]])
    >>> WeightedDegree(2, shift=1)(["ACGT"], ["ACGT", "ACTT", "CGTA"]).round(3)
    array([[3.667, 2.5  , 0.667]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "degree": [_POSITIVE],
        "shift": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(self, degree: int = 5, shift: int = 0):
        self.degree = degree
        self.shift = shift

    def grid(self, X: Sample) -> dict[str, tuple[Any, ...]]:
        return {"degree": fitting((1, 2, 4, 8, 16), X)}

    @property
    def _sums(self) -> np.ndarray:
        """What the pieces that end in one place weigh, by how many letters before it agree."""
        D = self.degree
        return np.cumsum([0.0, *(2.0 * (D - d + 1) / (D * (D + 1)) for d in range(1, D + 1))])

    @property
    def _shares(self) -> np.ndarray:
        """δ: what a piece counts for that stands so many letters further on."""
        return np.concatenate([[1.0], 0.5 / np.arange(2.0, self.shift + 2.0)])

    def _fill(self, pair: Pair, out: np.ndarray) -> None:
        X, Y = strings(pair.X).data, strings(pair.Y).data
        loops.weighted_degree(*X.parts, *Y.parts, self._sums, self._shares, out)

    def _diagonal(self, X: Sample) -> np.ndarray:
        rows = strings(X).data
        out = np.empty(len(rows))
        loops.weighted_degree_diagonal(*rows.parts, self._sums, self._shares, out)
        return out


class Subsequence(StringKernel):
    """Subsequences of one length that two strings share, gaps allowed: k(x, y) = Σ λ^(spans).

    The sum is over all common subsequences of so many letters, once for each place where they
    stand; λ is raised to the number of letters from the first to the last in x, plus that in y.

    Parameters
    ----------
    length : int, default=3
        The number of letters of a subsequence.
    decay : float, default=0.5
        λ in (0, 1]: how much a gap costs.

    Examples
    --------
    >>> from mercer.kernels import Subsequence
    >>> Subsequence(2, decay=0.5)(["cat"], ["cat", "cart", "bat"])
    array([[0.140625 , 0.1015625, 0.0625   ]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "length": [_POSITIVE],
        "decay": [Interval(Real, 0, 1, closed="right")],
    }

    def __init__(self, length: int = 3, decay: float = 0.5):
        self.length = length
        self.decay = decay

    def grid(self, X: Sample) -> dict[str, tuple[Any, ...]]:
        return {"length": fitting((2, 3, 4), X), "decay": (0.2, 0.5, 0.8)}

    def _fill(self, pair: Pair, out: np.ndarray) -> None:
        X, Y = strings(pair.X).data, strings(pair.Y).data
        for i in range(len(X)):
            self._fill_row(X[i : i + 1], Y, out[i])

    def _fill_row(self, x: Sequences, Y: Sequences, out: np.ndarray) -> None:
        letters = x.codes[x.starts[0] : x.stops[0]]
        loops.subsequence_row(letters, *Y.parts, self.length, float(self.decay), out)

    def _diagonal(self, X: Sample) -> np.ndarray:
        rows = strings(X).data
        out = np.empty(len(rows))
        for i in range(len(rows)):
            self._fill_row(rows[i : i + 1], rows[i : i + 1], out[i : i + 1])
        return out


# ---------------------------------------------------------------- pieces as numbers
def windows(rows: Sequences, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the row and the first place of every piece of a length."""
    counts = np.maximum(rows.lengths - length + 1, 0)
    first = np.cumsum(counts) - counts
    row = np.repeat(np.arange(len(rows)), counts)
    return row, np.arange(len(row)) + np.repeat(rows.starts - first, counts)


def piece_keys(codes: np.ndarray, position: np.ndarray, offsets: Iterable[int]) -> np.ndarray:
    """Return a number of 64 bits for the letters at offsets from each position.

    Two of ten million pieces get the same number with a probability below 10⁻⁵.
    """
    letters = mixed(codes.view(np.uint64) ^ _SALT)
    keys = np.zeros(len(position), dtype=np.uint64)
    for offset in offsets:
        keys = mixed(keys ^ np.uint64(offset))
        keys = mixed(keys ^ letters[position + offset])
    return keys


def _used_codes(rows: Sequences) -> np.ndarray:
    _, position = windows(rows, 1)
    return rows.codes[position]
