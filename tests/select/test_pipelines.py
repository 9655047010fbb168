"""Pipelines that end in a kernel machine share what they can, and change nothing."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from mercer import SVC, KernelRidge
from mercer.kernels import RBF, FromFunction
from mercer.select import KernelSearchCV, cross_validate
from tests.cases import WORDS, shared_letters, table
from tests.select.test_search import CLASSES, NUMBERS, X, assert_same, both

SHARED = "shared Gram matrix of each fold"

CASES = {
    "scaled SVC": (
        make_pipeline(StandardScaler(), SVC(RBF())),
        {"svc__C": [0.1, 10.0], "svc__kernel__gamma": [0.1, "scale"]},
        CLASSES,
    ),
    "steps with parameters": (
        make_pipeline(StandardScaler(), PCA(), KernelRidge(RBF(), lam=1.0)),
        {"pca__n_components": [1, 2, 3], "kernelridge__lam": [0.1, 1.0]},
        NUMBERS,
    ),
    "steps that are parameters": (
        Pipeline([("scale", "passthrough"), ("ridge", KernelRidge(lam=1.0))]),
        {"scale": ["passthrough", StandardScaler(), MinMaxScaler()], "ridge__lam": [0.1, 1.0]},
        NUMBERS,
    ),
    "one step": (make_pipeline(SVC()), {"svc__C": [0.1, 1.0]}, CLASSES),
}


@pytest.mark.parametrize(("pipeline", "grid", "y"), CASES.values(), ids=CASES)
def test_pipelines_get_the_scores_of_fits_from_scratch(pipeline, grid, y):
    ours, theirs = both(pipeline, grid, X, y, return_train_score=True)
    assert ours.route_ == SHARED
    assert_same(ours, theirs)


def test_weights_go_to_the_last_step():
    weight = np.random.default_rng(0).integers(1, 4, 60).astype(float)
    pipeline = make_pipeline(StandardScaler(), KernelRidge(lam=1.0))
    params = {"kernelridge__sample_weight": weight}
    ours, theirs = both(pipeline, {"kernelridge__lam": [0.1, 1.0]}, X, NUMBERS, params)
    assert ours.route_ == SHARED
    assert_same(ours, theirs)


def test_words_that_are_counted():
    words = [f"{a} {b}" for a in WORDS for b in WORDS]
    y = np.array([float(len(word)) for word in words])
    pipeline = make_pipeline(CountVectorizer(), KernelRidge("linear", lam=1.0))
    ours, theirs = both(pipeline, {"kernelridge__lam": [0.1, 1.0]}, words, y)
    assert ours.route_ == SHARED
    assert_same(ours, theirs)


class Counts(TransformerMixin, BaseEstimator):
    """A step that does nothing but count its fits."""

    fits: list[int] = []

    def fit(self, rows, y=None):
        Counts.fits.append(len(rows))
        return self

    def transform(self, rows):
        return rows

    def __sklearn_is_fitted__(self):
        return True


def test_earlier_steps_are_fitted_once_for_each_fold():
    Counts.fits.clear()
    grid = {"svc__C": [0.1, 1.0, 10.0], "svc__kernel__gamma": [0.1, 1.0]}
    KernelSearchCV(make_pipeline(Counts(), SVC("rbf")), grid, refit=False).fit(X, CLASSES)
    assert Counts.fits == [48] * 5


REFUSED = {
    "no kernel machine": (make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [1.0]}),
    "the last step as a parameter": (
        Pipeline([("scale", StandardScaler()), ("last", KernelRidge(lam=1.0))]),
        {"last": [KernelRidge(lam=1.0), Ridge()]},
    ),
}


@pytest.mark.parametrize(("pipeline", "grid"), REFUSED.values(), ids=REFUSED)
def test_other_pipelines_are_cross_validated_in_the_ordinary_way(pipeline, grid):
    ours, theirs = both(pipeline, grid, X, NUMBERS)
    assert ours.route_.startswith("ordinary cross-validation: ")
    assert_same(ours, theirs)


def test_a_scorer_that_may_look_at_the_steps_gets_true_pipelines():
    def steps(model, rows, y):
        assert model[0].mean_.shape == (3,)
        return float(model.predict(rows).mean())

    pipeline = make_pipeline(StandardScaler(), KernelRidge(lam=1.0))
    ours, theirs = both(pipeline, {"kernelridge__lam": [0.1, 1.0]}, X, NUMBERS, scoring=steps)
    assert "scorer" in ours.route_
    assert_same(ours, theirs)


def test_kernels_of_objects_are_left_alone():
    words = [a + b for a in WORDS for b in WORDS][:20]
    pipeline = make_pipeline(Counts(), SVC(FromFunction(shared_letters, definiteness="psd")))
    ours, theirs = both(pipeline, {"svc__C": [1.0]}, words, np.arange(20) % 2, cv=2)
    assert "vectors" in ours.route_
    assert_same(ours, theirs)


@pytest.mark.filterwarnings("ignore:One or more of the test scores:UserWarning")
def test_a_step_that_fails_is_a_failed_fit():
    pipeline = make_pipeline(PCA(), KernelRidge(lam=1.0))
    search = KernelSearchCV(pipeline, {"pca__n_components": [2, 30]})
    with pytest.warns(FitFailedWarning, match="5 of 10 fits failed"):
        search.fit(X, NUMBERS)
    assert search.best_params_ == {"pca__n_components": 2}


@pytest.mark.filterwarnings("ignore:One or more of the test scores:UserWarning")
def test_a_kernel_that_is_none_is_a_failed_fit():
    pipeline = make_pipeline(StandardScaler(), KernelRidge(lam=1.0))
    search = KernelSearchCV(pipeline, {"kernelridge__kernel": ["linear", "no kernel", 3.0]})
    with pytest.warns(FitFailedWarning, match="10 of 15 fits failed"):
        search.fit(X, NUMBERS)
    assert search.route_ == SHARED
    assert search.best_index_ == 0


def test_cross_validation_of_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), SVC())
    rows = table(60, 3) * [1.0, 10.0, 100.0]
    found = cross_validate(pipeline, rows, CLASSES)["test_score"]
    exact = GridSearchCV(pipeline, {"svc__C": [1.0]}).fit(rows, CLASSES).cv_results_
    np.testing.assert_allclose(found, [exact[f"split{i}_test_score"][0] for i in range(5)])
