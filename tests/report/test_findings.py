"""What is odd about the rows comes first, and takes the praise away."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict

from mercer.checks import Finding
from mercer.report import examine, render
from mercer.report._cross import joined
from mercer.report.sections.scores import standing, verdict
from mercer.report.study import Estimate, Score
from tests.report import samples
from tests.report.test_page import Reader

LEAK = Finding("repeated rows", "leak", (), "40 % of the rows are <known>", "test with others")
MENDED = replace(LEAK, mended="copies are kept together")
WARNING = Finding("group", "warning", ("who",), "rows belong together", "--group who")
NOTE = Finding("constant", "note", ("c",), "'c' is constant", "nothing", "left out")


def body(*findings: Finding) -> str:
    """Return the words of a page in their order, without the style and the script."""
    text = render(replace(samples.binary(), findings=findings))
    assert Reader(text).wrong == []
    return re.sub(r"<(style|script).*?</\1>", "", text.split("<body>")[1], flags=re.DOTALL)


def test_a_leak_stands_before_the_title_and_nothing_is_praised():
    text = body(LEAK, WARNING)
    assert 'class="alert leak"' in text
    assert text.index("Leak: repeated rows.") < text.index("Warning: group.") < text.index("<h1>")
    assert "40 % of the rows are &lt;known&gt;" in text
    told = verdict(replace(samples.binary(), findings=(LEAK,)))
    assert told.startswith("Accuracy 92.5")
    assert told.endswith("which is not to be relied on because of a leak (repeated rows).")
    assert "better than" not in text
    assert "better than" in body()


def test_what_was_mended_or_may_be_so_is_said_and_the_score_stands():
    text = body(MENDED, WARNING)
    assert 'class="alert warning"' in text
    assert text.index("Mended: repeated rows.") < text.index("<h1>")
    assert "Copies are kept together." in text
    assert "better than the linear model" in text


def test_the_verdict_says_for_which_rows_it_may_not_hold():
    order = Finding("time order", "warning", ("date",), "prices follow one another", "--time date")
    told = verdict(replace(samples.binary(), findings=(WARNING, order)))
    assert told.endswith(
        "it may not hold for a new 'who' or for rows later in 'date' (see the warnings)."
    )
    mended = replace(WARNING, mended="rows of one 'who' are kept together")
    for nothing in ((), (NOTE,), (mended,)):
        assert "may not hold" not in verdict(replace(samples.binary(), findings=nothing))


def test_notes_stand_with_what_was_done():
    text = body(NOTE)
    assert 'class="alert' not in text
    assert text.index("<h1>") < text.index("The checks") < text.index("is constant; left out")


def test_no_tick_stands_beside_a_score():
    text = body()
    before_the_tabs = text.split("<nav")[0]
    assert "✓" not in before_the_tabs
    assert "proved" not in before_the_tabs.lower()
    assert "What the optimiser has proved" in text
    assert "known to within 0.003 %" in text


# ---------------------------------------------------------------- scores that disagree
def score(name: str, gap: float) -> Score:
    model, rival = Estimate(0.8, 0.7, 0.9), Estimate(0.8 - gap, 0.7, 0.9)
    lead = Estimate(gap, gap - 0.01, gap + 0.01)
    return Score(name, name, model, {"linear model": rival}, leads={"linear model": lead})


def test_scores_of_which_the_same_is_said_stand_together():
    scores = [score("R²", -0.02), score("MAE", 0.0), score("RMSE", 0.0), score("AUC", 0.05)]
    assert standing(scores).endswith(
        "by MAE and RMSE not distinguishable from the linear model; by AUC better than the linear "
        "model by 0.05"
    )


@pytest.mark.parametrize(
    ("gaps", "told"),
    [
        ((0.02, 0.03), "better than the linear model by 0.02"),
        (
            (0.02, -0.05),
            "better than the linear model by 0.02, but not by every score: by AUC worse than the "
            "linear model by 0.05",
        ),
        (
            (0.0, 0.05),
            "not distinguishable from the linear model, but not by every score: by AUC better "
            "than the linear model by 0.05",
        ),
    ],
)
def test_the_verdict_says_where_scores_disagree(gaps, told):
    assert (
        standing([score(name, gap) for name, gap in zip(("accuracy", "AUC"), gaps, strict=True)])
        == told
    )


# ---------------------------------------------------------------- answers by cross-validation
def rows(task: str, n: int = 40):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = X[:, 0] + 0.5 * rng.normal(size=n)
    return X, y if task == "regress" else np.where(y > 0, "yes", "no")


@pytest.mark.parametrize(
    ("task", "model", "splitter"),
    [
        ("regress", LinearRegression(), KFold(5, shuffle=True, random_state=0)),
        ("classify", LogisticRegression(), StratifiedKFold(5, shuffle=True, random_state=0)),
    ],
)
def test_every_row_is_answered_by_a_model_that_has_not_seen_it(task, model, splitter):
    X, y = rows(task)
    folds = list(splitter.split(X, y))
    study = examine(model.fit(X, y), X, y, train=(X, y), folds=folds)
    wanted = cross_val_predict(model, X, y, cv=folds)
    if task == "regress":
        assert study.evaluation.r2 == pytest.approx(
            1 - ((y - wanted) ** 2).sum() / ((y - y.mean()) ** 2).sum()
        )
    else:
        assert study.evaluation.accuracy == pytest.approx(np.mean(y == wanted))
        assert any(name.startswith("always") for name in study.scores[0].rivals)
    assert study.n_folds == 5
    assert "cross-validated in 5 folds" in verdict(study)
    assert "all rows were learned from" in study.left_out["columns"]
    assert any("fitted to the rows outside its fold" in told for told in study.sentences)


def test_rivals_are_refitted_too():
    """A model of all rows would know the noise; that of the others cannot."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 25)), rng.normal(size=30)
    folds = list(KFold(5).split(X))
    study = examine(LinearRegression().fit(X, y), X, y, train=(X, y), folds=folds)
    for rival in study.scores[0].rivals.values():
        assert rival.value < 0.2


