"""λ by leave-one-out: the formula against fitting n times, and the choice that follows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeCV
from sklearn.utils.estimator_checks import check_estimator

from mercer import KernelRidge, KernelRidgeClassifier
from mercer.kernels import RBF, FromFeatureMap, Laplacian, Linear, Sigmoid
from tests.cases import WORDS, letter_counts, sparse_table, table

X = table(24, 2)
Y = np.column_stack([np.sin(X[:, 0]) + 3.0, X[:, 1] ** 2])
WEIGHT = np.linspace(0.2, 2.5, 24)
LAMS = [1e-3, 0.1, 2.0, 50.0]


def left_out(model, rows, targets, weight):
    """Return the mean squared error at rows that were left out, by fitting n times."""
    errors = []
    for i in range(len(rows)):
        keep = np.arange(len(rows)) != i
        fitted = clone(model).fit(rows[keep], targets[keep], weight[keep])
        errors.append(np.mean((targets[i] - fitted.predict(rows[i : i + 1])) ** 2))
    return np.average(errors, weights=weight)


@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Linear(), Laplacian(gamma=1.0)], ids=repr)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("targets", [Y[:, 0], Y], ids=["one", "two"])
@pytest.mark.parametrize("weight", [np.ones(24), WEIGHT], ids=["equal", "weighted"])
def test_the_errors_are_those_of_n_fits(kernel, fit_intercept, targets, weight):
    model = KernelRidge(kernel, lam=LAMS, fit_intercept=fit_intercept).fit(X, targets, weight)
    wanted = [
        left_out(KernelRidge(kernel, lam=lam, fit_intercept=fit_intercept), X, targets, weight)
        for lam in LAMS
    ]
    np.testing.assert_allclose(model.loo_error_, wanted, rtol=1e-8)
    assert model.lam_ == LAMS[int(np.argmin(wanted))]
    np.testing.assert_array_equal(model.lams_, LAMS)


@settings(max_examples=15, deadline=None)
@given(
    n=st.integers(2, 12),
    seed=st.integers(0, 1000),
    lam=st.floats(1e-3, 1e3),
    fit_intercept=st.booleans(),
    repeated=st.booleans(),
)
def test_the_errors_of_any_sample_are_those_of_n_fits(n, seed, lam, fit_intercept, repeated):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 2))
    if repeated:
        rows[n // 2 :] = rows[: n - n // 2]
    y, weight = rng.normal(size=n), rng.uniform(0.1, 5.0, n)
    model = KernelRidge(RBF(gamma=0.5), lam=[lam], fit_intercept=fit_intercept)
    model.fit(rows, y, weight)
    wanted = left_out(model.set_params(lam=lam), rows, y, weight)
    np.testing.assert_allclose(model.loo_error_, [wanted], rtol=1e-7)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_linear_errors_are_those_of_scikit_learn(fit_intercept):
    model = KernelRidge("linear", lam=LAMS, fit_intercept=fit_intercept).fit(X, Y[:, 0])
    reference = RidgeCV(alphas=LAMS, fit_intercept=fit_intercept, store_cv_results=True)
    reference.fit(X, Y[:, 0])
    wanted = reference.cv_results_.reshape(24, len(LAMS)).mean(axis=0)
    np.testing.assert_allclose(model.loo_error_, wanted, rtol=1e-8)
    assert model.lam_ == reference.alpha_


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_generalised_cross_validation_by_its_formula(fit_intercept):
    kernel = RBF(gamma=0.3)
    model = KernelRidge(kernel, lam=LAMS, fit_intercept=fit_intercept).fit(X, Y, WEIGHT)
    for lam, found in zip(LAMS, model.gcv_error_, strict=True):
        single = KernelRidge(kernel, lam=lam, fit_intercept=fit_intercept)
        # the smoother, column by column: fitted values of unit targets
        H = single.fit(X, np.eye(24), WEIGHT).predict(X)
        residual = Y - H @ Y
        mean = np.average(np.mean(residual**2, axis=1), weights=WEIGHT)
        assert found == pytest.approx(mean / (1.0 - np.trace(H) / 24) ** 2, rel=1e-8)


# ---------------------------------------------------------------- the choice
@pytest.mark.parametrize("lam", ["loo", LAMS], ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_fit_is_that_of_the_chosen_number(lam, fit_intercept):
    model = KernelRidge(RBF(gamma=0.3), lam=lam, fit_intercept=fit_intercept).fit(X, Y, WEIGHT)
    again = KernelRidge(RBF(gamma=0.3), lam=model.lam_, fit_intercept=fit_intercept)
    again.fit(X, Y, WEIGHT)
    assert model.certificate_.ok
    np.testing.assert_allclose(model.predict(X), again.predict(X), rtol=1e-7)
    np.testing.assert_allclose(model.intercept_, again.intercept_, rtol=1e-7, atol=1e-9)
    assert again.lam_ == model.lam_


def noisy(n=60):
    rows = table(n, 2)
    return rows, np.sin(2.0 * rows[:, 0]) + 0.3 * np.random.default_rng(0).normal(size=n)


def test_the_grid_is_one_of_thirty_around_the_optimum():
    rows, y = noisy()
    model = KernelRidge(RBF(gamma=0.5), lam="loo").fit(rows, y)
    assert len(model.lams_) == len(model.loo_error_) == len(model.gcv_error_) == 30
    np.testing.assert_allclose(np.diff(np.log(model.lams_)), np.log(10.0) * 10 / 29)
    centred = RBF(gamma=0.5)(rows)
    centred -= centred.mean(axis=0)
    centred -= centred.mean(axis=1, keepdims=True)
    assert model.lams_[-1] == pytest.approx(10.0 * np.linalg.eigvalsh(centred)[-1])
    best = model.loo_error_.argmin()
    assert 0 < best < 29
    assert model.lam_ == model.lams_[best]


def test_the_grid_follows_the_scale_of_the_kernel_and_of_the_weights():
    rows, y = noisy()
    one = KernelRidge(RBF(gamma=0.5), lam="loo").fit(rows, y)
    large = KernelRidge(1e6 * RBF(gamma=0.5), lam="loo").fit(rows, y)
    heavy = KernelRidge(RBF(gamma=0.5), lam="loo").fit(rows, y, np.full(60, 1e6))
    for other in (large, heavy):
        np.testing.assert_allclose(other.lams_, 1e6 * one.lams_, rtol=1e-9)
        np.testing.assert_allclose(other.loo_error_, one.loo_error_, rtol=1e-6)


def test_the_grid_is_extended_below():
    rows = np.linspace(-1.0, 1.0, 40)[:, None]
    model = KernelRidge(RBF(gamma=1.0), lam="loo").fit(rows, np.exp(rows[:, 0]))  # no noise
    assert len(model.lams_) > 30
    assert (np.diff(model.lams_) > 0).all()
    assert model.loo_error_.min() < 1e-8


def test_the_grid_is_extended_above():
    y = np.where(np.arange(40) % 2 == 0, 1.0, -1.0)  # nothing to learn: the mean is best
    rows = np.linspace(-1.0, 1.0, 40)[:, None]
    model = KernelRidge(RBF(gamma=0.1), lam="loo").fit(rows, y)
    assert len(model.lams_) > 30
    np.testing.assert_allclose(model.predict(rows), 0.0, atol=0.01)


def test_weights_of_zero_are_left_out_of_the_errors_too():
    weight = np.ones(24)
    weight[::3] = 0.0
    model = KernelRidge(RBF(gamma=0.3), lam=LAMS).fit(X, Y, weight)
    without = KernelRidge(RBF(gamma=0.3), lam=LAMS).fit(X[weight > 0], Y[weight > 0])
    np.testing.assert_allclose(model.loo_error_, without.loo_error_, rtol=1e-10)
    np.testing.assert_allclose(model.gcv_error_, without.gcv_error_, rtol=1e-10)


def test_targets_far_from_zero_have_the_same_errors():
    near = KernelRidge(RBF(gamma=0.3), lam=LAMS).fit(X, Y)
    far = KernelRidge(RBF(gamma=0.3), lam=LAMS).fit(X, Y + 1e6)
    np.testing.assert_allclose(far.loo_error_, near.loo_error_, rtol=1e-6)


@pytest.mark.parametrize("constant", [0.0, 5.0])
def test_constant_targets_are_predicted_exactly(constant):
    model = KernelRidge(RBF(gamma=0.3), lam="loo").fit(X, np.full(24, constant))
    np.testing.assert_allclose(model.predict(X), constant, atol=1e-12)
    np.testing.assert_allclose(model.loo_error_, 0.0, atol=1e-20)


def test_rows_that_are_all_equal_are_left_out_as_a_mean():
    model = KernelRidge(RBF(gamma=1.0), lam=[1.0]).fit(np.ones((5, 2)), np.arange(5.0))
    np.testing.assert_allclose(model.loo_error_, [np.mean((5 / 4 * (np.arange(5.0) - 2)) ** 2)])


def test_an_indefinite_kernel_is_said_to_be_indefinite():
    with pytest.warns(ConvergenceWarning, match="not positive semidefinite"):
        model = KernelRidge(Sigmoid(scale=2.0, bias=-1.0), lam=[0.5, 1.0]).fit(X, Y)
    assert np.isfinite(model.predict(X)).all()


def test_sparse_rows_words_and_given_matrices():
    rows = sparse_table(24, 6)
    dense = KernelRidge(lam="loo").fit(rows.toarray(), Y)
    np.testing.assert_allclose(KernelRidge(lam="loo").fit(rows, Y).loo_error_, dense.loo_error_)
    K = RBF(gamma=0.3)(X)
    given, direct = KernelRidge("precomputed", lam=LAMS), KernelRidge(RBF(gamma=0.3), lam=LAMS)
    np.testing.assert_allclose(given.fit(K, Y).loo_error_, direct.fit(X, Y).loo_error_)
    lengths = np.array([float(len(word)) for word in WORDS])
    model = KernelRidge(FromFeatureMap(letter_counts), lam="loo").fit(WORDS, lengths)
    assert model.certificate_.ok


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_number_has_the_errors_of_a_list_of_one(fit_intercept):
    weight = np.random.default_rng(0).choice([0.0, 1.0, 2.5], len(X))
    model = KernelRidge(lam="loo", fit_intercept=fit_intercept).fit(X, Y, weight)
    model.set_params(lam=0.5).fit(X, Y, weight)
    listed = KernelRidge(lam=[0.5], fit_intercept=fit_intercept).fit(X, Y, weight)
    assert model.lam_ == 0.5
    np.testing.assert_array_equal(model.lams_, [0.5])
    np.testing.assert_allclose(model.loo_error_, listed.loo_error_, rtol=1e-8)
    np.testing.assert_allclose(model.gcv_error_, listed.gcv_error_, rtol=1e-8)


def test_errors_before_a_fit_and_without_ridge_are_refused():
    with pytest.raises(AttributeError, match="not fitted"):
        _ = KernelRidge().loo_error_
    with pytest.raises(AttributeError, match="lam=0"):
        _ = KernelRidge(lam=0.0).fit(X, Y).loo_error_


# ---------------------------------------------------------------- in company and bad input
REPETITION = {
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
}
"""Of a row that is repeated one copy is left out at a time: another error than that of a weight."""


@pytest.mark.parametrize(
    "model",
    [KernelRidge(lam="loo"), KernelRidge(lam=[0.1, 1.0]), KernelRidgeClassifier(lam="loo")],
    ids=repr,
)
def test_scikit_learn_objects_to_nothing_but_repetitions(model):
    results = check_estimator(model, on_fail=None, on_skip=None)
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    assert failed <= REPETITION


@pytest.mark.parametrize(
    "lam", [[], [1.0, 0.0], [-1.0], [np.nan], [[1.0]], [np.inf], ["a"], {"a": 1}]
)
def test_a_list_must_hold_positive_numbers(lam):
    with pytest.raises(ValueError, match=r"lam must be a list of finite numbers > 0; got"):
        KernelRidge(lam=lam).fit(X, Y)


@pytest.mark.parametrize("lam", ["gcv", None, -1.0])
def test_anything_else_is_refused(lam):
    with pytest.raises(ValueError, match="'lam' parameter of KernelRidge"):
        KernelRidge(lam=lam).fit(X, Y)


def test_one_row_cannot_be_left_out():
    with pytest.raises(ValueError, match="at least two rows of positive weight"):
        KernelRidge(lam="loo").fit(X[:1], Y[:1])
    alone = KernelRidge(RBF(gamma=1.0), lam=[1.0], fit_intercept=False).fit(X[:1], [3.0])
    np.testing.assert_allclose(alone.loo_error_, [9.0])  # nothing is left: f = 0


def test_the_budget_is_respected():
    with pytest.raises(MemoryError, match=r"leave-one-out needs .* 9\.22 kB; the budget is 5 kB"):
        KernelRidge(lam="loo", memory="5kB").fit(X, Y)
