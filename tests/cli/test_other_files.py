"""``predict`` and ``evaluate`` on files that are written otherwise than the one of the fit."""

from __future__ import annotations

import json

import numpy as np
import pytest

pl = pytest.importorskip("polars")

from mercer import load  # noqa: E402
from mercer.datasets import load_file, write_table  # noqa: E402

QUICK = ("--model", "linear", "--effort", "quick", "--no-report", "-q")


def comma(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}".replace(".", ",")


OTHERS = {
    "order.csv": lambda frame: frame.select(reversed(frame.columns)).write_csv().encode(),
    "semicolon.csv": lambda frame: frame.write_csv(separator=";").encode(),
    "tab.txt": lambda frame: frame.write_csv(separator="\t").encode(),
    "latin1.csv": lambda frame: frame.write_csv().encode("latin-1"),
    "utf16.csv": lambda frame: frame.write_csv().encode("utf-16"),
    "bom.csv": lambda frame: frame.write_csv().encode("utf-8-sig"),
    "comments.csv": lambda frame: b"# later\n" + frame.write_csv().encode(),
    "list.json": lambda frame: json.dumps(frame.to_dicts()).encode(),
    "comma.csv": lambda frame: (
        frame.with_columns(
            age=pl.Series([comma(v) for v in frame["age"]]),
            noise=pl.Series([comma(v) for v in frame["noise"]]),
        )
        .write_csv(separator=";")
        .encode()
    ),
    "extra.csv": lambda frame: frame.with_columns(more=pl.lit("x")).write_csv().encode(),
}


@pytest.fixture
def answers(mercer, model, mixed, tmp_path):
    """What the model says to its own table, which has six decimals."""
    whole = mixed.with_columns(pl.col("age", "noise").round(6))
    write_table(whole, tmp_path / "own.csv")
    return whole, mercer("predict", model, tmp_path / "own.csv").out


@pytest.mark.parametrize("name", OTHERS)
def test_the_same_rows_in_another_file(mercer, model, answers, tmp_path, name):
    whole, wanted = answers
    (tmp_path / name).write_bytes(OTHERS[name](whole))
    ended = mercer("predict", model, tmp_path / name)
    assert ended.code == 0, ended.err
    assert ended.out == wanted
    assert mercer("evaluate", model, tmp_path / name, "--json").code == 0


def test_one_row_and_a_new_category(mercer, model, tmp_path):
    (tmp_path / "one.csv").write_text("cost,noise,city,age\n9,0.5,Atlantis,33\n", encoding="utf-8")
    ended = mercer("predict", model, tmp_path / "one.csv")
    assert ended.code == 0, ended.err
    assert len(ended.out.splitlines()) == 2


@pytest.mark.parametrize("command", ["predict", "evaluate"])
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", b"", "is empty"),
        ("header.csv", b"age,city,noise,risk\n", "no rows"),
        ("binary.csv", bytes(range(256)) * 20, "not a text file"),
        ("lacking.csv", b"age,noise,risk\n1,2,high\n", "'city'"),
    ],
)
def test_files_that_cannot_be_used(mercer, model, tmp_path, command, name, content, message):
    (tmp_path / name).write_bytes(content)
    ended = mercer(command, model, tmp_path / name)
    assert ended.code == 3
    assert message in ended.err
    assert len(ended.err.strip().splitlines()) == 1


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize("out", [(), ("--out", "a.csv"), ("--out", "a.parquet")])
def test_a_table_without_rows(mercer, model, mixed, tmp_path, ending, out):
    path = write_table(mixed.clear(), tmp_path / f"none.{ending}")
    ended = mercer("predict", model, path, *out)
    assert ended.code == 3
    assert "no rows" in ended.err
    assert not (tmp_path / "a.csv").exists()


# ---------------------------------------------------------------- what a model remembers
def german(value: float) -> str:
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


@pytest.fixture
def houses(tmp_path):
    rng = np.random.default_rng(0)
    size = rng.uniform(500, 3000, 80)
    rows = [
        f"{german(s)};{z};{german(1000 * s)} €"
        for s, z in zip(size, ["007", "7"] * 40, strict=True)
    ]
    (tmp_path / "h.csv").write_text("\n".join(["Größe;zip;Preis", *rows]) + "\n", encoding="cp1252")
    return tmp_path / "h.csv"


