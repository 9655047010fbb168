"""Kernel CCA: CCA for linear kernels, planted functions, any kernels on either side, its proof."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import CCA, KernelCCA, KernelRidge
from mercer.kernels import RBF, FromFeatureMap, FromFunction, Laplacian, Linear, Polynomial, Sigmoid
from mercer.spectral.kernel_cca import leading_singular
from tests import naive
from tests.cases import WORDS, letter_counts, shared_letters, sparse_table, table
from tests.compare import refuses

X, Y = table(80, 4), table(80, 3, seed=1)
Y[:, 0] += X[:, 1]
NEW, NEW_Y = table(9, 4, seed=2), table(9, 3, seed=3)


@parametrize_with_checks([KernelCCA(), KernelCCA(kernel="linear", kernel_y="laplacian")])
def test_scikit_learn_has_no_objection(estimator, check):
    check(estimator)


def angles(n, seed=0):
    """Return X with an angle and Y with a point at that angle, both with noise columns."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, n)
    x = np.column_stack([angle, rng.normal(size=n)])
    y = np.column_stack([np.cos(angle), np.sin(angle), rng.normal(size=n)])
    return x, y + 0.05 * rng.normal(size=y.shape)


# ---------------------------------------------------------------- linear kernels = CCA
@pytest.mark.parametrize("lam", [1e-4, 1e-6, 1e-8, 1e-10])
def test_with_linear_kernels_it_comes_to_cca_as_lam_vanishes(lam):
    kernel_cca, cca = KernelCCA(3, kernel="linear", lam=lam).fit(X, Y), CCA(3).fit(X, Y)
    np.testing.assert_allclose(kernel_cca.correlations_, cca.correlations_, atol=10 * lam)
    for got, wanted in zip(
        kernel_cca.transform(NEW, NEW_Y), cca.transform(NEW, NEW_Y), strict=True
    ):
        np.testing.assert_allclose(np.abs(got), np.abs(wanted), atol=1e3 * lam)


def test_with_linear_kernels_it_is_the_regularised_cca():
    x, y = (StandardScaler().fit_transform(Z) for Z in (X, Y[:, [0, 1, 2, 0]]))
    got = KernelCCA(3, kernel="linear", lam=0.1 / 4).fit(x, y)  # 4 columns of variance one
    wanted = CCA(3, lam=0.1).fit(x, y)
    np.testing.assert_allclose(got.correlations_, wanted.correlations_, atol=1e-10)
    np.testing.assert_allclose(np.abs(got.transform(x)), np.abs(wanted.transform(x)), atol=1e-8)


def test_with_explicit_maps_it_is_linear_on_the_features():
    words = [*WORDS, "support", "vector", "machine"]
    counts = np.array([letter_counts(word) for word in words], dtype=np.float64)
    got = KernelCCA(2, kernel=FromFeatureMap(letter_counts), kernel_y="rbf", lam=0.1)
    wanted = KernelCCA(2, kernel="linear", kernel_y="rbf", lam=0.1)
    U = got.fit(words, Y[:10]).transform(words)
    np.testing.assert_allclose(U, wanted.fit(counts, Y[:10]).transform(counts), atol=1e-8)


# ---------------------------------------------------------------- the eigenproblem
PAIRS = {
    "rbf, rbf": (RBF(gamma=0.3), RBF(gamma=0.2)),
    "laplacian, linear": (Laplacian(gamma=0.3), Linear()),
    "polynomial, rbf": (Polynomial(degree=2), RBF(gamma=1.0)),
}


@pytest.mark.parametrize(("kernel", "kernel_y"), PAIRS.values(), ids=PAIRS.keys())
def test_it_equals_the_slow_twin(kernel, kernel_y):
    """The largest singular values of (K + r)^(−½) K^½ L^½ (L + s)^(−½), by eigenvalues."""
    roots = []
    for k, rows in ((kernel, X), (kernel_y, Y)):
        K = naive.centered(naive.matrix(k, rows))
        s, V = eigh(K)
        roots.append(V * np.sqrt(np.maximum(s, 0) / (np.maximum(s, 0) + 0.01 * np.trace(K))) @ V.T)
    wanted = np.linalg.svd(roots[0] @ roots[1], compute_uv=False)[:3]
    model = KernelCCA(3, kernel=kernel, kernel_y=kernel_y, lam=0.01).fit(X, Y)
    np.testing.assert_allclose(model.correlations_, wanted, atol=1e-7)


