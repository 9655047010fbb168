"""``mercer fit`` on tables with a trap: what it says first, and how it splits."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

pl = pytest.importorskip("polars")

from mercer.cli.errors import CommandError  # noqa: E402
from mercer.cli.parts import SplitOptions, parted, with_order  # noqa: E402
from mercer.cli.problem import as_problem  # noqa: E402
from mercer.datasets import Data  # noqa: E402
from mercer.io import inspect  # noqa: E402
from tests.checks.tables import patients, plain, walk  # noqa: E402

QUICK = ("--model", "bayes", "--effort", "quick")
LINEAR = ("--model", "linear", "--effort", "quick")


def copies(n: int = 60, times: int = 10, seed: int = 0) -> pl.DataFrame:
    """Coin flips as labels, every row ten times: there is nothing to learn but the rows."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(rng.normal(size=(n, 3)), schema=["a", "b", "c"])
    return pl.concat([frame.with_columns(y=np.where(rng.integers(2, size=n), "u", "v"))] * times)


def problem_of(X: pl.DataFrame, y, task: str = "auto"):
    return as_problem(Data(X, np.asarray(y), "y", tuple(X.columns), "csv", "t.csv"), task)


def by(**named) -> SplitOptions:
    return SplitOptions(**{"share": 0.2, "seed": 0} | named)


def words(page: str) -> str:
    return re.sub(r"<(style|script).*?</\1>", "", page.split("<body>")[1], flags=re.DOTALL)


# ---------------------------------------------------------------- copies of rows
def test_coin_flips_are_not_learned_from_copies(mercer, tmp_path):
    copies().write_csv(tmp_path / "t.csv")
    ended = mercer("fit", "t.csv", "-t", "y", "--model", "knn", "--effort", "quick")
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    first = next(i for i, line in enumerate(lines) if "repeated rows" in line)
    assert first < next(i for i, line in enumerate(lines) if line.startswith("tune"))
    about = inspect(tmp_path / "t.mercer")["about"]
    assert about["scores"]["model"]["accuracy"]["value"] < 0.8
    assert about["cross_validated"] < 0.8  # the folds of tuning keep copies together too
    assert about["findings"][0]["kind"] == "repeated rows"
    page = words((tmp_path / "t.report.html").read_text(encoding="utf-8"))
    assert page.index("repeated rows") < page.index("<h1>")


def test_copies_with_a_little_noise_are_said_first(mercer, tmp_path):
    rng = np.random.default_rng(0)
    frame = copies().with_columns(pl.col("a", "b", "c") + pl.Series(1e-3 * rng.normal(size=600)))
    frame.write_csv(tmp_path / "t.csv")
    ended = mercer("fit", "t.csv", "-t", "y", "--model", "knn", "--effort", "quick")
    assert ended.code == 0, ended.err
    said = " ".join(ended.out.split())
    assert said.index("leak near copies") < said.index("tune")
    assert "not to be relied on because of a leak (near copies)" in said
    page = words((tmp_path / "t.report.html").read_text(encoding="utf-8"))
    assert page.index("near copies") < page.index("<h1>")
    assert mercer("fit", "t.csv", "-t", "y", "--strict").code == 5


@pytest.mark.parametrize("seed", range(3))
def test_coin_flips_with_copies_are_not_praised(mercer, tmp_path, seed):
    copies(times=20, seed=seed).write_csv(tmp_path / "t.csv")  # many rows, 60 of them different
    ended = mercer("fit", "t.csv", "-t", "y", "--model", "knn", "--effort", "quick", "--no-report")
    said = " ".join(ended.out.split())
    assert "12 different held-out rows say little about new rows" in said
    assert "on 1,200 rows in 60 groups, cross-validated in 10 folds" in said
    assert ": better than" not in said


def test_copies_of_a_class_do_not_make_it_frequent():
    frame = copies(n=200, times=3)
    labels = np.tile(np.where(np.arange(200) < 10, "rare", "usual"), 3)  # 2 of them, 6 with copies
    parts = parted(problem_of(frame.drop("y"), labels), None, by())
    assert parts.folds is not None
    assert "different held-out rows of 'rare' say little about it" in str(parts.findings)


def test_a_test_file_with_known_rows_is_not_praised(mercer, tmp_path):
    frame = copies(times=1)
    frame.write_csv(tmp_path / "t.csv")
    frame[:40].write_csv(tmp_path / "test.csv")
    ended = mercer("fit", "t.csv", "-t", "y", "--model", "knn", "--test", "test.csv")
    assert ended.code == 0, ended.err
    assert "cannot be believed" in ended.out
    assert "not to be relied on" in ended.out
    page = words((tmp_path / "t.report.html").read_text(encoding="utf-8"))
    assert page.index("of the held-out rows (40 of 40) also stand") < page.index("<h1>")
    assert "better than" not in page


