"""Scores of a search on real data are those of scikit-learn's machines and GridSearchCV."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import datasets, kernel_ridge, svm
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from mercer import SVC, SVR, KernelRidge, KernelSearchCV
from mercer.kernels import RBF

GAMMAS = [0.003, 0.03, 0.3]
CS = [0.1, 3.0, 100.0]
SETS = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
    "diabetes": datasets.load_diabetes,
}
every_set = pytest.mark.parametrize("name", SETS)


def load(name, n=400):
    X, y = SETS[name](return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(y))[:n]
    return StandardScaler().fit_transform(X[chosen]), y[chosen]


def both(mine, theirs, grid, names, X, y, folds):
    """Return the mean scores of both searches, in the same order."""
    search = KernelSearchCV(mine, grid, cv=folds, refit=False).fit(X, y)
    grid = {names[key]: values for key, values in grid.items()}
    peer = GridSearchCV(theirs, grid, cv=folds, refit=False).fit(X, y)
    keys = sorted(names)

    def ordered(found, names):
        table = zip(found.cv_results_["params"], found.cv_results_["mean_test_score"], strict=True)
        return np.array([s for _, s in sorted((tuple(p[k] for k in names), s) for p, s in table)])

    assert search.route_ == "shared Gram matrix"
    return ordered(search, keys), ordered(peer, [names[key] for key in keys])


@every_set
def test_svc(name):
    X, y = load(name)
    if name == "diabetes":
        y = y > np.median(y)
    folds = list(StratifiedKFold(4).split(X, y))
    names = {"C": "C", "kernel__gamma": "gamma"}
    grid = {"C": CS, "kernel__gamma": GAMMAS}
    mine, theirs = both(SVC(RBF(), tol=1e-7), svm.SVC(tol=1e-7), grid, names, X, y, folds)
    np.testing.assert_allclose(mine, theirs, atol=1e-12)


@every_set
def test_svr(name):
    X, y = load(name, 200)
    y = (y - y.mean()) / y.std()
    folds = list(KFold(4).split(X))
    names = {"C": "C", "epsilon": "epsilon", "kernel__gamma": "gamma"}
    grid = {"C": CS, "epsilon": [0.05, 0.3], "kernel__gamma": GAMMAS}
    mine, theirs = both(SVR(RBF(), tol=1e-7), svm.SVR(tol=1e-7), grid, names, X, y, folds)
    # LIBSVM keeps its kernel values in float32, at whatever tolerance
    np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)


@every_set
def test_kernel_ridge(name):
    X, y = load(name)
    folds = list(KFold(4).split(X))
    names = {"lam": "alpha", "kernel__gamma": "gamma"}
    grid = {"lam": [1e-3, 1e-1, 10.0], "kernel__gamma": GAMMAS}
    ours = KernelRidge(RBF(), fit_intercept=False)
    peer = kernel_ridge.KernelRidge(kernel="rbf")
    mine, theirs = both(ours, peer, grid, names, X, y, folds)
    np.testing.assert_allclose(mine, theirs, rtol=1e-7)
