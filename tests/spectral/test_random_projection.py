"""Random projection: distances stay within ε, the lemma's numbers, sparse rows, the way back."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.random_projection import johnson_lindenstrauss_min_dim

from mercer import RandomProjection
from mercer.spectral import random_projection
from mercer.spectral.random_projection import johnson_lindenstrauss_dimension, promised_distortion
from tests.cases import sparse_table, table
from tests.compare import refuses

KINDS = ("gaussian", "sign", "sparse", "orthogonal")
every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
@pytest.mark.parametrize("eps", [0.3, 0.6])
def test_distances_are_kept_within_eps(kind, eps):
    X = table(30, 2000)
    model = RandomProjection(eps=eps, kind=kind, random_state=0).fit(X)
    assert model.n_components_ == johnson_lindenstrauss_dimension(30, eps) < 2000
    ratios = pdist(model.transform(X)) ** 2 / pdist(X) ** 2
    assert np.abs(ratios - 1.0).max() <= eps
    # all pairs of so few rows are measured
    assert model.certificate_.distortion == pytest.approx(np.abs(ratios - 1.0).max())
    assert model.certificate_.tolerance == eps


@every_kind
def test_squared_lengths_are_kept_on_average(kind):
    x = table(1, 6)
    lengths = [
        np.sum(RandomProjection(2, kind=kind, random_state=s).fit(x).transform(x) ** 2)
        for s in range(1000)
    ]
    error = np.std(lengths) / 1000**0.5
    assert abs(np.mean(lengths) - np.sum(x**2)) < 5 * error


@pytest.mark.parametrize("n", [1, 2, 100, 10**6])
@pytest.mark.parametrize("eps", [0.01, 0.1, 0.5, 0.99])
def test_the_dimension_is_that_of_the_lemma(n, eps):
    assert johnson_lindenstrauss_dimension(n, eps) == johnson_lindenstrauss_min_dim(n, eps=eps)


@pytest.mark.parametrize("eps", [0.1, 0.5, 0.9])
def test_what_is_promised_of_that_many_columns_is_eps(eps):
    k = johnson_lindenstrauss_dimension(1000, eps)
    assert promised_distortion(1000, k + 1, 1.0) <= eps < promised_distortion(1000, k - 1, 1.0)


def test_more_columns_promise_more():
    promised = [promised_distortion(50, k) for k in range(1, 900)]
    assert np.all(np.diff(promised) <= 0.0)
    # the χ² tail bounds what is beyond 1: union over pairs of exp(−k/2 (ε − ln(1 + ε)))
    e = promised[0]
    assert 50**2 * np.exp(-0.5 * (e - np.log1p(e))) == pytest.approx(1e-6)


def test_a_given_number_of_columns_is_measured_against_the_lemma():
    proof = RandomProjection(2, random_state=0).fit(table(40, 9)).certificate_
    assert proof.ok
    assert proof.promised == promised_distortion(40, 2)
    assert 0.0 < proof.distortion < proof.promised


def test_a_broken_promise_is_admitted(monkeypatch):
    monkeypatch.setitem(random_projection._KINDS, "sign", lambda k, d, _: np.zeros((k, d)))
    with pytest.warns(ConvergenceWarning, match="off by more than was promised"):
        RandomProjection(eps=0.5, kind="sign").fit(table(10, 500))


# ---------------------------------------------------------------- what a draw is
def test_entries_are_what_the_kind_says():
    x = table(3, 900)
    R = {kind: RandomProjection(90, kind=kind, random_state=0).fit(x).components_ for kind in KINDS}
    np.testing.assert_allclose(np.abs(R["sign"]), 90**-0.5)
    np.testing.assert_allclose(R["orthogonal"] @ R["orthogonal"].T, 10.0 * np.eye(90), atol=1e-12)
    assert sp.issparse(R["sparse"])
    np.testing.assert_allclose(np.abs(R["sparse"].data), (3 / 90) ** 0.5)
    assert R["sparse"].nnz / 81_000 == pytest.approx(1 / 3, abs=0.01)
    assert np.var(R["gaussian"]) == pytest.approx(1 / 90, rel=0.05)


@every_kind
def test_a_seed_fixes_the_draw(kind):
    X = table(9, 8)
    first, second, other = (RandomProjection(4, kind=kind, random_state=s) for s in (0, 0, 1))
    np.testing.assert_array_equal(first.fit_transform(X), second.fit_transform(X))
    assert not np.allclose(first.transform(X), other.fit_transform(X))


@every_kind
def test_sparse_rows_are_projected_without_being_filled(kind):
    X = sp.random_array((60, 200_000), density=1e-4, format="csr", rng=np.random.default_rng(0))
    Z = RandomProjection(5, kind=kind, random_state=0).fit(X).transform(X)
    assert Z.shape == (60, 5)
    rows = sparse_table(9, 8)
    model = RandomProjection(4, kind=kind, random_state=0).fit(rows)
    np.testing.assert_allclose(model.transform(rows), model.transform(rows.toarray()), atol=1e-14)


@every_kind
def test_the_way_back_is_the_shortest_row_with_the_same_projection(kind):
    X = table(6, 9)
    model = RandomProjection(4, kind=kind, random_state=0).fit(X)
    Z = model.transform(X)
    back = model.inverse_transform(Z)
    np.testing.assert_allclose(model.transform(back), Z, atol=1e-10)
    assert np.all(np.linalg.norm(back, axis=1) <= np.linalg.norm(X, axis=1) + 1e-10)


def test_where_the_lemma_gains_nothing_rows_stay_what_they_are():
    X = table(40, 7)
    model = RandomProjection(random_state=0)
    np.testing.assert_array_equal(model.fit_transform(X), X)
    np.testing.assert_allclose(model.inverse_transform(X), X, atol=1e-12)
    assert model.certificate_.distortion < 1e-14


def test_all_columns_of_a_random_basis_are_an_isometry():
    X = table(20, 6)
    Z = RandomProjection(6, kind="orthogonal", random_state=0).fit_transform(X)
    np.testing.assert_allclose(pdist(Z), pdist(X))


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_the_unit_does_not_matter(scale):
    X = table(20, 30)
    one, other = (RandomProjection(5, random_state=0).fit(s * X) for s in (1.0, scale))
    assert other.certificate_.distortion == pytest.approx(one.certificate_.distortion)


@pytest.mark.parametrize("rows", [table(1, 4), np.ones((5, 4)), np.zeros((3, 4))])
def test_rows_without_distances_have_no_distortion(rows):
    proof = RandomProjection(2, random_state=0).fit(rows).certificate_
    assert proof.ok
    assert proof.distortion == 0.0
    assert proof.pairs == 0


def test_bad_parameters():
    X = table(6, 3)
    refuses(lambda: RandomProjection(4).fit(X), ValueError, "n_components must be at most.*got n_c")
    refuses(lambda: RandomProjection(eps=1.0).fit(X), ValueError, "'eps' parameter")
    refuses(lambda: RandomProjection(kind="fast").fit(X), ValueError, "'kind' parameter")
    refuses(lambda: johnson_lindenstrauss_dimension(0, 0.1), ValueError, "n must be at least 1")
    wide = sp.csr_array((2, 10**12))
    refuses(lambda: RandomProjection(100).fit(wide), ValueError, "need a matrix of .* TB")