# ---------------------------------------------------------------- --strict
def test_strict_stops_before_the_work_and_writes_nothing(mercer, tmp_path):
    X, y = plain()
    X.with_columns(later=y + 0.001 * X["x"], y=y).write_csv(tmp_path / "t.csv")
    ended = mercer("fit", "t.csv", "-t", "y", "--strict", *QUICK)
    assert ended.code == 5
    assert "--strict: gives the target away: the column 'later'" in ended.err
    assert "tune" not in ended.out
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]
    assert mercer("fit", "t.csv", "-t", "y", "--strict", "--ignore", "later", *QUICK).code == 0


def test_findings_for_machines(mercer, tmp_path):
    X, y = plain()
    X.with_columns(later=y + 0.001 * X["x"], same=pl.lit(1), y=y).write_csv(tmp_path / "t.csv")
    found = json.loads(mercer("fit", "t.csv", "-t", "y", *QUICK, "--json").out)["findings"]
    assert [(f["severity"], f["columns"]) for f in found] == [
        ("leak", ["later"]),
        ("note", ["same"]),
    ]


# ---------------------------------------------------------------- --group, --time
def test_groups_are_suspected_and_kept_together(mercer, tmp_path):
    X, y = patients()
    X.with_columns(y=y).write_csv(tmp_path / "t.csv")
    loose = mercer("fit", "t.csv", "-t", "y", "--model", "knn", "--no-report")
    assert "--group 'patient'" in loose.out.replace("\n", " ")
    ended = mercer("fit", "t.csv", "-t", "y", "--model", "knn", "--group", "patient", "--json")
    about = json.loads(ended.out)
    assert about["columns"] == ["height", "pulse"]
    assert about["scores"]["model"]["accuracy"]["value"] < 0.8
    assert about["cross_validated"] < 0.8
    assert {f["severity"] for f in about["findings"]} <= {"note"}
    X.drop("patient").head(5).write_csv(tmp_path / "new.csv")
    assert mercer("predict", "t.mercer", "new.csv").code == 0


def test_saved_models_are_judged_by_the_groups_of_their_fit(mercer, tmp_path):
    X, y = patients()
    frame = X.with_columns(y=y)
    frame.write_csv(tmp_path / "t.csv")
    words = ("-t", "y", "--group", "patient", *QUICK, "--no-report", "-q")
    assert mercer("fit", "t.csv", *words).code == 0
    assert "intervals are of 60 groups by 'patient'" in mercer("evaluate", "t.mercer", "t.csv").err
    frame.drop("patient").write_csv(tmp_path / "unnamed.csv")
    unnamed = mercer("evaluate", "t.mercer", "unnamed.csv").err
    assert "there is no column 'patient': intervals take rows for independent" in unnamed
    pl.concat([frame.drop("patient")] * 4).write_csv(tmp_path / "copied.csv")
    assert "intervals are of 300 different rows" in mercer("evaluate", "t.mercer", "copied.csv").err
    asked = mercer("evaluate", "t.mercer", "t.csv", "--group", "height").err
    assert "intervals are of 60 groups by 'height'" in asked


def test_models_are_compared_by_groups(mercer, tmp_path):
    X, y = patients(n=150)
    X.with_columns(y=y).write_csv(tmp_path / "t.csv")
    words = ("compare", "t.csv", "-t", "y", "--models", "bayes,knn", "--effort", "quick", "--json")
    loose, whole = (json.loads(mercer(*words, *more).out) for more in ((), ("--group", "patient")))
    ends = [found["models"]["bayes"]["accuracy"] for found in (loose, whole)]
    assert ends[1]["high"] - ends[1]["low"] > 1.2 * (ends[0]["high"] - ends[0]["low"])
    page = (tmp_path / "t.compare.html").read_text(encoding="utf-8")
    assert "30 groups of rows drawn again" in page


def test_groups_in_both_files_are_told(mercer, tmp_path):
    X, y = patients()
    frame = X.with_columns(y=y)
    frame[:200].write_csv(tmp_path / "t.csv")
    frame[200:].write_csv(tmp_path / "test.csv")
    words = ("fit", "t.csv", "-t", "y", "--test", "test.csv", *QUICK, "--group", "patient")
    found = json.loads(mercer(*words, "--json").out)["findings"]
    assert (found[0]["kind"], found[0]["severity"]) == ("group", "leak")
    assert "have a 'patient' that was learned from" in found[0]["sentence"]
    assert "% of the held-out rows have a 'patient'" in mercer(*words, "--strict").err


def test_few_held_out_groups_are_cross_validated():
    X, y = patients(n=12, visits=25)
    problem = with_order(problem_of(X, y), by(group="patient"))
    parts = parted(problem, None, by(group="patient"))
    assert sorted(row for _, test in parts.folds for row in test) == list(range(300))
    assert "held-out groups say little about new groups (fewer than 8)" in str(parts.findings)


