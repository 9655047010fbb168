"""The kernel Fisher discriminant: LDA for a linear kernel, its quotient, rings, its proof."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh, subspace_angles
from sklearn.datasets import load_iris, make_circles
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import LDA, KernelFDA
from mercer.kernels import RBF, FromFeatureMap, FromFunction, Laplacian, Polynomial, Sigmoid
from tests import naive
from tests.cases import WORDS, letter_counts, shared_letters, table
from tests.compare import refuses

X, Y = load_iris(return_X_y=True)
LABELS = np.array(["setosa", "versicolor", "virginica"])[Y]


@parametrize_with_checks([KernelFDA(n_components=2), KernelFDA(kernel="laplacian")])
def test_scikit_learn_has_no_objection(estimator, check):
    check(estimator)


def forms(kernel, rows, y, lam):
    """Return S_b and S_w + ρI on coefficients α, by their definitions (n × n)."""
    K = naive.centered(naive.matrix(kernel, rows))
    n = len(rows)
    same = (y[:, None] == y) / (y[:, None] == y).sum(axis=1)
    between, rest = K @ same @ K / n, K @ (np.eye(n) - same) @ K / n
    return between, rest + lam * np.trace(K) / n * K


# ---------------------------------------------------------------- linear kernel = LDA
@pytest.mark.parametrize("lam", [1e-3, 1e-5, 1e-7, 1e-9])
def test_with_a_linear_kernel_it_comes_to_lda_as_lam_vanishes(lam):
    model, lda = KernelFDA(kernel="linear", lam=lam).fit(X, Y), LDA().fit(X, Y)
    angles = subspace_angles(X.T @ model.dual_coef_, lda.scalings_)
    assert angles.max() < 100 * lam  # the distance is of first order
    np.testing.assert_allclose(model.eigenvalues_, lda.eigenvalues_, rtol=100 * lam)
    np.testing.assert_allclose(model.predict_proba(X), lda.predict_proba(X), atol=100 * lam)
    np.testing.assert_allclose(
        np.abs(model.transform(X)), np.abs(lda.transform(X)), rtol=0, atol=1e3 * lam
    )
    assert model.certificate_.ok


def test_with_an_explicit_map_it_is_lda_of_the_features():
    words = [*WORDS, "support", "vector", "machine", "lemma", "theorem", "proof", "norm", "dual"]
    y = np.array([len(word) > 5 for word in words])
    model = KernelFDA(kernel=FromFeatureMap(letter_counts), lam=0.01).fit(words, y)
    counts = np.array([letter_counts(word) for word in words], dtype=np.float64)
    wanted = KernelFDA(kernel="linear", lam=0.01).fit(counts, y)
    np.testing.assert_allclose(model.transform(words), wanted.transform(counts), atol=1e-10)


# ---------------------------------------------------------------- the quotient
KERNELS = [RBF(gamma=0.5), Laplacian(gamma=0.3), Polynomial(degree=2, scale=0.1)]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


@every_kernel
def test_the_functions_solve_the_eigenproblem_of_size_n(kernel):
    rows, y = X[::3] / 2, Y[::3]
    model = KernelFDA(kernel=kernel, lam=0.01).fit(rows, y)
    between, within = forms(kernel, rows, y, 0.01)
    A = model.dual_coef_
    np.testing.assert_allclose(A.T @ within @ A, np.eye(2), atol=1e-9)
    np.testing.assert_allclose(A.T @ between @ A, np.diag(model.eigenvalues_), atol=1e-8)
    # the slow twin: a pencil of size n, made definite by a speck
    speck = 1e-11 * np.trace(within) / len(rows) * np.eye(len(rows))
    values = eigh(between, within + speck, eigvals_only=True)[::-1][:2]
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-4)


@every_kernel
def test_no_function_has_a_larger_quotient(kernel):
    rows, y = X[::3] / 2, Y[::3]
    best = KernelFDA(kernel=kernel, lam=0.01).fit(rows, y)
    between, within = forms(kernel, rows, y, 0.01)
    a = np.random.default_rng(0).normal(size=(len(rows), 500))
    near = best.dual_coef_[:, :1] * (1.0 + 0.01 * a)
    for trial in (a, near):
        quotient = np.sum(trial * (between @ trial), 0) / np.sum(trial * (within @ trial), 0)
        assert quotient.max() <= best.eigenvalues_[0] * (1 + 1e-9)


def test_the_scale_of_the_kernel_does_not_matter():
    one = KernelFDA(kernel=RBF(gamma=0.5)).fit(X, Y)
    other = KernelFDA(kernel=1e4 * RBF(gamma=0.5)).fit(X, Y)
    np.testing.assert_allclose(other.transform(X), one.transform(X), atol=1e-8)
    np.testing.assert_allclose(other.eigenvalues_, one.eigenvalues_, rtol=1e-10)


# ---------------------------------------------------------------- classification
def test_rings_are_told_apart_where_lda_cannot():
    rows, y = make_circles(400, factor=0.5, noise=0.08, random_state=0)
    model = KernelFDA().fit(rows[:200], y[:200])
    assert model.score(rows[200:], y[200:]) == 1.0
    assert LDA().fit(rows[:200], y[:200]).score(rows[200:], y[200:]) < 0.65
    scores = model.transform(rows[200:])[:, 0]
    assert scores[y[200:] == 0].min() > scores[y[200:] == 1].max() or (
        scores[y[200:] == 0].max() < scores[y[200:] == 1].min()
    )


def test_the_classifier_is_the_nearest_mean_with_priors():
    model = KernelFDA().fit(X[30:], LABELS[30:])
    scores = model.transform(X)
    means = np.array([scores[30:][LABELS[30:] == c].mean(axis=0) for c in model.classes_])
    np.testing.assert_allclose(model.class_scores_, means, atol=1e-10)
    np.testing.assert_allclose(model.priors_, [20 / 120, 50 / 120, 50 / 120])
    odds = np.log(model.priors_) - 0.5 * ((scores[:, None] - means) ** 2).sum(axis=2)
    wanted = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), wanted, atol=1e-10)
    np.testing.assert_array_equal(model.predict(X), model.classes_[odds.argmax(axis=1)])


def test_training_scores_are_centred_and_shrunk_within_classes():
    scores = KernelFDA(lam=0.1).fit_transform(X, Y)
    np.testing.assert_allclose(scores.mean(axis=0), 0.0, atol=1e-11)
    means = np.array([scores[code == Y].mean(axis=0) for code in range(3)])
    rest = scores - means[Y]
    variance = np.linalg.eigvalsh(rest.T @ rest / len(rest))
    assert variance.min() > 0
    assert variance.max() < 1.0  # the rest of 1 is ρ‖f‖²


def test_it_generalises():
    assert cross_val_score(KernelFDA(), X, LABELS).mean() > 0.93


def test_at_most_one_component_less_than_classes():
    assert KernelFDA(7).fit(X, Y).transform(X).shape == (150, 2)
    model = KernelFDA(1).fit(X, Y)
    assert model.transform(X).shape == (150, 1)
    full = KernelFDA().fit(X, Y)
    assert model.certificate_.discarded == pytest.approx(full.explained_variance_ratio_[1])
    np.testing.assert_allclose(model.transform(X), full.transform(X)[:, :1], atol=1e-10)


def test_words_can_be_classified():
    words = ["aaa", "aab", "aba", "baa", "xyz", "xxz", "zyx", "yyz"]
    y = ["a"] * 4 + ["z"] * 4
    model = KernelFDA(kernel=FromFunction(shared_letters, definiteness="psd")).fit(words, y)
    np.testing.assert_array_equal(model.predict(["abba", "zzz"]), ["a", "z"])


# ---------------------------------------------------------------- routes and degenerate samples
def test_without_room_for_a_factor_conjugate_gradients_give_the_same():
    rows, y = table(300, 3), np.arange(300) % 3
    rows[:, 0] += y
    wanted = KernelFDA().fit(rows, y)
    model = KernelFDA(memory="100kB").fit(rows, y)
    assert model.certificate_.ok
    assert model.certificate_.storage == "cached"
    np.testing.assert_allclose(model.transform(rows), wanted.transform(rows), atol=1e-6)


@pytest.mark.parametrize("offset", [1e2, 1e3])
def test_a_large_mean_that_comes_off_the_kernel_does_not_spoil_the_proof(offset):
    model = KernelFDA(kernel="linear").fit(X + offset, Y)
    assert model.certificate_.ok
    wanted = KernelFDA(kernel="linear").fit(X, Y).transform(X)
    np.testing.assert_allclose(model.transform(X + offset), wanted, atol=1e-5)


def test_duplicated_rows_within_classes():
    rows, y = np.repeat(np.eye(2), 4, axis=0), np.repeat(["a", "b"], 4)
    model = KernelFDA().fit(rows, y)
    assert model.certificate_.ok
    np.testing.assert_array_equal(model.predict(rows), y)


def test_an_indefinite_kernel_is_reported():
    with pytest.warns(ConvergenceWarning, match="not positive semidefinite"):
        model = KernelFDA(kernel=Sigmoid(scale=2.0, bias=-1.0), lam=1e-6).fit(table(30, 3), Y[::5])
    assert model.status_ == "indefinite"


def test_bad_input():
    refuses(lambda: KernelFDA(lam=0.0).fit(X, Y), ValueError, "'lam' parameter")
    refuses(lambda: KernelFDA(0).fit(X, Y), ValueError, "'n_components' parameter")
    refuses(lambda: KernelFDA().fit(X, np.ones(150)), ValueError, "at least two classes")
    refuses(lambda: KernelFDA().fit(np.ones((6, 2)), [0, 1] * 3), ValueError, "rows that differ")
    refuses(lambda: KernelFDA(kernel="cubic").fit(X, Y), ValueError, "kernel")
    refuses(lambda: KernelFDA().fit(X, Y).transform(X[:, :2]), ValueError, "2 features")
