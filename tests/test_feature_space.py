"""Geometry in feature space: distances, means, norms, the reproducing property."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from mercer import feature_distance, mean_distance, rkhs_inner, rkhs_norm
from mercer.kernels import RBF, FromFeatureMap, FromFunction, Linear, Polynomial, Sigmoid
from tests import naive
from tests.cases import KERNELS, WORDS, letter_counts, squares_and_product, table
from tests.strategies import psd_expressions, tables

X, Y = table(7, 2), table(5, 2, seed=1)
A, B = table(7, 1, seed=2)[:, 0], table(5, 1, seed=3)[:, 0]

PSD = {name: kernel for name, kernel in KERNELS.items() if kernel.definiteness == "psd"}
every_psd_kernel = pytest.mark.parametrize("kernel", PSD.values(), ids=PSD.keys())


def features(rows):
    return np.array([squares_and_product(x) for x in rows])


# ---------------------------------------------------------------- distances
def test_linear_features_have_euclidean_distances():
    np.testing.assert_allclose(feature_distance("linear", X, Y), cdist(X, Y), atol=1e-12)
    np.testing.assert_allclose(feature_distance("linear", X), cdist(X, X), atol=1e-7)


def test_distances_are_those_of_explicit_features():
    wanted = cdist(features(X), features(Y))
    homogeneous = Polynomial(degree=2, bias=0.0)
    np.testing.assert_allclose(feature_distance(homogeneous, X, Y), wanted, atol=1e-12)


def test_squared_distances_are_squares():
    D = feature_distance(RBF(gamma=0.5), X, Y)
    np.testing.assert_allclose(feature_distance(RBF(gamma=0.5), X, Y, squared=True), D**2)


def test_rbf_distances_are_below_root_two():
    # ‖φ(x) − φ(y)‖² = 2 − 2k(x, y) < 2
    assert (feature_distance(RBF(), 100.0 * X) <= np.sqrt(2.0)).all()


@every_psd_kernel
def test_distances_are_a_metric(kernel):
    D = feature_distance(kernel, X)
    assert (np.diagonal(D) == 0.0).all()
    np.testing.assert_allclose(D, D.T, atol=1e-7 * (1 + D.max()))  # √ε: a root of a difference
    triangle = D[:, None, :] - D[:, :, None] - D.T[None, :, :]  # d(i,k) − d(i,j) − d(j,k)
    assert triangle.max() <= 1e-6 * (1 + D.max())


def test_distances_between_words():
    counts = np.array([letter_counts(word) for word in WORDS], dtype=float)
    got = feature_distance(FromFeatureMap(letter_counts), WORDS)
    np.testing.assert_allclose(got, cdist(counts, counts), atol=1e-7)


def test_distances_of_float32_rows_are_computed_in_double():
    single = X.astype(np.float32)
    got = feature_distance("linear", single, Y.astype(np.float32))
    assert got.dtype == np.float64


def test_a_negative_square_is_an_error_and_not_a_zero():
    minus = FromFunction(lambda x, y: -float(x @ y))
    with pytest.raises(ValueError, match=r"negative.*not a positive semidefinite kernel"):
        feature_distance(minus, X)


# ---------------------------------------------------------------- means
@pytest.mark.parametrize("weights", [None, np.array([0.5, 0.2, 0.1, 0.3, -0.1])])
def test_the_distance_to_the_mean_is_that_of_explicit_features(weights):
    alpha = np.full(5, 0.2) if weights is None else weights
    mean = alpha @ features(Y)
    wanted = np.linalg.norm(features(X) - mean, axis=1)
    homogeneous = Polynomial(degree=2, bias=0.0)
    got = mean_distance(homogeneous, X, Y, weights=weights)
    np.testing.assert_allclose(got, wanted, atol=1e-12)
    squared = mean_distance(homogeneous, X, Y, weights=weights, squared=True)
    np.testing.assert_allclose(squared, wanted**2, atol=1e-12)


def test_the_distance_to_the_own_mean():
    wanted = np.linalg.norm(X - X.mean(axis=0), axis=1)
    np.testing.assert_allclose(mean_distance("linear", X), wanted, atol=1e-12)
    np.testing.assert_allclose(mean_distance("linear", X, X), wanted, atol=1e-7)


def test_the_mean_is_the_nearest_point():
    # Σ ‖φ(x) − m‖² is least at the mean: other weights do not come nearer
    own = (mean_distance(RBF(), X) ** 2).sum()
    other = np.random.default_rng(0).dirichlet(np.ones(7), size=20)
    assert all((mean_distance(RBF(), X, weights=w) ** 2).sum() >= own - 1e-12 for w in other)


def test_gamma_is_bound_to_the_points_of_the_mean():
    bound = RBF().bind(Y)
    np.testing.assert_allclose(mean_distance(RBF(), X, Y), mean_distance(bound, X, Y))


# ---------------------------------------------------------------- functions
@every_psd_kernel
def test_inner_products_and_norms_are_double_sums(kernel):
    kernel = kernel.bind(X)
    scale = 1e-12 * (1 + np.abs(kernel(X)).max()) * 50
    assert rkhs_inner(kernel, X, A, Y, B) == pytest.approx(
        naive.rkhs_inner(kernel, X, A, Y, B), abs=scale
    )
    square = naive.rkhs_inner(kernel, X, A, X, A)
    assert rkhs_norm(kernel, X, A, squared=True) == pytest.approx(square, abs=scale)
    assert rkhs_norm(kernel, X, A) ** 2 == pytest.approx(max(square, 0.0), abs=scale)


@given(psd_expressions, tables(), st.integers(0, 2**16))
def test_the_reproducing_property(kernel, rows, seed):
    """⟨f, k(·, x)⟩ = f(x) for f = Σ aᵢ k(·, xᵢ)."""
    a = np.random.default_rng(seed).normal(size=len(rows))
    kernel = kernel.bind(rows)
    K = kernel(rows)
    point = rows[:1]
    value = float(K[0] @ a)
    got = rkhs_inner(kernel, rows, a, point, [1.0])
    assert got == pytest.approx(value, abs=1e-11 * (1 + np.abs(K).max()))


@every_psd_kernel
def test_cauchy_schwarz_between_functions(kernel):
    kernel = kernel.bind(X)
    product = rkhs_norm(kernel, X, A) * rkhs_norm(kernel, Y, B)
    assert abs(rkhs_inner(kernel, X, A, Y, B)) <= product * (1 + 1e-9) + 1e-6


def test_the_norm_of_a_linear_function_is_that_of_its_weights():
    assert rkhs_norm("linear", X, A) == pytest.approx(np.linalg.norm(X.T @ A), rel=1e-12)


def test_the_norm_of_a_function_on_words():
    kernel = FromFeatureMap(letter_counts)
    counts = np.array([letter_counts(word) for word in WORDS], dtype=float)
    a = np.arange(len(WORDS), dtype=float)
    assert rkhs_norm(kernel, WORDS, a) == pytest.approx(np.linalg.norm(counts.T @ a), rel=1e-12)


def test_a_negative_square_of_a_norm_is_an_error():
    with pytest.raises(ValueError, match=r"aᵀKa = .* < 0: Sigmoid"):
        rkhs_norm(Sigmoid(bias=-3.0), X, np.ones(7))


def test_a_function_that_is_zero_has_norm_zero():
    twice = np.vstack([X[:1], X[:1]])
    assert rkhs_norm(Linear(), twice, [1.0, -1.0]) == 0.0