@pytest.mark.parametrize(("kernel", "kernel_y"), PAIRS.values(), ids=PAIRS.keys())
def test_functions_are_white_in_their_forms_and_correlated_in_pairs(kernel, kernel_y):
    model = KernelCCA(3, kernel=kernel, kernel_y=kernel_y, lam=0.01).fit(X, Y)
    U, V = model.transform(X, Y)
    np.testing.assert_allclose(U.mean(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(U.T @ V / 79, np.diag(model.correlations_), atol=1e-8)
    K = naive.centered(naive.matrix(kernel, X))
    A = model.dual_coef_x_
    penalty = 0.01 * np.trace(K) / 79 * A.T @ K @ A
    np.testing.assert_allclose(np.cov(U.T) + penalty, np.eye(3), atol=1e-8)


def test_the_scale_of_the_kernels_does_not_matter():
    one = KernelCCA(2, kernel=RBF(gamma=0.3)).fit(X, Y)
    other = KernelCCA(2, kernel=1e6 * RBF(gamma=0.3), kernel_y=1e-6 * RBF(gamma=0.3)).fit(X, Y)
    np.testing.assert_allclose(other.correlations_, one.correlations_, rtol=1e-10)
    np.testing.assert_allclose(other.transform(NEW), one.transform(NEW), atol=1e-7)


@pytest.mark.parametrize("shape", [(90, 60), (60, 90)])
def test_iterations_give_what_the_whole_decomposition_gives(shape):
    M = table(*shape)
    P, sizes, Q = leading_singular(M, 3, small=10)
    np.testing.assert_allclose(sizes, np.linalg.svd(M, compute_uv=False)[:3], rtol=1e-9)
    np.testing.assert_allclose(P.T @ M @ Q, np.diag(sizes), atol=1e-8)
    np.testing.assert_allclose(P.T @ P, np.eye(3), atol=1e-8)


# ---------------------------------------------------------------- planted structure
def test_planted_functions_are_found_and_hold_on_new_rows():
    model = KernelCCA(2).fit(*angles(200))
    assert model.score(*angles(200, seed=1)) > 0.97
    assert CCA(2).fit(*angles(200)).score(*angles(200, seed=1)) < 0.8


def test_without_a_ridge_every_correlation_is_one_and_means_nothing():
    x, y = table(60, 3), table(60, 3, seed=1)  # independent
    free, ridge = KernelCCA(lam=1e-6).fit(x, y), KernelCCA(lam=0.1).fit(x, y)
    np.testing.assert_allclose(free.correlations_, 1.0, atol=1e-3)
    assert abs(free.score(table(200, 3, seed=2), table(200, 3, seed=3))) < 0.3
    assert ridge.correlations_.max() < 0.5


def test_lam_can_be_chosen_by_held_out_correlation():
    x, y = angles(80)
    search = GridSearchCV(KernelCCA(1), {"lam": [1e-6, 1e-3, 10.0]}, cv=3).fit(x, y)
    assert search.best_params_ == {"lam": 1e-3}


# ---------------------------------------------------------------- kinds of rows
def test_words_on_both_sides():
    words = [*WORDS, "support", "vector", "machine"]
    kernel = FromFunction(shared_letters, definiteness="psd")
    model = KernelCCA(1, kernel=kernel, lam=0.1).fit(words, [w[::-1] for w in words])
    U, V = model.transform(["new", "words"], ["wen", "sdrow"])
    np.testing.assert_allclose(U, V, atol=1e-9)  # the kernel does not see the order of letters


def test_precomputed_matrices_on_both_sides():
    k, k_y = RBF(gamma=0.3), RBF(gamma=0.2)
    direct = KernelCCA(2, kernel=k, kernel_y=k_y).fit(X, Y)
    given = KernelCCA(2, kernel="precomputed", kernel_y="precomputed").fit(k(X), k_y(Y))
    for a, b in zip(
        given.transform(k(NEW, X), k_y(NEW_Y, Y)), direct.transform(NEW, NEW_Y), strict=True
    ):
        np.testing.assert_allclose(a, b, atol=1e-9)


def test_sparse_tables_on_both_sides():
    x, y = sparse_table(40, 6), sparse_table(40, 5, seed=3)
    sparse = KernelCCA(2).fit(x, y).transform(x, y)
    dense = KernelCCA(2).fit(x.toarray(), y.toarray()).transform(x.toarray(), y.toarray())
    for a, b in zip(sparse, dense, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-8)


def test_one_target_is_one_column():
    flat, column = KernelCCA(2).fit(X, Y[:, 0]), KernelCCA(2).fit(X, Y[:, :1])
    np.testing.assert_array_equal(flat.transform(X), column.transform(X))


def test_it_is_a_step_of_a_pipeline():
    x, y = angles(100)
    pipeline = make_pipeline(KernelCCA(2, kernel_y="linear"), KernelRidge("linear", lam=0.1))
    assert pipeline.fit(x, y[:, 0]).score(x, y[:, 0]) > 0.9


# ---------------------------------------------------------------- degenerate samples
def test_a_constant_side_has_no_correlation():
    model = KernelCCA().fit(X, np.ones(80))
    assert model.transform(X).shape == (80, 0)
    assert model.score(X, np.ones(80)) == 0.0


def test_duplicated_rows():
    model = KernelCCA().fit(np.vstack([X[:20]] * 3), np.vstack([Y[:20]] * 3))
    assert model.certificate_.ok
    assert model.certificate_.rank_x <= 20


@pytest.mark.parametrize("offset", [1e2, 1e3])
def test_a_large_mean_that_comes_off_the_kernel(offset):
    got = KernelCCA(2, kernel="linear").fit(X + offset, Y)
    wanted = KernelCCA(2, kernel="linear").fit(X, Y)
    np.testing.assert_allclose(got.correlations_, wanted.correlations_, atol=1e-6)
    assert got.certificate_.ok


def test_an_indefinite_kernel_is_reported():
    with pytest.warns(ConvergenceWarning, match="not positive semidefinite"):
        model = KernelCCA(kernel=Sigmoid(scale=2.0, bias=-1.0), kernel_y="rbf").fit(X, Y)
    assert model.status_ == "indefinite"


def test_bad_input():
    refuses(lambda: KernelCCA(lam=0.0).fit(X, Y), ValueError, "'lam' parameter")
    refuses(lambda: KernelCCA().fit(X, None), ValueError, "requires y to be passed")
    refuses(lambda: KernelCCA().fit(X, Y[:5]), ValueError, "inconsistent numbers of samples")
    refuses(lambda: KernelCCA().fit(X, ["a"] * 80), TypeError, "y must be a table of numbers")
    refuses(lambda: KernelCCA().fit(X[:1], Y[:1]), ValueError, "minimum of 2")
    refuses(lambda: KernelCCA().fit(X, Y).transform(X, Y[:5]), ValueError, "as many rows as X, 80")
    refuses(lambda: KernelCCA(memory="10kB").fit(X, Y), MemoryError, "two matrices of 80 × 80")


def test_room_is_asked_for_by_the_ranks_that_are_found():
    n, rng = 150, np.random.default_rng(0)
    wide, other, few = rng.normal(size=(n, 30)), rng.normal(size=(n, 30)), rng.normal(size=(n, 1))
    budget = 5 * 8 * n * n
    assert KernelCCA(kernel_y="linear", memory=budget).fit(wide, few).certificate_.ok
    refuses(lambda: KernelCCA(memory=budget).fit(wide, other), MemoryError, "two matrices of 150")
