"""Linear classifiers that learn from rows in parts."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.datasets import load_digits, load_iris

from mercer import LinearSVC, LogisticRegression
from mercer.optimize import _in_parts
from tests.compare import is_absent, refuses

X, Y = load_iris(return_X_y=True)
X = X - X.mean(axis=0)
ORDER = np.random.default_rng(0).permutation(len(X))
TWO = ORDER[Y[ORDER] > 0]
MODELS = [LogisticRegression(lam=0.5), LinearSVC(C=0.3, tol=1e-8)]
both = pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)


def new(model):
    return type(model)(**model.get_params())


def in_parts(model, rows, count, table=X):
    for part in np.array_split(rows, count):
        model.partial_fit(table[part], Y[part], classes=np.unique(Y[rows]))
    return model


@both
@pytest.mark.parametrize("rows", [ORDER, TWO], ids=["three", "two"])
@pytest.mark.parametrize("intercept", [True, False])
def test_one_part_is_a_fit(model, rows, intercept):
    model = new(model).set_params(fit_intercept=intercept)
    whole = new(model).fit(X[rows], Y[rows])
    learned = in_parts(new(model), rows, 1)
    np.testing.assert_allclose(learned.coef_, whole.coef_, atol=2e-4)
    np.testing.assert_allclose(learned.intercept_, whole.intercept_, atol=2e-4)
    assert learned.certificate_.ok
    assert learned.n_rows_seen_ == len(rows)


def loss(model, w, b, rows):
    margin = (2.0 * (Y[rows] == 2) - 1.0) * (X[rows] @ w + b)
    if isinstance(model, LinearSVC):
        return model.C * np.sum(np.maximum(0.0, 1.0 - margin) ** 2)
    return np.sum(np.logaddexp(0.0, -margin))


@both
def test_a_part_is_the_minimum_of_its_loss_and_the_parabola_of_what_was_before(model):
    first, second = TWO[:60], TWO[60:]
    model = new(model).partial_fit(X[first], Y[first], classes=[1, 2])
    centre, P = np.append(model.coef_[0], model.intercept_), model.curvature_[0]

    def objective(theta):
        apart = theta - centre
        return 0.5 * apart @ P @ apart + loss(model, theta[:-1], theta[-1], second)

    found = minimize(objective, centre, method="BFGS", options={"gtol": 1e-9}).x
    model.partial_fit(X[second], Y[second])
    np.testing.assert_allclose(np.append(model.coef_[0], model.intercept_), found, atol=1e-5)


@both
def test_the_parabola_has_the_curvature_of_penalty_and_rows(model):
    model = in_parts(new(model), TWO, 1)
    theta, h = np.append(model.coef_[0], model.intercept_), 1e-4

    def objective(t):
        weight = model.lam if isinstance(model, LogisticRegression) else 1.0
        free = 1e-6 if isinstance(model, LogisticRegression) else 1.0
        squares = weight * (t[:-1] @ t[:-1] + free * t[-1] ** 2)
        return 0.5 * squares + loss(model, t[:-1], t[-1], TWO)

    steps = h * np.eye(5)
    second = [
        [
            (objective(theta + a + b) - objective(theta + a - b))
            - (objective(theta - a + b) - objective(theta - a - b))
            for a in steps
        ]
        for b in steps
    ]
    np.testing.assert_allclose(np.array(second) / (4 * h * h), model.curvature_[0], rtol=1e-2)


def test_many_parts_come_near_the_fit_of_all_rows():
    A, b = load_digits(return_X_y=True)
    A, order = A / 16, np.random.default_rng(0).permutation(len(A))
    train, test = order[:1200], order[1200:]
    whole = LogisticRegression(lam=1.0).fit(A[train], b[train])
    model = LogisticRegression(lam=1.0)
    for part in np.array_split(train, 8):
        model.partial_fit(A[part], b[part], classes=np.arange(10))
    apart = np.linalg.norm(model.coef_ - whole.coef_) / np.linalg.norm(whole.coef_)
    assert apart < 0.15
    assert abs(model.score(A[test], b[test]) - whole.score(A[test], b[test])) < 0.01


@both
def test_sparse_rows_are_the_same_rows(model):
    dense = in_parts(new(model), ORDER, 3)
    sparse = in_parts(new(model), ORDER, 3, sp.csr_array(X))
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-8)


@both
def test_many_coefficients_keep_the_diagonal(model):
    columns = _in_parts.FULL_COEFFICIENTS + 1
    wide = X @ np.random.default_rng(0).normal(size=(4, columns)) / columns**0.5
    one = in_parts(new(model), ORDER, 1, wide)
    np.testing.assert_allclose(one.coef_, new(model).fit(wide[ORDER], Y[ORDER]).coef_, atol=2e-3)
    several = in_parts(new(model), ORDER, 3, wide)
    assert several.curvature_.ndim == 2
    assert several.score(wide, Y) > 0.9


@both
def test_a_part_of_one_class_is_taken_in(model):
    model = new(model).partial_fit(X[Y == 0], Y[Y == 0], classes=[0, 1, 2])
    assert np.isfinite(model.coef_).all()
    assert (model.predict(X[Y == 0]) == 0).all()
    assert in_parts(model, ORDER, 2).score(X, Y) > 0.8


@both
def test_what_cannot_be_learned_in_parts_is_said(model):
    refuses(lambda: new(model).partial_fit(X, Y), ValueError, "classes must be passed on the first")
    balanced = new(model).set_params(class_weight="balanced")
    is_absent(lambda: balanced.partial_fit(X, Y, [0, 1, 2]), "needs all labels at once")
    begun = in_parts(new(model), ORDER, 1).set_params(fit_intercept=False)
    refuses(lambda: begun.partial_fit(X, Y), ValueError, "fit_intercept must stay")
    kinked = {"l1_ratio": 0.5} if isinstance(model, LogisticRegression) else {"penalty": "l1"}
    refused = new(model).set_params(**kinked)
    is_absent(lambda: refused.partial_fit(X, Y, [0, 1, 2]), "partial_fit needs .* smooth")
    assert not hasattr(in_parts(new(model), ORDER, 1).fit(X, Y), "curvature_")


@both
def test_after_a_fit_the_penalty_is_about_its_coefficients(model):
    model = new(model).fit(X[TWO], Y[TWO])
    centre = np.append(model.coef_[0], model.intercept_)
    weight = np.append(np.full(4, getattr(model, "lam", 1.0)), 1.0)
    weight[-1] *= 1e-6 * model.lam if isinstance(model, LogisticRegression) else 1.0

    def objective(theta):
        squares = 0.5 * weight @ (theta - centre) ** 2
        return squares + loss(model, theta[:-1], theta[-1], TWO[:40])

    found = minimize(objective, centre, method="BFGS", options={"gtol": 1e-9}).x
    model.partial_fit(X[TWO[:40]], Y[TWO[:40]])
    np.testing.assert_allclose(np.append(model.coef_[0], model.intercept_), found, atol=1e-4)
