"""``mercer fit`` with a kernel for each kind of column: texts, strings and series."""

from __future__ import annotations

import json

import numpy as np
import pytest

pl = pytest.importorskip("polars")

import mercer as library  # noqa: E402
from mercer.cli import routes  # noqa: E402
from mercer.cli.by_kind import SUITING, sums  # noqa: E402
from mercer.kernels import RBF  # noqa: E402

QUICK = ("--effort", "quick", "--no-report")
GOOD, BAD = ["lovely", "fine", "great", "bright"], ["awful", "poor", "broken", "grim"]
FILLER = ["the", "table", "and", "a", "chair", "of", "wood", "came", "today", "by", "post"]


def reviews(n=80, seed=0):
    """Sentences in which one word of four tells the label."""
    rng = np.random.default_rng(seed)
    label = rng.permutation(np.arange(n) % 2)
    words = [[*rng.choice(FILLER, 7), rng.choice(GOOD if one else BAD)] for one in label]
    texts = [" ".join(rng.permutation(some)) for some in words]
    return pl.DataFrame({"text": texts, "label": np.where(label, "good", "bad")})


def curves(n=60, seed=0, least=20):
    """A bump that is early or late, of unequal lengths."""
    rng = np.random.default_rng(seed)
    label = rng.permutation(np.arange(n) % 2)
    series = []
    for late in label:
        steps = np.linspace(0, 1, int(rng.integers(least, least + 10)))
        middle = 0.7 if late else 0.3
        bump = np.exp(-(((steps - middle - rng.normal(0, 0.05)) / 0.1) ** 2))
        series.append((bump + rng.normal(0, 0.1, len(steps))).tolist())
    return pl.DataFrame({"curve": series, "label": np.where(label, "late", "early")})


def strings(n=60, seed=0):
    """Letters in which a motif is hidden at any place, or is not."""
    rng = np.random.default_rng(seed)
    label = rng.permutation(np.arange(n) % 2)
    found = []
    for has_it in label:
        text = "".join(rng.choice(list("acgt"), int(rng.integers(18, 24))))
        place = int(rng.integers(0, 12))
        found.append(text[:place] + "tataat" * bool(has_it) + text[place:])
    return pl.DataFrame({"dna": found, "label": np.where(label, "yes", "no")})


def fitted(mercer, path, *words, target="label"):
    ended = mercer("fit", path, "-t", target, *QUICK, "--json", "--save", "m.mercer", *words)
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def test_a_column_of_texts_is_compared_by_its_words(mercer, tmp_path):
    table = reviews()
    table.write_csv(tmp_path / "reviews.csv")
    ended = mercer("fit", "reviews.csv", "-t", "label", *QUICK)
    assert ended.code == 0, ended.err
    assert "one for text 'text', to be compared with encoded columns" in ended.out
    assert "on the same folds" in ended.out
    assert " taken" in ended.out
    about = fitted(mercer, "reviews.csv", "--model", "svm")
    new = reviews(seed=1)
    model = library.load("m.mercer")
    assert about["cross_validated"] > 0.9
    assert np.mean(model.predict(new.select("text")) == new["label"].to_numpy()) > 0.9


@pytest.mark.parametrize(
    "file", ["c.parquet", *(pytest.param(f, marks=pytest.mark.long) for f in ("c.jsonl", "c.csv"))]
)
def test_a_column_of_lists_is_one_of_series(mercer, tmp_path, file):
    table = curves()
    if file.endswith("csv"):
        lists = pl.Series([json.dumps(one) for one in table["curve"].to_list()])
        table.with_columns(curve=lists).write_csv(tmp_path / file)
    else:
        library.datasets.write_table(table, tmp_path / file)
    about = fitted(mercer, file, "--model", "svm")
    assert about["scores"]["model"]["accuracy"]["value"] > 0.9
    assert mercer("evaluate", "m.mercer", file).code == 0
    ended = mercer("predict", "m.mercer", file, "--out", "p.csv")
    assert ended.code == 0, ended.err
    assert len(pl.read_csv("p.csv")) == len(table)


def test_time_warping_is_compared_too_and_what_it_is_not_is_said(mercer, tmp_path):
    series = [np.array(one)[:, None] for one in curves()["curve"].to_list()]
    kernels = list(SUITING["series"](np.array([*series, None], dtype=object)[:-1]))
    kinds = [kernel.definiteness for kernel in kernels]
    assert kinds == ["psd"] * 8 + ["indefinite"] * 8
    curves().write_parquet(tmp_path / "t.parquet")
    ended = mercer("fit", "t.parquet", "-t", "label", *QUICK, "--kernel", "dtw.on(curve)")
    assert ended.code == 0, ended.err
    assert "the kernel is not positive semidefinite" in ended.err


def test_a_column_of_strings_is_compared_by_its_pieces(mercer, tmp_path):
    strings().write_csv(tmp_path / "dna.csv")
    about = fitted(mercer, "dna.csv")
    assert about["columns"] == ["dna"]
    assert "on('dna')" in about["parameters"]["kernel"]
    assert about["scores"]["model"]["accuracy"]["value"] > 0.8


