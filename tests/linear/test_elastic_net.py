"""The elastic net and coefficients ≥ 0: duality gaps, scikit-learn's coefficients, known cases."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import ElasticNet as Peer
from sklearn.linear_model import enet_path as peer_path

from mercer import ElasticNet, Lasso, Ridge, elastic_net_path, lasso_path
from tests.cases import sparse_table, table
from tests.compare import refuses
from tests.linear.test_lasso import planted
from tests.strategies import tables

SHAPES = [(60, 10), (30, 80), (500, 320)]
every_shape = pytest.mark.parametrize("shape", SHAPES)
either_sign = pytest.mark.parametrize("positive", [False, True])


def objective(X, y, model):
    """Return the objective of the textbook at the coefficients of a model."""
    r, w, rho = y - model.predict(X), model.coef_, model.l1_ratio
    penalty = rho * np.abs(w).sum() + 0.5 * (1 - rho) * w @ w
    return r @ r / (2 * len(y)) + model.lam * penalty


def lower_bound(X, y, model, weight=None):
    """Return a bound of the minimum, by the dual at the residual.

    What the slopes have beyond nλρ costs its square over nλ(1 − ρ); the lasso, which has no such
    price, takes the residual made so small that none has.
    """
    weight = np.ones(len(y)) if weight is None else weight / weight.mean()
    n, root = len(y), np.sqrt(weight)[:, None]
    A = root * (X - np.average(X, axis=0, weights=weight))
    t = root[:, 0] * (y - np.average(y, weights=weight))
    r = t - A @ model.coef_
    slopes = A.T @ r if model.positive else np.abs(A.T @ r)
    allowed, ridge = n * model.lam * model.l1_ratio, n * model.lam * (1 - model.l1_ratio)
    if ridge == 0:
        r = r * min(1.0, allowed / max(slopes.max(), 1e-300))
        return (t @ r - 0.5 * r @ r) / n
    excess = np.maximum(slopes - allowed, 0.0)
    return (t @ r - 0.5 * r @ r - 0.5 * excess @ excess / ridge) / n


@every_shape
@either_sign
@pytest.mark.parametrize("lam", [0.5, 0.01])
@pytest.mark.parametrize("ratio", [0.1, 0.9])
@pytest.mark.parametrize("intercept", [True, False])
def test_coefficients_are_those_of_scikit_learn(shape, positive, lam, ratio, intercept):
    X, y = planted(*shape)
    given = {"l1_ratio": ratio, "positive": positive, "fit_intercept": intercept}
    got = ElasticNet(lam, tol=1e-12, **given).fit(X, y)
    wanted = Peer(lam, tol=1e-13, max_iter=10**6, **given).fit(X, y)
    np.testing.assert_allclose(got.coef_, wanted.coef_, atol=1e-5)
    assert got.intercept_ == pytest.approx(wanted.intercept_, abs=1e-5)
    assert got.certificate_.ok


@every_shape
@either_sign
@pytest.mark.parametrize("ratio", [0.3, 1.0])
def test_a_bound_from_below_meets_the_objective(shape, positive, ratio):
    X, y = planted(*shape)
    model = ElasticNet(0.05, l1_ratio=ratio, positive=positive, tol=1e-9).fit(X, y)
    gap = objective(X, y, model) - lower_bound(X, y, model)
    assert -1e-12 <= gap <= 1e-8 * np.var(y)
    assert model.certificate_.gap <= 1e-9 * np.var(y) / 2


@every_shape
@either_sign
def test_the_conditions_of_a_minimum_hold(shape, positive):
    """xᵀr = nλ(ρ sign(w) + (1 − ρ)w) where w ≠ 0, and within ±nλρ elsewhere (or below)."""
    X, y = planted(*shape)
    lam, rho = 0.1, 0.6
    model = ElasticNet(lam, l1_ratio=rho, positive=positive, tol=1e-14).fit(X, y)
    w = model.coef_
    slopes = (X - X.mean(axis=0)).T @ (y - model.predict(X)) / len(y) - lam * (1 - rho) * w
    used = w != 0
    np.testing.assert_allclose(slopes[used], lam * rho * np.sign(w[used]), atol=1e-6)
    assert (slopes if positive else np.abs(slopes)).max() <= lam * rho * (1 + 1e-6)
    assert not positive or w.min() >= 0.0


@pytest.mark.parametrize("shape", SHAPES)
def test_a_ratio_of_0_is_ridge_regression(shape):
    X, y = planted(*shape)
    got = ElasticNet(0.05, l1_ratio=0.0, tol=1e-14).fit(X, y)
    wanted = Ridge(0.05 * len(y)).fit(X, y)
    np.testing.assert_allclose(got.coef_, wanted.coef_, atol=1e-7)
    assert got.certificate_.ok


def test_a_ratio_of_1_is_the_lasso():
    X, y = planted(50, 20)
    np.testing.assert_array_equal(
        ElasticNet(0.1, l1_ratio=1.0).fit(X, y).coef_, Lasso(0.1).fit(X, y).coef_
    )


def test_equal_columns_share_a_coefficient():
    X, y = planted(40, 5)
    model = ElasticNet(0.1, tol=1e-14).fit(np.hstack([X, X[:, :1], np.ones((40, 1))]), y)
    assert model.coef_[0] == pytest.approx(model.coef_[5], rel=1e-6)
    assert model.coef_[6] == 0.0


@either_sign
def test_weights_are_copies_of_rows(positive):
    X, y = planted(30, 6)
    counts = np.arange(30) % 3
    given = {"lam": 0.1, "positive": positive, "tol": 1e-14}
    got = ElasticNet(**given).fit(X, y, sample_weight=counts)
    wanted = ElasticNet(**given).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(got.coef_, wanted.coef_, atol=1e-8)
    used = counts > 0
    gap = lower_bound(X[used], y[used], got, counts[used].astype(float))
    assert got.certificate_.primal == pytest.approx(gap, rel=1e-8)


@either_sign
@pytest.mark.parametrize("shape", [(60, 12), (30, 500)])
def test_sparse_rows_give_what_dense_rows_give(shape, positive):
    X = sparse_table(*shape)
    y = X[:, [0]].toarray()[:, 0] + table(shape[0], 1, seed=2)[:, 0]
    given = {"lam": 0.02, "positive": positive, "tol": 1e-12}
    got, wanted = (ElasticNet(**given).fit(rows, y) for rows in (X, X.toarray()))
    np.testing.assert_allclose(got.coef_, wanted.coef_, atol=1e-6)
    assert got.certificate_.ok
    assert sp.issparse(X)


@either_sign
@pytest.mark.parametrize("unit", [1e-130, 1e-8, 1e8, 1e130])
def test_units_do_not_matter(positive, unit):
    X, y = planted(40, 8)
    given = {"l1_ratio": 0.5, "positive": positive, "tol": 1e-12}
    plain = ElasticNet(0.1, **given).fit(X, y)
    scaled = ElasticNet(0.1, **given).fit(X, y * unit, sample_weight=np.full(40, 3.0))
    assert scaled.certificate_.ok
    if unit > 1:  # the share of ‖w‖² does not change with the unit of y, that of ‖w‖₁ does
        assert np.abs(scaled.coef_ / unit).max() > np.abs(plain.coef_).max()
    both = ElasticNet(0.1 * unit**2, **given).fit(X * unit, y * unit)
    np.testing.assert_allclose(both.coef_, plain.coef_, atol=1e-6)  # a gap of 1e-12 allows it


@given(tables(), st.floats(0.0, 1.0), st.booleans())
def test_the_proof_holds_on_any_table(X, ratio, positive):
    y = np.sin(np.arange(len(X))) + X[:, 0]
    model = ElasticNet(0.1, l1_ratio=ratio, positive=positive).fit(X, y)
    assert model.certificate_.ok
    assert not positive or model.coef_.min() >= 0.0


def test_one_row_leaves_only_the_offset():
    model = ElasticNet().fit([[1.0, 2.0]], [5.0])
    assert (model.coef_.tolist(), model.intercept_) == ([0.0, 0.0], 5.0)


# ---------------------------------------------------------------- paths
@every_shape
@either_sign
def test_the_path_is_that_of_scikit_learn(shape, positive):
    X, y = planted(*shape)
    given = {"l1_ratio": 0.4, "positive": positive}
    path = elastic_net_path(X, y, n_lams=12, eps=1e-2, tol=1e-11, **given)
    _, coefs, _ = peer_path(X, y, alphas=path.lams, tol=1e-12, max_iter=10**6, **given)
    np.testing.assert_allclose(path.coefs, coefs, atol=1e-4)
    assert all(proof.ok for proof in path.certificates)
    np.testing.assert_array_equal(path.coefs[:, 0], 0.0)


def test_a_path_has_the_fits_of_its_lams():
    X, y = planted(40, 60)
    given = {"l1_ratio": 0.7, "positive": True, "tol": 1e-13}
    path = elastic_net_path(X, y, lams=[0.3, 0.05], fit_intercept=True, **given)
    for k, lam in enumerate(path.lams):
        model = ElasticNet(lam, **given).fit(X, y)
        np.testing.assert_allclose(path.coefs[:, k], model.coef_, atol=1e-7)
        assert path.intercepts[k] == pytest.approx(model.intercept_, abs=1e-7)


def test_the_lasso_path_can_be_positive():
    X, y = planted(40, 6)
    path = lasso_path(X, y, positive=True)
    assert path.coefs.min() >= 0.0
    assert all(proof.ok for proof in path.certificates)


def test_bad_ratios_are_refused():
    X, y = planted(20, 3)
    refuses(lambda: ElasticNet(l1_ratio=1.5).fit(X, y), ValueError, "l1_ratio")
    refuses(lambda: elastic_net_path(X, y, l1_ratio=-0.1), ValueError, "l1_ratio.*-0.1")
    refuses(lambda: elastic_net_path(X, y, l1_ratio=0.0), ValueError, "lams must be given")
