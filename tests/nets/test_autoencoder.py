"""The autoencoder: PCA if it is linear, better where data bend."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import datasets, decomposition

from mercer import Autoencoder
from tests.cases import table
from tests.compare import refuses


def pca_error(X, k):
    pca = decomposition.PCA(k).fit(X)
    return ((X - pca.inverse_transform(pca.transform(X))) ** 2).sum(axis=1).mean()


def arc(n):
    """Return points on three quarters of a circle."""
    t = np.linspace(0.0, 1.5 * np.pi, n)
    return np.column_stack([np.cos(t), np.sin(t)])


# ---------------------------------------------------------------- linear: principal components
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize(
    "load", [datasets.load_iris, datasets.load_breast_cancer], ids=lambda load: load.__name__
)
def test_the_linear_one_reaches_the_error_of_pca(load, k):
    X = load().data
    model = Autoencoder((), k, activation="linear", random_state=0).fit(X)
    assert model.certificate_.ok
    assert pca_error(X, k) * (1.0 - 1e-9) <= model.reconstruction_error_ <= 1.01 * pca_error(X, k)


def test_batches_reach_the_error_of_pca():
    X = datasets.load_digits().data
    model = Autoencoder((), 3, activation="linear", learning_rate=0.01, random_state=0).fit(X)
    assert model.certificate_.solver == "adam"
    assert model.reconstruction_error_ <= 1.01 * pca_error(X, 3)


def test_hidden_layers_add_nothing_to_a_linear_one():
    X = datasets.load_iris().data
    model = Autoencoder((6,), 2, activation="linear", random_state=0).fit(X)
    assert pca_error(X, 2) * (1.0 - 1e-9) <= model.reconstruction_error_ <= 1.01 * pca_error(X, 2)


def test_the_linear_code_spans_the_principal_components():
    X = datasets.load_iris().data
    codes = Autoencoder((), 2, activation="linear", random_state=0).fit_transform(X)
    scores = decomposition.PCA(2).fit_transform(X)
    centred = codes - codes.mean(axis=0)
    fitted = centred @ np.linalg.lstsq(centred, scores, rcond=None)[0]
    np.testing.assert_allclose(fitted, scores, atol=0.01 * np.abs(scores).max())


# ---------------------------------------------------------------- bent
def test_one_number_describes_an_arc_where_a_line_cannot():
    X = arc(120)
    model = Autoencoder(20, 1, activation="tanh", tol=1e-3, random_state=0).fit(X)
    assert model.reconstruction_error_ < 0.1 * pca_error(X, 1)
    along = np.diff(model.transform(X)[:, 0])
    assert (along > 0).all() or (along < 0).all()  # the code runs along the arc


def test_without_hidden_layers_the_code_is_activated():
    X = table(50, 4)
    model = Autoencoder((), 2, activation="sigmoid", tol=1e-3, random_state=0).fit(X)
    codes = 1.0 / (1.0 + np.exp(-(X @ model.coefs_[0] + model.intercepts_[0])))
    np.testing.assert_allclose(model.transform(X), codes, atol=1e-12)
    back = codes @ model.coefs_[1] + model.intercepts_[1]
    np.testing.assert_allclose(model.inverse_transform(codes), back, atol=1e-12)


# ---------------------------------------------------------------- manners
def test_there_and_back_is_the_reconstruction():
    X, w = table(40, 3), np.random.default_rng(0).uniform(0.5, 2.0, 40)
    model = Autoencoder((), 2, activation="linear", random_state=0).fit(X, sample_weight=w)
    squares = ((model.inverse_transform(model.transform(X)) - X) ** 2).sum(axis=1)
    assert model.reconstruction_error_ == pytest.approx(w @ squares / w.sum())


def test_layers_mirror_each_other_and_columns_have_names():
    model = Autoencoder((7, 5), 2, activation="tanh", tol=0.1, random_state=0).fit(table(30, 4))
    assert [W.shape for W in model.coefs_] == [(4, 7), (7, 5), (5, 2), (2, 5), (5, 7), (7, 4)]
    assert model.get_feature_names_out().tolist() == ["autoencoder0", "autoencoder1"]


def test_single_precision_comes_back():
    X = table(40, 3).astype(np.float32)
    model = Autoencoder((), 2, activation="linear", random_state=0).fit(X)
    codes = model.transform(X)
    assert codes.dtype == model.inverse_transform(codes).dtype == np.float32


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_any_unit_will_do(scale):
    X = table(40, 3)
    model = Autoencoder((), 1, activation="linear", random_state=0).fit(scale * X)
    wanted = pca_error(X, 1)
    assert model.reconstruction_error_ / scale**2 == pytest.approx(wanted, rel=0.01)


def test_squares_beyond_all_numbers_are_infinite_and_tiny_rows_do_not_vary():
    X = table(40, 3)
    model = Autoencoder((), 1, activation="linear", random_state=0)
    assert model.fit(1e300 * X).reconstruction_error_ == np.inf
    assert np.isfinite(model.transform(1e300 * X)).all()
    assert model.fit(1e-310 * X).reconstruction_error_ < 1e-6


@pytest.mark.parametrize("X", [np.full((6, 3), 2.0), table(1, 3), np.vstack([table(1, 3)] * 5)])
def test_rows_that_do_not_vary_are_learnt(X):
    model = Autoencoder((), 1, activation="linear", random_state=0).fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-3)


def test_a_code_wider_than_the_rows_loses_nothing():
    X = table(30, 2)
    model = Autoencoder((), 4, activation="linear", random_state=0).fit(X)
    assert model.reconstruction_error_ < 1e-6


def test_bad_input_is_named():
    X = table(10, 3)
    refuses(lambda: Autoencoder((), 0).fit(X), ValueError, "'n_components' parameter")
    refuses(lambda: Autoencoder("ab").fit(X), ValueError, "hidden must be a positive integer")
    model = Autoencoder((), 2, activation="linear", random_state=0).fit(X)
    refuses(lambda: model.inverse_transform(X), ValueError, "X must have 2 columns.*got 3")
