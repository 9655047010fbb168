"""Kernel k-means: Lloyd's method for the linear kernel, stationary labels, weights, new points."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_circles
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from mercer import KernelKMeans, gram
from mercer.kernels import RBF, FromFeatureMap, FromFunction, Linear, Polynomial
from mercer.spectral._lloyd import InnerProducts, WeightedPoints, kernel_kmeans, lloyd, seeds
from tests.cases import WORDS, shared_letters, squares_and_product, table
from tests.compare import refuses

X, Y = make_blobs(120, centers=4, n_features=3, cluster_std=2.5, random_state=0)


def problem_of(K, n_clusters, weight=None):
    weight = np.ones(K.shape[0]) if weight is None else weight
    K = K.centered(weight / weight.sum())
    return WeightedPoints(K, K.diagonal(), weight, n_clusters)


def naive_inertia(K, labels, weight):
    """Return Σ w (k(x, x) − 2 mean k(x, ·) + mean mean k) over the clusters, straight."""
    total = 0.0
    for c in np.unique(labels):
        own = labels == c
        z = weight[own] / weight[own].sum()
        A = K[np.ix_(own, own)]
        total += weight[own] @ (np.diag(A) - 2 * A @ z + z @ A @ z)
    return total


def squared_radius(x):
    return [float(x[0] ** 2 + x[1] ** 2)]


# ---------------------------------------------------------------- Lloyd's method
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_linear_kernel_gives_lloyds_method_from_the_same_start(seed, weighted):
    rng = np.random.default_rng(seed)
    centers = X[rng.choice(len(X), 4, replace=False)]
    weight = rng.uniform(0.5, 2.0, len(X)) if weighted else np.ones(len(X))
    nearest = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    run = lloyd(problem_of(gram("linear", X), 4, weight), nearest[None], 300)
    reference = KMeans(4, init=centers, n_init=1, tol=0, algorithm="lloyd")
    reference.fit(X, sample_weight=weight)
    np.testing.assert_array_equal(run.labels[0], reference.labels_)
    assert run.inertia[0] == pytest.approx(reference.inertia_)
    assert run.settled[0]


def test_many_starts_are_as_good_as_those_of_scikit_learn():
    model = KernelKMeans(4, kernel="linear", random_state=0).fit(X)
    reference = KMeans(4, n_init=20, random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(reference.inertia_)
    assert adjusted_rand_score(model.labels_, reference.labels_) == 1.0


def test_a_kernel_is_its_feature_map():
    rows = X[:, :2] / 5
    features = np.array([squares_and_product(x) for x in rows])
    by_kernel = KernelKMeans(3, kernel=Polynomial(degree=2, bias=0.0), random_state=0).fit(rows)
    by_features = KernelKMeans(3, kernel="linear", random_state=0).fit(features)
    assert by_kernel.inertia_ == pytest.approx(by_features.inertia_)
    np.testing.assert_array_equal(by_kernel.labels_, by_features.labels_)


def test_inner_products_of_a_table_are_a_gram_matrix():
    rows = X - X.mean(axis=0)
    ones = np.ones(len(X))
    by_table, by_gram = (
        kernel_kmeans(K, ones, 4, 5, 100, 0)
        for K in (InnerProducts(rows), gram("linear", rows).centered())
    )
    np.testing.assert_array_equal(by_table.value.labels, by_gram.value.labels)
    assert by_table.value.inertia == pytest.approx(by_gram.value.inertia)


def test_starts_side_by_side_are_starts_one_by_one():
    problem = problem_of(gram(RBF(gamma=0.1), X), 5)
    starts = seeds(problem, 6, np.random.default_rng(0))
    together = lloyd(problem, starts, 100)
    for s, start in enumerate(starts):
        alone = lloyd(problem, start[None], 100)
        np.testing.assert_array_equal(alone.labels[0], together.labels[s])
        assert alone.inertia[0] == pytest.approx(together.inertia[s])


def test_inertia_never_rises():
    problem = problem_of(gram(RBF(gamma=0.1), X), 5)
    start = seeds(problem, 1, np.random.default_rng(3))
    inertia = [lloyd(problem, start, n).inertia[0] for n in range(1, 12)]
    assert (np.diff(inertia) <= 1e-10).all()


# ---------------------------------------------------------------- answers
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 6))
def test_labels_are_stationary_and_inertia_is_that_of_the_labels(seed, k):
    rng = np.random.default_rng(seed)
    rows, weight = rng.normal(size=(25, 2)), rng.uniform(0.2, 2.0, 25)
    kernel = RBF(gamma=0.7)
    model = KernelKMeans(k, kernel=kernel, n_init=2, random_state=seed)
    model.fit(rows, sample_weight=weight)
    assert model.certificate_.ok
    assert len(set(model.labels_)) == k
    wanted = naive_inertia(kernel(rows), model.labels_, weight)
    assert model.inertia_ == pytest.approx(wanted, abs=1e-10)
    np.testing.assert_array_equal(model.predict(rows), model.labels_)


def test_clusters_of_a_ring_and_its_centre():
    rows, y = make_circles(200, factor=0.1, noise=0.03, random_state=0)
    model = KernelKMeans(2, kernel=FromFeatureMap(squared_radius), random_state=0)
    assert adjusted_rand_score(y, model.fit_predict(rows)) == 1.0
    assert adjusted_rand_score(y, KMeans(2, n_init=5, random_state=0).fit_predict(rows)) < 0.5


def test_three_clusters_are_found_and_new_points_join_them():
    rows, y = make_blobs(200, centers=[[0, 0], [5, 0], [0, 5]], cluster_std=0.6, random_state=0)
    model = KernelKMeans(3, random_state=0).fit(rows[:150])
    assert adjusted_rand_score(y[:150], model.labels_) == 1.0
    assert adjusted_rand_score(y[150:], model.predict(rows[150:])) == 1.0
    assert model.certificate_.starts_as_good >= 1


def test_a_weight_is_a_repetition_in_any_order():
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, len(X))
    order = rng.permutation(weight.sum())
    repeated = np.repeat(X, weight, axis=0)[order]
    by_weight = KernelKMeans(4, random_state=1).fit(X, sample_weight=weight)
    by_rows = KernelKMeans(4, random_state=1).fit(repeated)
    assert by_weight.inertia_ == pytest.approx(by_rows.inertia_)
    np.testing.assert_array_equal(by_weight.predict(X), by_rows.predict(X))


def test_a_large_offset_costs_no_digits():
    plain = KernelKMeans(4, kernel="linear", random_state=0).fit(X)
    moved = KernelKMeans(4, kernel="linear", random_state=0).fit(X + 1e6)
    assert adjusted_rand_score(plain.labels_, moved.labels_) == 1.0
    assert moved.inertia_ == pytest.approx(plain.inertia_, rel=1e-2)


def test_words_have_clusters():
    model = KernelKMeans(3, kernel=FromFunction(shared_letters), random_state=0).fit(WORDS)
    same = [label for word, label in zip(WORDS, model.labels_, strict=True) if word == "kernel"]
    assert len(set(same)) == 1
    assert model.predict(["kernels"]).shape == (1,)


@pytest.mark.parametrize("memory", ["20kB", "1GB"])
def test_the_storage_does_not_change_the_answer(memory):
    model = KernelKMeans(4, random_state=0, memory=memory).fit(X)
    wanted = KernelKMeans(4, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, wanted.labels_)


# ---------------------------------------------------------------- honest
def test_the_proof_says_what_it_is():
    certificate = KernelKMeans(4, random_state=0).fit(X).certificate_
    assert "no global guarantee" in certificate.about
    assert certificate.would_move == 0
    assert certificate.value == 0.0


def test_one_iteration_is_not_enough_and_that_is_said():
    rows = table(300, 2)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = KernelKMeans(8, kernel="linear", n_init=1, max_iter=1, random_state=0).fit(rows)
    assert not model.certificate_.ok
    assert model.certificate_.would_move > 0


def test_fewer_points_than_clusters_are_said():
    rows = np.repeat(np.eye(3), 4, axis=0)
    with pytest.warns(ConvergenceWarning, match="fewer distinct points"):
        model = KernelKMeans(5, kernel="linear", random_state=0).fit(rows)
    assert model.certificate_.clusters == 3
    assert model.inertia_ == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_array_equal(model.predict(rows), model.labels_)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e6])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_equal_points_are_one_cluster(kernel, value):
    with pytest.warns(ConvergenceWarning, match="fewer distinct points"):
        model = KernelKMeans(2, kernel=kernel, random_state=0).fit(np.full((6, 2), value))
    assert len(set(model.labels_)) == 1


def test_an_indefinite_kernel_is_said():
    with pytest.warns(ConvergenceWarning, match="not positive semidefinite"):
        KernelKMeans(2, kernel=-1.0 * Linear(), random_state=0).fit(X)


def test_empty_clusters_are_filled():
    problem = problem_of(gram("linear", X), 4)
    run = lloyd(problem, np.zeros((1, len(X)), np.intp), 100)
    assert len(set(run.labels[0])) == 4
    assert run.settled[0]


@pytest.mark.parametrize("n_clusters", [1, 2])
def test_few_points(n_clusters):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = KernelKMeans(n_clusters, random_state=0).fit(X[:2])
    assert len(set(model.labels_)) == n_clusters


def test_bad_input_is_refused():
    refuses(lambda: KernelKMeans(5).fit(X[:4]), ValueError, "n_samples = 4")
    refuses(lambda: KernelKMeans(0).fit(X), ValueError, "n_clusters")
    refuses(lambda: KernelKMeans(2).fit(X, sample_weight=-np.ones(120)), ValueError, "≥ 0")
