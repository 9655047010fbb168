"""The Fisher kernel: scores are gradients, the information is what whitens them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone

from mercer import GMM, SVC, KernelPCA, KernelRidge, check_kernel, load, save, tune
from mercer.kernels import RBF, Fisher

RNG = np.random.default_rng(0)
X = np.vstack([RNG.normal(size=(40, 2)), 3.0 + RNG.normal(size=(30, 2)) * [1.0, 2.0]])
FAMILIES = ["full", "tied", "diagonal", "spherical"]
every_family = pytest.mark.parametrize("covariance", FAMILIES)
every_information = pytest.mark.parametrize("information", ["diagonal", "full", "identity"])


def mixture(covariance="full"):
    return GMM(2, covariance=covariance, random_state=0).fit(X)


def matrices(free, covariance, k, d):
    """Return the k matrices that a family makes of its free numbers."""
    if covariance in ("diagonal", "spherical"):
        variances = np.broadcast_to(free.reshape(k, -1), (k, d))
        return [np.diag(v) for v in variances]
    found = []
    for triangle in free.reshape(-1, d * (d + 1) // 2):
        matrix = np.zeros((d, d))
        matrix[np.tril_indices(d)] = triangle
        found.append(matrix + np.tril(matrix, -1).T)
    return found * (k // len(found))


def log_density(parameters, covariance, k, d, x):
    logits, means, free = np.split(parameters, [k, k + k * d])
    weights = np.exp(logits) / np.exp(logits).sum()
    parts = zip(weights, means.reshape(k, d), matrices(free, covariance, k, d), strict=True)
    return np.log(sum(w * multivariate_normal(m, S).pdf(x) for w, m, S in parts))


def parameters_of(model):
    free = model.covariances_
    if model.covariance in ("full", "tied"):
        i, j = np.tril_indices(2)
        free = free[..., i, j]
    return np.concatenate([np.log(model.weights_), model.means_.ravel(), np.ravel(free)])


@every_family
def test_scores_are_numerical_gradients(covariance):
    model = mixture(covariance)
    at = parameters_of(model)
    scores = model.score_vectors(X[:5])
    assert scores.shape == (5, len(at))
    for p in range(len(at)):
        step = np.zeros(len(at))
        step[p] = 1e-5
        for x, score in zip(X[:5], scores, strict=True):
            up, down = (log_density(at + s * step, covariance, 2, 2, x) for s in (1, -1))
            assert score[p] == pytest.approx((up - down) / 2e-5, rel=1e-5, abs=1e-7)


def test_scores_vanish_on_average_at_the_maximum():
    model = GMM(2, random_state=0, tol=1e-12, max_iter=5000).fit(X)
    np.testing.assert_allclose(model.score_vectors(X).mean(axis=0), 0.0, atol=1e-3)


def test_the_diagonal_information_gives_columns_of_size_one():
    model = mixture()
    features = Fisher(model).bind(X).features(X)
    np.testing.assert_allclose((features**2).mean(axis=0), 1.0)


def test_the_full_information_whitens():
    features = Fisher(mixture(), information="full").bind(X).features(X)
    identity = features.T @ features / len(X)
    np.testing.assert_allclose(identity, np.eye(len(identity)), atol=1e-9)
    assert features.shape[1] == 2 + 4 + 6 - 1  # weights sum to one


def test_the_full_kernel_does_not_depend_on_the_parameters_that_are_chosen():
    model = mixture()
    turn = RNG.normal(size=(12, 12))

    class Turned:
        def score_vectors(self, rows):
            return model.score_vectors(rows) @ turn

    wanted = Fisher(model, information="full")(X)
    np.testing.assert_allclose(Fisher(Turned(), information="full")(X), wanted, atol=1e-6)


@every_information
def test_it_is_positive_semidefinite_and_a_product_of_scores(information):
    kernel = Fisher(mixture(), information)
    assert kernel.definiteness == "psd"
    assert check_kernel(kernel, X).ok
    bound = kernel.bind(X)
    features = bound.features(X)
    np.testing.assert_allclose(bound(X[:3], X), features[:3] @ features.T, rtol=1e-9, atol=1e-9)


def test_an_identity_leaves_scores_alone():
    U = mixture().score_vectors(X)
    np.testing.assert_allclose(Fisher(mixture(), "identity")(X), U @ U.T, rtol=1e-9, atol=1e-9)


def test_a_model_that_is_not_fitted_is_fitted_to_the_training_rows():
    model = GMM(2, random_state=0)
    np.testing.assert_array_equal(Fisher(model)(X), Fisher(mixture())(X))
    assert not hasattr(model, "means_")


def test_weights_are_counts():
    weights = np.r_[np.full(40, 2.0), np.ones(30)]
    repeated = np.vstack([X[:40], X])
    for information in ("diagonal", "full"):
        weighted = Fisher(mixture(), information).bind(X, weights)
        np.testing.assert_allclose(
            weighted(X), Fisher(mixture(), information).bind(repeated)(X), rtol=1e-6, atol=1e-6
        )


def test_a_clone_keeps_the_fitted_model():
    kernel = Fisher(mixture())
    assert clone(kernel) == kernel
    assert clone(SVC(kernel)).kernel == kernel


def test_machines_take_it(tmp_path):
    y = (np.arange(len(X)) >= 40).astype(float)
    model = SVC(Fisher(GMM(2, random_state=0)).normalized()).fit(X, y)
    assert model.score(X, y) > 0.9
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(
        load(tmp_path / "model").decision_function(X), model.decision_function(X)
    )
    KernelPCA(kernel=Fisher(mixture()), n_components=2).fit(X)
    assert KernelRidge(Fisher(mixture()) + RBF()).fit(X, y).score(X, y) > 0.5


def test_a_model_without_scores_is_refused():
    with pytest.raises(TypeError, match=r"model must have score_vectors\(X\), as GMM has; got SVC"):
        Fisher(SVC())(X)


def test_a_search_compares_both_kinds_of_information():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    X[y == 1] *= 3.0
    found = tune(SVC(Fisher(GMM(2, random_state=0))), X, y, cv=3, random_state=0)
    assert {p["kernel__information"] for p in found.cv_results_["params"]} == {"diagonal", "full"}
    on_one = Fisher(GMM(2, random_state=0)).on("a")
    K = on_one(pd.DataFrame({"a": X[:, 0], "b": X[:, 1]}))
    np.testing.assert_allclose(K, Fisher(GMM(2, random_state=0))(X[:, :1]), rtol=1e-9)
