"""How often texts have words or letters in a row: a text that was counted is not counted again.

Folds, calibration and reports take the same texts again and again, each time as a new sample.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from mercer._array import boxed
from mercer._threads import ForkLock
from mercer.kernels.counting import Counted

MOST_KEPT = 5_000_000  # different terms of all texts that are remembered: 40 MB, and their letters

Kept = tuple[array, array]


class TermCounter:
    """Counts the terms of texts, and remembers texts until they are too many.

    Parameters
    ----------
    analyze : callable
        Returns the terms of a text, one after the other.
    most_kept : int
        How many terms of texts are remembered; then all are forgotten, and it begins anew.
    """

    def __init__(self, analyze: Callable[[str], Iterable[str]], most_kept: int = MOST_KEPT):
        self.analyze, self.most_kept = analyze, most_kept
        self._lock = ForkLock()
        self._forget()

    def _forget(self) -> None:
        self._numbers: dict[str, int] = {}  # of the terms, in the order in which they came
        self._texts: dict[str, Kept] = {}
        self._kept = 0

    def count(self, texts: Sequence[str]) -> Counted:
        """Return how often each text has each term."""
        with self._lock():
            if self._kept > self.most_kept:
                self._forget()
            rows = [self._row(text) for text in texts]
            names = boxed(list(self._numbers))
        return _table(rows, names)

    def _row(self, text: str) -> Kept:
        """Return the numbers of a text's terms, and how often it has each."""
        row = self._texts.get(text)
        if row is None:
            terms, numbers = Counter(self.analyze(text)), self._numbers
            found = array("i", [numbers.setdefault(term, len(numbers)) for term in terms])
            row = self._texts[text] = found, array("i", terms.values())
            self._kept += len(found)
        return row


def _table(rows: list[Kept], names: np.ndarray) -> Counted:
    """Return the counts with a column for each term that occurs, in the order of their names."""
    numbers, counts = (_joined([row[k] for row in rows]) for k in (0, 1))
    present = np.flatnonzero(np.bincount(numbers, minlength=len(names)))
    present = present[np.argsort(names[present], kind="stable")]
    column = np.empty(len(names), dtype=np.int32)
    column[present] = np.arange(len(present))
    ends = np.cumsum([0, *(len(found) for found, _ in rows)])
    shape = len(rows), len(present)
    matrix = sp.csr_array((counts.astype(np.float64), column[numbers], ends), shape=shape)
    matrix.sort_indices()
    return Counted(names[present], matrix)


def _joined(parts: list[array]) -> np.ndarray:
    arrays = [np.frombuffer(part, dtype=np.intc) for part in parts if part]
    return np.concatenate(arrays) if arrays else np.empty(0, dtype=np.intc)


@lru_cache(maxsize=4)  # each may remember many texts
def term_counter(ngram: tuple[int, int], analyzer: str, lowercase: bool) -> TermCounter:
    """Return the counter of this process for one way to take texts apart."""
    vectorizer: Any = CountVectorizer(analyzer=analyzer, ngram_range=ngram, lowercase=lowercase)
    return TermCounter(vectorizer.build_analyzer())
