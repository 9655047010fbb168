"""Which candidate is taken."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("polars")
pytest.importorskip("typer")

from mercer.cli.choice import around, on_more_rows, promising, smoothest
from mercer.cli.learn import Learner


def results(params, folds):
    folds = np.array(folds, dtype=float)  # (candidates, folds)
    columns = {f"split{k}_test_score": folds[:, k] for k in range(folds.shape[1])}
    mean, std = folds.mean(axis=1), folds.std(axis=1)
    return {**columns, "params": params, "mean_test_score": mean, "std_test_score": std}


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


@pytest.mark.parametrize(
    ("task", "linear", "taken"),
    [
        ("classify", 0.8535, "svm"),  # half of a standard error on 2,000 rows is 0.4 points
        ("classify", 0.870, "logistic"),
        ("classify", 0.800, "svm"),
        ("regress", 0.851, "logistic"),
    ],
)
def test_another_model_must_be_better_by_more_than_chance(task, linear, taken):
    learner = object.__new__(Learner)
    learner.problem = type("Rows", (), {"task": task, "__len__": lambda self: 5000})()
    scored = {"svm": 0.850, "logistic": linear}
    assert (
        learner._best([SimpleNamespace(name=n, score=s) for n, s in scored.items()]).name == taken
    )
