"""The Bayes classifier for Gaussian classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.covariance import OAS, ShrunkCovariance
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from mercer import LDA, GaussianBayes
from mercer.bayes import Gaussian
from tests.cases import table
from tests.compare import refuses

IRIS, WINE = load_iris(return_X_y=True), load_wine(return_X_y=True)
every_set = pytest.mark.parametrize(("X", "y"), [IRIS, WINE], ids=["iris", "wine"])


def classes(n, d, seed=0, count=3):
    """Return rows of Gaussian classes of different covariance, and their labels."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % count
    A = rng.normal(size=(count, d, d)) / d**0.5 + np.eye(d)
    return np.einsum("nij,nj->ni", A[y], rng.normal(size=(n, d))) + y[:, None], y


# ---------------------------------------------------------------- independent libraries
@every_set
def test_full_covariances_are_quadratic_discriminant_analysis(X, y):
    other = QuadraticDiscriminantAnalysis().fit(X, y)
    model = GaussianBayes().fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-10)
    np.testing.assert_array_equal(model.predict(X), other.predict(X))


@every_set
def test_a_shared_covariance_is_linear_discriminant_analysis(X, y):
    model = GaussianBayes(tied=True).fit(X, y)
    for other in (LinearDiscriminantAnalysis().fit(X, y), LDA().fit(X, y)):
        np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-10)


@every_set
def test_order_0_is_naive_bayes(X, y):
    other = GaussianNB(var_smoothing=0.0).fit(X, y)
    model = GaussianBayes(order=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-10)


@every_set
@pytest.mark.parametrize("tied", [False, True])
def test_the_highest_order_is_the_full_covariance(X, y, tied):
    full, highest = GaussianBayes(tied=tied), GaussianBayes(order=X.shape[1] - 1, tied=tied)
    np.testing.assert_array_equal(full.fit(X, y).log_density(X), highest.fit(X, y).log_density(X))


def test_shrinkage_to_the_end_is_naive_bayes():
    X, y = WINE
    naive, shrunk = GaussianBayes(order=0), GaussianBayes(shrinkage=1.0)
    np.testing.assert_allclose(
        shrunk.fit(X, y).log_density(X), naive.fit(X, y).log_density(X), rtol=1e-10
    )


# ---------------------------------------------------------------- limited order
@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_the_density_is_the_product_of_conditionals(order):
    """Π p(x_j | the columns before it), each a conditional of the Gaussian of those columns."""
    X, y = classes(90, 5)
    model = GaussianBayes(order=order).fit(X, y)
    for c in range(3):
        whole = Gaussian.fit(X[y == c])
        for x, got in zip(X[:5], model.log_density(X[:5])[:, c], strict=True):
            wanted = 0.0
            for j in range(5):
                before = list(range(max(0, j - order), j))
                part = whole.marginal([*before, j])
                given_before = {i: x[k] for i, k in enumerate(before)}
                part = part.conditional(given_before) if before else part
                wanted += part.log_density([[x[j]]])[0]
            assert got == pytest.approx(wanted, rel=1e-9)


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 7), st.integers(0, 6), st.integers(0, 100), st.booleans())
def test_the_precision_is_banded_and_moments_within_the_band_are_kept(d, order, seed, tied):
    X, y = classes(60, d, seed)
    model = GaussianBayes(order=order, tied=tied).fit(X, y)
    band = np.abs(np.subtract.outer(np.arange(d), np.arange(d))) <= order
    for c, Sigma in enumerate(model.covariances_):
        rows = X - model.means_[y] if tied else (X - model.means_[c])[y == c]
        moments = rows.T @ rows / len(rows)
        np.testing.assert_allclose(Sigma[band], moments[band], rtol=1e-8, atol=1e-9)
        precision = np.linalg.inv(Sigma)
        unit = np.sqrt(np.diagonal(precision))
        assert np.abs((precision / unit / unit[:, None])[~band]).max(initial=0.0) < 1e-8


@pytest.mark.parametrize("order", [None, 1])
def test_the_log_density_is_that_of_its_mean_and_covariance(order):
    X, y = classes(90, 4)
    model = GaussianBayes(order=order).fit(X, y)
    for c in range(3):
        p = Gaussian(model.means_[c], model.covariances_[c])
        np.testing.assert_allclose(model.log_density(X)[:, c], p.log_density(X), rtol=1e-9)


