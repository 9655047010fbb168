"""Coefficients ≥ 0 of least squares and ridge, and a penalty for each target."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls
from sklearn.linear_model import LinearRegression as PeerRegression
from sklearn.linear_model import Ridge as PeerRidge

from mercer import LinearRegression, Ridge
from tests.cases import table
from tests.compare import refuses
from tests.linear.test_lasso import planted
from tests.strategies import tables

SHAPES = [(60, 10), (30, 80), (200, 40)]
every_shape = pytest.mark.parametrize("shape", SHAPES)


def two_targets(n, d):
    X, y = planted(n, d)
    return X, np.column_stack([y, X[:, 2] - y])


# ---------------------------------------------------------------- coefficients ≥ 0
@every_shape
@pytest.mark.parametrize("intercept", [True, False])
def test_least_squares_are_those_of_lawson_and_hanson(shape, intercept):
    X, Y = two_targets(*shape)
    got = LinearRegression(positive=True, fit_intercept=intercept).fit(X, Y)
    wanted = PeerRegression(positive=True, fit_intercept=intercept).fit(X, Y)
    np.testing.assert_allclose(got.predict(X), wanted.predict(X), atol=1e-8)
    assert got.coef_.min() >= 0.0
    assert got.certificate_.ok


@every_shape
@pytest.mark.parametrize("lam", [1e-3, 1.0, 100.0])
def test_ridge_is_least_squares_of_a_longer_table(shape, lam):
    X, y = planted(*shape)
    got = Ridge(lam, positive=True, fit_intercept=False).fit(X, y)
    longer = np.vstack([X, lam**0.5 * np.eye(X.shape[1])])
    wanted = nnls(longer, np.append(y, np.zeros(X.shape[1])))[0]
    np.testing.assert_allclose(got.coef_, wanted, atol=1e-9)
    assert got.certificate_.ok


def test_ridge_is_that_of_scikit_learn():
    X, y = planted(60, 8)
    got = Ridge(2.0, positive=True).fit(X, y)
    wanted = PeerRidge(2.0, positive=True, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(got.coef_, wanted.coef_, atol=1e-5)


@pytest.mark.parametrize("model", [LinearRegression(positive=True), Ridge(0.5, positive=True)])
def test_weights_are_copies_of_rows(model):
    X, y = planted(40, 6)
    counts = np.arange(40) % 3
    got = model.fit(X, y, sample_weight=counts).coef_
    wanted = model.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts)).coef_
    np.testing.assert_allclose(got, wanted, atol=1e-10)


@pytest.mark.parametrize("model", [LinearRegression(positive=True), Ridge(0.5, positive=True)])
def test_sparse_rows_give_what_dense_rows_give(model):
    X, y = planted(40, 6)
    X[np.abs(X) < 0.5] = 0.0
    got = model._fit(sp.csr_array(X), y, dense=0)  # as a large one
    assert got.certificate.ok
    np.testing.assert_allclose(
        model.coef_,
        type(model)(positive=True).set_params(**model.get_params()).fit(X, y).coef_,
        atol=1e-10,
    )


@pytest.mark.parametrize("unit", [1e-120, 1e-6, 1e6, 1e120])
def test_units_of_columns_and_targets_do_not_matter(unit):
    X, y = planted(40, 6)
    scales = np.where(np.arange(6) % 2 == 0, unit, 1.0)
    plain = LinearRegression(positive=True).fit(X, y)
    mixed = LinearRegression(positive=True).fit(X * unit, y)
    np.testing.assert_allclose(mixed.coef_ * unit, plain.coef_, rtol=1e-9)
    np.testing.assert_allclose(
        LinearRegression(positive=True).fit(X, y * unit).coef_, plain.coef_ * unit, rtol=1e-9
    )
    if 1e-10 < unit < 1e10:
        each = LinearRegression(positive=True).fit(X * scales, y)
        np.testing.assert_allclose(each.coef_ * scales, plain.coef_, rtol=1e-7, atol=1e-12)


@given(tables(), st.sampled_from([0.0, 0.1]))
def test_the_proof_holds_on_any_table(X, lam):
    y = np.sin(np.arange(len(X))) + X[:, 0]
    model = Ridge(lam, positive=True).fit(X, y)
    assert model.certificate_.ok
    assert model.coef_.min() >= 0.0


def test_constant_and_equal_columns():
    X, y = planted(30, 4)
    X = np.hstack([X, X[:, :1], np.ones((30, 1))])
    model = LinearRegression(positive=True).fit(X, y)
    assert model.certificate_.ok
    assert model.coef_[5] == 0.0
    plain = LinearRegression(positive=True).fit(X[:, :4], y)
    np.testing.assert_allclose(model.predict(X), plain.predict(X[:, :4]), atol=1e-10)


def test_what_has_no_answer_is_refused():
    X, y = planted(20, 3)
    refuses(
        lambda: LinearRegression(norm="l1", positive=True).fit(X, y), ValueError, "positive.*norm"
    )
    refuses(lambda: Ridge("loo", positive=True).fit(X, y), ValueError, "lam must be a number")
    refuses(lambda: Ridge(positive=True).fit(X, y).loo_error_, AttributeError, "positive")


# ---------------------------------------------------------------- a penalty for each target
@every_shape
def test_each_target_has_the_fit_of_its_penalty(shape):
    X, Y = two_targets(*shape)
    model = Ridge([0.5, 20.0], per_target=True).fit(X, Y)
    wanted = PeerRidge(alpha=[0.5, 20.0], solver="cholesky").fit(X, Y)
    np.testing.assert_allclose(model.coef_, wanted.coef_, atol=1e-8)
    np.testing.assert_allclose(model.intercept_, wanted.intercept_, atol=1e-8)
    assert model.certificate_.ok
    assert model.lam_.tolist() == [0.5, 20.0]
    alone = [Ridge(lam).fit(X, y).loo_error_[0] for lam, y in zip([0.5, 20.0], Y.T, strict=True)]
    np.testing.assert_allclose(model.loo_error_, alone, rtol=1e-8)


def test_each_target_takes_the_best_penalty_of_all_that_were_tried():
    X, Y = two_targets(40, 30)
    Y[:, 1] = table(40, 1, seed=9)[:, 0]
    model = Ridge("loo", per_target=True).fit(X, Y)
    for t, y in enumerate(Y.T):
        one = Ridge(model.lams_).fit(X, y)
        assert model.lam_[t] == one.lam_
        np.testing.assert_allclose(model.coef_[t], one.coef_, atol=1e-9)
    assert model.lam_[0] != model.lam_[1]


def test_a_large_sparse_table_has_a_penalty_for_each_target():
    X, Y = two_targets(60, 10)
    sparse = Ridge([0.5, 20.0], per_target=True)
    assert sparse._fit(sp.csr_array(X), Y, dense=0).certificate.ok
    dense = Ridge([0.5, 20.0], per_target=True).fit(X, Y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-8)


def test_positive_with_a_penalty_for_each_target():
    X, Y = two_targets(60, 10)
    model = Ridge([0.5, 20.0], per_target=True, positive=True).fit(X, Y)
    for lam, y, coef in zip([0.5, 20.0], Y.T, model.coef_, strict=True):
        np.testing.assert_allclose(coef, Ridge(lam, positive=True).fit(X, y).coef_, atol=1e-10)


def test_a_wrong_number_of_penalties_is_refused():
    X, Y = two_targets(20, 3)
    refuses(
        lambda: Ridge([1.0, 2.0, 3.0], per_target=True).fit(X, Y),
        ValueError,
        "each of the 2 targets",
    )
    refuses(lambda: Ridge([1.0, -2.0], per_target=True).fit(X, Y), ValueError, "λ ≥ 0")
