"""What a search shares, what it hands on to its best estimator, and halving."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, KFold

from mercer import SVC, KernelRidge
from mercer.kernels import RBF
from mercer.kernels.sample import Pair
from mercer.select import KernelSearchCV
from tests.cases import table
from tests.select.test_search import CLASSES, NUMBERS, X, assert_same


# ---------------------------------------------------------------- what is shared
@pytest.fixture
def computed(monkeypatch):
    """Record each computation of a statistic: its name and the numbers of rows."""
    found = []
    original = Pair._compute

    def record(self, statistic, out):
        found.append((statistic, *out.shape))
        original(self, statistic, out)

    monkeypatch.setattr(Pair, "_compute", record)
    return found


def test_distances_are_computed_once_for_all_gammas_folds_and_candidates(computed):
    grid = {"lam": [0.1, 1.0], "kernel__gamma": [0.1, 0.5, 2.0, "scale"]}
    KernelSearchCV(KernelRidge(RBF(), lam=1.0), grid, refit=False).fit(X, NUMBERS)
    assert computed == [("squared_distance", 60, 60)]


def test_a_gamma_from_the_data_is_bound_to_the_training_rows_of_each_fold():
    seen = []

    def gamma(model, rows, y):
        seen.append(model.kernel_.gamma)
        return 0.0

    folds = list(KFold(3).split(X))
    KernelSearchCV(SVC(RBF()), {"C": [1.0]}, cv=folds, scoring=gamma, refit=False).fit(X, CLASSES)
    np.testing.assert_allclose(seen, [1.0 / (3 * X[train].var()) for train, _ in folds])


def test_a_small_budget_falls_back_to_ordinary_fits_and_says_so(capsys):
    settings = {"return_train_score": True, "verbose": 1}
    ours = KernelSearchCV(SVC(), {"C": [0.1, 1.0]}, memory="50kB", **settings).fit(X, CLASSES)
    assert "50 kB" in ours.route_
    assert ours.route_ in capsys.readouterr().out
    theirs = GridSearchCV(SVC(), {"C": [0.1, 1.0]}, return_train_score=True).fit(X, CLASSES)
    assert_same(ours, theirs)


def test_the_search_is_used_like_its_best_estimator():
    search = KernelSearchCV(SVC(probability=True), {"C": [1.0]}).fit(X, CLASSES)
    direct = SVC(probability=True, C=1.0).fit(X, CLASSES)
    assert search.classes_.tolist() == ["high", "low"]
    assert search.n_features_in_ == 3
    for name in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
        np.testing.assert_array_equal(getattr(search, name)(X), getattr(direct, name)(X))
    assert search.score(X, CLASSES) == direct.score(X, CLASSES)
    assert search.refit_time_ > 0
    assert not hasattr(search, "transform")


def test_without_a_last_fit_there_are_scores_only():
    search = KernelSearchCV(SVC(), {"C": [0.1, 1.0]}, refit=False).fit(X, CLASSES)
    assert search.best_params_["C"] in (0.1, 1.0)
    assert not hasattr(search, "best_estimator_")


def test_the_choice_may_be_a_function():
    search = KernelSearchCV(SVC(), {"C": [0.1, 1.0, 10.0]}, refit=lambda results: 2)
    assert search.fit(X, CLASSES).best_params_ == {"C": 10.0}


# ---------------------------------------------------------------- halving
def test_halving_ends_with_exact_scores_on_all_rows():
    rows, noise = table(600, 3), np.random.default_rng(5).normal(size=600)
    y = np.sin(2 * rows[:, 0]) + 0.1 * noise
    grid = {"lam": [1e-3, 1e-1, 10.0], "kernel__gamma": [0.01, 0.1, 1.0]}
    estimator = KernelRidge(RBF(), lam=1.0)
    halved = KernelSearchCV(estimator, grid, strategy="halving", cv=3).fit(rows, y)
    whole = KernelSearchCV(estimator, grid, cv=3).fit(rows, y)
    results = halved.cv_results_
    assert sorted(set(results["n_resources"])) == [66, 200, 600]
    assert np.bincount(results["iter"]).tolist() == [9, 3, 1]
    assert results["n_resources"][halved.best_index_] == 600
    place = whole.cv_results_["params"].index(halved.best_params_)
    assert halved.best_score_ == pytest.approx(whole.cv_results_["mean_test_score"][place])


def test_halving_of_a_small_sample_is_the_exact_search():
    grid = {"C": [0.1, 1.0, 10.0]}
    halved = KernelSearchCV(SVC(), grid, strategy="halving").fit(X, CLASSES)
    assert_same(halved, GridSearchCV(SVC(), grid).fit(X, CLASSES))


# ---------------------------------------------------------------- routed metadata
@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("several", [False, True], ids=["own score", "several scorers"])
def test_metadata_is_routed_as_scikit_learn_does(several, n_jobs):
    weight = np.linspace(0.5, 2.0, 60)
    with config_context(enable_metadata_routing=True):
        model = KernelRidge(lam=1.0).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        weighted = get_scorer("r2").set_score_request(sample_weight=True)
        plain = get_scorer("neg_mean_absolute_error").set_score_request(sample_weight=False)
        scorers = {"r2": weighted, "absolute": plain}
        named = {"scoring": scorers if several else None, "refit": "r2" if several else True}
        grid = {"lam": [0.1, 1.0]}
        ours = KernelSearchCV(model, grid, n_jobs=n_jobs, **named)
        theirs = GridSearchCV(model, grid, **named)
        for search in (ours, theirs):
            search.fit(X, NUMBERS, sample_weight=weight)
    assert ours.route_ == "shared Gram matrix"
    assert_same(ours, theirs)
