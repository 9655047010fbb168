"""A search gives what scikit-learn's gives, candidate by candidate and fold by fold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVC as SklearnSVC

from mercer import SVC, SVR, KernelPCA, KernelRidge, OneClassSVM
from mercer.kernels import RBF, FromFunction, Laplacian, Linear, Polynomial, Precomputed
from mercer.select import KernelSearchCV
from tests.cases import WORDS, shared_letters, sparse_table, table

SHARED = "shared Gram matrix"
X = table(60, 3)
NOISE = np.random.default_rng(1).normal(size=60)
NUMBERS = X[:, 0] + np.sin(2 * X[:, 1]) + 0.2 * NOISE
CLASSES = np.where(NUMBERS > 0, "high", "low")
THREE = np.digitize(NUMBERS, [-0.5, 0.5])


def both(estimator, grid, rows, y, fit_params=None, **named):
    """Return our search and scikit-learn's, both fitted."""
    ours = KernelSearchCV(clone(estimator), grid, **named)
    theirs = GridSearchCV(clone(estimator), grid, **{"cv": 5, **named})
    for search in (ours, theirs):
        search.fit(rows, y, **(fit_params or {}))
    return ours, theirs


def assert_same(ours, theirs, atol=1e-9):
    assert set(ours.cv_results_) == set(theirs.cv_results_)
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    for name, values in theirs.cv_results_.items():
        if "test" in name or "train" in name:
            np.testing.assert_allclose(ours.cv_results_[name], values, atol=atol, err_msg=name)
        elif name.startswith("param_"):
            assert ours.cv_results_[name].dtype == values.dtype
            assert ours.cv_results_[name].tolist() == values.tolist()
    assert ours.best_index_ == theirs.best_index_
    assert ours.best_params_ == theirs.best_params_
    assert ours.n_splits_ == theirs.n_splits_
    assert ours.multimetric_ == theirs.multimetric_


GAMMAS = [0.05, 0.5, "scale"]
CASES = {
    "SVC": (SVC(RBF()), {"C": [0.1, 10.0], "kernel__gamma": GAMMAS}, CLASSES),
    "SVC, three classes": (SVC(RBF()), {"C": [0.1, 10.0], "kernel__gamma": GAMMAS}, THREE),
    "SVC, weights of classes": (SVC(), {"class_weight": [None, "balanced"]}, THREE),
    "SVR": (SVR(RBF()), {"C": [0.1, 10.0], "epsilon": [0.1, 0.3]}, NUMBERS),
    "ridge": (KernelRidge(RBF(), lam=1.0), {"lam": [0.01, 1.0], "kernel__gamma": GAMMAS}, NUMBERS),
    "ridge, two targets": (
        KernelRidge(lam=1.0),
        {"lam": [0.01, 1.0], "fit_intercept": [True, False]},
        np.column_stack([NUMBERS, X[:, 0]]),
    ),
    "several kernels": (
        KernelRidge(lam=1.0),
        {"kernel": [RBF(0.5), Polynomial(2), "linear", 0.5 * Laplacian() + Linear()]},
        NUMBERS,
    ),
    "parameters of several kernels": (
        KernelRidge(lam=0.1),
        {"kernel": [RBF(), Laplacian()], "kernel__gamma": [0.1, "scale"]},
        NUMBERS,
    ),
    "a list of grids": (
        SVC(RBF()),
        [{"kernel__gamma": [0.1, 1.0]}, {"kernel": [Polynomial()], "kernel__degree": [1, 2]}],
        CLASSES,
    ),
    "a part of an expression": (
        KernelRidge(0.5 * RBF() + Linear(), lam=0.1, fit_intercept=False),
        {"kernel__left__right__gamma": [0.1, 1.0], "kernel__right__bias": [0.0, 1.0]},
        NUMBERS,
    ),
}


@pytest.mark.parametrize(("estimator", "grid", "y"), CASES.values(), ids=CASES)
def test_kernel_machines_get_the_scores_of_fits_from_scratch(estimator, grid, y):
    ours, theirs = both(estimator, grid, X, y, return_train_score=True)
    assert ours.route_ == SHARED
    assert ours.status_ == "complete"
    assert_same(ours, theirs, atol=2e-3 if isinstance(estimator, SVR) else 1e-9)


OTHERS = {
    "ridge": (Ridge(), {"alpha": [0.1, 1.0, 10.0]}, X),
    "SVC of scikit-learn": (SklearnSVC(), {"C": [0.1, 1.0], "gamma": [0.1, "scale"]}, X),
    "pairwise distances": (
        KNeighborsRegressor(metric="precomputed"),
        {"n_neighbors": [1, 3]},
        np.abs(X[:, :1] - X[:, 0]),
    ),
}


