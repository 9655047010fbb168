"""Any terminal, any encoding, any reader: what is written arrives, and never costs the model."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pl = pytest.importorskip("polars")

from mercer.cli.screen import Screen  # noqa: E402
from mercer.cli.streams import plain_letters  # noqa: E402
from tests.cli.conftest import ended  # noqa: E402

ENCODINGS = ("cp1252", "ascii", "latin-1", "utf-8")
CITY = ("--model", "bayes", "--save", "city.mercer", "--no-report")
ODD = "Köln λ−²\x1b[31m\x07\u202e\u200f\r"
QUICK = ("--model", "linear", "--time-limit", "20s")


@pytest.fixture
def odd_table(tmp_path, monkeypatch):
    """A table whose names and values no encoding but UTF-8 has, some of them control codes."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(60, 2))
    city = [ODD if a > 0 else "Łódź ≤ 5" for a in X[:, 0]]
    frame = pl.DataFrame({f"a {ODD}": X[:, 0], "b": X[:, 1], "city": city, "y": X @ [1.0, -2.0]})
    frame.write_parquet(tmp_path / "odd.parquet")
    return "odd.parquet"


@pytest.fixture
def run_in(monkeypatch):
    """Run ``mercer …`` with streams of an encoding; return the code and the bytes."""

    def run(encoding, *words):
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in "12")
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        code = ended(*words)
        out.flush(), err.flush()
        return code, out.buffer.getvalue(), err.buffer.getvalue()

    return run


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_command_writes_in_every_encoding(run_in, odd_table, encoding):
    commands = [
        ("fit", odd_table, "-t", "y", *QUICK),
        ("fit", odd_table, "-t", "city", *CITY),
        ("fit", odd_table, "-t", "city", *CITY[:2], "--save", f"{ODD}.mercer", "--no-report"),
        ("evaluate", "odd.mercer", odd_table),
        ("evaluate", "city.mercer", odd_table, "--target", "city"),
        ("info", "city.mercer"),
        ("info", "city.mercer", "--json"),
        ("embed", odd_table, "--method", "pca", "--color", "city"),
        ("predict", "odd.mercer", odd_table, "--out", "out.csv"),
        ("compare", odd_table, "city.mercer", f"{ODD}.mercer"),
        ("compare", odd_table, "city.mercer", f"{ODD}.mercer", "--json"),
        ("compare", odd_table, "-t", "city", "--models", "bayes,knn", "--effort", "quick"),
        ("kernels",),
        ("check-kernel", "rbf"),
        ("--help",),
        ("fit", "--help"),
    ]
    for words in commands:
        code, out, err = run_in(encoding, *words)
        told = out.decode("utf-8" if "--json" in words else encoding)
        assert code == 0, (words, err)
        assert told.strip()
        shown = ("" if "--json" in words else told) + err.decode(encoding)
        assert not set("\x1b\x07\u202e\u200f\r") & set(shown), words
    assert Path("odd.mercer").exists()
    assert Path("odd.report.html").exists()


def test_data_for_machines_loses_nothing(run_in, odd_table):
    assert run_in("ascii", "fit", odd_table, "-t", "city", "--model", "bayes", "-q")[0] == 0
    _, out, _ = run_in("ascii", "predict", "odd.mercer", odd_table)
    assert set(pl.read_csv(out)["prediction"]) <= {ODD, "Łódź ≤ 5"}
    _, out, _ = run_in("cp1252", "info", "odd.mercer", "--json")
    assert ODD in json.loads(out.decode("utf-8"))["about"]["classes"]


@pytest.mark.parametrize("words", [("fit", ODD, "-t", "y"), ("check-kernel", ODD), (ODD,)])
def test_errors_show_control_codes_and_obey_none(run_in, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = run_in("ascii", *words)
    assert code in (2, 3)
    assert b"\x1b" not in err


@pytest.mark.parametrize(
    ("text", "plain"),
    [("−1.5 … 2", "-1.5 ... 2"), ("10⁻⁹ R²", "10^-9 R^2"), ("Łódź 日", "Lodz ?"), ("a|b", "a|b")],
)
def test_plain_letters(text, plain):
    assert plain_letters(text) == plain


# ---------------------------------------------------------------- processes
def started(*words, **environment):
    return subprocess.Popen(
        [sys.executable, "-m", "mercer", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | environment,
    )


def left_early(process) -> tuple[int, bytes]:
    """Read one line and go; return the code and what was said on stderr."""
    with process:
        process.stdout.readline()
        process.stdout.close()
        told = process.stderr.read()
    return process.returncode, told


def test_a_reader_that_goes_away_takes_no_model_with_it(odd_table, tmp_path):
    words = ("fit", odd_table, "-t", "y", *QUICK)
    process = started(*words, PYTHONUTF8="0", PYTHONIOENCODING="cp1252")
    assert left_early(process) == (0, b"")
    assert (tmp_path / "odd.mercer").exists()


def test_a_reader_that_has_seen_enough_of_the_predictions(odd_table):
    assert ended("fit", odd_table, "-t", "y", *QUICK, "-q", "--no-report") == 0
    pl.concat([pl.read_parquet(odd_table)] * 200).write_parquet("many.parquet")
    process = started("predict", "odd.mercer", "many.parquet")
    code, told = left_early(process)
    assert code in (0, 141)
    assert told == b""


# ---------------------------------------------------------------- notes beside a spinner
def test_a_note_is_printed_above_the_spinner(monkeypatch):
    screen = Screen()
    out, err = io.StringIO(), io.StringIO()
    for console, file in ((screen.console, out), (screen.errors, err)):
        monkeypatch.setattr(console, "_file", file)
        monkeypatch.setattr(console, "_force_terminal", True)
    with screen.step("read", "reading"):
        screen.note("look here")
    assert "look here" in out.getvalue()
    assert err.getvalue() == ""
    screen.note("and there")
    assert "and there" in err.getvalue()
