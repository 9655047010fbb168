"""Texts: the weight of each frequent word, rows of length 1 (tf-idf)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from mercer._words import count
from mercer.tables.columns import Column, as_codes
from mercer.tables.numeric import State, dropped

MOST_TERMS = 2000
SPLITTERS: dict[str, dict[str, Any]] = {
    "text": {},
    "string": {"analyzer": "char_wb", "ngram_range": (1, 4)},
}
"""What counts in a text: its words; in a string of letters up to four of these in a row."""


def looks_like_text(column: Column, max_categories: int) -> bool:
    """Whether a column holds sentences: four words or more, and too many different for levels."""
    n_present = int(np.sum(column.values >= 0))
    varied = len(column.levels) > min(n_present / 2, max_categories)
    some = column.levels[:: 1 + len(column.levels) // 10_000]
    return varied and bool(np.mean([len(level.split()) for level in some]) >= 4)


def learn_text(column: Column, kind: str = "text") -> State:
    """Return the terms that most rows have, at most 2,000, and their inverse frequencies."""
    codes, levels = as_codes(column)
    vectorizer = CountVectorizer(binary=True, **SPLITTERS[kind])
    try:
        found = vectorizer.fit_transform(levels)
    except ValueError:  # scikit-learn's word for texts without a word
        return dropped(column.name, "no words")
    n_rows = int(np.sum(codes >= 0))
    frequency = np.bincount(codes[codes >= 0], minlength=len(levels)) @ found
    floor = 2 if n_rows >= 20 else 1
    useful = np.flatnonzero((frequency >= floor) & (frequency < n_rows))
    chosen = np.sort(useful[np.argsort(-frequency[useful], kind="stable")[:MOST_TERMS]])
    if not len(chosen):
        return dropped(column.name, "no word is in several rows, or all are in every row")
    return {
        "name": column.name,
        "kind": kind,
        "words": count(len(chosen), "term"),
        "terms": vectorizer.get_feature_names_out()[chosen].tolist(),
        "idf": np.log((1.0 + n_rows) / (1.0 + frequency[chosen])) + 1.0,
        "missing": len(codes) - n_rows,
    }


def encode_text(state: State, column: Column) -> tuple[sp.csr_array, int]:
    """Return (n, terms), sparse: (1 + log tf)·idf, each row with length 1 (0 without terms)."""
    codes, levels = as_codes(column)
    splitter = SPLITTERS[state["kind"]]
    vectorizer = CountVectorizer(vocabulary=state["terms"], dtype=np.float64, **splitter)
    # "" stands last, for the code −1 of a missing text
    weights = sp.csr_array(vectorizer.transform([*levels, ""]))
    weights.data = (1.0 + np.log(weights.data)) * state["idf"][weights.indices]
    return sp.csr_array(normalize(weights, copy=False))[codes % (len(levels) + 1)], 0


def text_features(state: State) -> list[str]:
    """Return the names of the output columns."""
    return [f"{state['name']}: {term}" for term in state["terms"]]
