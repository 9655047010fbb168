"""The empirical and the kernel PCA map: values, and inner products that are the kernel."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from mercer import EmpiricalMap, KernelPCA, KernelPCAMap, KernelRidge
from mercer.kernels import RBF, FromFeatureMap, Linear, Sigmoid
from tests import naive
from tests.cases import KERNELS, OBJECT_KERNELS, SAMPLES, WORDS, letter_counts, table
from tests.compare import refuses

X, NEW = table(20, 3), table(6, 3, seed=1)
PSD = {name: k for name, k in KERNELS.items() if k.definiteness == "psd"}
every_psd_kernel = pytest.mark.parametrize("kernel", PSD.values(), ids=PSD.keys())


# ---------------------------------------------------------------- empirical
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_features_are_kernel_values(kernel):
    phi = EmpiricalMap(kernel).fit(X)
    bound = kernel.bind(X)
    wanted = naive.matrix(bound, NEW, X)
    scale = 1.0 + np.abs(wanted).max()
    np.testing.assert_allclose(phi.transform(NEW), wanted, atol=1e-12 * scale)
    assert phi.certificate_.gram_error < 1e-8


@pytest.mark.parametrize("kernel", OBJECT_KERNELS.values(), ids=OBJECT_KERNELS.keys())
def test_words_have_features_too(kernel):
    features = EmpiricalMap(kernel).fit(WORDS).transform(["new", "kernel"])
    np.testing.assert_allclose(features, kernel(["new", "kernel"], WORDS))


def test_some_points_are_columns():
    phi = EmpiricalMap(RBF(gamma=0.3), n_components=5, random_state=0).fit(X)
    assert len(set(phi.point_indices_)) == 5
    np.testing.assert_array_equal(phi.points_, X[phi.point_indices_])
    wanted = RBF(gamma=0.3)(NEW, X)[:, phi.point_indices_]
    np.testing.assert_allclose(phi.transform(NEW), wanted)


def test_with_the_inverse_between_them_they_are_the_kernel():
    F, K = EmpiricalMap(RBF(gamma=0.3)).fit_transform(X), RBF(gamma=0.3)(X)
    np.testing.assert_allclose(F @ np.linalg.solve(K, F.T), K, atol=1e-10)


def test_features_stay_within_the_budget():
    phi = EmpiricalMap(memory="100KB").fit(table(100, 3))
    assert phi.transform(table(100, 3)).shape == (100, 100)
    refuses(lambda: phi.transform(table(1000, 3)), ValueError, "memory is too small")


# ---------------------------------------------------------------- kernel PCA map
@every_psd_kernel
def test_inner_products_reproduce_the_kernel_on_the_sample(kernel):
    phi = KernelPCAMap(kernel)
    F = phi.fit_transform(X)
    K = naive.matrix(kernel, X)
    scale = np.abs(K).max()
    np.testing.assert_allclose(F @ F.T, K, atol=1e-11 * scale)
    np.testing.assert_allclose(phi.transform(X) @ phi.transform(X).T, K, atol=1e-9 * scale)
    assert phi.certificate_.discarded < 1e-11


def test_inner_products_of_new_points_with_the_sample_are_exact_too():
    phi = KernelPCAMap(RBF(gamma=0.3)).fit(X)
    inner = phi.transform(NEW) @ phi.transform(X).T
    np.testing.assert_allclose(inner, RBF(gamma=0.3)(NEW, X), atol=1e-10)
    # a new point has a part outside of the span: its length is at most √k(x, x)
    assert np.all((phi.transform(NEW) ** 2).sum(axis=1) < 1.0)


def test_a_singular_matrix_is_reproduced_on_its_range():
    rows = np.vstack([X, X[:5]])
    F = KernelPCAMap("linear").fit_transform(rows)
    assert F.shape == (25, 3)
    np.testing.assert_allclose(F @ F.T, rows @ rows.T, atol=1e-12)


def test_fewer_components_are_the_best_approximation_of_their_rank():
    kernel = RBF(gamma=0.3)
    phi = KernelPCAMap(kernel, n_components=4)
    F, K = phi.fit_transform(X), kernel(X)
    values = np.linalg.eigvalsh(K)[::-1]
    np.testing.assert_allclose(np.linalg.norm(K - F @ F.T, 2), values[4])
    assert phi.certificate_.discarded == pytest.approx(values[4:].sum() / values.sum())


def test_nothing_is_centred():
    shifted = X + 5.0
    plain = KernelPCAMap("linear").fit_transform(shifted)
    centred = KernelPCA(kernel="linear").fit_transform(shifted)
    np.testing.assert_allclose(plain @ plain.T, shifted @ shifted.T, atol=1e-10)
    assert not np.allclose(centred @ centred.T, shifted @ shifted.T, atol=1.0)


def test_words_are_mapped_to_where_their_features_are():
    counts = np.array([letter_counts(word) for word in WORDS], dtype=float)
    F = KernelPCAMap(FromFeatureMap(letter_counts)).fit_transform(WORDS)
    np.testing.assert_allclose(F @ F.T, counts @ counts.T, atol=1e-10)


def test_a_linear_machine_on_the_features_is_the_kernel_machine():
    y = np.sin(X[:, 0])
    kernel = RBF(gamma=0.3)
    steps = make_pipeline(KernelPCAMap(kernel), KernelRidge("linear", lam=0.1)).fit(X, y)
    wanted = KernelRidge(kernel, lam=0.1).fit(X, y).predict(NEW)
    np.testing.assert_allclose(steps.predict(NEW), wanted, atol=1e-8)


def test_an_indefinite_kernel_has_no_features():
    with pytest.warns(ConvergenceWarning, match="not positive semidefinite"):
        KernelPCAMap(Sigmoid(scale=2.0, bias=-1.0)).fit(X)


@pytest.mark.parametrize("model", [EmpiricalMap(), KernelPCAMap()], ids=repr)
@pytest.mark.parametrize("rows", SAMPLES.values(), ids=SAMPLES.keys())
def test_every_kind_of_rows(model, rows):
    features = model.fit(rows).transform(rows)
    assert features.dtype == rows.dtype
    assert features.shape == (rows.shape[0], len(model.get_feature_names_out()))
    assert model.certificate_.ok


def test_a_kernel_of_zeros_has_no_components():
    assert KernelPCAMap("linear").fit_transform(np.zeros((4, 2))).shape == (4, 0)
    assert EmpiricalMap(Linear()).fit(np.zeros((4, 2))).certificate_.ok


def test_bad_parameters():
    refuses(lambda: EmpiricalMap(n_components=0).fit(X), ValueError, "'n_components' parameter")
    refuses(lambda: KernelPCAMap(n_components=0).fit(X), ValueError, "'n_components' parameter")
    refuses(lambda: EmpiricalMap("cosin").fit(X), ValueError, "kernel must be one of")
