"""The kernel of words: counts and weights of the training texts, and nothing of the others."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from mercer import SVC, check_kernel, gram
from mercer.kernels import Words
from tests.compare import assert_close
from tests.kernels.everywhere import assert_works_everywhere

TEXTS = [
    "The cat sat on the mat.",
    "A dog sat on the cat",
    "",
    "Größe, größe und Grüße!",
    "cat cat cat",
    "🙂 smile 🙂 smile",
    "x",
    "dogs and cats and mats",
]
NEW = ["the mat and an unseen word", "", "cat", "und so weiter"]

VECTORIZERS = [
    (Words(), TfidfVectorizer(norm=None)),
    (Words(weighting="counts"), CountVectorizer()),
    (Words(weighting="binary"), CountVectorizer(binary=True)),
    (Words((1, 2)), TfidfVectorizer(norm=None, ngram_range=(1, 2))),
    (Words(sublinear=True), TfidfVectorizer(norm=None, sublinear_tf=True)),
    (Words(lowercase=False), TfidfVectorizer(norm=None, lowercase=False)),
    (
        Words((2, 3), analyzer="char"),
        TfidfVectorizer(norm=None, ngram_range=(2, 3), analyzer="char"),
    ),
    (Words().normalized(), TfidfVectorizer()),
]
every_kind = pytest.mark.parametrize(("kernel", "vectorizer"), VECTORIZERS, ids=repr)


@every_kind
def test_values_are_products_of_what_the_vectorizers_give(kernel, vectorizer):
    train = vectorizer.fit_transform(TEXTS)
    new = vectorizer.transform(NEW)
    assert_close(kernel(TEXTS), (train @ train.T).toarray())
    assert_close(kernel(NEW, TEXTS), (new @ train.T).toarray())
    assert_close(kernel.bind(TEXTS).diagonal(NEW), (new @ new.T).diagonal())


def test_a_part_of_the_rows_binds_its_own_words():
    whole = Words().sample(TEXTS)
    part = whole[np.array([4, 0])]
    bound = Words().bind(part)
    alone = Words().bind([TEXTS[4], TEXTS[0]])
    assert bound == alone
    assert list(bound.vocabulary) == ["cat", "mat", "on", "sat", "the"]
    assert_close(bound.block_of(whole, part), alone(TEXTS, [TEXTS[4], TEXTS[0]]))


def test_a_weight_counts_a_text_as_often():
    weights = np.array([2.0, 0.0, 1.0, 1.0, 3.0, 1.0, 1.0, 1.0])
    repeated = [text for text, w in zip(TEXTS, weights, strict=True) for _ in range(int(w))]
    assert Words().bind(TEXTS, weights) == Words().bind(repeated)


def test_a_given_vocabulary_is_kept():
    kernel = Words(vocabulary=["the", "cat", "never"], weighting="counts")
    assert_close(kernel(["The cat, the dog"], ["the cat never", "dog"]), [[3.0, 0.0]])
    weighted = Words(vocabulary=["the", "cat"], idf=[0.0, 2.0])
    assert_close(weighted(["The cat, the dog"], ["the cat"]), [[4.0]])


def test_texts_without_words_share_nothing():
    assert_close(Words()(["", "!"]), np.zeros((2, 2)))


def test_a_bound_kernel_prints_in_a_line():
    assert len(repr(Words().bind(TEXTS))) < 200


def test_columns_of_frames_are_texts():
    pd = pytest.importorskip("pandas")
    assert_close(Words()(pd.Series(TEXTS)), Words()(TEXTS))
    assert_close(Words()(np.array(TEXTS)), Words()(TEXTS))


def test_matrices_are_positive_semidefinite():
    for kernel, _ in VECTORIZERS:
        assert check_kernel(kernel, TEXTS).ok


def test_machines_take_them_alone_and_in_expressions(tmp_path):
    assert_works_everywhere(Words((1, 2)), TEXTS, tmp_path)


def test_words_tell_classes_apart():
    spam = [f"win money now {i}" for i in range(10)]
    ham = [f"see you at lunch {i}" for i in range(10)]
    model = SVC(Words().normalized()).fit(spam + ham, [1] * 10 + [0] * 10)
    assert list(model.predict(["money to win", "lunch with you"])) == [1, 0]


@pytest.mark.parametrize(
    ("rows", "got"),
    [
        (["a text", 3.5], "row 1 is 3.5, of type float"),
        (["a text", None], "row 1 is None"),
        (np.ones((3, 2)), "a table of 3 × 2"),
        ([["a", "list"]], "row 0 is"),
    ],
)
def test_what_is_no_text_is_refused(rows, got):
    with pytest.raises(TypeError, match=f"Words takes a list of texts.*{got}"):
        gram(Words(), rows)


@pytest.mark.parametrize("ngram", [(2, 1), (0, 1), (1,), (1, 2.5), (True, True)])
def test_ngrams_that_are_none_are_refused(ngram):
    with pytest.raises(ValueError, match="ngram must be two integers"):
        Words(ngram)(TEXTS)


def test_weights_without_words_are_refused():
    with pytest.raises(ValueError, match="idf must hold one weight for each word"):
        Words(idf=[1.0, 2.0])(TEXTS)