def test_rivals_of_folds_are_judged_by_the_class_of_the_model():
    """The first of two labels is the positive one: who always says the other finds none of it."""
    X, y = rows("classify")
    y = np.where(np.arange(40) % 4 == 0, "a", "b")
    folds = list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, y))
    given = {"train": (X, y), "folds": folds, "positive": "a", "metric": "f1"}
    study = examine(LogisticRegression().fit(X, y), X, y, **given, only_scores=True)
    by_name = {score.name: score.rivals for score in study.scores}
    assert by_name["F1"]["always 'b'"].value == 0.0


def test_a_rule_that_does_not_look_at_rows_ranks_none_before_another():
    X, y = rows("classify", 41)  # folds in which the shares of the classes differ
    folds = list(KFold(5, shuffle=True, random_state=0).split(X))
    study = examine(LogisticRegression().fit(X, y), X, y, train=(X, y), folds=folds)
    by_name = {score.name: score.rivals for score in study.scores}
    rule = next(iter(by_name["AUC"]))
    assert rule.startswith("always")
    assert by_name["AUC"][rule].value == 0.5
    X, y = rows("regress")
    study = examine(LinearRegression().fit(X, y), X, y, train=(X, y), folds=list(KFold(4).split(X)))
    assert study.scores[0].rivals["the mean"].value == pytest.approx(0.0, abs=1e-12)


def test_few_rows_need_little_time_for_trees():
    X, y = rows("classify", 40)
    given = {"train": (X, y), "only_scores": True, "time_limit": 1.0}
    study = examine(LogisticRegression().fit(X, y), X, y, **given)
    assert "boosted trees" in study.scores[0].rivals


@pytest.mark.parametrize(("most", "left"), [(1e9, 10), (4.7, 4), (0.0, 2)])
def test_folds_are_joined_where_there_is_no_time_for_all(most, left):
    X = np.zeros((50, 1))
    folds = joined(list(KFold(10, shuffle=True, random_state=0).split(X)), most)
    assert len(folds) == left
    assert np.array_equal(np.sort(np.concatenate([test for _, test in folds])), np.arange(50))
    assert all(np.array_equal(learn, np.setdiff1d(np.arange(50), test)) for learn, test in folds)


def test_a_report_in_fewer_folds_says_so():
    X, y = rows("regress")
    given = {"train": (X, y), "folds": list(KFold(5).split(X)), "only_scores": True}
    study = examine(LinearRegression().fit(X, y), X, y, **given, time_limit=1e-6)
    assert study.n_folds == 2
    assert any("there was no time for 5 folds" in sentence for sentence in study.sentences)


def test_folds_that_miss_rows_are_refused():
    X, y = rows("regress")
    with pytest.raises(ValueError, match="hold out each row of X once"):
        examine(LinearRegression().fit(X, y), X, y, folds=[(np.arange(20), np.arange(20, 39))])


def test_the_learning_curve_keeps_to_groups():
    X, y = rows("regress", 120)
    groups, seen = np.repeat(np.arange(12), 10), []

    class Splitter:
        def split(self, X, y, groups):
            seen.append(groups)
            yield from KFold(3).split(X)

    fitted = LinearRegression().fit(X, y)
    study = examine(fitted, X, y, train=(X, y), cv=Splitter(), groups=groups)
    assert study.curve is not None
    assert "3 folds" in study.curve.words
    assert np.array_equal(seen[0], groups)
