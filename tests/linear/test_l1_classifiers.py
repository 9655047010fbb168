"""Classifiers with ‖w‖₁: duality gaps, known conditions, scikit-learn's optima."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.svm import LinearSVC as PeerSVC

from mercer import LinearSVC, LogisticRegression
from mercer._limits import Limits
from mercer.losses import Logistic, ScalarRisk
from mercer.optimize import _l1_newton
from mercer.optimize._l1_newton import L1Newton, L1Problem
from tests.cases import table
from tests.compare import refuses
from tests.strategies import tables

SHAPES = [(100, 5, 2), (40, 100, 2), (150, 8, 4), (60, 40, 3)]
every_shape = pytest.mark.parametrize("shape", SHAPES)
every_ratio = pytest.mark.parametrize("ratio", [0.3, 1.0])


def labelled(n, d, k, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.3 * rng.normal(size=(n, 1))
    y = (X[:, :k] + rng.gumbel(size=(n, k))).argmax(axis=1)
    y[:k] = range(k)
    return X, y


def likelihood(X, y, model, weight):
    G = X @ model.coef_.T + model.intercept_
    if len(G.T) == 1:
        G = np.hstack([np.zeros_like(G), G])
    return weight @ (logsumexp(G, axis=1) - G[np.arange(len(y)), y])


def objective(X, y, model, lam, ratio, weight):
    w = model.coef_
    penalty = ratio * np.abs(w).sum() + 0.5 * (1 - ratio) * (w**2).sum()
    return likelihood(X, y, model, weight) + lam * penalty


def slopes(X, y, model, weight):
    """Return the derivative of the likelihood in w, shaped as ``coef_``, and in b."""
    P = model.predict_proba(X)
    P[np.arange(len(y)), y] -= 1.0
    U = weight[:, None] * (P[:, 1:] if len(model.classes_) == 2 else P)
    return U.T @ X, U.sum(axis=0)


# ---------------------------------------------------------------- logistic regression
@every_shape
@every_ratio
@pytest.mark.parametrize("lam", [0.5, 5.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_conditions_of_a_minimum_hold(shape, ratio, lam, intercept):
    X, y = labelled(*shape)
    weight = 1.0 + np.arange(len(y)) % 3
    model = LogisticRegression(lam=lam, l1_ratio=ratio, fit_intercept=intercept, tol=1e-12)
    model.fit(X, y, sample_weight=weight)
    w, (g, h) = model.coef_, slopes(X, y, model, weight)
    force, bound = g + lam * (1 - ratio) * w, lam * ratio
    np.testing.assert_allclose(force[w != 0], -bound * np.sign(w[w != 0]), atol=1e-6)
    assert np.abs(force).max() <= bound * (1 + 1e-6)
    if intercept:
        np.testing.assert_allclose(h, 0.0, atol=1e-6)
    assert model.certificate_.ok


@pytest.mark.parametrize("shape", [(100, 5, 2), (150, 8, 4)])
@every_ratio
@pytest.mark.parametrize("lam", [0.5, 5.0])
def test_the_objective_is_that_of_scikit_learn(shape, ratio, lam):
    X, y = labelled(*shape)
    weight = 1.0 + np.arange(len(y)) % 3
    ours = LogisticRegression(lam=lam, l1_ratio=ratio, tol=1e-10).fit(X, y, weight)
    peer = Peer(C=1 / lam, l1_ratio=ratio, solver="saga", tol=1e-5, max_iter=50_000)
    peer.fit(X, y, weight)
    wanted = objective(X, y, peer, lam, ratio, weight)
    assert objective(X, y, ours, lam, ratio, weight) == pytest.approx(wanted, rel=1e-6)
    assert ours.certificate_.primal == pytest.approx(wanted, rel=1e-6)
    # of an even number of classes coefficients need not be unique, but probabilities are
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=2e-3)


def test_the_largest_penalty_leaves_the_shares_of_the_classes():
    X, y = labelled(90, 6, 3)
    model = LogisticRegression(lam=1e4, l1_ratio=1.0).fit(X, y)
    assert not model.coef_.any()
    np.testing.assert_allclose(model.predict_proba(X)[0], np.bincount(y) / 90, atol=1e-8)


def test_a_small_share_of_l1_is_close_to_none():
    X, y = labelled(100, 5, 2)
    near = LogisticRegression(l1_ratio=1e-9, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(near.coef_, LogisticRegression().fit(X, y).coef_, atol=1e-6)


def test_the_slow_twin_agrees():
    """Proximal gradient steps on the same objective, without an intercept."""
    X, y = labelled(60, 6, 2)
    sign, lam = 2.0 * y - 1.0, 2.0
    w, step = np.zeros(6), 4.0 / np.linalg.norm(X, 2) ** 2
    for _ in range(20_000):
        g = -X.T @ (sign / (1.0 + np.exp(sign * (X @ w))))
        z = w - step * g
        w = np.sign(z) * np.maximum(np.abs(z) - step * lam, 0.0)
    model = LogisticRegression(lam=lam, l1_ratio=1.0, fit_intercept=False, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-8)


@every_shape
def test_sparse_rows_give_what_dense_rows_give(shape):
    X, y = labelled(*shape)
    X[np.abs(X) < 0.7] = 0.0
    for intercept in (True, False):
        given = {"lam": 2.0, "l1_ratio": 0.7, "fit_intercept": intercept, "tol": 1e-12}
        dense = LogisticRegression(**given).fit(X, y)
        sparse = LogisticRegression(**given).fit(sp.csr_array(X), y)
        np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-5)
        assert sparse.certificate_.ok


@pytest.mark.parametrize("unit", [1e-100, 1e-6, 1e6, 1e100])
def test_units_do_not_matter(unit):
    X, y = labelled(80, 5, 2)
    plain = LogisticRegression(lam=2.0, l1_ratio=1.0, tol=1e-12).fit(X, y)
    scaled = LogisticRegression(lam=2.0 * unit, l1_ratio=1.0, tol=1e-12).fit(X * unit, y)
    np.testing.assert_allclose(scaled.coef_ * unit, plain.coef_, atol=1e-6)
    heavy = LogisticRegression(lam=2.0 * unit, l1_ratio=1.0, tol=1e-12)
    heavy.fit(X, y, sample_weight=np.full(80, unit))
    np.testing.assert_allclose(heavy.coef_, plain.coef_, atol=1e-6)
    assert heavy.certificate_.primal == pytest.approx(plain.certificate_.primal * unit, rel=1e-8)


@given(tables(), st.sampled_from([0.5, 1.0]))
def test_the_proof_holds_on_any_table(X, ratio):
    y = np.arange(len(X)) % 2
    if len(X) < 2:
        return
    assert LogisticRegression(lam=0.5, l1_ratio=ratio).fit(X, y).certificate_.ok


def test_equal_and_constant_columns():
    X, y = labelled(60, 4, 3)
    X = np.hstack([X, X[:, :1], np.ones((60, 1))])
    model = LogisticRegression(lam=1.0, l1_ratio=1.0, tol=1e-10).fit(X, y)
    assert model.certificate_.ok
    assert not model.coef_[:, 5].any()


def test_separated_classes_have_a_minimum():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    model = LogisticRegression(lam=0.1, l1_ratio=1.0).fit(X, [0, 0, 1, 1])
    assert model.certificate_.ok
    assert model.separating_direction_ is None


def test_what_it_does_not_have_is_said():
    X, y = labelled(60, 4, 2)
    refuses(
        lambda: LogisticRegression(l1_ratio=0.5, solver="lbfgs").fit(X, y), ValueError, "l1_ratio"
    )
    refuses(lambda: LogisticRegression(l1_ratio=2.0).fit(X, y), ValueError, "l1_ratio")
    model = LogisticRegression(l1_ratio=1.0).fit(X, y)
    refuses(lambda: model.standard_errors_, AttributeError, "l1_ratio")
    limited = LogisticRegression(lam=0.01, l1_ratio=1.0, max_iter=1)
    with pytest.warns(match="max_iter"):
        assert not limited.fit(X, y).certificate_.ok


def test_no_theta_is_below_the_dual():
    """The gap at any point is at least its distance from the least value."""
    X, y = labelled(60, 6, 2)
    risk = ScalarRisk(Logistic(), 2.0 * y - 1.0, np.ones(60))
    A = np.hstack([X, np.ones((60, 1))])
    l1, ridge = np.append(np.full(6, 2.0), 0.0), np.append(np.full(6, 0.3), 0.0)
    for mu in (ridge, 0.0 * ridge):
        problem = L1Problem(A, risk, l1, mu, balanced=True)
        run = L1Newton(problem)
        best = run.solution(1e-12, limits=Limits(), about="").certificate.primal
        rng = np.random.default_rng(1)
        for size in (1e-6, 1e-2, 1.0):
            theta = run.theta + size * rng.normal(size=run.theta.shape)
            value = risk.value(A @ theta) + problem.penalty(theta)
            assert problem.gap(theta, A @ theta) >= value - best - 1e-9


# ---------------------------------------------------------------- support vector machines
@pytest.mark.parametrize("shape", [(60, 5, 2), (30, 80, 2), (150, 8, 3)])
@pytest.mark.parametrize("C", [0.05, 1.0, 50.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_machines_reach_the_objective_of_liblinear(shape, C, intercept):
    X, y = labelled(*shape)
    weight = 1.0 + np.arange(len(y)) % 3
    ours = LinearSVC(C=C, penalty="l1", tol=1e-9, fit_intercept=intercept).fit(X, y, weight)
    peer = PeerSVC(
        C=C, penalty="l1", dual=False, tol=1e-9, max_iter=10**6, fit_intercept=intercept
    ).fit(X, y, weight)
    assert ours.certificate_.ok
    assert ours.coef_.shape == peer.coef_.shape
    for c, w in enumerate(ours.coef_):
        sign = np.where(y == (c if shape[2] > 2 else 1), 1.0, -1.0)

        def value(w, b, sign=sign):
            slack = np.maximum(0.0, 1.0 - sign * (X @ w + b))
            return np.abs(w).sum() + abs(b) + C * weight @ slack**2

        b = np.broadcast_to(peer.intercept_, len(peer.coef_))[c]
        assert value(w, ours.intercept_[c]) <= value(peer.coef_[c], b) * (1 + 1e-8)


def test_sparse_and_scaled_rows_give_the_same_machine():
    X, y = labelled(60, 12, 2)
    X[np.abs(X) < 0.7] = 0.0
    given = {"penalty": "l1", "tol": 1e-12, "fit_intercept": False}
    plain = LinearSVC(C=0.5, **given).fit(X, y)
    sparse = LinearSVC(C=0.5, **given).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.coef_, plain.coef_, atol=1e-6)
    assert 0 < np.count_nonzero(plain.coef_) < 12


@pytest.mark.parametrize("d", [4, 30])
def test_columns_far_from_0_are_nearly_alike_and_no_trouble(d):
    X = 4096.0 + table(120, d, seed=1)
    y = X[:, 0] + X[:, 1] > 8192.0
    assert LinearSVC(penalty="l1").fit(X, y).certificate_.ok
    assert LogisticRegression(l1_ratio=1.0, fit_intercept=False).fit(X, y).certificate_.ok


def test_a_kink_in_loss_and_penalty_is_refused():
    X, y = labelled(30, 3, 2)
    refuses(lambda: LinearSVC(penalty="l1", loss="hinge").fit(X, y), ValueError, "squared_hinge")


def test_many_sparse_columns_are_swept_as_they_are():
    rng = np.random.default_rng(0)
    A = sp.random_array((300, 900), density=0.02, rng=rng, format="csr")
    y = A @ rng.normal(size=900) + 0.1 * rng.normal(size=300) > 0
    risk = ScalarRisk(Logistic(), 2.0 * y - 1.0, np.ones(300))
    problem = L1Problem(A, risk, np.full(900, 0.05), np.zeros(900), balanced=False)
    by_hessian, swept = (
        L1Newton(problem, columns).solution(1e-6, Limits.of(-1, None), "")
        for columns in (1000, 100)
    )
    assert np.count_nonzero(swept.value) > 100
    assert swept.certificate.ok
    assert by_hessian.certificate.ok
    one, other = swept.certificate, by_hessian.certificate
    assert abs(one.primal - other.primal) <= max(one.gap, other.gap)  # both are above the minimum


def test_sweeps_over_sparse_columns_minimise_the_parabola():
    rng = np.random.default_rng(1)
    A = sp.csc_array(sp.random_array((80, 30), density=0.3, rng=rng))
    h, g, x0 = rng.uniform(0.1, 1.0, 80), rng.normal(size=30), rng.normal(size=30)
    l1, ridge = np.full(30, 0.4), np.full(30, 0.01)
    found = _l1_newton._SparseParabola(A, h, g, x0, l1, ridge).solve(Limits.of(-1, None))
    H = (A.T @ sp.diags_array(h) @ A).toarray() + np.diag(ridge)
    slopes = g + H @ (found - x0)
    used = found != 0.0
    np.testing.assert_allclose(
        slopes[used], -0.4 * np.sign(found[used]), atol=0.11 * np.abs(g).max()
    )
    assert (np.abs(slopes[~used]) <= 0.4 + 0.11 * np.abs(g).max()).all()
