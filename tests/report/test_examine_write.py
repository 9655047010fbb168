"""From a model to a file, and what happens when time or the disk fails."""

from __future__ import annotations

import os

import numpy as np
import pytest
from sklearn.datasets import load_iris

from mercer import SVC
from mercer.report import write
from mercer.report._budget import affordable_rows, some_rows
from mercer.report._rows import as_rows
from mercer.report._subject import Subject
from mercer.report.examine import examine
from mercer.report.render import render
from mercer.report.write import write_report
from tests.report.subjects import MODELS

X, Y = load_iris(return_X_y=True)
MODEL = SVC().fit(X[::2], Y[::2])


@pytest.mark.parametrize("name", MODELS)
def test_every_study_can_be_drawn(studies, name):
    page = render(studies[name])
    assert page.lower().startswith("<!doctype html>")
    assert studies[name].title in page


def test_a_report_is_written(tmp_path):
    path = write_report(MODEL, tmp_path / "report.html", X[1::2], Y[1::2], title="Three irises")
    assert "Three irises" in path.read_text(encoding="utf-8")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_what_fails_leaves_the_old_file_alone(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr(write, "render", lambda study: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_report(MODEL, path, X, Y)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_halves_of_characters_are_spelled_out(tmp_path, monkeypatch):
    monkeypatch.setattr(write, "render", lambda study: "caf\udce9")  # what a file may be called
    assert write_report(MODEL, tmp_path / "a", X, Y).read_text(encoding="utf-8") == r"caf\udce9"


def test_a_path_that_cannot_be_written_is_refused_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(write, "examine", lambda *args, **settings: 1 / 0)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        write_report(MODEL, tmp_path / "missing" / "report.html", X, Y)
    with pytest.raises(IsADirectoryError, match="path must be a file"):
        write_report(MODEL, tmp_path, X, Y)


# ---------------------------------------------------------------- little time
def test_without_time_a_random_part_is_judged_and_it_says_so():
    rows, y = np.tile(X, (10, 1)), np.tile(Y, 10)
    part, notes = affordable_rows(Subject.of(MODEL), as_rows(rows), y, 1e-9, 0)
    assert len(part) == len(np.unique(part)) <= 500
    assert np.array_equal(np.unique(y[part]), np.unique(y))
    assert "rows, drawn at random" in notes[0]


def test_a_hurried_study_is_complete_or_says_what_is_missing():
    rows, y = np.tile(X, (10, 1)), np.tile(Y, 10)
    study = examine(MODEL, rows, y, train=(X[::2], Y[::2]), time_limit=1e-6)
    for section in ("learning curve", "data", "partial dependence", "reasons"):
        assert "were over" in study.left_out[section]
    assert study.evaluation.n_rows < len(rows)
    assert any("drawn at random" in sentence for sentence in study.sentences)


@pytest.mark.parametrize("most", [3, 50, 149])
def test_a_sample_keeps_the_shares_of_the_classes(most):
    y = np.array(["rare"] * 3 + ["often"] * 147)
    kept = some_rows(y, most, np.random.default_rng(0), classes=True)
    assert len(np.unique(kept)) == len(kept)
    counts = {label: int((y[kept] == label).sum()) for label in ("rare", "often")}
    assert counts["rare"] == max(1, 3 * most // 150)
    assert counts["often"] == 147 * most // 150


def test_a_pipe_is_not_replaced_by_a_report(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="ordinary file"):
        write_report(MODEL, tmp_path / "pipe", X[1::2], Y[1::2])
    assert not (tmp_path / "pipe").is_file()
