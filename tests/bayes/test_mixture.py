"""Gaussian mixtures by EM: the steps, what they find, and where they have no maximum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from mercer import GMM
from mercer.bayes import Gaussian
from mercer.bayes._mixture_em import (
    CovarianceFamily,
    HomogeneousRows,
    Mixture,
    expect,
    lifted_factors,
)
from tests.cases import table
from tests.compare import refuses

KINDS = {"full": "full", "tied": "tied", "diagonal": "diag", "spherical": "spherical"}
every_kind = pytest.mark.parametrize("kind", KINDS)


def planted(n=300, seed=0):
    """Return rows of three Gaussians in the plane, 30, 20 and 50 of a hundred, and their labels."""
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1, 2], [3 * n // 10, 2 * n // 10, 5 * n // 10])
    means = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 7.0]])
    roots = np.array([[[1.0, 0.0], [0.5, 0.8]], [[0.5, 0.0], [0.0, 1.5]], [[1.0, 0], [-0.7, 0.5]]])
    return means[labels] + np.einsum("nij,nj->ni", roots[labels], rng.normal(size=(n, 2))), labels


X, LABELS = planted()
OVERLAP = np.vstack([table(60, 3), 1.0 + 2.0 * table(60, 3, seed=1)])


def fitted(kind="full", k=3, rows=X, **settings):
    return GMM(k, covariance=kind, random_state=0, **settings).fit(rows)


# ---------------------------------------------------------------- independent library
@every_kind
@pytest.mark.parametrize("steps", [1, 7])
def test_the_same_steps_from_the_same_start_as_scikit_learn(kind, steps):
    start = np.arange(120) % 3
    responsibilities = np.eye(3)[start]
    other = GaussianMixture(3, covariance_type=KINDS[kind], reg_covar=0.0, tol=0.0, max_iter=steps)
    other._initialize(OVERLAP, responsibilities)
    for _ in range(steps):
        other._m_step(OVERLAP, other._e_step(OVERLAP)[1])
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = fitted(kind, rows=OVERLAP, start=start, tol=0.0, max_iter=steps)
    np.testing.assert_allclose(model.weights_, other.weights_, rtol=1e-9)
    np.testing.assert_allclose(model.means_, other.means_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.covariances_, other.covariances_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.score_samples(X=OVERLAP), other.score_samples(OVERLAP))
    np.testing.assert_allclose(
        model.predict_proba(OVERLAP), other.predict_proba(OVERLAP), rtol=1e-7, atol=1e-10
    )
    assert model.bic(OVERLAP) == pytest.approx(other.bic(OVERLAP))
    assert model.aic(OVERLAP) == pytest.approx(other.aic(OVERLAP))


def test_one_component_is_the_gaussian_of_maximum_likelihood():
    model, wanted = fitted(k=1), Gaussian.fit(X)
    np.testing.assert_allclose(model.means_[0], wanted.mean)
    np.testing.assert_allclose(model.covariances_[0], wanted.covariance)
    np.testing.assert_allclose(model.score_samples(X), wanted.log_density(X))


@every_kind
def test_the_density_is_the_sum_over_components(kind):
    model = fitted(kind)
    full = {
        "full": lambda c: model.covariances_[c],
        "tied": lambda c: model.covariances_,
        "diagonal": lambda c: np.diag(model.covariances_[c]),
        "spherical": lambda c: model.covariances_[c] * np.eye(2),
    }[kind]
    parts = [
        w * Gaussian(model.means_[c], full(c)).density(X[:20]) for c, w in enumerate(model.weights_)
    ]
    np.testing.assert_allclose(np.exp(model.score_samples(X[:20])), sum(parts), rtol=1e-9)
    posterior = model.predict_proba(X[:20])
    np.testing.assert_allclose(posterior.T, np.array(parts) / sum(parts), rtol=1e-7, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X[:20]), posterior.argmax(axis=1))
    assert model.score(X[:20]) == pytest.approx(np.log(sum(parts)).mean())


# ---------------------------------------------------------------- the steps
def random_mixture(k, d, seed, diagonal=False):
    rng = np.random.default_rng(seed)
    roots = np.tril(rng.normal(size=(k, d, d)) * 0.3) + np.eye(d)
    factors = 0.5 + rng.random((k, d)) if diagonal else roots
    return Mixture(rng.dirichlet(np.ones(k)), rng.normal(size=(k, d)), factors, np.zeros(k, int))


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("d", [1, 3])
def test_the_moments_are_those_of_whitened_rows(diagonal, d):
    Z, weight = table(50, d), np.random.default_rng(1).random(50)
    mixture = random_mixture(4, d, 2, diagonal)
    expected, value = expect(HomogeneousRows(Z, weight), mixture)
    covariances = mixture.covariances()
    parts = np.array(
        [
            w * Gaussian(m, np.diag(S) if diagonal else S).density(Z)
            for w, m, S in zip(mixture.weights, mixture.means, covariances, strict=True)
        ]
    )
    assert value == pytest.approx(weight @ np.log(parts.sum(axis=0)))
    share = weight * parts / parts.sum(axis=0)
    for c in range(4):
        L = np.diag(mixture.factors[c]) if diagonal else mixture.factors[c]
        Y = np.column_stack([np.linalg.solve(L, (Z - mixture.means[c]).T).T, np.ones(50)])
        T = (Y.T * share[c]) @ Y
        wanted = np.column_stack([np.diagonal(T), T[:, -1]]) if diagonal else T
        np.testing.assert_allclose(expected.moments[c], wanted, rtol=1e-9, atol=1e-12)


def test_blocks_and_rows_that_do_not_count_change_nothing():
    """Well separated components, so that most responsibilities are negligible."""
    Z = table(3000, 2) + 30.0 * (np.arange(3000) % 3)[:, None]
    means = 30.0 * np.arange(3.0)[:, None] + np.zeros(2)
    mixture = random_mixture(3, 2, 0)._replace(means=means)
    blocked, value = expect(HomogeneousRows(Z), mixture)
    whole, wanted = expect(HomogeneousRows(Z, block=2**30), mixture, dense_share=0.0)
    assert value == pytest.approx(wanted, rel=1e-13)
    np.testing.assert_allclose(blocked.moments, whole.moments, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_lifted_eigenvalues_are_the_maximum_above_the_floor(seed):
    """−log det Σ − tr(Σ⁻¹S) over Σ ⪰ floor · I."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(3, 3)) * [1.0, 0.3, 1e-3]
    S, floor = A @ A.T, 0.05
    L = lifted_factors(S[None], floor)[0][0]

    def objective(Sigma):
        return -np.linalg.slogdet(Sigma)[1] - np.trace(np.linalg.solve(Sigma, S))

    best = objective(L @ L.T)
    assert np.linalg.eigvalsh(L @ L.T)[0] >= floor * (1 - 1e-12)
    np.testing.assert_array_equal(L, np.tril(L))
    for _ in range(50):
        values, vectors = np.linalg.eigh(L @ L.T + 0.05 * rng.normal() * S + 0.01 * np.eye(3))
        near = (vectors * np.maximum(values, floor)) @ vectors.T
        assert objective(near) <= best + 1e-12


