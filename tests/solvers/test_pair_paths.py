"""Pairs of classes along C in compiled loops: the same machines as one by one."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from mercer import KernelSearchCV
from mercer._limits import Limits
from mercer.kernels import RBF
from mercer.machines import SVC
from mercer.margin import MarginProblem
from mercer.solvers import DenseMatrix
from mercer.solvers.margin import follow
from mercer.solvers.pair_paths import ClassPair, follow_pairs

CS = np.array([0.1, 1.0, 30.0, 1000.0])


def problem(seed, n=150, classes=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=n), np.linspace(-0.8, 0.8, classes - 1))
    K = RBF(gamma=0.5)(X)
    K.flags.writeable = False
    train, test = np.arange(0, n - 30), np.arange(n - 30, n)
    pairs = []
    for i in range(classes):
        for j in range(i + 1, classes):
            rows = train[np.isin(y[train], [i, j])]
            pairs.append(ClassPair(rows, np.where(y[rows] == i, 1.0, -1.0)))
    bounds = np.zeros((len(CS), n))
    bounds[:, train] = CS[:, None] * rng.uniform(0.5, 1.5, len(train))
    return X, y, K, pairs, bounds, test


def limits():
    return Limits.of(-1, None, 2**62)


@pytest.mark.parametrize("seed", range(4))
def test_values_are_those_of_machines_solved_one_by_one(seed):
    _, _, K, pairs, bounds, test = problem(seed)
    found = follow_pairs(K, pairs, bounds, test, tol=1e-7, limits=limits())
    assert found.done.all()
    for number, (rows, sign) in enumerate(pairs):
        matrix = DenseMatrix.of(K[np.ix_(rows, rows)])
        for step, bound in enumerate(bounds):
            margin = MarginProblem.classify(sign, bound[rows])
            state = follow(matrix, margin, 1e-9, limits())
            b, _ = margin.offset(state.beta, state.e)
            expected = K[np.ix_(test, rows)] @ state.beta + b
            np.testing.assert_allclose(found.values[step, number], expected, atol=1e-4)


def test_pairs_that_are_hard_or_large_are_left():
    _, _, K, pairs, bounds, test = problem(0)
    hard = follow_pairs(K, pairs, bounds, test, tol=1e-12, limits=limits(), between=1.0)
    assert not hard.done.all()
    large = follow_pairs(K, pairs, bounds, test, tol=1e-3, limits=limits(), most_points=10)
    assert not large.done.any()


def test_nothing_is_begun_after_an_interrupt():
    _, _, K, pairs, bounds, test = problem(0)
    stopped = limits()
    stopped.interrupt()
    assert not follow_pairs(K, pairs, bounds, test, tol=1e-3, limits=stopped).done.any()


def test_a_search_has_the_scores_of_machines_that_are_fitted_one_by_one():
    X, y, *_ = problem(1)
    grid = {"C": CS, "kernel__gamma": [0.1, 1.0]}
    options = {"cv": 3, "refit": False, "return_train_score": True}
    compiled, single = (
        search(SVC(RBF(), tol=1e-6), grid, **options).fit(X, y).cv_results_
        for search in (KernelSearchCV, GridSearchCV)
    )
    for name in ("mean_test_score", "mean_train_score"):
        np.testing.assert_array_equal(compiled[name], single[name])
