"""Lists of near rows that may miss some: what is in them is true, and little is missing."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

from mercer import GraphSpreading
from mercer.kernels import Linear
from mercer.kernels.sample import Sample
from mercer.solvers.forest import find_most
from mercer.solvers.graphs import NearLists
from mercer.solvers.nearest import FeatureSearch

RNG = np.random.default_rng(0)
TABLES = {
    "normal": RNG.normal(size=(3000, 8)),
    "clusters": RNG.normal(size=(3000, 8)) + 50.0 * RNG.integers(0, 20, (3000, 1)),
    "far from 0": 1e6 + RNG.normal(size=(2500, 5)),
    "few values": RNG.integers(0, 3, (2000, 6)).astype(float),
    "fewer than a leaf": RNG.normal(size=(40, 4)),
}


@pytest.mark.parametrize("name", TABLES)
def test_lists_are_true_sorted_and_miss_little(name):
    X, k = TABLES[name], 10
    squares, index = find_most(X, k)
    assert (index != np.arange(len(X))[:, None]).all()
    assert all(len(set(row)) == k for row in index.tolist())
    np.testing.assert_allclose(squares, ((X[:, None] - X[index]) ** 2).sum(axis=2), rtol=1e-12)
    assert (np.diff(squares, axis=1) >= 0).all()
    wanted = cKDTree(X).query(X, k + 1)[0][:, -1:] ** 2
    assert (squares <= wanted * (1 + 1e-9)).mean() > 0.95


def test_equal_rows_fill_their_lists():
    squares, index = find_most(np.ones((1000, 3)), 5)
    assert (squares == 0).all()
    assert index.max() < 1000


@pytest.mark.long
def test_long_lists_are_filled():
    squares, index = find_most(TABLES["normal"], 200)
    assert np.isfinite(squares).all()
    assert index.max() < 3000


def test_what_is_found_is_counted():
    X = Sample(TABLES["normal"])
    search = FeatureSearch(Linear(), X)
    exact = NearLists.exact(Linear(), X, 10)
    some = np.arange(0, 3000, 30)
    assert search.share_found(exact.squares, some) == 1.0
    spoiled = exact.squares.copy()
    spoiled[:, -3:] *= 4.0
    assert search.share_found(spoiled, some) == pytest.approx(0.7)


@pytest.mark.parametrize("scale", [1e-120, 1.0, 1e140])
def test_spreading_along_most_neighbours(scale):
    X = np.concatenate([TABLES["normal"], TABLES["normal"] + 9.0])
    y = np.full(6000, -1)
    y[[0, 3000]] = 0, 1
    model = GraphSpreading(neighbors="approximate").fit(scale * X, y)
    assert model.certificate_.ok
    assert model.certificate_.neighbors_found > 0.95
    assert (model.transduction_ == np.repeat([0, 1], 3000)).mean() > 0.99
    exact = GraphSpreading(neighbors="exact").fit(scale * X, y)
    assert "neighbors_found" not in exact.certificate_.parts
    assert (model.transduction_ == exact.transduction_).mean() > 0.99


def test_an_approximate_search_is_refused_where_there_is_none():
    y = np.append([0, 1], np.full(598, -1))
    with pytest.raises(ValueError, match="neighbors='approximate' is for dense tables"):
        GraphSpreading(neighbors="approximate").fit(RNG.normal(size=(600, 2)), y)