@pytest.mark.long
def test_several_kinds_are_added_up_where_each_tells_a_part(mercer, tmp_path):
    words, bumps = reviews(120), curves(120, seed=1)
    both = (words["label"] == "good").to_numpy().astype(int) + (bumps["label"] == "late").to_numpy()
    age = np.random.default_rng(0).normal(size=120)
    table = pl.DataFrame({"text": words["text"], "curve": bumps["curve"], "age": age, "sum": both})
    table.write_parquet(tmp_path / "t.parquet")
    about = fitted(mercer, "t.parquet", "--model", "svm", "--task", "regress", target="sum")
    model = library.load("m.mercer")
    assert {"text", "curve"} <= set(about["columns"])
    assert about["scores"]["model"]["R²"]["value"] > 0.5
    shown = model.predict(table.select(reversed(table.columns)))
    np.testing.assert_array_equal(shown, model.predict(table))


def test_the_same_command_gives_the_same_model(mercer, tmp_path):
    reviews(40).write_csv(tmp_path / "r.csv")
    first, again = (fitted(mercer, "r.csv", "--model", "svm") for _ in range(2))
    same = ("parameters", "cross_validated", "scores", "proof")
    assert {k: first[k] for k in same} == {k: again[k] for k in same}


def test_the_program_repeats_the_model(mercer, tmp_path):
    reviews(60).write_csv(tmp_path / "r.csv")
    fitted(mercer, "r.csv", "--model", "svm", "--script", "again.py")
    program: dict = {}
    exec((tmp_path / "again.py").read_text(encoding="utf-8"), program)
    texts = reviews(30, seed=5).select("text")
    model = library.load("m.mercer")
    np.testing.assert_array_equal(program["model"].predict_proba(texts), model.predict_proba(texts))


@pytest.mark.parametrize("make", [reviews, curves, strings])
def test_few_rows_are_enough(mercer, tmp_path, make):
    make(6).write_parquet(tmp_path / "t.parquet")
    assert fitted(mercer, "t.parquet", "--model", "svm")["learned_rows"] == 6


def test_a_given_kernel_reads_series_texts_and_numbers(mercer, tmp_path):
    table = curves().with_columns(
        remark=pl.Series([None, *["a fine curve"] * 59]), age=pl.Series(np.arange(60.0))
    )
    table.write_parquet(tmp_path / "t.parquet")
    kernel = "global_alignment.normalized().on(curve) + rbf.on(age) + words.on(remark, fill='')"
    about = fitted(mercer, "t.parquet", "--kernel", kernel)
    assert about["scores"]["model"]["accuracy"]["value"] > 0.8
    ended = mercer("fit", "t.parquet", "-t", "label", *QUICK, "--kernel", "words.on(remark)")
    assert ended.code == 2
    assert "column 'remark' has 1 missing cell, and" in ended.err
    assert ended.err.count("column 'remark'") == 1
    ended = mercer("fit", "t.parquet", "-t", "label", *QUICK, "--kernel", "dtw.on(remark)")
    assert ended.code == 2
    assert "remark" in ended.err or "series are a list" in ended.err


def test_a_kind_can_be_told_and_one_that_is_none_is_said(mercer, tmp_path):
    table = strings().with_columns(code=pl.Series([f"{i:03d}-x" for i in range(60)]))
    table.write_csv(tmp_path / "t.csv")
    assert "code" not in fitted(mercer, "t.csv", "--model", "svm")["parameters"]["kernel"]
    assert "code" in fitted(mercer, "t.csv", "--model", "svm", "--kind", "code=string")["columns"]
    ended = mercer("fit", "t.csv", "-t", "label", *QUICK, "--kind", "code=series")
    assert ended.code != 0
    assert "column 'code' holds no series" in ended.err


def test_new_rows_without_the_column_are_said(mercer, tmp_path):
    reviews(40).write_csv(tmp_path / "r.csv")
    fitted(mercer, "r.csv", "--model", "svm")
    pl.DataFrame({"other": [1.0, 2.0]}).write_csv(tmp_path / "new.csv")
    ended = mercer("predict", "m.mercer", "new.csv")
    assert ended.code != 0
    assert "lacks the column 'text'" in ended.err


def test_a_time_limit_that_is_short_leaves_a_model(mercer, tmp_path):
    reviews(200).write_csv(tmp_path / "r.csv")
    ended = mercer("fit", "r.csv", "-t", "label", "--no-report", "--time-limit", "6s")
    assert ended.code == 0, ended.err


def test_ctrl_c_while_a_part_is_searched_leaves_its_best_kernel(mercer, tmp_path, monkeypatch):
    table = reviews(60).with_columns(age=pl.Series(np.random.default_rng(0).normal(size=60)))
    table.write_csv(tmp_path / "r.csv")
    fit = routes.KernelSearchCV.fit

    def interrupted(self, *given, **more):
        fit(self, *given, **more)
        self.status_ = "interrupted"
        return self

    monkeypatch.setattr(routes.KernelSearchCV, "fit", interrupted)
    ended = mercer("fit", "r.csv", "-t", "label", *QUICK, "--model", "svm", "--save", "m.mercer")
    assert ended.code == 130
    assert library.load("m.mercer").predict(table.drop("label")).shape == (60,)


@pytest.mark.parametrize(("parts", "count"), [(1, 1), (2, 5), (3, 10)])
def test_sums_have_unit_diagonals(parts, count):
    X = np.random.default_rng(0).normal(size=(4, 3))
    found = sums([RBF(float(g + 1)) for g in range(parts)])
    assert len(found) == count
    for kernel in found:
        np.testing.assert_allclose(kernel(X).diagonal(), 1.0, rtol=2e-3)
