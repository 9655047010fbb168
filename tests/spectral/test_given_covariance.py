"""Discriminants with covariances of others, and scaling under any metric."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.covariance import OAS, ShrunkCovariance
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression
from sklearn.metrics import pairwise_distances

from mercer import LDA, MDS
from tests.compare import refuses

X, Y = load_wine(return_X_y=True)


@pytest.mark.parametrize("estimator", [OAS(), ShrunkCovariance(shrinkage=0.3)], ids=repr)
def test_a_covariance_estimator_is_fitted_to_each_class(estimator):
    ours = LDA(covariance=estimator, priors=[0.5, 0.2, 0.3]).fit(X, Y)
    theirs = LinearDiscriminantAnalysis(
        solver="eigen",
        covariance_estimator=clone(estimator),
        priors=[0.5, 0.2, 0.3],
        store_covariance=True,
    )
    theirs.fit(X, Y)
    np.testing.assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-10)
    assert ours.certificate_.ok
    assert not hasattr(estimator, "covariance_")


def test_what_is_no_covariance_estimator_is_said():
    both = LDA(covariance=OAS(), shrinkage=0.5)
    refuses(lambda: both.fit(X, Y), ValueError, "covariance and shrinkage exclude")
    refuses(lambda: LDA(covariance=3.0).fit(X, Y), ValueError, "covariance")


def test_an_estimator_must_leave_a_covariance():
    class Other(LinearRegression):
        def fit(self, X):
            return self

    refuses(lambda: LDA(covariance=Other()).fit(X, Y), ValueError, "whose fit sets covariance_")


def largest_step(u, v):
    return np.abs(u - v).max()


@pytest.mark.parametrize("metric", ["manhattan", "cosine", "canberra", largest_step])
@pytest.mark.parametrize("transform", [None, "power"])
def test_scaling_under_a_metric_is_that_of_its_distances(metric, transform):
    train, new = X[:70], X[70:90]
    ours = MDS(3, metric=metric, transform=transform).fit(train)
    given = MDS(3, metric="precomputed", transform=transform)
    given.fit(pairwise_distances(train, metric=metric))
    np.testing.assert_allclose(ours.embedding_, given.embedding_, atol=1e-8)
    distances = pairwise_distances(new, train, metric=metric)
    np.testing.assert_allclose(ours.transform(new), given.transform(distances), atol=1e-6)
    assert ours.stress_ == pytest.approx(given.stress_)


def test_a_metric_that_is_none_is_refused():
    refuses(lambda: MDS(metric="nearby").fit(X), ValueError, "metric")
    refuses(lambda: MDS(metric=lambda u, v: u[0] - v[0]).fit(X), ValueError, "metric")
