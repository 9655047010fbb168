"""Isomap on graphs of a radius, in other norms, and on graphs that are given."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn import manifold, neighbors

from mercer import MDS, Isomap
from tests.compare import refuses

T = np.linspace(0, 3, 60)
X = np.column_stack([np.cos(T), np.sin(T), 0.1 * np.sin(7 * T)])
NEW = X[5:50:7] + 0.01
METRICS = {"l1": ("cityblock", {}), "linf": ("chebyshev", {}), 3.0: ("minkowski", {"p": 3.0})}


def same(one, other, atol=1e-8):
    """Compare coordinates up to the sign of each."""
    signs = np.sign((one * other).sum(axis=0))
    np.testing.assert_allclose(one * signs, other, atol=atol)


@pytest.mark.parametrize("radius", [0.2, 0.5, 10.0])
def test_a_radius_gives_what_scikit_learn_gives(radius):
    got = Isomap(radius=radius).fit(X)
    wanted = manifold.Isomap(n_neighbors=None, radius=radius, eigen_solver="dense").fit(X)
    same(got.embedding_, wanted.embedding_)
    same(got.transform(NEW), wanted.transform(NEW), atol=1e-7)
    assert got.certificate_.ok


@pytest.mark.parametrize("metric", METRICS, ids=str)
@pytest.mark.parametrize("radius", [None, 0.4])
def test_another_norm_gives_what_its_distances_give(metric, radius):
    name, p = METRICS[metric]
    got = Isomap(4, metric=metric, radius=radius).fit(X)
    given = Isomap(4, metric="precomputed", radius=radius).fit(cdist(X, X, name, **p))
    same(got.embedding_, given.embedding_)
    same(got.transform(NEW), given.transform(cdist(NEW, X, name, **p)), atol=1e-7)


def test_a_radius_that_joins_all_points_is_classical_scaling():
    same(Isomap(radius=100.0).fit(X).embedding_, MDS(2).fit(X).embedding_)


def test_a_given_graph_is_as_good_as_its_rows():
    """The graph of the nearest, made by someone else; absent entries are no edges."""
    search = neighbors.NearestNeighbors(n_neighbors=4).fit(X)
    graph = sp.csr_array(search.kneighbors_graph(mode="distance"))
    got, wanted = Isomap(metric="precomputed").fit(graph), Isomap(4).fit(X)
    same(got.embedding_, wanted.embedding_)
    edges = sp.csr_array(search.kneighbors_graph(NEW, mode="distance"))
    same(got.transform(edges), wanted.transform(NEW), atol=1e-7)
    assert got.certificate_.ok


@pytest.mark.parametrize("options", [{"n_neighbors": 4}, {"n_neighbors": None, "radius": 0.25}])
def test_of_a_given_graph_the_shortest_edges_count(options):
    """A graph of more neighbours than are wanted, as pipelines of scikit-learn make it."""
    search = neighbors.NearestNeighbors(n_neighbors=12).fit(X)
    got = Isomap(metric="precomputed", **options).fit(search.kneighbors_graph(mode="distance"))
    wanted = Isomap(**options).fit(X)
    same(got.embedding_, wanted.embedding_)
    edges = search.kneighbors_graph(NEW, mode="distance")
    same(got.transform(edges), wanted.transform(NEW), atol=1e-7)


@pytest.mark.parametrize("name", ["manhattan", "cityblock", "chebyshev", "euclidean"])
def test_norms_have_their_other_names(name):
    wanted = manifold.Isomap(n_neighbors=4, metric=name, eigen_solver="dense").fit(X)
    same(Isomap(4, metric=name).fit(X).embedding_, wanted.embedding_)


def test_a_new_point_beyond_the_radius_is_joined_to_the_nearest():
    far = np.array([[5.0, 0.0, 0.0]])
    model = Isomap(radius=0.3).fit(X)
    nearest = cdist(far, X).argmin()
    place = model.transform(far)
    assert np.isfinite(place).all()
    # its way leads through that point: it lies beyond it, as seen from the other end
    assert np.linalg.norm(place - model.embedding_[-1]) > np.linalg.norm(
        model.embedding_[nearest] - model.embedding_[-1]
    )


def test_points_without_neighbours_are_joined_and_said():
    apart = np.vstack([X, X + 10.0])
    with pytest.warns(match="parts"):
        model = Isomap(radius=0.3).fit(apart)
    assert model.n_graph_components_ == 2


def test_graphs_that_say_too_little_are_refused():
    graph = sp.csr_array(neighbors.kneighbors_graph(X, 3, mode="distance"))
    model = Isomap(metric="precomputed").fit(graph)
    halves = sp.block_diag([graph, graph], "csr")
    refuses(lambda: Isomap(metric="precomputed").fit(halves), ValueError, "2 parts")
    refuses(lambda: Isomap(metric="precomputed").fit(-graph), ValueError, "≥ 0")
    refuses(lambda: Isomap(metric="precomputed").fit(graph[:5]), ValueError, "square")
    refuses(lambda: model.transform(graph.toarray()), TypeError, "sparse")
    refuses(lambda: model.transform(sp.csr_array((2, 60))), ValueError, "row 0")
    refuses(lambda: Isomap(metric="precomputed", radius=1e-6).fit(graph), ValueError, "60 parts")
    refuses(lambda: Isomap(metric=0.5).fit(X), ValueError, "norm")
    refuses(lambda: Isomap(radius=-1.0).fit(X), ValueError, "radius")
