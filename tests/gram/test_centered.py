"""Centring in feature space: H K Hᵀ without H, for training points and for new ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import KernelCenterer

from mercer import center_rows, check_gram, gram
from mercer.kernels import RBF, Linear, Polynomial
from tests import naive
from tests.cases import STORAGES, table
from tests.strategies import psd_expressions, tables

every_storage = pytest.mark.parametrize("store", STORAGES.values(), ids=STORAGES.keys())

KERNEL = Polynomial(degree=2, scale=0.5)
X, NEW = table(8, 3), table(5, 3, seed=1)
K, K_NEW = KERNEL(X), KERNEL(NEW, X)
ALPHA = np.array([0.3, 0.1, 0.0, 0.2, 0.05, 0.15, 0.4, -0.2])  # Σα = 1, one of them negative
WEIGHTS = {"uniform": None, "weighted": ALPHA}
every_weight = pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS.keys())


@every_storage
@every_weight
def test_training_points_are_centred_as_by_the_matrix_h(store, weights):
    C = store(KERNEL, X).centered(weights)
    wanted = naive.centered(K, weights)
    v = np.arange(8.0)
    np.testing.assert_allclose(C.toarray(), wanted, atol=1e-12)
    np.testing.assert_allclose(C @ v, wanted @ v, atol=1e-11)
    np.testing.assert_allclose(C.T @ v, wanted.T @ v, atol=1e-11)
    np.testing.assert_allclose(C.diagonal(), np.diagonal(wanted), atol=1e-12)
    np.testing.assert_allclose(C.rows([3, 1]), wanted[[3, 1]], atol=1e-12)


@every_storage
@every_weight
def test_new_points_are_centred_by_the_training_points(store, weights):
    train = store(KERNEL, X)
    C = store(KERNEL, NEW, X).centered(weights, reference=train)
    wanted = naive.centered_new(K_NEW, K, weights)
    check_gram(C, wanted, rtol=1e-12)


@every_weight
def test_rows_of_new_points_are_centred_by_the_same_formula(weights):
    wanted = naive.centered_new(K_NEW, K, weights)
    np.testing.assert_allclose(center_rows(K_NEW, gram(KERNEL, X), weights), wanted, atol=1e-12)


def test_the_last_term_is_added():
    """The last term is + (1/m²) Σ K; with a minus, linear features would not be centred."""
    mean = X.mean(axis=0)
    explicit = (NEW - mean) @ (X - mean).T
    np.testing.assert_allclose(center_rows(NEW @ X.T, gram("linear", X)), explicit, atol=1e-12)
    wrong = NEW @ X.T - (NEW @ X.T).mean(1)[:, None] - (X @ X.T).mean(0) - (X @ X.T).mean()
    assert np.abs(wrong - explicit).max() > 0.01


@every_weight
def test_centring_linear_features_is_subtracting_their_mean(weights):
    alpha = np.full(8, 1 / 8) if weights is None else weights
    shifted = X - alpha @ X
    C = gram(Linear(), X).centered(weights)
    np.testing.assert_allclose(C.toarray(), shifted @ shifted.T, atol=1e-12)


def test_centring_equals_scikit_learn():
    centerer = KernelCenterer().fit(K)
    train = gram(KERNEL, X)
    np.testing.assert_allclose(train.centered().toarray(), centerer.transform(K), atol=1e-12)
    new = gram(KERNEL, NEW, X).centered(reference=train)
    np.testing.assert_allclose(new.toarray(), centerer.transform(K_NEW), atol=1e-12)


@every_weight
def test_the_weighted_mean_of_centred_features_is_zero(weights):
    alpha = np.full(8, 1 / 8) if weights is None else weights
    C = gram(KERNEL, X).centered(weights)
    np.testing.assert_allclose(C @ alpha, 0.0, atol=1e-12)


@every_weight
def test_a_centred_reference_brings_its_weights(weights):
    train = gram(KERNEL, X).centered(weights)
    wanted = naive.centered_new(K_NEW, K, weights)
    new = gram(KERNEL, NEW, X)
    np.testing.assert_allclose(new.centered(reference=train).toarray(), wanted, atol=1e-12)
    np.testing.assert_allclose(center_rows(K_NEW, train), wanted, atol=1e-12)


def test_weights_win_over_those_of_a_centred_reference():
    wanted = naive.centered_new(K_NEW, K, ALPHA)
    train = gram(KERNEL, X).centered()
    np.testing.assert_allclose(center_rows(K_NEW, train, ALPHA), wanted, atol=1e-12)


@every_storage
def test_centring_twice_is_centring_once(store):
    once = store(KERNEL, X).centered()
    np.testing.assert_allclose(once.centered().toarray(), once.toarray(), atol=1e-12)


@every_storage
def test_centring_again_by_other_weights(store):
    again = store(KERNEL, X).centered(ALPHA).centered()
    np.testing.assert_allclose(again.toarray(), naive.centered(K), atol=1e-12)


@every_storage
def test_a_restriction_of_the_centred_is_not_the_centred_restriction(store):
    fold = [6, 0, 3]
    G = store(KERNEL, X)
    by_all = G.centered().restrict(fold)
    by_fold = G.restrict(fold).centered()
    np.testing.assert_allclose(by_all.toarray(), naive.centered(K)[np.ix_(fold, fold)], atol=1e-12)
    np.testing.assert_allclose(by_fold.toarray(), naive.centered(K[np.ix_(fold, fold)]), atol=1e-12)


@every_storage
def test_a_fold_centres_its_test_points_by_its_training_points(store):
    train, test = np.array([0, 2, 4, 6, 7]), np.array([1, 3, 5])
    G = store(KERNEL, X)
    C = G.restrict(test, train).centered(reference=G.restrict(train))
    wanted = naive.centered_new(K[np.ix_(test, train)], K[np.ix_(train, train)])
    np.testing.assert_allclose(C.toarray(), wanted, atol=1e-12)


def test_the_centred_matrix_keeps_its_precision():
    single = gram(KERNEL, X.astype(np.float32)).centered()
    assert single.dtype == single.toarray().dtype == (single @ np.ones(8)).dtype == np.float32
    np.testing.assert_allclose(single.toarray(), naive.centered(K), atol=1e-5)


def test_the_precomputed_matrix_is_not_changed_by_centring():
    given_matrix = K.copy()
    gram("precomputed", given_matrix).centered().toarray()
    np.testing.assert_array_equal(given_matrix, K)


@given(psd_expressions, tables(), st.integers(0, 2**16))
def test_any_expression_can_be_centred(kernel, rows, seed):
    alpha = np.random.default_rng(seed).dirichlet(np.ones(len(rows)))
    matrix = kernel(rows)
    C = gram(kernel, rows).centered(alpha)
    np.testing.assert_allclose(
        C.toarray(), naive.centered(matrix, alpha), atol=1e-13 * max(1.0, np.abs(matrix).max())
    )


@given(psd_expressions, tables(), st.integers(0, 2**16))
def test_any_expression_can_be_restricted(kernel, rows, seed):
    index = np.random.default_rng(seed).integers(0, len(rows), size=4)
    matrix = kernel.bind(rows)(rows)
    got = gram(kernel, rows, storage="blocked").restrict(index).toarray()
    np.testing.assert_allclose(
        got, matrix[np.ix_(index, index)], atol=1e-12 * max(1.0, np.abs(matrix).max())
    )


def test_rbf_features_are_centred_too():
    G = gram(RBF(), X).centered()
    np.testing.assert_allclose(G.toarray(), naive.centered(RBF()(X)), atol=1e-14)
