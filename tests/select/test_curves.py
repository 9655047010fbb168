"""Cross-validation and curves give scikit-learn's numbers."""

from __future__ import annotations

from inspect import signature

import numpy as np
import pytest
from sklearn import config_context, model_selection
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import Ridge, SGDRegressor
from sklearn.model_selection import GroupKFold, KFold

from mercer import SVC, KernelRidge
from mercer.kernels import RBF, Matern
from mercer.kernels.sample import Pair
from mercer.select import cross_validate, learning_curve, validation_curve
from tests.cases import table

X = table(60, 3)
NUMBERS = X[:, 0] + np.sin(X[:, 1])
CLASSES = np.where(NUMBERS > 0, "high", "low")
ESTIMATORS = [SVC(), SVC(RBF(0.5), C=10.0), KernelRidge(lam=0.1), Ridge()]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)


def targets(estimator):
    return CLASSES if isinstance(estimator, SVC) else NUMBERS


@pytest.fixture
def computed(monkeypatch):
    """Record the shape of every computed tile of a statistic."""
    found = []
    original = Pair._compute

    def record(self, statistic, out):
        found.append(out.shape)
        original(self, statistic, out)

    monkeypatch.setattr(Pair, "_compute", record)
    return found


@every_estimator
@pytest.mark.parametrize("more", [{}, {"return_train_score": True, "return_indices": True}])
def test_cross_validation(estimator, more):
    ours = cross_validate(estimator, X, targets(estimator), cv=4, **more)
    theirs = model_selection.cross_validate(estimator, X, targets(estimator), cv=4, **more)
    assert list(ours) == list(theirs)
    for name in ("test_score", "train_score"):
        if name in theirs:
            np.testing.assert_allclose(ours[name], theirs[name], atol=1e-9)
    if more:
        for side in ("train", "test"):
            for mine, other in zip(ours["indices"][side], theirs["indices"][side], strict=True):
                np.testing.assert_array_equal(mine, other)


def test_cross_validation_by_several_scores():
    scoring = ["accuracy", "roc_auc"]
    ours = cross_validate(SVC(), X, CLASSES, scoring=scoring)
    theirs = model_selection.cross_validate(SVC(), X, CLASSES, scoring=scoring)
    assert list(ours) == list(theirs)
    for name in scoring:
        np.testing.assert_allclose(ours[f"test_{name}"], theirs[f"test_{name}"])


def test_cross_validation_returns_true_models():
    models = cross_validate(SVC(RBF()), X, CLASSES, cv=3, return_estimator=True)["estimator"]
    for model, (train, _) in zip(models, three_folds(CLASSES), strict=True):
        np.testing.assert_array_equal(
            model.decision_function(X),
            SVC(RBF()).fit(X[train], CLASSES[train]).decision_function(X),
        )


def three_folds(y):
    return model_selection.StratifiedKFold(3).split(X, y)


def test_weights_and_groups():
    weight = np.random.default_rng(0).integers(0, 3, 60).astype(float)
    settings = {
        "groups": np.arange(60) % 5,
        "cv": GroupKFold(3),
        "params": {"sample_weight": weight},
    }
    model = KernelRidge(lam=0.1)
    ours = cross_validate(model, X, NUMBERS, **settings)
    theirs = model_selection.cross_validate(model, X, NUMBERS, **settings)
    np.testing.assert_allclose(ours["test_score"], theirs["test_score"])


@every_estimator
@pytest.mark.parametrize("sizes", [[0.4, 0.7, 1.0], [20, 40]])
def test_learning_curve(estimator, sizes):
    settings = {"train_sizes": sizes, "cv": 3, "shuffle": True, "random_state": 0}
    ours = learning_curve(estimator, X, targets(estimator), **settings)
    theirs = model_selection.learning_curve(estimator, X, targets(estimator), **settings)
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-9)


def test_learning_curve_reads_one_gram_matrix(computed):
    learning_curve(KernelRidge(Matern(0.5), lam=0.1), X, NUMBERS, cv=3)
    assert computed == [(60, 60)]


def test_learning_curve_with_times():
    out = learning_curve(KernelRidge(lam=0.1), X, NUMBERS, cv=3, return_times=True)
    assert [part.shape for part in out] == [(5,), *[(5, 3)] * 4]
    assert (out[3] > 0).all()


def test_learning_curve_where_small_samples_hold_one_class():
    order = np.argsort(CLASSES, kind="stable")
    settings = {"cv": KFold(3), "train_sizes": [10, 40]}
    with pytest.warns(FitFailedWarning):
        ours = learning_curve(SVC(), X[order], CLASSES[order], **settings)
    with pytest.warns(FitFailedWarning):
        theirs = model_selection.learning_curve(SVC(), X[order], CLASSES[order], **settings)
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other)


@pytest.mark.parametrize(
    ("estimator", "name", "values"),
    [
        (SVC(), "C", [0.1, 1.0, 10.0]),
        (SVC(RBF()), "kernel__gamma", [0.1, 1.0, "scale"]),
        (KernelRidge(lam=1.0), "lam", [0.1, 1.0]),
        (Ridge(), "alpha", [0.1, 1.0]),
    ],
    ids=repr,
)
def test_validation_curve(estimator, name, values):
    settings = {"param_name": name, "param_range": values, "cv": 4}
    ours = validation_curve(estimator, X, targets(estimator), **settings)
    theirs = model_selection.validation_curve(estimator, X, targets(estimator), **settings)
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-9)


def test_validation_curve_names_an_unknown_parameter():
    with pytest.raises(ValueError, match="'D'"):
        validation_curve(SVC(), X, CLASSES, param_name="D", param_range=[1.0])


def test_routed_metadata_is_left_to_scikit_learn():
    weight = np.arange(60.0)
    with config_context(enable_metadata_routing=True):
        model = KernelRidge(lam=0.1).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=False)
        settings = {"params": {"sample_weight": weight}, "cv": 3}
        ours = cross_validate(model, X, NUMBERS, **settings)
        theirs = model_selection.cross_validate(model, X, NUMBERS, **settings)
    np.testing.assert_array_equal(ours["test_score"], theirs["test_score"])


def test_incremental_fits_are_left_to_scikit_learn():
    settings = {"exploit_incremental_learning": True, "cv": 3, "pre_dispatch": "all"}
    model = SGDRegressor(random_state=0)
    ours = learning_curve(model, X, NUMBERS, **settings)
    theirs = model_selection.learning_curve(model, X, NUMBERS, **settings)
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("function", [cross_validate, learning_curve, validation_curve])
def test_the_parameters_are_those_of_scikit_learn(function):
    theirs = signature(getattr(model_selection, function.__name__)).parameters
    ours = dict(signature(function).parameters)
    assert list(ours) == [*theirs, "memory"]


def test_a_curve_that_is_interrupted_is_no_curve():
    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cross_validate(SVC(), X, CLASSES, scoring=stop)