@pytest.mark.parametrize(("estimator", "grid", "rows"), OTHERS.values(), ids=OTHERS)
def test_other_estimators_are_cross_validated_in_the_ordinary_way(estimator, grid, rows):
    y = CLASSES if isinstance(estimator, SklearnSVC) else NUMBERS
    ours, theirs = both(estimator, grid, rows, y, return_train_score=True)
    assert ours.route_.startswith("ordinary cross-validation: ")
    assert type(estimator).__name__ in ours.route_
    assert_same(ours, theirs)


@pytest.mark.parametrize(
    "scoring",
    [
        "accuracy",
        "roc_auc",
        "f1_macro",
        ["accuracy", "roc_auc"],
        {"hits": "accuracy", "area": "roc_auc"},
        make_scorer(accuracy_score, normalize=False),
    ],
    ids=str,
)
def test_any_scorer_of_scikit_learn(scoring):
    name = next(iter(scoring)) if isinstance(scoring, (list, dict)) else True
    settings = {"scoring": scoring, "refit": name, "return_train_score": True}
    ours, theirs = both(SVC(), {"C": [0.1, 1.0, 10.0]}, X, CLASSES, **settings)
    assert ours.route_ == SHARED
    assert_same(ours, theirs)
    assert ours.score(X, CLASSES) == theirs.score(X, CLASSES)


@pytest.mark.parametrize(
    "scoring",
    [None, "r2", "neg_mean_squared_error", "neg_mean_absolute_error", "explained_variance"],
)
def test_any_scorer_of_regression(scoring):
    weight = np.random.default_rng(3).integers(1, 4, 60).astype(float)
    params = {"sample_weight": weight}
    ours, theirs = both(
        KernelRidge(lam=1.0), {"lam": [0.1, 1.0]}, X, NUMBERS, params, scoring=scoring
    )
    assert_same(ours, theirs)


def _looks_at_rows(model, rows, y):
    """A scorer that sees everything: rows, answers, fitted attributes, other rows."""
    assert rows.shape[1] == 3
    assert isinstance(model, SVC)
    answer = model.predict(rows)
    np.testing.assert_array_equal(answer, model.predict(rows.copy()))
    assert model.support_vectors_.shape[1] == 3
    assert model.kernel_ == RBF(gamma=model.get_params()["kernel__gamma"])
    return float(np.mean(answer == y)) - 0.001 * float(np.mean(rows))


def test_a_scorer_may_look_at_the_rows_and_at_the_model():
    settings = {"scoring": _looks_at_rows, "return_train_score": True}
    ours, theirs = both(SVC(RBF(gamma=0.5)), {"C": [0.1, 1.0]}, X, CLASSES, **settings)
    assert ours.route_ == SHARED
    assert_same(ours, theirs)


def test_a_scorer_may_return_several_scores():
    def scores(model, rows, y):
        return {"right": np.mean(model.predict(rows) == y), "n": len(rows)}

    ours, theirs = both(SVC(), {"C": [0.1, 1.0]}, X, CLASSES, scoring=scores, refit="right")
    assert ours.multimetric_
    assert_same(ours, theirs)


@pytest.mark.parametrize("kernel", ["precomputed", Precomputed(), 2.0 * Precomputed() + 1.0])
def test_a_precomputed_matrix_is_cut_on_both_sides(kernel):
    K = RBF(0.5)(X)
    ours, theirs = both(SVC(kernel), {"C": [0.1, 1.0]}, K, CLASSES, return_train_score=True)
    assert ours.route_ == SHARED
    assert_same(ours, theirs)
    assert ours.predict(K[:5]).shape == (5,)


def test_a_matrix_may_be_announced_by_the_grid():
    def width(model, rows, y):
        assert rows.shape[1] == 48
        return float(np.mean(model.predict(rows) == y)) + 0.0 * len(model.dual_coef_)

    K, grid = RBF(0.5)(X), {"kernel": ["precomputed"], "C": [0.1, 1.0]}
    ours, theirs = both(SVC(), grid, K, CLASSES, scoring=width)
    assert ours.route_ == SHARED
    assert_same(ours, theirs)


def test_a_precomputed_matrix_that_is_mixed_with_rows_is_left_to_ordinary_fits():
    K = Linear()(X)
    ours, theirs = both(KernelRidge(Precomputed() + RBF(), lam=1.0), {"lam": [1.0]}, K, NUMBERS)
    assert "precomputed" in ours.route_
    assert_same(ours, theirs)


def test_groups_go_to_the_splitter():
    groups = np.arange(60) % 7
    ours, theirs = both(SVC(), {"C": [0.1, 1.0]}, X, CLASSES, {"groups": groups}, cv=GroupKFold(3))
    assert_same(ours, theirs)


def test_weights_are_cut_with_the_rows():
    weight = np.random.default_rng(0).integers(0, 4, 60).astype(float)
    grid = {"lam": [0.1, 1.0], "kernel__gamma": ["scale", 0.5]}
    ours, theirs = both(KernelRidge(RBF(), lam=1.0), grid, X, NUMBERS, {"sample_weight": weight})
    assert ours.route_ == SHARED
    assert_same(ours, theirs)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_data_frames(frame):
    rows = frame(dict(zip("abc", X.T, strict=True)))
    series = pd.Series if frame is pd.DataFrame else pl.Series
    ours, theirs = both(SVC(RBF()), {"kernel__gamma": GAMMAS}, rows, series(CLASSES.tolist()))
    assert ours.route_ == SHARED
    assert_same(ours, theirs)
    assert ours.feature_names_in_.tolist() == ["a", "b", "c"]


