"""Tables that are learned in passes: folders, patterns, and files larger than the memory."""

from __future__ import annotations

import json

import numpy as np
import pytest

pl = pytest.importorskip("polars")

import mercer as library  # noqa: E402
from mercer.io import inspect  # noqa: E402


def table(n=3_000, seed=0):
    rng = np.random.default_rng(seed)
    X, city = rng.normal(size=(n, 3)), rng.choice(["Bonn", "Ulm"], n)
    y = np.sin(2 * X[:, 0]) + X[:, 1] + (city == "Ulm") + 0.1 * rng.normal(size=n)
    age = [None if i % 31 == 0 else float(v) for i, v in enumerate(X[:, 2])]
    return pl.DataFrame(
        {"a": X[:, 0], "b": X[:, 1], "age": age, "city": city, "y": y, "high": y > 0.5}
    )


@pytest.fixture
def parts(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    whole = table()
    for i in range(3):
        whole[1_000 * i : 1_000 * (i + 1)].write_parquet(folder / f"{i}.parquet")
    return folder


def fitted(mercer, *words):
    ended = mercer("fit", *words, "--memory", "40MB", "--json", "--time-limit", "60s")
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


@pytest.mark.parametrize("data", [pytest.param("parts", marks=pytest.mark.long), "parts/*.parquet"])
def test_a_folder_or_a_pattern_of_files(mercer, parts, tmp_path, data):
    result = fitted(mercer, data, "-t", "y", "--ignore", "high", "--no-report")
    assert result["route"] in ("normal", "cg")
    assert result["task"] == "regress"
    assert result["learned_rows"] + result["test_rows"] == 3_000
    assert result["scores"]["model"]["R²"]["value"] > 0.9
    assert result["proof"]["ok"]
    new = table(200, seed=1)
    model = library.load(tmp_path / "parts.mercer")
    found = model.predict(new)
    assert 1 - np.mean((found - new["y"].to_numpy()) ** 2) / np.var(new["y"].to_numpy()) > 0.9
    assert inspect(tmp_path / "parts.mercer")["about"]["columns"] == ["a", "b", "age", "city"]


def test_a_leak_is_said_first_and_stops_where_that_was_asked_for(mercer, parts, tmp_path):
    words = ("fit", "parts/*.parquet", "-t", "y", "--memory", "40MB", "--no-report")
    whole = table().with_columns(paid=pl.col("y") * 1.17 + 2.0).drop("high")
    for i in range(3):
        whole[1_000 * i : 1_000 * (i + 1)].write_parquet(parts / f"{i}.parquet")
    stopped = mercer(*words, "--strict")
    assert stopped.code == 5
    assert "gives the target away: the column 'paid'" in stopped.err
    ended = mercer(*words)
    assert ended.code == 0, ended.err
    said = " ".join(ended.out.split())
    assert said.index("gives the target away") < said.index("tuned")
    assert "not to be relied on because of a leak" in said
    assert inspect(tmp_path / "parts.mercer")["about"]["findings"][0]["columns"] == ["paid"]
    unknown = mercer(*words, "--ignore", "payed")
    assert unknown.code == 2
    assert "did you mean 'paid'" in unknown.err


def test_a_file_larger_than_the_memory_with_classes_and_a_page(mercer, tmp_path):
    table().write_csv(tmp_path / "big.csv")
    ended = mercer("fit", "big.csv", "-t", "high", "--ignore", "y", "--memory", "1MB", "--json")
    assert ended.code == 0, ended.err
    result = json.loads(ended.out)
    assert result["task"] == "classify"
    assert result["scores"]["model"]["accuracy"]["value"] > 0.85
    assert "big.csv" in (tmp_path / "big.report.html").read_text(encoding="utf-8")


def test_predictions_of_all_files_in_their_order(mercer, parts, tmp_path):
    fitted(mercer, "parts", "-t", "y", "--ignore", "high", "--no-report")
    assert mercer("predict", "parts.mercer", "parts", "--out", "all.csv").code == 0
    assert mercer("predict", "parts.mercer", "parts/[01].parquet", "--out", "two.csv").code == 0
    found, two = pl.read_csv("all.csv")["prediction"], pl.read_csv("two.csv")["prediction"]
    model = library.load(tmp_path / "parts.mercer")
    np.testing.assert_allclose(found, model.predict(table()), rtol=1e-9)
    np.testing.assert_array_equal(two, found[:2_000])


@pytest.mark.long
def test_it_goes_on_from_a_checkpoint(mercer, parts, tmp_path):
    words = ("parts", "-t", "y", "--ignore", "high", "--no-report", "--checkpoint", "kept")
    first = fitted(mercer, *words)
    times = {p: p.stat().st_mtime_ns for p in (tmp_path / "kept").rglob("*.npz")}
    lost = sorted(times)[-1]
    lost.unlink()
    again = fitted(mercer, *words)
    assert again["parameters"] == first["parameters"]
    assert again["scores"]["model"] == first["scores"]["model"]
    assert {p: p.stat().st_mtime_ns for p in times if p != lost} == {
        p: t for p, t in times.items() if p != lost
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("parts",), "which column is to be predicted"),
        (("parts", "-t", "z"), "has no column 'z'"),
        (("parts", "-t", "y", "--group", "city"), "--group: a table that is learned in passes"),
        (("parts", "-t", "y", "--model", "svm"), "--model: a table that is learned in passes"),
        (("parts", "-t", "y", "--sep", ";"), "--sep: a table that is learned in passes"),
        (("parts", "-t", "y", "--metric", "mae"), "--metric: a table that is learned in passes"),
        (("none/*.parquet", "-t", "y"), "no file of rows"),
    ],
)
def test_what_passes_cannot_do_is_said(mercer, parts, words, said):
    ended = mercer("fit", *words)
    assert ended.code != 0
    assert said in ended.err


def test_a_file_without_the_column_is_named(mercer, parts):
    table(50).drop("age").write_parquet(parts / "9.parquet")
    ended = mercer("fit", "parts", "-t", "y")
    assert "9.parquet' has no column 'age'" in ended.err
