"""Series, texts and strings on the page: which are shown, and what is said of them."""

from __future__ import annotations

import numpy as np
import pytest

pl = pytest.importorskip("polars")

from sklearn.pipeline import make_pipeline  # noqa: E402

from mercer import SVC, KernelRidge, TableEncoder  # noqa: E402
from mercer.kernels import GlobalAlignment, Words  # noqa: E402
from mercer.plot.object_records import LINES, MOST_CLASSES, SeriesLines, StrongTerms  # noqa: E402
from mercer.report import examine, render  # noqa: E402
from mercer.tables import ColumnsEncoder  # noqa: E402
from tests.cli.test_kinds import BAD, GOOD, curves, reviews, strings  # noqa: E402


def halves(table):
    X, y = table.drop("label"), table["label"].to_numpy()
    return (X[::2], y[::2]), (X[1::2], y[1::2])


def test_words_are_ranked_by_what_rows_with_them_are_told():
    texts, scores = ["a b", "a c", "b c", "a d", "b d"], np.array([3.0, 2.0, 0.0, 1.0, 0.0])
    found = StrongTerms.of([t.replace("a", "aa") for t in texts], scores)
    first = found.terms[0][0]
    assert found.classes == ("higher", "lower")
    assert (first.text, first.rows, first.present, first.absent) == ("aa", 3, 2.0, 0.0)
    assert all(term.present < term.absent for term in found.terms[1])


def test_a_piece_of_a_piece_is_told_once():
    found = StrongTerms.of(["xabc", "yabc", "zzz", "uuu", "vvv"], [1.0, 1, 0, 0, 0], kind="string")
    pieces = [term.text for term in found.terms[0]]
    assert sum(piece in "abc" for piece in pieces) == 1


def test_texts_without_a_word_have_no_terms():
    found = StrongTerms.of(["!", "?", "", "-"], [1.0, 0.0, 1.0, 0.0])
    assert [list(own) for own in found.terms] == [[], []]


def test_some_series_of_each_class_are_shown_support_vectors_among_them():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(9), 20)
    X = [rng.normal(size=rng.integers(1, 9)) for _ in y]
    found = SeriesLines.of(X, y, support=np.arange(0, 180, 5))
    assert len(found.classes) == MOST_CLASSES
    for place in range(MOST_CLASSES):
        own = found.places == place
        assert own.sum() == LINES
        assert found.support[own].sum() == 4
    wide = SeriesLines.of([np.ones((3, 2)), np.zeros((4, 2))], ["a", "b"])
    assert [line.shape for line in wide.lines] == [(3,), (4,)]
    assert not wide.support.any()


def test_the_page_shows_series_as_lines():
    train, test = halves(curves(60))
    model = make_pipeline(ColumnsEncoder(), SVC(GlobalAlignment().normalized().on("curve")))
    study = examine(model.fit(*train), *test, train=train, time_limit=20.0)
    (picture,) = study.objects
    assert picture.support.any()
    assert picture.classes == ("early", "late")
    page = render(study)
    assert page.count('class="line curve l0') == int((picture.places == 0).sum())
    assert page.count('support"') >= int(picture.support.sum())
    assert "bold are support vectors" in page


def test_the_page_names_the_words_that_decide():
    train, test = halves(reviews(160))
    model = make_pipeline(ColumnsEncoder(), SVC(Words().normalized().on("text"), C=10.0))
    study = examine(model.fit(*train), *test, train=train, time_limit=20.0)
    (picture,) = study.objects
    told = {k: {t.text for t in own} for k, own in zip(picture.classes, picture.terms, strict=True)}
    assert len(told["good"] & set(GOOD)) >= 3
    assert len(told["bad"] & set(BAD)) >= 3
    assert not told["good"] & set(BAD)
    assert all(word in render(study) for word in told["good"])
    assert "linear model" in study.scores[0].rivals  # which sees words as TableEncoder does


def test_strings_and_encoded_columns_have_pictures_too():
    train, test = halves(strings(80))
    kinds = {"dna": "string"}
    model = make_pipeline(TableEncoder(kinds=kinds), SVC("linear")).fit(*train)
    study = examine(model, *test, train=train, time_limit=20.0)
    assert study.objects[0].kind == "string"
    table = curves(40)
    X, y = table.drop("label"), np.arange(40.0)
    given = make_pipeline(ColumnsEncoder(), KernelRidge(GlobalAlignment().normalized().on("curve")))
    study = examine(given.fit(X, y), X, y, train=(X, y), time_limit=20.0)
    assert study.objects[0].classes == ("above 19.5", "up to 19.5")
    assert render(study).count("<figure") > 2


def test_names_and_texts_mean_no_harm():
    table = reviews(40).rename({"text": "<script>x</script>"})
    table = table.with_columns(pl.col("<script>x</script>") + " <img src=x>")
    train, test = halves(table)
    kernel = Words().normalized().on("<script>x</script>")
    model = make_pipeline(ColumnsEncoder(), SVC(kernel)).fit(*train)
    page = render(examine(model, *test, train=train, time_limit=20.0))
    assert "<script>x" not in page
    assert "<img src" not in page


@pytest.mark.parametrize("draw", ["series", "terms", "warping"])
def test_the_same_records_are_drawn_with_matplotlib(draw):
    pytest.importorskip("matplotlib")
    import matplotlib as mpl

    from mercer import plot

    with mpl.rc_context({"backend": "agg"}):
        if draw == "series":
            ax = plot.SeriesDisplay.from_series([[0.0, 1.0], [1.0, 0.0, 2.0]], ["a", "b"]).ax_
            assert [len(line.get_xdata()) for line in ax.lines] == [2, 3]
        elif draw == "terms":
            train, _ = halves(reviews(60))
            model = SVC(Words().normalized(), C=10.0, probability=True)
            texts = train[0]["text"].to_list()
            display = plot.TermsDisplay.from_estimator(model.fit(texts, train[1]), texts, which=1)
            shown = [text.get_text().strip("'") for text in display.ax_.get_yticklabels()]
            assert shown == [term.text for term in display.record.terms[1]]
        else:
            ax = plot.warping([0.0, 1.0, 2.0], [0.0, 2.0], [(0, 0), (1, 0), (2, 1)])
            assert len(ax.lines) == 5
        mpl.pyplot.close("all")
