"""All substrings that two strings share, by the suffix automaton of a sample."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer._array import allocate
from mercer._sklearn import Interval
from mercer.kernels import _automaton_loops as loops
from mercer.kernels.counting import CountingKernel, with_values
from mercer.kernels.sample import Sample
from mercer.kernels.sequences import Sequences, StringKernel, strings

INT = np.dtype(np.int32)
DECAYS = (0.1, 0.3, 0.5, 0.7, 0.9)  # that a search tries
Weigh = Callable[[int], np.ndarray]


class Substring(CountingKernel, StringKernel):
    """All substrings that two strings share: k(x, y) = Σ_s w(|s|) c_s(x) c_s(y).

    c_s(x) is how often s stands in x; the empty string does not count. The time for two strings
    grows with the sum of their lengths, however many substrings they share.

    Parameters
    ----------
    weights : None, float, int, callable or sequence of float, default=None
        w(l) ≥ 0, what a substring of l letters weighs. None: 1. A float λ in (0, 1]: λ^l. An
        integer: 1 up to that length, and 0 above. A function of l. A sequence: its numbers for
        l = 1, 2, …, and 0 above. (A model with a function can't be saved.)

    Examples
    --------
    >>> from mercer.kernels import Substring
    >>> Substring()(["banana"], ["ban", "nab"])
    array([[10.,  8.]])
    >>> Substring(weights=0.5)(["banana"], ["ban", "nab"])
    array([[3.875, 3.5  ]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "weights": [
            None,
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
            callable,
            "array-like",
        ]
    }

    def __init__(self, weights: Any = None):
        self.weights = weights

    def __eq__(self, other: object) -> bool:
        # 1 == 1.0, but one is a length and one a decay
        lengths = (isinstance(getattr(k, "weights", None), Integral) for k in (self, other))
        return super().__eq__(other) if len(set(lengths)) == 1 else False

    __hash__ = StringKernel.__hash__

    def grid(self, X: Sample) -> dict[str, tuple[Any, ...]]:
        return {"weights": DECAYS}

    def _sums(self, longest: int) -> np.ndarray:
        """Return what one substring of each length up to l weighs, for l = 0, 1, …, longest."""
        lengths = np.arange(1, longest + 1)
        values = np.asarray(self._by_length(lengths), dtype=np.float64)
        if not np.isfinite(values).all() or (values < 0).any():
            raise ValueError(f"weights must be finite and ≥ 0 for every length; got {values}")
        return np.concatenate([[0.0], np.cumsum(values)])

    def _by_length(self, lengths: np.ndarray) -> Any:
        w = self.weights
        if w is None:
            return np.ones(len(lengths))
        if callable(w):
            return [w(int(length)) for length in lengths]
        if isinstance(w, Integral):
            return lengths <= int(w)
        if isinstance(w, Real):
            return float(w) ** lengths
        given = np.ravel(np.asarray(w, dtype=np.float64))[: len(lengths)]
        return np.concatenate([given, np.zeros(len(lengths) - len(given))])

    def _met(self, X: Sample, Y: Sample, values: str) -> Sample:
        """Return which substrings of the whole of Y the strings X have, as rows of `Met`."""
        automaton = strings(Y).summary("automaton", Automaton)
        meet = lambda rows: automaton.met(rows, self._sums)  # noqa: E731
        met = strings(X).summary(("met", self, automaton), meet)
        return strings(X).derive((values, self, automaton), lambda _: getattr(met, values))

    def factors(self, X: Sample, Y: Sample) -> tuple[Sample, Sample]:
        return self._met(X, Y, "weighed"), self._met(Y, Y, "counts")

    def _diagonal(self, X: Sample) -> np.ndarray:
        # states stand in the same order in both: no need to look for them
        left, right = (rows.data for rows in self.factors(X, X))
        return np.asarray(with_values(left, left.data * right.data).sum(axis=1)).ravel()


class Met(NamedTuple):
    """What strings have of the states of an automaton: a row for each string, a column a state.

    The product of ``weighed`` of one string and ``counts`` of another, which is one of those that
    the automaton was built of, is the kernel.
    """

    counts: sp.csr_array
    weighed: sp.csr_array

    def without(self, states: np.ndarray) -> Met:
        """Return the same where some states, of which nothing counts, are left out."""
        if not states.any():
            return self
        kept = ~states[self.counts.indices]
        ends = np.concatenate([[0], np.cumsum(kept)])[self.counts.indptr]
        columns, shape = self.counts.indices[kept], self.counts.shape
        return Met(*(sp.csr_array((m.data[kept], columns, ends), shape=shape) for m in self))


class Automaton:
    """The suffix automaton of many strings: each state is a set of substrings that go together.

    Parameters
    ----------
    rows : Sequences
        The strings.
    """

    def __init__(self, rows: Sequences):
        n = int(rows.lengths.sum())
        self.letters = np.unique(rows.codes)
        self.longest = int(rows.lengths.max(initial=0))
        slots = 2 ** int(np.ceil(np.log2(6 * n + 2)))
        self.table = allocate((slots,), INT)
        self.table[:] = -1
        # at most 2n states and 3n edges
        self.edges = [allocate((3 * n + 1,), INT) for _ in range(4)]
        head, links, lengths = (allocate((2 * n + 1,), INT) for _ in range(3))
        arrays = (*self._rows(rows), self.table, *self.edges, head, links, lengths)
        n_states = loops.build(*arrays)
        self.links, self.lengths = links[:n_states].copy(), lengths[:n_states].copy()

    def _rows(self, rows: Sequences) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return strings in small numbers for letters; −1 for those that are not known."""
        place = np.searchsorted(self.letters, rows.codes)
        place[place == len(self.letters)] = 0
        known = self.letters[place] == rows.codes if len(self.letters) else place < 0
        return np.where(known, place, -1).astype(INT), rows.starts, rows.stops

    def met(self, rows: Sequences, sums: Weigh) -> Met:
        """Return which states strings meet: how often, and with the weights of their substrings."""
        states, matched = self._walk(rows)
        sizes = np.empty(len(rows), dtype=np.int64)
        loops.count_states(states, rows.starts, rows.stops, self.links, sizes)
        ends = np.concatenate([[0], np.cumsum(sizes)])
        columns = allocate((int(ends[-1]),), INT)
        counts, parts = (allocate((int(ends[-1]),), np.dtype(np.float64)) for _ in range(2))
        walked = (states, matched, rows.starts, rows.stops, self.links, self.lengths)
        weights = sums(self.longest)
        loops.fill_states(*walked, weights, ends, columns, counts, parts)
        shape = (len(rows), len(self.links))
        met = Met(*(sp.csr_array((v, columns, ends), shape=shape) for v in (counts, parts)))
        return met.without(self._weightless(weights))

    def _weightless(self, sums: np.ndarray) -> np.ndarray:
        """Return which states have no substring with a weight."""
        own = sums[self.lengths]
        return own == own[self.links]  # the empty string has no link: −1 is another's number

    def _walk(self, rows: Sequences) -> tuple[np.ndarray, np.ndarray]:
        states, matched = (np.zeros(len(rows.codes), dtype=INT) for _ in range(2))
        source, label, goal, _ = self.edges
        edges = (self.table, source, label, goal, self.links, self.lengths)
        loops.walk(*self._rows(rows), *edges, states, matched)
        return states, matched
