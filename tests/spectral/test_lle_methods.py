"""Variants of locally linear embedding: scikit-learn's coordinates, flat sheets, eigenvectors."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.manifold import LocallyLinearEmbedding as Peer

from mercer import LLE
from tests.compare import refuses

METHODS = ["modified", "hessian", "ltsa"]
every_method = pytest.mark.parametrize("method", METHODS)


def roll(n=300, noise=0.02, seed=0):
    """Return a bent sheet, with noise, and the coordinates on it."""
    rng = np.random.default_rng(seed)
    t, h = rng.uniform(0.0, 2.5, n), rng.uniform(0.0, 2.0, n)
    X = np.column_stack([np.cos(t), h, np.sin(t)])
    return X + noise * rng.normal(size=X.shape), np.column_stack([t, h])


def explained(Z, truth):
    """Return the share of the true coordinates' variance that a linear map of Z explains."""
    A = np.column_stack([Z, np.ones(len(Z))])
    rest = truth - A @ np.linalg.lstsq(A, truth, rcond=None)[0]
    return 1.0 - (rest**2).sum(axis=0) / ((truth - truth.mean(axis=0)) ** 2).sum(axis=0)


@pytest.mark.parametrize("method", ["modified", "ltsa"])
def test_coordinates_are_those_of_scikit_learn(method):
    X, _ = roll()
    got = LLE(10, 2, method=method).fit(X)
    peer = Peer(n_neighbors=10, n_components=2, method=method, eigen_solver="dense").fit(X)
    signs = np.sign((got.embedding_ * peer.embedding_).sum(axis=0))
    np.testing.assert_allclose(got.embedding_ * signs, peer.embedding_, atol=1e-6)
    assert got.reconstruction_error_ == pytest.approx(peer.reconstruction_error_, rel=1e-6)
    assert got.certificate_.ok


def test_a_hessian_is_the_sum_of_squared_second_derivatives():
    """A slow twin, point by point; scikit-learn takes all that is beyond a plane, as its "ltsa"."""
    X, _ = roll(60)
    k, m = 12, 2
    index = np.argsort(((X[:, None] - X) ** 2).sum(axis=2), axis=1)[:, 1 : k + 1]
    M = np.zeros((60, 60))
    for near in index:
        U = np.linalg.svd(X[near] - X[near].mean(axis=0))[0][:, :m]
        plane = np.column_stack([np.ones(k), U])
        bowls = np.column_stack([U[:, 0] ** 2, U[:, 0] * U[:, 1], U[:, 1] ** 2])
        rest = bowls - plane @ np.linalg.lstsq(plane, bowls, rcond=None)[0]
        M[np.ix_(near, near)] += rest @ np.linalg.pinv(rest)  # the projection onto what they add
    values = np.linalg.eigvalsh(M)[1 : m + 1]
    np.testing.assert_allclose(LLE(k, m, method="hessian").fit(X).eigenvalues_, values, atol=1e-9)


@every_method
def test_a_bent_sheet_is_flattened(method):
    X, truth = roll(noise=0.0)
    Z = LLE(12, 2, method=method).fit_transform(X)
    assert (explained(Z, truth) > 0.97).all()


@pytest.mark.parametrize("method", ["hessian", "ltsa"])
def test_a_flat_sheet_costs_nothing(method):
    """Every linear function of a plane is in the null space."""
    rng = np.random.default_rng(3)
    truth = rng.uniform(size=(120, 2))
    X = truth @ rng.normal(size=(2, 5))
    model = LLE(9, 2, method=method).fit(X)
    assert model.reconstruction_error_ < 1e-10
    np.testing.assert_allclose(explained(model.embedding_, truth), 1.0, atol=1e-8)


@every_method
@pytest.mark.parametrize("unit", [1e-140, 1e140])
def test_units_and_places_do_not_matter(method, unit):
    X, _ = roll(150)
    plain, scaled = (LLE(10, 2, method=method).fit(rows) for rows in (X, X * unit))
    signs = np.sign((plain.embedding_ * scaled.embedding_).sum(axis=0))
    np.testing.assert_allclose(scaled.embedding_ * signs, plain.embedding_, atol=1e-6)


@every_method
def test_new_points_are_placed_among_their_neighbours(method):
    X, truth = roll(noise=0.0)
    model = LLE(12, 2, method=method).fit(X[:250])
    both = np.vstack([model.embedding_, model.transform(X[250:])])
    assert (explained(both, truth) > 0.95).all()


def test_too_few_neighbours_or_columns_are_refused():
    X, _ = roll(50)
    refuses(lambda: LLE(5, 2, method="hessian").fit(X), ValueError, "n_neighbors.*at least 6.*5")
    refuses(lambda: LLE(2, 2, method="ltsa").fit(X), ValueError, "n_neighbors.*at least 3")
    refuses(lambda: LLE(1, 2, method="modified").fit(X), ValueError, "n_neighbors.*at least 2")
    refuses(lambda: LLE(20, 4, method="ltsa").fit(X), ValueError, "columns, 3")
    refuses(lambda: LLE(method="other").fit(X), ValueError, "method")
