"""``mercer fit``: the model it saves is the model it speaks of."""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import version

import numpy as np
import pytest

pl = pytest.importorskip("polars")

import mercer as library  # noqa: E402
from mercer.cli import fit as fit_command  # noqa: E402
from mercer.datasets import load_file  # noqa: E402
from mercer.io import inspect  # noqa: E402
from mercer.meta import innermost  # noqa: E402


def fitted(mercer, *words) -> dict:
    ended = mercer("fit", *words, "--json", "--time-limit", "20s")
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def test_classes_from_mixed_columns(mercer, table, mixed, tmp_path):
    result = fitted(mercer, table, "--target", "risk", "--ignore", "cost")
    assert result["task"] == "classify"
    assert result["learned_rows"] + result["test_rows"] == mixed.height
    assert result["proof"]["ok"]
    scores = result["scores"]
    own, linear = scores["model"]["accuracy"]["value"], scores["linear model"]["accuracy"]["value"]
    baseline = next(s for name, s in scores.items() if name.startswith("always"))
    # the classes are an exclusive or: a kernel sees it, a linear function cannot
    assert own > 0.85 > linear
    assert own > baseline["accuracy"]["value"] + 0.2
    model = library.load(tmp_path / "people.mercer")
    assert model.predict(mixed).shape == (mixed.height,)
    assert np.mean(model.predict(mixed) == mixed["risk"].to_numpy()) > 0.85
    page = (tmp_path / "people.report.html").read_text(encoding="utf-8")
    assert "people.csv" in page
    assert "risk" in page
    assert inspect(tmp_path / "people.mercer")["about"]["target"] == "risk"


def test_numbers(mercer, table, mixed):
    result = fitted(mercer, table, "-t", "cost", "--ignore", "risk", "--no-report", "--no-save")
    assert result["task"] == "regress"
    assert result["scores"]["model"]["R²"]["value"] > 0.8
    assert (
        result["scores"]["model"]["R²"]["value"] > result["scores"]["linear model"]["R²"]["value"]
    )
    baseline = result["scores"]["the mean"]["RMSE"]["value"]
    assert result["scores"]["model"]["RMSE"]["value"] < baseline


def test_the_score_is_that_of_the_saved_model_on_the_test_file(mercer, table, mixed, tmp_path):
    mixed[::3].write_csv(tmp_path / "test.csv")
    mixed.filter(pl.int_range(pl.len()) % 3 != 0).write_csv(tmp_path / "learn.csv")
    words = ("learn.csv", "-t", "risk", "--ignore", "cost", "--test", "test.csv")
    result = fitted(mercer, *words, "--save", "m.mercer", "--no-report")
    test = load_file(tmp_path / "test.csv", target="risk")
    accuracy = np.mean(library.load("m.mercer").predict(test.X) == test.y)
    assert result["scores"]["model"]["accuracy"]["value"] == pytest.approx(accuracy)
    evaluated = json.loads(mercer("evaluate", "m.mercer", "test.csv", "--json").out)
    assert evaluated["scores"]["accuracy"] == pytest.approx(accuracy)


def test_what_the_same_result_needs_is_kept(mercer, table, mixed, tmp_path):
    words = (table, "-t", "cost", "--model", "linear", "--seed", "3", "--save", "m.mercer")
    needed = fitted(mercer, *words, "--report", "r.html")["repeat"]
    wanted = hashlib.sha256(table.read_bytes()).hexdigest()
    assert needed == {
        "SHA-256 of people.csv": wanted,
        "seed": "3",
        "mercer": version("mercer"),
    }
    assert wanted in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert wanted in mercer("info", "m.mercer").out


@pytest.mark.parametrize("model", ["svm", "logistic", "bayes", "boost", "knn", "ridge"])
def test_every_classifier_by_name(mercer, table, model):
    words = (table, "-t", "risk", "--ignore", "cost", "--model", model, "--no-report")
    result = fitted(mercer, *words)
    assert result["model"] == model
    assert library.load("people.mercer").predict(load_file(table).X).shape == (240,)


@pytest.mark.parametrize("model", ["ridge", "svm", "linear", "lasso", "knn"])
def test_every_regressor_by_name(mercer, table, model):
    result = fitted(mercer, table, "-t", "cost", "--model", model, "--no-report")
    assert result["model"] == model
    assert np.isfinite(result["scores"]["model"]["R²"]["value"])


def test_a_seed_repeats_a_run(mercer, table):
    words = (
        table,
        "-t",
        "risk",
        "--ignore",
        "cost",
        "--model",
        "bayes",
        "--no-save",
        "--no-report",
    )
    first, second, other = (fitted(mercer, *words, "--seed", s) for s in (3, 3, 4))
    assert first["parameters"] == second["parameters"]
    assert first["scores"] == second["scores"]
    assert first["scores"] != other["scores"]


