"""Kernel ridge in the span of landmarks: against normal equations, against all rows, its proof."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import KernelRidge, KernelRidgeClassifier, KernelSearchCV
from mercer.kernels import RBF, Laplacian, Linear, Polynomial
from mercer.solvers import ridge_landmarks


def problem(n=300, d=3, targets=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    f = np.sin(2 * X[:, 0]) + X[:, -1] + 5.0
    return X, f if targets is None else np.column_stack([f * (k + 1) for k in range(targets)])


def normal_equations(kernel, X, Z, y, weight, lam):
    """Solve for β and b by the plain system (KᵀWK + λ k(Z, Z), KᵀW1; 1ᵀWK, 1ᵀW1)."""
    K, core = kernel(X, Z), kernel(Z, Z)
    one = np.ones((len(X), 1))
    D = np.hstack([K, one])
    M = D.T @ (weight[:, None] * D)
    M[:-1, :-1] += lam * core
    solved = np.linalg.lstsq(M, D.T @ (weight * y), rcond=None)[0]
    return solved[:-1], solved[-1]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 99), m=st.integers(1, 25), lam=st.sampled_from([1e-2, 1.0, 30.0]))
def test_it_is_the_minimum_in_the_span(seed, m, lam):
    X, y = problem(80, seed=seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, size=len(y))
    model = KernelRidge(Laplacian(gamma=0.5), lam=lam, landmarks=m, random_state=seed)
    model.fit(X, y, weight)
    Z = X[model.landmark_indices_]
    beta, b = normal_equations(Laplacian(gamma=0.5), X, Z, y, weight, lam)
    new = problem(20, seed=seed + 1)[0]
    np.testing.assert_allclose(model.predict(new), Laplacian(gamma=0.5)(new, Z) @ beta + b, 1e-6)
    assert model.certificate_.ok
    assert len(model.dual_coef_) == m


@pytest.mark.parametrize("kernel", [RBF(gamma=0.5), Linear(), Polynomial(degree=2)])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_where_the_landmarks_span_all_it_is_the_whole_solution(kernel, fit_intercept):
    X, y = problem(45, 2)
    X = np.vstack([X, X])  # a row that is no landmark has a copy that is one
    y = np.concatenate([y, y + 0.1])
    options = {"lam": 0.3, "fit_intercept": fit_intercept}
    whole = KernelRidge(kernel, **options).fit(X, y)
    some = KernelRidge(kernel, landmarks=89, random_state=1, **options).fit(X, y)
    np.testing.assert_allclose(some.predict(X), whole.predict(X), rtol=1e-6)
    assert some.certificate_.ok
    assert some.certificate_.trace_error < 1e-8


def test_as_many_landmarks_as_rows_are_none():
    X, y = problem(50)
    model = KernelRidge(landmarks=50, lam="loo").fit(X, y)
    assert model.landmark_indices_ is None
    np.testing.assert_array_equal(model.predict(X), KernelRidge(lam="loo").fit(X, y).predict(X))


def test_blocks_change_nothing(monkeypatch):
    X, y = problem(300, targets=2)
    model = KernelRidge(RBF(gamma=0.3), landmarks=40, random_state=0)
    whole = model.fit(X, y).predict(X)
    monkeypatch.setattr(ridge_landmarks, "BLOCK_VALUES", 40 * 7)
    np.testing.assert_allclose(model.fit(X, y).predict(X), whole, rtol=1e-9)


def test_several_targets_are_several_problems():
    X, Y = problem(200, targets=3)
    model = KernelRidge(RBF(gamma=0.3), landmarks=30, random_state=0)
    together = model.fit(X, Y).predict(X)
    for k in range(3):
        np.testing.assert_allclose(model.fit(X, Y[:, k]).predict(X), together[:, k], rtol=1e-8)


def test_rows_of_weight_zero_are_no_rows():
    X, y = problem(200)
    weight = np.repeat([1.0, 0.0], 100)
    y[100:] = 1e6
    model = KernelRidge(RBF(gamma=0.3), landmarks=30, random_state=0)
    without = model.fit(X[:100], y[:100]).predict(X)
    np.testing.assert_allclose(model.fit(X, y, weight).predict(X), without, rtol=1e-10)


def test_a_precomputed_matrix():
    X, y = problem(120)
    kernel = RBF(gamma=0.3)
    new = problem(15, seed=5)[0]
    by_rows = KernelRidge(kernel, landmarks=20, random_state=0).fit(X, y)
    by_matrix = KernelRidge("precomputed", landmarks=20, random_state=0).fit(kernel(X), y)
    np.testing.assert_allclose(by_matrix.predict(kernel(new, X)), by_rows.predict(new), rtol=1e-9)


@pytest.mark.parametrize("lam", [0.0, 1e-12])
def test_without_a_penalty_it_interpolates_what_the_span_allows(lam):
    X, y = problem(100)
    model = KernelRidge(RBF(gamma=0.5), lam=lam, landmarks=20, random_state=0).fit(X, y)
    Z = X[model.landmark_indices_]
    K = np.hstack([RBF(gamma=0.5)(X, Z), np.ones((100, 1))])
    best = np.linalg.lstsq(K, y, rcond=None)[0]
    np.testing.assert_allclose(model.predict(X), K @ best, rtol=1e-5)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_units_of_the_target_do_not_matter(scale):
    X, y = problem(200)
    model = KernelRidge(RBF(gamma=0.3), lam=0.1, landmarks=30, random_state=0)
    one = model.fit(X, y).predict(X)
    np.testing.assert_allclose(model.fit(X, scale * y).predict(X), scale * one, rtol=1e-9)
    assert model.certificate_.ok


def test_classes():
    X, f = problem(400)
    y = np.where(f > 5.5, "high", np.where(f > 4.5, "middle", "low"))
    model = KernelRidgeClassifier(RBF(gamma=0.3), lam=0.1, landmarks=80, random_state=0).fit(X, y)
    whole = KernelRidgeClassifier(RBF(gamma=0.3), lam=0.1).fit(X, y)
    assert np.mean(model.predict(X) == whole.predict(X)) > 0.97


def test_the_seed_repeats_the_draw():
    X, y = problem(200)
    first, again, other = (
        KernelRidge(landmarks=20, random_state=seed).fit(X, y).landmark_indices_
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_what_cannot_be_had_is_said():
    X, y = problem(100)
    with pytest.raises(ValueError, match="landmarks need a number as lam"):
        KernelRidge(lam="loo", landmarks=20).fit(X, y)
    with pytest.raises(AttributeError, match="no leave-one-out error with landmarks"):
        _ = KernelRidge(landmarks=20).fit(X, y).loo_error_


def test_a_search_fits_the_model_that_is_meant():
    X, y = problem(150)
    grid = {"lam": [0.1, 1.0], "kernel__gamma": [0.1, 1.0]}
    few = KernelSearchCV(KernelRidge(RBF(), landmarks=10, random_state=0), grid).fit(X, y)
    assert few.route_ == "ordinary cross-validation: landmarks stand for the rows"
    many = KernelSearchCV(KernelRidge(RBF(), landmarks=120, random_state=0), grid).fit(X, y)
    assert many.route_ == "shared Gram matrix"  # a fold has 120 rows to learn from
    assert few.best_score_ < many.best_score_