def test_rows_that_are_all_the_same_are_refused_in_words(mercer, tmp_path):
    (tmp_path / "t.csv").write_text("a,b,y\n" + "".join(f",,{i % 3}\n" for i in range(30)))
    ended = mercer("fit", "t.csv", "-t", "y", *QUICK)
    assert ended.code == 3
    assert "all 30 rows are the same but for 'y'" in ended.err


def test_a_walk_is_judged_by_its_end(mercer, tmp_path):
    X, y = walk()
    X.with_columns(price=y).write_csv(tmp_path / "t.csv")
    words = ("fit", "t.csv", "-t", "price", "--model", "knn", "--effort", "quick", "--json")
    loose = json.loads(mercer(*words).out)
    assert loose["scores"]["model"]["R²"]["value"] > 0.9
    assert [f["kind"] for f in loose["findings"]] == ["time order"]
    honest = json.loads(mercer(*words, "--time", "date").out)
    assert honest["scores"]["model"]["R²"]["value"] < 0.5
    assert honest["findings"] == []
    assert honest["columns"] == ["date", "noise"]
    apart = json.loads(mercer(*words, "--time", "date", "--ignore", "date").out)
    assert apart["columns"] == ["noise"]


def test_the_latest_rows_are_held_out():
    X, y = walk()
    problem = with_order(problem_of(X, y), by(time="date"))
    parts = parted(problem, None, by(time="date"))
    assert parts.learn.X["date"].max() < parts.test.X["date"].min()
    assert len(parts.test) == 80
    assert parts.learn.X["date"].is_sorted()


def test_rows_without_a_time_are_left_out_and_it_is_said():
    X, y = walk()
    gappy = X.with_columns(date=pl.when(pl.int_range(pl.len()) > 2).then("date"))
    problem = with_order(problem_of(gappy, y), by(time="date"))
    assert len(problem) == 397
    assert problem.notes == ("3 rows without a value of 'date' left out",)


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"group": "patientt"}, "--group: there is no 'patientt'; did you mean 'patient'"),
        ({"time": "patient"}, "holds neither dates nor numbers"),
        ({"group": "patient", "time": "pulse"}, "choose one"),
    ],
)
def test_wrong_columns_are_told(named, message):
    with pytest.raises(CommandError, match=message):
        with_order(problem_of(*patients()), by(**named))


def test_a_class_in_one_group_only_is_told():
    X = pl.DataFrame({"who": ["a"] * 20 + ["b"] * 20, "x": np.arange(40.0) ** 2})
    problem = with_order(problem_of(X, ["u"] * 20 + ["v"] * 20), by(group="who"))
    with pytest.raises(CommandError, match="would be left to learn from"):
        parted(problem, None, by(group="who"))


# ---------------------------------------------------------------- few rows
@pytest.mark.parametrize("task", ["classify", "regress"])
def test_few_rows_are_scored_by_cross_validation(mercer, tmp_path, task):
    X, y = plain(24)
    target = y if task == "classify" else X["x"] + 0.1 * X["weight"]
    X.with_columns(y=target).write_csv(tmp_path / "t.csv")
    model = QUICK if task == "classify" else LINEAR
    ended = mercer("fit", "t.csv", "-t", "y", *model)
    assert ended.code == 0, ended.err
    assert "5 held-out rows say little about new rows" in ended.out
    assert "cross-validated in" in ended.out
    about = inspect(tmp_path / "t.mercer")["about"]
    assert (about["learned_rows"], about["test_rows"]) == (24, 24)
    page = words((tmp_path / "t.report.html").read_text(encoding="utf-8"))
    assert page.index("small test") < page.index("<h1>")


@pytest.mark.parametrize(
    ("n", "rare", "crossed"), [(147, 0, True), (150, 0, False), (300, 20, True), (300, 30, False)]
)
def test_how_few_is_too_few(n, rare, crossed):
    X, _ = plain(n)
    y = np.where(np.arange(n) < (rare or n // 2), "r", "s")
    assert (parted(problem_of(X, y), None, by()).folds is not None) == crossed


def test_a_small_part_of_a_large_table_is_only_told():
    X, _ = plain(3000)
    parts = parted(problem_of(X, np.where(np.arange(3000) < 8, "r", "s")), None, by())
    assert parts.folds is None
    assert [f.kind for f in parts.findings if not f.mended] == ["small test"]


def test_a_given_test_part_is_kept_however_small():
    X, y = plain(200)
    problem = problem_of(X, y)
    parts = parted(problem.take(np.arange(190)), problem.take(np.arange(190, 200)), by())
    assert (parts.folds, len(parts.test)) == (None, 10)
    assert parts.findings[0].kind == "small test"


def test_the_proof_is_said_of_the_optimiser(mercer, tmp_path):
    X, y = plain()
    X.with_columns(y=y).write_csv(tmp_path / "t.csv")
    ended = mercer("fit", "t.csv", "-t", "y", "--model", "svm", "--effort", "quick", "--no-report")
    assert "optimiser" in ended.out
    assert "proved" not in ended.out.lower()
    assert "optimiser" in mercer("info", "t.mercer").out
