"""The lasso: a duality gap for every λ, scikit-learn's coefficients, planted supports."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso as Peer
from sklearn.linear_model import lasso_path as peer_path

from mercer import ElasticNet, Lasso, lasso_path
from mercer._limits import Limits
from mercer.linear._lasso import GramSet
from mercer.linear.lasso import LassoDesign
from tests.cases import sparse_table, table
from tests.compare import refuses
from tests.strategies import tables

SHAPES = [(60, 10), (30, 80), (40, 400), (500, 320)]
every_shape = pytest.mark.parametrize("shape", SHAPES)


def planted(n, d, seed=0, correlation=0.5):
    """Return correlated rows and targets that three columns explain."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, 1))
    X = rng.normal(size=(n, d)) + correlation * common
    return X, 3.0 * X[:, 0] - 2.0 * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=n) + 1.0


def true_gap(X, y, w, b, lam):
    """Return the gap of the textbook: any θ with |Xᵀθ| ≤ λ bounds the minimum from below."""
    n, r = len(y), y - X @ w - b
    primal = r @ r / (2 * n) + lam * np.abs(w).sum()
    theta = r / n * min(1.0, n * lam / max(np.abs(X.T @ r).max(), 1e-300))
    return primal - (y - y.mean() * (b != 0)) @ theta + n * theta @ theta / 2


@every_shape
@pytest.mark.parametrize("lam", [0.5, 0.05, 0.005])
@pytest.mark.parametrize("intercept", [True, False])
def test_coefficients_are_those_of_scikit_learn(shape, lam, intercept):
    X, y = planted(*shape)
    got = Lasso(lam, fit_intercept=intercept, tol=1e-10).fit(X, y)
    wanted = Peer(lam, fit_intercept=intercept, tol=1e-10, max_iter=10**6).fit(X, y)
    np.testing.assert_allclose(got.coef_, wanted.coef_, atol=2e-4)
    np.testing.assert_allclose(got.predict(X), wanted.predict(X), atol=2e-4)
    assert got.certificate_.ok


@every_shape
def test_the_gap_is_recomputed_and_small(shape):
    X, y = planted(*shape)
    X = X - X.mean(axis=0)
    for lam in (0.5, 0.02):
        model = Lasso(lam, tol=1e-8).fit(X, y)
        null = np.var(y) / 2
        assert true_gap(X, y, model.coef_, model.intercept_, lam) <= 1.1e-8 * null
        assert model.certificate_.gap <= 1e-8 * null


@every_shape
def test_the_conditions_of_a_minimum_hold(shape):
    """xᵀr = nλ sign(w) where w ≠ 0, and |xᵀr| ≤ nλ elsewhere."""
    X, y = planted(*shape)
    lam = 0.1
    model = Lasso(lam, tol=1e-12).fit(X, y)
    slopes = (X - X.mean(axis=0)).T @ (y - model.predict(X)) / len(y)
    used = model.coef_ != 0
    np.testing.assert_allclose(slopes[used], lam * np.sign(model.coef_[used]), atol=1e-6)
    assert np.abs(slopes).max() <= lam * (1 + 1e-6)


def test_orthonormal_columns_are_shrunk_one_by_one():
    """There the solution is known: soft thresholding of Xᵀy."""
    Q = np.linalg.qr(table(20, 6))[0]
    y = table(20, 1, seed=1)[:, 0]
    z, lam = Q.T @ y, 0.01
    wanted = np.sign(z) * np.maximum(np.abs(z) - 20 * lam, 0.0)
    got = Lasso(lam, fit_intercept=False).fit(Q, y).coef_
    np.testing.assert_allclose(got, wanted, atol=1e-13)


def test_a_planted_support_is_found():
    X, y = planted(200, 1000, correlation=0.0)
    assert np.flatnonzero(Lasso(0.3).fit(X, y).coef_).tolist() == [0, 1, 2]


