"""``tune`` chooses a grid by the data, looks twice, and says what it did."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KNN, SVC, SVR, KernelPCA, KernelRidge, KernelSearchCV, LinearSVC, tune
from mercer.kernels import RBF, Exponential, FromFunction, Laplacian, Linear, Polynomial
from mercer.select.grids import GridAxis, axes, candidates
from mercer.select.tune import TunedSearch
from tests.cases import WORDS, shared_letters, sparse_table, table

MOONS, SIDES = make_moons(120, noise=0.2, random_state=0)
X = table(80, 3)
NUMBERS = np.sin(2 * X[:, 0]) + X[:, 1]


def axis_of(estimator, rows, y, name):
    found = axes(estimator, rows, y, np.random.default_rng(0))
    return next((axis for axis in found if axis.name == name), None)


# ---------------------------------------------------------------- grids
@pytest.mark.parametrize(
    ("kernel", "metric"),
    [(RBF(), "sqeuclidean"), (Exponential(), "euclidean"), (Laplacian(), "cityblock")],
    ids=str,
)
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_gamma_follows_the_distances(kernel, metric, scale):
    axis = axis_of(SVC(kernel), scale * X, NUMBERS, "kernel__gamma")
    products = np.array(axis.values) * np.median(pdist(scale * X, metric))
    np.testing.assert_allclose(products, 2.0 ** np.arange(-6, 5, 2), rtol=0.01)


def test_the_gamma_of_a_part_is_found():
    kernel = 0.5 * RBF() + Linear()
    assert axis_of(SVC(kernel), X, NUMBERS, "kernel__left__right__gamma") is not None
    assert axis_of(SVC(RBF() + Laplacian()), X, NUMBERS, "kernel__left__gamma") is None


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_grids_follow_the_units_of_the_data(x_unit, y_unit):
    plain, other = (
        {a.name: np.array(a.values) for a in axes(SVR(), rows, y, np.random.default_rng(0))}
        for rows, y in ((X, NUMBERS), (x_unit * X, y_unit * NUMBERS))
    )
    np.testing.assert_allclose(
        other["kernel__gamma"] * x_unit**2, plain["kernel__gamma"], rtol=0.02
    )
    np.testing.assert_allclose(other["C"], plain["C"] * y_unit, rtol=0.02)
    np.testing.assert_allclose(other["epsilon"], plain["epsilon"] * y_unit, rtol=0.02)


def test_the_penalty_follows_the_size_of_the_kernel():
    small, large = (
        axis_of(KernelRidge(kernel, lam=1.0), X, NUMBERS, "lam").values
        for kernel in (Linear(), 100.0 * Linear())
    )
    np.testing.assert_allclose(large, 100.0 * np.array(small), rtol=0.02)


@pytest.mark.parametrize("rows", [np.ones((9, 2)), np.zeros((9, 2)), table(1, 2)], ids=str)
def test_rows_without_a_distance_have_a_grid_too(rows):
    values = axis_of(SVC(), rows, np.arange(len(rows)), "kernel__gamma").values
    assert np.isfinite(values).all()
    assert min(values) > 0


def test_finer_values_lie_between_the_neighbors():
    axis = GridAxis("C", (0.1, 1.0, 10.0))
    assert axis.around(1.0) == pytest.approx((10**-0.5, 1.0, 10**0.5))
    assert axis.around(10.0) == pytest.approx((10**0.5, 10.0, 100.0, 1000.0))
    assert axis.around(0.1) == pytest.approx((0.001, 0.01, 0.1, 10**-0.5))
    assert GridAxis("n_neighbors", (1, 3, 9)).around(3) == (3,)
    assert GridAxis("nu", (0.1, 0.2, 0.5)).around(0.2) == (0.2,)
    assert GridAxis("C", (1.0,)).around(1.0) == (1.0,)


def test_candidates_are_all_combinations():
    found = candidates([GridAxis("a", (1, 2)), GridAxis("b", (3,))])
    assert found == [{"a": 1, "b": 3}, {"a": 2, "b": 3}]


# ---------------------------------------------------------------- tune
@pytest.mark.parametrize(
    ("estimator", "kind"), [("svc", SVC), ("ridge", KernelRidge)], ids=["svc", "ridge"]
)
def test_a_name_is_enough(estimator, kind):
    rows, y = (MOONS, SIDES) if kind is SVC else (X, NUMBERS)
    search = tune(estimator, rows, y, cv=3)
    assert isinstance(search, KernelSearchCV)
    assert isinstance(search.best_estimator_, kind)
    default = KernelSearchCV(kind(), {}, cv=3).fit(rows, y)
    assert search.best_score_ > default.best_score_
    assert set(search.cv_results_["iter"]) == {0, 1}


def test_the_best_of_both_rounds_is_kept():
    search = tune(SVC(), MOONS, SIDES, cv=3)
    scores = search.cv_results_["mean_test_score"]
    assert search.best_score_ == scores.max()
    assert len(scores) <= 130
    exact = KernelSearchCV(SVC("rbf"), {k: [v] for k, v in search.best_params_.items()}, cv=3)
    assert exact.fit(MOONS, SIDES).best_score_ == pytest.approx(search.best_score_)


def test_a_copy_of_the_search_searches_in_the_same_way():
    search = tune(SVC(), MOONS, SIDES, cv=3)
    again = clone(search).fit(MOONS, SIDES)
    assert again.best_params_ == search.best_params_
    assert again.best_score_ == search.best_score_


def test_the_second_round_goes_beyond_the_border():
    """A clean line is fitted best with no penalty at all: the smallest λ is not small enough."""
    rows = np.linspace(-1, 1, 60)[:, None]
    search = tune(KernelRidge("linear", lam=1.0), rows, 3.0 * rows[:, 0], cv=3)
    first = search.cv_results_["iter"] == 0
    tried = np.array([params["lam"] for params in search.cv_results_["params"]])
    assert search.best_params_["lam"] < tried[first].min()


def test_the_report_says_what_was_done(capsys):
    search = tune(SVC(), MOONS, SIDES, cv=3, verbose=1)
    printed = capsys.readouterr().out
    assert str(search) == search.report_
    assert search.report_ in printed
    for word in ("kernel__gamma", "C", "candidates", "shared Gram matrix", "best score", "time"):
        assert word in search.report_
    assert tune(SVC(), MOONS, SIDES, cv=3, verbose=0) is not None
    assert capsys.readouterr().out == ""


def test_folds_are_shuffled_if_there_is_a_seed():
    order = np.argsort(NUMBERS)
    rows, y = X[order], NUMBERS[order]
    shuffled = [tune("ridge", rows, y, cv=3, random_state=seed).best_score_ for seed in (0, 0, 1)]
    assert shuffled[0] == shuffled[1] != shuffled[2]


def test_groups_weights_and_scorers_go_through():
    groups, weight = np.arange(80) % 5, np.linspace(0.5, 2.0, 80)
    search = tune(
        KernelRidge("linear", lam=1.0),
        X,
        NUMBERS,
        cv=GroupKFold(3),
        groups=groups,
        sample_weight=weight,
        scoring="neg_mean_squared_error",
    )
    assert search.best_score_ < 0
    direct = KernelRidge("linear", **search.best_params_).fit(X, NUMBERS, weight)
    np.testing.assert_allclose(search.predict(X), direct.predict(X))


def test_a_pipeline_is_tuned_at_its_last_step():
    rows = MOONS * [1.0, 1e4]
    search = tune(make_pipeline(StandardScaler(), SVC()), rows, SIDES, cv=3)
    assert sorted(search.best_params_) == ["svc__C", "svc__kernel__gamma"]
    assert search.best_score_ > 0.9
    assert search.route_ == "shared Gram matrix of each fold"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_other_machines_and_other_rows():
    assert tune(KNN(), MOONS, SIDES, cv=3).best_params_["n_neighbors"] >= 1
    assert tune(LinearSVC(random_state=0), MOONS, SIDES, cv=3).best_params_["C"] > 0
    assert tune(SVC(Polynomial(2)), MOONS, SIDES, cv=3).best_params_["C"] > 0
    sparse = sparse_table(60, 5)
    assert tune("svc", sparse, np.arange(60) % 2, cv=3).best_score_ > 0
    words = [a + b for a in WORDS for b in WORDS]
    kernel = FromFunction(shared_letters, definiteness="psd")
    y = np.array([len(word) % 2 for word in words])
    assert tune(SVC(kernel), words, y, cv=2).best_params_["C"] > 0
    assert tune(SVC("precomputed"), RBF(1.0)(MOONS), SIDES, cv=3).best_params_["C"] > 0


@pytest.mark.filterwarnings("ignore:One or more of the test scores:UserWarning")
def test_the_first_round_is_kept_if_time_is_over_in_the_second(monkeypatch):
    calls = []

    def stops(model, rows, y):
        calls.append(1)
        if len(calls) > 95:
            raise KeyboardInterrupt
        return float(np.mean(model.predict(rows) == y))

    with pytest.warns(UserWarning, match="interrupted"):
        search = tune(SVC(), MOONS, SIDES, cv=3, scoring=stops)
    assert search.status_ == "interrupted"
    assert np.isfinite(search.best_score_)


# ---------------------------------------------------------------- what it refuses
@pytest.mark.parametrize(
    ("estimator", "error", "message"),
    [
        ("svn", ValueError, "'ridge', 'svc', 'svr'.*'svn'"),
        (SVC, TypeError, "estimator must be"),
        (LinearRegression(), ValueError, "knows no grid for LinearRegression: it knows gamma"),
        (KernelPCA(kernel="linear"), ValueError, "knows no grid for KernelPCA"),
    ],
    ids=str,
)
def test_what_tune_does_not_know(estimator, error, message):
    with pytest.raises(error, match=message):
        tune(estimator, X, NUMBERS)


def test_before_a_fit_there_is_no_report():
    search = TunedSearch(SVC(), {"C": [1.0]})
    assert str(search).startswith("TunedSearch(")
    with pytest.raises(NotFittedError):
        search.predict(X)


@pytest.mark.parametrize("refit", [True, False, "f1", len])
def test_of_several_scores_one_must_decide(refit):
    scores = ["accuracy", "balanced_accuracy"]
    with pytest.raises(ValueError, match=r"2 scores: say by refit= which .*'accuracy', 'balanced"):
        tune("svc", MOONS, SIDES, scoring=scores, refit=refit)


def test_the_score_that_is_named_decides():
    search = tune(
        "svc", MOONS, SIDES, cv=3, scoring=["accuracy", "balanced_accuracy"], refit="accuracy"
    )
    means = search.cv_results_["mean_test_accuracy"]
    assert search.best_score_ == np.nanmax(means)
