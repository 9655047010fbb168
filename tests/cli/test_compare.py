"""Models side by side: the same rows, the same draws, no difference that chance may have made."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold, cross_val_predict

pl = pytest.importorskip("polars")

import mercer as library  # noqa: E402
from mercer.meta import ThresholdClassifier  # noqa: E402
from mercer.report import compare, comparison_page  # noqa: E402


@pytest.fixture(scope="module")
def halves():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)  # what no linear model finds
    return (X[::2], y[::2]), (X[1::2], y[1::2])


# ---------------------------------------------------------------- in Python
def test_a_real_difference_is_more_than_chance_and_a_copy_is_not(halves):
    train, test = halves
    machine = library.SVC().fit(*train)
    models = {"line": library.LogisticRegression().fit(*train), "svm": machine, "copy": machine}
    found = compare(models, *test)
    assert found.names[-1] == "line"
    assert found.is_apart("line")
    twin = found.others[0]
    assert found.is_apart(twin) is False
    assert found.scores[0].leads[twin].value == 0.0
    assert "better than 'line' by more than chance" in found.sentence
    assert f"(as has {twin!r})" in found.sentence


def test_the_scores_are_those_of_each_model_alone(halves):
    train, test = halves
    models = {"near": library.KNN().fit(*train), "bayes": library.GaussianBayes().fit(*train)}
    found = compare(models, *test)
    for name, model in models.items():
        accuracy = np.mean(model.predict(test[0]) == test[1])
        assert found.estimate(found.scores[0], name).value == pytest.approx(accuracy)
    lead = found.scores[0].leads[found.others[0]]
    best, other = (found.estimate(found.scores[0], name).value for name in found.names)
    assert lead.value == pytest.approx(best - other)
    assert lead.low <= lead.value <= lead.high


def test_numbers_are_ranked_by_their_squared_error(halves):
    (X, _), (Z, _) = halves
    target = X[:, 0] ** 2
    kinds = {"line": library.Ridge(), "kernel": library.KernelRidge()}
    models = {name: kind.fit(X, target) for name, kind in kinds.items()}
    found = compare(models, Z, Z[:, 0] ** 2)
    assert found.best == "kernel"
    assert found.scores[0].name == "R²"
    assert found.is_apart("line")


def test_what_cannot_be_compared_is_refused(halves):
    (X, y), (Z, w) = halves
    machine = library.SVC().fit(X, y)
    with pytest.raises(ValueError, match="two or more"):
        compare({"one": machine}, Z, w)
    with pytest.raises(ValueError, match="different kinds"):
        compare({"a": machine, "b": library.Ridge().fit(X, y)}, Z, w)
    with pytest.raises(ValueError, match="different classes"):
        compare({"a": machine, "b": library.SVC().fit(X, y + 1)}, Z, w)


def test_names_on_the_page_mean_no_harm(halves):
    (X, y), test = halves
    machine = library.SVC().fit(X, y)
    found = compare({"<script>alert(1)</script>": machine, "b" * 300: machine}, *test)
    page = comparison_page("<b>", found, environment={}, command="</code>")
    assert "<script>alert" not in page
    assert page.count("</code>") == 1


# ---------------------------------------------------------------- the command
def test_saved_models_on_new_rows(mercer, model, table, mixed, tmp_path):
    other = ("--model", "bayes", "--save", "other.mercer", "--no-report", "-q")
    assert mercer("fit", table, "-t", "risk", *other).code == 0
    ended = mercer("compare", model, "other.mercer", table, "--json")
    assert ended.code == 0, ended.err
    told = json.loads(ended.out)
    assert set(told["models"]) == {"people", "other"}
    for name, path in (("people", model), ("other", "other.mercer")):
        accuracy = np.mean(library.load(path).predict(mixed) == mixed["risk"].to_numpy())
        assert told["models"][name]["accuracy"]["value"] == pytest.approx(accuracy)
    page = (tmp_path / "people.compare.html").read_text(encoding="utf-8")
    assert "SHA-256 of other.mercer" in page
    shown = mercer("compare", table, "other.mercer", model)
    assert "has learned from rows of people.csv" in shown.err
    assert "the best" in shown.out


def test_models_by_name_are_fitted_to_the_same_rows(mercer, table, tmp_path):
    words = ("--models", "linear,knn,lasso", "-t", "cost", "--ignore", "id", "--effort", "quick")
    ended = mercer("compare", table, *words, "--report", "c.html")
    assert ended.code == 0, ended.err
    for name in ("linear", "knn", "lasso"):
        assert f"fit        {name}:" in ended.out
    assert "48 held out" in ended.out
    assert "best less this" in (tmp_path / "c.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("people.csv", "people.mercer"), 2, "two models or more"),
        (("people.mercer", "people.mercer"), 2, "one table"),
        (("people.csv",), 2, "--models"),
        (("people.csv", "people.mercer", "--models", "svm,knn"), 2, "not both"),
        (("people.csv", "--models", "svm,nothing", "-t", "risk"), 2, "nothing"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(mercer, model, words, code, message):
    ended = mercer("compare", *words)
    assert ended.code == code
    assert message in ended.err.splitlines()[-1]


def test_the_table_is_read_as_told(mercer, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    lines = [f"{a:.3f};{b:.3f};{7 + (a + b / 3 > 0)}".replace(".", ",") for a, b in X]
    lines[3] = "none;0,5;7"
    (tmp_path / "a.csv").write_text("\n".join(["a;b;y", *lines]))
    told = ("--sep", ";", "--decimal", ",", "--na", "none", "--kind", "b=ignore")
    words = ("-t", "y", "--models", "bayes,logistic", "--effort", "quick")
    ended = mercer("compare", "a.csv", *words, *told)
    assert ended.code == 0, ended.err
    for name in ("bayes", "logistic"):
        fitted = ("--model", name, "--save", f"{name}.mercer", "--no-report", "-q")
        assert mercer("fit", "a.csv", "-t", "y", *fitted, *told[:-2]).code == 0
    saved = ("compare", "a.csv", "bayes.mercer", "logistic.mercer")
    assert mercer(*saved, *told[:-2]).code == 0
    assert mercer(*saved, *told).err.startswith("mercer: --kind is for --models")
    wrong = mercer("compare", "a.csv", *words, "--decimal", "x")
    assert (wrong.code, "--decimal" in wrong.err) == (2, True)


def test_few_rows_compare_models_by_folds(mercer, tmp_path):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 60))
    pl.DataFrame({"a": a, "b": b, "y": 3 * a + b}).write_csv(tmp_path / "t.csv")
    ended = mercer("compare", "t.csv", "-t", "y", "--models", "knn,linear", "--effort", "quick")
    assert ended.code == 0, ended.err
    assert "scores are cross-validated over all rows (10 folds)" in ended.out
    assert "'linear' has the best R²" in ended.out
    page = (tmp_path / "t.compare.html").read_text(encoding="utf-8")
    assert "fitted to the rows outside its fold (10 folds)" in page


def test_folds_answer_each_row_by_models_that_have_not_seen_it(halves):
    (X, y), _ = halves
    models = {"near": library.KNN(1).fit(X, y), "line": library.LogisticRegression().fit(X, y)}
    folds = list(KFold(5).split(X))
    found = compare(models, X, y, folds=folds)
    for name, model in models.items():
        accuracy = np.mean(cross_val_predict(model, X, y, cv=folds) == y)
        assert found.estimate(found.scores[0], name).value == pytest.approx(accuracy)


def test_the_best_model_is_the_best_by_the_score_that_is_named():
    """Of a rare class the average precision leads: who never calls a row rare is no better."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 2))
    y = (X[:, 0] + 0.8 * rng.normal(size=800) > 2.2).astype(int)
    ranks = ThresholdClassifier(library.LogisticRegression(), threshold=0.01).fit(X, y)
    blind = library.LogisticRegression(lam=1e6).fit(X[:, ::-1], y)
    found = compare({"blind": blind, "ranks": ranks}, X, y)
    assert found.scores[0].name == "average precision"
    assert np.mean(ranks.predict(X) == y) < np.mean(blind.predict(X) == y)
    assert found.best == "ranks"
    assert found.scores[0].leads["blind"].value > 0


def test_saved_models_are_compared_by_the_class_of_their_fit(mercer, tmp_path):
    rng = np.random.default_rng(0)
    a = rng.normal(size=200)
    label = np.where(a + rng.normal(size=200) > 0.8, "a", "b")
    pl.DataFrame({"a": a, "y": label}).write_csv(tmp_path / "t.csv")
    for name in ("bayes", "knn"):
        words = ("--model", name, "--save", f"{name}.mercer", "-q", "--no-report")
        assert mercer("fit", "t.csv", "-t", "y", *words).code == 0
    found = json.loads(mercer("compare", "t.csv", "bayes.mercer", "knn.mercer", "--json").out)
    said = library.load("bayes.mercer").predict(pl.read_csv("t.csv"))
    f1 = f1_score(label, said, pos_label="a")
    assert found["models"]["bayes"]["F1"]["value"] == pytest.approx(f1)
