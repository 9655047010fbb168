"""Rows whose target is empty: left out with a note, or learned from, and whether that helped."""

import json
import runpy

import numpy as np
import pytest
from sklearn.datasets import make_moons

pl = pytest.importorskip("polars")
pytest.importorskip("typer")

from mercer.cli.unlabelled import PipelineWithOthers, stacked, with_gaps  # noqa: E402
from mercer.io import load  # noqa: E402

EMPTY = (None, "NA", "nan", "null", "")
QUICK = ("--effort", "quick", "--no-report", "--json")


def moons(n=195, every=3, seed=0):
    """A table with a label in every few rows; the others are empty in all the ways there are."""
    X, y = make_moons(n, noise=0.1, random_state=seed)
    labels = [f"m{t}" if i % every == 0 else EMPTY[i % 5] for i, t in enumerate(y)]
    return pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "kind": labels}), y


def written(frame, tmp_path, name="rows.csv"):
    path = tmp_path / name
    frame.write_csv(path)
    return path


def test_they_are_left_out_and_the_note_says_how_many(mercer, tmp_path):
    frame, _ = moons()
    ended = mercer("fit", written(frame, tmp_path), "-t", "kind", "--model", "logistic", *QUICK)
    about = json.loads(ended.out)
    assert ended.code == 0
    assert about["unlabelled"] is None
    assert about["notes"][0] == (
        "130 rows without a value of 'kind' left out: --unlabelled use learns from them as well"
    )


@pytest.mark.long
def test_labels_and_the_rows_without_one_are_learned_from(mercer, tmp_path):
    frame, y = moons()
    path = written(frame, tmp_path)
    ended = mercer(
        "fit", path, "-t", "kind", "--unlabelled", "use", "--model", "svm", "--save", "m.mercer",
        *QUICK,
    )  # fmt: skip
    about = json.loads(ended.out)
    assert ended.code == 0
    assert about["unlabelled"]["rows"] == 130
    found = about["unlabelled"]
    assert found["with"] == pytest.approx(found["without"] + found["difference"]["value"])
    assert found["difference"]["low"] <= found["difference"]["value"] <= found["difference"]["high"]
    model = load(tmp_path / "m.mercer")
    assert type(model).__name__ == "Pipeline"  # the rows themselves are not kept beside the model
    assert (model.predict(frame.drop("kind")) == np.char.add("m", y.astype(str))).mean() > 0.95
    assert mercer("predict", "m.mercer", path, "--proba").code == 0
    judged = json.loads(mercer("evaluate", "m.mercer", path, "--json").out)
    assert judged["rows"] == 65


@pytest.mark.long
def test_a_threshold_and_the_script_that_repeats_it(mercer, tmp_path):
    frame, _ = moons(n=120, every=2)
    ended = mercer(
        "fit", written(frame, tmp_path), "-t", "kind", "--unlabelled", "use",
        "--script", "again.py", "--save", "m.mercer", "--threshold", "0.3", "--metric", "auc",
        "--model", "svm", *QUICK,
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["threshold"] == 0.3
    model, left = load(tmp_path / "m.mercer"), runpy.run_path("again.py")
    P = model.predict_proba(frame.drop("kind"))
    np.testing.assert_array_equal(model.predict(frame.drop("kind")) == "m1", P[:, 1] >= 0.3)
    np.testing.assert_array_equal(left["model"].predict_proba(frame.drop("kind")), P)


@pytest.mark.long
def test_a_threshold_is_found_by_hiding_labels(mercer, tmp_path):
    frame, y = moons(n=600, every=3)
    few = frame.filter(pl.Series((y == 0) | (np.arange(600) % 12 == 0)))  # of one class
    ended = mercer("fit", written(few, tmp_path), "-t", "kind", "--unlabelled", "use",
                   "--threshold", "auto", "--model", "svm", "--no-save", *QUICK)  # fmt: skip
    about = json.loads(ended.out)
    assert ended.code == 0, ended.err
    assert about["threshold"] == about["best_threshold"] is not None


def test_numbers_and_groups_of_held_out_rows(mercer, tmp_path):
    rng = np.random.default_rng(0)
    X, who = rng.normal(size=(300, 2)), np.arange(300) // 10
    y = X[:, 0] + np.sin(3 * X[:, 1])
    cells = [None if i % 3 else float(v) for i, v in enumerate(y)]
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "who": who, "cost": cells})
    ended = mercer(
        "fit", written(frame, tmp_path), "-t", "cost", "--unlabelled", "use", "--group", "who",
        "--test-size", "0.5", "--model", "ridge", "--no-save", *QUICK,
    )  # fmt: skip
    about = json.loads(ended.out)
    assert ended.code == 0, ended.err
    left = 200 - about["unlabelled"]["rows"]  # of groups that are tested
    assert left > 0
    assert any(f"{left} rows without a target left out" in note for note in about["notes"])
    assert about["scores"]["model"]["R²"]["value"] > 0.5


def test_what_cannot_be_done_is_said(mercer, tmp_path):
    frame, _ = moons()
    path = written(frame, tmp_path)
    base = ("fit", path, "-t", "kind", "--unlabelled")
    assert "did you mean 'use'" in mercer(*base, "uses").err
    assert "cannot learn from rows without a target" in mercer(*base, "use", "--model", "knn").err
    empty = written(frame.with_columns(kind=pl.lit(None, pl.String)), tmp_path, "none.csv")
    assert "all 195 values" in mercer("fit", empty, "-t", "kind", "--unlabelled", "use").err
    whole = frame.filter(pl.col("kind").str.starts_with("m"))
    ended = mercer(
        "fit", written(whole, tmp_path, "whole.csv"), "-t", "kind", "--unlabelled", "use",
        "--model", "svm", "--no-save", *QUICK,
    )  # fmt: skip
    assert "--unlabelled use: all rows have a value of 'kind'" in json.loads(ended.out)["notes"]


def test_a_pipeline_is_fitted_to_others_too():
    class Recorder:
        def fit(self, X, y):
            self.seen = X, y
            return self

    for y, gap in ((np.array([1.0, 2.0]), np.nan), (np.array(["a", "b"]), None)):
        recorder = Recorder()
        PipelineWithOthers([("last", recorder)], others=np.zeros((3, 2))).fit(np.ones((2, 2)), y)
        X, seen = recorder.seen
        np.testing.assert_array_equal(X, stacked(np.ones((2, 2)), np.zeros((3, 2))))
        np.testing.assert_array_equal(seen, with_gaps(y, 3))
        assert seen[-1] is gap or np.isnan(seen[-1])