def test_a_kernel_by_expression(mercer, table):
    words = (table, "-t", "risk", "--model", "svm", "--kernel", "0.5*rbf + linear", "--no-report")
    fitted(mercer, *words)
    assert repr(library.load("people.mercer")[-1].kernel_).startswith("0.5 * RBF")


def test_people_read_a_table(mercer, table):
    words = (table, "-t", "risk", "--ignore", "cost", "--model", "svm")
    ended = mercer("fit", *words, "--time-limit", "20s")
    assert ended.code == 0
    for word in ("240 rows", "high", "held out", "accuracy", "linear", "optimum", "mercer"):
        assert word in ended.out
    assert mercer("fit", table, "-t", "risk", "--model", "svm", "--quiet") == (0, "", "")


def test_what_was_done_to_the_data_is_said(mercer, table):
    ended = mercer("fit", table, "-t", "risk", "--model", "logistic", "--no-save")
    page = (table.parent / "people.report.html").read_text(encoding="utf-8")
    assert "missing values in &#x27;age&#x27;" in page or "missing values in 'age'" in page
    assert "id" in ended.out  # left out: a different text in every row


def test_the_seconds_that_were_left_are_no_part_of_a_model(mercer, table):
    words = ("-t", "risk", "--model", "logistic", "--effort", "quick", "--time-limit", "5m")
    assert mercer("fit", table, *words).code == 0
    fitted = innermost(library.load(table.parent / "people.mercer"))
    assert fitted.get_params(deep=False)["time_limit"] is None
    page = (table.parent / "people.report.html").read_text(encoding="utf-8")
    assert "The model is LogisticRegression(lam=" in page
    assert "time_limit=" not in page


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ((), 2, "which column is to be predicted"),
        (("-t", "rsk"), 3, "did you mean 'risk'"),
        (("-t", "risk", "--model", "svn"), 2, "did you mean 'svm'"),
        (("-t", "risk", "--model", "lasso"), 2, "not for --task classify"),
        (("-t", "risk", "--task", "sort"), 2, "--task"),
        (("-t", "risk", "--task", "regress"), 3, "needs numbers"),
        (("-t", "risk", "--kernel", "rfb"), 2, "did you mean 'rbf'"),
        (("-t", "risk", "--time-limit", "soon"), 2, "is not a time"),
        (("-t", "risk", "--memory", "1KB"), 2, "give 1MB or more"),
        (("-t", "risk", "--memory", "much"), 2, "is no amount of memory"),
        (("-t", "q"), 3, "it has 'id'"),
        (("-t", "risk", "--ignore", "agee"), 2, "there is no 'agee'; did you mean 'age'?"),
        (("-t", "risk", "--ignore", "nope"), 2, "did you mean 'noise'? (there are id, age, city,"),
        (("-t", "risk", "--ignore", "zzz"), 2, "there is no 'zzz'; there are id, age, city,"),
        (("-t", "risk", "--save", "no/where/m.mercer"), 2, "does not exist"),
        (("-t", "risk", "--test", "nothing.csv"), 3, "there is no file"),
        (("-t", "id"), 3, "240 different values in 240 rows"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(mercer, table, words, code, message):
    ended = mercer("fit", table, *words)
    assert ended.code == code
    assert message in ended.err
    assert len(ended.err.strip().splitlines()) == 1
    assert not list(table.parent.glob("*.mercer"))
    assert not list(table.parent.glob("*.html"))


def test_a_file_that_is_not_there_is_said_before_anything_is_compiled(mercer, table, monkeypatch):
    prepared = []
    monkeypatch.setattr(fit_command, "prepare", lambda **_: prepared.append(True))
    for words in (("poeple.csv", "-t", "y"), (table, "-t", "risk", "--test", "no.csv")):
        assert mercer("fit", *words).code == 3
    assert "did you mean 'people.csv'" in mercer("fit", "poeple.parquet", "-t", "y").err
    assert "its folder holds 'people.csv'" in mercer("fit", "birds.csv", "-t", "y").err
    assert prepared == []


def test_a_test_file_with_a_new_class_is_refused(mercer, table, mixed, tmp_path):
    mixed.with_columns(risk=pl.lit("unheard")).write_csv(tmp_path / "odd.csv")
    ended = mercer("fit", table, "-t", "risk", "--test", tmp_path / "odd.csv")
    assert ended.code == 3


def test_a_problem_on_whole_numbers_says_that_they_are_classes(mercer, mixed, tmp_path):
    mixed.with_columns(grade=pl.Series(np.arange(240) % 3)).write_csv(tmp_path / "g.csv")
    ended = mercer("fit", tmp_path / "g.csv", "-t", "grade", "--model", "bayes", "--no-report")
    assert ended.code == 0
    assert "taken as classes" in ended.err