def test_the_largest_lam_has_no_coefficients_and_the_next_has_one():
    X, y = planted(50, 8)
    top = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() / 50
    assert not Lasso(top * (1 + 1e-9)).fit(X, y).coef_.any()
    assert np.count_nonzero(Lasso(top * 0.99).fit(X, y).coef_) == 1


# ---------------------------------------------------------------- paths
@every_shape
def test_the_path_is_that_of_scikit_learn(shape):
    X, y = planted(*shape)
    path = lasso_path(X, y, n_lams=20, tol=1e-9)
    lams, coefs, _ = peer_path(X, y, alphas=path.lams, tol=1e-9, max_iter=10**6)
    np.testing.assert_allclose(path.lams, lams)
    np.testing.assert_allclose(X @ path.coefs, X @ coefs, atol=1e-3)
    assert all(proof.ok for proof in path.certificates)


def test_the_lams_of_a_path_are_those_of_scikit_learn():
    X, y = planted(40, 6)
    np.testing.assert_allclose(lasso_path(X, y).lams, peer_path(X, y)[0], rtol=1e-12)
    assert len(lasso_path(X, y, n_lams=7, eps=0.1).lams) == 7


def test_a_path_has_the_fits_of_its_lams():
    X, y = planted(40, 60)
    path = lasso_path(X, y, lams=[0.3, 0.05], fit_intercept=True, tol=1e-10)
    for k, lam in enumerate(path.lams):
        model = Lasso(lam, tol=1e-10).fit(X, y)
        np.testing.assert_allclose(path.coefs[:, k], model.coef_, atol=1e-8)
        assert path.intercepts[k] == pytest.approx(model.intercept_, abs=1e-8)


def test_a_path_unpacks_as_that_of_scikit_learn():
    lams, coefs, gaps = lasso_path(*planted(30, 5), n_lams=9)
    assert (lams.shape, coefs.shape, gaps.shape) == ((9,), (5, 9), (9,))
    assert (np.diff(lams) < 0).all()


def test_a_column_as_long_as_the_rows_are_many_is_one_problem():
    """Steps on inner products and steps on residuals end at the same point."""
    X, y = planted(40, 400)
    rows = LassoDesign.of(X, y, np.ones(40), True)
    by_gram = GramSet(rows.columns, rows.y)
    by_residual = rows.working_set()
    assert type(by_gram) is not type(by_residual)
    for work in (by_gram, by_residual):
        work.solve(4.0, float(np.abs(work.b).max()), 1e-12, Limits())
    np.testing.assert_allclose(by_gram.coef(), by_residual.coef(), atol=1e-7)


# ---------------------------------------------------------------- rows of many kinds
@pytest.mark.parametrize("shape", [(60, 12), (30, 500)])
@pytest.mark.parametrize("intercept", [True, False])
def test_sparse_rows_give_what_dense_rows_give(shape, intercept):
    X = sparse_table(*shape)
    y = X[:, [0]].toarray()[:, 0] + table(shape[0], 1, seed=2)[:, 0]
    weight = np.random.default_rng(1).random(shape[0])
    sparse, dense = (
        Lasso(0.02, fit_intercept=intercept, tol=1e-10).fit(rows, y, weight)
        for rows in (X, X.toarray())
    )
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-7)
    assert sparse.certificate_.ok
    path = lasso_path(sp.csc_array(X), y, n_lams=5, tol=1e-10)
    wanted = lasso_path(X.toarray(), y, n_lams=5, tol=1e-10)
    np.testing.assert_allclose(path.coefs, wanted.coefs, atol=1e-5)


def test_weights_are_repetitions():
    X, y = planted(30, 6)
    weight = np.random.default_rng(0).integers(0, 4, 30)
    again = np.repeat(np.arange(30), weight)
    weighted, repeated = Lasso(0.1).fit(X, y, weight), Lasso(0.1).fit(X[again], y[again])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-10)


