"""Random Fourier features: right in expectation, length one, an error like 1/√D."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import RBFSampler

from mercer import RandomFourier
from mercer.kernels import RBF, Exponential, Laplacian, Linear
from mercer.maps import fourier
from tests.cases import SAMPLES, sparse_table, table
from tests.compare import refuses

X = table(30, 4)
ACCEPTED = [RBF(gamma=0.2), Exponential(gamma=0.4), Laplacian(gamma=0.2)]
every_kernel = pytest.mark.parametrize("kernel", ACCEPTED, ids=repr)
either = pytest.mark.parametrize("orthogonal", [True, False])


def rms_errors(model, kernel, seeds=20):
    """Return the root of the mean squared error over pairs, for several draws."""
    K = kernel(X)
    features = (model.set_params(random_state=s).fit_transform(X) for s in range(seeds))
    return np.array([np.sqrt(np.mean((F @ F.T - K) ** 2)) for F in features])


@every_kernel
@either
def test_inner_products_are_the_kernel_in_expectation(kernel, orthogonal):
    model = RandomFourier(20, kernel=kernel, orthogonal=orthogonal)
    products = [
        (lambda F: F @ F.T)(model.set_params(random_state=s).fit_transform(X[:6]))
        for s in range(400)
    ]
    error = np.std(products, axis=0) / 400**0.5
    assert np.all(np.abs(np.mean(products, axis=0) - kernel(X[:6])) < 5 * error + 1e-12)


@every_kernel
@either
def test_the_error_falls_like_one_over_the_root_of_the_columns(kernel, orthogonal):
    model = RandomFourier(kernel=kernel, orthogonal=orthogonal)
    few = rms_errors(model.set_params(n_components=64), kernel).mean()
    many = rms_errors(model.set_params(n_components=1024), kernel).mean()
    assert 3.0 < few / many < 5.3  # √16 = 4


def test_orthogonal_frequencies_are_better_and_both_beat_one_cosine_each():
    kernel = RBF(gamma=0.2)
    K = kernel(X)
    own, plain = (
        rms_errors(RandomFourier(100, kernel=kernel, orthogonal=o), kernel) for o in (True, False)
    )
    theirs = [
        np.sqrt(np.mean((F @ F.T - K) ** 2))
        for F in (
            RBFSampler(gamma=0.2, n_components=100, random_state=s).fit_transform(X)
            for s in range(20)
        )
    ]
    assert own.mean() < 0.9 * plain.mean()
    assert plain.mean() < np.mean(theirs)


@every_kernel
def test_features_have_length_one(kernel):
    F = RandomFourier(50, kernel=kernel, random_state=0).fit_transform(X)
    np.testing.assert_allclose((F**2).sum(axis=1), 1.0, atol=1e-14)


def test_frequencies_are_orthogonal_in_blocks():
    W = RandomFourier(24, kernel=RBF(gamma=0.2), random_state=0).fit(X).frequencies_
    for block in (W[:4], W[4:8], W[8:]):
        gram = block @ block.T
        np.testing.assert_allclose(gram, np.diag(np.diagonal(gram)), atol=1e-12)


# ---------------------------------------------------------------- the proof
@every_kernel
def test_the_error_is_measured_against_what_was_promised(kernel):
    model = RandomFourier(200, kernel=kernel, random_state=0)
    F = model.fit_transform(X)
    proof, error = model.certificate_, np.abs(F @ F.T - kernel(X))
    assert proof.largest_error == pytest.approx(error.max())
    pairs = error[np.triu_indices(30, 1)]
    assert proof.rms_error == pytest.approx(np.sqrt(np.mean(pairs**2)), rel=1e-6)
    # Hoeffding: 2 exp(−h t²/2) for each of the pairs
    assert 2 * 435 * np.exp(-100 * proof.promised**2 / 2) == pytest.approx(1e-6)
    assert proof.ok


def test_a_broken_promise_is_admitted(monkeypatch):
    monkeypatch.setitem(fourier.DRAWS, RBF, lambda gamma, h, d, *_: np.zeros((h, d)))
    with pytest.warns(ConvergenceWarning, match="off by more than was promised"):
        RandomFourier(4000, kernel=RBF(gamma=1.0)).fit(X)


# ---------------------------------------------------------------- rows of many kinds
@pytest.mark.parametrize("rows", SAMPLES.values(), ids=SAMPLES.keys())
def test_every_kind_of_rows(rows):
    model = RandomFourier(30, random_state=0).fit(rows)
    F = model.transform(rows)
    assert F.shape == (rows.shape[0], 30)
    assert F.dtype == rows.dtype
    assert model.certificate_.ok


def test_tiles_in_threads_give_the_same():
    model = RandomFourier(40, random_state=0).fit(X)
    whole = model.transform(X)
    np.testing.assert_allclose(model._features(X, tile=60, workers=2), whole, atol=1e-14)
    rows = sparse_table(30, 4)
    np.testing.assert_allclose(model.transform(rows), model.transform(rows.toarray()), atol=1e-14)


def test_an_odd_number_of_columns_is_rounded_up():
    model = RandomFourier(7, random_state=0)
    assert model.fit_transform(X).shape == (30, 8)
    assert len(model.get_feature_names_out()) == 8


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_the_unit_does_not_matter_if_gamma_follows(scale):
    one, other = (RandomFourier(20, random_state=0).fit_transform(s * X) for s in (1.0, scale))
    np.testing.assert_allclose(other, one, atol=1e-10)


def test_bad_parameters():
    message = "kernel must be one of Exponential, Laplacian, RBF"
    refuses(lambda: RandomFourier(kernel="linear").fit(X), ValueError, message)
    refuses(lambda: RandomFourier(kernel=RBF() + Linear()).fit(X), ValueError, message)
    refuses(lambda: RandomFourier(0).fit(X), ValueError, "'n_components' parameter")
    small = RandomFourier(1000, memory="1MB").fit(X)
    refuses(lambda: small.transform(table(200, 4)), ValueError, "200 rows take 1.6 MB")
