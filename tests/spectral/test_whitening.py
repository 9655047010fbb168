"""Whitening: the covariance becomes I, three maps that differ by a rotation, the way back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.covariance import shrunk_covariance
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from mercer import Whitening
from mercer.spectral._covariance import principal_axes
from tests.cases import table
from tests.compare import refuses

MIX = np.array([[2.0, 1.0, 0.0, 0.5], [0.0, 1.0, 3.0, 0.0], [0.0, 0.0, 0.3, 1.0], [1.0, 0, 0, 5.0]])
X, NEW = table(60, 4) @ MIX + 3.0, table(9, 4, seed=1) @ MIX
METHODS = ("pca", "zca", "cholesky")
every_method = pytest.mark.parametrize("method", METHODS)


def covariance(rows):
    return np.atleast_2d(np.cov(rows.T))


@every_method
def test_the_covariance_of_the_output_is_the_identity(method):
    white = Whitening(method=method).fit(X)
    np.testing.assert_allclose(covariance(white.transform(X)), np.eye(4), atol=1e-12)
    np.testing.assert_allclose(white.transform(X).mean(axis=0), 0.0, atol=1e-12)
    assert white.certificate_.covariance_error < 1e-12


@every_method
def test_the_way_back(method):
    white = Whitening(method=method).fit(X)
    np.testing.assert_allclose(white.inverse_transform(white.transform(NEW)), NEW, atol=1e-11)


@every_method
@pytest.mark.parametrize("shrinkage", [0.2, 1.0])
def test_with_shrinkage_the_shrunk_covariance_becomes_the_identity(method, shrinkage):
    W = Whitening(method=method, shrinkage=shrinkage).fit(X).components_
    wanted = shrunk_covariance(covariance(X), shrinkage)
    np.testing.assert_allclose(W @ wanted @ W.T, np.eye(4), atol=1e-12)


def test_the_maps_differ_by_a_rotation():
    maps = [Whitening(method=method).fit(X).components_ for method in METHODS]
    for other in maps[1:]:
        rotation = np.linalg.solve(maps[0].T, other.T).T  # other = rotation · first
        np.testing.assert_allclose(rotation @ rotation.T, np.eye(4), atol=1e-11)


def test_pca_whitening_is_that_of_scikit_learn():
    wanted = PCA(2, whiten=True).fit(X).transform(NEW)
    got = Whitening(2).fit(X).transform(NEW)
    np.testing.assert_allclose(np.abs(got), np.abs(wanted), atol=1e-11)


def test_zca_is_symmetric_and_the_nearest_to_the_rows():
    white = Whitening(method="zca").fit(X)
    np.testing.assert_allclose(white.components_, white.components_.T, atol=1e-13)
    centred = X - X.mean(axis=0)
    moved = [
        np.linalg.norm(Whitening(method=method).fit(X).transform(X) - centred) for method in METHODS
    ]
    assert moved[1] == min(moved)


def test_cholesky_outputs_look_at_the_columns_up_to_them():
    white = Whitening(method="cholesky").fit(X)
    np.testing.assert_array_equal(white.components_, np.tril(white.components_))
    assert (np.diag(white.components_) > 0).all()


# ---------------------------------------------------------------- rank
def deficient():
    """Rank 4: a constant column and a sum of others."""
    return np.column_stack([X, X[:, 0] - 2 * X[:, 2], np.full(len(X), 0.1)])


def test_directions_without_variance_are_left_out():
    rows = deficient()
    white = Whitening().fit(rows)
    assert white.components_.shape == (4, 6)
    assert white.certificate_.rank == 4
    np.testing.assert_allclose(covariance(white.transform(rows)), np.eye(4), atol=1e-11)
    np.testing.assert_allclose(white.inverse_transform(white.transform(rows)), rows, atol=1e-11)


def test_zca_of_deficient_rows_projects_onto_their_range():
    rows = deficient()
    projection = covariance(Whitening(method="zca").fit_transform(rows))
    np.testing.assert_allclose(projection @ projection, projection, atol=1e-10)
    assert np.trace(projection) == pytest.approx(4.0)


def test_fewer_rows_than_columns():
    rows = table(5, 12)
    scores = Whitening().fit_transform(rows)
    np.testing.assert_allclose(covariance(scores), np.eye(4), atol=1e-12)


def test_few_axes_keep_the_largest_variances():
    white = Whitening(2).fit(X)
    variances = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2 / (len(X) - 1)
    np.testing.assert_allclose(white.explained_variance_, variances, rtol=1e-10)
    assert white.certificate_.discarded == pytest.approx(variances[2:].sum() / variances.sum())
    zca = Whitening(2, method="zca").fit(X)
    assert np.linalg.matrix_rank(zca.components_) == 2


def test_rows_that_are_all_equal_have_no_outputs():
    assert Whitening().fit(np.full((6, 3), 0.1)).transform(np.ones((2, 3))).shape == (2, 0)


# ---------------------------------------------------------------- accuracy
@settings(max_examples=25, deadline=None)
@given(st.integers(2, 12), st.integers(1, 8), st.integers(0, 10**6))
def test_any_shape_becomes_white(n, d, seed):
    rows = table(n, d, seed)
    scores = Whitening().fit_transform(rows)
    rank = min(n - 1, d)
    assert scores.shape == (n, rank)
    np.testing.assert_allclose(covariance(scores), np.eye(rank), atol=1e-7)


@every_method
@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e-20, 1e20, 1e150])
def test_the_unit_does_not_matter(method, scale):
    scores = Whitening(method=method).fit_transform(scale * X)
    np.testing.assert_allclose(scores, Whitening(method=method).fit_transform(X), atol=1e-10)


@pytest.mark.parametrize("shape", [(60, 5), (60, 30), (5, 60)])
@pytest.mark.parametrize("floor", [0.0, 0.3])
def test_squares_and_singular_values_agree(shape, floor):
    rows = table(*shape)
    rows -= rows.mean(axis=0)
    squares, svd = (principal_axes(rows, floor=floor, clear=clear) for clear in (0.0, 2.0))
    np.testing.assert_allclose(squares.sizes, svd.sizes, rtol=1e-10)
    np.testing.assert_allclose(np.abs(squares.vectors.T @ svd.vectors), np.eye(svd.rank), atol=1e-7)


def test_small_variances_are_not_lost_by_squaring():
    """Singular values 1 and 1e-7: of the square of their ratio two digits are left."""
    Q, _ = np.linalg.qr(table(50, 3) - table(50, 3).mean(axis=0))
    Q -= Q.mean(axis=0)
    white = Whitening().fit(Q * np.array([1.0, 1e-3, 1e-7]))
    assert white.certificate_.rank == 3
    assert white.certificate_.ok


def test_a_proof_that_fails_says_so():
    rows = table(50, 2) * np.array([1.0, 0.0])
    rows[:, 1] = rows[:, 0] + 1e-13 * table(50, 1, seed=2)[:, 0]
    with pytest.warns(ConvergenceWarning, match="rescale the data or ask for fewer components"):
        assert not Whitening().fit(rows).certificate_.ok


# ---------------------------------------------------------------- bad input
def test_bad_input():
    refuses(lambda: Whitening().fit(X[:1]), ValueError, "minimum of 2")
    refuses(lambda: Whitening(method="svd").fit(X), ValueError, "'method' parameter")
    refuses(lambda: Whitening(shrinkage=1.5).fit(X), ValueError, "'shrinkage' parameter")
    refuses(lambda: Whitening(2, method="cholesky").fit(X), ValueError, "n_components must be None")
    refuses(
        lambda: Whitening(method="cholesky").fit(deficient()),
        ValueError,
        "rank 4 for 6 columns: use method='pca' or 'zca', or shrinkage > 0",
    )
    refuses(lambda: Whitening().fit(X).inverse_transform(X[:, :2]), ValueError, "4 columns.*got 2")
