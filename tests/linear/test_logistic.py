"""Logistic regression: scikit-learn's coefficients, standard errors, separation that is said."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from mercer import LinearRegression, LogisticRegression, PolynomialMap, optimize
from mercer.linear._logistic import BinaryLikelihood, SoftmaxLikelihood, find_separation
from mercer.solvers import Limits
from tests.cases import sparse_table, table
from tests.compare import refuses
from tests.strategies import tables


def noisy(n=120, d=4, k=2, seed=0):
    """Return rows off centre and labels of k overlapping classes."""
    rng = np.random.default_rng(seed)
    X = 1.0 + rng.normal(size=(n, d))
    G = X @ rng.normal(size=(d, k)) + rng.gumbel(size=(n, k))
    return X, G.argmax(axis=1)


def peer(lam, **options):
    C = 1.0 / lam if lam else np.inf
    return Peer(C=C, solver="newton-cholesky", tol=1e-11, max_iter=1000, **options)


# ---------------------------------------------------------------- agreement
@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("lam", [10.0, 1.0, 1e-2])
@pytest.mark.parametrize("intercept", [True, False])
def test_coefficients_are_those_of_scikit_learn(k, lam, intercept):
    X, y = noisy(k=k)
    weight = np.random.default_rng(1).random(len(y))
    got = LogisticRegression(lam=lam, fit_intercept=intercept).fit(X, y, weight)
    wanted = peer(lam, fit_intercept=intercept).fit(X, y, weight)
    np.testing.assert_allclose(got.coef_, wanted.coef_, atol=1e-5)
    np.testing.assert_allclose(got.intercept_, wanted.intercept_, atol=1e-5)
    np.testing.assert_allclose(got.predict_proba(X), wanted.predict_proba(X), atol=1e-5)
    assert got.certificate_.ok


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_conjugate_gradients_end_where_factors_end(k, kind):
    X, y = noisy(200, 12, k)
    X = X * (np.random.default_rng(3).random(X.shape) < 0.5)
    direct = LogisticRegression(lam=0.1).fit(X, y)
    rows = sp.csr_array(X) if kind == "sparse" else X
    by_products = LogisticRegression(lam=0.1, tol=1e-9)
    assert by_products._fit(rows, y, direct=0.0).certificate.ok
    np.testing.assert_allclose(by_products.coef_, direct.coef_, atol=1e-6)


def test_digits_have_ten_classes():
    X, y = load_digits(return_X_y=True)
    got = LogisticRegression(lam=100.0).fit(X, y)
    wanted = Peer(C=0.01, tol=1e-8, max_iter=5000).fit(X, y)
    np.testing.assert_allclose(got.predict_proba(X), wanted.predict_proba(X), atol=1e-4)
    np.testing.assert_allclose(got.coef_, wanted.coef_, atol=1e-4)
    assert got.certificate_.ok


def test_class_weights_are_those_of_scikit_learn():
    X, y = noisy(k=3)
    for given_weight in ("balanced", {0: 1.0, 1: 3.0, 2: 0.5}):
        got = LogisticRegression(class_weight=given_weight).fit(X, y)
        wanted = peer(1.0, class_weight=given_weight).fit(X, y)
        np.testing.assert_allclose(got.coef_, wanted.coef_, atol=1e-5)


# ---------------------------------------------------------------- mathematics
@pytest.mark.parametrize("k", [2, 3])
def test_the_gradient_is_zero(k):
    X, y = noisy(k=k)
    model = LogisticRegression(lam=0.3).fit(X, y)
    P, labels = model.predict_proba(X), np.eye(k)[y]
    slopes = (P - labels)[:, 1:] if k == 2 else P - labels
    np.testing.assert_allclose(X.T @ slopes + 0.3 * model.coef_.T, 0.0, atol=1e-9)
    np.testing.assert_allclose(slopes.sum(axis=0), 0.0, atol=1e-9)


def test_newtons_step_is_weighted_least_squares():
    """From w: the working response f + (y − p)/h with the weights h."""
    X, y = noisy()
    w = 0.1 * np.arange(5.0)  # the last is the offset
    A = np.hstack([X, np.ones((len(y), 1))])
    f = A @ w
    p, h = expit(f), expit(f) * expit(-f)
    step = w + np.linalg.solve(A.T @ (h[:, None] * A), A.T @ (y - p))
    reweighted = LinearRegression().fit(X, f + (y - p) / h, sample_weight=h)
    np.testing.assert_allclose(step[:4], reweighted.coef_, atol=1e-10)
    point = BinaryLikelihood(y, np.ones(len(y))).at(f[:, None])
    np.testing.assert_allclose(point.h, h, atol=1e-15)
    np.testing.assert_allclose(point.slopes[:, 0], p - y, atol=1e-15)


def test_gradient_descent_ends_at_the_same_point():
    X, y = noisy(60, 2)
    A, s, lam = np.hstack([X, np.ones((60, 1))]), 2.0 * y - 1.0, np.array([1.0, 1.0, 0.0])

    def value(t):
        return float(np.logaddexp(0.0, -s * (A @ t)).sum() + 0.5 * lam @ t**2)

    def slope(t):
        return -A.T @ (s * expit(-s * (A @ t))) + lam * t

    found = optimize.gradient_descent(value, np.zeros(3), grad=slope, max_iter=20000)
    model = LogisticRegression(lam=1.0).fit(X, y)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), found.value, atol=1e-5)


@pytest.mark.parametrize("k", [1, 4])
def test_slopes_and_curvature_are_differences(k):
    rng = np.random.default_rng(0)
    codes, weight, G = rng.integers(0, max(k, 2), 9), rng.random(9), rng.normal(size=(9, k))
    likelihood = BinaryLikelihood(codes, weight) if k == 1 else SoftmaxLikelihood(codes, weight, k)
    V, h = rng.normal(size=(9, k)), 1e-5
    above, below = likelihood.at(G + h * V), likelihood.at(G - h * V)
    here = likelihood.at(G)
    assert (above.value - below.value) / (2 * h) == pytest.approx((here.slopes * V).sum())
    bend = (above.slopes - below.slopes) / (2 * h)
    np.testing.assert_allclose(here.apply(V), bend, atol=1e-9)
    for c in range(k):
        for d in range(k):
            unit = np.zeros((9, k))
            unit[:, d] = 1.0
            np.testing.assert_allclose(here.entry(c, d), here.apply(unit)[:, c], atol=1e-15)


def test_two_classes_are_a_softmax_of_two():
    X, y = noisy()
    model = LogisticRegression(lam=1.0).fit(X, y)
    # softmax(−g/2, g/2) has the same probabilities, and half of the squares
    both = np.vstack([-model.coef_, model.coef_]) / 2
    P = np.exp(X @ both.T + np.array([-1, 1]) * model.intercept_ / 2)
    np.testing.assert_allclose(P / P.sum(axis=1, keepdims=True), model.predict_proba(X), atol=1e-12)


def test_probabilities_do_not_overflow():
    X, y = noisy(k=3)
    model = LogisticRegression().fit(X, y)
    P = model.predict_proba(1e6 * X)
    assert np.isfinite(P).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert np.isfinite(model.predict_log_proba(1e6 * X)).all()


# ---------------------------------------------------------------- standard errors
@pytest.mark.parametrize("lam", [0.0, 2.0])
def test_standard_errors_are_those_of_the_hessian(lam):
    X, y = noisy()
    model = LogisticRegression(lam=lam).fit(X, y)
    A, p = np.hstack([X, np.ones((len(y), 1))]), model.predict_proba(X)[:, 1]
    H = A.T @ ((p * (1 - p))[:, None] * A) + np.diag([lam] * 4 + [0.0])
    wanted = np.sqrt(np.diag(np.linalg.inv(H)))
    np.testing.assert_allclose(model.standard_errors_[0], wanted[:4], rtol=1e-8)
    np.testing.assert_allclose(model.intercept_standard_errors_, wanted[4:], rtol=1e-8)


def test_standard_errors_are_the_spread_of_repeated_samples():
    """Estimates from many samples of one model scatter as their standard errors say."""
    rng, X = np.random.default_rng(0), table(400, 2)
    p = expit(X @ [1.0, -0.5] + 0.3)
    fits = [LogisticRegression(lam=0).fit(X, rng.random(400) < p) for _ in range(150)]
    spread = np.std([m.coef_[0] for m in fits], axis=0)
    said = np.mean([m.standard_errors_[0] for m in fits], axis=0)
    np.testing.assert_allclose(spread, said, rtol=0.2)


def test_standard_errors_of_several_classes_are_those_of_contrasts():
    """With a class as reference the Hessian is regular, and w with a mean of 0 is linear in it."""
    X, y = noisy(300, 2, 3)
    model = LogisticRegression(lam=0).fit(X, y)
    A, P = np.hstack([X, np.ones((300, 1))]), model.predict_proba(X)
    blocks = [
        [A.T @ ((P[:, c] * ((c == d) - P[:, d]))[:, None] * A) for d in (1, 2)] for c in (1, 2)
    ]
    covariance = np.linalg.inv(np.block(blocks))  # of (w₁ − w₀, w₂ − w₀)
    pick = -np.hstack([np.eye(3), np.eye(3)]) / 3  # w₀ with a mean of 0
    wanted = np.sqrt(np.diag(pick @ covariance @ pick.T))
    np.testing.assert_allclose(model.standard_errors_[0], wanted[:2], rtol=1e-7)


def test_the_summary_names_columns_and_classes():
    X, y = noisy(k=3)
    text = str(LogisticRegression().fit(X, np.array(["a", "b", "c"])[y]).summary())
    assert "b: x2" in text
    assert "c: intercept" in text
    two = LogisticRegression(fit_intercept=False).fit(X, y > 0).summary()
    assert two.names == ["x0", "x1", "x2", "x3"]
    np.testing.assert_allclose(two.z, two.coef / two.standard_error)
    assert "<table>" in two._repr_html_()


# ---------------------------------------------------------------- separation
def unpenalised(X, y):
    with pytest.warns(ConvergenceWarning, match="separated by a linear function"):
        return LogisticRegression(lam=0).fit(X, y)


def margins(model, X, y):
    """Return by how much the separating function puts each label ahead."""
    G = X @ model.separating_direction_.T + model.separating_intercept_
    if G.shape[1] == 1:
        return np.where(y == model.classes_[1], 1.0, -1.0) * G[:, 0]
    own = np.searchsorted(model.classes_, y)
    others = np.where(np.arange(G.shape[1]) == own[:, None], -np.inf, G)
    return G[np.arange(len(y)), own] - others.max(axis=1)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("gap", [3.0, 1e-3])
def test_complete_separation_is_said_with_its_function(k, gap):
    rng = np.random.default_rng(0)
    y = np.arange(60) % k
    X = np.column_stack([y + gap * rng.random(60) / (1 + gap), rng.normal(size=60)])
    X = X if k == 2 else np.column_stack([X, X[:, 0] ** 2])  # the middle class needs a square
    model = unpenalised(X, y)
    assert margins(model, X, y).min() > 0
    assert model.certificate_.separation == "complete"
    assert not model.certificate_.ok
    assert np.isfinite(model.coef_).all()
    assert model.status_ == "separated"


def test_quasi_complete_separation_is_said():
    """Two points of different classes coincide on the border: no strict separation."""
    X = np.array([[0.0], [1.0], [2.0], [2.0], [3.0], [4.0]])
    y = np.array([0, 0, 0, 1, 1, 1])
    model = unpenalised(X, y)
    found = margins(model, X, y)
    assert found.min() >= -1e-9
    assert found.max() > 0.1
    assert model.certificate_.separation == "quasi-complete"


def test_a_column_that_gives_one_class_away_is_quasi_complete_separation():
    X, y = noisy(80, 2)
    X = np.column_stack([X, (y == 1) & (np.arange(80) % 3 == 0)])
    model = unpenalised(X, y)
    found = margins(model, X, y)
    assert found.min() >= -1e-9
    assert found.max() > 1e-6
    assert model.certificate_.separation == "quasi-complete"


def test_one_of_three_classes_that_is_apart_is_enough():
    X, y = load_iris(return_X_y=True)
    model = unpenalised(X, y)
    assert margins(model, X, y).min() >= -1e-6
    refuses(lambda: model.standard_errors_, AttributeError, "separated")


def test_overlapping_classes_have_a_maximum_without_a_penalty():
    for k in (2, 3):
        X, y = noisy(150, 3, k)
        model = LogisticRegression(lam=0).fit(X, y)
        wanted = peer(0.0).fit(X, y)
        np.testing.assert_allclose(model.coef_, wanted.coef_, atol=1e-5)
        assert model.separating_direction_ is None
        assert model.certificate_.ok


@given(X=tables(max_rows=8), seed=st.integers(0, 1000))
def test_separation_is_found_exactly_where_the_linear_program_finds_it(X, seed):
    y = np.arange(len(X)) % 2 if len(X) > 1 else None
    if y is None:
        return
    A = np.hstack([X, np.ones((len(X), 1))])
    wanted, _ = find_separation(A, y, 1, Limits())
    model = LogisticRegression(lam=0)
    if wanted is None:
        assert model.fit(X, y).certificate_.ok
    else:
        model = unpenalised(X, y)
        assert margins(model, X, y).min() >= -1e-6 * np.abs(margins(model, X, y)).max()


def test_a_penalty_makes_separated_classes_a_normal_problem():
    X = np.array([[-1.0], [1.0]])
    model = LogisticRegression(lam=1e-3).fit(X, [0, 1])
    np.testing.assert_allclose(model.coef_, peer(1e-3).fit(X, [0, 1]).coef_, atol=1e-5)
    assert model.certificate_.ok


# ---------------------------------------------------------------- rows of many kinds
@pytest.mark.parametrize("k", [2, 3])
def test_sparse_rows_give_what_dense_rows_give(k):
    X = sparse_table(80, 6)
    y = np.random.default_rng(0).integers(0, k, 80)
    for lam in (1.0, 0.0):
        sparse, dense = (LogisticRegression(lam=lam).fit(rows, y) for rows in (X, X.toarray()))
        np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-8)
        np.testing.assert_allclose(sparse.standard_errors_, dense.standard_errors_, rtol=1e-6)


def test_weights_are_repetitions():
    X, y = noisy(k=3)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    again = np.repeat(np.arange(len(y)), weight)
    for lam in (1.0, 0.0):
        weighted = LogisticRegression(lam=lam).fit(X, y, weight)
        repeated = LogisticRegression(lam=lam).fit(X[again], y[again])
        np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-8)


def test_repeated_columns_share_their_coefficient_without_a_penalty():
    X, y = noisy(d=2)
    once = LogisticRegression(lam=0).fit(X, y)
    twice = LogisticRegression(lam=0).fit(np.hstack([X, X[:, :1], np.ones((len(y), 1))]), y)
    np.testing.assert_allclose(twice.coef_[0, [0, 2]], np.full(2, once.coef_[0, 0] / 2), atol=1e-8)
    assert twice.coef_[0, 3] == 0.0


@pytest.mark.parametrize("unit", [1e150, 1e-150])
def test_units_do_not_matter(unit):
    X, y = noisy()
    plain = LogisticRegression(lam=0).fit(X, y)
    scaled = LogisticRegression(lam=0).fit(X * unit, y)
    np.testing.assert_allclose(scaled.coef_ * unit, plain.coef_, rtol=1e-7)
    np.testing.assert_allclose(scaled.predict_proba(X * unit), plain.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("shape", [(2, 1), (2, 50), (6, 300)])
def test_few_rows_are_fitted(shape):
    X, y = table(*shape), np.arange(shape[0]) % 2
    model = LogisticRegression(lam=0.1).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer(0.1).fit(X, y).coef_, atol=1e-5)
    assert model.certificate_.ok


def test_rows_that_are_all_equal_have_the_shares_of_the_classes():
    y = np.array([0, 0, 1, 2, 2, 2])
    P = LogisticRegression().fit(np.full((6, 2), 0.1), y).predict_proba(np.full((1, 2), 0.1))
    np.testing.assert_allclose(P[0], [2 / 6, 1 / 6, 3 / 6], atol=1e-9)


def test_columns_of_very_different_size_are_no_trouble():
    X, y = noisy()
    sizes = np.array([1e-8, 1e-3, 1.0, 1e8])
    plain, scaled = LogisticRegression(lam=0).fit(X, y), LogisticRegression(lam=0).fit(X * sizes, y)
    np.testing.assert_allclose(scaled.coef_ * sizes, plain.coef_, rtol=1e-7)


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))]
)
@pytest.mark.parametrize("k", [2, 4])
def test_standard_errors_outlive_the_rows_of_the_fit(duplicate, k):
    X, y = noisy(400, 4, k)
    model, asked = LogisticRegression().fit(X, y), LogisticRegression().fit(X, y)
    wanted = asked.standard_errors_
    X[:] = y[:] = 0  # what the model keeps is its own
    np.testing.assert_array_equal(duplicate(model).standard_errors_, wanted)
    np.testing.assert_array_equal(model.standard_errors_, wanted)
    assert len(pickle.dumps(model)) == len(pickle.dumps(asked)) < X.nbytes


def test_standard_errors_are_those_of_the_last_fit():
    X, y = noisy(200, 3)
    model = LogisticRegression().fit(X, y)
    before = model.standard_errors_
    assert not np.array_equal(model.fit(X[:100], y[:100]).standard_errors_, before)
    model.fit(X, y).set_params(l1_ratio=1.0).fit(X, y)
    refuses(lambda: model.standard_errors_, AttributeError, "no standard errors")
    model.set_params(l1_ratio=0.0).fit(X, y).partial_fit(X, y)
    refuses(lambda: model.standard_errors_, AttributeError, "no standard errors")


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("lam", [0.0, 0.5])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_a_warm_start_leads_to_the_same_answer_sooner(k, lam, fit_intercept, kind):
    X, y = noisy(400, 6, k)
    options = {"lam": lam, "fit_intercept": fit_intercept}
    warm = LogisticRegression(warm_start=True, **options).fit(kind(X), y)
    cold, cold_steps = warm.coef_, warm.n_iter_
    warm.fit(kind(X), y)
    assert warm.certificate_.ok
    assert warm.n_iter_ < cold_steps
    np.testing.assert_allclose(warm.coef_, cold, atol=1e-7)
    near = LogisticRegression(**options).fit(kind(X[20:]), y[20:])
    warm.fit(kind(X[20:]), y[20:])
    assert warm.n_iter_ <= near.n_iter_
    np.testing.assert_allclose(warm.predict_proba(X), near.predict_proba(X), atol=1e-6)


def test_a_warm_start_elsewhere_is_refused():
    X, y = noisy()
    model = LogisticRegression(warm_start=True).fit(X, y)
    refuses(lambda: model.fit(X[:, 1:], y), ValueError, "warm_start=True goes on from")
    refuses(lambda: model.fit(X, y + 1), ValueError, "warm_start=True goes on from")


def test_few_steps_are_said():
    X, y = noisy()
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = LogisticRegression(max_iter=1).fit(X, y)
    assert not model.certificate_.ok
    assert model.n_iter_ == 1


def test_bad_input_is_named():
    X, y = noisy(10)
    refuses(lambda: LogisticRegression(lam=-1.0).fit(X, y), ValueError, "lam")
    refuses(lambda: LogisticRegression().fit(X, np.zeros(10)), ValueError, "two classes.*1 class")
    weight = np.where(y == y[0], 1.0, 0.0)
    refuses(lambda: LogisticRegression().fit(X, y, weight), ValueError, "positive weight")
    refuses(lambda: LogisticRegression().standard_errors_, AttributeError, "not fitted")


# ---------------------------------------------------------------- lifted columns
@pytest.mark.parametrize("lift", [PolynomialMap(2), PolynomialFeatures(2)], ids=type)
def test_lifted_columns_recover_the_quadratic_border_of_two_gaussians(lift):
    """log p₁/p₀ of N(0, I) against N(0, 4I) is log ¼ + ⅜‖x‖²: a circle."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(4000, 2)), 2.0 * rng.normal(size=(4000, 2))])
    y = np.repeat([0, 1], 4000)
    model = make_pipeline(lift, LogisticRegression(lam=1e-3)).fit(X, y)
    new = table(200, 2, seed=5)
    wanted = np.log(0.25) + 0.375 * np.sum(new**2, axis=1)
    np.testing.assert_allclose(model.decision_function(new), wanted, atol=0.35)
    clear = np.abs(wanted) > 0.35
    np.testing.assert_array_equal(model.predict(new)[clear], (wanted > 0)[clear])
