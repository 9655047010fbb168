"""PCA: three routes to one answer, batches, sparse tables, extreme sizes, and the proof."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spl
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import decomposition
from sklearn.datasets import load_digits, load_iris, load_wine

from mercer import PCA
from mercer.spectral._centered import centered
from mercer.spectral._count import marchenko_pastur_median, noise_threshold
from mercer.spectral._moments import moments, scatter_moments
from mercer.spectral._pca_routes import (
    PcaRoute,
    first_look,
    missed_size,
    proved_axes,
    require_room,
)
from tests.cases import sparse_table, table
from tests.compare import refuses

ROUTES = ["auto", "covariance", "gram", "svd"]
every_route = pytest.mark.parametrize("route", ROUTES)
SHAPES = {
    "tall": (60, 7),
    "wide": (7, 60),
    "square": (20, 20),
    "two rows": (2, 5),
    "one column": (9, 1),
}
every_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())


def spread(n, d, decades=1.0, seed=0):
    """Return a table with singular values spread evenly over some decades, before centring."""
    rng = np.random.default_rng(seed)
    r = min(n, d)
    U, V = (np.linalg.qr(rng.standard_normal((m, r)))[0] for m in (n, d))
    return (U * np.logspace(0, -decades, r)) @ V.T


def reference(X):
    """Return singular values and right vectors of the centred table, by LAPACK."""
    _, singular, Vt = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return singular, Vt


def assert_same_axes(got, wanted, atol):
    signs = np.sign((got * wanted).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(got * signs, wanted, rtol=0, atol=atol)


# ---------------------------------------------------------------- one answer
@every_shape
@every_route
def test_every_route_gives_the_singular_value_decomposition(route, shape):
    X = spread(*shape)
    singular, Vt = reference(X)
    model = PCA(route=route).fit(X)
    k = min(shape[0] - 1, shape[1])
    assert model.n_components_ == k
    np.testing.assert_allclose(model.singular_values_, singular[:k], rtol=1e-10)
    assert_same_axes(model.components_, Vt[:k], 1e-10)
    assert model.certificate_.ok
    assert model.certificate_.route == model.route_


@every_route
@pytest.mark.parametrize("shape", [(80, 9), (9, 80)])
def test_small_singular_values_keep_their_digits(route, shape):
    X = spread(*shape, decades=8.0)
    X -= X.mean(axis=0)
    singular, Vt = reference(X)
    model = PCA(route=route).fit(X)
    k = model.n_components_
    assert k == min(shape[0] - 1, shape[1])
    # 1e-8 of the largest value has half of the digits left: what any decomposition can keep
    np.testing.assert_allclose(model.singular_values_, singular[:k], rtol=1e-6, atol=1e-14)
    assert_same_axes(model.components_, Vt[:k], 1e-6)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(k), atol=1e-13)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits], ids=lambda f: f.__name__)
@pytest.mark.parametrize("whiten", [False, True])
def test_it_agrees_with_scikit_learn(load, whiten):
    X = load().data
    theirs = decomposition.PCA(3, whiten=whiten, svd_solver="full").fit(X)
    ours = PCA(3, whiten=whiten).fit(X)
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_", "mean_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-10)
    assert ours.noise_variance_ == pytest.approx(theirs.noise_variance_, rel=1e-10)
    assert ours.n_samples_ == len(X)
    assert_same_axes(ours.components_, theirs.components_, 1e-9)
    scores, wanted = ours.transform(X).T, theirs.transform(X).T
    assert_same_axes(scores, wanted, 1e-8 * np.abs(wanted).max())
    np.testing.assert_allclose(
        ours.inverse_transform(scores.T), theirs.inverse_transform(wanted.T), atol=1e-8
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 30), st.integers(1, 30), st.integers(0, 10**6), st.sampled_from(ROUTES))
def test_the_parts_add_up(n, d, seed, route):
    X = table(n, d, seed)
    model = PCA(route=route).fit(X)
    C = np.cov(X.T).reshape(d, d)
    np.testing.assert_allclose(model.loadings_.T @ model.loadings_, C, atol=1e-12)
    assert model.explained_variance_ratio_.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-12)
    assert (
        np.take_along_axis(
            model.components_, np.abs(model.components_).argmax(axis=1)[:, None], axis=1
        )
        > 0
    ).all()


@every_route
@pytest.mark.parametrize("X", [table(50, 8), table(8, 50), sparse_table(50, 8)], ids=str)
def test_the_reconstruction_error_is_the_sum_of_the_discarded_eigenvalues(route, X):
    model = PCA(3, route=route).fit(X)
    everything = PCA(route=route).fit(X)
    errors = model.reconstruction_error(X)
    n = X.shape[0]
    assert errors.shape == (n,)
    discarded = everything.explained_variance_[3:].sum()
    assert errors.sum() / (n - 1) == pytest.approx(discarded, rel=1e-10)
    assert model.certificate_.discarded == pytest.approx(
        discarded / everything.explained_variance_.sum(), rel=1e-10
    )
    dense = X.toarray() if sp.issparse(X) else X
    back = model.inverse_transform(model.transform(X))
    np.testing.assert_allclose(errors, ((dense - back) ** 2).sum(axis=1), atol=1e-12)


def test_whitened_scores_have_unit_covariance():
    Z = PCA(4, whiten=True).fit_transform(table(60, 6) @ np.diag([9.0, 5, 3, 1, 0.1, 0.01]))
    np.testing.assert_allclose(np.cov(Z.T), np.eye(4), atol=1e-12)


# ---------------------------------------------------------------- how many components
def test_a_share_keeps_the_fewest_components_that_exceed_it():
    X = load_wine().data / load_wine().data.std(axis=0)
    for share in (0.2, 0.5, 0.9, 0.999):
        model = PCA(share).fit(X)
        assert model.n_components_ == decomposition.PCA(share).fit(X).n_components_
        shares = model.explained_variance_ratio_.cumsum()
        assert shares[-1] > share
        assert (shares[:-1] <= share).all()


@pytest.mark.parametrize("shape", [(300, 60), (60, 300), (120, 120)])
def test_auto_finds_the_rank_of_a_signal_in_noise(shape):
    rng = np.random.default_rng(3)
    signal = 40.0 * spread(*shape, decades=0.3)  # 4 of them are kept
    U, s, Vt = np.linalg.svd(signal, full_matrices=False)
    X = (U[:, :4] * (s[:4] + 3 * np.sqrt(max(shape)))) @ Vt[:4] + rng.standard_normal(shape)
    assert PCA("auto").fit(X).n_components_ == 4


def test_auto_keeps_one_component_of_pure_noise_and_all_of_a_noiseless_signal():
    assert PCA("auto").fit(table(400, 50)).n_components_ == 1
    assert PCA("auto").fit(table(40, 3) @ table(3, 30)).n_components_ == 3


def test_the_threshold_is_the_published_one():
    assert noise_threshold(np.ones(50), (51, 50)) == pytest.approx(2.858, abs=1e-3)
    singular = np.linalg.svd(table(1600, 400), compute_uv=False)
    median = np.median(singular**2) / 1600
    assert marchenko_pastur_median(0.25) == pytest.approx(median, rel=0.01)


@every_route
@pytest.mark.parametrize("shape", [(40, 12), (12, 40)])
def test_components_without_variance_are_not_kept(route, shape):
    X = table(shape[0], 3) @ table(3, shape[1], seed=1) + 1.0
    for k in (None, 8, 100):
        model = PCA(k, route=route).fit(X)
        assert model.components_.shape == (3, shape[1])
        assert model.noise_variance_ == pytest.approx(0.0, abs=1e-25)
    assert "no more than 3 have variance" in model.certificate_.about


# ---------------------------------------------------------------- degenerate and extreme data
@every_route
def test_constant_columns_have_no_part_in_it(route):
    X = np.column_stack([np.full(50, 0.1), table(50, 3), np.full(50, 1e5)])
    model = PCA(route=route).fit(X)
    np.testing.assert_array_equal(model.mean_[[0, 4]], [0.1, 1e5])
    assert model.n_components_ == 3
    np.testing.assert_allclose(model.components_[:, [0, 4]], 0.0, atol=1e-10)


@every_route
def test_rows_that_are_all_equal_have_no_component(route):
    model = PCA(route=route).fit(np.full((5, 3), 0.3))
    assert model.transform(np.ones((2, 3))).shape == (2, 0)
    np.testing.assert_array_equal(model.inverse_transform(np.empty((2, 0))), np.full((2, 3), 0.3))
    np.testing.assert_allclose(model.reconstruction_error(np.ones((1, 3))), 3 * 0.49)


@every_route
def test_a_large_offset_costs_no_more_than_the_digits_of_the_data(route):
    X = np.round(table(70, 5) * [5, 4, 3, 2, 1] * 2**20) / 2**20  # exact with the offset, too
    plain, far = (PCA(route=route).fit(X + offset) for offset in (0.0, 2.0**20))
    np.testing.assert_allclose(far.explained_variance_, plain.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(far.components_, plain.components_, atol=1e-8)
    np.testing.assert_allclose(far.transform(X + 2.0**20), plain.transform(X), atol=1e-8)


def test_a_first_guess_of_the_mean_that_is_far_off_is_noticed():
    X = table(100, 3)
    X[0] = 1e6  # the guess
    X[1:] -= X[1:].mean(axis=0)
    about, wanted = scatter_moments(X, sampled=1), moments(X)
    np.testing.assert_allclose(about.mean, wanted.mean, rtol=1e-14)
    np.testing.assert_allclose(about.scatter, np.cov(X.T) * 99, rtol=1e-12)


@every_route
@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e-20, 1e20, 1e150])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_sizes_do_not_matter(route, scale, kind):
    X = table(30, 4) * [4, 3, 2, 1]
    model, tiny = PCA(2, route=route).fit(kind(X)), PCA(2, route=route).fit(kind(X * scale))
    np.testing.assert_allclose(tiny.components_, model.components_, atol=1e-10)
    np.testing.assert_allclose(tiny.singular_values_, model.singular_values_ * scale, rtol=1e-10)
    np.testing.assert_allclose(
        tiny.explained_variance_ratio_, model.explained_variance_ratio_, rtol=1e-10
    )
    np.testing.assert_allclose(tiny.transform(X * scale), model.transform(X) * scale, rtol=1e-7)


def test_bad_input_is_explained():
    X = table(9, 4)
    refuses(lambda: PCA().fit(X[:1]), ValueError, "minimum of 2 is required")
    refuses(lambda: PCA(0).fit(X), ValueError, "n_components")
    refuses(lambda: PCA(1.5).fit(X), ValueError, "n_components")
    refuses(lambda: PCA("mle").fit(X), ValueError, "n_components.*'auto'")
    refuses(lambda: PCA(route="eig").fit(X), ValueError, "'covariance'")
    refuses(lambda: PCA().fit(X * 1e200), ValueError, "beyond 1e154")
    model = PCA(2).fit(X)
    refuses(lambda: model.inverse_transform(X), ValueError, "2 columns, one for.*got 4")
    refuses(lambda: model.partial_fit(X[:, :2]), ValueError, "expecting 4 features")


def test_a_matrix_that_does_not_fit_is_refused():
    refuses(lambda: require_room(8, memory=1000), MemoryError, r"8×8.*n_components ≤ 1")


# ---------------------------------------------------------------- large tables
def by_products(X, k):
    """Take the route of large tables on small ones."""
    route = PcaRoute("auto", formed_up_to=8)
    scaled, about, _ = first_look(X, route, k)
    return proved_axes(
        scaled,
        about,
        k,
        lambda singular: min(k, len(singular)),
        route=route,
        tolerance=1e-8,
        random_state=0,
    )


LARGE = {
    "tall": spread(200, 60, decades=2.0),
    "wide": spread(60, 200, decades=2.0),
    "sparse": sp.csr_array(sparse_table(200, 60)),
    "wide sparse": sp.csr_array(sparse_table(60, 200)),
}


@pytest.mark.parametrize("X", LARGE.values(), ids=LARGE.keys())
def test_few_components_come_from_products_alone(X):
    dense = X.toarray() if sp.issparse(X) else X
    singular, Vt = reference(dense)
    axes = by_products(X, 5)
    assert axes.certificate.method == "products only"
    np.testing.assert_allclose(axes.singular, singular[:5], rtol=1e-9)
    assert_same_axes(axes.components, Vt[:5], 1e-6)
    discarded = (singular[5:] ** 2).sum()
    assert axes.discarded == pytest.approx(discarded, rel=1e-9)
    assert axes.certificate.discarded == pytest.approx(discarded / (singular**2).sum(), rel=1e-9)


def test_products_find_components_of_very_different_size():
    X = spread(300, 80, decades=0.0) @ np.diag(np.logspace(0, -30, 80))
    X -= X.mean(axis=0)
    axes = by_products(X, 9)
    singular, _ = reference(X)
    np.testing.assert_allclose(axes.singular, singular[:9], rtol=1e-6)
    np.testing.assert_allclose(axes.components @ axes.components.T, np.eye(9), atol=1e-10)


def test_products_find_every_copy_of_a_repeated_eigenvalue():
    block = np.linalg.qr(table(30, 10))[0] * np.repeat([5.0, 3.0, 1.0], [3, 3, 4])
    X = sp.block_diag([block] * 8).tocsr()
    X = sp.vstack([X, -X]).tocsr()  # the mean is 0
    axes = by_products(X, 10)
    np.testing.assert_allclose(axes.singular, np.sqrt(2) * 5.0, rtol=1e-9)
    assert axes.certificate.ok


def test_a_missed_copy_is_seen_by_the_probe():
    values = np.r_[np.full(3, 4.0), np.linspace(1.0, 0.1, 197)]
    G = spl.aslinearoperator(sp.diags_array(values).tocsr())
    found = np.eye(200)[:, [0, 2]]
    assert missed_size(G, found, np.random.default_rng(0)) == pytest.approx(4.0, rel=0.05)
    everything = np.eye(200)[:, :3]
    assert missed_size(G, everything, np.random.default_rng(0)) <= 1.0


def test_more_components_than_the_rank_of_a_large_table():
    X = table(200, 3) @ table(3, 80, seed=1)
    assert len(by_products(X, 9).singular) == 3
    assert len(by_products(np.ones((90, 80)), 9).singular) == 0


def test_the_gram_route_never_forms_a_matrix_of_columns():
    X = table(20, 30_000)
    tracemalloc.start()
    model = PCA(3).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.route_ == "gram"
    assert peak < 6 * X.nbytes  # d × d would be 1,500 times as much


def test_sparse_tables_stay_sparse():
    X = sp.random_array((2000, 1600), density=0.003, rng=np.random.default_rng(0), format="csr")
    tracemalloc.start()
    model = PCA(3).fit(X)
    model.transform(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2000 * 1600 * 8 / 5
    theirs = decomposition.PCA(3, svd_solver="arpack", random_state=0).fit(X)
    np.testing.assert_allclose(model.singular_values_, theirs.singular_values_, rtol=1e-9)
    assert_same_axes(model.components_, theirs.components_, 1e-5)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_a_centred_table_multiplies_like_its_array(kind, transposed):
    X = sparse_table(50, 9).toarray() + (kind is np.asarray)
    mean = moments(kind(X)).mean
    A = centered(kind(X), mean, transposed=transposed, tile_bytes=1000)
    wanted = (X - X.mean(axis=0)).T if transposed else X - X.mean(axis=0)
    m, p = wanted.shape
    V, U = table(p, 4), table(m, 4)
    for got, value in [
        (A.times(V), wanted @ V),
        (A.times(V[:, 0]), wanted @ V[:, 0]),
        (A.transposed_times(U), wanted.T @ U),
        (A.gram_times(V), wanted.T @ wanted @ V),
        (A.gram_operator() @ V[:, 0], wanted.T @ wanted @ V[:, 0]),
        (A.gram(), wanted.T @ wanted),
        (A.gram(V), (wanted @ V).T @ wanted @ V),
        (A.for_many_passes().gram_times(V), wanted.T @ wanted @ V),
        (A.triangle().T @ A.triangle(), wanted.T @ wanted),
    ]:
        np.testing.assert_allclose(got, value, atol=1e-11)


# ---------------------------------------------------------------- batches
def in_batches(model, X, cuts):
    for part in np.split(X, cuts) if isinstance(X, np.ndarray) else (X[:20], X[20:]):
        model.partial_fit(part)
    return model


@every_route
@pytest.mark.parametrize("shape", [(90, 6), (40, 60)])
@pytest.mark.parametrize("k", [None, 3, 0.8])
def test_batches_give_what_all_rows_give(route, shape, k):
    X = spread(*shape, decades=3.0) + np.linspace(0.0, 0.1, shape[0])[:, None]
    cuts = [1, 2, 5, 30]
    got, wanted = in_batches(PCA(k, route=route), X, cuts), PCA(k, route=route).fit(X)
    assert got.n_samples_ == len(X)
    for name in ("mean_", "components_", "singular_values_", "explained_variance_ratio_"):
        np.testing.assert_allclose(getattr(got, name), getattr(wanted, name), atol=1e-10)
    assert got.noise_variance_ == pytest.approx(wanted.noise_variance_, abs=1e-12)
    assert got.certificate_.ok
    assert got.certificate_.cut == 0.0
    assert "nothing was cut" in got.certificate_.about


def test_batches_may_be_sparse():
    X = sparse_table(50, 8)
    got, wanted = in_batches(PCA(3), X, None), PCA(3).fit(X)
    np.testing.assert_allclose(got.components_, wanted.components_, atol=1e-10)


def test_a_single_row_has_no_component_yet():
    model = PCA().partial_fit(table(1, 3))
    assert model.n_components_ == 0
    assert model.partial_fit(table(5, 3)).n_components_ == 3


def test_a_cut_factor_says_how_much_its_eigenvalues_can_be_short():
    X = spread(120, 2010, decades=1.0) + 1e-4 * table(120, 2010)  # too wide for exact batches
    got = in_batches(PCA(2), X, range(20, 120, 20))
    wanted = PCA(2).fit(X)
    short = wanted.explained_variance_ - got.explained_variance_
    assert got.certificate_.cut > 0
    assert (short > 0).all()
    assert (short <= got.certificate_.shortfall).all()
    total = (X.var(axis=0, ddof=1)).sum()
    assert got.certificate_.trace == pytest.approx(total, rel=1e-10)  # the cut part is counted
    ratio = got.explained_variance_ / total
    np.testing.assert_allclose(got.explained_variance_ratio_, ratio, rtol=1e-10)


def test_a_cut_loses_nothing_if_the_rank_is_kept():
    X = table(200, 4) @ table(4, 2010, seed=1)
    got, wanted = in_batches(PCA(4), X, range(30, 200, 30)), PCA(4).fit(X)
    np.testing.assert_allclose(got.components_, wanted.components_, atol=1e-10)
    assert got.certificate_.shortfall < 1e-20


def test_batches_after_a_fit_go_on_from_its_components():
    X = spread(80, 6, decades=2.0)
    wanted = PCA().fit(X)
    np.testing.assert_allclose(
        PCA().fit(X[:50]).partial_fit(X[50:]).components_, wanted.components_, atol=1e-10
    )
    few = PCA(2).fit(X[:50]).partial_fit(X[50:])
    short = wanted.explained_variance_[:2] - few.explained_variance_
    assert (short >= 0).all()
    assert (short <= few.certificate_.shortfall).all()
    again = few.fit(X)
    assert not hasattr(again, "factor_")
