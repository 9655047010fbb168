"""Rows with several labels: each is a problem of its own, and what is shared changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier

from mercer import (
    KNN,
    SVC,
    KernelRidgeClassifier,
    KernelSearchCV,
    LogisticRegression,
    MetricRidgeClassifier,
    MLPClassifier,
    load,
    save,
)
from mercer.io import write_c
from tests.compare import refuses

X, Y = make_multilabel_classification(150, 6, n_classes=4, random_state=0)
NEW = X[::3] + 0.1
WORDS = np.where(Y[:, :2] == 1, [["sea", "day"]], [["land", "night"]])
MODELS = [
    KNN(3),
    KernelRidgeClassifier(),
    MetricRidgeClassifier(rounds=1, lam=0.1, random_state=0),
    MLPClassifier((), lam=0.01, random_state=0),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=repr)


def test_ridge_is_that_of_scikit_learn():
    model = KernelRidgeClassifier("linear", lam=2.0).fit(X, Y)
    peer = RidgeClassifier(alpha=2.0).fit(X, Y)
    values = peer.decision_function(NEW)
    np.testing.assert_allclose(model.decision_function(NEW), values, atol=1e-9)
    np.testing.assert_array_equal(model.predict(NEW), peer.predict(NEW))
    assert model.coef_.shape == (4, 6)
    assert model.certificate_.ok


@pytest.mark.parametrize("lam", [1.0, "loo"])
@pytest.mark.parametrize("landmarks", [None, 30])
def test_ridge_of_labels_is_ridge_of_each(lam, landmarks):
    options = {"landmarks": landmarks, "random_state": 0}
    model = KernelRidgeClassifier(lam=lam, **options).fit(X, Y)
    each = [
        KernelRidgeClassifier(lam=model.lam_, **options).fit(X, y).decision_function(NEW)
        for y in Y.T
    ]
    np.testing.assert_allclose(model.decision_function(NEW), np.transpose(each), atol=1e-8)


def test_neighbours_are_those_of_scikit_learn():
    model, peer = KNN(5).fit(X, WORDS), KNeighborsClassifier(5).fit(X, WORDS)
    np.testing.assert_array_equal(model.predict(NEW), peer.predict(NEW))
    for mine, theirs in zip(model.predict_proba(NEW), peer.predict_proba(NEW), strict=True):
        np.testing.assert_allclose(mine, theirs)
    for mine, theirs in zip(model.classes_, peer.classes_, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_a_network_without_hidden_layers_is_a_logistic_regression_of_each_label():
    options = {"standardize": False, "tol": 1e-8, "max_epochs": 3000}
    model = MLPClassifier((), lam=0.01, **options).fit(X, Y)
    each = [LogisticRegression(lam=0.01 * len(X)).fit(X, y).predict_proba(NEW)[:, 1] for y in Y.T]
    np.testing.assert_allclose(model.predict_proba(NEW), np.transpose(each), atol=1e-5)
    np.testing.assert_array_equal(model.predict(NEW), model.decision_function(NEW) > 0.0)


def test_a_network_learns_labels_in_parts():
    model = MLPClassifier(8, solver="adam", learning_rate=0.02, random_state=0)
    for _ in range(40):
        model.partial_fit(X, Y, classes=range(4))
    share = Y.mean(axis=0)
    assert (model.predict(X) == Y).mean() > np.maximum(share, 1.0 - share).mean() + 0.1
    refuses(lambda: model.partial_fit(X, Y[:, :3]), ValueError, "a column for each of the 4 labels")


@every_model
def test_a_stored_model_answers_alike(model, tmp_path):
    save(model.fit(X, Y), tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))
    assert again.predict(NEW).shape == (len(NEW), 4)
    assert again.score(X, Y) == model.score(X, Y)


@every_model
def test_a_column_of_labels_is_one_label(model):
    with pytest.warns(DataConversionWarning):
        model.fit(X, Y[:, :1])
    assert model.predict(NEW).shape == (len(NEW),)


def test_a_search_over_one_matrix_scores_as_one_by_one():
    grid = {"lam": [0.1, 1.0], "kernel__gamma": [0.01, 0.1]}
    mine, theirs = (
        search(KernelRidgeClassifier("rbf"), grid, cv=3).fit(X, Y)
        for search in (KernelSearchCV, GridSearchCV)
    )
    scores = (search.cv_results_["mean_test_score"] for search in (mine, theirs))
    np.testing.assert_allclose(*scores)


def test_probabilities_of_a_learned_metric_are_of_each_label():
    model = MetricRidgeClassifier(rounds=1, lam=0.1, random_state=0).fit(X, Y)
    P = model.predict_proba(NEW)
    assert P.shape == (len(NEW), 4)
    values = model.decision_function(NEW)
    for column, p in zip(values.T, P.T, strict=True):
        assert (np.diff(p[np.argsort(column)]) >= 0.0).all()


def test_sparse_tables_of_labels():
    for model in (KernelRidgeClassifier(), MLPClassifier((), lam=0.01, random_state=0)):
        dense = model.fit(X, Y).predict(NEW)
        np.testing.assert_array_equal(model.fit(X, sp.csr_array(Y)).predict(NEW), dense)


def test_what_is_no_table_of_labels_is_named(tmp_path):
    for model in (KernelRidgeClassifier(), MLPClassifier(4)):
        refuses(lambda m=model: m.fit(X, 2 * Y), ValueError, "table of 0 and 1")
        refuses(lambda m=model: m.fit(X, WORDS), ValueError, "table of 0 and 1")
    refuses(lambda: SVC().fit(X, Y), ValueError, "1d array")
    refuses(
        lambda: KernelRidgeClassifier(class_weight="balanced").fit(X, Y), ValueError, "class_weight"
    )
    model = KernelRidgeClassifier().fit(X, Y)
    refuses(lambda: write_c(model, tmp_path / "model.c"), ValueError, "one label")