@given(X=tables(max_rows=8), lam=st.floats(1e-3, 1.0), seed=st.integers(0, 1000))
def test_every_small_table_is_proved(X, lam, seed):
    y = np.random.default_rng(seed).normal(size=len(X))
    model = Lasso(lam).fit(X, y)
    assert model.certificate_.ok
    assert model.certificate_.primal >= model.certificate_.dual - 1e-12


@pytest.mark.parametrize("unit", [1e150, 1e-150])
def test_units_do_not_matter(unit):
    X, y = planted(30, 4)
    plain, scaled = Lasso(0.1).fit(X, y), Lasso(0.1 * unit).fit(X * unit, y)
    np.testing.assert_allclose(scaled.coef_ * unit, plain.coef_, rtol=1e-7)


@pytest.mark.parametrize("X", [table(1, 2), table(2, 400), np.full((5, 2), 0.1)], ids=len)
def test_degenerate_rows_have_clean_fits(X):
    model = Lasso(0.01).fit(X, np.arange(float(len(X))))
    assert np.isfinite(model.coef_).all()
    assert model.certificate_.ok


def test_repeated_and_constant_columns_are_no_trouble():
    X, y = planted(50, 5)
    model = Lasso(0.1).fit(np.hstack([X, X, np.ones((50, 2))]), y)
    once = Lasso(0.1).fit(X, y)
    np.testing.assert_allclose(model.coef_[:5] + model.coef_[5:10], once.coef_, atol=1e-4)
    assert not model.coef_[10:].any()


@pytest.mark.parametrize("lam", [1.0, 1e-3])
@pytest.mark.parametrize("d", [4, 30])
def test_columns_far_from_0_are_nearly_alike_and_no_trouble(d, lam):
    X = 4096.0 + table(60, d, seed=1)
    y = np.sin(X[:, 0]) + X[:, 1] - 4096.0
    assert Lasso(lam, fit_intercept=False).fit(X, y).certificate_.ok


def test_few_sweeps_are_said():
    X, y = planted(40, 400)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = Lasso(0.001, max_iter=1, tol=1e-12).fit(X, y)
    assert not model.certificate_.ok


# ---------------------------------------------------------------- cut short
@every_shape
@pytest.mark.parametrize("count", [0, 1, 3, 6])
@pytest.mark.parametrize("place", ["_proof", "_descend", "add"])
def test_an_interrupt_keeps_the_best_so_far(shape, place, count, monkeypatch):
    X, y = planted(*shape)
    kind = type(LassoDesign.of(X, y, np.ones(len(y)), True).working_set())
    function, calls = getattr(kind, place), iter(range(10**9))

    def impatient(*args):
        answer, call = function(*args), next(calls)
        if call == count:
            raise KeyboardInterrupt
        return answer

    monkeypatch.setattr(kind, place, impatient)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = Lasso(0.02, tol=1e-9).fit(X, y)
    rows, r = X - X.mean(axis=0), y - model.predict(X)
    gap = true_gap(rows, y, model.coef_, y.mean(), 0.02)
    primal = r @ r / (2 * len(y)) + 0.02 * np.abs(model.coef_).sum()
    assert model.certificate_.primal == pytest.approx(primal)
    assert model.certificate_.gap == pytest.approx(gap, abs=1e-8)
    assert model.status_ in ("interrupted", "optimal")
    assert (model.status_ == "interrupted") == bool(said)
    assert primal <= np.var(y) / 2 * (1 + 1e-12)  # never worse than no coefficients


def test_an_interrupt_ends_a_path(monkeypatch):
    X, y = planted(60, 10)
    proof, calls = GramSet._proof, iter(range(10**9))

    def impatient(work, lam):
        if next(calls) == 4:
            raise KeyboardInterrupt
        return proof(work, lam)

    whole = lasso_path(X, y, n_lams=10)
    monkeypatch.setattr(GramSet, "_proof", impatient)
    with pytest.warns(ConvergenceWarning, match="of 10 λ.*not reached: interrupted"):
        path = lasso_path(X, y, n_lams=10)
    m = len(path.lams)
    assert 1 <= m < 10
    np.testing.assert_array_equal(path.coefs[:, : m - 1], whole.coefs[:, : m - 1])
    assert len(path.gaps) == len(path.intercepts) == len(path.statuses) == m


