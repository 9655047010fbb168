"""LDA: scikit-learn's decisions, a white within-class covariance, the largest Rayleigh quotient."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.covariance import ledoit_wolf
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning

from mercer import LDA
from mercer.spectral._covariance import intensity
from tests.cases import table
from tests.compare import refuses

X, Y = load_iris(return_X_y=True)
PRIORS = np.array([0.2, 0.5, 0.3])
TABLES = {"iris": (X, Y), "wine": load_wine(return_X_y=True), "two classes": (X[:100], Y[:100])}
every_table = pytest.mark.parametrize(("rows", "y"), TABLES.values(), ids=TABLES.keys())


def within(rows, y, scores=None):
    """Return the covariance within classes, by its definition."""
    scores = rows if scores is None else scores
    rest = np.concatenate([scores[y == c] - scores[y == c].mean(axis=0) for c in np.unique(y)])
    return rest.T @ rest / len(rest)


def between(rows, y, priors=None):
    classes, counts = np.unique(y, return_counts=True)
    priors = counts / len(y) if priors is None else priors
    means = np.array([rows[y == c].mean(axis=0) for c in classes])
    shifts = means - priors @ means
    return shifts.T @ (priors[:, None] * shifts)


def given_priors(y):
    weights = 1.0 + np.arange(len(np.unique(y)))
    return weights / weights.sum()


# ---------------------------------------------------------------- scikit-learn
@every_table
@pytest.mark.parametrize("with_priors", [False, True])
def test_decisions_are_those_of_the_svd_solver(rows, y, with_priors):
    priors = given_priors(y) if with_priors else None
    model = LDA(priors=priors).fit(rows, y)
    reference = LinearDiscriminantAnalysis(priors=priors).fit(rows, y)
    np.testing.assert_allclose(
        model.decision_function(rows), reference.decision_function(rows), atol=1e-9
    )
    np.testing.assert_allclose(model.predict_proba(rows), reference.predict_proba(rows), atol=1e-10)
    np.testing.assert_array_equal(model.predict(rows), reference.predict(rows))
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, reference.intercept_, atol=1e-9)
    ratio = reference.explained_variance_ratio_
    np.testing.assert_allclose(model.explained_variance_ratio_, ratio, atol=1e-12)
    np.testing.assert_allclose(
        np.abs(model.transform(rows)), np.abs(reference.transform(rows)), atol=1e-9
    )


@every_table
@pytest.mark.parametrize("with_priors", [False, True])
@pytest.mark.parametrize("shrinkage", [0.0, 0.1, 0.7, 1.0, "auto"])
def test_decisions_are_those_of_the_eigen_solver(rows, y, with_priors, shrinkage):
    options = {"priors": given_priors(y) if with_priors else None, "shrinkage": shrinkage}
    model = LDA(**options).fit(rows, y)
    reference = LinearDiscriminantAnalysis("eigen", **options).fit(rows, y)
    np.testing.assert_allclose(model.predict_proba(rows), reference.predict_proba(rows), atol=1e-9)
    scale = np.abs(reference.covariance_).max()
    np.testing.assert_allclose(model.covariance_, reference.covariance_, atol=1e-12 * scale)


def test_constant_columns_as_in_the_digits():
    rows, y = load_digits(return_X_y=True)
    reference = LinearDiscriminantAnalysis().fit(rows, y)
    model = LDA().fit(rows, y)
    np.testing.assert_allclose(
        model.decision_function(rows), reference.decision_function(rows), atol=1e-8
    )
    assert model.certificate_.rank == 61  # three pixels are never dark


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 10)
    rows = rng.normal(size=(40, 90)) + rng.normal(size=(4, 90))[y]
    reference = LinearDiscriminantAnalysis().fit(rows, y)
    model = LDA().fit(rows, y)
    new = rng.normal(size=(20, 90))
    np.testing.assert_allclose(
        model.decision_function(new), reference.decision_function(new), atol=1e-7
    )
    assert model.certificate_.rank == 36
    assert 0.0 < model.certificate_.outside_range < 1.0


def test_the_intensity_is_that_of_ledoit_and_wolf():
    for shape in ((30, 4), (6, 20), (10, 10)):
        rows = table(*shape) @ np.diag(1.0 + np.arange(shape[1]))
        rows -= rows.mean(axis=0)
        assert intensity(rows) == pytest.approx(ledoit_wolf(rows, assume_centered=True)[1])
    assert intensity(np.zeros((4, 3))) == 0.0


# ---------------------------------------------------------------- mathematics
@every_table
def test_the_within_class_covariance_becomes_the_identity(rows, y):
    model = LDA().fit(rows, y)
    scores = model.transform(rows)
    np.testing.assert_allclose(within(rows, y, scores), np.eye(scores.shape[1]), atol=1e-10)
    np.testing.assert_allclose(model.covariance_, within(rows, y), rtol=0, atol=1e-8)
    np.testing.assert_allclose(between(scores, y), np.diag(model.eigenvalues_), atol=1e-9)


@every_table
def test_directions_solve_the_generalised_eigenproblem(rows, y):
    model = LDA().fit(rows, y)
    W = model.scalings_
    left, right = between(rows, y) @ W, within(rows, y) @ W * model.eigenvalues_
    np.testing.assert_allclose(left, right, atol=1e-10 * np.abs(left).max())


def test_no_direction_has_a_larger_rayleigh_quotient():
    S_b, S_w = between(X, Y), within(X, Y)
    w = np.random.default_rng(0).normal(size=(4, 1000))
    quotients = np.sum(w * (S_b @ w), axis=0) / np.sum(w * (S_w @ w), axis=0)
    best = LDA(1).fit(X, Y).eigenvalues_[0]
    assert quotients.max() <= best
    assert quotients.max() > 0.5 * best  # the bound is not vacuous


def test_the_classifier_is_the_nearest_mean_with_priors():
    model = LDA(priors=PRIORS).fit(X, Y)
    scores, means = model.transform(X), model.transform(model.means_)
    distances = ((scores[:, None] - means) ** 2).sum(axis=2)
    np.testing.assert_array_equal(model.predict(X), np.argmin(distances / 2 - np.log(PRIORS), 1))


def test_with_fewer_components_the_classifier_is_rank_reduced():
    model = LDA(1).fit(X, Y)
    scores, means = model.transform(X), model.transform(model.means_)
    assert scores.shape == (150, 1)
    odds = -0.5 * (scores - means.T) ** 2 + np.log(model.priors_)
    wanted = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), wanted, atol=1e-12)
    np.testing.assert_allclose(X @ model.coef_.T + model.intercept_, model.decision_function(X))
    assert model.certificate_.discarded == pytest.approx(1 - model.explained_variance_ratio_[0])


def test_a_planted_direction_is_found():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 4000)
    mix = rng.normal(size=(5, 5))
    planted = rng.normal(size=5)
    rows = rng.normal(size=(4000, 5)) @ mix + np.outer(y, planted)
    wanted = np.linalg.solve(mix.T @ mix, planted)
    found = LDA().fit(rows, y).components_[0]
    cosine = abs(found @ wanted) / np.linalg.norm(found) / np.linalg.norm(wanted)
    assert cosine > np.cos(np.radians(5))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 6))
def test_an_invertible_map_of_the_columns_changes_no_probability(seed, n_classes, d):
    rng = np.random.default_rng(seed)
    y = np.arange(8 * n_classes) % n_classes
    rows = rng.normal(size=(len(y), d)) + y[:, None]
    mix = np.eye(d) + 0.3 * np.triu(rng.uniform(-1, 1, size=(d, d)), 1)
    direct, mapped = LDA().fit(rows, y), LDA().fit(rows @ mix + 5.0, y)
    np.testing.assert_allclose(
        mapped.predict_proba(rows @ mix + 5.0), direct.predict_proba(rows), atol=1e-7
    )


# ---------------------------------------------------------------- degenerate and extreme tables
def test_collinear_and_constant_columns_change_nothing():
    extra = np.where(Y == 0, 0.1, 0.3)  # constant within classes: no scale to judge it by
    rows = np.column_stack([X, np.full(150, 0.1), X[:, 0] + X[:, 1], extra])
    model = LDA().fit(rows, Y)
    np.testing.assert_allclose(model.predict_proba(rows), LDA().fit(X, Y).predict_proba(X), 1e-9)
    assert model.certificate_.rank == 4
    assert model.certificate_.ok


@pytest.mark.parametrize("shrinkage", [None, 0.0, 0.1, "auto"])
@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e-20, 1e20, 1e150])
def test_the_unit_does_not_matter(scale, shrinkage):
    model = LDA(shrinkage=shrinkage)
    wanted = model.fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(model.fit(scale * X, Y).predict_proba(scale * X), wanted, atol=1e-9)


@pytest.mark.parametrize("shrinkage", [None, "auto"])
def test_the_units_of_single_columns_do_not_matter(shrinkage):
    units = np.array([1e-100, 1.0, 1e100, 1e-3])
    model = LDA(shrinkage=shrinkage)
    wanted = model.fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(model.fit(X * units, Y).predict_proba(X * units), wanted, atol=1e-9)


def test_a_large_offset_costs_few_digits():
    shifted = LDA().fit(X + 1e6, Y).predict_proba(X + 1e6)
    np.testing.assert_allclose(shifted, LDA().fit(X, Y).predict_proba(X), atol=1e-7)


def test_equal_means_leave_the_priors():
    model = LDA().fit([[1.0], [-1.0], [1.0], [-1.0], [1.0], [-1.0]], [0, 0, 1, 1, 1, 1])
    np.testing.assert_allclose(model.predict_proba([[3.0]]), [[1 / 3, 2 / 3]])


def test_nearly_collinear_columns_fail_the_proof_and_say_so():
    rows = np.column_stack([X[:, 0], X[:, 0] + 1e-11 * X[:, 1]])
    with pytest.warns(ConvergenceWarning, match="rescale the data"):
        assert not LDA().fit(rows, Y).certificate_.ok


def test_bad_input():
    refuses(lambda: LDA().fit(X, np.zeros(150)), ValueError, "at least two classes; got 1 class")
    refuses(lambda: LDA().fit(X[[0, 50, 100]], [0, 1, 2]), ValueError, "must vary within")
    refuses(lambda: LDA(priors=[0.5, 0.5]).fit(X, Y), ValueError, "priors must be 3 positive")
    refuses(lambda: LDA(priors=[0.5, 0.6, 0.1]).fit(X, Y), ValueError, "with sum 1")
    refuses(lambda: LDA(priors=[1.0, 0.0, 0.0]).fit(X, Y), ValueError, "positive")
    refuses(lambda: LDA(shrinkage=2.0).fit(X, Y), ValueError, "'shrinkage' parameter")
    refuses(lambda: LDA(0).fit(X, Y), ValueError, "'n_components' parameter")
    refuses(lambda: LDA().fit(X, X[:, 0]), ValueError, "Unknown label type")
