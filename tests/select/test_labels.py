"""Choosing parameters with few labels: hidden labels, shared deformed kernels."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_moons

from mercer import LaplacianRidge, LaplacianRidgeClassifier, LaplacianSVC, tune
from mercer._limits import Limits
from mercer.kernels import RBF
from mercer.select.labels import LabelSearch

X, TRUE = make_moons(80, noise=0.08, random_state=0)


def few(count, seed=0):
    rng = np.random.default_rng(seed)
    y = np.full(len(TRUE), -1)
    for c in (0, 1):
        chosen = rng.permutation(np.flatnonzero(c == TRUE))[:count]
        y[chosen] = c
    return y


def numbers(every=5):
    y = np.full(len(X), np.nan)
    y[::every] = np.sin(2 * X[::every, 0])
    return y


MACHINES = [
    (LaplacianSVC(RBF(gamma=2.0), tol=1e-6), few(4), {"C": [0.5, 20.0]}),
    (LaplacianSVC(RBF(gamma=2.0), tol=1e-6, fit_intercept=True), few(4), {"C": [0.5, 20.0]}),
    (LaplacianRidgeClassifier(RBF(gamma=2.0)), few(4), {"lam": [1e-3, 1.0]}),
    (LaplacianRidge(RBF(gamma=2.0)), numbers(), {"lam": [1e-3, 1.0]}),
]


@pytest.mark.parametrize(("machine", "y", "penalties"), MACHINES)
def test_scores_are_those_of_machines_that_see_all_rows_and_not_the_hidden_labels(
    machine, y, penalties
):
    scoring = "neg_mean_squared_error" if isinstance(machine, LaplacianRidge) else None
    grid = {**penalties, "lam_graph": [0.01, 1.0]}
    search = LabelSearch(machine, grid, cv=None, scoring=scoring, refit=False).fit(X, y)
    known = np.flatnonzero(~np.isnan(y) if scoring else y >= 0)
    hidden = np.nan if scoring else -1
    seen = 0
    for params, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        if any(params[name] not in values for name, values in grid.items()):
            continue  # of the second round
        scores = []
        for row in known:
            without = y.copy()
            without[row] = hidden
            answer = machine.set_params(**params).fit(X, without).predict(X[row : row + 1])[0]
            scores.append(-((answer - y[row]) ** 2) if scoring else float(answer == y[row]))
        assert score == pytest.approx(np.mean(scores), abs=2e-3 if scoring else 1e-12)
        seen += 1
    assert seen == 4


@pytest.mark.long
def test_it_finds_the_moons_and_says_how_little_it_knows():
    search = tune(LaplacianSVC(RBF()), X, few(3))
    assert search.score(X, TRUE) > 0.97
    assert "6 labels, hidden in 6 turns" in search.report_
    assert "95 % interval" in search.report_
    assert "within one standard error" in search.report_
    assert set(search.best_params_) == {"kernel__gamma", "C", "lam_graph"}
    assert search.best_estimator_.n_labelled_ == 6


@pytest.mark.long
def test_frames_texts_missing_labels_and_several_scores():
    names = np.array(["low", "high"])[TRUE].astype(object)
    names[few(4) < 0] = None
    frame = pd.DataFrame(X.astype(np.float32), columns=["a", "b"])
    scores = {"first": "accuracy", "second": "accuracy"}
    search = tune(LaplacianRidgeClassifier(RBF()), frame, names, scoring=scores, refit="second")
    assert set(search.predict(frame)) == {"low", "high"}
    assert "8 labels, hidden in 8 turns" in search.report_


def test_many_labels_go_in_ten_folds_with_all_classes_in_each():
    search = LabelSearch(LaplacianRidgeClassifier(RBF(gamma=2.0)), {"lam": [0.1]}, refit=False)
    search.set_params(cv=None).fit(X, few(15))
    assert search.n_splits_ == 10


@pytest.mark.parametrize("y", [few(1), np.where(np.arange(80) < 1, 0, -1)])
def test_where_hiding_a_label_leaves_one_class_nothing_can_be_chosen(y):
    with pytest.raises(ValueError, match=r"label|class"):
        tune(LaplacianSVC(), X, y)


def test_time_and_missing_targets_are_told():
    with pytest.raises(ValueError, match="no labels"):
        tune(LaplacianSVC(), X, np.full(80, -1))
    with pytest.raises(ValueError, match="y must be"):
        tune(LaplacianSVC(), X)


def test_a_kernel_under_several_penalties_is_deformed_as_under_each():
    labelled = np.flatnonzero(few(4) >= 0)
    machine = LaplacianSVC(RBF(gamma=1.0), lam_graph=1.0)
    together = list(machine.deformations(X, labelled, [0.1, 10.0], Limits()))
    for part, K in zip([0.1, 10.0], together, strict=True):
        [alone] = machine.deformations(X, labelled, [part], Limits())
        np.testing.assert_allclose(K, alone, atol=1e-12)
        L = _laplacian(machine)
        G = RBF(gamma=1.0)(X)
        whole = np.linalg.solve(np.eye(80) + part * G @ L, G)
        np.testing.assert_allclose(K, whole[np.ix_(labelled, labelled)], atol=1e-3)


def _laplacian(machine):
    W = machine.graph_.toarray()
    d = W.sum(axis=1)
    return np.eye(len(W)) - W / np.sqrt(d[:, None] * d)