def test_sparse_rows():
    rows = sparse_table(60, 8)
    ours, theirs = both(SVC(RBF()), {"kernel__gamma": GAMMAS}, rows, CLASSES)
    assert ours.route_ == SHARED
    assert_same(ours, theirs)


def test_single_precision_rows():
    rows = X.astype(np.float32)
    ours, theirs = both(KernelRidge(RBF(), lam=0.1), {"kernel__gamma": GAMMAS}, rows, NUMBERS)
    assert_same(ours, theirs, atol=1e-6)


def test_words_are_rows_too():
    words = [a + b for a in WORDS for b in WORDS][:40]
    y = np.array([float(len(word)) for word in words])
    model = KernelRidge(FromFunction(shared_letters, definiteness="psd"), lam=1.0)
    ours, theirs = both(model, {"lam": [0.1, 1.0]}, words, y, return_train_score=True)
    assert ours.route_ == SHARED
    assert_same(ours, theirs)
    assert len(ours.predict(["new", "words"])) == 2


def test_a_kernel_of_words_is_asked_once_for_each_pair():
    words = [a + b for a in WORDS for b in WORDS][:20]
    asked = []

    def counted(a, b):
        asked.append((a, b))
        return shared_letters(a, b)

    kernel = FromFunction(counted, definiteness="psd")
    search = KernelSearchCV(SVC(kernel), {"C": [0.1, 1.0, 10.0]}, cv=4, refit=False)
    search.fit(words, np.arange(20) % 2)
    assert len(asked) == 20 * 20  # one tile: no triangle is saved on so few rows


def test_machines_without_targets():
    scoring = make_scorer(lambda _, answer: float(np.mean(answer == 1)))
    ours, theirs = both(OneClassSVM(), {"nu": [0.1, 0.5]}, X, np.ones(60), scoring=scoring)
    assert ours.route_ == SHARED
    assert_same(ours, theirs)


def test_rows_without_targets():
    def variance(model, rows, y=None):
        return float(model.transform(rows).var(axis=0).sum())

    ours, theirs = both(KernelPCA(), {"n_components": [1, 3]}, X, None, scoring=variance, cv=3)
    assert ours.route_ == SHARED
    assert_same(ours, theirs)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X))


@pytest.mark.parametrize(
    "cv", [3, KFold(4, shuffle=True, random_state=0), ShuffleSplit(3, random_state=0)], ids=str
)
def test_any_splitter(cv):
    assert_same(*both(SVC(), {"C": [0.1, 1.0]}, X, CLASSES, cv=cv))


@given(
    n=st.integers(8, 30),
    seed=st.integers(0, 10**6),
    kernel=st.sampled_from([RBF(), RBF(0.3), Linear(), Laplacian() * Linear(1.0)]),
)
@settings(max_examples=15)
def test_any_rows_weights_and_folds(n, seed, kernel):
    rng = np.random.default_rng(seed)
    rows, y = rng.normal(size=(n, 2)), rng.normal(size=n)
    weight = rng.integers(1, 4, n).astype(float)
    parts = [rng.permutation(n) for _ in range(3)]
    folds = [(order[: n // 2], order[n // 2 + rng.integers(0, 2) :]) for order in parts]
    model = KernelRidge(kernel, lam=1.0)
    both_of = both(model, {"lam": [0.1, 2.0]}, rows, y, {"sample_weight": weight}, cv=folds)
    assert_same(*both_of, atol=1e-7)


def test_splits_may_be_masks():
    test = np.arange(60) < 20
    assert_same(*both(SVC(), {"C": [0.1, 1.0]}, X, CLASSES, cv=[(~test, test), (test, ~test)]))


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_change_nothing(n_jobs):
    grid = {"C": [0.1, 1.0], "kernel__gamma": GAMMAS}
    one = KernelSearchCV(SVC(RBF()), grid).fit(X, THREE)
    more = KernelSearchCV(SVC(RBF()), grid, n_jobs=n_jobs).fit(X, THREE)
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], more.cv_results_["mean_test_score"]
    )


def test_a_name_has_parameters_too():
    """Scikit-learn needs an object there; a name is as good."""
    grid = {"kernel__gamma": [0.1, 1.0]}
    by_name = KernelSearchCV(SVC("rbf"), grid).fit(X, CLASSES)
    by_object = KernelSearchCV(SVC(RBF()), grid).fit(X, CLASSES)
    np.testing.assert_array_equal(
        by_name.cv_results_["mean_test_score"], by_object.cv_results_["mean_test_score"]
    )
    assert by_name.best_estimator_.kernel == by_object.best_estimator_.kernel
