"""The other commands."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

pl = pytest.importorskip("polars")

import mercer as library  # noqa: E402
from mercer import kernels  # noqa: E402
from mercer.cli.errors import CommandError  # noqa: E402
from mercer.cli.options import chosen  # noqa: E402
from mercer.cli.predict import BLOCK  # noqa: E402
from mercer.datasets import load_file  # noqa: E402
from mercer.kernels.names import NAMES  # noqa: E402


# ---------------------------------------------------------------- predict
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow", "csv.gz"])
def test_predictions_are_those_of_the_model(mercer, model, table, mixed, ending):
    out = table.parent / f"answers.{ending}"
    assert mercer("predict", model, table, "--out", out, "--proba", "--keep", "id").code == 0
    answers = load_file(out).X
    loaded = library.load(model)
    assert answers["id"].to_list() == mixed["id"].to_list()
    assert answers["prediction"].to_list() == loaded.predict(mixed).tolist()
    P = answers.select("p_high", "p_low").to_numpy()
    np.testing.assert_allclose(P, loaded.predict_proba(mixed), rtol=1e-12)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)


def test_blocks_do_not_change_predictions(mercer, model, table, mixed, tmp_path):
    first, *answers = mercer("predict", model, table).out.splitlines()
    copies = BLOCK // len(mixed) + 1  # more rows than are read at once
    pl.concat([mixed] * copies).write_csv(tmp_path / "many.csv")
    found = mercer("predict", model, tmp_path / "many.csv").out.splitlines()
    assert found == [first, *answers * copies]
    assert len(answers) == 240


def test_rows_that_were_never_seen(mercer, model, tmp_path):
    text = "age,city,noise,extra,cost\n33,Rom,0.1,9,1\n,,,,\n51,Ulm,x,2,\n"
    (tmp_path / "new.csv").write_text(text, encoding="utf-8")
    ended = mercer("predict", model, tmp_path / "new.csv", "--out", "a.csv")
    assert ended.code == 0, ended.err
    assert "noise" in ended.err  # a text where a number was learned
    assert set(load_file(tmp_path / "a.csv").X["prediction"]) <= {"high", "low"}


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("predict", "MODEL", "few.csv"), 3, "age"),
        (("predict", "MODEL", "none.csv"), 3, "there is no file"),
        (("predict", "people.csv", "people.csv"), 4, "not a model file"),
        (("predict", "none.mercer", "people.csv"), 4, "none.mercer"),
        (("predict", "MODEL", "people.csv", "--keep", "idd"), 2, "did you mean 'id'"),
        (("predict", "MODEL", "people.csv", "--out", "a.xyz"), 2, "a.xyz"),
        (("predict", "MODEL", "people.csv", "--json"), 2, "--out"),
        (("evaluate", "MODEL", "few.csv"), 3, "risk"),
        (("info", "people.csv"), 4, "not a model file"),
        (("embed", "people.csv", "--method", "tsne"), 2, "kernel-pca"),
        (("embed", "people.csv", "--method", "lda"), 2, "--color"),
        (("embed", "people.csv", "--color", "rsk"), 3, "did you mean 'risk'"),
        (("check-kernel", "rfb"), 2, "did you mean 'rbf'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(mercer, model, tmp_path, words, code, message):
    (tmp_path / "few.csv").write_text("noise\n1.5\n", encoding="utf-8")
    ended = mercer(*(str(model) if word == "MODEL" else word for word in words))
    assert ended.code == code
    assert message in ended.err
    assert len(ended.err.strip().splitlines()) == 1
    assert not list(tmp_path.glob("*.part"))


# ---------------------------------------------------------------- look
def test_info(mercer, model):
    text = mercer("info", model).out
    for word in ("risk", "classify", "high, low", "accuracy", "optimum", "age, city, noise"):
        assert word in text
    assert json.loads(mercer("info", model, "--json").out)["about"]["target"] == "risk"


def test_evaluate_writes_a_report(mercer, model, table):
    ended = mercer("evaluate", model, table, "--report", "e.html")
    assert ended.code == 0
    assert "accuracy" in ended.out
    assert "<html" in (table.parent / "e.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("method", ["pca", "kernel-pca", "lda", "mds", "isomap", "lle", "spectral"])
def test_embeddings(mercer, table, method):
    words = ("--method", method, "--color", "risk", "--ignore", "id", "--out", "points.csv")
    ended = mercer("embed", table, *words, "--json")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["rows"] == 240
    points = load_file(table.parent / "points.csv").X
    assert points.columns == ["component1", "component2", "risk"]
    assert np.isfinite(points.select("component1", "component2").to_numpy()).all()
    assert "<html" in (table.parent / f"people.{method}.html").read_text(encoding="utf-8")


def test_kernels_are_listed(mercer):
    text = mercer("kernels").out
    assert "exp(−γ‖x − y‖²)" in text
    listed = json.loads(mercer("kernels", "--json").out)["kernels"]
    assert {k["definiteness"] for k in listed if k["name"] == "sigmoid"} == {
        "not positive semidefinite"
    }


def test_every_kernel_is_listed(mercer):
    listed = json.loads(mercer("kernels", "--json").out)["kernels"]
    named = {name for kernel in listed for name in kernel["name"].split(", ")}
    nodes = {"Sum", "Product", "Power", "Exp", "Normalized", "Constant", "On"}
    own = {"Kernel", "VectorKernel", "FromFunction", "FromFeatureMap", "PowerSeries", "RankOne"}
    for name in set(kernels.__all__) - nodes - own - {"as_kernel", "dtw_distance"}:
        known = {key for key, kind in NAMES.items() if kind is getattr(kernels, name)}
        assert (known | {f"({name})"}) & named, name


def test_a_kernel_that_is_none(mercer, table):
    assert mercer("check-kernel", "rbf + linear").code == 0
    assert mercer("check-kernel", "sigmoid(scale=3)").code == 1
    assert mercer("check-kernel", "rbf", table).code == 0


def test_the_demo_says_where_it_is_and_how_to_go_on(mercer, tmp_path):
    ended = mercer("demo")
    assert ended.code == 0
    folder = tmp_path / "mercer-demo"
    assert str(folder) in ended.out.replace("\n", "")
    made = {"penguins.csv", "penguins.mercer", "penguins.report.html"}
    assert {path.name for path in folder.iterdir()} == made
    again = ended.out.partition("again")[2].split()
    words = ["fit", "penguins.csv", "--target", "species", "--test-size", "0.3"]
    assert again[:2] == ["cd", "mercer-demo"]
    assert again[-6:] == words
    program = again[3:-6]
    told = subprocess.run([*program, "--version"], capture_output=True, text=True, check=True)
    assert library.__version__ in told.stdout


def test_the_demo_goes_where_it_is_told_to(mercer, tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.cli.demo.fit", lambda options, screen: 0)
    assert mercer("demo", "--folder", tmp_path / "a" / "b").code == 0
    assert (tmp_path / "a" / "b" / "penguins.csv").exists()
    assert not (tmp_path / "mercer-demo").exists()


# ---------------------------------------------------------------- the process
def run(*words, **kwargs):
    return subprocess.run(
        [sys.executable, "-m", "mercer", *words], capture_output=True, text=True, **kwargs
    )


def test_help_names_every_command_and_loads_no_numerical_library():
    code = (
        "import sys; sys.argv = ['mercer', '--help']\n"
        "from mercer.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print(sorted({'numpy', 'scipy', 'sklearn', 'numba', 'polars'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for command in ("fit", "predict", "evaluate", "embed", "info", "kernels", "check-kernel"):
        assert command in done.stdout
    assert done.stdout.strip().endswith("[]")


def test_the_version():
    assert library.__version__ in run("--version").stdout


def test_classes_that_spreadsheets_take_for_formulas(mercer, tmp_path):
    frame = pl.DataFrame({"a": [i / 40 for i in range(80)], "y": ["=cmd()", "x"] * 40})
    frame.write_csv("a.csv")
    assert mercer("fit", "a.csv", "-t", "y", "--model", "bayes", "-q", "--no-report").code == 0
    ended = mercer("predict", "a.mercer", "a.csv", "--out", "b.csv")
    assert "'=cmd()' begins as a formula does" in ended.err
    assert set(pl.read_csv("b.csv")["prediction"]) <= {"=cmd()", "x"}  # as they are
    assert "formula" not in mercer("predict", "a.mercer", "a.csv", "--out", "b.parquet").err


def test_a_kept_column_is_not_written_over(mercer, model, table):
    frame = pl.read_csv(table).with_columns(prediction=pl.lit("mine"))
    frame.write_csv("more.csv")
    ended = mercer("predict", model, "more.csv", "--keep", "prediction")
    assert ended.code == 2
    assert "--keep: 'prediction' is a column of the answers" in ended.err


def test_the_demo_does_not_write_over_a_table_of_that_name(mercer, tmp_path):
    (tmp_path / "penguins.csv").write_text("mine\n1\n")
    ended = mercer("demo", "--folder", tmp_path)
    assert ended.code == 2
    assert "name another folder" in ended.err
    assert (tmp_path / "penguins.csv").read_text() == "mine\n1\n"


def test_only_a_name_that_is_near_is_proposed():
    with pytest.raises(CommandError, match="there is no 'nope'; there are weight, aa"):
        chosen("--ignore", "nope", ["weight", "aa"])
    with pytest.raises(CommandError, match="did you mean 'weight'"):
        chosen("--ignore", "wieght", ["weight", "aa"])
    with pytest.raises(CommandError, match=r"c28, c29 and 70 more$"):
        chosen("--ignore", "nope", [f"c{i}" for i in range(100)])
