"""Sparse PCA: planted loadings, PCA at λ = 0, the fixed point, adjusted variances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import decomposition
from sklearn.exceptions import ConvergenceWarning

from mercer import SparsePCA
from tests.cases import table
from tests.compare import refuses


def planted(n=300, d=30, spread=3.0, seed=0):
    """Return rows with three components of equal variance on disjoint columns, and the loadings."""
    rng = np.random.default_rng(seed)
    V = np.zeros((3, d))
    for j, columns in enumerate((range(8), range(8, 15), range(15, 21))):
        V[j, columns] = rng.choice([-1.0, 1.0], len(columns)) / len(columns) ** 0.5
    return spread * rng.normal(size=(n, 3)) @ V + rng.normal(size=(n, d)), V


@pytest.mark.parametrize("seed", range(3))
def test_planted_loadings_are_recovered(seed):
    X, V = planted(seed=seed)
    found = SparsePCA(3, lam=4.0).fit(X).components_
    cosines = np.abs(found @ V.T)
    partner = cosines.argmax(axis=0)
    assert sorted(partner) == [0, 1, 2]
    assert cosines.max(axis=0).min() > 0.97
    np.testing.assert_array_equal(found[partner] != 0.0, V != 0.0)


def test_pca_does_not_recover_them():
    X, V = planted()
    assert np.abs(decomposition.PCA(3).fit(X).components_ @ V.T).max(axis=0).min() < 0.9


def test_without_a_price_it_is_pca():
    X = table(40, 5) * np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    model, pca = SparsePCA(3, lam=0.0).fit(X), decomposition.PCA(3).fit(X)
    signs = np.sign((model.components_ * pca.components_).sum(axis=1))
    np.testing.assert_allclose(model.components_ * signs[:, None], pca.components_, atol=1e-10)
    np.testing.assert_allclose(model.explained_variance_, pca.explained_variance_)
    np.testing.assert_allclose(model.explained_variance_ratio_, pca.explained_variance_ratio_)
    np.testing.assert_allclose(model.transform(X) * signs, pca.transform(X), atol=1e-10)


# ---------------------------------------------------------------- the proof
@given(st.integers(2, 15), st.integers(1, 8), st.floats(0.0, 3.0), st.integers(0, 10**6))
def test_another_round_changes_nothing(n, d, lam, seed):
    X = table(n, d, seed)
    model = SparsePCA(2, lam=lam).fit(X)
    assert model.certificate_.ok
    assert "no global guarantee" in model.certificate_.about
    X, V = X - X.mean(axis=0), model.loadings_.T
    left, _, right = np.linalg.svd(X @ V, full_matrices=False)
    again = X.T @ (left @ right)
    again -= np.clip(again, -lam, lam)
    assert np.linalg.norm(again - V) <= 1.1e-6 * np.linalg.norm(V)
    np.testing.assert_allclose(model.components_.T * np.linalg.norm(V, axis=0), V, atol=1e-12)


def test_no_round_raises_the_objective():
    X, _ = planted(60, 25)
    values = []
    for rounds in range(1, 12):
        with pytest.warns(ConvergenceWarning, match="stopped at max_iter"):
            model = SparsePCA(3, lam=1.0, max_iter=rounds, tol=1e-12).fit(X)
        values.append(model.certificate_.objective)
    assert np.all(np.diff(values) <= 1e-9 * values[0])
    assert SparsePCA(3, lam=1.0).fit(X).certificate_.objective <= values[-1]


def test_larger_prices_leave_fewer_loadings():
    X, _ = planted(100)
    counts = [np.count_nonzero(SparsePCA(3, lam=lam).fit(X).components_) for lam in (0, 1, 3, 9)]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < counts[0]


# ---------------------------------------------------------------- variances
def test_variances_are_those_that_components_add():
    X, _ = planted(100)
    model = SparsePCA(3, lam=2.0).fit(X)
    X = X - X.mean(axis=0)
    scores, before = X @ model.components_.T, 0.0
    for k in range(3):
        Q = np.linalg.qr(scores[:, : k + 1])[0]
        explained = np.linalg.norm(Q.T @ scores, axis=0)[k] ** 2  # what the first k + 1 explain
        shared = np.linalg.norm(Q[:, :k].T @ scores[:, k]) ** 2
        np.testing.assert_allclose(model.explained_variance_[k], (explained - shared) / 99)
        before += model.explained_variance_[k]
    assert before <= scores.var(axis=0, ddof=1).sum() + 1e-9
    assert model.explained_variance_ratio_.sum() < 1.0


def test_rows_in_the_span_are_reconstructed():
    X, _ = planted(100)
    model = SparsePCA(3, lam=2.0).fit(X)
    rows = table(4, 3) @ model.components_ + model.mean_
    np.testing.assert_allclose(model.inverse_transform(model.transform(rows)), rows, atol=1e-10)


# ---------------------------------------------------------------- degenerate tables
def test_no_more_components_than_the_rank():
    X = table(20, 2) @ table(2, 6, seed=1)
    assert SparsePCA(5, lam=0.01).fit(X).components_.shape == (2, 6)
    assert SparsePCA(lam=0.01).fit(X + 1e5).components_.shape == (2, 6)


@pytest.mark.parametrize(
    "rows",
    [np.ones((5, 3)), table(1, 3), np.zeros((2, 2)), np.full((9, 2), 0.1) + 1e6],
    ids=["constant", "one row", "zeros", "far constant"],
)
def test_tables_without_variance_have_no_components(rows):
    model = SparsePCA().fit(rows)
    assert model.components_.shape == (0, rows.shape[1])
    assert model.transform(rows).shape == (len(rows), 0)
    assert model.certificate_.ok


def test_a_price_above_every_column_leaves_nothing():
    X = table(20, 4)
    longest = np.linalg.norm(X - X.mean(axis=0), axis=0).max()
    assert len(SparsePCA(lam=1.001 * longest).fit(X).components_) == 0
    assert len(SparsePCA(lam=0.999 * longest).fit(X).components_) == 1


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_rows_and_price_in_another_unit_give_the_same(scale):
    X, _ = planted(60)
    one, other = SparsePCA(3, lam=2.0).fit(X), SparsePCA(3, lam=2.0 * scale).fit(scale * X)
    np.testing.assert_allclose(other.components_, one.components_, atol=1e-6)
    np.testing.assert_allclose(other.explained_variance_ratio_, one.explained_variance_ratio_)


def test_bad_parameters():
    X = table(6, 3)
    refuses(lambda: SparsePCA(0).fit(X), ValueError, "'n_components' parameter")
    refuses(lambda: SparsePCA(lam=-1.0).fit(X), ValueError, "'lam' parameter")
