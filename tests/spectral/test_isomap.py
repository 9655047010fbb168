"""Isomap: geodesics by an independent library, the arc unrolled, parts joined."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import dijkstra
from sklearn import manifold
from sklearn.datasets import make_swiss_roll
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import kneighbors_graph

from mercer import Isomap
from mercer.spectral._geodesic import geodesics_between, geodesics_from
from mercer.spectral._graph import (
    GivenPoints,
    NeighbourGraph,
    TablePoints,
    nearest_others,
    neighbour_graph,
)
from tests.cases import table
from tests.compare import refuses
from tests.spectral.test_mds import assert_same_up_to_sign
from tests.test_schoenberg import distances

ROLL = make_swiss_roll(400, noise=0.05, random_state=0)[0]
X, NEW = ROLL[:300], ROLL[300:]


def arc(n=150, noise=0.02, seed=0):
    """Return points along three quarters of a circle, and where along it they are."""
    rng = np.random.default_rng(seed)
    t = np.sort(rng.uniform(0, 1.5 * np.pi, n))
    return np.column_stack([np.cos(t), np.sin(t)]) + noise * rng.normal(size=(n, 2)), t


def all_geodesics(graph):
    D = np.full((graph.n, graph.n), np.nan)
    geodesics_between(graph, lambda sources, paths: D.__setitem__(sources, paths))
    return D


# ---------------------------------------------------------------- the arc
def test_the_arc_is_unrolled():
    rows, t = arc()
    model = Isomap(n_neighbors=8, n_components=1).fit(rows)
    assert abs(np.corrcoef(model.embedding_[:, 0], t)[0, 1]) > 0.99
    new, s = arc(40, seed=1)
    assert abs(np.corrcoef(model.transform(new)[:, 0], s)[0, 1]) > 0.99


def test_points_along_a_line_keep_their_places():
    rows = np.cumsum(np.random.default_rng(0).uniform(0.5, 1.5, 40))[:, None] * np.ones((1, 3))
    z = Isomap(n_neighbors=2, n_components=1).fit_transform(rows)
    np.testing.assert_allclose(distances(z), distances(rows), atol=1e-9)


# ---------------------------------------------------------------- geodesics
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 150), k=st.integers(1, 4))
def test_geodesics_are_those_of_dijkstra(seed, n, k):
    rng = np.random.default_rng(seed)
    tree = np.array([rng.integers(0, v) for v in range(1, n)], dtype=np.intp)  # connects all
    tails = np.concatenate([np.arange(1, n), rng.integers(0, n, n * k)])
    heads = np.concatenate([tree, rng.integers(0, n, n * k)])
    keep = tails != heads
    graph = NeighbourGraph.of_edges(n, tails[keep], heads[keep], rng.uniform(0.1, 1.0, keep.sum()))
    matrix = sp.csr_array((graph.weights, graph.indices, graph.indptr), shape=(n, n))
    assert abs(matrix - matrix.T).max() == 0
    np.testing.assert_allclose(all_geodesics(graph), dijkstra(matrix), rtol=1e-12)


def test_geodesics_of_a_roll_and_of_new_points():
    points = TablePoints(X)
    graph, _ = neighbour_graph(points, 7)
    matrix = sp.csr_array((graph.weights, graph.indices, graph.indptr))
    wanted = dijkstra(matrix, directed=False)
    np.testing.assert_allclose(all_geodesics(graph), wanted, rtol=1e-12)
    distance, index = points.nearest(NEW, 7)
    D = np.empty((len(NEW), len(X)))
    geodesics_from(graph, index, distance, lambda rows, paths: D.__setitem__(rows, paths))
    np.testing.assert_allclose(D, (distance[:, :, None] + wanted[index]).min(axis=1), rtol=1e-12)


@pytest.mark.parametrize("shape", [(60, 3), (2100, 3)])
def test_neighbors_are_those_of_scikit_learn(shape):
    rows = table(*shape)
    wanted = kneighbors_graph(rows, 5, mode="distance")
    distance, index = nearest_others(TablePoints(rows), 5)
    np.testing.assert_array_equal(np.sort(index), np.sort(wanted.indices.reshape(-1, 5)))
    np.testing.assert_allclose(np.sort(distance), np.sort(wanted.data.reshape(-1, 5)), rtol=1e-12)
    by_matrix = nearest_others(GivenPoints(distances(rows[:60])), 5)
    by_table = nearest_others(TablePoints(rows[:60]), 5)
    np.testing.assert_array_equal(by_matrix[1], by_table[1])


# ---------------------------------------------------------------- agreement
@pytest.mark.parametrize("n_neighbors", [5, 12])
def test_it_equals_scikit_learn_up_to_sign(n_neighbors):
    reference = manifold.Isomap(n_neighbors=n_neighbors, eigen_solver="dense").fit(X)
    model = Isomap(n_neighbors).fit(X)
    scale = np.abs(reference.embedding_).max()
    assert_same_up_to_sign(model.embedding_, reference.embedding_, atol=1e-9 * scale)
    assert_same_up_to_sign(model.transform(NEW), reference.transform(NEW), atol=1e-9 * scale)
    assert model.reconstruction_error() == pytest.approx(reference.reconstruction_error())


def test_it_equals_scikit_learn_by_products_too():
    rows = make_swiss_roll(800, noise=0.05, random_state=1)[0]
    reference = manifold.Isomap(n_neighbors=10, eigen_solver="dense").fit(rows)
    model = Isomap(10).fit(rows)
    assert model.certificate_.ok
    assert_same_up_to_sign(model.embedding_, reference.embedding_, atol=1e-5)


def test_distances_serve_as_well_as_a_table():
    by_table = Isomap(6).fit(X)
    by_distances = Isomap(6, metric="precomputed").fit(distances(X))
    assert_same_up_to_sign(by_distances.embedding_, by_table.embedding_, atol=1e-8)
    to_training = np.sqrt(((NEW[:, None] - X) ** 2).sum(axis=2))
    wanted = by_table.transform(NEW)
    assert_same_up_to_sign(by_distances.transform(to_training), wanted, atol=1e-8)


def test_training_points_are_new_points_too():
    model = Isomap(6)
    np.testing.assert_allclose(model.fit_transform(X), model.transform(X), atol=1e-9)


@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_the_size_of_the_rows_does_not_matter(scale):
    wanted = Isomap(6).fit(X).embedding_
    assert_same_up_to_sign(Isomap(6).fit(X * scale).embedding_ / scale, wanted, atol=1e-8)


# ---------------------------------------------------------------- several parts, duplicates
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_parts_are_joined_by_their_nearest_points():
    rows = np.vstack([X[:100], X[100:180] + 500.0, X[180:240] - np.array([900.0, 0.0, 0.0])])
    with pytest.warns(ConvergenceWarning, match="falls into parts"):
        model = Isomap(5).fit(rows)
    assert model.n_graph_components_ >= 3
    assert model.certificate_.graph_components == model.n_graph_components_
    with pytest.warns(UserWarning, match="connected components"):
        reference = manifold.Isomap(n_neighbors=5, eigen_solver="dense").fit(rows)
    scale = np.abs(reference.embedding_).max()
    assert_same_up_to_sign(model.embedding_, reference.embedding_, atol=1e-9 * scale)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_repeated_points_come_together():
    model = Isomap(5).fit(np.vstack([X[:60]] * 3))
    Z = model.embedding_
    np.testing.assert_allclose(Z[:60], Z[60:120], atol=1e-9)
    assert model.certificate_.ok


@pytest.mark.parametrize("n", [2, 3])
def test_few_points(n):
    rows = table(n, 4)
    z = Isomap(n - 1, n_components=2).fit_transform(rows)
    np.testing.assert_allclose(distances(z), distances(rows), atol=1e-9)


def test_equal_points_have_no_coordinates():
    assert Isomap(2).fit_transform(np.ones((6, 2))).shape == (6, 0)


def test_bad_input_is_refused():
    refuses(lambda: Isomap(5).fit(X[:5]), ValueError, "n_neighbors must be smaller")
    refuses(lambda: Isomap(0).fit(X), ValueError, "n_neighbors")
    refuses(lambda: Isomap(2, metric="precomputed").fit(X), ValueError, "square")
    refuses(lambda: Isomap(2).fit(X[:1]), ValueError, "minimum of 2")
