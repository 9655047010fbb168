"""Classification by kernel ridge regression is regression on ±1."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import RidgeClassifier

from mercer import KernelRidge, KernelRidgeClassifier
from mercer.kernels import RBF, FromFeatureMap
from tests.cases import WORDS, letter_counts, table, two_classes

IRIS, SPECIES = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
offsets = pytest.mark.parametrize("fit_intercept", [True, False])


@offsets
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 3.0, 1: 0.5}])
@pytest.mark.parametrize("rows", [slice(None), slice(0, 110)], ids=["balanced", "unbalanced"])
def test_with_a_linear_kernel_it_is_that_of_scikit_learn(fit_intercept, class_weight, rows):
    X, y = IRIS[rows], SPECIES[rows]
    options = {"fit_intercept": fit_intercept, "class_weight": class_weight}
    model = KernelRidgeClassifier("linear", lam=0.7, **options).fit(X, y)
    reference = RidgeClassifier(alpha=0.7, **options).fit(X, y)
    wanted = reference.decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), wanted, atol=1e-7)
    np.testing.assert_array_equal(model.predict(X), reference.predict(X))


@offsets
def test_two_classes_are_one_regression(fit_intercept):
    X, sign = two_classes(40)
    kernel = RBF(gamma=0.5)
    model = KernelRidgeClassifier(kernel, lam=0.3, fit_intercept=fit_intercept).fit(X, sign > 0)
    by_hand = KernelRidge(kernel, lam=0.3, fit_intercept=fit_intercept).fit(X, sign)
    values = model.decision_function(X)
    assert values.shape == (40,)
    np.testing.assert_allclose(values, by_hand.predict(X), atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), values > 0)
    assert isinstance(model.intercept_, float)


def test_several_classes_are_each_against_the_rest():
    kernel = RBF(gamma=0.5)
    model = KernelRidgeClassifier(kernel, lam=0.3).fit(IRIS, NAMES)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    values = model.decision_function(IRIS)
    assert values.shape == (150, 3)
    assert model.dual_coef_.shape == (150, 3)
    for k, name in enumerate(model.classes_):
        alone = KernelRidge(kernel, lam=0.3).fit(IRIS, np.where(name == NAMES, 1.0, -1.0))
        np.testing.assert_allclose(values[:, k], alone.predict(IRIS), atol=1e-10)
    np.testing.assert_array_equal(model.predict(IRIS), model.classes_[values.argmax(axis=1)])
    assert model.score(IRIS, NAMES) > 0.95


def test_class_weights_are_sample_weights():
    X, sign = two_classes(41)
    by_class = KernelRidgeClassifier(class_weight={1.0: 3.0}).fit(X, sign)
    by_row = KernelRidgeClassifier().fit(X, sign, np.where(sign == 1.0, 3.0, 1.0))
    values = [m.decision_function(X) for m in (by_class, by_row)]
    # gamma="scale" looks at sample weights: the kernels differ unless it is fixed
    assert not np.allclose(*values)
    by_class, by_row = (m.set_params(kernel=RBF(gamma=0.5)) for m in (by_class, by_row))
    by_class.fit(X, sign)
    by_row.fit(X, sign, np.where(sign == 1.0, 3.0, 1.0))
    np.testing.assert_allclose(by_class.decision_function(X), by_row.decision_function(X))


@pytest.mark.parametrize("lam", ["loo", [0.01, 1.0]], ids=str)
def test_the_penalty_is_chosen_by_leave_one_out(lam):
    kernel = RBF(gamma=0.5)
    model = KernelRidgeClassifier(kernel, lam=lam).fit(IRIS, NAMES)
    signs = np.where(NAMES[:, None] == model.classes_, 1.0, -1.0)
    regression = KernelRidge(kernel, lam=lam).fit(IRIS, signs)
    assert model.lam_ == regression.lam_
    np.testing.assert_allclose(model.loo_error_, regression.loo_error_, rtol=1e-12)
    assert model.certificate_.ok


def test_words_are_classified():
    long = ["long" if len(word) > 6 else "short" for word in WORDS]
    model = KernelRidgeClassifier(FromFeatureMap(letter_counts), lam=1e-3).fit(WORDS, long)
    assert model.predict(WORDS).tolist() == long


def test_a_small_budget_gives_the_same_classes():
    small = KernelRidgeClassifier(RBF(gamma=0.5), memory="40kB").fit(IRIS, NAMES)
    whole = KernelRidgeClassifier(RBF(gamma=0.5)).fit(IRIS, NAMES)
    assert small.certificate_.ok
    np.testing.assert_allclose(
        small.decision_function(IRIS), whole.decision_function(IRIS), atol=1e-6
    )


def test_one_class_is_an_error():
    with pytest.raises(ValueError, match=r"at least two classes; got 1 class: \[1\.0\]"):
        KernelRidgeClassifier().fit(table(5, 2), np.ones(5))


def test_numbers_are_no_labels():
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        KernelRidgeClassifier().fit(table(5, 2), table(5, 1)[:, 0])