def test_no_time_is_said():
    X, y = planted(40, 400)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = Lasso(0.001, time_limit=0.0).fit(X, y)
    assert model.status_ == "time_limit"
    assert not model.certificate_.ok
    with pytest.warns(ConvergenceWarning, match="99 not reached: stopped at time_limit"):
        path = lasso_path(X, y, time_limit=0.0)
    assert len(path.lams) == 1
    assert lasso_path(X, y, n_lams=3, time_limit=60.0).certificates[-1].ok


def test_bad_input_is_named():
    X, y = planted(10, 3)
    refuses(lambda: Lasso(0.0).fit(X, y), ValueError, "lam")
    refuses(lambda: lasso_path(X, y, lams=[-1.0]), ValueError, "lams")
    refuses(lambda: lasso_path(X, y, eps=2.0), ValueError, "eps")
    refuses(lambda: lasso_path(X, y, tol=0.0), ValueError, "tol")
    refuses(lambda: lasso_path(X, y, time_limit=-1.0), ValueError, "time_limit")


@pytest.mark.parametrize("model", [Lasso(0.05), ElasticNet(0.05), Lasso(0.05, positive=True)])
@pytest.mark.parametrize("shape", [(200, 50), (60, 500)])
def test_a_warm_start_leads_to_the_same_answer_sooner(model, shape):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape)
    y = X[:, :10] @ rng.normal(size=10) + 0.1 * rng.normal(size=shape[0])
    tight = {"tol": 1e-10, "lam": 0.04}
    warm = clone(model).set_params(warm_start=True).fit(X, y).set_params(**tight).fit(X, y)
    cold = clone(model).set_params(**tight).fit(X, y)
    np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-4)
    assert warm.certificate_.ok
    assert warm.n_iter_ < cold.n_iter_
    assert warm.fit(X, y).n_iter_ == 1
    assert warm.dual_gap_ == warm.certificate_.parts["gap"]
    np.testing.assert_array_equal(warm.sparse_coef_.toarray()[0], warm.coef_)
    refuses(lambda: warm.fit(X[:, 1:], y), ValueError, "warm_start=True goes on from")


@pytest.mark.parametrize("model", [Lasso(0.05), ElasticNet(0.05), Lasso(0.05, fit_intercept=False)])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_several_targets_are_as_many_problems(model, kind):
    rng = np.random.default_rng(0)
    X = sparse_table(60, 12).toarray()
    Y = X @ rng.normal(size=(12, 3)) + rng.normal(size=(60, 3)) + [5.0, 0.0, -100.0]
    weight = rng.uniform(0.5, 2.0, 60)
    model = clone(model).set_params(tol=1e-12).fit(kind(X), Y, weight)
    each = [clone(model).fit(X, y, weight) for y in Y.T]
    np.testing.assert_allclose(model.coef_, [one.coef_ for one in each], atol=1e-8)
    np.testing.assert_allclose(model.predict(X), np.transpose([e.predict(X) for e in each]))
    assert model.certificate_.ok
    assert model.dual_gap_.shape == model.n_iter_.shape == (3,)
    np.testing.assert_array_equal(model.sparse_coef_.toarray(), model.coef_)
    one_column = clone(model).fit(X, Y[:, :1], weight)
    np.testing.assert_array_equal(one_column.coef_, each[0].coef_[None])
    np.testing.assert_allclose(one_column.dual_gap_, [each[0].dual_gap_])


def test_a_warm_start_of_several_targets():
    X = table(60, 5)
    Y = X[:, :2] + 0.1 * table(60, 2, seed=1)
    model = Lasso(0.01, warm_start=True).fit(X, Y)
    np.testing.assert_array_equal(model.fit(X, Y).n_iter_, 1)
    refuses(lambda: model.fit(X, Y[:, 0]), ValueError, "2 target.*1 target")
