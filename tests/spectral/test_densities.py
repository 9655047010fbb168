"""PCA as a Gaussian density, and what canonical pairs say of both tables."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA as Peer

from mercer import CCA, PCA, LinearRegression
from tests.cases import sparse_table, table
from tests.compare import refuses

SHAPES = [(80, 6, 2), (80, 6, 6), (20, 50, 5)]
every_shape = pytest.mark.parametrize("shape", SHAPES)


def rows(n, d, seed=0):
    return table(n, d, seed=seed) @ (np.eye(d) + 0.3 * table(d, d, seed=7)) + np.arange(d)


# ---------------------------------------------------------------- PCA
@every_shape
@pytest.mark.parametrize("whiten", [False, True])
def test_the_density_is_that_of_scikit_learn(shape, whiten):
    n, d, k = shape
    X, new = rows(n, d), rows(10, d, seed=1)
    # scores of unit variance do not change the density (scikit-learn's do, and are not one)
    got, wanted = PCA(k, whiten=whiten).fit(X), Peer(k, svd_solver="full").fit(X)
    np.testing.assert_allclose(got.get_covariance(), wanted.get_covariance(), atol=1e-10)
    np.testing.assert_allclose(got.get_precision(), wanted.get_precision(), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(got.score_samples(new), wanted.score_samples(new), rtol=1e-8)
    assert got.score(new) == pytest.approx(wanted.score(new), rel=1e-8)


@every_shape
def test_the_precision_inverts_the_covariance(shape):
    n, d, k = shape
    model = PCA(k).fit(rows(n, d))
    np.testing.assert_allclose(model.get_precision() @ model.get_covariance(), np.eye(d), atol=1e-8)


def test_scores_are_logarithms_of_a_normal_density():
    X = rows(60, 4)
    model = PCA(2).fit(X)
    wanted = multivariate_normal(model.mean_, model.get_covariance()).logpdf(X)
    np.testing.assert_allclose(model.score_samples(X), wanted, rtol=1e-10)
    full = PCA().fit(X)
    np.testing.assert_allclose(full.get_covariance(), np.cov(X.T), atol=1e-12)


def test_sparse_rows_have_the_same_density():
    X = sparse_table(40, 6)
    sparse, dense = PCA(3).fit(X), PCA(3).fit(X.toarray())
    np.testing.assert_allclose(sparse.score_samples(X), dense.score_samples(X.toarray()), rtol=1e-8)
    assert sp.issparse(X)


def test_a_singular_density_is_refused():
    X = rows(60, 3) @ table(3, 5, seed=3)
    model = PCA().fit(X)
    assert model.n_components_ == 3
    refuses(lambda: model.score(X), ValueError, "singular.*fewer components")
    refuses(lambda: PCA().get_covariance(), ValueError, "not fitted")


# ---------------------------------------------------------------- CCA
def pairs(n=80):
    X = rows(n, 5)
    Y = X[:, :3] @ table(3, 2, seed=4) + 0.5 * table(n, 2, seed=5) - 3.0
    return X, Y


def test_all_pairs_predict_as_least_squares_do():
    X, Y = pairs()
    wanted = LinearRegression().fit(X, Y)
    model = CCA(2).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), wanted.predict(X), atol=1e-9)
    np.testing.assert_allclose(model.coef_, wanted.coef_, atol=1e-9)
    one = CCA(1).fit(X, Y[:, 0])
    assert one.predict(X).shape == (80,)
    np.testing.assert_allclose(
        one.predict(X), LinearRegression().fit(X, Y[:, 0]).predict(X), atol=1e-9
    )


@pytest.mark.parametrize("lam", [0.0, 0.3])
def test_predictions_are_the_regression_on_the_variates(lam):
    X, Y = pairs()
    model = CCA(1, lam=lam).fit(X, Y)
    wanted = LinearRegression().fit(model.transform(X), Y).predict(model.transform(X))
    np.testing.assert_allclose(model.predict(X), wanted, atol=1e-9)


def test_loadings_are_covariances_of_columns_and_variates():
    X, Y = pairs()
    model = CCA(2).fit(X, Y)
    U, V = model.transform(X, Y)
    for Z, variates, loadings in ((X, U, model.x_loadings_), (Y, V, model.y_loadings_)):
        wanted = (Z - Z.mean(axis=0)).T @ variates / (len(Z) - 1)
        np.testing.assert_allclose(loadings, wanted, atol=1e-9)
    # cov(Y, U) = cov(Y, V) ρ: what X knows of Y goes through the pairs alone
    across = (Y - Y.mean(axis=0)).T @ U / (len(Y) - 1)
    np.testing.assert_allclose(across, model.y_loadings_ * model.correlations_, atol=1e-9)


def test_units_of_both_tables_do_not_matter():
    X, Y = pairs()
    plain, scaled = CCA(1).fit(X, Y), CCA(1).fit(X * 1e-80, Y * 1e90)
    np.testing.assert_allclose(scaled.predict(X * 1e-80) / 1e90, plain.predict(X), rtol=1e-7)
