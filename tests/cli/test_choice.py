"""Which candidate is taken."""

from __future__ import annotations

import numpy as np

from mercer.cli.choice import smoothest


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
