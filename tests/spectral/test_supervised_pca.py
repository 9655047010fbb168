"""Supervised PCA: it is its eigenproblem, sees what PCA misses, and tells chance apart."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import decomposition

from mercer import SupervisedPCA
from mercer.kernels import RBF, Constant, FromFunction, Linear, Polynomial
from tests import naive
from tests.cases import SAMPLES, shared_letters, table
from tests.compare import refuses

X = table(60, 4)
Y = X[:, 0] + 0.1 * table(60, 1, seed=1)[:, 0]


def quadratic(rows, L):
    """Return Xᵀ H L H X with all matrices formed."""
    return rows.T @ naive.centered(L) @ rows


# ---------------------------------------------------------------- the eigenproblem
KERNELS = [RBF(gamma=0.7), Linear(), Linear(bias=3.0), Polynomial(2), RBF(gamma=0.3) + Linear()]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_it_is_its_eigenproblem(kernel):
    model = SupervisedPCA(kernel_y=kernel).fit(X, Y)
    values, vectors = np.linalg.eigh(quadratic(X, kernel(Y[:, None])))
    k = len(model.eigenvalues_)
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:k], atol=1e-9 * values[-1])
    np.testing.assert_allclose(values[::-1][k:], 0.0, atol=1e-9 * values[-1])
    np.testing.assert_allclose(np.abs(model.components_[0] @ vectors[:, -1]), 1.0, rtol=1e-9)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(k), atol=1e-12)
    assert model.certificate_.ok


def test_labels_have_the_delta_kernel():
    labels = np.repeat(["a", "b", "c"], 20)
    delta = (labels[:, None] == labels).astype(float)
    values = np.linalg.eigvalsh(quadratic(X, delta))[::-1]
    for y in (labels, np.repeat([5, 1, 9], 20), np.repeat([True, False, True], 20)):
        model = SupervisedPCA().fit(X, y)
        assert len(model.components_) == len(np.unique(y)) - 1
    np.testing.assert_allclose(SupervisedPCA().fit(X, labels).eigenvalues_, values[:2], rtol=1e-10)
    as_function = SupervisedPCA(kernel_y=FromFunction(lambda a, b: float(a == b))).fit(X, labels)
    np.testing.assert_allclose(as_function.eigenvalues_[:2], values[:2], rtol=1e-10)


def test_one_number_gives_the_direction_of_covariance():
    direction = (X - X.mean(axis=0)).T @ Y
    model = SupervisedPCA().fit(X, Y)
    np.testing.assert_allclose(
        np.abs(model.components_), np.abs(direction[None]) / np.linalg.norm(direction)
    )


def test_several_responses_are_one_table():
    both = np.column_stack([Y, X[:, 1] ** 2])
    values = np.linalg.eigvalsh(quadratic(X, both @ both.T))[::-1]
    model = SupervisedPCA().fit(X, both)
    np.testing.assert_allclose(model.eigenvalues_, values[:2], rtol=1e-10)


def test_a_kernel_that_tells_all_rows_apart_gives_pca():
    model = SupervisedPCA(kernel_y="delta").fit(X, np.arange(60))
    pca = decomposition.PCA().fit(X)
    np.testing.assert_allclose(np.abs(model.components_ @ pca.components_.T), np.eye(4), atol=1e-9)
    np.testing.assert_allclose(model.eigenvalues_, pca.explained_variance_ * 59, rtol=1e-10)


def test_more_columns_than_rows_are_the_same_problem():
    rows = table(20, 50)
    y = rows[:, 0]
    model = SupervisedPCA(3, kernel_y="rbf").fit(rows, y)
    values = np.linalg.eigvalsh(quadratic(rows, RBF()(y[:, None])))[::-1]
    np.testing.assert_allclose(model.eigenvalues_, values[:3], rtol=1e-9)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-12)


# ---------------------------------------------------------------- what it is for
def test_a_planted_direction_is_found_where_pca_takes_the_largest_variance():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 6)) * [1.0, 6.0, 5.0, 4.0, 1.0, 1.0]
    y = rows[:, 0] + 0.1 * rng.normal(size=400)
    supervised = SupervisedPCA(1).fit_transform(rows, y)
    plain = decomposition.PCA(1).fit_transform(rows)
    assert abs(np.corrcoef(supervised[:, 0], y)[0, 1]) > 0.7
    assert abs(np.corrcoef(plain[:, 0], y)[0, 1]) < 0.2


def test_shuffles_tell_dependence_from_chance():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(150, 4))
    labels = np.digitize(rows[:, 0], [-0.5, 0.5])  # one direction, three classes
    model = SupervisedPCA(n_permutations=99, random_state=0).fit(rows, labels)
    assert model.p_values_[0] == pytest.approx(0.01)
    assert model.p_values_[1] > 0.05
    none = SupervisedPCA(n_permutations=99, random_state=0).fit(rows, rng.normal(size=150))
    assert none.p_values_[0] > 0.05
    again = SupervisedPCA(n_permutations=99, random_state=0).fit(rows, labels)
    np.testing.assert_array_equal(model.p_values_, again.p_values_)
    assert len(SupervisedPCA().fit(rows, labels).p_values_) == 0


def test_p_values_without_dependence_are_about_uniform():
    rng = np.random.default_rng(0)
    p = [
        SupervisedPCA(n_permutations=19, random_state=0)
        .fit(rng.normal(size=(30, 2)), rng.normal(size=30))
        .p_values_[0]
        for _ in range(100)
    ]
    assert np.mean(p) == pytest.approx(0.525, abs=4 * 0.29 / 10)  # of 1/20, 2/20, …, 1


def test_a_large_response_needs_no_square_matrix():
    rows = table(6000, 3)
    tracemalloc.start()
    model = SupervisedPCA(2, kernel_y="rbf").fit(rows, rows[:, 0])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6000 * 6000 * 8 / 4
    assert abs(model.components_[0, 0]) > 0.99


def test_words_can_be_responses():
    words = np.array(["kernel", "trick", "margin", "eigen"] * 15)
    kernel = FromFunction(shared_letters, definiteness="psd")
    model = SupervisedPCA(kernel_y=kernel).fit(X, words)
    values = np.linalg.eigvalsh(quadratic(X, kernel(list(words))))[::-1]
    np.testing.assert_allclose(model.eigenvalues_, values[: len(model.eigenvalues_)], rtol=1e-9)


# ---------------------------------------------------------------- properties
@given(shift=st.floats(-1e3, 1e3), factor=st.floats(0.1, 10.0))
def test_the_response_may_be_shifted_and_scaled(shift, factor):
    plain = SupervisedPCA().fit(X, Y)
    other = SupervisedPCA().fit(X, factor * Y + shift)
    np.testing.assert_allclose(other.components_, plain.components_, atol=1e-9)
    np.testing.assert_allclose(other.eigenvalues_, factor**2 * plain.eigenvalues_, rtol=1e-8)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("rows", SAMPLES.values(), ids=SAMPLES.keys())
def test_every_kind_of_rows(rows, kernel):
    y = np.arange(float(rows.shape[0]))
    model = SupervisedPCA(kernel_y=kernel)
    if not isinstance(rows, np.ndarray) or len(rows) == 1:
        refuses(lambda: model.fit(rows, y), (TypeError, ValueError), "[Ss]parse|1 sample")
        return
    model.fit(rows, y)
    rank = np.linalg.matrix_rank(rows - rows.mean(axis=0), tol=1e-5)
    assert min(rank, 1) <= len(model.components_) <= rank
    assert model.certificate_.ok
    assert np.isfinite(model.transform(rows)).all()


@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1e20, 1e140])
def test_tables_and_responses_of_any_size(scale):
    wanted = SupervisedPCA().fit(X, Y).components_
    np.testing.assert_allclose(SupervisedPCA().fit(scale * X, Y).components_, wanted, atol=1e-12)
    np.testing.assert_allclose(SupervisedPCA().fit(X, 1e-20 * Y).components_, wanted, atol=1e-12)


def test_a_far_response_is_not_taken_for_a_constant():
    model = SupervisedPCA().fit(X, 1e8 + Y)
    assert abs(model.components_[0] @ SupervisedPCA().fit(X, Y).components_[0]) > 1 - 1e-6


CONSTANT = {
    "equal numbers": (np.full(60, 3.7), "auto"),
    "equal numbers, radial kernel": (np.full(60, 3.7), "rbf"),
    "equal labels": (["a"] * 60, "auto"),
    "a constant kernel": (Y, Constant(2.0)),
}


@pytest.mark.parametrize(("y", "kernel"), CONSTANT.values(), ids=CONSTANT.keys())
def test_a_constant_response_is_named(y, kernel):
    refuses(lambda: SupervisedPCA(kernel_y=kernel).fit(X, y), ValueError, "kernel_y=.* is constant")


BAD = {
    "an unknown kernel": ({"kernel_y": "delt"}, "kernel must be one of"),
    "negative shuffles": ({"n_permutations": -1}, "'n_permutations'.*Got -1"),
}


@pytest.mark.parametrize(("parameters", "match"), BAD.values(), ids=BAD.keys())
def test_bad_parameters_are_named(parameters, match):
    refuses(lambda: SupervisedPCA(**parameters).fit(X, Y), ValueError, match)
