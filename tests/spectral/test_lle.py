"""Locally linear embedding: weights that sum to 1, agreement with scikit-learn, the arc."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import manifold
from sklearn.datasets import make_swiss_roll
from sklearn.exceptions import ConvergenceWarning
from sklearn.manifold._locally_linear import barycenter_kneighbors_graph

from mercer import LLE
from mercer.spectral.lle import _mixtures
from tests.cases import table
from tests.compare import refuses
from tests.spectral.test_mds import assert_same_up_to_sign

ROLL = make_swiss_roll(400, noise=0.05, random_state=0)[0]
X, NEW = ROLL[:300], ROLL[300:]


@pytest.mark.parametrize(("n_neighbors", "reg"), [(8, 1e-3), (12, 1e-2)])
def test_it_equals_scikit_learn_up_to_sign(n_neighbors, reg):
    model = LLE(n_neighbors, reg=reg).fit(X)
    reference = manifold.LocallyLinearEmbedding(
        n_neighbors=n_neighbors, reg=reg, eigen_solver="dense"
    ).fit(X)
    assert_same_up_to_sign(model.embedding_, reference.embedding_, atol=1e-7)
    assert_same_up_to_sign(model.transform(NEW), reference.transform(NEW), atol=1e-7)
    assert model.reconstruction_error_ == pytest.approx(reference.reconstruction_error_, rel=1e-5)


def test_it_equals_scikit_learn_by_inversion_too():
    rows = make_swiss_roll(900, noise=0.05, random_state=1)[0]
    model = LLE(10).fit(rows)
    reference = manifold.LocallyLinearEmbedding(n_neighbors=10, eigen_solver="dense").fit(rows)
    assert model.certificate_.ok
    assert_same_up_to_sign(model.embedding_, reference.embedding_, atol=1e-5)


def test_the_arc_is_put_in_order():
    t = np.linspace(0, 1.5 * np.pi, 100)
    rows = np.column_stack([np.cos(t), np.sin(t)])
    z = LLE(6, n_components=1).fit_transform(rows)[:, 0]
    assert (np.diff(z) > 0).all() or (np.diff(z) < 0).all()
    assert abs(np.corrcoef(z, t)[0, 1]) > 0.95


def test_coordinates_are_centred_orthonormal_and_minimal():
    model = LLE(8, n_components=3).fit(X)
    Z = model.embedding_
    np.testing.assert_allclose(Z.T @ Z, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(Z.sum(axis=0), 0.0, atol=1e-6)
    W = barycenter_kneighbors_graph(X, 8, reg=1e-3)
    rest = np.eye(300) - W.toarray()
    np.testing.assert_allclose(
        ((rest @ Z) ** 2).sum(axis=0), model.eigenvalues_, rtol=1e-4, atol=1e-12
    )
    smallest = np.linalg.eigvalsh(rest.T @ rest)[:4]
    assert model.reconstruction_error_ == pytest.approx(smallest[1:].sum(), rel=1e-4)


def test_mixtures_sum_to_one_and_solve_their_system():
    gaps = table(30, 8).reshape(10, 3, 8)
    w = _mixtures(gaps.copy(), 1e-3)
    np.testing.assert_allclose(w.sum(axis=1), 1.0)
    for gap, own in zip(gaps, w, strict=True):
        G = gap @ gap.T
        slope = (G + 1e-3 * np.trace(G) * np.eye(3)) @ own
        np.testing.assert_allclose(slope, slope.mean(), rtol=1e-10)  # Lagrange: all the same


@pytest.mark.parametrize("scale", [1e-150, 1e140])
def test_the_size_of_the_rows_does_not_matter(scale):
    assert_same_up_to_sign(LLE(8).fit(X * scale).embedding_, LLE(8).fit(X).embedding_, atol=1e-7)


def test_parts_are_said():
    rows = np.vstack([X[:50], X[50:100] + 1000.0])
    with pytest.warns(ConvergenceWarning, match="falls into parts"):
        model = LLE(8, n_components=1).fit(rows)
    assert model.n_graph_components_ == model.certificate_.graph_components >= 2
    z = model.embedding_[:, 0]
    assert abs(z.sum()) < 1e-8
    if model.n_graph_components_ == 2:  # what is left of the null space tells the parts apart
        np.testing.assert_allclose(z[:50], z[0], atol=1e-8)
        np.testing.assert_allclose(z[50:], z[-1], atol=1e-8)
        assert z[0] * z[-1] < 0


def test_equal_neighbors_share_equally():
    np.testing.assert_allclose(_mixtures(np.zeros((2, 4, 3)), 1e-3), 0.25)
    assert np.isfinite(LLE(3).fit(np.ones((6, 2))).embedding_).all()


def test_bad_input_is_refused():
    refuses(lambda: LLE(5).fit(X[:5]), ValueError, "n_neighbors must be smaller")
    refuses(lambda: LLE(2, n_components=4).fit(X[:4]), ValueError, "n_components must be smaller")
    refuses(lambda: LLE(reg=0.0).fit(X), ValueError, "reg")
