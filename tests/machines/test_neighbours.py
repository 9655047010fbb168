"""Nearest neighbours in feature space: scikit-learn's where the kernel is linear or radial."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn import datasets, neighbors
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KNN, KNNRegressor, NearestNeighbors, feature_distance
from mercer._array import n_threads
from mercer.kernels import (
    RBF,
    Exponential,
    FromFunction,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
)
from mercer.kernels.sample import Sample
from mercer.norms import Linf, Mahalanobis, Quadratic
from mercer.solvers.nearest import FeatureSearch, NormSearch
from tests.cases import WORDS, shared_letters, sparse_table, table

X, NEW = table(120, 4), table(37, 4, seed=1)
Y = X[:, 0] + np.sin(X[:, 1])
LABELS = np.array(["a", "b", "c"])[np.digitize(Y, [-0.5, 0.5])]

KERNELS = [None, Linear(), Linear(2.0), RBF(), RBF(gamma=0.01), Exponential(), RBF(gamma=5.0)]
GENERAL = [
    Laplacian(),
    Polynomial(degree=2),
    0.5 * RBF(gamma=0.2) + Linear(),
    Linear().normalized(),
]


@parametrize_with_checks([KNN(metric="l1"), KNNRegressor(metric=3.0, weights="distance")])
def test_scikit_learn_has_no_objection_to_norms(estimator, check):
    check(estimator)


def brute(kernel, rows, new, k):
    """Return the neighbours by sorting all pairs of (distance, position)."""
    D = feature_distance(kernel or Linear(), new, rows)
    return np.array([sorted(range(len(rows)), key=lambda j: (row[j], j))[:k] for row in D]), D


# ---------------------------------------------------------------- the neighbours
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("k", [1, 5, 120])
def test_monotone_kernels_have_the_neighbors_of_scikit_learn(kernel, k):
    reference = neighbors.NearestNeighbors(n_neighbors=k, algorithm="brute").fit(X)
    wanted = reference.kneighbors(NEW, return_distance=False)
    found = KNN(k, kernel=kernel).fit(X, LABELS).kneighbors(NEW, return_distance=False)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("kernel", KERNELS + GENERAL, ids=repr)
def test_distances_are_those_of_feature_space(kernel):
    bound = (kernel or Linear()).bind(X)
    model = KNN(7, kernel=bound).fit(X, LABELS)
    distances, index = model.kneighbors(NEW)
    wanted, D = brute(bound, X, NEW, 7)
    np.testing.assert_array_equal(index, wanted)
    np.testing.assert_allclose(distances, np.take_along_axis(D, wanted, axis=1), atol=1e-7)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("kernel", [None, RBF(), Laplacian(), Polynomial(degree=2)], ids=repr)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_lists_of_many_tiles_and_threads_are_merged(kernel, form):
    rows, new = sparse_table(50, 6).toarray(), sparse_table(20, 6, seed=3).toarray()
    bound = (kernel or Linear()).bind(rows)
    found = KNN(6, kernel=bound).fit(form(rows), rows[:, 0] > 0).kneighbors(form(new))
    D = np.sort(feature_distance(bound, new, rows), axis=1)[:, :6]
    np.testing.assert_allclose(found[0], D, atol=1e-7)
    own = feature_distance(bound, new, rows)
    np.testing.assert_allclose(np.take_along_axis(own, found[1], axis=1), D, atol=1e-7)


@pytest.mark.usefixtures("small_tiles")
@given(st.integers(1, 30), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_ties_go_to_the_smaller_position(n, d, seed):
    """Rows of a few small integers: many distances are exactly equal."""
    rng = np.random.default_rng(seed)
    rows, new = (rng.integers(0, 3, (m, d)).astype(float) + 1000.0 for m in (n, 7))
    k = int(rng.integers(1, n + 1))
    squares = ((new[:, None] - rows[None]) ** 2).sum(axis=2)
    wanted = np.array([np.lexsort((np.arange(n), row))[:k] for row in squares])
    for form in (np.asarray, sp.csr_array):
        distances, index = KNN(k).fit(form(rows), np.zeros(n)).kneighbors(form(new))
        np.testing.assert_array_equal(index, wanted)
        np.testing.assert_allclose(distances**2, np.take_along_axis(squares, wanted, 1), rtol=1e-14)


def test_equal_rows_tie_wherever_they_stand_in_a_product():
    rows = np.repeat(table(3, 37), 41, axis=0)[np.random.default_rng(0).permutation(123)]
    for new in (table(1, 37, seed=5), table(9, 37, seed=6)):
        distances, index = KNN(60).fit(rows, np.zeros(123)).kneighbors(new)
        order = np.lexsort((index, distances), axis=1)
        np.testing.assert_array_equal(order, np.tile(np.arange(60), (len(new), 1)))
        assert all(len(np.unique(row)) <= 3 for row in distances)


@pytest.mark.parametrize("kernel", [None, RBF(gamma=1e-12), Exponential(gamma=1e-9)], ids=repr)
def test_close_points_far_from_zero_are_told_apart(kernel):
    """1 − k(x, y) is lost in rounding here; the search does not go through it."""
    rows = 1e6 + 1e-3 * np.arange(10.0)[:, None]
    distances, index = KNN(3, kernel=kernel).fit(rows, np.zeros(10)).kneighbors(rows[[4]] + 2e-4)
    np.testing.assert_array_equal(index, [[4, 5, 3]])
    assert 0 < distances[0, 0] < distances[0, 1] < distances[0, 2]


@pytest.mark.parametrize("scale", [1e-100, 1e-20, 1e20, 1e140])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_the_unit_of_length_does_not_matter(scale, weights):
    small, large = (
        KNNRegressor(weights=weights).fit(s * X, Y).predict(s * NEW) for s in (1.0, scale)
    )
    np.testing.assert_allclose(large, small, rtol=1e-9)


@pytest.mark.parametrize("kernel", [None, RBF(), Polynomial(degree=2), "precomputed"], ids=repr)
def test_training_points_are_not_their_own_neighbors(kernel):
    rows = np.vstack([X[:30], X[:30]])
    given = rows @ rows.T if kernel == "precomputed" else rows
    distances, index = KNN(4, kernel=kernel).fit(given, np.zeros(60)).kneighbors()
    assert index.shape == (60, 4)
    assert not (index == np.arange(60)[:, None]).any()
    np.testing.assert_array_equal(index[:, 0], (np.arange(60) + 30) % 60)  # the copy
    np.testing.assert_allclose(distances[:, 0], 0.0, atol=1e-6)


def test_words_have_neighbors():
    model = KNN(2, kernel=FromFunction(shared_letters)).fit(WORDS, [len(w) > 5 for w in WORDS])
    _, index = model.kneighbors(["kernels", "tricks"])
    assert [WORDS[i] for i in index[0]] == ["kernel", "kernel"]
    assert WORDS[index[1, 0]] == "trick"


def test_single_precision_rows_are_compared_in_double_precision():
    rows, new = X.astype(np.float32), NEW.astype(np.float32)
    single = KNN().fit(rows, LABELS).kneighbors(new)
    double = KNN().fit(rows.astype(float), LABELS).kneighbors(new.astype(float))
    np.testing.assert_array_equal(single[0], double[0])
    np.testing.assert_array_equal(single[1], double[1])


# ---------------------------------------------------------------- what they say
@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("kernel", [None, "linear"])
@pytest.mark.parametrize("data", [datasets.load_iris, datasets.load_wine])
def test_classes_are_those_of_scikit_learn(weights, kernel, data):
    rows, y = data(return_X_y=True)
    rows = rows + 1e-6 * np.random.default_rng(0).normal(size=rows.shape)  # no ties
    options = {"n_neighbors": 7, "weights": weights}
    model = KNN(kernel=kernel, **options).fit(rows[::2], y[::2])
    # a tree has distances from differences; "brute" leaves rounding where they are 0
    reference = neighbors.KNeighborsClassifier(algorithm="kd_tree", **options)
    reference.fit(rows[::2], y[::2])
    wanted = reference.predict_proba(rows)  # of its own rows too: distances of 0
    np.testing.assert_allclose(model.predict_proba(rows), wanted, atol=1e-7)
    np.testing.assert_array_equal(model.predict(rows), reference.predict(rows))
    assert model.score(rows, y) == reference.score(rows, y)


def between(kernel, a, b):
    return feature_distance(kernel.bind(X), a[None], b[None])[0, 0]


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("targets", [Y, np.column_stack([Y, X])], ids=["one", "many"])
@pytest.mark.parametrize("kernel", [None, RBF()], ids=repr)
def test_means_are_those_of_scikit_learn(weights, targets, kernel):
    options = {"metric": lambda a, b: between(kernel, a, b)} if kernel else {}
    model = KNNRegressor(6, weights=weights, kernel=kernel).fit(X, targets)
    reference = neighbors.KNeighborsRegressor(6, weights=weights, algorithm="brute", **options)
    wanted = reference.fit(X, targets).predict(NEW[:9])
    np.testing.assert_allclose(model.predict(NEW[:9]), wanted, rtol=1e-7)
    assert model.predict(NEW).shape == (37, *targets.shape[1:])


def test_the_mean_of_the_three_nearest_on_paper():
    x, y = np.array([[1.0], [3.0], [4.0], [6.0], [9.0]]), np.array([7.0, 2.0, 3.0, 5.0, 1.0])
    assert KNNRegressor(3).fit(x, y).predict([[4.0]])[0] == pytest.approx((2 + 3 + 5) / 3)


def test_the_mean_of_the_three_nearest_in_a_figure():
    """Five events (y, x) whose neighbours of x = 4 are those at 4, 5 and 3."""
    y, x = np.array([(1, 1), (2, 5), (3, 3), (4, 1), (5, 4)], dtype=float).T
    model = KNNRegressor(3).fit(x[:, None], y)
    assert model.predict([[4.0]])[0] == pytest.approx(10 / 3)
    assert sorted(y[model.kneighbors([[4.0]])[1][0]]) == [2.0, 3.0, 5.0]
    assert KNNRegressor(1).fit(x[:, None], y).predict([[4.0]])[0] == 5.0


@pytest.mark.parametrize("d", [1, 2, 3, 12])
def test_many_points_have_the_neighbors_of_scikit_learn(d):
    """Enough points for a tree where columns are few."""
    rows, new = table(2000, d), table(150, d, seed=1)
    distances, index = KNN(6).fit(rows, rows[:, 0] > 0).kneighbors(new)
    wanted = neighbors.NearestNeighbors(n_neighbors=6).fit(rows).kneighbors(new)
    np.testing.assert_array_equal(index, wanted[1])
    np.testing.assert_allclose(distances, wanted[0], rtol=1e-12)


def test_a_point_at_distance_zero_decides_alone():
    model = KNNRegressor(3, weights="distance").fit([[0.0], [0.0], [1.0]], [1.0, 3.0, 100.0])
    assert model.predict([[0.0]])[0] == 2.0


def test_all_points_as_neighbors_give_the_mean():
    np.testing.assert_allclose(KNNRegressor(120).fit(X, Y).predict(NEW), Y.mean())


def test_equal_votes_go_to_the_first_class():
    model = KNN(2).fit([[0.0], [2.0]], ["z", "a"])
    assert model.predict([[0.5]]).tolist() == ["a"]


def test_one_point_is_everybodys_neighbor():
    assert KNN(1).fit([[3.0]], ["a"]).predict(NEW[:, :1]).tolist() == ["a"] * 37


def test_blocks_of_new_rows_change_nothing():
    model = KNN(weights="distance").fit(X, LABELS)
    [(_, index, weights)], blocks = model._neighbours(NEW), list(model._neighbours(NEW, values=10))
    assert len(blocks) > 10
    np.testing.assert_array_equal(np.concatenate([block[1] for block in blocks]), index)
    np.testing.assert_array_equal(np.concatenate([block[2] for block in blocks]), weights)


# ---------------------------------------------------------------- the proof
def test_the_proof_is_a_search_by_brute_force():
    for kernel in (*KERNELS, *GENERAL):
        certificate = KNN(kernel=kernel).fit(X, LABELS).certificate_
        assert certificate.ok
        assert certificate.checked == 8
        assert certificate.metric == "yes"
    assert KNN(kernel=FromFunction(np.dot)).fit(X, LABELS).certificate_.metric == (
        "taken for granted"
    )


@pytest.mark.parametrize("kernel", [Linear(), Laplacian(), Polynomial(degree=2)], ids=repr)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_a_search_that_misses_is_found_out(kernel, form, monkeypatch):
    search = FeatureSearch(kernel, Sample(form(X)))
    assert search.prove(np.arange(5), 3).status.ok
    find = FeatureSearch.find
    # the nearest but one in place of the nearest
    monkeypatch.setattr(
        FeatureSearch, "find", lambda self, X, k: [a[:, 1:] for a in find(self, X, k + 1)]
    )
    missed = search.prove(np.arange(5), 3)
    assert not missed.certificate.ok
    assert missed.status.name == "INACCURATE"


def test_an_indefinite_kernel_is_admitted():
    kernel = Sigmoid(scale=2.0, bias=-1.0)
    with pytest.warns(ConvergenceWarning, match="not positive semidefinite"):
        model = KNN(kernel=kernel).fit(X, LABELS)
    assert model.certificate_.metric == "no"
    with pytest.raises(ValueError, match=r"is negative .* not a positive semidefinite kernel"):
        model.kneighbors(NEW)


def test_an_indefinite_function_shows_in_the_sample():
    with pytest.warns(ConvergenceWarning, match="not positive semidefinite"):
        KNN(kernel=FromFunction(lambda x, y: -float(x @ y))).fit(X, LABELS)


# ---------------------------------------------------------------- bad input
@pytest.mark.parametrize("k", [0, 2.5, True, -3, 121])
def test_a_wrong_number_of_neighbors_is_named(k):
    with pytest.raises(ValueError, match="n_neighbors"):
        KNN(k).fit(X, LABELS)
    with pytest.raises(ValueError, match="n_neighbors must be an integer from 1"):
        KNN().fit(X, LABELS).kneighbors(NEW, n_neighbors=k)


def test_training_points_have_one_neighbor_less():
    with pytest.raises(ValueError, match="n_samples = 119; got 120"):
        KNN(120).fit(X, LABELS).kneighbors()


@pytest.mark.parametrize("given", ["precomputed", Precomputed()])
def test_a_precomputed_matrix_has_no_distances_of_new_points(given):
    K, K_new = X @ X.T, X @ X.T
    with pytest.raises(ValueError, match=r"does not hold: use weights='uniform'"):
        KNN(kernel=given).fit(K, LABELS).kneighbors(K_new)
    with pytest.raises(ValueError, match=r"does not hold: use weights='uniform'"):
        KNN(kernel=given, weights="distance").fit(K, LABELS).predict(K_new)
    positions = KNN(kernel=given).fit(K, LABELS).kneighbors(NEW @ X.T, return_distance=False)
    direct = KNN().fit(X, LABELS).kneighbors(NEW, return_distance=False)
    np.testing.assert_array_equal(positions, direct)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_kernel_that_overflows_is_an_error():
    with pytest.raises(ValueError, match="not finite: the kernel overflows on X"):
        KNN(kernel=Linear().exp()).fit(1e3 * X, LABELS)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"weights": "near"}, "weights"), ({"memory": -1}, "memory"), ({"kernel": 3}, "kernel must")],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        KNN(**options).fit(X, LABELS)


# ---------------------------------------------------------------- norms in the place of a kernel
SPREAD = np.array(
    [[2.0, 0.9, 0.0, 0.1], [0.9, 1.0, 0.2, 0.0], [0.0, 0.2, 3.0, 0.0], [0.1, 0, 0, 1]]
)
NORMS = {
    "l1": {"metric": "cityblock"},
    "l2": {"metric": "euclidean"},
    "linf": {"metric": "chebyshev"},
    3.0: {"metric": "minkowski", "p": 3},
    1.5: {"metric": "minkowski", "p": 1.5},
    Mahalanobis(SPREAD): {"metric": "mahalanobis", "metric_params": {"VI": np.linalg.inv(SPREAD)}},
}


@pytest.mark.parametrize(("metric", "reference"), NORMS.items(), ids=map(str, NORMS))
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_norms_have_the_neighbors_of_scikit_learn(metric, reference, weights):
    model = KNN(5, metric=metric, weights=weights).fit(X, LABELS)
    wanted = neighbors.KNeighborsClassifier(5, algorithm="brute", weights=weights, **reference).fit(
        X, LABELS
    )
    distances, index = model.kneighbors(NEW)
    np.testing.assert_array_equal(index, wanted.kneighbors(NEW)[1])
    np.testing.assert_allclose(distances, wanted.kneighbors(NEW)[0], rtol=1e-9)
    np.testing.assert_allclose(model.predict_proba(NEW), wanted.predict_proba(NEW), atol=1e-9)
    assert model.certificate_.ok
    assert clone(model).fit(X, LABELS).predict(NEW).tolist() == model.predict(NEW).tolist()


def test_mahalanobis_is_euclidean_after_whitening():
    norm = Mahalanobis(SPREAD)
    direct = KNNRegressor(metric=norm).fit(X, Y).predict(NEW)
    whitened = KNNRegressor().fit(norm.whiten(X), Y).predict(norm.whiten(NEW))
    np.testing.assert_array_equal(direct, whitened)
    # and in the inverse matrix' quadratic norm
    other = KNNRegressor(metric=Quadratic(np.linalg.inv(SPREAD))).fit(X, Y).predict(NEW)
    np.testing.assert_allclose(other, direct)


@pytest.mark.parametrize("metric", ["l1", "linf", Mahalanobis(SPREAD)], ids=str)
def test_training_points_in_a_norm_are_not_their_own_neighbors(metric):
    rows = np.vstack([X[:30], X[:30]])
    distances, index = KNN(4, metric=metric).fit(rows, np.zeros(60)).kneighbors()
    np.testing.assert_array_equal(index[:, 0], (np.arange(60) + 30) % 60)
    np.testing.assert_allclose(distances[:, 0], 0.0, atol=1e-12)


def test_blocks_of_a_norm_change_nothing():
    searches = NormSearch(Linf, Sample(X)), NormSearch(Linf, Sample(X), block=(5, 7))
    whole, parts = (search.find(Sample(NEW), 5) for search in searches)
    for a, b in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(a, b)


def test_sparse_rows_have_manhattan_neighbors():
    rows = sparse_table(50, 6)
    dense = KNN(metric="l1").fit(rows.toarray(), np.zeros(50)).kneighbors()
    sparse = KNN(metric="l1").fit(rows, np.zeros(50)).kneighbors()
    np.testing.assert_allclose(sparse[0], dense[0])
    with pytest.raises(TypeError, match="needs dense rows"):
        KNN(metric="linf").fit(rows, np.zeros(50))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "near"}, "norm must be a Norm"),
        ({"metric": 0.5}, "metric must be a norm"),
        ({"metric": "l1", "kernel": "rbf"}, "metric must be left at 'l2' where a kernel is given"),
        ({"metric": Mahalanobis(np.eye(2))}, "must have 2 entries a row; got 4"),
    ],
)
def test_wrong_metrics_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        KNN(**options).fit(X, LABELS)


@pytest.mark.parametrize("name", ["manhattan", "cityblock", "chebyshev", "euclidean"])
def test_norms_have_their_other_names(name):
    wanted = neighbors.NearestNeighbors(n_neighbors=4, metric=name).fit(X).kneighbors(NEW)
    found = NearestNeighbors(4, metric=name).fit(X).kneighbors(NEW)
    np.testing.assert_allclose(found[0], wanted[0])
    np.testing.assert_array_equal(found[1], wanted[1])


@pytest.mark.parametrize("n_jobs", [1, 2, -1, -2, None])
def test_n_jobs_is_the_most_threads_and_changes_nothing(n_jobs, monkeypatch):
    seen = []
    monkeypatch.setattr(FeatureSearch, "find", counting_threads(FeatureSearch.find, seen))
    cores = n_threads()
    found = NearestNeighbors(4, n_jobs=n_jobs).fit(X).kneighbors(NEW)
    np.testing.assert_array_equal(found[1], NearestNeighbors(4).fit(X).kneighbors(NEW)[1])
    most = {1: 1, 2: min(2, cores), -1: cores, -2: max(1, cores - 1), None: cores}[n_jobs]
    assert seen[0] == most
    assert n_threads() == cores


def counting_threads(find, seen):
    def counted(*args, **kwargs):
        seen.append(n_threads())
        return find(*args, **kwargs)

    return counted