def test_a_thousand_columns_do_not_underflow():
    X, y = classes(60, 3, count=2)
    wide = np.hstack([X, table(60, 997)])
    for order in (0, 3, None):
        model = GaussianBayes(order=order).fit(wide, y)
        assert np.isfinite(model.predict_log_proba(wide)).all()
        assert np.isfinite(model.log_density(wide)).all()
        np.testing.assert_allclose(model.predict_proba(wide).sum(axis=1), 1.0)


# ---------------------------------------------------------------- decisions
def test_posteriors_are_the_analytic_ones():
    """Two classes N(±1, 1) of the same share: log odds 2x, whatever the sample."""
    X = np.array([[-2.0], [0.0], [0.0], [2.0]])  # means ∓1, variances 1
    model = GaussianBayes().fit(X, [0, 0, 1, 1])
    x = np.linspace(-3, 3, 7)[:, None]
    np.testing.assert_allclose(model.decision_function(x), 2 * x[:, 0], atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(x)[:, 1], 1 / (1 + np.exp(-2 * x[:, 0])))


def test_any_loss_is_minimised():
    X, y = IRIS
    loss = np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [1.0, 9.0, 0.0]])
    model = GaussianBayes(loss=loss).fit(X, y)
    for p, costs, decision in zip(
        model.predict_proba(X), model.expected_loss(X), model.predict(X), strict=True
    ):
        wanted = [sum(p[c] * loss[c, a] for c in range(3)) for a in range(3)]
        np.testing.assert_allclose(costs, wanted, atol=1e-12)
        assert wanted[decision] <= min(wanted) + 1e-12


def test_the_loss_that_counts_mistakes_is_the_default():
    X, y = IRIS
    counted = GaussianBayes(loss=1.0 - np.eye(3)).fit(X, y)
    np.testing.assert_array_equal(counted.predict(X), GaussianBayes().fit(X, y).predict(X))


def test_a_dear_mistake_is_avoided():
    X, y = classes(200, 2, count=2)
    plain = GaussianBayes().fit(X, y).predict(X)
    careful = GaussianBayes(loss=[[0, 1], [50, 0]]).fit(X, y).predict(X)
    assert (careful[plain == 1] == 1).all()
    assert (careful == 1).sum() > (plain == 1).sum()


def test_rejection_is_chows_rule():
    X, y = classes(200, 2)
    model = GaussianBayes(reject=0.2).fit(X, y)
    sure = model.predict_proba(X).max(axis=1) >= 0.8
    assert 0 < sure.sum() < len(X)
    np.testing.assert_array_equal(model.predict(X) == -1, ~sure)
    plain = GaussianBayes().fit(X, y).predict(X)
    np.testing.assert_array_equal(model.predict(X)[sure], plain[sure])


def test_rejected_labels_of_text():
    X, y = classes(100, 2, count=2)
    labels = np.array(["a", "b"])[y]
    assert set(GaussianBayes(reject=0.1).fit(X, labels).predict(X)) == {"a", "b", "reject"}
    named = GaussianBayes(reject=0.1, reject_label="nobody knows").fit(X, labels)
    assert "nobody knows" in named.predict(X)


def test_given_priors_shift_the_log_odds():
    X, y = classes(90, 2, count=2)
    even = GaussianBayes(priors=[0.5, 0.5]).fit(X, y)
    odd = GaussianBayes(priors=[0.2, 0.8]).fit(X, y)
    np.testing.assert_allclose(
        odd.decision_function(X) - even.decision_function(X), np.log(4.0), atol=1e-10
    )


# ---------------------------------------------------------------- degenerate data
@pytest.mark.parametrize("order", [None, 1, 4])
@pytest.mark.parametrize("tied", [False, True])
def test_fewer_rows_than_columns_shrink_and_the_certificate_says_so(order, tied):
    X, y = classes(9, 30)
    model = GaussianBayes(order=order, tied=tied).fit(X, y)
    assert model.certificate_.ok
    assert np.isfinite(model.decision_function(X)).all()
    if order is None:
        assert (model.shrinkage_ > 0).all()
        assert "shrunk" in model.certificate_.about


@pytest.mark.parametrize("order", [2, None])
@pytest.mark.parametrize("weight", [1e12, np.logspace(-200, 200, 12)], ids=["large", "spread"])
def test_singular_covariances_of_heavy_rows_are_shrunk_as_well(order, weight):
    """A row that counts a million times is still one direction."""
    X, y = table(12, 8), np.arange(12) % 2
    model = GaussianBayes(order=order).fit(X, y, sample_weight=weight * np.ones(12))
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert model.certificate_.ok


