"""Kernels from what the user has: a function, a feature map, a transformer, a matrix."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from mercer import gram
from mercer.kernels import FromFeatureMap, FromFunction, Linear, Precomputed, RankOne
from tests import naive
from tests.cases import RBF, WORDS, letter_counts, shared_letters, sparse_table, table
from tests.compare import assert_close


def test_a_function_of_two_rows_is_a_kernel():
    X = table(6, 3)
    assert_close(FromFunction(lambda x, y: x @ y)(X), X @ X.T)


def test_a_function_sees_sparse_rows_as_plain_vectors():
    X = sparse_table(6, 4)
    assert_close(FromFunction(lambda x, y: x @ y)(X), (X @ X.T).toarray())


def test_a_function_that_is_not_symmetric_is_not_made_symmetric():
    X = np.array([[1.0], [2.0], [3.0]])
    K = FromFunction(lambda x, y: x[0] - 2 * y[0])(X)
    assert_close(K, X - 2 * X.T)


def test_a_function_known_to_be_psd_is_called_for_one_triangle(small_tiles):
    calls = []

    def product(x, y):
        calls.append((x[0], y[0]))
        return x[0] * y[0]

    X = np.arange(1.0, 10.0)[
        :, None
    ]  # 3 × 3 tiles of 3 × 3 values, 6 of them on or above the diagonal
    assert_close(FromFunction(product, definiteness="psd")(X), X @ X.T)
    assert len(calls) == 6 * 9


def test_a_feature_map_may_return_a_number_a_list_or_an_array():
    X = table(5, 2)
    assert_close(FromFeatureMap(lambda x: x[0])(X), np.outer(X[:, 0], X[:, 0]))
    assert_close(FromFeatureMap(lambda x: [x[0], x[1]])(X), X @ X.T)
    assert_close(FromFeatureMap(lambda x: x.reshape(1, 2))(X), X @ X.T)


def test_a_feature_map_of_words():
    counts = np.array([letter_counts(word) for word in WORDS], dtype=float)
    assert_close(FromFeatureMap(letter_counts)(WORDS), counts @ counts.T)


def test_a_fitted_transformer_is_a_feature_map():
    X, new = table(20, 3), table(4, 3, seed=1)
    scaler = StandardScaler().fit(X)
    k = FromFeatureMap(scaler)
    assert_close(k(new, X), scaler.transform(new) @ scaler.transform(X).T)


def test_a_transformer_with_the_polynomial_map_is_a_polynomial_kernel():
    X = table(8, 2)
    expand = PolynomialFeatures(2).fit(X)  # 1, a, b, a², ab, b² without the factors √2
    Z = expand.transform(X)
    assert_close(FromFeatureMap(expand)(X), Z @ Z.T)


def test_features_keep_the_precision_of_float32_rows():
    X = table(5, 2).astype(np.float32)
    assert FromFeatureMap(lambda x: x)(X).dtype == np.float32


def test_rank_one_of_words():
    lengths = np.array([float(len(word)) for word in WORDS])
    assert_close(RankOne(len)(WORDS), np.outer(lengths, lengths))


# ---------------------------------------------------------------- precomputed
K = RBF(gamma=0.5)(table(6, 2))
K_NEW = RBF(gamma=0.5)(table(3, 2, seed=1), table(6, 2))


def test_a_precomputed_kernel_is_its_matrix():
    np.testing.assert_array_equal(Precomputed()(K), K)
    np.testing.assert_array_equal(Precomputed()(K_NEW, K), K_NEW)
    np.testing.assert_array_equal(Precomputed().diagonal(K), np.diagonal(K))


def test_a_precomputed_kernel_takes_part_in_the_algebra():
    assert_close((2.0 * Precomputed() + Precomputed() ** 2)(K), 2 * K + K**2)
    assert_close(Precomputed().exp()(K_NEW, K), np.exp(K_NEW))


def test_a_precomputed_matrix_can_be_normalised():
    linear = Linear()(table(6, 2))
    assert_close(Precomputed().normalized()(linear), Linear().normalized()(table(6, 2)))


def test_a_precomputed_matrix_that_is_not_symmetric_stays_so():
    A = table(4, 4)
    np.testing.assert_array_equal(Precomputed()(A), A)


def test_a_precomputed_kernel_does_not_know_new_points_against_themselves():
    with pytest.raises(ValueError, match="does not know k\\(x, x\\) of new points"):
        gram(Precomputed(), K_NEW, K).diagonal()


def test_words_give_the_same_by_function_and_by_sets():
    assert_close(
        FromFunction(shared_letters)(WORDS), naive.matrix(FromFunction(shared_letters), WORDS)
    )


def test_a_feature_map_may_take_all_rows_at_once():
    X = np.random.default_rng(0).standard_normal((6, 2))
    of_a_table = FromFeatureMap(lambda X: np.column_stack([X[:, 0] ** 2, X[:, 1]]))
    of_a_row = FromFeatureMap(lambda x: [x[0] ** 2, x[1]])
    np.testing.assert_allclose(of_a_table(X, X[:2]), of_a_row(X, X[:2]))
    with pytest.raises(IndexError, match="out of bounds"):
        FromFeatureMap(lambda x: x[7])(X)
