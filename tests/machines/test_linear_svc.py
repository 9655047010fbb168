"""Linear support vector classification: LIBLINEAR's optimum for both losses."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import datasets, svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from mercer import LinearSVC
from tests.cases import two_classes

ROWS, Y = datasets.load_breast_cancer(return_X_y=True)
ROWS = scale(ROWS)


def objective(model, rows, y, loss, C):
    slack = np.maximum(0, 1 - np.where(y > 0, 1, -1) * model.decision_function(rows))
    penalty = 0.5 * (np.sum(model.coef_**2) + np.sum(model.intercept_**2))
    return penalty + C * np.sum(slack**2 if loss == "squared_hinge" else slack)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_the_optimum_is_that_of_liblinear(loss, C):
    model = LinearSVC(loss=loss, C=C, tol=1e-6).fit(ROWS, Y)
    reference = svm.LinearSVC(loss=loss, C=C, tol=1e-8, max_iter=10**6, random_state=0)
    wanted = objective(reference.fit(ROWS, Y), ROWS, Y, loss, C)
    assert model.certificate_.primal == pytest.approx(wanted, rel=1e-5)
    assert objective(model, ROWS, Y, loss, C) == pytest.approx(model.certificate_.primal, rel=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_weight_is_a_repetition(loss):
    rows, sign = two_classes(40)
    counts = 1 + np.arange(40) % 3
    weighted = LinearSVC(loss=loss, tol=1e-8, random_state=0).fit(rows, sign, counts)
    repeated = LinearSVC(loss=loss, tol=1e-8, random_state=0)
    repeated.fit(np.repeat(rows, counts, axis=0), np.repeat(sign, counts))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)


def test_several_classes_are_one_against_the_rest():
    rows, y = datasets.load_iris(return_X_y=True)
    model = LinearSVC(tol=1e-8, random_state=0).fit(scale(rows), y)
    for c in range(3):
        alone = LinearSVC(tol=1e-8, random_state=0).fit(scale(rows), y == c)
        np.testing.assert_allclose(model.coef_[c], alone.coef_[0], atol=1e-5)
    assert len(model.certificate_.problems) == 3


def test_no_more_sweeps_than_max_iter():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 5))
    y = X[:, 0] + 2 * rng.standard_normal(2000) > 0
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = LinearSVC(C=100.0, loss="hinge", tol=1e-9, max_iter=3).fit(X, y)
    assert model.n_iter_ == 3
    assert not model.certificate_.ok
