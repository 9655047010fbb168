"""Paths of C over all folds give the scores of fits from scratch."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterGrid, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from mercer import SVC, SVR, KernelSearchCV
from mercer.kernels import RBF, Linear, Polynomial
from mercer.select import margin_paths as paths
from tests.cases import two_classes

X2, Y2 = two_classes(90)
X3, Y3 = load_wine(return_X_y=True)
X3 = StandardScaler().fit_transform(X3)
XR, YR = load_diabetes(return_X_y=True)
XR, YR = StandardScaler().fit_transform(XR)[:120], (YR[:120] - YR.mean()) / YR.std()
CS = [0.01, 0.3, 1.0, 30.0, 1000.0]
FOLDS = StratifiedKFold(3)


def from_scratch(model, grid, X, y, folds, weight=None):
    """Return the scores of fits on each fold, shape (candidates, folds)."""
    scores = []
    for params in ParameterGrid(grid):
        row = []
        for train, test in folds:
            fit = {} if weight is None else {"sample_weight": weight[train]}
            machine = clone(model).set_params(**params).fit(X[train], y[train], **fit)
            # scikit-learn's searches weight the score as well
            row.append(machine.score(X[test], y[test], None if weight is None else weight[test]))
        scores.append(row)
    return np.array(scores)


def searched(model, grid, X, y, folds, **fit):
    search = KernelSearchCV(model, grid, cv=folds, refit=False).fit(X, y, **fit)
    assert search.route_ == "shared Gram matrix"
    names = [f"split{i}_test_score" for i in range(len(folds))]
    return np.column_stack([search.cv_results_[name] for name in names])


@pytest.mark.parametrize("kernel", [RBF(gamma=0.5), Linear(), Polynomial(degree=2)], ids=repr)
@pytest.mark.parametrize("class_weight", [None, "balanced", {1: 3.0}])
def test_two_classes(kernel, class_weight):
    folds = list(FOLDS.split(X2, Y2))
    model = SVC(kernel, tol=1e-7, class_weight=class_weight)
    np.testing.assert_array_equal(
        searched(model, {"C": CS}, X2, Y2, folds), from_scratch(model, {"C": CS}, X2, Y2, folds)
    )


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_several_classes(multiclass):
    folds, grid = list(FOLDS.split(X3, Y3)), {"C": CS, "kernel__gamma": [0.02, 0.5]}
    names = np.array(["a", "b", "c"])[Y3]
    model = SVC(RBF(gamma=0.1), tol=1e-7, multiclass=multiclass)
    np.testing.assert_array_equal(
        searched(model, grid, X3, names, folds), from_scratch(model, grid, X3, names, folds)
    )


def test_regression():
    folds = list(StratifiedKFold(4).split(XR, YR > 0))
    grid = {"C": CS, "epsilon": [0.0, 0.1, 0.5]}
    model = SVR(RBF(gamma=0.05), tol=1e-8)
    np.testing.assert_allclose(
        searched(model, grid, XR, YR, folds), from_scratch(model, grid, XR, YR, folds), atol=1e-6
    )


def test_the_lambda_form_and_weights():
    folds = list(FOLDS.split(X2, Y2))
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], len(Y2))
    model, grid = SVC(RBF(gamma=0.5), tol=1e-7), {"lam": [1.0, 0.1, 1e-3]}
    np.testing.assert_array_equal(
        searched(model, grid, X2, Y2, folds, sample_weight=weight),
        from_scratch(model, grid, X2, Y2, folds, weight),
    )


def test_training_scores_and_other_answers():
    search = KernelSearchCV(
        SVC(RBF(gamma=0.1), tol=1e-7),
        {"C": CS},
        cv=list(FOLDS.split(X3, Y3)),
        scoring=["accuracy", "f1_macro"],
        refit="accuracy",
        return_train_score=True,
    ).fit(X3, Y3)
    train, _ = next(FOLDS.split(X3, Y3))
    model = SVC(RBF(gamma=0.1), tol=1e-7, C=CS[2]).fit(X3[train], Y3[train])
    assert search.cv_results_["split0_train_accuracy"][2] == model.score(X3[train], Y3[train])


def test_probabilities_and_hard_margins_have_fits_of_their_own():
    folds = list(FOLDS.split(X2, Y2))
    grid = [{"C": [1.0, 10.0], "probability": [True]}, {"C": [np.inf, 1.0]}]
    search = KernelSearchCV(SVC(RBF(gamma=5.0)), grid, cv=folds, scoring="neg_log_loss")
    with warnings.catch_warnings():  # without probability=True there is no log loss
        warnings.simplefilter("ignore")
        search.fit(X2, Y2)
    assert np.isfinite(search.cv_results_["mean_test_score"][:2]).all()
    assert np.isnan(search.cv_results_["mean_test_score"][2:]).all()


def test_a_solve_that_is_cut_short_says_so():
    search = KernelSearchCV(
        SVC(RBF(gamma=0.5), tol=1e-9, max_iter=2), {"C": [1.0]}, cv=3, refit=False
    )
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        search.fit(X2, Y2)


def test_ctrl_c_ends_the_solves_in_other_threads(monkeypatch):
    """A solve that nobody waits for would go on for minutes: it is told to end."""
    started = []

    def slow(matrix, problem, tol, limits, before=None, ratio=1.0):
        started.append(limits)
        if len(started) == 1:
            raise KeyboardInterrupt
        end = time.monotonic() + 20.0
        while not limits.interrupted and time.monotonic() < end:
            time.sleep(0.005)
        return follow(matrix, problem, tol, limits, before, ratio)

    follow = paths.follow
    monkeypatch.setattr(paths, "follow", slow)
    monkeypatch.setattr(paths, "n_threads", lambda: 2)
    search = KernelSearchCV(SVC(RBF(gamma=0.5)), {"C": CS}, cv=3, refit=False)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        search.fit(X2, Y2)
    assert time.monotonic() - start < 10.0
