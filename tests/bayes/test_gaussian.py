"""The Gaussian density against scipy's, and the identities of its parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import invwishart, multivariate_normal

from mercer.bayes import Gaussian, NormalInverseWishart
from tests.cases import table
from tests.compare import refuses


def gaussian(d, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d, d))
    return Gaussian(rng.normal(size=d), A @ A.T + 0.1 * np.eye(d))


# ---------------------------------------------------------------- density
@settings(max_examples=20, deadline=None)
@given(st.integers(1, 6), st.integers(0, 1000))
def test_density_and_entropy_are_those_of_scipy(d, seed):
    p, X = gaussian(d, seed), table(8, d, seed + 1)
    other = multivariate_normal(p.mean, p.covariance)
    np.testing.assert_allclose(p.log_density(X), other.logpdf(X), rtol=1e-9)
    np.testing.assert_allclose(p.density(X), other.pdf(X), rtol=1e-9)
    np.testing.assert_allclose(p.entropy(), other.entropy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("unit", [1e-150, 1e149])
def test_units_only_shift_the_log_density(unit):
    p, X = gaussian(3), table(5, 3)
    scaled = Gaussian(unit * p.mean, unit**2 * p.covariance)
    wanted = p.log_density(X) - 3 * np.log(unit)
    np.testing.assert_allclose(scaled.log_density(unit * X), wanted, rtol=1e-12)


def test_a_thousand_columns_do_not_underflow():
    p = Gaussian(np.zeros(1000), np.eye(1000))
    wanted = -0.5 * 1000 * (1.0 + np.log(2 * np.pi))
    np.testing.assert_allclose(p.log_density(np.ones((1, 1000))), wanted, rtol=1e-14)


def test_samples_have_the_mean_and_the_covariance():
    p = gaussian(3)
    n = 40_000
    X = p.sample(n, random_state=0)
    s = np.sqrt(np.diagonal(p.covariance))
    # six standard errors
    assert np.all(np.abs(X.mean(axis=0) - p.mean) < 6 * s / n**0.5)
    assert np.all(np.abs(np.cov(X.T) - p.covariance) < 6 * 2**0.5 * np.outer(s, s) / n**0.5)


def test_a_singular_covariance_has_samples_but_no_density():
    p = Gaussian([1.0, 2.0], [[1.0, 1.0], [1.0, 1.0]])
    X = p.sample(5, random_state=0)
    np.testing.assert_allclose(X[:, 1] - X[:, 0], 1.0, atol=1e-7)  # the root of a rounding error
    refuses(lambda: p.log_density(X), ValueError, "covariance is singular")


# ---------------------------------------------------------------- parts
@settings(max_examples=20, deadline=None)
@given(st.integers(2, 6), st.data())
def test_the_density_is_that_of_a_part_times_the_conditional_of_the_rest(d, data):
    p, x = gaussian(d, d), table(1, d, d)[0]
    known = data.draw(st.lists(st.integers(0, d - 1), min_size=1, max_size=d - 1, unique=True))
    other = [i for i in range(d) if i not in known]
    rest = p.conditional({i: x[i] for i in known})
    product = p.marginal(known).log_density([x[known]]) + rest.log_density([x[other]])
    np.testing.assert_allclose(product, p.log_density([x]), rtol=1e-9)


def test_indices_and_values_are_the_same_as_a_dictionary():
    p = gaussian(4)
    first, second = p.conditional({3: 0.5, 1: -1.0}), p.conditional([3, 1], [0.5, -1.0])
    np.testing.assert_array_equal(first.mean, second.mean)
    np.testing.assert_array_equal(first.covariance, second.covariance)


def test_the_precision_of_a_conditional_is_a_block_of_the_precision():
    p = gaussian(4)
    precision = np.linalg.inv(p.covariance)[:2, :2]
    conditional = p.conditional([2, 3], [0.0, 0.0]).covariance
    np.testing.assert_allclose(np.linalg.inv(conditional), precision, rtol=1e-9)


def test_what_is_determined_by_the_rest_has_no_variance_left():
    p = Gaussian([0.0, 0.0], [[1.0, 2.0], [2.0, 4.0]])
    rest = p.conditional({0: 3.0})
    np.testing.assert_allclose(rest.mean, [6.0])
    np.testing.assert_allclose(rest.covariance, [[0.0]], atol=1e-14)


def test_the_divergence_is_the_expected_difference_of_log_densities():
    p, q = gaussian(2, 0), gaussian(2, 3)
    assert p.kl(p) == pytest.approx(0.0, abs=1e-12)
    X = p.sample(200_000, random_state=0)
    terms = p.log_density(X) - q.log_density(X)
    assert p.kl(q) == pytest.approx(terms.mean(), abs=6 * terms.std() / len(X) ** 0.5)


# ---------------------------------------------------------------- estimation
@pytest.mark.parametrize("ddof", [0, 1])
def test_both_divisors_of_the_covariance(ddof):
    X = table(12, 3)
    p = Gaussian.fit(X, ddof=ddof)
    np.testing.assert_allclose(p.mean, X.mean(axis=0))
    np.testing.assert_allclose(p.covariance, np.cov(X.T, ddof=ddof))


def test_maximum_likelihood_is_the_maximum():
    X, rng = table(30, 2), np.random.default_rng(0)
    best = Gaussian.fit(X)
    top = best.log_density(X).sum()
    for _ in range(20):
        E = 0.05 * rng.normal(size=(2, 2))
        near = Gaussian(best.mean + 0.05 * rng.normal(size=2), best.covariance + E @ E.T)
        assert near.log_density(X).sum() < top


def test_weights_are_repetitions():
    X, count = table(5, 2), np.array([1, 2, 3, 1, 2])
    weighted = Gaussian.fit(X, sample_weight=count, ddof=1)
    repeated = Gaussian.fit(np.repeat(X, count, axis=0), ddof=1)
    np.testing.assert_allclose(weighted.covariance, repeated.covariance)


PRIOR = NormalInverseWishart([1.0, -1.0], [[2.0, 0.5], [0.5, 1.0]], strength=3.0, dof=5.0)


def log_posterior(prior, p, X):
    """Return log p(X | μ, Σ) p(μ | Σ) p(Σ), by scipy."""
    mean = multivariate_normal(prior.mean, p.covariance / prior.strength).logpdf(p.mean)
    covariance = invwishart(df=prior.dof, scale=prior.scale).logpdf(p.covariance)
    return multivariate_normal(p.mean, p.covariance).logpdf(X).sum() + mean + covariance


def test_map_is_the_most_probable_pair():
    X, rng = table(6, 2), np.random.default_rng(0)
    best = Gaussian.fit(X, prior=PRIOR)
    top = log_posterior(PRIOR, best, X)
    for _ in range(40):
        E = 0.1 * rng.normal(size=(2, 2))
        near = Gaussian(
            best.mean + 0.05 * rng.normal(size=2),
            best.covariance * (1.0 + 0.2 * rng.normal() ** 2 * rng.choice([-1, 1]) / 10) + E @ E.T,
        )
        assert log_posterior(PRIOR, near, X) < top


def test_map_becomes_maximum_likelihood_as_rows_grow():
    gaps = []
    for n in (10, 100, 1000, 10_000):
        X = table(n, 2)
        map_, ml = Gaussian.fit(X, prior=PRIOR), Gaussian.fit(X)
        gaps.append(np.abs(map_.covariance - ml.covariance).max())
        # the prior is worth a fixed number of rows: 20 covers κ, ν + d + 2 and its scale
        assert gaps[-1] <= 20 / n
        assert np.abs(map_.mean - ml.mean).max() <= 20 / n
    assert gaps[-1] < gaps[0]


def test_the_posterior_of_two_parts_is_that_of_the_whole():
    def after(prior, X):
        mean = X.mean(axis=0)
        return prior.updated(mean, (X - mean).T @ (X - mean), len(X))

    X = table(9, 2)
    once, twice = after(PRIOR, X), after(after(PRIOR, X[:4]), X[4:])
    np.testing.assert_allclose(once.mean, twice.mean)
    np.testing.assert_allclose(once.scale, twice.scale)
    assert (once.strength, once.dof) == (twice.strength, twice.dof)


def test_a_prior_makes_few_rows_enough():
    p = Gaussian.fit(table(1, 2), prior=PRIOR)
    assert np.isfinite(p.log_density(table(3, 2))).all()


# ---------------------------------------------------------------- bad input
P = gaussian(3)
BAD = {
    "a mean of text": (lambda: Gaussian(["a"], [[1.0]]), "mean must be a vector"),
    "shapes": (lambda: Gaussian([0.0], np.eye(2)), "covariance must be 1 × 1"),
    "asymmetric": (lambda: Gaussian([0, 0], [[1, 0.5], [0, 1]]), "covariance must be symmetric"),
    "indefinite": (
        lambda: Gaussian([0, 0], [[1, 2], [2, 1]]),
        "positive semidefinite.*eigenvalue -1",
    ),
    "columns": (lambda: P.log_density(table(2, 2)), "X must have 3 columns; got 2"),
    "an index twice": (lambda: P.marginal([0, 0]), "indices must name .* each once"),
    "no index": (lambda: P.marginal([]), "indices must name at least one"),
    "an index too large": (lambda: P.marginal([3]), r"indices must lie in \[0, 3\)"),
    "all known": (lambda: P.conditional({0: 0, 1: 0, 2: 0}), "leave at least one"),
    "values missing": (lambda: P.conditional([0, 1], [1.0]), "values must be 2 numbers"),
    "ddof": (lambda: Gaussian.fit(table(3, 2), ddof=2), "ddof must be 0 or 1"),
    "one row": (lambda: Gaussian.fit(table(1, 2), ddof=1), "ddof=1 needs more than one row"),
    "ddof and prior": (
        lambda: Gaussian.fit(table(3, 2), prior=PRIOR, ddof=1),
        "ddof=1 is for estimates without a prior",
    ),
    "prior of other size": (
        lambda: Gaussian.fit(table(3, 3), prior=PRIOR),
        "X must have 2 columns, as prior; got 3",
    ),
    "divergence": (lambda: P.kl(gaussian(2)), "other must have 3 variables; got 2"),
    "prior scale": (
        lambda: NormalInverseWishart([0.0], [[-1.0]]),
        "scale must be symmetric and positive definite",
    ),
    "prior dof": (lambda: NormalInverseWishart([0.0], [[1.0]], dof=0.0), "dof must be .*more than"),
    "prior strength": (
        lambda: NormalInverseWishart([0.0], [[1.0]], strength=-1.0),
        "strength must be ≥ 0",
    ),
}


@pytest.mark.parametrize(("call", "match"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_named(call, match):
    refuses(call, ValueError, match)
