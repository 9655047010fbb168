"""Counts of work: the same on every machine, bounded, and more for more effort."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("typer")
pytest.importorskip("polars")

from mercer.cli import learn
from mercer.cli.learn import UNCUT, Learner
from mercer.cli.recipes import EFFORTS, RECIPES, Plan
from mercer.report import _budget as budget

ALL = [recipe for recipes in RECIPES.values() for recipe in recipes.values()]


@settings(max_examples=100, deadline=None)
@given(
    n=st.integers(2, 10**8),
    width=st.integers(1, 10**5),
    recipe=st.sampled_from(ALL),
    effort=st.sampled_from(list(EFFORTS)),
)
def test_a_plan_is_bounded_and_grows(n, width, recipe, effort):
    plan = Plan.of(recipe, EFFORTS[effort], n, width)
    first, rounds = plan.staged.first_rows, plan.staged.more_rows
    assert first <= rounds[0] <= rounds[1]
    assert plan.fit_rows <= n
    assert plan.fit_rows >= min(n, rounds[1]) or plan.landmarks is not None
    if plan.landmarks is not None:  # as many as the first round, which shares one Gram matrix
        assert first <= plan.landmarks <= n
        assert plan.landmarks**2 * plan.fit_rows <= EFFORTS[effort].values
    else:
        assert plan.fit_rows <= EFFORTS[effort].sizes[recipe.cost].fit


@pytest.mark.parametrize("recipe", ALL, ids=lambda recipe: recipe.words)
def test_more_effort_is_more_work(recipe):
    quick, standard, thorough = (Plan.of(recipe, e, 10**6, 20) for e in EFFORTS.values())
    assert quick.fit_rows < thorough.fit_rows
    assert quick.staged.more_rows < standard.staged.more_rows < thorough.staged.more_rows
    assert (quick.landmarks or 0) <= (standard.landmarks or 0) <= (thorough.landmarks or 0)


# ---------------------------------------------------------------- the same on a slow machine
def without_times(text: str) -> dict:
    """Return what a fit prints as JSON, without what a clock has said."""
    told = json.loads(text)
    return {k: v for k, v in told.items() if k not in ("seconds", "environment", "command")}


@pytest.mark.parametrize("target", ["risk", "cost"])
def test_how_fast_the_machine_is_changes_nothing(mercer, table, monkeypatch, target):
    words = ("fit", table, "-t", target, "--effort", "quick", "--json", "--no-save", "--no-report")
    fast = mercer(*words)
    slow = mercer(*words, "--time-limit", "none")
    assert without_times(fast.out) == without_times(slow.out)
    measured = budget._seconds
    monkeypatch.setattr(budget, "_seconds", lambda *given: 30.0 * measured(*given))
    assert without_times(mercer(*words).out) == without_times(fast.out)


def test_the_report_says_whether_the_time_limit_cut_anything(mercer, table, tmp_path, monkeypatch):
    page = tmp_path / "people.report.html"
    words = ("fit", table, "-t", "risk", "--effort", "quick", "--no-save")
    assert mercer(*words).code == 0
    assert UNCUT in page.read_text(encoding="utf-8")
    tuned, seen = Learner._tuned, []

    def first_too_slow(self, *given):
        seen.append(given)
        if len(seen) == 1:
            raise TimeoutError
        return tuned(self, *given)

    monkeypatch.setattr(Learner, "_tuned", first_too_slow)
    ended = mercer(*words)
    assert ended.code == 0
    assert "the time limit cut the work short" in " ".join(ended.err.split())
    told = page.read_text(encoding="utf-8")
    assert "the time limit cut the work short" in told.replace("The time", "the time")
    assert UNCUT not in told


def test_what_takes_longest_is_not_begun_once_time_is_short(mercer, table, monkeypatch):
    tuned, seen = Learner._tuned, []

    def out_of_time(self, attempt, seconds):
        seen.append(attempt.name)
        search = tuned(self, attempt, seconds)
        search.status_ = "time_limit"
        return search

    monkeypatch.setattr(Learner, "_tuned", out_of_time)
    ended = mercer("fit", table, "-t", "risk", "--no-save", "--no-report")
    assert ended.code == 0
    assert seen == ["svm", "logistic"]
    assert "'metric', which takes longest, was not tried" in " ".join(ended.err.split())


def test_what_narrows_a_search_takes_of_its_time(mercer, table, monkeypatch):
    narrowed, limits = Learner._narrowed, []

    def slowly(*given):
        time.sleep(0.2)
        return narrowed(*given)

    class Noted(learn.KernelSearchCV):
        def fit(self, *given, **more):
            limits.append(self.time_limit)
            return super().fit(*given, **more)

    monkeypatch.setattr(Learner, "_narrowed", slowly)
    monkeypatch.setattr(learn, "KernelSearchCV", Noted)
    words = ("--model", "metric", "--effort", "quick", "--time-limit", "60s")
    assert mercer("fit", table, "-t", "risk", *words, "--no-save", "--no-report").code == 0
    assert limits
    assert max(limits) <= learn.TUNING_SHARE * 60.0 - 0.2
