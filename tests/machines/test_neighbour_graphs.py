"""Graphs, radii, weights of one's own, points left out, given distances: against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn import neighbors

from mercer import KNN, KNNRegressor, NearestNeighbors
from tests.cases import table
from tests.compare import refuses

X, Z = table(60, 3), table(25, 3, seed=1)
Y = np.arange(60) % 3
METRICS = {"l1": 1, "l2": 2, "linf": np.inf, 3.0: 3}
every_metric = pytest.mark.parametrize("metric", METRICS, ids=str)
old_or_new = pytest.mark.parametrize("rows", [None, Z], ids=["training points", "new rows"])


def peer(metric, **given):
    p = METRICS[metric]
    metric = "chebyshev" if p == np.inf else "minkowski"
    return neighbors.NearestNeighbors(metric=metric, p=min(p, 99), **given).fit(X)


@every_metric
@old_or_new
@pytest.mark.parametrize("mode", ["connectivity", "distance"])
def test_graphs_of_neighbours(metric, rows, mode):
    got = NearestNeighbors(4, metric=metric).fit(X).kneighbors_graph(rows, mode=mode)
    wanted = peer(metric, n_neighbors=4).kneighbors_graph(rows, mode=mode)
    np.testing.assert_allclose(got.toarray(), wanted.toarray(), rtol=1e-12)


@every_metric
@old_or_new
@pytest.mark.parametrize("radius", [0.0, 0.5, 1.5, 100.0])
def test_points_within_a_radius(metric, rows, radius):
    D, index = NearestNeighbors(metric=metric, radius=radius).fit(X).radius_neighbors(rows)
    far, wanted = peer(metric, radius=radius).radius_neighbors(rows, sort_results=True)
    for k in range(len(index)):
        assert sorted(index[k]) == sorted(wanted[k])
        np.testing.assert_allclose(D[k], far[k], rtol=1e-12)
        assert (np.diff(D[k]) >= 0).all()


def test_a_graph_of_a_radius_has_the_same_entries():
    model = KNN(3).fit(X, Y)
    for mode in ("connectivity", "distance"):
        got = model.radius_neighbors_graph(Z, 1.2, mode=mode)
        wanted = peer("l2").radius_neighbors_graph(Z, 1.2, mode=mode)
        np.testing.assert_allclose(got.toarray(), wanted.toarray(), rtol=1e-12)


def test_a_radius_in_feature_space_is_one_of_kernel_values():
    """‖φ(x) − φ(y)‖² = 2 − 2k(x, y) for a Gaussian kernel."""
    model = NearestNeighbors(kernel="rbf", radius=1.0).fit(X)
    K = model.kernel_(Z, X)
    for row, index in zip(K, model.radius_neighbors(Z)[1], strict=True):
        assert sorted(index) == np.flatnonzero(2.0 - 2.0 * row <= 1.0).tolist()


# ---------------------------------------------------------------- votes
@pytest.mark.parametrize("weights", ["uniform", "distance", lambda D: np.exp(-D)])
def test_points_are_left_out_of_their_own_vote(weights):
    model = KNN(5, weights=weights).fit(X, Y)
    got = model.predict_proba(None)
    for i in range(60):
        others = np.arange(60) != i
        alone = KNN(5, weights=weights).fit(X[others], Y[others])
        np.testing.assert_allclose(got[i], alone.predict_proba(X[i : i + 1])[0], atol=1e-12)
    np.testing.assert_array_equal(model.predict(None), model.classes_[got.argmax(axis=1)])
    assert model.score(None, Y) == np.mean(model.predict(None) == Y)


def test_a_function_makes_the_weights():
    def weigh(D):
        return 1.0 / (1.0 + D)

    targets = X[:, 0] ** 2
    got = KNNRegressor(6, weights=weigh).fit(X, targets)
    wanted = neighbors.KNeighborsRegressor(6, weights=weigh).fit(X, targets)
    np.testing.assert_allclose(got.predict(Z), wanted.predict(Z), rtol=1e-10)
    np.testing.assert_allclose(got.predict(None), wanted.predict(None), rtol=1e-10)
    wanted = neighbors.KNeighborsClassifier(6, weights=weigh).fit(X, Y)
    proba = KNN(6, weights=weigh).fit(X, Y).predict_proba(Z)
    np.testing.assert_allclose(proba, wanted.predict_proba(Z), rtol=1e-10)


def test_functions_that_are_no_weights_are_refused():
    for bad in (lambda D: -D, lambda D: D[:, :1], lambda D: 0.0 * D, lambda D: D * np.nan):
        refuses(lambda f=bad: KNN(3, weights=f).fit(X, Y).predict(Z), ValueError, "weights must")


# ---------------------------------------------------------------- given distances
@every_metric
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_given_distances_are_as_good_as_rows(metric, weights):
    name, p = ("chebyshev", {}) if metric == "linf" else ("minkowski", {"p": METRICS[metric]})
    own, new = cdist(X, X, name, **p), cdist(Z, X, name, **p)
    for kind, y in ((KNN, Y), (KNNRegressor, X[:, 0])):
        given = kind(4, metric="precomputed", weights=weights).fit(own, y)
        rows = kind(4, metric=metric, weights=weights).fit(X, y)
        np.testing.assert_allclose(given.predict(new), rows.predict(Z), rtol=1e-9)
        np.testing.assert_allclose(given.predict(None), rows.predict(None), rtol=1e-9)
        for rows_of in ((new, Z), (None, None)):
            got, wanted = given.kneighbors(rows_of[0]), rows.kneighbors(rows_of[1])
            np.testing.assert_array_equal(got[1], wanted[1])
            np.testing.assert_allclose(got[0], wanted[0], rtol=1e-9, atol=1e-12)
    assert given.certificate_.ok
    assert given.__sklearn_tags__().input_tags.pairwise


def test_what_is_no_matrix_of_distances_is_refused():
    D = cdist(X, X)
    refuses(lambda: KNN(metric="precomputed").fit(X, Y), ValueError, "square")
    refuses(lambda: KNN(metric="precomputed").fit(-D, Y), ValueError, "≥ 0")
    refuses(lambda: KNN(metric="precomputed", kernel="rbf").fit(D, Y), ValueError, "kernel")
    model = KNN(metric="precomputed").fit(D, Y)
    refuses(lambda: model.predict(-D), ValueError, "≥ 0")


def test_bad_questions_are_refused():
    model = KNN(3).fit(X, Y)
    refuses(lambda: model.radius_neighbors(Z), ValueError, "radius")
    refuses(lambda: model.radius_neighbors(Z, -1.0), ValueError, "radius.*-1")
    refuses(lambda: model.kneighbors_graph(Z, mode="far"), ValueError, "mode.*far")
    refuses(lambda: KNN(60).fit(X, Y).predict(None), ValueError, "n_neighbors")


@pytest.mark.parametrize("unit", [1e-130, 1e-60, 1e60, 1e140])
@every_metric
def test_units_do_not_matter(metric, unit):
    """Squares of such rows vanish or overflow, and neighbours must not be those of another norm."""
    D, index = NearestNeighbors(4, metric=metric).fit(X).kneighbors(Z)
    scaled, found = NearestNeighbors(4, metric=metric).fit(X * unit).kneighbors(Z * unit)
    np.testing.assert_array_equal(found, index)
    np.testing.assert_allclose(scaled / unit, D, rtol=1e-12)


def test_a_search_may_have_fewer_points_than_its_default_of_neighbours():
    model = NearestNeighbors().fit([[0.0], [1.0], [5.0]])
    assert model.certificate_.ok
    assert model.radius_neighbors([[0.2]])[1][0].tolist() == [0, 1]
    assert model.kneighbors([[4.0]], 1)[1].tolist() == [[2]]
    with pytest.raises(ValueError, match="n_samples = 3; got 5"):
        model.kneighbors([[4.0]])
