"""Novelty detection: LIBSVM's region, and the share ν of points outside."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import svm

from mercer import OneClassSVM
from mercer.kernels import RBF
from tests.cases import table

X, NEW = table(150, 2), 2 * table(40, 2, seed=1)
every_nu = pytest.mark.parametrize("nu", [0.05, 0.3, 0.8])


@every_nu
def test_the_region_is_that_of_libsvm(nu):
    model = OneClassSVM(RBF(gamma=0.5), nu=nu, tol=1e-8).fit(X)
    reference = svm.OneClassSVM(gamma=0.5, nu=nu, tol=1e-8).fit(X)
    np.testing.assert_allclose(
        model.decision_function(NEW), reference.decision_function(NEW), atol=1e-4
    )
    np.testing.assert_allclose(model.offset_, reference.offset_, atol=1e-4)


@every_nu
def test_nu_lies_between_the_outliers_and_the_support_vectors(nu):
    model = OneClassSVM(RBF(gamma=0.5), nu=nu, tol=1e-8).fit(X)
    assert np.mean(model.predict(X) < 0) <= nu + 1e-12
    assert len(model.support_) / 150 >= nu - 1e-12
    assert model.dual_coef_.sum() == pytest.approx(nu * 150)


def test_the_score_is_the_decision_before_the_offset():
    model = OneClassSVM().fit(X)
    np.testing.assert_allclose(
        model.score_samples(NEW) - model.offset_, model.decision_function(NEW), atol=1e-12
    )
