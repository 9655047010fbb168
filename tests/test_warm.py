"""Compiling ahead: done once, said in words, and nothing is left to compile after it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import mercer
from mercer import _warm


@pytest.fixture
def done(monkeypatch, tmp_path):
    """Two parts that only note that they were compiled; the marker is in a temporary folder."""
    parts: list[str] = []
    tasks = {name: lambda name=name: parts.append(name) for name in ("first", "second")}
    monkeypatch.setattr(_warm, "TASKS", tasks)
    marker = tmp_path / _warm._marker().name
    monkeypatch.setattr(_warm, "_marker", lambda: marker)
    return parts


def test_what_is_prepared_is_not_prepared_again(done, tmp_path):
    assert mercer.prepare() == tmp_path
    assert mercer.prepare() == tmp_path
    assert done == ["first", "second"]


def test_an_interrupted_preparation_is_repeated(done, monkeypatch):
    def stop():
        raise KeyboardInterrupt

    monkeypatch.setitem(_warm.TASKS, "second", stop)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            mercer.prepare()
    assert done == ["first", "first"]


def test_without_a_terminal_it_is_said_once(done, capsys):
    mercer.prepare()
    mercer.prepare()
    assert capsys.readouterr().err == "preparing (once): compiling 2 parts\n"


def test_a_bar_shows_what_is_compiled_now(done, capsys):
    mercer.prepare(progress=True)
    shown = capsys.readouterr().err.split("\r")
    assert [line.split()[-1] for line in shown if "preparing" in line] == ["first", "second"]
    assert "preparing" not in shown[-1]


def test_silence(done, capsys):
    mercer.prepare(progress=False)
    assert capsys.readouterr().err == ""


def test_the_marker_belongs_to_the_sources_and_the_machine(monkeypatch):
    marker = _warm._marker()
    assert _warm._marker() == marker
    with monkeypatch.context() as patch:
        patch.setattr(_warm, "_stamp", lambda path: (0.0, 0))
        assert _warm._marker() != marker
    monkeypatch.setattr(_warm.llvm, "get_host_cpu_name", lambda: "another")
    assert _warm._marker() != marker


def test_only_the_newest_marker_is_kept(tmp_path):
    for name in ("prepared-old", "prepared-new"):
        _warm._leave(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["prepared-new"]


AFTER = """
import mercer
from numba.core import event
from sklearn.datasets import load_iris

mercer.prepare(progress=False)
with event.install_recorder("numba:compile") as seen:
    X, y = load_iris(return_X_y=True)
    mercer.SVC(probability=True).fit(X, y).predict_proba(X)
    mercer.tune("svc", X, y, progress=False)
    mercer.tune("svr", X[:, 1:], X[:, 0], progress=False)
    mercer.tune("ridge", X[:, 1:], X[:, 0], progress=False)
    mercer.LogisticRegression().fit(X, y)
print([str(e.data["dispatcher"]) for _, e in seen.buffer if e.is_start])
"""


@pytest.mark.long
def test_nothing_is_left_to_compile(tmp_path):
    place = {"NUMBA_CACHE_DIR": str(tmp_path)}
    run = [sys.executable, "-W", "ignore", "-c", AFTER]
    ended = subprocess.run(run, env={**os.environ, **place}, capture_output=True, text=True)
    assert (ended.stdout, ended.stderr) == ("[]\n", "")
    assert list(tmp_path.rglob("prepared-*"))
