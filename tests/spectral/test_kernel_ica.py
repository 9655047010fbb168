"""Kernel ICA: it separates what the kurtosis cannot; J and its derivatives are their formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from mercer import ICA, KernelICA
from mercer.kernels import RBF
from mercer.spectral._rotations import random_rotation, turn
from mercer.spectral.kernel_ica import LEFT_OUT, KernelContrast, Pivots
from tests.cases import SAMPLES, table
from tests.compare import refuses
from tests.naive import amari_index


def two_bumps(rng, n, k):
    """Two narrow bumps of unequal weight w, 1 − w, with w chosen so that the kurtosis is 0."""
    # ±1 with probabilities w, 1 − w has the fourth cumulant 16 w(1 − w)(1 − 6w(1 − w)): 0 if
    # w(1 − w) = 1/6, and a Gaussian added to it changes no cumulant beyond the second
    w = 0.5 - np.sqrt(1.0 / 12.0)
    return np.where(rng.random((n, k)) < w, -1.0, 1.0) + 0.2 * rng.normal(size=(n, k))


def mixed(sources, n=600, k=3, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(k, k))
    return sources(rng, n, k) @ A.T, A


# ---------------------------------------------------------------- sources
SOURCES = {
    "uniform": lambda rng, n, k: rng.uniform(-1, 1, size=(n, k)),
    "Laplacian": lambda rng, n, k: rng.laplace(size=(n, k)),
    "no kurtosis": two_bumps,
}


@pytest.mark.parametrize("sources", SOURCES.values(), ids=SOURCES.keys())
def test_mixed_sources_are_recovered(sources):
    X, A = mixed(sources, n=1000)
    model = KernelICA(random_state=0).fit(X)
    assert amari_index(model.components_, A) < 0.05
    assert model.certificate_.ok


def test_sources_without_kurtosis_are_separated_where_the_kurtosis_is_blind():
    X, A = mixed(two_bumps, n=1500)
    by_kurtosis = ICA(contrast="kurtosis", n_init=3, random_state=0).fit(X)
    by_kernel = KernelICA(random_state=0).fit(X)
    assert amari_index(by_kurtosis.components_, A) > 0.2
    assert amari_index(by_kernel.components_, A) < 0.03


def test_dependence_is_less_than_at_any_other_rotation_tried():
    X, _ = mixed(two_bumps, n=300)
    model = KernelICA(random_state=0).fit(X)
    S = model.transform(X).T
    contrast = KernelContrast(S, 0.5, 0.01, around=np.eye(3))
    rng = np.random.RandomState(1)
    others = [contrast.at(random_rotation(3, rng)).value for _ in range(20)]
    assert model.contrast_ < min(others)
    assert model.contrast_ == pytest.approx(contrast.at(np.eye(3)).value)


def test_scores_are_white_and_come_back():
    X, _ = mixed(two_bumps, n=300)
    model = KernelICA(random_state=0)
    S = model.fit_transform(X)
    np.testing.assert_allclose(S.T @ S / len(S), np.eye(3), atol=1e-10)
    np.testing.assert_allclose(model.inverse_transform(S), X, atol=1e-10)
    explained = (model.mixing_**2).sum(axis=0)
    assert (np.diff(explained) <= 0).all()
    assert explained.sum() == pytest.approx(X.var(axis=0).sum())


# ---------------------------------------------------------------- the contrast
def naive_contrast(S, gamma, lam):
    """J from the n × n kernel matrices: det(FFᵀ + λ) is det(FᵀF + λ) but for powers of λ.

    With K = Σᵢ HKᵢH/n the determinants are det(C + λ) ∝ det(I + K/λ), det(Dᵢ + λ) ∝ det(I + Kᵢ/λ).
    """
    n = S.shape[1]
    H = np.eye(n) - 1.0 / n
    kernels = [H @ RBF(gamma=gamma)(s[:, None]) @ H / n for s in S]
    whole = np.linalg.slogdet(np.eye(n) + sum(kernels) / lam)[1]
    return -0.5 * whole + 0.5 * sum(np.linalg.slogdet(np.eye(n) + K / lam)[1] for K in kernels)


@settings(max_examples=10)
@given(
    seed=st.integers(0, 100), gamma=st.sampled_from([0.5, 2.0]), lam=st.sampled_from([0.1, 0.01])
)
def test_the_contrast_is_its_formula_without_low_rank(seed, gamma, lam):
    S = np.random.default_rng(seed).normal(size=(3, 60))
    found = KernelContrast(S, gamma, lam, around=np.eye(3)).at(np.eye(3)).value
    assert found == pytest.approx(naive_contrast(S, gamma, lam), rel=1e-6)
    assert found > 0.0


def test_the_slopes_are_finite_differences():
    S = np.random.default_rng(0).normal(size=(3, 200))
    contrast = KernelContrast(S, 0.5, 0.01, around=np.eye(3))
    W = random_rotation(3, np.random.RandomState(0))
    point = contrast.at(W)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        A = np.zeros((3, 3))
        A[i, j], A[j, i] = 1e-5, -1e-5
        change = contrast.at(turn(W, A)).value - contrast.at(turn(W, -A)).value
        assert change / 2e-5 == pytest.approx(point.slope[i, j], abs=1e-6)


@pytest.mark.parametrize("gamma", [0.5, 5.0])
def test_pivots_leave_out_what_they_say(gamma):
    values = np.random.default_rng(0).normal(size=300)
    pivots = Pivots.of(values, gamma)
    K = RBF(gamma=gamma)(pivots.places[:, None], values[:, None])
    features = np.linalg.solve(pivots.factor, K)
    rest = 1.0 - (features**2).sum(axis=0)
    assert rest.max() <= 1e-9  # rounding of the triangular solve, at the square root of LEFT_OUT
    assert pivots.left_out <= LEFT_OUT
    K_pivots = RBF(gamma=gamma)(pivots.places[:, None])
    np.testing.assert_allclose(pivots.factor @ pivots.factor.T, K_pivots, atol=1e-12)


def test_independent_signals_depend_less_the_more_there_are():
    few, many = (np.random.default_rng(0).uniform(-1.7, 1.7, size=(2, n)) for n in (100, 3000))
    values = [
        KernelContrast(S, 0.5, 0.01, around=np.eye(2)).at(np.eye(2)).value for S in (few, many)
    ]
    assert values[1] < values[0] / 10
    copied = KernelContrast(many[[0, 0]], 0.5, 0.01, around=np.eye(2)).at(np.eye(2)).value
    assert copied > 100 * values[1]


# ---------------------------------------------------------------- the proof, degenerate tables
def exact_slopes(Y, gamma, lam):
    """Return the derivatives of J by the angles, from whole kernel matrices."""
    n = Y.shape[1]
    H = np.eye(n) - 1.0 / n
    gaps = Y[:, :, None] - Y[:, None, :]
    K = np.exp(-gamma * gaps**2)
    A = H @ K @ H / (n * lam)
    alone, joint = np.eye(n) + A, np.eye(n) + A.sum(axis=0)
    M = H @ (np.linalg.inv(alone) - np.linalg.inv(joint)) @ H / (2 * n * lam)
    N = 2.0 * (M * K * (-2.0 * gamma * gaps)).sum(axis=2) @ Y.T
    return N - N.T


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("jitter", [0.0, 1e-9, 3e-8, 1e-6, 1e-3, 1.0])
def test_the_slopes_are_off_by_no_more_than_the_bound(seed, jitter):
    """Values that are equal but for a little have a kernel of low rank, and no derivative in it."""
    rng = np.random.default_rng(seed)
    Z = np.sign(rng.normal(size=(3, 12))) + jitter * rng.normal(size=(3, 12))
    objective = KernelContrast(Z, 0.5, 0.01, around=np.eye(3))
    off = np.abs(objective.at(np.eye(3)).slope - exact_slopes(Z, 0.5, 0.01)).max()
    rounding = 1e-8  # of features that nearly equal pivots have divided by 1e-6
    assert off <= objective.slope_error() + rounding


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("seed", "proved"), [(0, True), (1, True), (2, False)])
def test_what_low_rank_hides_is_part_of_the_proof(seed, proved):
    rng = np.random.default_rng(seed)
    X = np.sign(rng.normal(size=(12, 2))) + 1e-7 * rng.normal(size=(12, 2))
    proof = KernelICA(n_restarts=0, random_state=0).fit(X).certificate_
    assert proof.value >= proof.slope_error > 0
    assert proof.ok == (proof.slope_error <= proof.tolerance) == proved


def test_the_proof_says_what_it_proves():
    model = KernelICA(random_state=0).fit(mixed(two_bumps, n=200)[0])
    assert model.certificate_.stationarity <= model.tol
    assert "no global guarantee" in model.certificate_.about
    assert model.certificate_.left_out <= LEFT_OUT


def test_too_few_steps_are_admitted():
    with pytest.warns(ConvergenceWarning, match="KernelICA: stopped at max_iter"):
        model = KernelICA(max_iter=1, tol=1e-9, random_state=0).fit(table(50, 4))
    assert not model.certificate_.ok


@pytest.mark.parametrize("rows", SAMPLES.values(), ids=SAMPLES.keys())
def test_every_kind_of_rows(rows):
    if not isinstance(rows, np.ndarray):
        refuses(lambda: KernelICA().fit(rows), TypeError, "[Ss]parse")
        return
    model = KernelICA(random_state=0).fit(rows)
    rank = np.linalg.matrix_rank(rows - rows.mean(axis=0, dtype=np.float64), tol=1e-5)
    assert model.components_.shape == (rank, rows.shape[1])
    assert model.certificate_.ok
    tolerance = 1e-10 if rows.dtype == np.float64 else 1e-4
    np.testing.assert_allclose(model.inverse_transform(model.transform(rows)), rows, atol=tolerance)


BAD = {
    "no width": ({"gamma": 0.0}, "'gamma'.*Got 0.0"),
    "no regularisation": ({"lam": 0.0}, "'lam'.*Got 0.0"),
    "negative restarts": ({"n_restarts": -1}, "'n_restarts'.*Got -1"),
}


@pytest.mark.parametrize(("parameters", "match"), BAD.values(), ids=BAD.keys())
def test_bad_parameters_are_named(parameters, match):
    refuses(lambda: KernelICA(**parameters).fit(table(10, 2)), ValueError, match)
