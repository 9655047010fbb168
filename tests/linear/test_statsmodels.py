"""Agreement with statsmodels: what statisticians read off a fit."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from mercer import LinearRegression, LogisticRegression, PenaltyRegression, Ridge
from mercer.penalties import Huber

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what importing it says of other libraries
    sm = pytest.importorskip("statsmodels.api")


def with_constant(X):
    return np.hstack([X, np.ones((len(X), 1))])


def cancer(columns=5):
    """Return a few columns (of all 30 the classes are separated) in units of their deviations."""
    data = load_breast_cancer()
    X = data.data[:, :columns]
    return (X - X.mean(axis=0)) / X.std(axis=0), data.target


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X, y


def quietly(fit, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(**options)


# ---------------------------------------------------------------- logistic regression
@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
@pytest.mark.parametrize("intercept", [True, False])
def test_two_classes_have_the_figures_of_logit(solver, intercept):
    X, y = cancer()
    got = LogisticRegression(lam=0, solver=solver, fit_intercept=intercept).fit(X, y)
    table = with_constant(X) if intercept else X
    wanted = quietly(sm.Logit(y, table).fit, disp=0, method="newton", tol=1e-12)
    summary = got.summary()
    np.testing.assert_allclose(summary.coef, wanted.params, rtol=1e-6)
    np.testing.assert_allclose(summary.standard_error, wanted.bse, rtol=1e-6)
    np.testing.assert_allclose(summary.z, wanted.tvalues, rtol=1e-5)
    np.testing.assert_allclose(summary.p_value, wanted.pvalues, rtol=1e-4, atol=1e-12)
    assert -got.certificate_.objective == pytest.approx(wanted.llf, rel=1e-10)
    np.testing.assert_allclose(got.predict_proba(X)[:, 1], wanted.predict(table), atol=1e-8)


def test_weights_are_those_of_a_binomial_glm():
    X, y = cancer(3)
    weight = np.random.default_rng(0).integers(1, 5, len(y))
    got = LogisticRegression(lam=0).fit(X, y, weight).summary()
    model = sm.GLM(y, with_constant(X), family=sm.families.Binomial(), freq_weights=weight)
    wanted = quietly(model.fit, tol=1e-12)
    np.testing.assert_allclose(got.coef, wanted.params, rtol=1e-6)
    np.testing.assert_allclose(got.standard_error, wanted.bse, rtol=1e-6)


def wine():
    data = load_wine()
    X = data.data[:, [0, 1, 2]]  # of more columns the classes are separated
    return (X - X.mean(axis=0)) / X.std(axis=0), data.target


def test_three_classes_have_the_figures_of_multinomial_logit():
    """MNLogit counts from the first class; here the coefficients of all classes add up to 0."""
    X, y = wine()
    got = LogisticRegression(lam=0).fit(X, y)
    wanted = quietly(sm.MNLogit(y, with_constant(X)).fit, disp=0, method="newton", tol=1e-12)
    coef = np.column_stack([got.coef_, got.intercept_])
    np.testing.assert_allclose((coef[1:] - coef[0]).T, wanted.params, rtol=1e-5, atol=1e-7)
    assert -got.certificate_.objective == pytest.approx(wanted.llf, rel=1e-9)
    np.testing.assert_allclose(got.predict_proba(X), wanted.predict(), atol=1e-7)
    covariance = np.asarray(wanted.cov_params())  # of (w₁ − w₀, w₂ − w₀)
    m = coef.shape[1]
    third = np.eye(m) / 3
    pick = np.block([[-third, -third], [2 * third, -third], [-third, 2 * third]])
    errors = np.sqrt(np.diag(pick @ covariance @ pick.T)).reshape(3, m)
    np.testing.assert_allclose(got.standard_errors_, errors[:, :-1], rtol=1e-5)
    np.testing.assert_allclose(got.intercept_standard_errors_, errors[:, -1], rtol=1e-5)


# ---------------------------------------------------------------- regression
def test_least_squares_is_ols_and_wls():
    X, y = diabetes()
    weight = np.random.default_rng(0).random(len(y))
    for got, wanted in (
        (LinearRegression().fit(X, y), sm.OLS(y, with_constant(X)).fit()),
        (LinearRegression().fit(X, y, weight), sm.WLS(y, with_constant(X), weight).fit()),
    ):
        coef = np.append(got.coef_, got.intercept_)
        np.testing.assert_allclose(coef, wanted.params, rtol=1e-9)
        assert got.certificate_.rank + 1 == wanted.df_model + 1
        assert got.score(X, y) == pytest.approx(
            1 - np.sum((y - wanted.predict()) ** 2) / np.sum((y - y.mean()) ** 2)
        )


def test_least_absolute_errors_are_the_median_regression():
    """QuantReg reweights until p_tol, so that its value is no lower."""
    X, y = diabetes()
    X = X[:, :4]
    got = LinearRegression(norm="l1").fit(X, y)
    model = sm.QuantReg(y, with_constant(X))
    wanted = quietly(model.fit, q=0.5, p_tol=1e-9, max_iter=5000)
    coef = np.append(got.coef_, got.intercept_)
    assert got.certificate_.primal <= np.abs(y - wanted.predict()).sum() * (1 + 1e-12)
    np.testing.assert_allclose(coef, wanted.params, rtol=1e-3)


def test_hubers_penalty_is_the_robust_model_of_a_fixed_scale():
    X, y = diabetes()
    y = y + 500.0 * (np.arange(len(y)) % 29 == 0)
    model = sm.RLM(y, with_constant(X), M=sm.robust.norms.HuberT(1.345))
    wanted = model.fit(update_scale=False, tol=1e-12, maxiter=2000)
    got = PenaltyRegression(Huber(1.345 * wanted.scale)).fit(X, y)
    coef = np.append(got.coef_, got.intercept_)
    np.testing.assert_allclose(coef, wanted.params, rtol=1e-6)


def test_ridge_is_the_regularised_least_squares_of_statsmodels():
    X, y = diabetes()
    y = y - y.mean()
    got = Ridge(0.3, fit_intercept=False).fit(X, y)
    wanted = sm.OLS(y, X).fit_regularized(alpha=0.3 / len(y), L1_wt=0.0)
    np.testing.assert_allclose(got.coef_, wanted.params, rtol=1e-8)


# ---------------------------------------------------------------- inference of least squares
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_errors_and_intervals_of_least_squares(intercept, weighted):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3)) * [1.0, 1e4, 1e-5] + [0.0, 1e5, 0.0]
    y = X @ [1.0, 1e-4, 2e4] + rng.normal(size=40)
    weight = rng.integers(1, 4, 40).astype(float) if weighted else np.ones(40)
    table = np.column_stack([X, np.ones(40)]) if intercept else X
    wanted = sm.WLS(y, table, weights=weight).fit()
    model = LinearRegression(fit_intercept=intercept).fit(X, y, sample_weight=weight)
    summary = model.summary()
    np.testing.assert_allclose(summary.coef, wanted.params, rtol=1e-6)
    np.testing.assert_allclose(summary.standard_error, wanted.bse, rtol=1e-6)
    np.testing.assert_allclose(summary.z, wanted.tvalues, rtol=1e-6)
    np.testing.assert_allclose(summary.p_value, wanted.pvalues, rtol=1e-5, atol=1e-300)
    np.testing.assert_allclose(summary.interval(0.9), wanted.conf_int(0.1), rtol=1e-6)
    assert model.degrees_of_freedom_ == wanted.df_resid


def test_intervals_of_logistic_regression():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] + rng.logistic(size=200) > 0).astype(int)
    wanted = sm.Logit(y, np.column_stack([X, np.ones(200)])).fit(disp=0, tol=1e-12)
    got = LogisticRegression(lam=0.0).fit(X, y).summary().interval()
    np.testing.assert_allclose(got, wanted.conf_int(), rtol=1e-6)
