"""The staged search: which candidates go on, which is taken, and the same from Python as from a
command.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, ParameterGrid

from mercer import SVC, KernelRidge, KernelSearchCV, tune
from mercer._limits import Limits
from mercer.cv_results import Trials
from mercer.kernels import RBF
from mercer.select import Staged
from mercer.select.choices import around, on_more_rows, promising, smoothest
from mercer.select.rounds import sample_rows


def results(params, folds):
    return Trials.scored(params, np.array(folds, dtype=float))


# ---------------------------------------------------------------- choices
def test_what_the_folds_cannot_tell_apart_is_decided_for_the_smaller_c():
    params = [{"C": 1.0}, {"C": 10.0}, {"C": 1000.0}]
    folds = [[0.7, 0.8, 0.7, 0.8], [0.80, 0.90, 0.80, 0.90], [0.81, 0.91, 0.80, 0.91]]
    assert smoothest(results(params, folds)) == 1


def test_a_larger_weight_of_the_penalty_is_smoother():
    params = [{"model__lam": 0.01}, {"model__lam": 1.0}]
    assert smoothest(results(params, [[0.8, 0.9], [0.8, 0.9]])) == 1


def test_a_clear_winner_is_taken_however_rough_it_is():
    params = [{"C": 1.0, "kernel__gamma": 0.1}, {"C": 100.0, "kernel__gamma": 0.1}]
    assert smoothest(results(params, [[0.7, 0.71], [0.9, 0.91]])) == 1


def test_equally_smooth_candidates_are_told_apart_by_their_scores():
    params = [{"kernel__gamma": 0.1}, {"kernel__gamma": 1.0}]
    assert smoothest(results(params, [[0.7, 0.9], [0.71, 0.91]])) == 1


def test_candidates_that_were_not_scored_are_not_taken():
    params = [{"C": 0.1}, {"C": 1.0}]
    assert smoothest(results(params, [[np.nan, 0.9], [0.7, 0.8]])) == 1


def test_every_width_goes_on_with_the_penalty_that_suited_it():
    params = [{"C": C, "kernel__gamma": g} for g in (0.1, 1.0) for C in (1.0, 10.0, 100.0)]
    folds = [[0.6, 0.61], [0.8, 0.81], [0.7, 0.71], [0.5, 0.51], [0.6, 0.61], [0.75, 0.76]]
    assert promising(results(params, folds), 1) == [
        {"C": 10.0, "kernel__gamma": 0.1},
        {"C": 100.0, "kernel__gamma": 1.0},
    ]


def test_wider_kernels_than_the_best_have_had_their_chance():
    params = [{"C": 1.0, "kernel__gamma": g} for g in (0.01, 0.1, 1.0)]
    found = promising(results(params, [[0.7, 0.71], [0.8, 0.81], [0.6, 0.61]]), 1)
    assert [p["kernel__gamma"] for p in found] == [0.1, 1.0]


def test_a_model_without_a_kernel_goes_on_around_its_best():
    params = [{"lam": 0.1}, {"lam": 1.0}]
    found = promising(results(params, [[0.6, 0.61], [0.8, 0.81]]), 1)
    assert found == around(results(params, [[0.6, 0.61], [0.8, 0.81]]), 1)
    assert [p["lam"] for p in found] == [1.0, 1 / 3, 3.0]


def test_neighbors_are_steps_along_one_scale_each():
    params = [{"C": 9.0, "kernel__gamma": 0.5, "n_neighbors": 3}]
    found = around(results(params, [[0.6, 0.61]]), 0)
    assert [(p["C"], p["kernel__gamma"]) for p in found] == [
        (9.0, 0.5),
        (3.0, 0.5),
        (27.0, 0.5),
        (9.0, 0.25),
        (9.0, 1.0),
    ]
    assert {p["n_neighbors"] for p in found} == {3}


def test_a_gain_over_the_logarithm_of_rows_goes_on_by_half():
    params = [{"kernel__gamma": 0.1}, {"kernel__gamma": 1.0}, {"kernel__gamma": 9.0}]
    earlier = results(params[:2], [[0.70, 0.70], [0.60, 0.60]])
    now = results(params, [[0.72, 0.72], [0.70, 0.70], [0.5, 0.5]])
    expected = on_more_rows(now, earlier, (1000, 2000, 8000))  # two more doublings
    np.testing.assert_allclose(expected, [0.74, 0.80, 0.56])  # an unknown gain is the median one
    np.testing.assert_array_equal(on_more_rows(now, earlier, (1000, 2000, 2000)), [0.72, 0.70, 0.5])


def test_what_is_as_wide_and_far_behind_gets_no_more_rows():
    params = [{"metric": "none"}, {"metric": "full"}, {"metric": "diagonal"}]
    scores = [[0.70, 0.72, 0.71], [0.80, 0.82, 0.81], [0.79, 0.81, 0.80]]
    assert promising(results(params, scores), 1) == [params[1], params[2]]
    widths = [{"kernel__gamma": g} for g in (0.5, 1.0, 2.0)]
    assert promising(results(widths, [scores[1], scores[1], scores[0]]), 1) == widths[1:]


def test_where_nothing_was_scored_the_smoothest_is_taken():
    params = [{"lam": 1.0}, {"lam": 10.0}, {"lam": 0.1}]
    assert smoothest(results(params, [[np.nan, 0.5]] * 3)) == 1


def test_parameters_that_are_no_numbers_are_no_scale():
    trials = results([{"lam": "loo", "kernel__gamma": "scale"}, {"C": 10}], [[0.5], [0.4]])
    assert smoothest(trials) == 0
    assert promising(trials, 0) == [{"lam": "loo", "kernel__gamma": "scale"}, {"C": 10}]
    assert around(trials, 0) == [{"lam": "loo", "kernel__gamma": "scale"}]
    assert [p["C"] for p in around(trials, 1)] == pytest.approx([10, 10 / 3, 30])


@pytest.mark.parametrize("n", [1501, 1550, 1599, 1600, 1601, 1602, 1700, 2000, 5000])
def test_rounds_that_learned_from_no_more_rows_tell_nothing(n):
    """1,500 rows in five folds, then n rows of which a quarter is held out."""
    params = [{"kernel__gamma": 0.1}, {"kernel__gamma": 1.0}]
    earlier, now = results(params, [[0.7], [0.6]]), results(params, [[0.7], [0.65]])
    rows = (1200, int(0.75 * n), n)
    expected = on_more_rows(now, earlier, rows)
    assert np.isfinite(expected).all()
    assert expected[0] == 0.7
    assert expected[1] > 0.65 if rows[1] > rows[0] else expected[1] == 0.65
    assert smoothest(now, expected) in (0, 1)


# ---------------------------------------------------------------- samples
@pytest.mark.parametrize("n", [3, 20, 100, 1000])
def test_a_sample_has_every_class(n):
    y = np.array(["common"] * (n - 2) + ["rare"] * 2)
    for size in (1, n // 2, n, 2 * n):
        rows = sample_rows(n, size, y, 0)
        assert (np.diff(rows) > 0).all()
        assert set(y[rows]) == set(y)
        np.testing.assert_array_equal(rows, sample_rows(n, size, y, 0))
    assert len(sample_rows(1000, 200, None, 0)) == 200


# ---------------------------------------------------------------- whole searches
PLAN = Staged(first_rows=120)


def problem(n, classes, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 2))
    f = np.sin(2 * rows[:, 0]) + rows[:, 1] + 0.2 * rng.normal(size=n)
    return rows, (np.where(f > 0, "up", "down") if classes else f)


GRIDS = {
    "classes": (SVC(RBF()), {"C": [1.0, 10.0], "kernel__gamma": [0.03, 0.3, 3.0]}),
    "numbers": (KernelRidge(RBF(), lam=1.0), {"lam": [0.1, 1.0], "kernel__gamma": [0.1, 1.0]}),
}


@pytest.mark.parametrize("kind", GRIDS)
@pytest.mark.parametrize("n", [20, 120, 121, 150, 160, 161, 300])
def test_any_number_of_rows(n, kind):
    rows, y = problem(n, kind == "classes")
    search = KernelSearchCV(*GRIDS[kind], strategy=PLAN).fit(rows, y)
    table = search.cv_results_
    assert search.status_ == "complete"
    assert np.isfinite(table["mean_test_score"]).all()
    assert search.best_score_ == table["mean_test_score"][search.best_index_]
    assert search.best_params_ == table["params"][search.best_index_]
    assert len(search.predict(rows)) == n
    if n <= 120:
        assert set(table["iter"]) == {0}
        assert len(search.rows_) == n
        return
    assert np.bincount(table["iter"])[0] == len(ParameterGrid(GRIDS[kind][1]))
    assert table["iter"].max() == 2
    assert table["n_resources"].max() == n == len(search.rows_)
    trials = Trials.of(search)
    assert trials.comparable[search.best_index_]
    assert trials.folds[0] == 5
    assert trials.folds[-1] == search.n_splits_
    last = [table[f"split{i}_test_score"][-1] for i in range(search.n_splits_)]
    assert table["mean_test_score"][-1] == pytest.approx(np.mean(last))
    assert table["std_test_score"][-1] == pytest.approx(np.std(last))


def test_few_splits_of_many_rows_are_counted_as_such():
    rows, y = problem(400, classes=True)
    plan = Staged(first_rows=100, enough=150)
    search = KernelSearchCV(*GRIDS["classes"], strategy=plan, return_train_score=True).fit(rows, y)
    table = search.cv_results_
    assert search.n_splits_ == 2
    assert np.isnan(table["split4_test_score"][-1])
    assert np.isnan(table["split4_train_score"][-1])
    pair = [table["split0_test_score"][-1], table["split1_test_score"][-1]]
    assert table["mean_test_score"][-1] == pytest.approx(np.mean(pair))
    assert table["rank_test_score"].min() == 1


def test_the_same_rows_and_seed_give_the_same_choice():
    rows, y = problem(300, classes=False)
    first = tune("ridge", rows, y, strategy=PLAN, random_state=3)
    again = clone(first).fit(rows, y)
    assert again.best_params_ == first.best_params_
    assert again.cv_results_["params"] == first.cv_results_["params"]
    assert "on 120 to 300 rows" in first.report_


def test_without_narrower_rounds_tune_keeps_its_rounds():
    rows, y = problem(100, classes=True)
    search = tune("svc", rows, y, strategy="staged", time_limit=600.0)
    assert set(search.cv_results_["iter"]) == {0, 1}


@pytest.mark.parametrize("n", [4, 6, 8])
@pytest.mark.filterwarnings("ignore")
def test_a_handful_of_numbers(n):
    rows, y = problem(n, classes=False)
    assert np.isfinite(tune("ridge", rows, y, strategy="staged").predict(rows)).all()


def test_the_rows_of_the_rounds_are_those_of_the_plan():
    rows, y = problem(300, classes=True)
    plan = Staged(first_rows=120, more_rows=(200, 250))
    search = KernelSearchCV(*GRIDS["classes"], strategy=plan, refit=False).fit(rows, y)
    assert sorted(set(search.cv_results_["n_resources"])) == [120, 200, 250]
    one_more = replace(plan, more_rows=(200,))
    search = KernelSearchCV(*GRIDS["classes"], strategy=one_more, refit=False).fit(rows, y)
    assert sorted(set(search.cv_results_["n_resources"])) == [120, 200]
    assert len(search.rows_) == 200


@pytest.mark.filterwarnings("ignore:One or more of the test scores:UserWarning")
def test_ctrl_c_in_a_later_round_leaves_the_earlier_one():
    rows, y = problem(300, classes=True)
    calls = []

    def interrupts(model, rows_, y_):
        calls.append(1)
        if len(calls) > 31:  # the first round has 30 fits
            raise KeyboardInterrupt
        return float(np.mean(model.predict(rows_) == y_))

    search = KernelSearchCV(*GRIDS["classes"], strategy=PLAN, scoring=interrupts)
    with pytest.warns(UserWarning, match="interrupted"):
        search.fit(rows, y)
    assert search.status_ == "interrupted"
    assert len(search.rows_) == 120
    assert search.best_index_ < 6
    assert len(search.predict(rows)) == 300


def test_no_time_at_all_is_an_error():
    rows, y = problem(300, classes=True)
    with pytest.raises(TimeoutError, match="before any candidate"):
        KernelSearchCV(*GRIDS["classes"], strategy=PLAN, time_limit=1e-9).fit(rows, y)


@pytest.mark.filterwarnings("ignore")
def test_what_is_too_slow_for_the_sample_gets_a_third_of_it():
    rows, y = problem(300, classes=True)

    def slow(model, rows_, y_):
        time.sleep(0.3 if len(y_) > 20 else 0.0)
        return float(np.mean(model.predict(rows_) == y_))

    search = KernelSearchCV(*GRIDS["classes"], strategy=PLAN, scoring=slow, time_limit=0.9, cv=4)
    search.fit(rows, y)
    assert search.cv_results_.get("n_resources", np.array([len(search.rows_)]))[0] == 40


def test_groups_stay_together():
    rows, y = problem(300, classes=False)
    groups = np.arange(300) % 30
    seen = []

    class Watching(GroupKFold):
        def split(self, X, y=None, groups=None):
            seen.append(len(groups))
            return super().split(X, y, groups)

    estimator, grid = GRIDS["numbers"]
    search = KernelSearchCV(estimator, grid, strategy=PLAN, cv=Watching(3)).fit(
        rows, y, groups=groups
    )
    assert seen == [120]
    assert search.cv_results_["iter"].max() == 2


def test_splits_that_are_given_row_by_row_are_refused():
    rows, y = problem(40, classes=False)
    folds = list(KFold(2).split(rows))
    with pytest.raises(ValueError, match=r"staged.*cv"):
        KernelSearchCV(*GRIDS["numbers"], strategy="staged", cv=folds).fit(rows, y)


def test_several_scorers_need_one_that_decides():
    rows, y = problem(200, classes=True)
    several = {"strategy": PLAN, "scoring": ["accuracy", "f1_macro"]}
    search = KernelSearchCV(*GRIDS["classes"], refit="f1_macro", **several).fit(rows, y)
    assert search.best_score_ == search.cv_results_["mean_test_f1_macro"][search.best_index_]
    with pytest.raises(ValueError, match="refit= one of"):
        KernelSearchCV(*GRIDS["classes"], refit=False, **several).fit(rows, y)


def test_a_precomputed_matrix_is_cut_on_both_sides():
    rows, y = problem(200, classes=True)
    search = KernelSearchCV(SVC("precomputed"), {"C": [0.1, 1.0, 10.0]}, strategy=PLAN).fit(
        RBF(0.5)(rows), y
    )
    assert search.best_score_ > 0.8


# ---------------------------------------------------------------- the command
@pytest.mark.parametrize(("classes", "name"), [(True, "svm"), (False, "ridge")])
def test_python_takes_what_the_command_takes(classes, name):
    pytest.importorskip("polars")
    pytest.importorskip("typer")
    learn = pytest.importorskip("mercer.cli.learn")
    from mercer.cli.problem import TableProblem
    from mercer.cli.recipes import Effort, TableSize
    from mercer.cli.screen import Screen
    from mercer.tables import TableEncoder

    rows, y = problem(250, classes, seed=1)
    task = "classify" if classes else "regress"
    given = TableProblem(rows, y, "y", task, np.arange(len(y)))
    size = TableSize((180, 220), 1000)
    effort = Effort(120, {"square": size, "cube": size}, landmarks=10, values=1e9, steps=1e9)
    learner = learn.Learner(
        given, kernel=RBF(), effort=effort, limits=Limits(), seed=2, screen=Screen(quiet=True)
    )
    command = learner.learn(name).search
    encoded = TableEncoder().fit_transform(rows)
    plan = Staged(first_rows=120, more_rows=(180, 220))
    python = tune(command.estimator, encoded, y, strategy=plan, random_state=2)
    assert python.best_params_ == command.best_params_
    assert python.cv_results_["params"] == command.cv_results_["params"]
    np.testing.assert_array_equal(python.rows_, command.rows_)
