"""Sliced inverse regression: planted directions come back; the eigenproblem is its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import eigh
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NearestNeighbors

from mercer import SIR, LocalSIR
from mercer.spectral._base import class_means
from mercer.spectral.sir import slice_codes
from tests.cases import SAMPLES, table
from tests.compare import refuses

B = np.array([1.0, -2.0, 0.0, 0.5, 0.0])


def degrees(a, b):
    """Return the angle of two lines."""
    return np.degrees(np.arccos(min(1.0, abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b))))


def planted(link, n=2000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)) @ (np.eye(5) + 0.3 * rng.normal(size=(5, 5)))
    return X, link(X @ B) + 0.2 * rng.normal(size=n)


# ---------------------------------------------------------------- planted directions
@pytest.mark.parametrize("link", [lambda t: t, np.exp, lambda t: t**3, np.arctan])
def test_a_planted_direction_is_found(link):
    X, y = planted(link, n=8000)
    model = SIR().fit(X, y)
    assert degrees(model.components_[0], B) < 5.0
    assert model.certificate_.ok


def test_the_test_of_li_finds_the_number_of_directions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6))
    y = X[:, 0] / (0.5 + (X[:, 1] + 1.5) ** 2) + 0.1 * rng.normal(size=3000)
    two = SIR().fit(X, y)
    assert len(two.components_) == 2
    assert (two.p_values_[:2] < 0.05).all()
    assert two.p_values_[2] > 0.05
    assert np.abs(two.components_[:, 2:]).max() < 0.15  # in the plane of the first two columns


def test_one_direction_is_taken_for_two_as_often_as_the_level_says():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(200):
        X = rng.normal(size=(300, 4))
        found.append(len(SIR().fit(X, X[:, 0] + 0.3 * rng.normal(size=300)).components_))
    assert np.mean(np.array(found) > 1) == pytest.approx(0.05, abs=4 * 0.22 / 200**0.5)


def test_p_values_without_dependence_are_uniform():
    rng = np.random.default_rng(0)
    p = [
        SIR().fit(rng.normal(size=(300, 3)), rng.normal(size=300)).p_values_[0] for _ in range(200)
    ]
    for level in (0.1, 0.5, 0.9):  # four standard deviations of a share of 200
        assert np.mean(np.array(p) < level) == pytest.approx(level, abs=4 * 0.5 / 200**0.5)


def test_slices_do_not_see_a_symmetric_dependence_and_local_means_do():
    X, y = planted(np.square)
    assert degrees(SIR(1).fit(X, y).components_[0], B) > 20.0
    local = LocalSIR(1).fit(X, y)
    assert degrees(local.components_[0], B) < 5.0
    assert local.certificate_.ok


# ---------------------------------------------------------------- definitions
def test_it_is_its_eigenproblem():
    X, y = planted(np.exp, n=300)
    model = SIR(3, n_slices=6).fit(X, y)
    order = np.argsort(y, kind="stable")
    total, mean = np.cov(X.T, bias=True), X.mean(axis=0)
    between = np.zeros((5, 5))
    for part in np.split(order, 6):
        between += (
            len(part) / 300 * np.outer(X[part].mean(axis=0) - mean, X[part].mean(axis=0) - mean)
        )
    values, vectors = eigh(between, total)
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:3], atol=1e-12)
    for got, wanted in zip(model.components_, vectors.T[::-1][:3], strict=True):
        np.testing.assert_allclose(got * np.sign(got @ wanted), wanted, atol=1e-9)
    np.testing.assert_allclose(model.mean_, mean)


@pytest.mark.parametrize("model", [SIR(2), LocalSIR(2)], ids=repr)
def test_scores_are_uncorrelated_with_variance_one(model):
    X, y = planted(np.exp, n=300)
    S = model.fit(X, y).transform(X)
    np.testing.assert_allclose(S.T @ S / 300, np.eye(2), atol=1e-10)


def test_eigenvalues_are_shares_of_variance_between_slices():
    X, y = planted(np.exp, n=500)
    model = SIR(2).fit(X, y)
    codes = slice_codes(y, 10)
    S = model.transform(X)
    sizes, means = np.bincount(codes), class_means(S, codes)
    np.testing.assert_allclose((sizes @ means**2) / 500, model.eigenvalues_, atol=1e-12)


def test_classes_are_slices_and_give_fishers_directions():
    rng = np.random.default_rng(0)
    labels = np.repeat(["a", "b", "c"], [50, 80, 30])
    X = rng.normal(size=(160, 4)) + 2.0 * np.eye(4)[np.searchsorted(["a", "b", "c"], labels)]
    model = SIR(2).fit(X, labels)
    peer = LinearDiscriminantAnalysis(solver="eigen").fit(X, labels)
    assert model.n_slices_ == 3
    for j in range(2):
        assert degrees(model.components_[j], peer.scalings_[:, j]) < 1e-4


def test_local_means_are_those_of_the_nearest_rows_of_the_slice():
    X, y = planted(np.square, n=120)
    model = LocalSIR(n_slices=3, n_neighbors=7).fit(X, y)
    codes, mean = slice_codes(y, 3), X.mean(axis=0)
    local = np.empty_like(X)
    for s in range(3):
        rows = X[codes == s]
        near = NearestNeighbors(n_neighbors=7).fit(rows).kneighbors(rows)[1]
        local[codes == s] = rows[near].mean(axis=1)
    values = eigh((local - mean).T @ (local - mean) / 120, np.cov(X.T, bias=True))[0]
    np.testing.assert_allclose(model.eigenvalues_, values[::-1], atol=1e-10)


def test_with_all_rows_of_a_slice_local_means_are_slice_means():
    X, y = planted(np.exp, n=200)
    wanted = SIR(3).fit(X, y)
    got = LocalSIR(3, n_neighbors=200).fit(X, y)
    np.testing.assert_allclose(got.eigenvalues_, wanted.eigenvalues_, atol=1e-12)
    np.testing.assert_allclose(got.transform(X), wanted.transform(X), atol=1e-8)


def test_with_one_neighbor_nothing_is_averaged():
    X, y = planted(np.exp, n=100)
    np.testing.assert_allclose(LocalSIR(n_neighbors=1).fit(X, y).eigenvalues_, 1.0)


@given(seed=st.integers(0, 500))
def test_scores_do_not_depend_on_the_axes_of_the_table(seed):
    rng = np.random.default_rng(seed)
    X, y = planted(np.exp, n=200, seed=seed)
    M = rng.normal(size=(5, 5)) + 3.0 * np.eye(5)
    first, second = SIR(2).fit(X, y), SIR(2).fit(X @ M + 7.0, y)
    np.testing.assert_allclose(first.eigenvalues_, second.eigenvalues_, atol=1e-9)
    S, T = first.transform(X), second.transform(X @ M + 7.0)
    np.testing.assert_allclose(np.abs(np.diag(S.T @ T) / 200), 1.0, atol=1e-6)


# ---------------------------------------------------------------- slices
def test_slices_hold_about_equally_many_rows_and_keep_ties_together():
    y = np.random.default_rng(0).normal(size=103)
    assert set(np.bincount(slice_codes(y, 10))) <= {10, 11}
    tied = np.round(y)
    codes = slice_codes(tied, 4)
    for value in np.unique(tied):
        assert len(np.unique(codes[tied == value])) == 1
    assert (np.diff(codes[np.argsort(tied)]) >= 0).all()
    few = np.array([3.0, 1.0, 3.0, 2.0])
    assert slice_codes(few, 10).tolist() == [2, 0, 2, 1]


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=40), st.integers(2, 12))
def test_slices_are_numbered_without_gaps(values, n_slices):
    y = np.array(values, dtype=float)
    if len(set(values)) == 1:
        refuses(lambda: slice_codes(y, n_slices), ValueError, "at least two different values")
        return
    codes = slice_codes(y, n_slices)
    assert set(codes) == set(range(codes.max() + 1))
    assert 2 <= codes.max() + 1 <= n_slices


# ---------------------------------------------------------------- few rows, degenerate tables
def test_fewer_rows_than_columns_are_shrunk():
    direction = np.r_[np.ones(5), np.zeros(95)]
    shrunk, plain = [], []
    for seed in range(5):
        X = table(60, 100, seed)
        y = X[:, :5].sum(axis=1)
        model, without = SIR(1).fit(X, y), SIR(1, shrinkage=0.0).fit(X, y)
        assert 0.0 < model.shrinkage_ <= 1.0
        assert model.certificate_.ok
        assert np.isnan(model.p_values_).all()
        assert without.eigenvalues_[0] == pytest.approx(1.0)  # so many columns fit anything
        shrunk.append(degrees(model.components_[0], direction))
        plain.append(degrees(without.components_[0], direction))
    assert np.mean(shrunk) < np.mean(plain) - 5.0


@pytest.mark.parametrize("model", [SIR(), LocalSIR(), SIR(shrinkage=0.2)], ids=repr)
@pytest.mark.parametrize("rows", SAMPLES.values(), ids=SAMPLES.keys())
def test_every_kind_of_rows(rows, model):
    y = np.arange(float(rows.shape[0]))
    if not isinstance(rows, np.ndarray) or len(rows) == 1:
        refuses(lambda: model.fit(rows, y), (TypeError, ValueError), "[Ss]parse|1 sample")
        return
    model.fit(rows, y)
    assert model.certificate_.ok
    rank = np.linalg.matrix_rank(rows - rows.mean(axis=0), tol=1e-5)
    assert min(1, rank) <= len(model.components_) <= (rank if model.shrinkage != 0.2 else 11)
    assert np.isfinite(model.transform(rows)).all()


@pytest.mark.parametrize("model", [SIR(1), LocalSIR(1)], ids=repr)
@pytest.mark.parametrize("scale", [1e-150, 1e149])
def test_tables_of_any_size(model, scale):
    X, y = planted(np.exp, n=500)
    scores = model.fit(X, y).transform(X)
    np.testing.assert_allclose(model.fit(scale * X, y).transform(scale * X), scores, rtol=1e-6)


BAD = {
    "one slice": (lambda: SIR(n_slices=1).fit(table(9, 2), np.arange(9.0)), "'n_slices'.*Got 1"),
    "no neighbours": (lambda: LocalSIR(n_neighbors=0).fit(table(9, 2), np.arange(9.0)), "'n_neigh"),
    "shrinkage": (lambda: SIR(shrinkage=2.0).fit(table(9, 2), np.arange(9.0)), "'shrinkage'.*2.0"),
    "a constant response": (lambda: SIR().fit(table(9, 2), np.ones(9)), "y must take at least two"),
    "one class": (lambda: SIR().fit(table(9, 2), ["a"] * 9), "y must take at least two.*'a'"),
    "no response": (lambda: SIR().fit(table(9, 2), None), "y"),
}


@pytest.mark.parametrize(("call", "match"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_named(call, match):
    refuses(call, ValueError, match)


def test_shuffles_tell_how_many_local_directions_there_are():
    X = np.random.default_rng(0).normal(size=(600, 5))
    local = LocalSIR(n_permutations=60, random_state=0)
    one = local.fit(X, X[:, 0] ** 2)
    assert one.components_.shape == (1, 5)
    assert one.p_values_[0] == 1 / 61
    two = local.fit(X, np.sign(X[:, 0]) * np.round(3 * X[:, 1] ** 2))
    assert two.components_.shape == (2, 5)
    nothing = local.fit(X, np.random.default_rng(1).normal(size=600))
    assert nothing.p_values_[0] > 0.05


@pytest.mark.parametrize("size", [1e-150, 1e-165, 1e-250])
@pytest.mark.parametrize("model", [SIR(1), LocalSIR(1)], ids=repr)
def test_columns_whose_squares_vanish_have_a_part(model, size):
    """The unit of a column says nothing."""
    X = table(80, 3)
    y = X[:, 0] + X[:, 1]
    plain = clone(model).fit(X, y).transform(X)
    unit = np.array([1.0, size, 1.0])
    found = clone(model).fit(X * unit, y)
    assert found.certificate_.ok
    if isinstance(model, SIR):  # near rows are near in the units that X came in
        np.testing.assert_allclose(np.abs(found.transform(X * unit)), np.abs(plain), rtol=1e-8)
    assert np.abs(np.corrcoef(found.transform(X * unit)[:, 0], X[:, 1])[0, 1]) > 0.3