def test_single_rows_are_read_as_the_whole_table_was(mercer, houses, tmp_path):
    ended = mercer(
        "fit", houses, "-t", "Preis", "--kind", "zip=category", *QUICK, "--save", "h.mercer"
    )
    assert ended.code == 0, ended.err
    whole = mercer("predict", "h.mercer", houses)
    lines = houses.read_text(encoding="cp1252").splitlines()
    (tmp_path / "one.csv").write_text("\n".join([lines[0], lines[1]]) + "\n", encoding="utf-8")
    assert mercer("predict", "h.mercer", "one.csv").out.splitlines() == whole.out.splitlines()[:2]
    # of 1.234 alone nobody could tell that it is more than a thousand
    (tmp_path / "unsure.csv").write_text("Größe;zip;Preis\n1.234;007;1.234.000\n", encoding="utf-8")
    (tmp_path / "clear.csv").write_text("Größe,zip\n1234.0,007\n", encoding="utf-8")
    unsure = mercer("predict", "h.mercer", "unsure.csv")
    assert unsure.out == mercer("predict", "h.mercer", "clear.csv").out
    np.testing.assert_allclose(float(unsure.out.splitlines()[1]), 1234e3, rtol=0.05)
    scores = json.loads(mercer("evaluate", "h.mercer", houses, "--json").out)["scores"]
    assert scores["r2"] > 0.99


def test_categories_are_kept_as_they_are_written(mercer, houses, tmp_path):
    words = ("--kind", "zip=category", *QUICK, "--save", "h.mercer")
    assert mercer("fit", houses, "-t", "Preis", *words).code == 0
    (state,) = [s for s in load(tmp_path / "h.mercer")[0].columns_ if s["name"] == "zip"]
    assert state["levels"] == ["007", "7"]


def test_options_are_remembered_and_can_be_changed(mercer, tmp_path):
    rng = np.random.default_rng(0)
    a = rng.normal(size=60)
    rows = [f"{v:.3f}:{'-999' if i % 9 == 0 else i}:{'uv'[int(v > 0)]}" for i, v in enumerate(a)]
    (tmp_path / "t.csv").write_text("\n".join(["a:b:y", *rows]) + "\n", encoding="utf-8")
    words = ("--sep", ":", "--na", "-999", "--effort", "quick", "--model", "bayes")
    assert mercer("fit", "t.csv", "-t", "y", *words, "--no-report").code == 0
    wanted = mercer("predict", "t.mercer", "t.csv")
    assert wanted.code == 0, wanted.err
    (tmp_path / "u.csv").write_text("\n".join(["a:b:y", *rows]).replace(":", ","), encoding="utf-8")
    assert mercer("predict", "t.mercer", "u.csv").out == wanted.out
    text = (tmp_path / "t.csv").read_text(encoding="utf-8").replace("-999", "none at all")
    (tmp_path / "v.csv").write_text(text, encoding="utf-8")
    assert mercer("predict", "t.mercer", "v.csv", "--na", "none at all").out == wanted.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--kind", "age"), "write e.g. --kind zip=category"),
        (("--kind", "age=numbr"), "did you mean 'number'"),
        (("--kind", "agge=number"), "did you mean 'age'"),
        (("--kind", "risk=number"), "is the target"),
        (("--decimal", ";"), "write . or ,"),
    ],
)
def test_options_that_cannot_be(mercer, table, words, message):
    ended = mercer("fit", table, "-t", "risk", *words)
    assert ended.code == 2
    assert message in ended.err


def test_a_separator_that_cannot_be(mercer, table):
    ended = mercer("fit", table, "-t", "risk", "--sep", ";;")
    assert ended.code == 3
    assert "sep must be one character" in ended.err


def test_what_is_kept_is_what_the_file_says(mercer, model, table):
    out = mercer("predict", model, table, "--keep", "age", "--out", "a.parquet")
    assert out.code == 0, out.err
    assert load_file(table.parent / "a.parquet").X.columns == ["age", "prediction"]