# ---------------------------------------------------------------- the likelihood
@settings(max_examples=20, deadline=None)
@given(st.sampled_from(list(KINDS)), st.integers(1, 5), st.integers(0, 50))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_likelihood_never_falls(kind, k, seed):
    rows = table(25, 2, seed).round(1)  # with repetitions, so that floors are reached
    weight = np.random.default_rng(seed).exponential(size=25) if seed % 2 else None
    model = GMM(k, covariance=kind, random_state=seed, tol=0.0, max_iter=60)
    model.fit(rows, sample_weight=weight)
    steps = np.array(model.certificate_.steps)
    assert np.diff(steps).min() >= -1e-9 * max(1.0, np.abs(steps).max())
    assert model.certificate_.monotone


@every_kind
def test_the_fit_is_stationary(kind):
    """Finite differences of the log-likelihood with respect to the means are 0."""
    model = fitted(kind, tol=0.0, max_iter=5000)
    assert model.certificate_.residual < 1e-3
    before, step = model.score(X), 1e-5
    assert before == pytest.approx(model.certificate_.log_likelihood)
    for c in range(3):
        for j in range(2):
            model.means_[c, j] += step
            up = model.score(X)
            model.means_[c, j] -= 2 * step
            slope = (up - model.score(X)) / (2 * step)
            model.means_[c, j] += step
            # an EM gain of 1e-9 is left: slopes of its root, in units of about 1
            assert abs(slope) < 1e-3


