"""What pictures of series, texts and strings show, as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from mercer.plot.records import column, numbers

LINES = 8  # series of a class
MOST_CLASSES = 6
TERMS = 8  # of a class
SPLITTERS: dict[str, dict[str, Any]] = {
    "text": {"ngram_range": (1, 2)},
    "string": {"analyzer": "char", "ngram_range": (1, 4)},
}
"""What is looked for: words and pairs of them, or up to four letters in a row."""


@dataclass(frozen=True, eq=False)
class SeriesLines:
    """Series as lines, some of each class.

    ``lines[i]`` has the shape (steps,); ``places`` says of which of ``classes`` it is, and
    ``support`` whether it is a support vector.
    """

    name: str
    classes: tuple[str, ...]
    lines: Sequence[np.ndarray]
    places: np.ndarray
    support: np.ndarray

    @classmethod
    def of(
        cls, series: Sequence[Any], y: Any, *, name: str = "", support: Any = None
    ) -> SeriesLines:
        """Choose eight series of each class, as many support vectors as others if there are.

        ``y`` holds classes, ``support`` the numbers of the support vectors; of several channels
        the first is taken.
        """
        y = column(y, "y", len(series))
        carries = np.zeros(len(y), bool)
        carries[np.asarray([] if support is None else support, dtype=np.intp)] = True
        labels, sizes = np.unique(y, return_counts=True)
        labels = labels[np.sort(np.argsort(-sizes, kind="stable")[:MOST_CLASSES])]
        chosen = [i for label in labels for i in _some(np.flatnonzero(y == label), carries)]
        lines = [np.asarray(series[i], float) for i in chosen]
        places = np.searchsorted(labels, y[chosen])
        flat = [line if line.ndim == 1 else line[:, 0] for line in lines]
        return cls(name, tuple(map(str, labels)), flat, places, carries[chosen])


def _some(rows: np.ndarray, carries: np.ndarray) -> list[int]:
    """Return some rows, half of them support vectors, evenly spread."""
    bold, plain = rows[carries[rows]], rows[~carries[rows]]
    n_bold = min(len(bold), max(LINES // 2, LINES - len(plain)))
    return [*_evenly(bold, n_bold), *_evenly(plain, LINES - n_bold)]


def _evenly(rows: np.ndarray, most: int) -> list[int]:
    places = np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(np.intp)
    return [int(row) for row in rows[places]]


@dataclass(frozen=True)
class Term:
    """A word or a piece of a string, its number of rows, and the mean score with and without it."""

    text: str
    rows: int
    present: float
    absent: float


@dataclass(frozen=True, eq=False)
class StrongTerms:
    """The words of texts, or pieces of strings, with which the answers of a model go most.

    ``terms[k]`` are those of ``classes[k]``: rows that have them get a higher score of this class.
    For numbers the two "classes" are "higher" and "lower".
    """

    name: str
    kind: str
    classes: tuple[str, ...]
    terms: Sequence[Sequence[Term]]

    @classmethod
    def of(
        cls, texts: Sequence[str], scores: Any, *, classes: Any = None, name: str = "",
        kind: str = "text",
    ) -> StrongTerms:  # fmt: skip
        """Rank terms by z = (mean with − mean without) / its standard error.

        ``scores`` are a probability or decision value for each class, (n, K), or predicted
        numbers, (n,), which need no ``classes``.
        """
        table = np.asarray(scores, float)
        if classes is None:
            value = numbers(scores, "scores", len(texts))
            table, classes = np.column_stack([value, -value]), ("higher", "lower")
        found, counts = _counted(texts, kind)
        ranked = [_ranked(found, counts, column) for column in table.T]
        if tuple(classes) == ("higher", "lower"):
            ranked[1] = [Term(t.text, t.rows, -t.present, -t.absent) for t in ranked[1]]
        return cls(name, kind, tuple(map(str, classes)), ranked)


def _counted(texts: Sequence[str], kind: str) -> tuple[np.ndarray, Any]:
    """Return the terms of two rows or more, and which row has which, sparse."""
    least = 2 if len(texts) > 4 else 1
    counter = CountVectorizer(binary=True, min_df=least, dtype=np.float64, **SPLITTERS[kind])
    try:
        counts = counter.fit_transform(texts)
    except ValueError:  # scikit-learn's word for texts without a word
        return np.array([]), np.zeros((len(texts), 0))
    return counter.get_feature_names_out(), counts


def _ranked(names: np.ndarray, counts: Any, score: np.ndarray) -> list[Term]:
    n = len(score)
    rows = np.asarray(counts.sum(axis=0)).ravel()
    total = np.asarray(counts.T @ score).ravel()
    some = (rows > 0) & (rows < n)
    if not some.any():
        return []
    names, rows, total = names[some], rows[some], total[some]
    present, absent = total / rows, (score.sum() - total) / (n - rows)
    z = (present - absent) * np.sqrt(rows * (n - rows) / n)
    longest = np.array([-len(name) for name in names])  # of what goes together the whole
    best = np.lexsort((longest, -np.round(z, 9)))[: 8 * TERMS]
    told: list[Term] = []
    for i in best:
        text = str(names[i])
        inside = any(text in t.text or t.text in text for t in told)  # one piece says it
        if z[i] > 0 and not inside and len(told) < TERMS:
            told.append(Term(text, int(rows[i]), float(present[i]), float(absent[i])))
    return told
