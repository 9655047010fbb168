"""Kernel ridge regression: two forms of one problem, weights that repeat, honest warnings."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn import kernel_ridge
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_predict

from mercer import KernelRidge, rkhs_norm
from mercer.kernels import RBF, FromFeatureMap, Linear, Polynomial, Sigmoid
from tests.cases import WORDS, letter_counts, table

X, NEW = table(40, 2), table(9, 2, seed=1)
Y = np.sin(X[:, 0]) + X[:, 1] ** 2 + 3.0


def explicit(rows):
    """Return the features of (x·y + 1)²."""
    a, b = rows.T
    r = 2**0.5
    return np.column_stack([np.ones(len(rows)), r * a, r * b, a * a, b * b, r * a * b])


# ---------------------------------------------------------------- primal and dual
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("lam", [1e-3, 1.0, 100.0])
def test_the_dual_solution_is_the_primal_one_with_explicit_features(lam, fit_intercept):
    dual = KernelRidge(Polynomial(degree=2), lam=lam, fit_intercept=fit_intercept).fit(X, Y)
    primal = Ridge(alpha=lam, fit_intercept=fit_intercept).fit(explicit(X), Y)
    np.testing.assert_allclose(dual.predict(NEW), primal.predict(explicit(NEW)), rtol=1e-8)
    # w = Φᵀα, and ‖f‖ in the RKHS is ‖w‖
    np.testing.assert_allclose(explicit(X).T @ dual.dual_coef_, primal.coef_, atol=1e-8)
    norm = rkhs_norm(Polynomial(degree=2), X, dual.dual_coef_)
    assert norm == pytest.approx(np.linalg.norm(primal.coef_), rel=1e-6)


def test_a_feature_map_gives_the_same_as_its_kernel():
    by_kernel = KernelRidge(Polynomial(degree=2)).fit(X, Y).predict(NEW)
    by_map = KernelRidge(FromFeatureMap(lambda x: explicit(x[None])[0])).fit(X, Y).predict(NEW)
    np.testing.assert_allclose(by_map, by_kernel, rtol=1e-9)


REFERENCES = {
    "rbf": (RBF(gamma=0.3), {"kernel": "rbf", "gamma": 0.3}),
    "polynomial": (
        Polynomial(degree=3, scale=0.5, bias=1.0),
        {"kernel": "polynomial", "degree": 3, "gamma": 0.5, "coef0": 1.0},
    ),
    "linear": (Linear(), {"kernel": "linear"}),
    "laplacian": ("laplacian", {"kernel": "laplacian"}),
}


@pytest.mark.parametrize(("kernel", "options"), REFERENCES.values(), ids=REFERENCES.keys())
@pytest.mark.parametrize("lam", [0.01, 1.0])
@pytest.mark.parametrize("targets", [Y, np.column_stack([Y, X[:, 0]])], ids=["one", "two"])
def test_without_an_intercept_it_equals_scikit_learn(kernel, options, lam, targets):
    model = KernelRidge(kernel, lam=lam, fit_intercept=False).fit(X, targets)
    if isinstance(kernel, str):
        options = {**options, "gamma": model.kernel_.gamma}
    reference = kernel_ridge.KernelRidge(alpha=lam, **options).fit(X, targets)
    np.testing.assert_allclose(model.predict(NEW), reference.predict(NEW), rtol=1e-8)
    np.testing.assert_allclose(model.dual_coef_, reference.dual_coef_, rtol=1e-6, atol=1e-9)


def test_sample_weights_equal_those_of_scikit_learn():
    weights = np.linspace(0.1, 3.0, 40)
    model = KernelRidge(RBF(gamma=0.3), fit_intercept=False).fit(X, Y, weights)
    reference = kernel_ridge.KernelRidge(alpha=1.0, kernel="rbf", gamma=0.3)
    reference.fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(model.predict(NEW), reference.predict(NEW), rtol=1e-9)


def test_the_objective_is_least_at_the_solution():
    """J(α, b) = Σ w(y − Kα − b)² + λ αᵀKα is convex: no step makes it smaller."""
    weights = np.linspace(0.5, 2.0, 40)
    model = KernelRidge(RBF(gamma=0.3), lam=0.7).fit(X, Y, weights)
    K = RBF(gamma=0.3)(X)

    def objective(alpha, b):
        return weights @ (Y - K @ alpha - b) ** 2 + 0.7 * alpha @ K @ alpha

    least = objective(model.dual_coef_, model.intercept_)
    rng = np.random.default_rng(0)
    for size in (1e-3, 0.1, 1.0):
        step = size * rng.normal(size=41)
        assert objective(model.dual_coef_ + step[:40], model.intercept_ + step[40]) > least


# ---------------------------------------------------------------- weights
@pytest.mark.parametrize("kernel", ["rbf", RBF(gamma=0.3), "linear"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_weight_is_a_repetition(kernel, fit_intercept):
    counts = np.arange(40) % 4
    weighted = KernelRidge(kernel, fit_intercept=fit_intercept).fit(X, Y, counts)
    repeated = KernelRidge(kernel, fit_intercept=fit_intercept)
    repeated.fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts))
    np.testing.assert_allclose(weighted.predict(NEW), repeated.predict(NEW), rtol=1e-8)


def test_a_weight_of_zero_is_no_row():
    weights = np.ones(40)
    weights[::3] = 0.0
    wild = np.where(weights == 0, 1e9, Y)
    model = KernelRidge().fit(X, wild, weights)
    without = KernelRidge().fit(X[weights > 0], Y[weights > 0])
    np.testing.assert_allclose(model.predict(NEW), without.predict(NEW), rtol=1e-9)
    assert (model.dual_coef_[::3] == 0.0).all()


def test_a_weight_of_zero_in_a_precomputed_matrix():
    weights = np.ones(40)
    weights[::3] = 0.0
    K, K_new = RBF(gamma=0.3)(X), RBF(gamma=0.3)(NEW, X)
    given = KernelRidge("precomputed").fit(K, Y, weights)
    direct = KernelRidge(RBF(gamma=0.3)).fit(X, Y, weights)
    np.testing.assert_allclose(given.predict(K_new), direct.predict(NEW), rtol=1e-9)


def test_all_weights_times_two_is_half_the_penalty():
    heavy = KernelRidge(RBF(gamma=0.3), lam=1.0).fit(X, Y, np.full(40, 2.0))
    light = KernelRidge(RBF(gamma=0.3), lam=0.5).fit(X, Y)
    np.testing.assert_allclose(heavy.predict(NEW), light.predict(NEW), rtol=1e-10)


# ---------------------------------------------------------------- targets
def test_many_targets_are_many_machines():
    targets = np.column_stack([Y, X[:, 0], X[:, 1] ** 3])
    together = KernelRidge().fit(X, targets)
    alone = np.column_stack([KernelRidge().fit(X, y).predict(NEW) for y in targets.T])
    np.testing.assert_allclose(together.predict(NEW), alone, atol=1e-10)
    assert together.dual_coef_.shape == (40, 3)
    assert together.intercept_.shape == (3,)


def test_the_shape_of_the_answer_is_that_of_the_targets():
    assert KernelRidge().fit(X, Y).predict(NEW).shape == (9,)
    assert KernelRidge().fit(X, Y[:, None]).predict(NEW).shape == (9, 1)
    assert isinstance(KernelRidge().fit(X, Y).intercept_, float)


@pytest.mark.parametrize("constant", [0.0, 1.0, 0.1, -1e5])
def test_constant_targets_are_predicted_without_complaint(constant):
    model = KernelRidge().fit(X, np.full(40, constant))
    np.testing.assert_allclose(model.predict(NEW), constant, rtol=1e-9, atol=1e-12)


def test_a_shift_of_the_targets_is_a_shift_of_the_answers():
    near, far = KernelRidge().fit(X, Y), KernelRidge().fit(X, Y + 1e5)
    np.testing.assert_allclose(far.predict(NEW), near.predict(NEW) + 1e5, rtol=1e-11)


def test_a_large_penalty_leaves_the_mean():
    predictions = KernelRidge(lam=1e12).fit(X, Y).predict(NEW)
    np.testing.assert_allclose(predictions, Y.mean(), rtol=1e-8)


def test_one_row_is_its_own_mean():
    model = KernelRidge().fit(X[:1], [3.0])
    np.testing.assert_allclose(model.predict(NEW), 3.0)


def test_words_predict_as_their_features_do():
    lengths = np.array([float(len(word)) for word in WORDS])
    model = KernelRidge(FromFeatureMap(letter_counts), lam=0.1).fit(WORDS, lengths)
    counts = np.array([letter_counts(word) for word in WORDS], dtype=float)
    primal = Ridge(alpha=0.1).fit(counts, lengths)
    new = ["word", "sentence"]
    wanted = primal.predict(np.array([letter_counts(word) for word in new], dtype=float))
    np.testing.assert_allclose(model.predict(new), wanted, rtol=1e-8)


# ---------------------------------------------------------------- honesty
def test_an_indefinite_kernel_is_solved_with_a_warning():
    with pytest.warns(ConvergenceWarning, match="KernelRidge: the kernel is not positive semi"):
        model = KernelRidge(Sigmoid(scale=2.0, bias=-1.0), lam=1e-3).fit(X, Y)
    assert np.isfinite(model.predict(NEW)).all()
    assert model.status_ == "indefinite"


@pytest.mark.parametrize("kernel", ["rbf", "linear", Polynomial(degree=2)])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_contradictions_without_a_penalty_are_finite_and_admitted(kernel, fit_intercept):
    rows, targets = np.vstack([X[:8]] * 2), np.concatenate([Y[:8], -Y[:8]])
    with pytest.warns(ConvergenceWarning, match="raise lam or remove duplicated points"):
        model = KernelRidge(kernel, lam=0.0, fit_intercept=fit_intercept).fit(rows, targets)
    # y and −y at the same points: the best function is zero
    np.testing.assert_allclose(model.predict(X[:8]), 0.0, atol=1e-5)
    assert not model.certificate_.ok


def test_without_a_penalty_the_linear_kernel_is_least_squares():
    targets = 2.0 * X[:, 0] - X[:, 1] + 5.0  # consistent: the solution of least norm is exact
    model = KernelRidge("linear", lam=0.0).fit(X, targets)
    np.testing.assert_allclose(model.predict(NEW), 2.0 * NEW[:, 0] - NEW[:, 1] + 5.0, atol=1e-8)


def test_least_squares_that_does_not_fit_is_admitted_and_still_least_squares():
    with pytest.warns(ConvergenceWarning):
        model = KernelRidge("linear", lam=0.0).fit(X, Y)
    wanted = LinearRegression().fit(X, Y).predict(NEW)
    np.testing.assert_allclose(model.predict(NEW), wanted, rtol=1e-7)


def test_rows_that_are_all_equal():
    model = KernelRidge().fit(np.ones((5, 2)), np.arange(5.0))
    np.testing.assert_allclose(model.predict(np.ones((1, 2))), 2.0)


def test_a_kernel_that_overflows_is_an_error_and_not_nan():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with pytest.raises(ValueError, match=r"not finite: the kernel overflows on X; rescale X"):
            KernelRidge(Linear().exp()).fit(1e3 * X, Y)


def test_the_certificate_names_the_system():
    certificate = KernelRidge().fit(X, Y).certificate_
    assert certificate.kind == "relative residual"
    assert certificate.value <= certificate.tolerance
    assert certificate.condition_estimate >= 1.0
    assert "40 points" in certificate.about


# ---------------------------------------------------------------- in company
def test_a_grid_search_over_the_parameters_of_the_kernel():
    grid = {"kernel__gamma": [0.01, 0.3, 10.0], "lam": [0.01, 1.0]}
    search = GridSearchCV(KernelRidge(RBF(gamma=1.0)), grid, cv=4).fit(X, Y)
    best = search.best_params_
    by_hand = KernelRidge(RBF(gamma=best["kernel__gamma"]), lam=best["lam"]).fit(X, Y)
    np.testing.assert_array_equal(search.predict(NEW), by_hand.predict(NEW))
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])


def test_cross_validated_predictions_of_words():
    words = [*WORDS, *(word[::-1] + "x" for word in WORDS)]
    lengths = np.array([float(len(word)) for word in words])
    model = KernelRidge(FromFeatureMap(letter_counts), lam=1e-6)
    predictions = cross_val_predict(model, words, lengths, cv=3)
    assert predictions.shape == (14,)
