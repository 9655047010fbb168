"""Pre-images: the way back from feature space, and what it is good for."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from mercer import KernelPCA, feature_distance
from mercer.kernels import RBF, FromFeatureMap, Laplacian, Linear, Polynomial
from mercer.spectral._preimage import by_regression
from tests.cases import WORDS, letter_counts, sparse_table, table

X, NEW = table(60, 3), table(9, 3, seed=1)


def circle(n: int = 120, noise: float = 0.0, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, n)
    return np.column_stack([np.cos(angle), np.sin(angle)]) + noise * rng.normal(size=(n, 2))


def squared_distance_to_projection(model, rows, Z):
    """‖φ(x) − Pφ‖² written out with the coefficients of the projection."""
    D = model.eigenvectors_ / np.sqrt(model.eigenvalues_)
    C = Z @ D.T
    C += (1.0 - C.sum(axis=1, keepdims=True)) / C.shape[1]
    K = model.kernel_(model.X_fit_)
    cross = model.kernel_(rows, model.X_fit_)
    return 1.0 - 2.0 * np.sum(C * cross, axis=1) + np.einsum("ij,jk,ik->i", C, K, C)


@pytest.mark.parametrize("rows", [X, sparse_table(40, 5)], ids=["dense", "CSR"])
def test_of_the_linear_kernel_they_are_exact(rows):
    model = KernelPCA(kernel=Linear(), n_components=2).fit(rows)
    dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
    mean = dense.mean(axis=0)
    _, _, Vt = np.linalg.svd(dense - mean, full_matrices=False)
    wanted = mean + (dense - mean) @ Vt[:2].T @ Vt[:2]
    np.testing.assert_allclose(model.inverse_transform(model.transform(rows)), wanted, atol=1e-10)


@pytest.mark.parametrize("method", ["fixed_point", "distances"])
def test_with_all_components_the_training_points_come_back(method):
    model = KernelPCA(kernel=RBF(gamma=0.3), preimage=method).fit(X)
    back = model.inverse_transform(model.transform(X))
    np.testing.assert_allclose(back, X, atol=1e-5)


def test_a_fixed_point_is_stationary_and_never_farther_than_its_start():
    model = KernelPCA(n_components=3, kernel=RBF(gamma=0.3)).fit(X)
    Z = model.transform(NEW)
    found = model.inverse_transform(Z)
    height = squared_distance_to_projection(model, found, Z)
    scores = model.fit_transform(X)
    nearest = X[((Z[:, None] - scores) ** 2).sum(axis=2).argmin(axis=1)]
    assert np.all(height <= squared_distance_to_projection(model, nearest, Z) + 1e-12)
    for direction in np.eye(3):
        ahead = squared_distance_to_projection(model, found + 1e-4 * direction, Z)
        behind = squared_distance_to_projection(model, found - 1e-4 * direction, Z)
        np.testing.assert_allclose((ahead - behind) / 2e-4, 0.0, atol=1e-5)


# two components turn about the circle; four of them tell the radius as well, which a regression
# learns with its noise, while the nearest features have none
@pytest.mark.parametrize(("method", "k"), [("fixed_point", 4), ("distances", 4), ("ridge", 2)])
def test_denoising_brings_points_back_to_the_curve_they_lie_about(method, k):
    noisy = circle(noise=0.15)
    model = KernelPCA(n_components=k, kernel=RBF(gamma=1.0), preimage=method).fit(noisy)
    clean = model.inverse_transform(model.transform(noisy))
    off = [np.abs(np.linalg.norm(rows, axis=1) - 1.0).mean() for rows in (noisy, clean)]
    assert off[1] < 0.75 * off[0]


def test_digits_are_denoised_better_than_by_pca():
    digits = load_digits().data[:700] / 16.0
    noisy = digits + 0.3 * np.random.default_rng(0).normal(size=digits.shape)

    def error(kernel, k):
        model = KernelPCA(n_components=k, kernel=kernel).fit(noisy[:600])
        back = model.inverse_transform(model.transform(noisy[600:]))
        return np.mean((back - digits[600:]) ** 2)

    assert error(RBF(gamma=0.1), 32) < 0.8 * min(error(Linear(), k) for k in (6, 8, 12, 16, 24))


@pytest.mark.parametrize("kernel", [Polynomial(degree=2), Laplacian(gamma=0.5)], ids=repr)
def test_other_kernels_learn_the_way_back(kernel):
    model = KernelPCA(kernel=kernel).fit(X)
    back = model.inverse_transform(model.transform(X))
    assert np.mean((back - X) ** 2) < 0.05 * np.mean(X**2)


def test_many_points_choose_the_penalty_on_some_and_fit_on_all():
    rows = circle(500, noise=0.05)
    model = KernelPCA(n_components=4, kernel=RBF(gamma=1.0)).fit(rows)
    back = by_regression(model._feature_points(model.transform(rows)), loo_up_to=200)
    assert np.sqrt(np.mean((back - rows) ** 2)) < 0.1


def test_single_precision_comes_back_in_single_precision():
    model = KernelPCA(n_components=3, kernel=RBF(gamma=0.3)).fit(X.astype(np.float32))
    Z = model.transform(X.astype(np.float32))
    assert model.inverse_transform(Z).dtype == np.float32


def test_the_reconstruction_error_is_the_distance_to_the_components():
    model = KernelPCA(n_components=4, kernel=RBF(gamma=0.3)).fit(X)
    everything = KernelPCA(kernel=RBF(gamma=0.3)).fit(X)
    discarded = everything.eigenvalues_[4:].sum()
    np.testing.assert_allclose(model.reconstruction_error(X).sum(), discarded, rtol=1e-10)
    centred = mean_distances(model, NEW) - (model.transform(NEW) ** 2).sum(axis=1)
    np.testing.assert_allclose(model.reconstruction_error(NEW), centred, atol=1e-12)


def mean_distances(model, rows):
    """‖φ(x) − mean‖² by pairs of distances: mean d²(x, xᵢ) − ½ mean d²(xᵢ, xⱼ)."""
    to_train = feature_distance(model.kernel_, rows, model.X_fit_, squared=True)
    among = feature_distance(model.kernel_, model.X_fit_, squared=True)
    return to_train.mean(axis=1) - among.mean() / 2.0


# ---------------------------------------------------------------- bad input
@pytest.mark.parametrize("method", ["fixed_point", "distances"])
def test_methods_of_the_gaussian_kernel_say_so(method):
    model = KernelPCA(n_components=2, kernel=Laplacian(), preimage=method).fit(X)
    with pytest.raises(ValueError, match=r"needs the Gaussian kernel.*Laplacian.*'ridge'"):
        model.inverse_transform(model.transform(X))


def test_objects_have_no_preimages():
    model = KernelPCA(n_components=2, kernel=FromFeatureMap(letter_counts)).fit(WORDS)
    with pytest.raises(ValueError, match="pre-images are rows of numbers"):
        model.inverse_transform(np.zeros((1, 2)))


def test_the_wrong_number_of_scores_is_named():
    model = KernelPCA(n_components=2, kernel="linear").fit(X)
    with pytest.raises(ValueError, match=r"X must have 2 columns.*got 3"):
        model.inverse_transform(np.zeros((1, 3)))


def test_an_unknown_method_is_named():
    with pytest.raises(ValueError, match="'preimage' parameter of KernelPCA"):
        KernelPCA(preimage="magic").fit(X)
