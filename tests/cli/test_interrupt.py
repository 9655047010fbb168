"""Ctrl-C: a model if there is one, one line if there is none, and never half a file."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
import time
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest

pl = pytest.importorskip("polars")

import mercer as library  # noqa: E402
from mercer._limits import Limits  # noqa: E402
from mercer.cli import fit as fitting  # noqa: E402
from mercer.cli import large  # noqa: E402
from mercer.cli import learn as learning  # noqa: E402
from mercer.cli.interrupts import remembered  # noqa: E402
from mercer.cli.problem import TableProblem  # noqa: E402
from mercer.cli.recipes import EFFORTS, RECIPES, Plan  # noqa: E402
from mercer.cli.screen import Screen  # noqa: E402
from mercer.kernels import RBF  # noqa: E402
from mercer.select import Staged  # noqa: E402


def interrupts(*given, **named):
    raise KeyboardInterrupt


@pytest.fixture
def old(tmp_path):
    """A model and a page of an earlier run."""
    for name in ("people.mercer", "people.report.html"):
        (tmp_path / name).write_text("old", encoding="utf-8")
    return tmp_path


def test_before_there_is_a_model_nothing_is_touched(mercer, table, old, monkeypatch):
    monkeypatch.setattr(learning, "tune", interrupts)
    ended = mercer("fit", table, "-t", "risk")
    assert ended.code == 130
    assert ended.err.splitlines()[-1] == "mercer: interrupted before there was a result"
    assert (old / "people.mercer").read_text(encoding="utf-8") == "old"
    assert (old / "people.report.html").read_text(encoding="utf-8") == "old"


@pytest.mark.parametrize("place", ["mercer.cli.import_module", "mercer.cli.app.import_module"])
def test_while_libraries_are_loaded_a_line_is_said(mercer, monkeypatch, place):
    monkeypatch.setattr(place, interrupts)
    ended = mercer("fit", "t.csv")
    assert ended.code == 130
    assert ended.err == "mercer: interrupted before there was a result\n"


def test_a_second_search_that_is_interrupted_leaves_the_first(mercer, table, mixed, monkeypatch):
    tuned, found = learning.Learner._tuned, []

    def once(*given):
        found.append(tuned(*given) if not found else interrupts())
        return found[-1]

    monkeypatch.setattr(learning.Learner, "_tuned", once)
    ended = mercer("fit", table, "-t", "risk", "--ignore", "cost", "--time-limit", "20s")
    assert ended.code == 130
    assert "best found so far" in ended.err
    assert np.mean(library.load("people.mercer").predict(mixed) == mixed["risk"].to_numpy()) > 0.85


def test_the_model_of_tuning_stands_in_for_the_last_fit(mercer, table, mixed, monkeypatch):
    fit, calls = library.SVC.fit, []

    def interrupted_when_last(self, X, *given):
        calls.append(self.probability)
        return interrupts() if calls.count(True) == 1 else fit(self, X, *given)

    monkeypatch.setattr(library.SVC, "fit", interrupted_when_last)
    words = ("-t", "risk", "--ignore", "cost", "--model", "svm", "--time-limit", "20s")
    assert mercer("fit", table, *words).code == 130
    assert np.mean(library.load("people.mercer").predict(mixed) == mixed["risk"].to_numpy()) > 0.85


def test_an_interrupted_report_has_the_scores(mercer, table, monkeypatch):
    examine, calls = fitting.examine, []

    def once(*given, **named):
        calls.append(1)
        return interrupts() if len(calls) == 1 else examine(*given, **named)

    monkeypatch.setattr(fitting, "examine", once)
    ended = mercer("fit", table, "-t", "risk", "--model", "bayes")
    assert ended.code == 130
    assert "accuracy" in ended.out
    assert "people.csv" in (table.parent / "people.report.html").read_text(encoding="utf-8")
    assert library.load("people.mercer").predict(pl.read_csv(table)).shape == (240,)


def test_a_signal_ends_a_long_run(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 12))
    noise = rng.normal(0, 0.3, len(X))
    y = np.where(np.sin(X[:, 0] * 2) + X[:, 1] * X[:, 2] + noise > 0, "a", "b")
    pl.DataFrame(X).with_columns(y=pl.Series(y)).write_csv(tmp_path / "big.csv")
    work = ["--effort", "thorough", "--time-limit", "1h"]
    words = ["fit", "big.csv", "-t", "y", "--model", "svm", *work]
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "mercer", *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    while not process.stdout.readline().startswith("columns"):  # tuning comes next
        assert process.poll() is None
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    # long before the hour: what is left to do is short, but cores may be busy with other tests
    _, err = process.communicate(timeout=900)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert not list(tmp_path.glob("*.part"))
    if "before there was a result" not in err:
        assert np.mean(library.load(tmp_path / "big.mercer").predict(pl.DataFrame(X)) == y) > 0.6


# ---------------------------------------------------------------- too little time
def test_a_model_that_takes_too_long_leaves_the_other(mercer, table, monkeypatch):
    search = learning.Learner._search

    def slow(self, attempt, *given):
        if attempt.name in ("svm", "metric"):
            raise TimeoutError
        return search(self, attempt, *given)

    monkeypatch.setattr(learning.Learner, "_search", slow)
    ended = mercer("fit", table, "-t", "risk", "--no-report", "--time-limit", "20s")
    assert ended.code == 0
    assert "no candidate of the model 'svm' could be scored; raise" in " ".join(ended.err.split())
    assert type(library.load("people.mercer")[-1]).__name__ == "LogisticRegression"


@pytest.mark.parametrize("seconds", [0.01, 4.0, 1e9])
def test_the_last_fit_takes_as_many_rows_as_the_time_allows(mixed, seconds):
    """A fit of 50 rows took a second: only where a limit binds is the time looked at."""
    labels = mixed["risk"].to_numpy()
    problem = TableProblem(mixed, labels, "risk", "classify", np.arange(len(labels)))
    limits = Limits.of(time_limit=seconds / learning.FIT_SHARE)
    learner = learning.Learner(
        problem,
        kernel=RBF(),
        effort=EFFORTS["quick"],
        limits=limits,
        seed=0,
        screen=Screen(quiet=True),
    )
    tried = SimpleNamespace(
        status_="complete",
        cv_results_={
            "params": [{}],
            "mean_test_score": np.ones(1),
            "std_test_score": np.zeros(1),
            "mean_fit_time": np.ones(1),
        },
        best_index_=0,
        rows_=np.arange(50),
    )
    best = learning.AttemptSearch("svm", RECIPES["classify"]["svm"], tried, None)
    plan = Plan(Staged(), fit_rows=150, landmarks=None)
    expected = min(150, int(50 * max(seconds, 1.0) ** (1 / learning.GROWTH["square"])))
    assert abs(learner._affordable(best, plan, None) - expected) <= 1
    rows = learner._rows_to_fit(best, plan, None)
    assert bool(learner.cut) == (expected < 150)
    assert abs(len(rows) - expected) <= 1
    told = " ".join(learner.screen.notes)
    assert f"{len(rows):,} of 240 rows" in told
    assert ("150 of" in told) == (expected == 150)  # no row is said that was not taken


def test_a_last_fit_that_has_no_time_for_its_optimum_takes_fewer_rows(
    mercer, table, mixed, monkeypatch
):
    def seconds(learner):
        return None if any("optimum" in what for what in learner.cut) else 1e-9

    monkeypatch.setattr(learning.Learner, "_seconds_to_fit", seconds)
    words = ("-t", "risk", "--ignore", "cost", "--model", "svm", "--no-report")
    ended = mercer("fit", table, *words, "--time-limit", "60s")
    assert "did not reach its optimum" in " ".join(ended.err.split())
    model = library.load("people.mercer")
    assert model[-1].certificate_.ok
    assert np.mean(model.predict(mixed) == mixed["risk"].to_numpy()) > 0.8


def interrupted_after(monkeypatch, fits):
    """Let a solver hear Ctrl-C in a fit after so many: it ends with the best so far."""
    fit, calls = library.LogisticRegression.fit, []

    def hears(self, X, y, *given):
        fit(self, X, y, *given)
        calls.append(len(y))
        if len(calls) == fits + 1:
            self.status_ = "interrupted"
        return self

    monkeypatch.setattr(library.LogisticRegression, "fit", hears)
    return calls


def test_an_interrupt_in_a_fold_of_the_report_is_not_swallowed(mercer, table, monkeypatch):
    words = ("-t", "risk", "--model", "logistic", "--effort", "quick")
    pl.read_csv(table)[:100].write_csv(table)
    calls = interrupted_after(monkeypatch, 10**9)
    assert mercer("fit", table, *words, "--no-report").code == 0  # 20 rows held out: folds
    whole, folds = len(calls), [n for n in calls[-10:] if n == 90]
    assert len(folds) == 10
    again = interrupted_after(monkeypatch, whole - 8)
    ended = mercer("fit", table, *words)
    assert ended.code == 130
    page = (table.parent / "people.report.html").read_text(encoding="utf-8")
    assert "Interrupted: the scores only" in page
    assert library.load("people.mercer").predict(pl.read_csv(table)).shape == (100,)
    assert len(again) < whole + 20


def test_an_interrupt_while_a_rival_is_fitted_is_not_swallowed(mercer, table, monkeypatch):
    words = ("-t", "risk", "--model", "bayes", "--effort", "quick")
    calls = interrupted_after(monkeypatch, 0)
    assert mercer("fit", table, *words).code == 130
    assert len(calls) >= 1
    assert (table.parent / "people.mercer").is_file()


def test_an_interrupt_after_passes_leaves_a_model(mercer, table, monkeypatch):
    examine = large.examine

    def interrupted_at_first(*given, **named):
        monkeypatch.setattr(large, "examine", examine)
        interrupts()

    monkeypatch.setattr(large, "examine", interrupted_at_first)
    ended = mercer("fit", "peopl?.csv", "-t", "cost", "--memory", "40MB", "--save", "m.mercer")
    assert ended.code == 130, ended.err
    assert "interrupted: the scores only" in ended.err
    assert library.load("m.mercer").predict(pl.read_csv(table)).shape == (240,)


@pytest.mark.parametrize("pressed", [True, False])
def test_what_a_library_makes_of_an_interrupt_is_one(mercer, table, monkeypatch, pressed):
    """Cython's buffers say that their format is wrong if Ctrl-C comes while they read it."""
    examine, calls = fitting.examine, []

    def disturbed(*given, **named):
        calls.append(named["only_scores"])
        if len(calls) == 1:
            try:
                if pressed:
                    signal.raise_signal(signal.SIGINT)
            finally:
                raise ValueError("no valid buffer format")
        return examine(*given, **named)

    monkeypatch.setattr(fitting, "examine", disturbed)
    ended = mercer("fit", table, "-t", "risk", "--model", "bayes", "--effort", "quick")
    assert ended.code == (130 if pressed else 3)
    assert (table.parent / "people.mercer").exists() == pressed
    assert calls == ([False, True] if pressed else [False])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_that_is_lost_in_a_callback_is_raised_again(capsys):
    """As where LLVM calls back to say that it has loaded compiled code."""

    callback = ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))
    hook, lasted = sys.unraisablehook, []

    def waits():
        with remembered():
            callback()
            time.sleep(20)
            lasted.append("to its end")

    with pytest.raises(KeyboardInterrupt):
        waits()
    assert lasted == []
    assert capsys.readouterr().err == ""
    assert sys.unraisablehook is hook


def test_an_interrupt_that_was_swallowed_is_told_by_the_exit_code(mercer, table, monkeypatch):
    examine = fitting.examine

    def swallows(*given, **named):
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return examine(*given, **named)

    monkeypatch.setattr(fitting, "examine", swallows)
    ended = mercer("fit", table, "-t", "risk", "--model", "bayes", "--effort", "quick")
    assert ended.code == 130
    assert (table.parent / "people.mercer").exists()
