"""Texts are counted as scikit-learn counts them, and each of them once."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from mercer.kernels import Words
from mercer.kernels.terms import TermCounter

TEXTS = ["the cat sat", "", "a cat, a cat", "🙂 the 🙂", "sat the cat", "x"]
NEW = ["cat of Größe", "the cat sat"]


def words(text):
    return text.split()


@pytest.mark.parametrize("analyzer", ["word", "char", "char_wb"])
@pytest.mark.parametrize("ngram", [(1, 1), (1, 3), (2, 2)])
@pytest.mark.parametrize("most_kept", [0, 10**6])
def test_counts_are_those_of_scikit_learn(analyzer, ngram, most_kept):
    peer = CountVectorizer(analyzer=analyzer, ngram_range=ngram)
    counter = TermCounter(peer.build_analyzer(), most_kept)
    for texts in (TEXTS, NEW, TEXTS[::-1]):
        found, wanted = counter.count(texts), peer.fit_transform(texts).toarray()
        assert found.keys.tolist() == peer.get_feature_names_out().tolist()
        np.testing.assert_array_equal(found.matrix.toarray(), wanted)
        assert found.matrix.has_canonical_format


def test_a_text_is_taken_apart_once():
    seen = []
    counter = TermCounter(lambda text: seen.append(text) or text.split())
    for texts in (TEXTS, TEXTS[2:4], [*NEW, *TEXTS]):
        counter.count(texts)
    assert sorted(seen) == sorted({*TEXTS, *NEW})


def test_too_many_texts_are_forgotten():
    counter = TermCounter(words, most_kept=5)
    for k in range(20):
        counter.count([f"{k} {k + 1} {k + 2}"])
        assert len(counter._texts) <= 3
        assert len(counter._numbers) <= 9


def test_texts_without_terms():
    assert TermCounter(words).count(["", ""]).matrix.shape == (2, 0)


def test_what_was_counted_before_changes_no_value():
    first = Words((1, 2)).normalized().bind(TEXTS)(NEW, TEXTS)
    Words((1, 2))([f"other words {k}" for k in range(50)])
    np.testing.assert_array_equal(Words((1, 2)).normalized().bind(TEXTS)(NEW, TEXTS), first)
