"""The linear kernel: machines have weights, and whoever ranks columns finds them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_selection import RFE

from mercer import (
    SVC,
    SVR,
    KernelLogistic,
    KernelMachine,
    KernelRidge,
    KernelRidgeClassifier,
    LaplacianRidge,
    LaplacianRidgeClassifier,
    OneClassSVM,
    Perceptron,
    Ridge,
)
from mercer.kernels import Linear
from tests.cases import table
from tests.compare import refuses

X = table(80, 4)
Y = np.digitize(X @ [0.0, 3.0, 0.0, -2.0], [-1.0, 1.0])
REGRESSORS = [
    SVR("linear"),
    KernelRidge("linear"),
    KernelRidge("linear", fit_intercept=False),
    KernelRidge("linear", landmarks=10, random_state=0),
    KernelMachine("huber", kernel="linear"),
    LaplacianRidge("linear"),
]
CLASSIFIERS = [
    SVC("linear", multiclass="ovr"),
    KernelRidgeClassifier("linear"),
    KernelLogistic("linear"),
    KernelMachine("logistic", kernel="linear"),
    LaplacianRidgeClassifier("linear", unlabelled=None),
]


@pytest.mark.parametrize("model", REGRESSORS, ids=repr)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
def test_a_prediction_is_the_weights_times_the_row(model, form):
    model = clone(model).fit(form(X), X[:, 1])
    w = np.ravel(model.coef_)
    np.testing.assert_allclose(model.predict(form(X)), X @ w + model.intercept_, atol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
def test_decision_values_are_the_weights_times_the_row(model, classes):
    model = clone(model).fit(X, np.minimum(Y, classes - 1))
    assert model.coef_.shape == (1 if classes == 2 else 3, 4)
    values = model.decision_function(X).reshape(len(X), -1)
    np.testing.assert_allclose(values, X @ model.coef_.T + model.intercept_, atol=1e-9)


def test_several_targets_have_a_row_each():
    model = KernelRidge("linear").fit(X, X[:, :2])
    assert model.coef_.shape == (2, 4)
    np.testing.assert_allclose(model.predict(X), X @ model.coef_.T + model.intercept_, atol=1e-9)


@pytest.mark.parametrize("model", [*REGRESSORS, *CLASSIFIERS], ids=repr)
def test_elimination_of_columns_keeps_those_that_count(model):
    target = X @ [0.0, 3.0, 0.0, -2.0]
    target = target if model in REGRESSORS else (target > 0).astype(int)
    chosen = RFE(clone(model), n_features_to_select=2).fit(X, target)
    assert chosen.support_.tolist() == [False, True, False, True]


@pytest.mark.parametrize("model", [KernelRidge(), KernelLogistic(), SVC(), SVR()], ids=repr)
def test_other_kernels_have_no_weights(model):
    fitted = clone(model).fit(X, (Y > 0).astype(int))
    assert not hasattr(fitted, "coef_")
    refuses(lambda: fitted.coef_, AttributeError, "linear kernel only")
    assert not hasattr(clone(model), "coef_")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("bias", [0.0, 2.0, -0.5])
@pytest.mark.parametrize("model", [SVC(), SVR(), OneClassSVM(), Perceptron()], ids=repr)
def test_an_offset_of_the_kernel_is_part_of_the_sum(model, bias):
    """f(x) = Σ β (x·xᵢ + c), though only w·x is computed."""
    kernel = Linear(bias)
    model = clone(model).set_params(kernel=kernel).fit(X, (X[:, 0] > 0).astype(int))
    sums = kernel(X, model.support_vectors_) @ model.dual_coef_.T
    answer = getattr(model, "decision_function", getattr(model, "predict", None))
    np.testing.assert_allclose(answer(X), sums[:, 0] + model.intercept_[0], atol=1e-8)


# ---------------------------------------------------------------- parameters
def test_an_infinite_bound_lets_no_target_out_of_the_tube():
    model = SVR("rbf", C=np.inf, epsilon=0.1).fit(X, X[:, 0])
    assert model.certificate_.ok
    assert np.abs(model.predict(X) - X[:, 0]).max() <= 0.1 + 1e-3
    weight = np.where(np.arange(80) < 10, 0.0, 1.0)
    far = np.where(weight > 0, X[:, 0], 100.0)
    model.fit(X, far, sample_weight=weight)
    assert np.abs(model.predict(X) - far)[weight > 0].max() <= 0.1 + 1e-3


def test_a_tube_that_no_function_keeps_to_is_said():
    noise = table(80, 1, seed=5)[:, 0]
    refuses(lambda: SVR("linear", C=np.inf).fit(X, noise), ValueError, "C=inf.*choose a finite C")


@pytest.mark.parametrize("lam", [[1, "1"], ["1", "2"], [True, False], [1.0, None], [[1.0], [2.0]]])
def test_a_list_of_penalties_holds_numbers(lam):
    for model in (Ridge(lam), KernelRidge(lam=lam)):
        refuses(lambda model=model: model.fit(X, X[:, 0]), ValueError, "list of finite numbers > 0")
