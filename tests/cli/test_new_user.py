"""What people bring and what they mistype: odd tables, odd names, odd options."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

pl = pytest.importorskip("polars")

import mercer as library  # noqa: E402
from mercer._words import duration  # noqa: E402
from mercer.datasets import load_file  # noqa: E402

QUICK = ("--model", "bayes", "--no-report", "--time-limit", "20s")


def numbers(n: int, **more) -> pl.DataFrame:
    X = np.random.default_rng(0).normal(size=(n, 2))
    return pl.DataFrame({"a": X[:, 0], "b": X[:, 1]} | more)


# ---------------------------------------------------------------- tables
def test_an_empty_column_does_no_harm(mercer, tmp_path):
    frame = numbers(60, y=["u", "v"] * 30).with_columns(empty=pl.lit(None, pl.String))
    frame.write_csv(tmp_path / "t.csv")
    ended = mercer("fit", "t.csv", "-t", "y", *QUICK)
    assert ended.code == 0, ended.err
    assert "'empty' left out" in ended.out
    assert "note" not in ended.err


def test_a_decimal_comma_is_read_and_said(mercer, tmp_path):
    text = "a;b;y\n" + "".join(f"{i},5;{i % 7};{'uv'[i % 2]}\n" for i in range(60))
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    ended = mercer("fit", "t.csv", "-t", "y", *QUICK)
    assert ended.code == 0, ended.err
    assert "2 numeric columns" in ended.out
    assert "'a' is written like '10,5': read as 10.5" in ended.out


def test_a_class_of_one_row_in_a_thousand_is_tuned_with(mercer, tmp_path):
    y = np.where(np.arange(3000) % 500 == 0, "rare", "common")
    numbers(3000, y=y).write_csv(tmp_path / "t.csv")
    ended = mercer("fit", "t.csv", "-t", "y", *QUICK, "--json")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["classes"] == ["common", "rare"]


def test_names_are_shown_as_they_are(mercer, tmp_path):
    name, label = "[bold]<script>alert(1)</script>", '[red]ä "q"'
    frame = numbers(80).rename({"a": name})
    frame = frame.with_columns(**{"t[/]": pl.Series([label, "L" * 200] * 40)})
    frame.write_csv(tmp_path / "my table.csv")
    ended = mercer("fit", "my table.csv", "-t", "t[/]", "--model", "bayes")
    assert ended.code == 0, ended.err
    assert "t[/]: 2 classes (" in ended.out
    assert label in ended.out
    assert "mercer predict 'my table.mercer' NEW_ROWS" in ended.out
    page = (tmp_path / "my table.report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert name in json.loads(mercer("info", "my table.mercer", "--json").out)["about"]["columns"]
    answers = mercer("predict", "my table.mercer", "my table.csv", "--keep", name).out
    assert set(pl.read_csv(answers.encode())["prediction"]) <= {label, "L" * 200}


# ---------------------------------------------------------------- --test FILE and evaluate
def test_classes_that_a_model_cannot_know_are_refused(mercer, tmp_path):
    """3 and 4 are no truth values, though a computer takes them for such."""
    rows = [f"{i},{'true' if i % 3 else 'false'}" for i in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["a,y", *rows]))
    assert mercer("fit", "t.csv", "-t", "y", "--model", "bayes", "-q", "--no-report").code == 0
    (tmp_path / "other.csv").write_text("\n".join(["a,y", *(f"{i},{3 + i % 2}" for i in range(9))]))
    ended = mercer("evaluate", "t.mercer", "other.csv")
    assert ended.code == 3
    assert "the class '3' is none of the model's: it knows 'False' and 'True'" in ended.err
    (tmp_path / "digits.csv").write_text("\n".join(["a,y", *(f"{i},{i % 2}" for i in range(9))]))
    assert mercer("evaluate", "t.mercer", "digits.csv").code == 0


def test_too_few_rows_to_learn_from_are_refused_in_words(mercer, tmp_path):
    rows = [f"{i},{'uv'[i % 3 == 0]}" for i in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["a,y", *rows]))
    ended = mercer("fit", "t.csv", "-t", "y", "--test-size", "0.9")
    assert ended.code == 3
    assert "4 rows to learn from are too few: two classes need 2 rows each" in ended.err


@pytest.mark.parametrize("n", [2, 3])
def test_two_or_three_rows_are_too_few(mercer, tmp_path, n):
    numbers(n).with_columns(y=pl.col("a")).write_csv(tmp_path / "t.csv")
    ended = mercer("fit", "t.csv", "-t", "y", *QUICK[2:])
    assert ended.code == 3
    assert f"{n} rows with a target are too few" in ended.err
    assert "MERCER_TRACEBACK" not in ended.err


def test_a_test_file_may_have_its_own_columns_and_one_class(mercer, table, mixed, tmp_path):
    high = mixed.filter(pl.col("risk") == "high").with_columns(extra=pl.lit(1))
    high.select(reversed(high.columns)).write_csv(tmp_path / "high.csv")
    ended = mercer("fit", table, "-t", "risk", *QUICK, "--test", "high.csv", "--json")
    assert ended.code == 0, ended.err
    accuracy = json.loads(ended.out)["scores"]["model"]["accuracy"]["value"]
    assert accuracy == pytest.approx(np.mean(library.load("people.mercer").predict(high) == "high"))


def test_a_test_file_that_lacks_a_column_is_refused_before_the_work(mercer, table, mixed, tmp_path):
    mixed.drop("age").write_csv(tmp_path / "less.csv")
    ended = mercer("fit", table, "-t", "risk", "--test", "less.csv")
    assert ended.code == 3
    assert "lacks the column 'age'" in ended.err
    assert "tune" not in ended.out


@pytest.mark.parametrize("task", ["one class", "one row", "a new class"])
def test_evaluate_takes_whatever_classes_there_are(mercer, model, mixed, tmp_path, task):
    rows = {
        "one class": mixed.filter(pl.col("risk") == "low"),
        "one row": mixed[:1],
        "a new class": mixed.with_columns(
            risk=pl.when(pl.col("noise") > 1).then(pl.lit("odd")).otherwise("risk")
        ),
    }[task]
    rows.write_csv(tmp_path / "judged.csv")
    ended = mercer("evaluate", model, "judged.csv", "--json")
    assert ended.code == 0, ended.err
    wanted = np.mean(library.load(model).predict(rows) == rows["risk"].to_numpy())
    assert json.loads(ended.out)["scores"]["accuracy"] == pytest.approx(wanted)
    told = mercer("evaluate", model, "judged.csv").err
    assert ("never seen (odd)" in told) == (task == "a new class")


def test_evaluate_says_when_the_model_knows_the_rows(mercer, table):
    assert mercer("fit", table, "-t", "cost", "--model", "linear", "--no-report").code == 0
    ended = mercer("evaluate", "people.mercer", table)
    assert "has learned from rows of this file" in ended.err
    assert "in units of cost" in ended.out


# ---------------------------------------------------------------- what is printed
def test_the_table_fits_a_terminal(mercer, table, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    words = ("-t", "cost", "--model", "lasso", "--no-save", "--no-report")
    out = mercer("fit", table, *words).out
    assert max(map(len, out.splitlines())) <= 80
    lines = [line for line in out.splitlines() if line.strip().startswith(("R²", "RMSE", "MAE"))]
    assert len(lines) == 3  # one line a score
    assert "RMSE, in cost" in lines[1]
    assert "not distinguishable from" in " ".join(out.split())
    assert "\x1b" not in out


def test_the_table_says_what_the_json_says(mercer, table):
    words = ("-t", "cost", "--model", "lasso", "--no-save", "--no-report", "--seed", "5")
    scores = json.loads(mercer("fit", table, *words, "--json").out)["scores"]
    line = next(x for x in mercer("fit", table, *words).out.splitlines() if "MAE" in x)
    shown = [
        float(word.replace("−", "-")) for word in line.split("cost")[1].replace("…", " ").split()
    ]
    own = scores["model"]["MAE"]
    wanted = [own["value"], own["low"], own["high"]]
    wanted += [
        scores[name]["MAE"]["value"] for name in ("the mean", "linear model", "boosted trees")
    ]
    assert shown == pytest.approx(wanted, abs=6e-3)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.44, "0.4 s"), (9.96, "10 s"), (100.0, "100 s"), (150.0, "2 min")]
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_info_says_what_the_model_is(mercer, model):
    text = mercer("info", model).out
    assert "svm: support vector machine, learned from 192 rows" in text
    assert "kernel__" not in text


# ---------------------------------------------------------------- embed
@pytest.mark.parametrize("method", ["isomap", "lle", "spectral"])
def test_few_points_have_fewer_neighbors(mercer, tmp_path, method):
    numbers(5).write_csv(tmp_path / "five.csv")
    ended = mercer("embed", "five.csv", "--method", method, "--out", "points.csv")
    assert ended.code == 0, ended.err
    assert "5 points" in ended.out
    assert np.isfinite(load_file(tmp_path / "points.csv").X.to_numpy()).all()


def test_many_points_without_a_colour(mercer, tmp_path):
    numbers(3_100).write_csv(tmp_path / "t.csv")
    ended = mercer("embed", "t.csv", "--method", "pca", "--out", "points.csv")
    assert ended.code == 0, ended.err
    assert "3,000 points" in ended.out
    assert load_file(tmp_path / "points.csv").X.shape == (3_000, 2)


# ---------------------------------------------------------------- words and places
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fit", "people.csv", "--modle", "svm"), "--model"),
        (("fit",), "DATA"),
        (("fitt",), "fit"),
        (("fit", "people.csv", "--seed", "-1"), "--seed"),
        (("fit", "people.csv", "--test-size", "0"), "--test-size"),
    ],
)
def test_a_slip_is_told_in_one_line(mercer, table, words, message):
    ended = mercer(*words)
    assert ended.code == 2
    assert ended.out == ""
    assert message in ended.err
    assert len(ended.err.strip().splitlines()) == 1


def test_no_words_show_the_help(mercer):
    ended = mercer()
    assert "check-kernel" in ended.out
    assert "mercer:" not in ended.err


@pytest.mark.parametrize("option", ["--save", "--report"])
def test_what_is_no_file_is_not_replaced(mercer, table, tmp_path, option):
    os.mkfifo(tmp_path / "pipe")
    ended = mercer("fit", table, "-t", "risk", option, "pipe")
    assert ended.code == 2
    assert f"{option}: 'pipe' is no ordinary file" in ended.err
    assert (tmp_path / "pipe").is_fifo()


def test_a_folder_that_may_not_be_written(mercer, table, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode, **named: mode != os.W_OK)
    ended = mercer("fit", table, "-t", "risk")
    assert ended.code == 2
    assert "no right to write" in ended.err


def test_an_error_leaves_nothing_on_stdout_for_machines(mercer, table):
    ended = mercer("fit", table, "-t", "rsk", "--json")
    assert (ended.code, ended.out) == (3, "")


@pytest.mark.parametrize(("unit", "advice"), [(1e300, "divide"), (1e-300, "multiply")])
def test_targets_whose_squares_are_no_numbers_are_refused(mercer, tmp_path, unit, advice):
    numbers(60).with_columns(y=unit * pl.col("a")).write_csv(tmp_path / "t.csv")
    ended = mercer("fit", "t.csv", "-t", "y", *QUICK)
    assert ended.code == 3
    assert f"{advice} it by a power of ten" in ended.err


def test_an_error_in_all_fits_is_told_in_one_line(mercer, tmp_path, monkeypatch):
    def fit(self, X, y, sample_weight=None):
        raise ValueError("these rows are not for me\nand more about it")

    monkeypatch.setattr(library.Ridge, "fit", fit)
    numbers(60).with_columns(y=pl.col("a")).write_csv(tmp_path / "t.csv")
    words = ("--model", "linear", "--effort", "quick", "--no-save", "--no-report", "-q")
    ended = mercer("fit", "t.csv", "-t", "y", *words)
    assert ended.code == 3
    assert "fits failed, the first with" in ended.err
    assert "Traceback" not in ended.err
    assert len(ended.err.splitlines()) == 1
