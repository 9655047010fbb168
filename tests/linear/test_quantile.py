"""Quantile regression: shares of targets below, gaps, scikit-learn's and statsmodels' optima."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import QuantileRegressor as Peer

from mercer import LinearRegression, QuantileRegression
from tests.compare import refuses
from tests.strategies import tables

SHAPES = [(60, 5), (200, 12), (30, 80)]
every_shape = pytest.mark.parametrize("shape", SHAPES)
every_quantile = pytest.mark.parametrize("q", [0.05, 0.5, 0.8])


def skewed(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, 2.0 * X[:, 0] - X[:, 1] + rng.standard_t(2, size=n) + 3.0


def objective(X, y, model, weight=None):
    r, q = y - X @ model.coef_ - model.intercept_, model.q
    mean = np.average(np.maximum(q * r, (q - 1) * r), weights=weight)
    return mean + model.lam * np.abs(model.coef_).sum()


@every_shape
@every_quantile
@pytest.mark.parametrize("lam", [0.0, 1e-4, 0.02, 0.3])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_objective_is_the_least_one(shape, q, lam, intercept):
    X, y = skewed(*shape)
    weight = 1.0 + np.arange(len(y)) % 3
    model = QuantileRegression(q, lam=lam, fit_intercept=intercept).fit(X, y, sample_weight=weight)
    peer = Peer(quantile=q, alpha=lam, fit_intercept=intercept).fit(X, y, sample_weight=weight)
    peer.q, peer.lam = q, lam
    wanted = objective(X, y, peer, weight)
    assert objective(X, y, model, weight) == pytest.approx(wanted, rel=1e-9, abs=1e-12)
    assert model.certificate_.ok


@every_quantile
def test_coefficients_are_those_of_scikit_learn_where_there_is_one_solution(q):
    X, y = skewed(151, 4)
    for lam in (0.0, 0.05):
        got = QuantileRegression(q, lam=lam).fit(X, y)
        wanted = Peer(quantile=q, alpha=lam).fit(X, y)
        np.testing.assert_allclose(got.coef_, wanted.coef_, atol=1e-7)
        assert got.intercept_ == pytest.approx(wanted.intercept_, abs=1e-7)


def test_the_objective_is_not_above_that_of_statsmodels():
    """Its reweighted least squares end close to the minimum, never below it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sm = pytest.importorskip("statsmodels.api")
        X, y = skewed(121, 3)
        fit = sm.QuantReg(y, np.column_stack([X, np.ones(121)])).fit(q=0.7, max_iter=10_000)
    model = QuantileRegression(0.7).fit(X, y)
    here = objective(X, y, model)
    model.coef_, model.intercept_ = fit.params[:3], fit.params[3]
    assert here <= objective(X, y, model) <= 1.001 * here


@every_quantile
def test_a_share_of_q_lies_below(q):
    X, y = skewed(400, 3)
    r = y - QuantileRegression(q).fit(X, y).predict(X)
    assert np.mean(r < -1e-9) <= q <= np.mean(r <= 1e-9)


def test_the_median_is_the_fit_of_least_absolute_errors():
    X, y = skewed(101, 4)
    got, wanted = QuantileRegression().fit(X, y), LinearRegression(norm="l1").fit(X, y)
    np.testing.assert_allclose(got.coef_, wanted.coef_, atol=1e-9)


def test_quantiles_turn_round_with_the_targets():
    X, y = skewed(101, 4)
    up, down = QuantileRegression(0.2).fit(X, y), QuantileRegression(0.8).fit(X, -y)
    np.testing.assert_allclose(up.coef_, -down.coef_, atol=1e-9)


def test_a_large_penalty_leaves_the_quantile_of_the_targets():
    X, y = skewed(101, 4)
    model = QuantileRegression(0.3, lam=100.0).fit(X, y)
    assert not model.coef_.any()
    assert model.intercept_ == pytest.approx(np.quantile(y, 0.3, method="inverted_cdf"), abs=1e-8)


def test_a_penalty_makes_coefficients_zero():
    X, y = skewed(100, 20)
    counts = [
        np.count_nonzero(QuantileRegression(lam=lam).fit(X, y).coef_) for lam in (0.0, 0.05, 0.2)
    ]
    assert counts[0] == 20
    assert 20 > counts[1] > counts[2]


@every_shape
@pytest.mark.parametrize("lam", [0.0, 0.05])
def test_large_sparse_rows_have_the_same_objective(shape, lam):
    X, y = skewed(*shape)
    X[np.abs(X) < 0.5] = 0.0
    dense, sparse = (QuantileRegression(0.7, lam=lam) for _ in range(2))
    assert sparse._fit(sp.csr_array(X), y, dense=0).certificate.ok
    wanted = objective(X, y, dense.fit(X, y))
    assert objective(X, y, sparse) == pytest.approx(wanted, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("unit", [1e-130, 1e-6, 1e6, 1e130])
@pytest.mark.parametrize("lam", [0.0, 0.05])
def test_units_do_not_matter(unit, lam):
    X, y = skewed(61, 3)
    plain = QuantileRegression(0.7, lam=lam).fit(X, y)
    target = QuantileRegression(0.7, lam=lam).fit(X, y * unit)
    np.testing.assert_allclose(target.coef_ / unit, plain.coef_, atol=1e-8)
    column = QuantileRegression(0.7, lam=lam * unit).fit(X * unit, y)
    np.testing.assert_allclose(column.coef_ * unit, plain.coef_, atol=1e-8)
    assert target.certificate_.ok
    assert column.certificate_.ok


def test_weights_are_copies_of_rows():
    X, y = skewed(41, 2)
    counts = np.arange(41) % 3
    for lam in (0.0, 0.03):
        got = QuantileRegression(0.37, lam=lam).fit(X, y, sample_weight=counts)
        copies = np.repeat(X, counts, axis=0), np.repeat(y, counts)
        wanted = QuantileRegression(0.37, lam=lam).fit(*copies)
        assert objective(*copies, got) == pytest.approx(objective(*copies, wanted), rel=1e-10)


@given(tables(), st.sampled_from([0.1, 0.5, 0.75]), st.sampled_from([0.0, 0.01]))
def test_the_proof_holds_on_any_table(X, q, lam):
    y = np.sin(np.arange(len(X))) + X[:, 0]
    assert QuantileRegression(q, lam=lam).fit(X, y).certificate_.ok


def test_constant_and_equal_columns():
    X, y = skewed(40, 3)
    X = np.hstack([X, X[:, :1], np.ones((40, 1))])
    for lam in (0.0, 0.05):
        model = QuantileRegression(0.6, lam=lam).fit(X, y)
        assert model.certificate_.ok
        assert model.coef_[4] == pytest.approx(0.0, abs=1e-12)


def test_constant_targets_and_one_row():
    X, _ = skewed(10, 3)
    for lam in (0.0, 0.1):
        model = QuantileRegression(0.6, lam=lam).fit(X, np.full(10, 2.0))
        np.testing.assert_allclose(model.predict(X), 2.0)
        assert QuantileRegression(0.6, lam=lam).fit(X[:1], [5.0]).predict(X[:1]) == 5.0


def test_bad_quantiles_are_refused():
    X, y = skewed(20, 3)
    refuses(lambda: QuantileRegression(1.0).fit(X, y), ValueError, "'q'")
    refuses(lambda: QuantileRegression(lam=-1.0).fit(X, y), ValueError, "'lam'")