def test_the_certificate_says_what_it_does_not_prove():
    certificate = fitted(n_init=3).certificate_
    assert certificate.ok
    assert "local optimum" in certificate.about
    assert certificate.starts == 3
    assert 1 <= certificate.starts_as_good <= 3


# ---------------------------------------------------------------- what is found
@every_kind
def test_a_planted_mixture_is_recovered(kind):
    rows, labels = planted(600)
    model = fitted(kind, rows=rows, n_init=3)
    assert adjusted_rand_score(labels, model.predict(rows)) > 0.95


def test_the_parameters_of_a_planted_mixture_are_recovered():
    rows, labels = planted(3000)
    model = fitted(rows=rows, n_init=3)
    for c in range(3):
        part = rows[labels == c]
        nearest = int(np.linalg.norm(model.means_ - part.mean(axis=0), axis=1).argmin())
        # few points lie between the components, so that theirs are nearly those of the true parts
        np.testing.assert_allclose(model.weights_[nearest], len(part) / 3000, atol=0.01)
        np.testing.assert_allclose(model.means_[nearest], part.mean(axis=0), atol=0.05)
        np.testing.assert_allclose(model.covariances_[nearest], np.cov(part.T), atol=0.1)


@pytest.mark.parametrize("criterion", ["bic", "aic"])
def test_the_number_of_components_is_chosen(criterion):
    model = fitted(k=range(1, 6), n_init=2, criterion=criterion)
    costs = model.certificate_.parts[criterion]
    assert set(costs) == {"1", "2", "3", "4", "5"}
    assert costs[str(model.n_components_)] == min(costs.values())
    alone = fitted(k=model.n_components_, n_init=2)
    assert getattr(alone, criterion)(X) == pytest.approx(min(costs.values()), rel=1e-3)
    if criterion == "bic":
        assert model.n_components_ == 3