def test_enough_rows_do_not_shrink():
    assert GaussianBayes().fit(*IRIS).certificate_.largest_shrinkage == 0.0


def test_collinear_columns_shrink():
    X, y = classes(90, 3)
    model = GaussianBayes().fit(np.hstack([X, X[:, :1]]), y)
    assert (model.shrinkage_ > 0).all()
    assert model.score(np.hstack([X, X[:, :1]]), y) > 0.6
    refuses(
        lambda: GaussianBayes(shrinkage=None).fit(np.hstack([X, X[:, :1]]), y),
        ValueError,
        "a covariance is singular.*shrinkage='auto'",
    )


def test_constant_columns_change_nothing():
    X, y = classes(90, 3)
    wide = np.hstack([X, np.full((90, 1), 0.1)])
    np.testing.assert_allclose(
        GaussianBayes().fit(wide, y).predict_proba(wide),
        GaussianBayes().fit(X, y).predict_proba(X),
        atol=1e-10,
    )


def test_a_class_of_one_row_borrows_the_variances_of_the_others():
    X = np.vstack([table(20, 2), [[9.0, 9.0]]])
    model = GaussianBayes().fit(X, [0] * 20 + [1])
    assert model.certificate_.without_variance == 1
    assert model.predict([[9.5, 8.5]])[0] == 1
    assert model.predict([[0.0, 0.0]])[0] == 0


@pytest.mark.parametrize("order", [0, 1, None])
def test_a_column_that_is_constant_in_one_class_borrows_a_share_of_its_variance_elsewhere(order):
    """n equal values and one that is off by a deviation: the variance is 1/(n + 1) of it."""
    X, y = classes(90, 3)
    X[y == 0, 1] = 0.25
    model = GaussianBayes(order=order).fit(X, y)
    within = np.mean([(row - X[y == c].mean(0)) ** 2 for row, c in zip(X, y, strict=True)], axis=0)
    assert model.covariances_[0][1, 1] == pytest.approx(within[1] / 31, rel=1e-9)
    np.testing.assert_allclose(np.diagonal(model.covariances_[1]), X[y == 1].var(axis=0))
    assert model.certificate_.ok


def test_pixels_that_are_dark_in_a_class_do_not_overrule_the_others():
    """Of the digits most classes have columns without variance."""
    X, y = load_digits(return_X_y=True)
    even = np.arange(len(X)) % 2 == 0
    ours = GaussianBayes(order=0).fit(X[even], y[even]).score(X[~even], y[~even])
    assert ours >= GaussianNB().fit(X[even], y[even]).score(X[~even], y[~even])


@pytest.mark.parametrize("unit", [1e-150, 1e-30, 1e30, 1e150])
@pytest.mark.parametrize("order", [None, 1])
def test_the_scale_of_the_data_does_not_matter(unit, order):
    X, y = classes(60, 3)
    plain = GaussianBayes(order=order).fit(X, y).predict_log_proba(X)
    scaled = GaussianBayes(order=order).fit(unit * X, y).predict_log_proba(unit * X)
    np.testing.assert_allclose(scaled, plain, rtol=1e-8, atol=1e-9)


def test_weights_are_repetitions():
    X, y = classes(30, 2)
    count = np.random.default_rng(0).integers(0, 4, 30)
    for ddof in (0, 1):
        weighted = GaussianBayes(ddof=ddof).fit(X, y, sample_weight=count)
        repeated = GaussianBayes(ddof=ddof).fit(np.repeat(X, count, axis=0), np.repeat(y, count))
        np.testing.assert_allclose(weighted.log_density(X), repeated.log_density(X), rtol=1e-9)


def test_the_proof_does_not_hold_for_other_moments():
    X, y = classes(60, 4)
    for order in (None, 1):
        model = GaussianBayes(order=order).fit(X, y)
        weight, counts = np.ones(60), np.bincount(y)
        assert model._proved(X, y, weight, counts).certificate.ok
        assert not model._proved(X + 0.01 * table(60, 4), y, weight, counts).certificate.ok
        model.factors_ = model.factors_ * (1 + 1e-6)
        assert not model._proved(X, y, weight, counts).certificate.ok


