"""Class probabilities: they agree with the predictions and with held-out frequencies."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.metrics import brier_score_loss
from sklearn.preprocessing import scale

from mercer import SVC
from mercer.machines._pairs import agree, couple_pairs, fit_slopes
from tests.cases import two_classes

WINE, KINDS = load_wine(return_X_y=True)
WINE = scale(WINE)[:, :3]


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_the_likeliest_class_is_the_predicted_one(multiclass):
    model = SVC(probability=True, multiclass=multiclass).fit(WINE[::2], KINDS[::2])
    P = model.predict_proba(WINE)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert (P >= 0).all()
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(WINE))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(WINE)), P)


def test_probabilities_of_two_classes_rise_with_the_decision_and_are_calibrated():
    rows, sign = two_classes(400)
    new, new_sign = two_classes(2000, seed=1)
    model = SVC(probability=True).fit(rows, sign)
    p, f = model.predict_proba(new)[:, 1], model.decision_function(new)
    assert (np.diff(p[np.argsort(f)]) >= -1e-12).all()
    np.testing.assert_array_equal(p > 0.5, model.predict(new) > 0)
    assert brier_score_loss(new_sign > 0, p) < 0.25 * 0.75
    likely = (p > 0.7) & (p < 0.9)
    assert np.mean(new_sign[likely] > 0) == pytest.approx(p[likely].mean(), abs=0.1)


def test_without_probability_there_is_no_such_method():
    assert not hasattr(SVC(), "predict_proba")


@given(st.integers(3, 5), st.integers(0, 2**16))
def test_coupled_pairs_are_a_distribution_that_agrees(k, seed):
    rng = np.random.default_rng(seed)
    pairs = list(combinations(range(k), 2))
    R = rng.choice([0.0, 0.5, 1.0, rng.random()], size=(6, len(pairs)))
    predicted = rng.integers(0, k, 6)
    P = agree(couple_pairs(R, pairs, k), predicted)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert (P >= 0).all()
    np.testing.assert_array_equal(P.argmax(axis=1), predicted)


@given(st.integers(3, 5), st.integers(0, 2**16))
def test_consistent_pairs_give_back_their_distribution(k, seed):
    p = np.random.default_rng(seed).dirichlet(np.full(k, 2.0))
    pairs = list(combinations(range(k), 2))
    R = np.array([[p[i] / (p[i] + p[j]) for i, j in pairs]])
    np.testing.assert_allclose(couple_pairs(R, pairs, k)[0], p, atol=1e-6)


def test_slopes_are_positive():
    rng = np.random.default_rng(0)
    assert (fit_slopes(rng.normal(size=50), np.sign(rng.normal(size=50)), np.ones(50)) > 0).all()


def test_a_solve_that_runs_out_of_time_leaves_some_for_the_probabilities(monkeypatch):
    # the clock stands still but for the solve, which takes all that it is given
    X, y = two_classes(400)
    now, solve = [0.0], SVC._solve

    def greedy(self, training, limits, *given):
        solved = solve(self, training, limits, *given)
        now[0] = limits.deadline + 1e-9
        return solved

    monkeypatch.setattr("mercer._limits.time.monotonic", lambda: now[0])
    monkeypatch.setattr(SVC, "_solve", greedy)
    hurried = SVC(probability=True, time_limit=10.0).fit(X, y)
    assert now[0] < 10.0
    np.testing.assert_allclose(hurried.slopes_, SVC(probability=True).fit(X, y).slopes_)


def test_without_any_held_out_value_a_probability_is_the_logistic_function():
    values, sign = np.full(6, np.nan), np.array([1.0, -1.0] * 3)
    assert fit_slopes(values, sign, np.ones(6)).tolist() == [1.0, 1.0]


def test_probabilities_of_a_machine_that_was_fitted_without_them():
    """The parameter came after the fit: nothing is known of probabilities yet."""
    X = np.array([[-1.0], [-0.5], [0.5], [1.0]])
    model = SVC().fit(X, [0, 0, 1, 1]).set_params(probability=True)
    for method in (model.predict_proba, model.predict_log_proba):
        with pytest.raises(NotFittedError, match="not fitted with probability=True: fit it again"):
            method(X)


@pytest.mark.parametrize("k", [2, 3, 6])
def test_agreement_is_the_nearest_with_the_predicted_class_ahead(k):
    """Twin: pool the predicted class with those above their mean, one after the other."""
    rng = np.random.default_rng(k)
    P = rng.dirichlet(np.ones(k), size=200)
    predicted = rng.integers(k, size=200)
    found = agree(P, predicted)
    assert (found.argmax(axis=1) == predicted).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    for row, own, got in zip(P, predicted, found, strict=True):
        if row.argmax() == own:
            np.testing.assert_array_equal(got, row)
            continue
        pool = [own]
        for c in np.argsort(-row):
            if c != own and row[c] > row[pool].mean():
                pool.append(c)
        wanted = row.copy()
        wanted[pool] = row[pool].mean()
        np.testing.assert_allclose(got, wanted, atol=2e-9)
