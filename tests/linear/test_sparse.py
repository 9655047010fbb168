"""Sparse tables give what dense ones give, whether they are made dense or stay sparse."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge as Peer

from mercer import LinearRegression, PenaltyRegression, Ridge
from mercer.linear._sparse import DENSE_ENTRIES
from tests.cases import sparse_table, table
from tests.compare import refuses

SHAPES = [(60, 8), (200, 30), (9, 4)]
every_shape = pytest.mark.parametrize("shape", SHAPES)
both_intercepts = pytest.mark.parametrize("intercept", [True, False])


both_routes = pytest.mark.parametrize("dense", [DENSE_ENTRIES, 0], ids=["made dense", "sparse"])


def fitted(model, *rows, dense):
    """Fit a model that makes sparse tables dense up to so many entries; its proof must hold."""
    assert model._fit(*rows, dense=dense).status.ok
    return model


def data(shape, targets=1):
    X, rng = sparse_table(*shape), np.random.default_rng(2)
    Y = X @ rng.normal(size=(shape[1], targets)) + rng.standard_t(3, size=(shape[0], targets)) + 1.0
    weight = rng.integers(0, 4, shape[0]).astype(float)
    weight[:2] = 1.0
    return X, Y if targets > 1 else Y[:, 0], weight


def assert_same(sparse, dense, X, atol):
    np.testing.assert_allclose(sparse.predict(X), dense.predict(X.toarray()), atol=atol)


@every_shape
@both_routes
@both_intercepts
@pytest.mark.parametrize("targets", [1, 2])
def test_least_squares(dense, shape, intercept, targets):
    X, Y, weight = data(shape, targets)
    sparse, twin = (
        fitted(LinearRegression(fit_intercept=intercept), rows, Y, weight, dense=dense)
        for rows in (X, X.toarray())
    )
    assert_same(sparse, twin, X, 1e-9)
    if np.linalg.matrix_rank(X[np.flatnonzero(weight)].toarray()) == shape[1]:
        np.testing.assert_allclose(sparse.coef_, twin.coef_, atol=1e-8)


@every_shape
@both_routes
@both_intercepts
@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_linear_programs_have_the_same_value(dense, shape, intercept, norm):
    X, y, weight = data(shape)
    sparse, twin = (
        fitted(LinearRegression(norm=norm, fit_intercept=intercept), rows, y, weight, dense=dense)
        for rows in (X, X.toarray())
    )
    used = weight > 0
    sizes = [np.abs(y - model.predict(X))[used] for model in (sparse, twin)]
    value = (lambda r: weight[used] @ r) if norm == "l1" else np.max
    assert value(sizes[0]) == pytest.approx(value(sizes[1]), rel=1e-7, abs=1e-9)


@every_shape
@both_routes
@both_intercepts
@pytest.mark.parametrize("lam", [1.0, 1e-3, 0.0])
def test_ridge(dense, shape, intercept, lam):
    X, y, weight = data(shape)
    sparse, twin = (
        fitted(Ridge(lam, fit_intercept=intercept), rows, y, weight, dense=dense)
        for rows in (X, X.toarray())
    )
    assert_same(sparse, twin, X, 1e-8)
    if lam:
        np.testing.assert_allclose(sparse.coef_, twin.coef_, atol=1e-8)
        wanted = Peer(lam, fit_intercept=intercept).fit(X.toarray(), y, weight)
        np.testing.assert_allclose(sparse.coef_, wanted.coef_, atol=1e-7)


@both_routes
@pytest.mark.parametrize("unit", [1e150, 1e-150])
def test_units_do_not_matter(dense, unit):
    X, y, weight = data((60, 8))
    for model in (LinearRegression(), LinearRegression(norm="linf")):
        plain = fitted(model, X, y, weight, dense=dense).predict(X)
        scaled = fitted(model, X * unit, y, weight, dense=dense).predict(X * unit)
        np.testing.assert_allclose(scaled, plain, atol=1e-7)


@both_routes
def test_columns_that_are_empty_constant_or_repeated(dense):
    X, y, _ = data((60, 6))
    more = sp.csr_array(sp.hstack([X, X[:, :1], sp.csr_array((60, 1)), np.ones((60, 1))]))
    for model in (LinearRegression(), LinearRegression(norm="l1"), Ridge(1e-9)):
        once, again = (fitted(model, rows, y, dense=dense).predict(rows) for rows in (X, more))
        np.testing.assert_allclose(again, once, atol=1e-6)
        assert np.isfinite(model.coef_).all()


def test_large_tables_are_never_made_dense():
    X = sp.random_array((30_000, 20_000), density=2e-5, rng=np.random.default_rng(0), format="csr")
    y = X @ np.ones(20_000) + table(30_000, 1)[:, 0]
    model = Ridge(1.0).fit(X, y)
    centred = y - y.mean()
    mean = np.asarray(X.mean(axis=0)).ravel()
    r = y - model.predict(X)
    slope = X.T @ r - mean * r.sum() - model.coef_
    assert np.linalg.norm(slope) <= 1e-7 * np.linalg.norm(X.T @ centred)
    assert model.certificate_.ok
    refuses(lambda: model.loo_error_, AttributeError, "too large to be decomposed")
    refuses(lambda: Ridge("loo").fit(X, y), ValueError, "lam must be a number")
    refuses(
        lambda: PenaltyRegression().fit(sp.vstack([X] * 60).tocsr(), np.tile(y, 60)),
        MemoryError,
        "takes",
    )


def test_leave_one_out_errors_are_those_of_the_dense_table():
    X, y, weight = data((60, 8))
    for lam in (1.0, [0.1, 1.0], "loo"):
        sparse, dense = (Ridge(lam).fit(rows, y, weight) for rows in (X, X.toarray()))
        np.testing.assert_allclose(sparse.loo_error_, dense.loo_error_, rtol=1e-9)


@pytest.mark.parametrize("penalty", ["huber", "absolute", "squared", "log_barrier"])
def test_penalties(penalty):
    X, y, weight = data((60, 8))
    sparse, dense = (
        PenaltyRegression(penalty).fit(rows, y / 30.0, weight) for rows in (X, X.toarray())
    )
    assert_same(sparse, dense, X, 1e-9)