# ---------------------------------------------------------------- bad input
X3, Y3 = classes(30, 2)
BAD = {
    "loss shape": ({"loss": np.eye(2)}, "loss must be 3 × 3 finite numbers"),
    "loss nan": ({"loss": np.full((3, 3), np.nan)}, "loss must be 3 × 3 finite numbers"),
    "priors": ({"priors": [0.5, 0.5]}, "priors must be 3 positive numbers with sum 1"),
    "priors sum": ({"priors": [0.5, 0.5, 0.5]}, "priors must be 3 positive numbers with sum 1"),
    "order": ({"order": -1}, "'order'.*Got -1"),
    "shrinkage": ({"shrinkage": 2.0}, "'shrinkage'.*Got 2.0"),
    "reject": ({"reject": -0.1}, "'reject'.*Got -0.1"),
    "reject label is a class": (
        {"reject": 0.1, "reject_label": 2},
        "reject_label must not be a class; got 2",
    ),
    "reject label is text": ({"reject": 0.1, "reject_label": "no"}, "must be a number.*got 'no'"),
}


@pytest.mark.parametrize(("settings", "match"), BAD.values(), ids=BAD.keys())
def test_bad_parameters_are_named(settings, match):
    refuses(lambda: GaussianBayes(**settings).fit(X3, Y3), ValueError, match)


def test_one_class_is_refused():
    refuses(lambda: GaussianBayes().fit(X3, np.zeros(30)), ValueError, "at least two classes")


def test_a_class_without_weight_is_refused():
    refuses(
        lambda: GaussianBayes().fit(X3, Y3, sample_weight=(Y3 != 1).astype(float)),
        ValueError,
        "class .*1.* has only weights of zero",
    )


def test_small_weights_need_ddof_0():
    refuses(
        lambda: GaussianBayes(ddof=1).fit(X3, Y3, sample_weight=np.full(30, 0.01)),
        ValueError,
        "ddof=1 needs more than one row of each class",
    )


# ---------------------------------------------------------------- covariances of others
@pytest.mark.parametrize("estimator", [OAS(), ShrunkCovariance(shrinkage=0.3)], ids=repr)
def test_a_covariance_estimator_is_fitted_to_each_class(estimator):
    rows, labels = WINE
    model = GaussianBayes(covariance=estimator).fit(rows, labels)
    assert model.certificate_.ok
    logs = []
    for c, prior in enumerate(model.priors_):
        mine = rows[labels == c]
        wanted = clone(estimator).fit(mine).covariance_
        np.testing.assert_allclose(model.covariances_[c], wanted, rtol=1e-9)
        logs.append(np.log(prior) + multivariate_normal(mine.mean(axis=0), wanted).logpdf(rows))
    wanted = softmax(np.array(logs), axis=0).T
    np.testing.assert_allclose(model.predict_proba(rows), wanted, atol=1e-8)
    assert not hasattr(estimator, "covariance_")


def test_estimated_covariances_may_be_tied_or_of_an_order():
    rows, labels = WINE
    shares = np.bincount(labels) / len(labels)
    found = [OAS().fit(rows[labels == c]).covariance_ for c in range(3)]
    tied = GaussianBayes(covariance=OAS(), tied=True).fit(rows, labels)
    wanted = np.einsum("c,cij->ij", shares, found)
    np.testing.assert_allclose(tied.covariances_[0], wanted, rtol=1e-9)
    band = GaussianBayes(covariance=OAS(), order=1).fit(rows, labels)
    for S, T in zip(band.covariances_, found, strict=True):
        np.testing.assert_allclose(np.diagonal(S), np.diagonal(T), rtol=1e-9)
        np.testing.assert_allclose(np.diagonal(S, 1), np.diagonal(T, 1), rtol=1e-9, atol=1e-12)
    assert tied.certificate_.ok
    assert band.certificate_.ok


def test_what_goes_not_with_a_covariance_estimator_is_said():
    rows, labels = WINE
    model = GaussianBayes(covariance=OAS())
    with pytest.raises(ValueError, match="neither sample_weight, shrinkage nor ddof"):
        model.fit(rows, labels, sample_weight=np.arange(len(rows)) + 1.0)
    with pytest.raises(ValueError, match="neither sample_weight, shrinkage nor ddof"):
        GaussianBayes(covariance=OAS(), shrinkage=0.5).fit(rows, labels)
    with pytest.raises(ValueError, match="partial_fit needs covariance=None"):
        model.partial_fit(rows, labels, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="whose fit sets covariance_"):
        GaussianBayes(covariance=StandardScaler()).fit(rows, labels)
