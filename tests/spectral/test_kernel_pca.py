"""Kernel PCA: with a linear kernel it is PCA; scores, new points, variance, and its proof."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import decomposition
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from mercer import KernelPCA, KernelRidge, check_kernel
from mercer.gram import gram
from mercer.kernels import RBF, FromFeatureMap, Linear, Polynomial
from mercer.solvers import leading_eigenpairs
from tests import naive
from tests.cases import KERNELS, SAMPLES, WORDS, letter_counts, squares_and_product, table

X, NEW = table(40, 4) * np.array([3.0, 2.0, 1.0, 0.5]), table(9, 4, seed=1)

PSD = {name: kernel for name, kernel in KERNELS.items() if kernel.definiteness == "psd"}
every_psd_kernel = pytest.mark.parametrize("kernel", PSD.values(), ids=PSD.keys())


def assert_same_up_to_sign(got, wanted, atol):
    """Components are directions: each column may be turned round."""
    signs = np.sign((got * wanted).sum(axis=0))
    np.testing.assert_allclose(got * signs, wanted, atol=atol)


# ---------------------------------------------------------------- linear kernel = PCA
def test_with_a_linear_kernel_it_is_pca():
    pca = decomposition.PCA().fit(X)
    model = KernelPCA(kernel="linear").fit(X)
    assert model.eigenvalues_.shape == (4,)
    np.testing.assert_allclose(model.eigenvalues_ / 39, pca.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(
        model.explained_variance_ratio_, pca.explained_variance_ratio_, rtol=1e-10
    )
    assert_same_up_to_sign(model.transform(NEW), pca.transform(NEW), atol=1e-9)
    assert_same_up_to_sign(model.fit_transform(X), pca.transform(X), atol=1e-9)


def test_with_an_explicit_map_it_is_pca_of_the_features():
    rows = X[:, :2]
    features = np.array([squares_and_product(x) for x in rows])
    pca = decomposition.PCA().fit(features)
    model = KernelPCA(kernel=Polynomial(degree=2, bias=0.0)).fit(rows)
    assert_same_up_to_sign(model.transform(rows), pca.transform(features), atol=1e-7)


REFERENCES = {
    "rbf": (RBF(gamma=0.2), {"kernel": "rbf", "gamma": 0.2}),
    "polynomial": (
        Polynomial(degree=3, scale=0.1, bias=1.0),
        {"kernel": "poly", "degree": 3, "gamma": 0.1, "coef0": 1.0},
    ),
    "linear": (Linear(), {"kernel": "linear"}),
}


@pytest.mark.parametrize(("kernel", "options"), REFERENCES.values(), ids=REFERENCES.keys())
def test_it_equals_scikit_learn_up_to_sign(kernel, options):
    model = KernelPCA(kernel=kernel, n_components=3).fit(X)
    reference = decomposition.KernelPCA(3, eigen_solver="dense", **options).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, reference.eigenvalues_, rtol=1e-9)
    assert_same_up_to_sign(model.transform(NEW), reference.transform(NEW), atol=1e-8)
    assert_same_up_to_sign(model.fit_transform(X), reference.transform(X), atol=1e-8)


# ---------------------------------------------------------------- scores
@every_psd_kernel
def test_training_rows_are_new_rows_too(kernel):
    # a score is divided by √λ: compare the components that rounding has not reached
    model = KernelPCA(kernel=kernel)
    scores = model.fit_transform(X[:, :3])
    solid = model.eigenvalues_ > 1e-6 * model.eigenvalues_.max(initial=0.0)
    scale = 1.0 + np.abs(scores).max(initial=0.0)
    np.testing.assert_allclose(
        model.transform(X[:, :3])[:, solid], scores[:, solid], atol=1e-7 * scale
    )


@every_psd_kernel
def test_scores_reproduce_the_centred_matrix(kernel):
    rows = X[:15, :3]
    scores = KernelPCA(kernel=kernel).fit_transform(rows)
    wanted = naive.centered(naive.matrix(kernel, rows))
    np.testing.assert_allclose(scores @ scores.T, wanted, atol=1e-10 * (1 + np.abs(wanted).max()))


def test_scores_are_centred_and_uncorrelated():
    model = KernelPCA(kernel=RBF(gamma=0.2), n_components=5)
    scores = model.fit_transform(X)
    np.testing.assert_allclose(scores.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(scores.T @ scores, np.diag(model.eigenvalues_), atol=1e-10)


def test_explained_variance_is_a_share_of_the_trace():
    model = KernelPCA(kernel=RBF(gamma=0.2)).fit(X)
    trace = np.trace(naive.centered(RBF(gamma=0.2)(X)))
    np.testing.assert_allclose(model.explained_variance_ratio_, model.eigenvalues_ / trace)
    assert model.explained_variance_ratio_.sum() == pytest.approx(1.0)
    few = KernelPCA(kernel=RBF(gamma=0.2), n_components=3).fit(X)
    kept = few.explained_variance_ratio_.sum()
    assert few.certificate_.discarded == pytest.approx(1.0 - kept)


def test_the_first_components_do_not_depend_on_how_many_are_asked_for():
    many = KernelPCA(kernel=RBF(gamma=0.2), n_components=8).fit(X).transform(NEW)
    few = KernelPCA(kernel=RBF(gamma=0.2), n_components=2).fit(X).transform(NEW)
    np.testing.assert_allclose(few, many[:, :2], atol=1e-10)


@pytest.mark.parametrize("rows", SAMPLES.values(), ids=SAMPLES.keys())
def test_every_kind_of_rows(rows):
    model = KernelPCA(kernel="rbf")
    scores = model.fit_transform(rows)
    assert scores.dtype == model.transform(rows).dtype == rows.dtype
    tolerance = 1e-7 if rows.dtype == np.float64 else 1e-3
    np.testing.assert_allclose(model.transform(rows), scores, atol=tolerance)


# ---------------------------------------------------------------- routes
def test_products_give_what_lapack_gives():
    K = gram(RBF(gamma=0.2), X).centered()
    by_lapack, by_products = (leading_eigenpairs(K, 3, by_products=way) for way in (False, True))
    np.testing.assert_allclose(by_products.eigenvalues, by_lapack.eigenvalues, rtol=1e-11)
    np.testing.assert_allclose(by_products.value, by_lapack.value, atol=1e-9)


@pytest.mark.parametrize("memory", [None, "3MB"])
def test_a_large_sample_takes_the_arpack_route_on_any_storage(memory):
    rows = table(1100, 3)
    model = KernelPCA(kernel=RBF(gamma=0.2), n_components=4, memory=memory).fit(rows)
    assert model.certificate_.ok
    assert model.certificate_.storage == ("dense" if memory is None else "cached")
    wanted = np.linalg.eigvalsh(naive.centered(RBF(gamma=0.2)(rows)))[::-1][:4]
    np.testing.assert_allclose(model.eigenvalues_, wanted, rtol=1e-9)


# ---------------------------------------------------------------- degenerate samples
@pytest.mark.parametrize("kernel", ["rbf", "linear", "polynomial"])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e6])
@pytest.mark.parametrize("n_components", [None, 2])
def test_rows_that_are_all_equal_have_no_components(kernel, value, n_components):
    rows = np.full((12, 2), value)
    model = KernelPCA(kernel=kernel, n_components=n_components).fit(rows)
    assert model.eigenvalues_.shape == (0,)
    assert model.transform(rows).shape == (12, 0)
    assert model.certificate_.ok


def test_a_large_sample_of_equal_rows_has_no_components():
    model = KernelPCA(kernel="linear", n_components=2).fit(np.full((1100, 2), 0.1))
    assert model.eigenvalues_.shape == (0,)


def test_one_row_has_no_components():
    assert KernelPCA().fit_transform(X[:1]).shape == (1, 0)


def test_a_large_offset_does_not_hurt_a_radial_kernel():
    near = KernelPCA(kernel=RBF(gamma=0.2), n_components=3).fit(X)
    far = KernelPCA(kernel=RBF(gamma=0.2), n_components=3).fit(
        X + 2.0**20
    )  # the shift rounds at 1e-10
    np.testing.assert_allclose(far.eigenvalues_, near.eigenvalues_, rtol=1e-7)
    np.testing.assert_allclose(far.transform(NEW + 2.0**20), near.transform(NEW), atol=1e-6)


def test_rounding_is_no_component():
    with warnings.catch_warnings():
        # entries of 1e12 leave an error of 1e-4 in K̃: that the proof misses 1e-8 is honest
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KernelPCA(kernel="linear").fit(X + 1e6)
    assert model.eigenvalues_.shape == (4,)


def test_no_more_components_than_the_rank():
    assert KernelPCA(kernel="linear", n_components=10).fit(X).eigenvalues_.shape == (4,)


def test_a_matrix_that_is_not_symmetric_is_refused():
    with pytest.raises(ValueError, match="must be symmetric; got K"):
        KernelPCA(kernel="precomputed").fit(table(8, 8))


@pytest.mark.parametrize("n", [30, 1100])
def test_a_kernel_that_overflows_is_an_error_and_not_nan(n):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with pytest.raises(ValueError, match=r"not finite: the kernel overflows on X; rescale X"):
            KernelPCA(kernel=Linear().exp(), n_components=2).fit(1e3 * table(n, 3))


# ---------------------------------------------------------------- in company
def test_words_have_the_components_of_their_features():
    counts = np.array([letter_counts(word) for word in WORDS], dtype=float)
    model = KernelPCA(kernel=FromFeatureMap(letter_counts), n_components=2)
    pca = decomposition.PCA(2, svd_solver="full")
    assert_same_up_to_sign(model.fit_transform(WORDS), pca.fit_transform(counts), atol=1e-9)


def test_set_output_gives_a_frame_with_names():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = KernelPCA(n_components=2).set_output(transform="pandas").fit(frame)
    scores = model.transform(frame)
    assert (
        list(scores.columns) == list(model.get_feature_names_out()) == ["kernelpca0", "kernelpca1"]
    )
    pd.testing.assert_index_equal(scores.index, frame.index)
    np.testing.assert_array_equal(scores, KernelPCA(n_components=2).fit(X).transform(X))


def test_set_output_gives_a_polars_frame():
    scores = KernelPCA(n_components=2).set_output(transform="polars").fit_transform(X)
    assert scores.columns == ["kernelpca0", "kernelpca1"]


def test_it_is_a_step_of_a_pipeline():
    # all components of a linear kernel are the centred rows, turned: a ridge machine sees no change
    y = X @ [1.0, 2.0, 3.0, 4.0]
    turned = make_pipeline(KernelPCA(kernel="linear"), KernelRidge("linear")).fit(X, y)
    plain = KernelRidge("linear").fit(X, y)
    np.testing.assert_allclose(turned.predict(NEW), plain.predict(NEW), rtol=1e-9)


def test_scores_are_features_whose_kernel_is_the_centred_kernel():
    scores = KernelPCA(kernel=RBF(gamma=0.2)).fit_transform(X)
    assert check_kernel("linear", scores).ok


def test_many_points_of_low_rank_have_as_many_components_as_their_rank():
    rows = table(3100, 3)  # tiles are computed, nothing is stored
    model = KernelPCA(kernel="linear", n_components=10).fit(rows)
    wanted = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False) ** 2
    np.testing.assert_allclose(model.eigenvalues_, wanted, rtol=1e-10)
    assert np.isfinite(model.transform(rows[:5])).all()