def test_more_starts_are_never_worse():
    places = 3.0 * np.array([[i % 4, i // 4] for i in range(12)])
    rows = (table(480, 2).reshape(12, 40, 2) + places[:, None]).reshape(-1, 2)
    one = GMM(12, covariance="spherical", random_state=0).fit(rows)
    many = GMM(12, covariance="spherical", random_state=0, n_init=8).fit(rows)
    # equal to within 1e-6 counts as equal, and the first is taken
    assert many.score(rows) >= one.score(rows) - 1e-6


def test_samples_come_from_the_mixture():
    model = fitted()
    rows, labels = model.sample(20_000)
    assert rows.shape == (20_000, 2)
    for c in range(3):
        part = rows[labels == c]
        assert abs(len(part) / 20_000 - model.weights_[c]) < 0.02
        np.testing.assert_allclose(part.mean(axis=0), model.means_[c], atol=0.1)
        np.testing.assert_allclose(np.cov(part.T), model.covariances_[c], atol=0.15)
    np.testing.assert_array_equal(model.sample(5)[0], model.sample(5)[0])
    assert not np.array_equal(model.sample(5)[0], model.sample(5, random_state=9)[0])


# ---------------------------------------------------------------- starts and weights
def test_a_start_by_means_or_by_labels():
    means = np.array([X[c == LABELS].mean(axis=0) for c in range(3)])
    by_means, by_labels = fitted(start=means), fitted(start=LABELS)
    for model in (by_means, by_labels):  # the order of the components is that of the start
        np.testing.assert_allclose(model.means_, means, atol=0.1)


@every_kind
def test_weights_are_repetitions(kind):
    count = np.random.default_rng(0).integers(0, 3, len(X))
    weighted = GMM(3, covariance=kind, random_state=0).fit(X, sample_weight=count)
    repeated = GMM(3, covariance=kind, random_state=0).fit(np.repeat(X, count, axis=0))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-7)


def test_the_order_of_the_rows_does_not_matter():
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_allclose(
        fitted().score_samples(X), fitted(rows=X[order]).score_samples(X), rtol=1e-7
    )


# ---------------------------------------------------------------- degenerate data
CLUMP = np.vstack([table(40, 2), np.full((10, 2), 5.0)])  # ten equal rows: no density there
CLUMPS = np.repeat([[0.0, 1.0], [3.0, 5.0]], 10, axis=0)


@pytest.mark.parametrize(
    ("kind", "rows"),
    [("full", CLUMP), ("diagonal", CLUMP), ("spherical", CLUMP), ("tied", CLUMPS)],
)
def test_a_component_does_not_shrink_onto_a_single_point(kind, rows):
    with pytest.warns(ConvergenceWarning, match="shrunk onto a few"):
        model = fitted(kind, k=2, rows=rows)
    assert np.isfinite(model.certificate_.log_likelihood)
    assert model.certificate_.monotone
    assert len(model.certificate_.floored) >= 1


@every_kind
@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_the_scale_of_the_data_does_not_matter(kind, unit):
    plain, scaled = fitted(kind), fitted(kind, rows=unit * X)
    np.testing.assert_allclose(scaled.predict_proba(unit * X), plain.predict_proba(X), atol=1e-7)
    np.testing.assert_allclose(
        scaled.score_samples(unit * X), plain.score_samples(X) - 2 * np.log(unit), rtol=1e-9
    )


@pytest.mark.parametrize("kind", ["full", "tied", "diagonal"])
def test_units_of_columns_do_not_matter(kind):
    units = np.array([1e-6, 1e5])
    np.testing.assert_allclose(
        fitted(kind, rows=X * units).predict_proba(X * units),
        fitted(kind).predict_proba(X),
        atol=1e-7,
    )


@every_kind
def test_a_constant_column_is_no_collapse(kind):
    wide = np.hstack([X, np.full((len(X), 1), 0.1)])
    model = fitted(kind, rows=wide)
    assert model.status_ == "optimal"
    if kind != "spherical":  # there all columns share a variance
        np.testing.assert_allclose(
            model.predict_proba(wide), fitted(kind).predict_proba(X), atol=1e-7
        )


@every_kind
@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_rows(kind, n):
    model = fitted(kind, k=1, rows=table(n, 3))
    assert np.isfinite(model.score_samples(table(n, 3))).all()


def test_fewer_rows_than_columns():
    model = fitted("diagonal", k=2, rows=table(12, 40))
    assert np.isfinite(model.score(table(12, 40)))


def test_fewer_different_rows_than_components():
    rows = np.repeat([[0.0], [1.0]], 5, axis=0)
    with pytest.warns(ConvergenceWarning, match="has no rows left"):
        model = fitted(k=4, rows=rows)
    assert np.isfinite(model.score_samples(rows)).all()
    assert model.weights_.sum() == pytest.approx(1.0)


def test_out_of_time_the_best_so_far_is_kept():
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = fitted(k=[2, 3], n_init=50, time_limit=0.0)
    assert model.status_ == "time_limit"
    assert np.isfinite(model.score(X))


# ---------------------------------------------------------------- bad input
BAD = {
    "none": ({"n_components": 0}, "'n_components'.*Got 0"),
    "a list with 0": ({"n_components": [1, 0]}, "n_components must be a positive integer"),
    "half": ({"n_components": [1.5]}, "n_components must be a positive integer"),
    "too many": ({"n_components": 301}, "n_samples = 300; got 301"),
    "covariance": ({"covariance": "diag"}, "'covariance'.*Got 'diag'"),
    "reg": ({"reg": 0.0}, "'reg'.*Got 0.0"),
    "start": ({"n_components": 2, "start": np.zeros((3, 3))}, "start must be a component for each"),
    "start label": (
        {"n_components": 2, "start": LABELS},
        "start must hold components 0 … 1; got 2",
    ),
    "start of a list": ({"n_components": [2, 3], "start": LABELS}, "start needs one n_components"),
}


@pytest.mark.parametrize(("settings", "match"), BAD.values(), ids=BAD.keys())
def test_bad_parameters_are_named(settings, match):
    refuses(lambda: GMM(**settings).fit(X), ValueError, match)


def test_no_samples_are_refused():
    refuses(lambda: fitted().sample(0), ValueError, "n_samples must be at least 1")


def test_parameters_are_counted():
    for kind, wanted in (("full", 17), ("tied", 11), ("diagonal", 14), ("spherical", 11)):
        assert CovarianceFamily(kind, 1e-6).n_parameters(3, 2) == wanted
