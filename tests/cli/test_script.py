"""The Python that repeats a fit: it runs as it is, and predicts the same to the last bit."""

from __future__ import annotations

import runpy
from dataclasses import replace

import numpy as np
import pytest

pl = pytest.importorskip("polars")

import mercer as library  # noqa: E402
from mercer.cli.recipes import EFFORTS, TableSize  # noqa: E402
from mercer.cli.script import Imports  # noqa: E402
from mercer.kernels import RBF, Linear  # noqa: E402


def repeated(mercer, *words):
    """Fit with a script; return what running it leaves, and the model that was saved."""
    ended = mercer("fit", *words, "--save", "m.mercer", "--no-report", "--script", "again.py")
    assert ended.code == 0, ended.err
    assert "again.py" in ended.out
    return runpy.run_path("again.py"), library.load("m.mercer")


def same(left, model):
    predicted = left["model"].predict(left["X_test"])
    np.testing.assert_array_equal(predicted, model.predict(left["X_test"]))
    if hasattr(model, "predict_proba"):
        P = left["model"].predict_proba(left["X_test"])
        np.testing.assert_array_equal(P, model.predict_proba(left["X_test"]))
    return predicted


@pytest.mark.parametrize(
    "words",
    [
        ("-t", "risk", "--model", "svm", "--ignore", "cost"),
        ("-t", "risk", "--model", "bayes", "--seed", "5", "--test-size", "0.4"),
        ("-t", "cost", "--model", "ridge", "--kernel", "0.5*rbf + linear"),
        ("-t", "cost", "--model", "knn", "--ignore", "id", "--ignore", "risk"),
        ("-t", "risk", "--model", "bayes", "--threshold", "0.3", "--positive", "low"),
        ("-t", "cost", "--model", "linear", "--target-transform", "log"),
    ],
)
def test_the_script_repeats_the_fit(mercer, table, words):
    left, model = repeated(mercer, table, *words)
    assert len(same(left, model)) == len(left["y_test"])
    assert len(left["y_train"]) + len(left["y_test"]) == 240
    assert "train_test_split" in left


def test_rows_without_a_target_and_a_file_of_its_own_for_the_test(mercer, mixed, tmp_path):
    gaps = pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise("risk").alias("risk")
    mixed.with_columns(gaps)[:180].write_csv(tmp_path / "learn.csv")
    mixed.with_columns(gaps)[180:].write_csv(tmp_path / "test.csv")
    words = ("learn.csv", "-t", "risk", "--test", "test.csv", "--model", "logistic")
    left, model = repeated(mercer, *words)
    same(left, model)
    assert len(left["y_train"]) == sum(i % 7 > 0 for i in range(180))
    assert len(left["y_test"]) == sum(i % 7 > 0 for i in range(180, 240))


def test_numbers_as_they_are_written_and_kinds_that_were_asked_for(mercer, mixed, tmp_path):
    costs = [f"{cost:.2f} €".replace(".", ",") for cost in mixed["cost"]]
    frame = mixed.drop("risk").with_columns(cost=pl.Series(costs), code=pl.int_range(pl.len()) % 5)
    frame.write_csv(tmp_path / "w.csv", separator=";")
    words = ("w.csv", "-t", "cost", "--model", "linear", "--sep", ";", "--kind", "code=category")
    left, model = repeated(mercer, *words)
    same(left, model)
    np.testing.assert_allclose(np.sort(np.r_[left["y_train"], left["y_test"]]), np.sort(
        mixed["cost"].round(2).to_numpy()))  # fmt: skip


@pytest.mark.parametrize("target", ["risk", "cost"])
def test_a_model_of_some_rows(mercer, table, target, monkeypatch):
    sizes = dict.fromkeys(EFFORTS["quick"].sizes, TableSize((60, 80), 101))
    monkeypatch.setitem(EFFORTS, "quick", replace(EFFORTS["quick"], first_rows=60, sizes=sizes))
    left, model = repeated(mercer, table, "-t", target, "--model", "knn", "--effort", "quick")
    assert len(left["rows"]) < len(left["y_train"])
    same(left, model)


def test_values_are_written_to_the_last_bit():
    names = Imports()
    machine = library.SVC(1 / 3 * RBF(gamma=0.1) + Linear(), C=np.float64(1 / 7), time_limit=3.0)
    text = names.written(machine)
    space = {}
    exec("\n".join([*names.lines(), f"made = {text}"]), space)
    assert repr(space["made"].kernel) == repr(machine.kernel)
    assert space["made"].C == machine.C
    assert space["made"].time_limit is None


@pytest.mark.parametrize(
    "words",
    [("--group", "city"), ("--time", "age"), ("--ignore", "id", "--test-size", "0.05")],
)
def test_any_split_can_be_repeated(mercer, table, mixed, tmp_path, words):
    mixed.drop_nulls().write_csv(tmp_path / "whole.csv")
    left, model = repeated(mercer, "whole.csv", "-t", "cost", "--model", "linear", *words)
    same(left, model)
