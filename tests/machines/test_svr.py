"""Support vector regression: LIBSVM's optimum, a proof, and weights that repeat."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import datasets, svm
from sklearn.preprocessing import scale

from mercer import SVR
from mercer.kernels import RBF
from tests.cases import table

ROWS, Y = datasets.load_diabetes(return_X_y=True)
ROWS, Y = scale(ROWS), scale(Y)
KERNEL = RBF(gamma=0.1)


@pytest.mark.parametrize("C", [0.5, 20.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5])
def test_the_optimum_is_that_of_libsvm(C, epsilon):
    model = SVR(KERNEL, C=C, epsilon=epsilon, tol=1e-6).fit(ROWS, Y)
    reference = svm.SVR(gamma=0.1, C=C, epsilon=epsilon, tol=1e-6).fit(ROWS, Y)
    beta = np.zeros(len(Y))
    beta[reference.support_] = reference.dual_coef_[0]
    dual = Y @ beta - epsilon * np.abs(beta).sum() - 0.5 * beta @ KERNEL(ROWS) @ beta
    assert model.certificate_.dual == pytest.approx(dual, rel=1e-6)
    np.testing.assert_allclose(model.predict(ROWS), reference.predict(ROWS), atol=1e-3)


def test_a_tube_that_holds_all_needs_no_support_vectors():
    model = SVR(KERNEL, epsilon=10.0).fit(ROWS, Y)
    assert len(model.support_) == 0
    assert model.certificate_.ok
    assert np.ptp(model.predict(ROWS)) == 0.0


def test_a_weight_is_a_repetition():
    rows, counts = table(40, 2), np.arange(40) % 3
    y = np.sin(rows[:, 0])
    weighted = SVR(KERNEL, tol=1e-8).fit(rows, y, counts)
    repeated = SVR(KERNEL, tol=1e-8).fit(np.repeat(rows, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.predict(rows), repeated.predict(rows), atol=1e-5)


def test_support_vectors_lie_on_or_outside_the_tube():
    model = SVR(KERNEL, epsilon=0.3, tol=1e-8).fit(ROWS, Y)
    error = np.abs(Y - model.predict(ROWS))
    assert (error[model.support_] >= 0.3 - 1e-6).all()
    assert (np.delete(error, model.support_) <= 0.3 + 1e-6).all()
