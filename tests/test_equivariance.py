"""What a fit must not depend on: the order of rows and columns, the names of the classes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine

from mercer import GMM, KNN, AdaBoost, GaussianBayes, KNNRegressor, MLPClassifier, Perceptron

WINE, IRIS = load_wine(return_X_y=True), load_iris(return_X_y=True)
CLASSIFIERS = [
    GaussianBayes(),
    GaussianBayes(tied=True),
    GaussianBayes(order=0),
    AdaBoost(30),
    KNN(5),
    KNN(3, metric="l1", weights="distance"),
]
every_classifier = pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)


def shuffled(count, seed=0):
    return np.random.default_rng(seed).permutation(count)


@every_classifier
def test_the_order_of_the_rows_does_not_matter(model):
    X, y = WINE
    order = shuffled(len(y))
    one, other = clone(model).fit(X, y), clone(model).fit(X[order], y[order])
    np.testing.assert_allclose(other.predict_proba(X), one.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("model", [m for m in CLASSIFIERS if m != AdaBoost(30)], ids=repr)
def test_the_order_of_the_columns_does_not_matter(model):
    X, y = WINE
    order = shuffled(X.shape[1])
    one, other = clone(model).fit(X, y), clone(model).fit(X[:, order], y)
    np.testing.assert_allclose(other.predict_proba(X[:, order]), one.predict_proba(X), atol=1e-8)


def test_columns_that_depend_on_those_before_them_have_an_order():
    """Order 1 is the exception: the neighbours of a column are what it says."""
    X, y = WINE
    order = shuffled(X.shape[1])
    model = GaussianBayes(order=1)
    one, other = model.fit(X, y).log_density(X), model.fit(X[:, order], y).log_density(X[:, order])
    assert np.abs(one - other).max() > 1.0


@pytest.mark.parametrize(
    "model",
    [*CLASSIFIERS, MLPClassifier(5, activation="tanh", lam=0.1, random_state=0), Perceptron()],
    ids=repr,
)
def test_the_names_of_the_classes_do_not_matter(model):
    X, y = IRIS
    X, y = X[y < 2], y[y < 2]  # two classes that can be separated
    if "random_state" in model.get_params():
        model = clone(model).set_params(random_state=0)
    codes = clone(model).fit(X, y).predict(X)
    for names in (np.array(["no", "yes"]), np.array([False, True]), np.array([-1.0, 7.0])):
        got = clone(model).fit(X, names[y]).predict(X)
        assert got.dtype == names.dtype
        np.testing.assert_array_equal(got, names[codes])


@pytest.mark.parametrize("kind", ["full", "tied", "diagonal", "spherical"])
def test_a_mixture_of_columns_in_another_order_is_the_same_mixture(kind):
    X, y = IRIS
    order = shuffled(X.shape[1])
    fits = [
        GMM(3, covariance=kind, start=y, max_iter=30, tol=0.01).fit(rows)
        for rows in (X, X[:, order])
    ]
    np.testing.assert_allclose(fits[1].means_, fits[0].means_[:, order], rtol=1e-8)
    np.testing.assert_allclose(
        fits[1].score_samples(X[:, order]), fits[0].score_samples(X), rtol=1e-8
    )


@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_a_mean_of_neighbors_moves_with_the_targets(shift):
    X, y = WINE
    plain = KNNRegressor(4).fit(X, y).predict(X)
    np.testing.assert_allclose(
        KNNRegressor(4).fit(X, 3.0 * y + shift).predict(X), 3 * plain + shift
    )
